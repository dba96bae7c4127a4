// Sizes that a file computes in floats: h * 0.5, rounded down, as the height of a smaller picture. Part of import/.
#ifndef OCTAVO_IMPORT_FLOAT_SIZES_H_
#define OCTAVO_IMPORT_FLOAT_SIZES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/sizes.h"
#include "graph/graph.h"

namespace octavo {

// Integers up to this are exact in f32.
inline constexpr std::int64_t kExactInFloats = std::int64_t{1} << 24;

// The elements of a list that nodes compute from sizes in f32, rounded towards 0 as a cast to integers does: sums,
// products and quotients, rounded up, down and to the nearest integer, and moved. Nothing where data decide an element,
// where it may be negative, or where what floats round away depends on more than one quotient or factor.
std::optional<std::vector<Dim>> truncated_sizes(const Graph& graph, ValueId floats);

// Whether data decide sizes of the table: they can be 0 in any run.
bool are_of_data(const Sizes& table);

// Values at the example's sizes. Who makes anything of them calls fix(): the sizes then stay so.
struct ExampleValues {
  std::vector<Tensor> tensors;
  std::vector<std::shared_ptr<const std::vector<Dim>>> sizes;  // that they were computed from
  void fix() const;
};
// What nodes compute from constants and sizes alone. Nothing where data decide one of the values, or too many nodes do.
std::optional<ExampleValues> at_example(const Graph& graph, std::span<const ValueId> values);

}  // namespace octavo

#endif  // OCTAVO_IMPORT_FLOAT_SIZES_H_
