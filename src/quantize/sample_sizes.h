// Samples of several sizes: which have the same shapes, and what these make of a network of open sizes. Part of
// quantize/.
#ifndef OCTAVO_QUANTIZE_SAMPLE_SIZES_H_
#define OCTAVO_QUANTIZE_SAMPLE_SIZES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quantize/quantize.h"

namespace octavo {

// Samples whose tensors have the same shapes.
struct SampleGroup {
  std::vector<Shape> shapes;          // by input
  std::vector<std::int64_t> indices;  // ascending
};

// The group with most samples first, of several the one that is seen first, one with an empty tensor only where there
// are no others; then the rest as they are seen. Errors: those of the samples.
Result<std::vector<SampleGroup>> sample_groups(const SampleSource& samples);

// The samples of a group.
class SamplesOfGroup final : public SampleSource {
 public:
  SamplesOfGroup(const SampleSource& all, const SampleGroup& group) : all_(all), group_(group) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(group_.indices.size()); }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override { return all_.sample(in_all(index)); }
  Result<std::vector<Shape>> shapes(std::int64_t) const override { return group_.shapes; }
  std::string name(std::int64_t index) const override { return all_.name(in_all(index)); }

 private:
  std::int64_t in_all(std::int64_t index) const { return group_.indices[static_cast<std::size_t>(index)]; }

  const SampleSource& all_;
  const SampleGroup& group_;
};

// The sizes of a graph whose inputs have these shapes, one for each of Sizes::sizes; none of a graph without open
// sizes. Errors (usage): shapes that its inputs cannot have, with the input, what is found and what is expected.
Result<std::vector<std::int64_t>> sizes_at(const Graph& graph, std::span<const Shape> shapes);

// A group, and what its shapes make of an open graph.
struct SizedGroup {
  SampleGroup group;
  std::vector<std::int64_t> sizes;    // one for each of Sizes::sizes
  std::vector<std::int64_t> extents;  // what Graph::close takes
};

// Of an open graph, as sample_groups sorts them. Errors: those of the samples; invalid_input, with the first sample of
// the shapes by its name: shapes that its inputs cannot have, sizes that its conditions refuse.
Result<std::vector<SizedGroup>> sized_groups(const Graph& graph, const SampleSource& samples);

// Whether some sample has elements in every input; `most` is the first of sample_groups. Error (invalid_input): each
// has an empty tensor.
Status check_shown(const Graph& graph, const SampleSource& samples, const SampleGroup& most);

// The wires of `other`, a graph made of the same open one at another size, that are called as these of `graph` are.
// Error (internal): one is not there.
Result<std::vector<ValueId>> same_wires(const Graph& graph, const std::vector<ValueId>& wires, const Graph& other);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_SAMPLE_SIZES_H_
