// Integer sums of the references. Part of ops/.
#include "ops/integers.h"

#include <algorithm>

namespace octavo {

std::vector<std::int32_t> to_s32s(const ConstTensorView& tensor) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(tensor.shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = load_8bit(tensor.data, tensor.dtype, static_cast<std::int64_t>(i));
  return values;
}

std::vector<std::int32_t> minus_zero_point(const ConstTensorView& x, const std::vector<std::int32_t>& zero_points) {
  std::vector<std::int32_t> values = to_s32s(x);
  const std::size_t rows = zero_points.size();
  const std::size_t row = values.size() / std::max<std::size_t>(rows, 1);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= zero_points[rows == 1 ? 0 : i / row];
  return values;
}

std::uint32_t wrapping_dot(Strided a, Strided b, std::int64_t count) {
  std::uint32_t sum = 0;
  const auto at = [](const Strided& x, std::int64_t i) {
    return x.list[static_cast<std::size_t>(x.first + i * x.stride)];
  };
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<std::uint32_t>(at(a, i) * at(b, i));
  return sum;
}

}  // namespace octavo
