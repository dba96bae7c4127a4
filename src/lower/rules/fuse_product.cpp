// Matrix products that are rounded once, in f64. Part of lower/.
#include "lower/rules/fuse_product.h"

#include <optional>

#include "lower/integer_weights.h"
#include "lower/quantized_value.h"
#include "lower/tensor_edit.h"
#include "ops/binary/binary.h"
#include "ops/matmul/matmul.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"
#include "ops/reshape/reshape.h"

namespace octavo {
namespace {

// The matrix [K, N] as filters [N, 1, 1, K].
std::optional<QuantizedConstant> product_filters(const Graph& graph, ValueId matrix) {
  auto found = quantized_constant(graph, matrix);
  if (!found || found->q->shape().rank() != 2 || found->axis == 0 || !is_8bit(found->q->dtype())) return std::nullopt;
  const Shape& shape = found->q->shape();
  found->q = std::make_shared<const Tensor>(transposed(*found->q, {1, 0}).reshaped(Shape{shape[1], 1, 1, shape[0]}));
  if (found->axis == 1) found->axis = 0;
  return found;
}

// The wire after the addition of one constant per column, where that alone reads the product.
struct WithBias {
  ValueId result;
  std::optional<QuantizedConstant> bias;
};
WithBias bias_of(const Graph& graph, ValueId product, std::int64_t columns) {
  const Node* add = only_reader(graph, product);
  if (add == nullptr || !is_binary(add->attrs, BinaryKind::add)) return {product, std::nullopt};
  auto bias = quantized_constant(graph, add->inputs[add->inputs[0] == product ? 1 : 0]);
  if (!bias || bias->q->shape() != Shape{columns} || bias->q->dtype() != DType::s32) return {product, std::nullopt};
  return {add->outputs[0], std::move(bias)};
}

Tensor product_multipliers(const IntegerWeights& weights, float x_scale, float y_scale) {
  Tensor tensor(DType::f64, Shape{static_cast<std::int64_t>(weights.scale.size())});
  for (std::size_t c = 0; c < weights.scale.size(); ++c) {
    tensor.as<double>()[c] =
        static_cast<double>(x_scale) * static_cast<double>(weights.scale[c]) / static_cast<double>(y_scale);
  }
  return tensor;
}

}  // namespace

Match fuse_product(const Graph& graph, const Node& node) {
  if (node.spec != &kMatmul) return std::string();
  const auto x = dequantized(graph, node.inputs[0]);
  auto w = product_filters(graph, node.inputs[1]);
  if (!x || !w) return std::string();
  const std::int64_t columns = w->q->shape()[0], inner = w->q->shape()[3];
  auto [result, bias] = bias_of(graph, node.outputs[0], columns);
  const auto followed = follow_to_quantize(graph, result);
  const auto* end = std::get_if<Quantized>(&followed);
  if (end == nullptr || end->profile != Profile::tflite_real || inner == 0) return std::string();
  const auto made = integer_weights({std::move(*w), std::move(bias), std::nullopt}, x->type, end->profile);
  if (const auto* reason = std::get_if<std::string>(&made)) return *reason;
  const auto& weights = std::get<IntegerWeights>(made);

  Patch patch(graph);
  const Dim rows = graph.fact(node.inputs[0]).shape.elements() / inner;
  const ValueId image =
      patch.add(kReshape, ReshapeAttrs{{rows, 1, 1, inner}}, {x->q}, node.name + "/rows", node.origin);
  const QuantizedConvAttrs conv{
      .window = unit_window({1, 1}), .x_zero_point = x->type.zero_point, .epilogue = {.to = DType::s32}};
  const ValueId sums =
      patch.add(kQuantizedConv, conv, conv_inputs(patch, node, image, weights), node.name, node.origin);
  const ValueId factors =
      patch.constant(node.name + "/multipliers", product_multipliers(weights, x->type.scale, end->type.scale));
  const Epilogue epilogue{{DoubleScale{}, end->rounding()}, end->type.dtype};
  const ValueId y = patch.add(kQuantizedElementwise, QuantizedElementwiseAttrs{epilogue}, {sums, factors},
                              node.name + "/requantized", node.origin);
  patch.set_quant(y, end->type.params());
  const ReshapeAttrs back{graph.fact(end->y).shape.to_vector()};
  patch.replace(end->y, patch.add(kReshape, back, {y}, node.name + "/result", node.origin));
  return patch;
}

}  // namespace octavo
