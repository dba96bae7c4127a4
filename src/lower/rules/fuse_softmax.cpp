// Softmax of quantized values. Part of lower/.
#include "lower/rules/fuse_softmax.h"

#include "base/requantize.h"
#include "lower/quantized_value.h"
#include "ops/quantized_softmax/quantized_softmax.h"
#include "ops/softmax/softmax.h"

namespace octavo {
namespace {

// Entry i is for an element 255 - i below the largest of its line.
Tensor exponentials(Profile profile, float scale, std::int64_t length) {
  Tensor table(DType::f32, Shape{256});
  for (int i = 0; i < 256; ++i) {
    table.as<float>()[i] = profile == Profile::onnx ? softmax_exponential(i, scale, length) : tflite_softmax_exponential(i, scale);
  }
  return table;
}

}  // namespace

Match fuse_softmax(const Graph& graph, const Node& node) {
  if (node.spec != &kSoftmax) return std::string();
  const auto& softmax = node.attrs.as<SoftmaxAttrs>();
  if (softmax.kind != SoftmaxKind::softmax) return std::string("there is no integer form of log_softmax");
  const auto x = dequantized(graph, node.inputs[0]);
  if (!x) return std::string("its input is not quantized");
  if (softmax.axis != graph.fact(node.inputs[0]).shape.rank() - 1) return std::string("it is not along the last axis");
  const auto followed = follow_to_quantize(graph, node.outputs[0]);
  if (const auto* reason = std::get_if<std::string>(&followed)) return *reason;
  const auto& end = std::get<Quantized>(followed);
  const IntegerRange range = range_of(end.type.dtype);
  const bool is_known = end.profile == Profile::onnx || end.profile == Profile::tflite_xnnpack;
  if (!is_known || end.lowest != range.lowest || end.highest != range.highest)
    return std::string("its result is rounded or clamped in a way that has no integer form");
  Patch patch(graph);
  const QuantizedSoftmaxAttrs attrs{end.type.dtype, end.profile, end.type.scale, end.type.zero_point};
  const ValueId table = patch.constant(node.name + "/exponentials",
                                       exponentials(end.profile, x->type.scale, graph.fact(node.inputs[0]).shape[static_cast<int>(softmax.axis)]));
  const ValueId y = patch.add(kQuantizedSoftmax, attrs, {x->q, table}, node.name, node.origin);
  patch.set_quant(y, end.type.params());
  patch.replace(end.y, y);
  return patch;
}

}  // namespace octavo
