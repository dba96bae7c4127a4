// unique: the different slices of a tensor. Part of ops/.
#ifndef OCTAVO_OPS_UNIQUE_UNIQUE_H_
#define OCTAVO_OPS_UNIQUE_UNIQUE_H_

#include <cstdint>
#include <tuple>

#include "graph/op.h"

namespace octavo {

struct UniqueAttrs {
  std::int64_t axis = -1;  // -1: the elements of x, as one line
  bool is_sorted = true;   // false: in the order in which they come first

  bool operator==(const UniqueAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"axis", &UniqueAttrs::axis}, Field{"is_sorted", &UniqueAttrs::is_sorted});
  }
};

// results: the different slices of x along the axis, of which as many as there are stand at the beginning, dense, and
// zeros behind them; of each the position of its first, s64; for each slice of x the position of its equal among them,
// s64; of each how often it is there, s64; the shape of the first, s64, and that of the second and fourth, s64 [1].
// Slices are ordered by their first element that differs; NaN counts as larger than any number. inputs: x.
extern const OpSpec kUnique;

// Of the integers that find_unique() works with, for so many slices.
constexpr std::int64_t unique_scratch(std::int64_t slices) { return 2 * slices; }
void find_unique(const UniqueAttrs& attrs, const ConstTensorView& x, OutputViews outputs, std::int64_t* scratch);

}  // namespace octavo

#endif  // OCTAVO_OPS_UNIQUE_UNIQUE_H_
