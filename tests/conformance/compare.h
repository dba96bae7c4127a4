// Comparison of answers as the ONNX test suite does it. Part of the conformance runner.
#ifndef OCTAVO_TESTS_CONFORMANCE_COMPARE_H_
#define OCTAVO_TESTS_CONFORMANCE_COMPARE_H_

#include <string>

#include "base/tensor.h"

namespace octavo::conformance {

// Integers and bool exactly; floats |a - b| <= 1e-7 + 1e-3 * |b|. Empty where they agree, else what differs.
std::string difference(const Tensor& found, const Tensor& expected);

}  // namespace octavo::conformance

#endif  // OCTAVO_TESTS_CONFORMANCE_COMPARE_H_
