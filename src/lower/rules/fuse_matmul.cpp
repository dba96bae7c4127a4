// Products of two activations. Part of lower/.
#include "lower/rules/fuse_matmul.h"

#include "lower/fixed_result.h"
#include "lower/quantized_value.h"
#include "ops/matmul/matmul.h"
#include "ops/quantized_matmul/quantized_matmul.h"

namespace octavo {
namespace {

// What becomes of sums of two quantized values, and the operands that this reads.
struct ProductEnd {
  Epilogue epilogue;
  std::vector<ValueId> operands;
};

ValueId product_factor(Patch& patch, const Node& node, double factor) {
  Tensor tensor(DType::f64, Shape{1});
  tensor.as<double>()[0] = factor;
  return patch.constant(node.name + "/multiplier", std::move(tensor));
}

ProductEnd product_end(Patch& patch, const Node& node, float a_scale, float b_scale, const Quantized& end) {
  const auto y_scale = static_cast<double>(end.type.scale);
  // In fixed point the product of the scales is in f32.
  if (is_fixed_point(end.profile))
    return {fixed_epilogue(end),
            fixed_factors(patch, node, {FixedMultiplier::of(static_cast<double>(a_scale * b_scale) / y_scale)})};
  if (end.profile == Profile::tflite_real) {
    const double factor = static_cast<double>(a_scale) * static_cast<double>(b_scale) / y_scale;
    return {{{DoubleScale{}, end.rounding()}, end.type.dtype}, {product_factor(patch, node, factor)}};
  }
  return {{{Affine{a_scale * b_scale / end.type.scale}, end.rounding()}, end.type.dtype}, {}};
}

}  // namespace

Match fuse_matmul(const Graph& graph, const Node& node) {
  if (node.spec != &kMatmul) return std::string();
  const auto followed = follow_to_quantize(graph, node.outputs[0]);
  const auto* end = std::get_if<Quantized>(&followed);
  // A product that stays real keeps its constants real.
  const auto operand = [&](int i) {
    const ValueId wire = node.inputs[static_cast<std::size_t>(i)];
    return end != nullptr ? quantized_operand(graph, wire) : dequantized(graph, wire);
  };
  const auto a = operand(0), b = operand(1);
  if (!a || !b) return std::string("not both of its operands are quantized");
  const OpenShape& shape = graph.fact(node.inputs[0]).shape;
  // |a - a_zp| and |b - b_zp| are at most 255.
  if (shape[shape.rank() - 1] > 2147483647 / (255 * 255)) return std::string("its sums could leave 32 bits");
  Patch patch(graph);
  ProductEnd result{{{Affine{a->type.scale * b->type.scale}}, DType::f32}, {}};
  if (end != nullptr) result = product_end(patch, node, a->type.scale, b->type.scale, *end);
  std::vector<ValueId> inputs = {a->q, b->q};
  inputs.insert(inputs.end(), result.operands.begin(), result.operands.end());
  const QuantizedMatmulAttrs attrs{
      .a_zero_point = a->type.zero_point, .b_zero_point = b->type.zero_point, .epilogue = std::move(result.epilogue)};
  const ValueId y = patch.add(kQuantizedMatmul, attrs, std::move(inputs), node.name, node.origin);
  if (end != nullptr) patch.set_quant(y, end->type.params());
  patch.replace(end != nullptr ? end->y : node.outputs[0], y);
  return patch;
}

}  // namespace octavo
