// All repairs, in the order in which they are applied. Part of diagnose/.
#include "diagnose/repair/repair.h"
#include "diagnose/repair/repairs.h"
#include "diagnose/repair/tflite_repairs.h"

namespace octavo::repair {
namespace {

constexpr Promise kEqual{.is_equal = true};
// A value is rounded once less, or at other places.
constexpr Promise kRoundedElsewhere{.most_noise = 2.0};
// What was in floats is in 8 bits.
constexpr Promise kQuantized{.most_noise = 10.0};

constexpr RepairOf<OnnxEdit> kOnnx[] = {
    {{"unsigned-activations", "s8 activations are u8, their zero points moved by 128",
      "ONNX Runtime 1.32 on x86 fuses s8 pairs that one node reads, and leaves in floats whatever two nodes read: skip "
      "connections, SiLU; measured with an Intel Xeon with VNNI",
      kRoundedElsewhere},
     make_activations_unsigned},
    {{"signed-weights", "u8 weights of products are s8, their zero points moved by 128",
      "measured: ONNX Runtime 1.32 on x86 has kernels with VNNI for u8 by s8: 330 GMAC/s, and 75 for u8 by u8", kEqual},
     make_weights_signed},
    {{"pairs-for-operators", "QLinearConv and the like are float operators between pairs",
      "what stands between two integer operators, an activation say, is fused into them", kRoundedElsewhere},
     make_operators_pairs},
    {{"double-pairs", "a pair behind an equal one is gone", "nothing is dequantized and quantized again", kEqual},
     drop_double_pairs},
    {{"batch-norms", "batch normalisations are in the convolutions before them",
      "no dequantizing, normalising in floats and quantizing again behind every convolution", kRoundedElsewhere},
     fold_batch_norms},
    {{"pairs-before-activations", "an operator and its ReLU or Clip have no pair between them",
      "the bounds of the last pair are the activation, so that it costs nothing", kRoundedElsewhere},
     drop_pairs_before_activations},
    {{"ranges-behind-relu", "what a ReLU gives has a range from zero on",
      "u8 from zero on is what a ReLU does anyway, so that engines leave it out; and a step is half as wide",
      kRoundedElsewhere},
     use_whole_range_behind_relu},
    {{"skip-connections", "what reads a tensor in floats beside its pair reads the pair",
      "additions of integers, and convolutions in integers before them", kQuantized},
     read_pairs_instead_of_floats},
    {{"float-weights", "float weights of operators with quantized activations are s8 per channel",
      "products in integers in every engine, not in those alone that quantize weights while they load", kQuantized},
     quantize_weights},
    {{"means", "means over height and width are GlobalAveragePool",
      "ONNX Runtime has an integer kernel for that operator and none for ReduceMean", kRoundedElsewhere},
     make_means_pools},
    {{"moved-scales", "what is only moved keeps its scale",
      "resizing, pooling and moving without a conversion before and behind it", kRoundedElsewhere},
     keep_scales_through_moves},
};

constexpr RepairOf<TfliteEdit> kTflite[] = {
    {{"sixteen-bits-in-floats", "operators on s16 compute in floats, their weights dequantized when the file is loaded",
      "measured: LiteRT 2.3.0 has no fast kernels for s16: products take 30 to 150 times what they do in floats",
      kRoundedElsewhere},
     make_sixteen_bits_floats},
    {{"signed-bytes", "u8 is s8, with weights symmetric per channel",
      "measured: LiteRT 2.3.0 on x86 has kernels with VNNI for s8, and none for u8", kQuantized},
     make_tflite_signed},
    {{"dynamic-depthwise-in-floats",
      "depthwise convolutions of floats by bytes get float weights when the file is loaded",
      "measured: LiteRT 2.3.0 leaves such convolutions to a kernel that takes 4 times as long", kRoundedElsewhere},
     make_dynamic_depthwise_floats},
    {{"double-conversions", "a conversion behind another one is gone", "a pass less over the tensor",
      kRoundedElsewhere},
     drop_double_conversions},
    {{"islands-in-bytes", "operators in floats between bytes compute on bytes",
      "products, pools, resizing and moving take less on bytes, without conversions around them", kQuantized},
     make_islands_integers},
    {{"slow-bytes-in-floats", "operators on bytes that XNNPACK does not take compute in floats",
      "measured: LiteRT 2.3.0: HARD_SWISH, ReLUs of their own, SOFTMAX and windows of AVERAGE_POOL_2D take 6 to 150 "
      "times "
      "as long on bytes",
      kRoundedElsewhere},
     make_slow_bytes_floats},
};

}  // namespace

std::span<const RepairOf<OnnxEdit>> onnx_repairs() { return kOnnx; }
std::span<const RepairOf<TfliteEdit>> tflite_repairs() { return kTflite; }

}  // namespace octavo::repair
