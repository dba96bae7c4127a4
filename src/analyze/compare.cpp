// Tensor differences. Part of analyze/.
#include "analyze/compare.h"

#include <cmath>
#include <limits>

namespace octavo {

Difference compare_tensors(const ConstTensorView& a, const ConstTensorView& b) {
  Difference result{.elements = a.shape.elements()};
  double signal = 0.0;
  double noise = 0.0;
  for (std::int64_t i = 0; i < result.elements; ++i) {
    const double x = element_as_double(a, i);
    const double y = element_as_double(b, i);
    const bool is_endless = x == y && std::isinf(x);  // masks: no measure of what noise is small
    signal += is_endless ? 0.0 : x * x;
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double error = std::fabs(x - y);
    noise += error * error;
    result.largest = std::max(result.largest, error);
    if (result.differing++ == 0) {
      result.first = i;
      result.first_a = x;
      result.first_b = y;
    }
  }
  if (result.differing == 0) result.sqnr_db = std::numeric_limits<double>::infinity();
  else result.sqnr_db = 10.0 * std::log10(signal / noise);
  return result;
}

Tensor dequantized(const ConstTensorView& q, float scale, std::int32_t zero_point) {
  Tensor real(DType::f32, q.shape);
  for (std::int64_t i = 0; i < q.shape.elements(); ++i) {
    real.as<float>()[i] = static_cast<float>((element_as_double(q, i) - zero_point) * static_cast<double>(scale));
  }
  return real;
}

std::string position_in(const Shape& shape, std::int64_t index) {
  std::string text;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    text = std::to_string(index % shape[axis]) + (text.empty() ? "" : ", ") + text;
    index /= shape[axis];
  }
  return "[" + text + "]";
}

}  // namespace octavo
