// Comparison of answers as the ONNX test suite does it. Part of the conformance runner.
#include "conformance/compare.h"

#include <cmath>
#include <cstring>

namespace octavo::conformance {
namespace {

std::string described(const Tensor& tensor) {
  return std::string(name_of(tensor.dtype())) + " " + tensor.shape().to_string();
}

bool is_close(double found, double expected) {
  constexpr double kAbsolute = 1e-7, kRelative = 1e-3;
  if (std::isnan(expected) || std::isnan(found)) return std::isnan(expected) && std::isnan(found);
  if (std::isinf(expected) || std::isinf(found)) return found == expected;
  return std::fabs(found - expected) <= kAbsolute + kRelative * std::fabs(expected);
}

}  // namespace

std::string difference(const Tensor& found, const Tensor& expected) {
  if (found.dtype() != expected.dtype() || found.shape() != expected.shape())
    return described(found) + " for " + described(expected);
  if (!is_float(found.dtype())) {
    if (found.bytes() == 0 || std::memcmp(found.data(), expected.data(), found.bytes()) == 0) return "";
  }
  std::int64_t wrong = 0, first = -1;
  for (std::int64_t i = 0; i < found.elements(); ++i) {
    const double a = element_as_double(found.view(), i), b = element_as_double(expected.view(), i);
    if (is_float(found.dtype()) ? is_close(a, b) : a == b) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return is_float(found.dtype()) ? "" : "64-bit integers that differ beyond 2^53";
  return std::to_string(wrong) + " of " + std::to_string(found.elements()) + " elements differ, the first is " +
         std::to_string(first) + ": " + std::to_string(element_as_double(found.view(), first)) + " for " +
         std::to_string(element_as_double(expected.view(), first));
}

}  // namespace octavo::conformance
