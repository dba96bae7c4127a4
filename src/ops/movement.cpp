// Strided copies. Part of ops/.
#include "ops/movement.h"

namespace octavo {

std::vector<std::int64_t> broadcast_strides(const Shape& from, const Shape& to) {
  const std::vector<std::int64_t> dense = from.strides();
  std::vector<std::int64_t> strides(static_cast<std::size_t>(to.rank()), 0);
  const int lead = to.rank() - from.rank();
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (from[axis] != 1) strides[static_cast<std::size_t>(axis + lead)] = dense[static_cast<std::size_t>(axis)];
  }
  return strides;
}

void copy_strided(const ConstTensorView& x, const TensorView& y, std::span<const std::int64_t> strides, std::int64_t base) {
  const std::size_t size = size_of(x.dtype);
  std::byte* to = y.data;
  for_each_offset(y.shape, strides, base, [&](std::int64_t offset) {
    std::memcpy(to, x.data + static_cast<std::size_t>(offset) * size, size);
    to += size;
  });
}

Fact moved_fact(const Fact& x, Shape shape) {
  Fact y{.dtype = x.dtype, .shape = std::move(shape)};
  if (x.quant && x.quant->axis < 0) y.quant = x.quant;
  return y;
}

}  // namespace octavo
