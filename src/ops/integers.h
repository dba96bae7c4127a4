// Integer sums that the references of integer convolutions and products share. Sums wrap in 32 bits where they leave
// them. Part of ops/.
#ifndef OCTAVO_OPS_INTEGERS_H_
#define OCTAVO_OPS_INTEGERS_H_

#include <cstdint>
#include <vector>

#include "base/tensor.h"

namespace octavo {

// All elements of an 8-bit tensor.
std::vector<std::int32_t> to_s32s(const ConstTensorView& tensor);

// x - zero_point of an 8-bit tensor; one zero point, or one per index of the first axis.
std::vector<std::int32_t> minus_zero_point(const ConstTensorView& x, const std::vector<std::int32_t>& zero_points);

// Elements first, first + stride, ... of a list, which may be empty where none is read.
struct Strided {
  const std::vector<std::int32_t>& list;
  std::int64_t first = 0;
  std::int64_t stride = 1;
};
std::uint32_t wrapping_dot(Strided a, Strided b, std::int64_t count);

// An element of an 8-bit tensor, and storing one; `value` fits.
inline std::int32_t load_8bit(const std::byte* data, DType dtype, std::int64_t index) {
  if (dtype == DType::u8) return std::to_integer<std::uint8_t>(data[index]);
  return static_cast<std::int8_t>(std::to_integer<std::uint8_t>(data[index]));
}
inline void store_8bit(std::byte* data, std::int64_t index, std::int32_t value) {
  data[index] = static_cast<std::byte>(value & 0xff);
}

}  // namespace octavo

#endif  // OCTAVO_OPS_INTEGERS_H_
