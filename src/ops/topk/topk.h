// topk: the largest or smallest elements along an axis, and where they were. Part of ops/.
#ifndef OCTAVO_OPS_TOPK_TOPK_H_
#define OCTAVO_OPS_TOPK_TOPK_H_

#include <cstdint>
#include <tuple>

#include "graph/op.h"

namespace octavo {

struct TopkAttrs {
  std::int64_t axis = 0;  // not negative
  Dim k = 1;
  bool largest = true;

  bool operator==(const TopkAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"axis", &TopkAttrs::axis}, Field{"k", &TopkAttrs::k},
                      Field{"largest", &TopkAttrs::largest});
  }
};

// The k first elements along the axis, sorted, equal ones by their positions; NaN counts as larger than any number.
// results: the elements, and their positions in s64. inputs: x.
extern const OpSpec kTopk;

// Whether element i of a line comes before element j, whose values are a and b.
template <class Number>
bool comes_before(bool largest, Number a, std::int64_t i, Number b, std::int64_t j) {
  // Of integers both are false.
  const bool a_is_nan = a != a, b_is_nan = b != b;
  if (a_is_nan != b_is_nan) return a_is_nan == largest;
  if (a_is_nan || a == b) return i < j;
  return largest ? a > b : a < b;
}

}  // namespace octavo

#endif  // OCTAVO_OPS_TOPK_TOPK_H_
