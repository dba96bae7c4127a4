// Products of two activations. Part of lower/.
#include "lower/rules/fuse_matmul.h"

#include "lower/quantized_value.h"
#include "ops/matmul/matmul.h"
#include "ops/quantized_matmul/quantized_matmul.h"

namespace octavo {

Match fuse_matmul(const Graph& graph, const Node& node) {
  if (node.spec != &kMatmul) return std::string();
  const auto a = dequantized(graph, node.inputs[0]);
  const auto b = dequantized(graph, node.inputs[1]);
  if (!a || !b) return std::string("not both of its operands are quantized");
  const auto followed = follow_to_quantize(graph, node.outputs[0]);
  const auto* end = std::get_if<Quantized>(&followed);
  if (end != nullptr && is_fixed_point(end->profile))
    return "there is no integer form of it for rounding profile " + std::string(name_of(end->profile));
  const OpenShape& shape = graph.fact(node.inputs[0]).shape;
  // |a - a_zp| and |b - b_zp| are at most 255.
  if (shape[shape.rank() - 1] > 2147483647 / (255 * 255)) return std::string("its sums could leave 32 bits");
  const float scale = a->type.scale * b->type.scale;
  QuantizedMatmulAttrs attrs{.a_zero_point = a->type.zero_point,
                             .b_zero_point = b->type.zero_point,
                             .epilogue = {{Affine{scale}}, DType::f32}};
  if (end != nullptr) attrs.epilogue = {{Affine{scale / end->type.scale}, end->rounding()}, end->type.dtype};
  Patch patch(graph);
  const ValueId y = patch.add(kQuantizedMatmul, attrs, {a->q, b->q}, node.name, node.origin);
  if (end != nullptr) patch.set_quant(y, end->type.params());
  patch.replace(end != nullptr ? end->y : node.outputs[0], y);
  return patch;
}

}  // namespace octavo
