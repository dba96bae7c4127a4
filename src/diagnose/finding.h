// Finding: one thing in a file that costs time or accuracy, where it is and what to do. Part of diagnose/.
#ifndef OCTAVO_DIAGNOSE_FINDING_H_
#define OCTAVO_DIAGNOSE_FINDING_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::diagnose {

enum class Engine : std::uint8_t { ort, litert, openvino, tvm, torch };
inline constexpr Engine kEngines[] = {Engine::ort, Engine::litert, Engine::openvino, Engine::tvm, Engine::torch};
std::string_view name_of(Engine engine);  // "ort": the word of --engine
std::string_view title_of(Engine engine);

// What can be wrong with a file. Their names are stable: reports and programs refer to them.
enum class Cause : std::uint8_t {
  // ---- time ----
  signed_activations,       // s8 where the engine has fast kernels for u8 only
  unfused_activation,       // QOperator: an activation that stands between integer operators on its own
  qdq_around_silu,          // pairs between x, sigmoid(x) and their product
  qdq_around_mean,          // and around means and average pools
  qdq_around_resize,        // and around resizes
  qdq_around_excite,        // and around the product of squeeze-and-excite
  batch_norm_unfolded,      // after a convolution, in the quantized file
  double_pairs,             // two pairs of quantize and dequantize one after the other on one tensor
  redundant_pairs,          // pairs around operators that compute in float anyway
  requantized_branches,     // one tensor quantized several times by different scales
  float_weights,            // products whose weights were left in float
  missing_output_pair,      // a product with quantized operands whose result nobody quantizes
  float_island,             // operators in float between integer ones
  dynamic_quantize,         // activations quantized in every run
  dynamic_range,            // TFLite: integer weights, float activations
  constants_in_run,         // constants that are quantized again in every run
  per_channel_axis,         // weights by channels of an axis that the engine does not compute by
  unsigned_weights,         // u8 weights where kernels take s8
  sixteen_bit_activations,  // pairs of s16 or u16, which the engine has no kernels for
  range_behind_relu,        // a ReLU or clip before a pair whose range is not what it leaves
  moved_scales,             // what is only moved changes its scale on the way
  unlowered_graph,          // q/dq nodes that nobody turned into integer kernels
  unscheduled_products,     // TVM: products in plain loops
  slow_bytes,               // LiteRT: operators on bytes that it has no fast kernel for, and has one for floats
  // ---- answers ----
  zero_scale,          // 0, or no finite number
  denormal_scale,      // below the least normal f32
  mask_in_range,       // a range up to 3.4e38: the value of a mask
  saturated_weights,   // many weights at the ends of their type
  wide_channels,       // channels 10^4 apart under one scale
  uncalibrated_range,  // the range that observers begin with
  saturating_sums,     // 8-bit weights in pairs of 16-bit sums: AVX2 without VNNI
  per_tensor_weights,  // depthwise weights by one scale
  count,
};
std::string_view name_of(Cause cause);  // "signed-activations"
std::optional<Cause> cause_named(std::string_view name);
std::string_view summary_of(Cause cause);  // what it is, as a sentence

enum class Sureness : std::uint8_t {
  measured,  // by a profile of this file
  known,     // the engine was measured to do so, this file has the pattern
  likely,    // the engine's documentation or its users say so
};
std::string_view name_of(Sureness sureness);

struct Finding {
  Cause cause{};
  std::vector<int> nodes;             // of the FileView, in its order; those that are to change
  std::string where;                  // the first of them by name, or tensors, as text
  double predicted_ms = 0.0;          // lost in each run; 0 for what costs answers
  std::optional<double> measured_ms;  // where a profile was given
  Sureness sureness = Sureness::known;
  std::string what;    // one sentence with this file's numbers
  std::string advice;  // what to do in the engine
  std::string octavo;  // what Octavo does with the file as it is
  std::string source;  // where the rule is from, with versions

  double ms() const { return measured_ms.value_or(predicted_ms); }
  bool is_about_answers() const { return cause >= Cause::zero_scale; }
};

}  // namespace octavo::diagnose

#endif  // OCTAVO_DIAGNOSE_FINDING_H_
