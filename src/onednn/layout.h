// Weights in the layout a primitive asks for, and how a file says which one that is. Part of onednn/.
#ifndef OCTAVO_ONEDNN_LAYOUT_H_
#define OCTAVO_ONEDNN_LAYOUT_H_

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/tensor.h"
#include "onednn/engine.h"

namespace octavo::onednn {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

// f32, dense, axes from the outermost to the innermost.
Desc plain_desc(const Dims& dims, std::span<const int> order);
inline Desc plain_desc(const Dims& dims, std::initializer_list<int> order) {
  return plain_desc(dims, std::span(order.begin(), order.size()));
}
// f32, in whatever layout the primitive likes.
Desc any_desc(const Dims& dims);

// A blocked layout as numbers: the order of the axes, then pairs of block size and axis. Nothing where it is more than
// that.
std::optional<std::vector<std::int32_t>> encode_layout(const Desc& desc);
// Nothing where the numbers are no layout of these dimensions; they may be hostile.
std::optional<Desc> decode_layout(const Dims& dims, std::span<const std::int32_t> numbers);

// Weights that lie somewhere, in a known layout.
struct Weights {
  Desc desc;
  const std::byte* data = nullptr;
};

// The same weights in every layout that primitives of one step ask for; made on request, kept as long as the step.
class WeightLayouts {
 public:
  explicit WeightLayouts(Weights stored) { known_.push_back(std::move(stored)); }
  // May throw dnnl::error and std::bad_alloc.
  const std::byte* in_layout(const Desc& wanted);
  const Desc& stored() const { return known_.front().desc; }

 private:
  std::vector<Weights> known_;
  std::vector<Tensor> owned_;
};

// The weights in another layout, as a row of f32.
Tensor reorder(const Weights& from, const Desc& to);

}  // namespace octavo::onednn

#endif  // OCTAVO_ONEDNN_LAYOUT_H_
