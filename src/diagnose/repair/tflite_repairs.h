// Every repair of TFLite files: changes the operators and says in how many places. Part of diagnose/.
#ifndef OCTAVO_DIAGNOSE_REPAIR_TFLITE_REPAIRS_H_
#define OCTAVO_DIAGNOSE_REPAIR_TFLITE_REPAIRS_H_

#include <functional>

#include "diagnose/repair/tflite_edit.h"

namespace octavo::repair {

// A file whose bytes are u8 has them as s8, and its weights symmetric per channel; inputs and outputs stay.
int make_tflite_signed(TfliteEdit& edit);
// Operators on s16 compute in floats, their weights dequantized when the file is loaded.
int make_sixteen_bits_floats(TfliteEdit& edit);
// Depthwise convolutions of floats by bytes get their weights dequantized when the file is loaded.
int make_dynamic_depthwise_floats(TfliteEdit& edit);
// Operators on bytes that LiteRT has no fast kernel for compute in floats.
int make_slow_bytes_floats(TfliteEdit& edit);
// QUANTIZE behind DEQUANTIZE or QUANTIZE: one conversion, or none.
int drop_double_conversions(TfliteEdit& edit);
// Operators in floats between DEQUANTIZE and QUANTIZE compute on bytes.
int make_islands_integers(TfliteEdit& edit);

enum class Bounds : std::uint8_t { dropped, kept };
// Those operators that `takes` picks in floats, with a conversion wherever bytes or s16 come in or are wanted.
// Constants are dequantized. Bounds kept: results are clipped to what their old type holds. How many it picked.
int compute_in_floats(TfliteEdit& edit, const std::function<bool(const TfliteOp&)>& takes, Bounds bounds);

// One scale per channel of a product's weights, symmetric in s8, by the greatest magnitude; none below `least_scale`,
// which keeps weights that are multiples of it as they are.
struct Quantized {
  Tensor values;
  QuantParams quant;
};
Quantized weights_by_channel(const std::vector<double>& reals, const Shape& shape, int axis, float least_scale = 0.0f);
// A bias in s32, by the scale of the data and those of the weights, which XNNPACK wants it to name.
Quantized bias_in_sums(const std::vector<double>& reals, float data_scale, const QuantParams& weights);
// A constant's values: of integers with scales what they stand for.
std::vector<double> reals_of(const TfliteTensor& tensor);

}  // namespace octavo::repair

#endif  // OCTAVO_DIAGNOSE_REPAIR_TFLITE_REPAIRS_H_
