// Changes of scale in fixed point, by operators on s64: what LiteRT's kernels of integers do. Part of import/.
#ifndef OCTAVO_IMPORT_TFLITE_FIXED_SCALING_H_
#define OCTAVO_IMPORT_TFLITE_FIXED_SCALING_H_

#include <string>

#include "base/fixed_point.h"
#include "import/tflite/operator_reader.h"

namespace octavo::tflite_import {

// x times the factor as FixedMultiplier::apply rounds in profile tflite-double, saturated; x in s64.
ValueId times_fixed(OperatorReader& in, ValueId x, const FixedMultiplier& factor, std::int64_t zero_point,
                    IntegerRange range, const std::string& name);

// x times the factor as WideMultiplier::apply rounds; both in s64.
ValueId times_wide(OperatorReader& in, ValueId x, const FixedMultiplier& factor, const std::string& name);
// sat(x + zero_point) of s64.
ValueId saturated(OperatorReader& in, ValueId x, std::int64_t zero_point, DType type, const std::string& name);

// QUANTIZE from integers or to integers of 32 bits, in both profiles: sat(fixed(x - x_z, x_s / y_s) + y_z).
ValueId requantized_words(OperatorReader& in, const QuantParams& from, const QuantParams& to, DType type);

}  // namespace octavo::tflite_import

#endif  // OCTAVO_IMPORT_TFLITE_FIXED_SCALING_H_
