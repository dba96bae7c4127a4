// Comparing tensors: signal to noise and the first difference. Part of analyze/.
#ifndef OCTAVO_ANALYZE_COMPARE_H_
#define OCTAVO_ANALYZE_COMPARE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace octavo {

struct Difference {
  std::int64_t elements = 0;
  std::int64_t differing = 0;
  double sqnr_db = 0.0;               // 10 log10(sum a^2 / sum (a - b)^2); infinite where nothing differs
  double largest = 0.0;               // of |a - b|
  std::optional<std::int64_t> first;  // index of the first element that differs
  double first_a = 0.0;
  double first_b = 0.0;
};

// Both have equally many elements; types may differ. `a` is the reference. NaN equals NaN.
Difference compare_tensors(const ConstTensorView& a, const ConstTensorView& b);

// scale * (q - zero_point) in f32.
Tensor dequantized(const ConstTensorView& q, float scale, std::int32_t zero_point);

// "[0, 3, 7]": where a flat index lies in a shape.
std::string position_in(const Shape& shape, std::int64_t index);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_COMPARE_H_
