// The names of causes and engines. Part of diagnose/.
#include "diagnose/finding.h"

#include <algorithm>
#include <array>

namespace octavo::diagnose {
namespace {

struct NamedCause {
  std::string_view name, summary;
};

// In the order of Cause.
constexpr std::array<NamedCause, static_cast<std::size_t>(Cause::count)> kCauses = {{
    {"signed-activations", "activations are s8 where the engine is fast for u8 only"},
    {"unfused-activation", "an activation stands as an operator of its own between integer operators"},
    {"qdq-around-silu", "q/dq pairs stand between x, sigmoid(x) and their product"},
    {"qdq-around-mean", "q/dq pairs stand around means or average pools"},
    {"qdq-around-resize", "q/dq pairs stand around resizes"},
    {"qdq-around-excite", "q/dq pairs stand around the product of squeeze-and-excite"},
    {"batch-norm-unfolded", "a batch normalization is an operator of its own instead of part of a convolution"},
    {"double-pairs", "two q/dq pairs follow each other on one tensor"},
    {"redundant-pairs", "q/dq pairs stand around operators that compute in float anyway"},
    {"requantized-branches", "one tensor is quantized several times by different scales"},
    {"float-weights", "weights of products were left in float"},
    {"missing-output-pair", "the result of a product with quantized operands is not quantized"},
    {"float-island", "operators in float stand between integer ones"},
    {"dynamic-quantize", "activations are quantized anew in every run, by ranges found in it"},
    {"dynamic-range", "weights are integers but activations are float"},
    {"constants-in-run", "constants are quantized again in every run"},
    {"per-channel-axis", "weights have a scale per index of an axis that the engine does not compute by"},
    {"unsigned-weights", "weights are u8 where kernels take s8"},
    {"sixteen-bit-activations", "activations have 16 bits, which the engine has no fast kernels for"},
    {"range-behind-relu", "the range behind a ReLU or clip is not the one that it leaves, so it cannot be left out"},
    {"moved-scales", "what is only moved changes its scale on the way"},
    {"unlowered-graph", "q/dq nodes that nobody turned into integer kernels"},
    {"unscheduled-products", "products run in plain loops, which nobody scheduled for the processor"},
    {"slow-bytes", "operators on bytes run in a slow kernel, while those on floats have a fast one"},
    {"zero-scale", "a scale is 0 or no finite number"},
    {"denormal-scale", "a scale is below the least normal number"},
    {"mask-in-range", "a range reaches to the value of a mask"},
    {"saturated-weights", "many weights stand at the ends of their type"},
    {"wide-channels", "channels of one tensor lie far apart under one scale"},
    {"uncalibrated-range", "a range was never calibrated"},
    {"saturating-sums", "sums of two products saturate on processors without VNNI"},
    {"per-tensor-weights", "depthwise weights have one scale for all channels"},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kEngineNames = {
    {{"ort", "ONNX Runtime"}, {"litert", "LiteRT"}, {"openvino", "OpenVINO"}, {"tvm", "TVM"}, {"torch", "PyTorch"}}};
constexpr std::array<std::string_view, 3> kSurenessNames = {"measured", "known", "likely"};

}  // namespace

std::string_view name_of(Engine engine) { return kEngineNames[static_cast<std::size_t>(engine)].first; }
std::string_view title_of(Engine engine) { return kEngineNames[static_cast<std::size_t>(engine)].second; }
std::string_view name_of(Cause cause) { return kCauses[static_cast<std::size_t>(cause)].name; }
std::string_view summary_of(Cause cause) { return kCauses[static_cast<std::size_t>(cause)].summary; }
std::string_view name_of(Sureness sureness) { return kSurenessNames[static_cast<std::size_t>(sureness)]; }

std::optional<Cause> cause_named(std::string_view name) {
  const auto found = std::ranges::find(kCauses, name, &NamedCause::name);
  if (found == kCauses.end()) return {};
  return static_cast<Cause>(found - kCauses.begin());
}

}  // namespace octavo::diagnose
