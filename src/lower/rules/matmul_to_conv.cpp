// Products with a constant matrix. Part of lower/.
#include "lower/rules/matmul_to_conv.h"

#include <optional>

#include "lower/quantized_value.h"
#include "lower/tensor_edit.h"
#include "ops/binary/binary.h"
#include "ops/conv/conv.h"
#include "ops/dequantize/dequantize.h"
#include "ops/matmul/matmul.h"
#include "ops/reshape/reshape.h"

namespace octavo {
namespace {

// [K, N] to [N, 1, 1, K].
Tensor as_filters(const Tensor& matrix) {
  return transposed(matrix, {1, 0}).reshaped(Shape{matrix.shape()[1], 1, 1, matrix.shape()[0]});
}

// The matrix as convolution weights, dequantize kept; a wire that does not exist where it is not constant.
ValueId matmul_filters(Patch& patch, const Graph& graph, ValueId matrix) {
  const Fact& fact = graph.fact(matrix);
  if (fact.is_constant()) return patch.constant(graph.value(matrix).name, as_filters(*fact.constant));
  const Node* dequantize = graph.producer_if(matrix, kDequantize);
  auto attrs = dequantize->attrs.as<DequantizeAttrs>();
  if (attrs.axis >= 0) attrs.axis = attrs.axis == 1 ? 0 : 3;
  std::vector<ValueId> inputs = dequantize->inputs;
  inputs[0] = patch.constant(graph.value(inputs[0]).name, as_filters(*graph.fact(inputs[0]).constant));
  return patch.add(kDequantize, attrs, std::move(inputs), dequantize->name, dequantize->origin);
}

// The addition of one constant per column that alone reads the product.
struct BiasAddition {
  const Node* node = nullptr;
  ValueId bias;
};
std::optional<BiasAddition> bias_addition(const Graph& graph, const Node& product, std::int64_t columns) {
  const Node* reader = only_reader(graph, product.outputs[0]);
  if (reader == nullptr || !is_binary(reader->attrs, BinaryKind::add)) return std::nullopt;
  const ValueId bias = reader->inputs[0] == product.outputs[0] ? reader->inputs[1] : reader->inputs[0];
  const Fact& fact = graph.fact(bias);
  // First, so that nothing is asked of the sizes of what else is added.
  if (!fact.is_constant() && !quantized_constant(graph, bias)) return std::nullopt;
  const bool is_per_column =
      fact.shape.rank() >= 1 && fact.shape.elements() == columns && fact.shape[fact.shape.rank() - 1] == columns;
  const bool keeps_shape = is_same(graph.fact(reader->outputs[0]).shape, graph.fact(product.outputs[0]).shape);
  if (!is_per_column || !keeps_shape) return std::nullopt;
  return BiasAddition{reader, bias};
}

// The bias as a vector; a dequantize whose constant has more axes is rebuilt around the vector.
ValueId as_vector(Patch& patch, const Graph& graph, ValueId bias, std::int64_t columns) {
  const Fact& fact = graph.fact(bias);
  if (fact.shape.rank() == 1) return bias;
  if (fact.is_constant()) return patch.constant(graph.value(bias).name, fact.constant->reshaped(Shape{columns}));
  const Node* dequantize = graph.producer_if(bias, kDequantize);
  auto attrs = dequantize->attrs.as<DequantizeAttrs>();
  if (attrs.axis >= 0) attrs.axis = 0;
  std::vector<ValueId> inputs = dequantize->inputs;
  inputs[0] = patch.constant(graph.value(inputs[0]).name, graph.fact(inputs[0]).constant->reshaped(Shape{columns}));
  return patch.add(kDequantize, attrs, std::move(inputs), dequantize->name, dequantize->origin);
}

}  // namespace

Match matmul_to_conv(const Graph& graph, const Node& node) {
  if (node.spec != &kMatmul) return std::string();
  const Fact& x = graph.fact(node.inputs[0]);
  const Fact& matrix = graph.fact(node.inputs[1]);
  if (x.dtype != DType::f32) return std::string();
  const bool is_known = matrix.is_constant() || quantized_constant(graph, node.inputs[1]).has_value();
  if (!is_known) return std::string("its second operand is not constant");
  if (matrix.shape.rank() != 2 || x.shape.rank() < 1 || is_zero(x.shape.elements()))
    return std::string("its constant operand is not a matrix");
  const std::int64_t inner = matrix.shape[0];
  const std::int64_t columns = matrix.shape[1];
  const Dim rows = x.shape.elements() / inner;

  Patch patch(graph);
  const auto addition = bias_addition(graph, node, columns);
  // [N, H, W, K] is an image as it is.
  const bool is_image = x.shape.rank() == 4;
  const ValueId image = is_image ? node.inputs[0]
                                 : patch.add(kReshape, ReshapeAttrs{{rows, 1, 1, inner}}, {node.inputs[0]},
                                             node.name + "/rows", node.origin);
  std::vector<ValueId> inputs = {image, matmul_filters(patch, graph, node.inputs[1])};
  if (addition) inputs.push_back(as_vector(patch, graph, addition->bias, columns));
  const ConvAttrs attrs{unit_window({1, 1}), 1, Layout::channels_last};
  const ValueId product = patch.add(kConv, attrs, std::move(inputs), node.name, node.origin);
  const ValueId old_result = addition ? addition->node->outputs[0] : node.outputs[0];
  const ReshapeAttrs back{graph.fact(old_result).shape.to_vector()};
  patch.replace(old_result,
                is_image ? product : patch.add(kReshape, back, {product}, node.name + "/result", node.origin));
  return patch;
}

Match quantized_matmul_to_conv(const Graph& graph, const Node& node) {
  if (node.spec != &kMatmul) return std::string();
  if (!quantized_constant(graph, node.inputs[1])) return std::string();
  if (!dequantized(graph, node.inputs[0], Stored::bytes_or_s16) && !dequantized_in_run(graph, node.inputs[0]))
    return std::string("its input is not quantized");
  return matmul_to_conv(graph, node);
}

}  // namespace octavo
