// Whose formulas a graph rounds by. Part of lower/.
#include "lower/rounding_profiles.h"

#include "ops/epilogue.h"
#include "ops/fixed_l2_norm/fixed_l2_norm.h"
#include "ops/integer_resize/integer_resize.h"
#include "ops/quantize/quantize.h"
#include "ops/quantized_pool/quantized_pool.h"
#include "ops/quantized_softmax/quantized_softmax.h"

namespace octavo {
namespace {

// The profiles that have such a stage before the rounding.
ProfileSet profiles_of(const Stage& stage) {
  if (const auto* scale = std::get_if<FixedScale>(&stage)) return {scale->profile};
  if (const auto* pair = std::get_if<FixedBinary>(&stage)) return {pair->profile};
  if (std::holds_alternative<DoubleScale>(stage)) return {Profile::tflite_real};
  if (std::holds_alternative<WideScale>(stage)) return {Profile::tflite_wide};
  if (std::holds_alternative<AddInteger>(stage)) return {Profile::tflite_xnnpack};
  if (std::holds_alternative<AddReal>(stage) || std::holds_alternative<Divide>(stage))
    return {Profile::onnx, Profile::pt2e};
  const bool is_real = std::holds_alternative<Scale>(stage) || std::holds_alternative<Affine>(stage) ||
                       std::holds_alternative<ScaleAndAdd>(stage);
  return is_real ? ProfileSet{Profile::onnx, Profile::tflite_xnnpack, Profile::pt2e} : ProfileSet();
}

// Of the first stage that says it; none where nothing is rounded to a known scale.
ProfileSet profiles_of(const Epilogue& epilogue) {
  if (epilogue.find<Round>() == nullptr && epilogue.find<AddInteger>() == nullptr) return {};
  for (const Stage& stage : epilogue.stages) {
    if (const ProfileSet found = profiles_of(stage); !found.is_empty()) return found;
  }
  return {};
}

// All that may have made the node; none: it rounds nothing, or by what comes in a run.
ProfileSet profiles_of(const Node& node) {
  constexpr auto kXnnpack = Profile::tflite_xnnpack, kDouble = Profile::tflite_double, kSingle = Profile::tflite_single;
  if (const auto* quantize = node.attrs.get_if<QuantizeAttrs>()) return {quantize->profile};
  if (const auto* softmax = node.attrs.get_if<QuantizedSoftmaxAttrs>()) return {softmax->profile};
  if (const auto* norm = node.attrs.get_if<FixedL2NormAttrs>()) return {norm->profile};
  if (const auto* resize = node.attrs.get_if<IntegerResizeAttrs>())
    return resize->rounding == ResizeRounding::eleven_bits ? ProfileSet{kXnnpack} : ProfileSet{kDouble, kSingle};
  const auto* pool = node.attrs.get_if<QuantizedPoolAttrs>();
  if (pool != nullptr && pool->form == QuantizedPoolForm::integer_average) return {kXnnpack, kDouble, kSingle};
  return node.spec->epilogue == nullptr ? ProfileSet() : profiles_of(node.spec->epilogue->of(node.attrs));
}

}  // namespace

ProfileSet rounding_profiles(const Graph& graph) {
  ProfileSet found;
  for (const NodeId id : graph.order()) found.add(profiles_of(graph.node(id)));
  return found;
}

Status verify_rounding(const Graph& graph, ProfileSet allowed) {
  Errors errors;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const ProfileSet own = profiles_of(node);
    if (own.is_empty() || allowed.has_one_of(own)) continue;
    errors.push_back({.kind = ErrorKind::internal,
                      .where = "node '" + node.name + "', " + std::string(node.spec->name),
                      .found = "a rounding by a formula that the file does not have",
                      .expected = "one of the file's profiles"});
  }
  if (!errors.empty()) return errors;
  return ok_status();
}

}  // namespace octavo
