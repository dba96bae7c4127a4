// Moving elements of any type by strides; shared by the operators that rearrange or broadcast. Part of ops/.
#ifndef OCTAVO_OPS_MOVEMENT_H_
#define OCTAVO_OPS_MOVEMENT_H_

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "graph/op.h"

namespace octavo {

// Calls f(offset) for every index of `shape` in row-major order, where offset = base + sum of index[axis] *
// strides[axis].
template <class Function>
void for_each_offset(const Shape& shape, std::span<const std::int64_t> strides, std::int64_t base, Function f) {
  const std::int64_t count = shape.elements();
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()), 0);
  std::int64_t offset = base;
  for (std::int64_t i = 0; i < count; ++i) {
    f(offset);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      offset += strides[a];
      if (++index[a] < shape[axis]) break;
      offset -= index[a] * strides[a];
      index[a] = 0;
    }
  }
}

// Strides in elements that read `from` as if it were broadcast to `to`; `from` must broadcast to it.
std::vector<std::int64_t> broadcast_strides(const Shape& from, const Shape& to);

// y, in row-major order, takes x's elements at base + index · strides.
void copy_strided(const ConstTensorView& x, const TensorView& y, std::span<const std::int64_t> strides,
                  std::int64_t base);

// The fact of x's elements under another shape: same type, and the same scale where it is one for the whole tensor.
Fact moved_fact(const Fact& x, OpenShape shape);

}  // namespace octavo

#endif  // OCTAVO_OPS_MOVEMENT_H_
