// ONNX writers: the table, and operators whose attributes say it all. Part of export/.
#include "export/onnx_operators.h"

#include <algorithm>
#include <utility>

#include "import/onnx/types.h"
#include "ops/argmax/argmax.h"
#include "ops/attention/attention.h"
#include "ops/average_pool/average_pool.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/concat/concat.h"
#include "ops/conv/conv.h"
#include "ops/conv_integer/conv_integer.h"
#include "ops/conv_transpose/conv_transpose.h"
#include "ops/cumsum/cumsum.h"
#include "ops/dequantize/dequantize.h"
#include "ops/det/det.h"
#include "ops/dynamic_quantize/dynamic_quantize.h"
#include "ops/expand/expand.h"
#include "ops/gather/gather.h"
#include "ops/gather_elements/gather_elements.h"
#include "ops/gather_nd/gather_nd.h"
#include "ops/grid_sample/grid_sample.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/lrn/lrn.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul_integer/matmul_integer.h"
#include "ops/max_pool/max_pool.h"
#include "ops/pad/pad.h"
#include "ops/quantize/quantize.h"
#include "ops/recurrence/recurrence.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"
#include "ops/resize/resize.h"
#include "ops/roi_align/roi_align.h"
#include "ops/scatter_elements/scatter_elements.h"
#include "ops/scatter_nd/scatter_nd.h"
#include "ops/slice/slice.h"
#include "ops/softmax/softmax.h"
#include "ops/topk/topk.h"
#include "ops/transpose/transpose.h"
#include "ops/unary/unary.h"
#include "ops/where/where.h"

namespace octavo::onnx_export {
namespace {

// Opset 17 has no names for the bits of integers.
constexpr std::string_view binary_name(BinaryKind kind) {
  constexpr std::string_view names[] = {"Add",      "Sub",
                                        "Mul",      "Div",
                                        "Pow",      "Min",
                                        "Max",      "Mod",
                                        "PRelu",    "Equal",
                                        "Greater",  "GreaterOrEqual",
                                        "Less",     "LessOrEqual",
                                        "And",      "Or",
                                        "Xor",      "BitShift",
                                        "BitShift", "",
                                        "",         ""};
  static_assert(std::size(names) == count_of(BinaryKind{}));
  return names[static_cast<int>(kind)];
}

constexpr std::string_view reduce_name(ReduceKind kind) {
  constexpr std::string_view names[] = {"ReduceSum",    "ReduceMean",     "ReduceMax", "ReduceMin",
                                        "ReduceProd",   "ReduceL1",       "ReduceL2",  "ReduceSumSquare",
                                        "ReduceLogSum", "ReduceLogSumExp"};
  static_assert(std::size(names) == count_of(ReduceKind{}));
  return names[static_cast<int>(kind)];
}

// All axes but those of batch and channels: what GlobalAveragePool and GlobalMaxPool reduce.
bool is_global_pool(const ReduceAttrs& attrs, int rank) {
  if ((attrs.kind != ReduceKind::mean && attrs.kind != ReduceKind::max) || !attrs.keep_dims || rank < 3) return false;
  Integers spatial;
  for (int axis = 2; axis < rank; ++axis) spatial.push_back(axis);
  return attrs.axes == spatial;
}

}  // namespace

std::vector<std::string> NodeExport::inputs() const {
  std::vector<std::string> names;
  for (const ValueId value : node.inputs) names.push_back(out.name_of(value));
  return names;
}

onnx::NodeProto& NodeExport::emit(std::string_view op, const std::vector<std::string>& from) {
  return out.node(op, node.name, from, out.name_of(node.outputs[0]));
}

std::string NodeExport::before(std::string_view op, const std::vector<std::string>& from, std::string_view suffix) {
  std::string result = out.fresh(name(suffix));
  out.node(op, name(suffix), from, result);
  return result;
}

void write_argmax(NodeExport& node) {
  const auto& attrs = node.attrs<ArgmaxAttrs>();
  onnx::NodeProto& made = node.emit(attrs.kind == ArgKind::max ? "ArgMax" : "ArgMin", node.inputs());
  set_attribute(made, "axis", attrs.axis);
  set_attribute(made, "keepdims", std::int64_t{attrs.keep_dims});
  set_attribute(made, "select_last_index", std::int64_t{attrs.select_last});
}

void write_batch_norm(NodeExport& node) {
  const auto& attrs = node.attrs<BatchNormAttrs>();
  if (attrs.axis != 1) return node.refuse("channels along axis " + std::to_string(attrs.axis), "axis 1");
  set_attribute(node.emit("BatchNormalization", node.inputs()), "epsilon", attrs.epsilon);
}

const Node* product_of_gemm(const Graph& graph, const Node& addition) {
  if (!is_binary(addition.attrs, BinaryKind::add)) return nullptr;
  for (std::size_t side = 0; side < 2; ++side) {
    const Node* product = graph.producer_if(addition.inputs[side], kMatmul);
    if (product == nullptr || !graph.has_one_reader(addition.inputs[side]) ||
        graph.fact(addition.inputs[side]).dtype != DType::f32)
      continue;
    const Shape& y = graph.fact(addition.inputs[side]).shape;
    const Shape& bias = graph.fact(addition.inputs[1 - side]).shape;
    const bool are_matrices =
        graph.fact(product->inputs[0]).shape.rank() == 2 && graph.fact(product->inputs[1]).shape.rank() == 2;
    const bool is_row =
        (bias.rank() == 1 || (bias.rank() == 2 && bias[0] == 1)) && y.rank() == 2 && bias[bias.rank() - 1] == y[1];
    // Otherwise the addition is of two computed values, like any other.
    const Node* made_by = graph.producer(addition.inputs[1 - side]);
    const bool is_constant =
        graph.fact(addition.inputs[1 - side]).is_constant() ||
        (made_by != nullptr && made_by->attrs.is<DequantizeAttrs>() && graph.fact(made_by->inputs[0]).is_constant());
    if (are_matrices && is_row && is_constant) return product;
  }
  return nullptr;
}

void write_binary(NodeExport& node) {
  const BinaryKind kind = node.attrs<BinaryAttrs>().kind;
  if (const Node* product = product_of_gemm(node.out.graph(), node.node); product != nullptr) {
    const std::string bias = node.input(node.node.inputs[0] == product->outputs[0] ? 1 : 0);
    node.emit("Gemm", {node.out.name_of(product->inputs[0]), node.out.name_of(product->inputs[1]), bias});
    return;
  }
  if (binary_name(kind).empty()) return node.refuse("the bits of integers", "operators that opset 17 has");
  onnx::NodeProto& made = node.emit(binary_name(kind), node.inputs());
  if (kind == BinaryKind::shift_left) set_attribute(made, "direction", std::string_view("LEFT"));
  if (kind == BinaryKind::shift_right) set_attribute(made, "direction", std::string_view("RIGHT"));
  if (kind == BinaryKind::mod && is_float(node.fact(0).dtype)) set_attribute(made, "fmod", std::int64_t{1});
}

void write_cast(NodeExport& node) {
  set_attribute(node.emit("Cast", node.inputs()), "to",
                std::int64_t{onnx_import::onnx_type_of(node.attrs<CastAttrs>().to)});
}

void write_concat(NodeExport& node) {
  set_attribute(node.emit("Concat", node.inputs()), "axis", node.attrs<ConcatAttrs>().axis);
}

void write_dequantize(NodeExport& node) {
  const auto& attrs = node.attrs<DequantizeAttrs>();
  if (attrs.block != 0 || attrs.to != DType::f32)
    return node.refuse("a block of scales or a 16-bit result", "scales per tensor or per channel, and f32");
  std::vector<std::string> inputs = node.inputs();
  // Written out also where they are 0: ONNX Runtime fuses products only where their weights have them.
  const bool is_weight = node.fact(0).is_constant() && is_8bit(node.fact(0).dtype) && node.fact(1).is_constant();
  if (is_weight && inputs.size() < 3)
    inputs.push_back(node.out.constant(node.input(0) + "/zero_point", Tensor(node.fact(0).dtype, node.fact(1).shape)));
  onnx::NodeProto& made = node.emit("DequantizeLinear", inputs);
  if (attrs.axis >= 0) set_attribute(made, "axis", attrs.axis);
}

void write_quantize(NodeExport& node) {
  const auto& attrs = node.attrs<QuantizeAttrs>();
  const bool is_whole = attrs.lowest == 0 && attrs.highest == 0;
  if (attrs.block != 0 || !is_whole || !is_8bit(attrs.to)) {
    return node.refuse("a block of scales, a narrowed range or " + std::string(octavo::name_of(attrs.to)),
                       "all of u8 or s8");
  }
  std::vector<std::string> inputs = node.inputs();
  if (inputs.size() < 3 || inputs[2].empty()) {
    inputs.resize(2);
    inputs.push_back(node.out.constant(node.name("zero_point"), Tensor(attrs.to, node.fact(1).shape)));
  }
  onnx::NodeProto& made = node.emit("QuantizeLinear", inputs);
  if (attrs.axis >= 0) set_attribute(made, "axis", attrs.axis);
}

void write_dynamic_quantize(NodeExport& node) {
  onnx::NodeProto& made = node.emit("DynamicQuantizeLinear", node.inputs());
  for (std::size_t i = 1; i < node.node.outputs.size(); ++i) made.add_output(node.out.name_of(node.node.outputs[i]));
}

void write_gather(NodeExport& node) {
  set_attribute(node.emit("Gather", node.inputs()), "axis", node.attrs<GatherAttrs>().axis);
}

void write_gather_elements(NodeExport& node) {
  set_attribute(node.emit("GatherElements", node.inputs()), "axis", node.attrs<GatherElementsAttrs>().axis);
}

void write_layer_norm(NodeExport& node) {
  const auto& attrs = node.attrs<LayerNormAttrs>();
  onnx::NodeProto& made = node.emit("LayerNormalization", node.inputs());
  set_attribute(made, "axis", attrs.axis);
  set_attribute(made, "epsilon", attrs.epsilon);
}

void write_lrn(NodeExport& node) {
  const auto& attrs = node.attrs<LrnAttrs>();
  if (attrs.axis != 1) return node.refuse("channels along axis " + std::to_string(attrs.axis), "axis 1");
  onnx::NodeProto& made = node.emit("LRN", node.inputs());
  set_attribute(made, "size", attrs.size);
  set_attribute(made, "alpha", attrs.alpha);
  set_attribute(made, "beta", attrs.beta);
  set_attribute(made, "bias", attrs.bias);
}

void write_matmul(NodeExport& node) { node.emit("MatMul", node.inputs()); }
void write_matmul_integer(NodeExport& node) { node.emit("MatMulInteger", node.inputs()); }

void write_reduce(NodeExport& node) {
  const auto& attrs = node.attrs<ReduceAttrs>();
  if (is_global_pool(attrs, node.fact(0).shape.rank())) {
    node.emit(attrs.kind == ReduceKind::mean ? "GlobalAveragePool" : "GlobalMaxPool", node.inputs());
    return;
  }
  // An empty list would mean all axes.
  if (attrs.axes.empty()) return node.refuse("a reduction over no axis", "at least one");
  std::vector<std::string> inputs = node.inputs();
  const bool has_input_form = attrs.kind == ReduceKind::sum;
  if (has_input_form) inputs.push_back(node.out.integers(node.name("axes"), attrs.axes));
  onnx::NodeProto& made = node.emit(reduce_name(attrs.kind), inputs);
  if (!has_input_form) set_attribute(made, "axes", attrs.axes);
  set_attribute(made, "keepdims", std::int64_t{attrs.keep_dims});
}

void write_softmax(NodeExport& node) {
  const auto& attrs = node.attrs<SoftmaxAttrs>();
  set_attribute(node.emit(attrs.kind == SoftmaxKind::softmax ? "Softmax" : "LogSoftmax", node.inputs()), "axis",
                attrs.axis);
}

void write_transpose(NodeExport& node) {
  set_attribute(node.emit("Transpose", node.inputs()), "perm", node.attrs<TransposeAttrs>().perm);
}
void write_where(NodeExport& node) { node.emit("Where", node.inputs()); }

void write_cumsum(NodeExport& node) {
  const auto& attrs = node.attrs<CumsumAttrs>();
  if (attrs.kind != CumsumKind::sum) return node.refuse("running products", "sums, which opset 17 has");
  onnx::NodeProto& made = node.emit("CumSum", {node.input(0), node.out.integers(node.name("axis"), {attrs.axis})});
  set_attribute(made, "exclusive", std::int64_t{attrs.exclusive});
  set_attribute(made, "reverse", std::int64_t{attrs.reverse});
}

WriteNode writer_of(const OpSpec& spec) {
  static const std::pair<const OpSpec*, WriteNode> kWriters[] = {
      {&kArgmax, write_argmax},
      {&kAttention, write_attention},
      {&kAveragePool, write_average_pool},
      {&kBatchNorm, write_batch_norm},
      {&kBinary, write_binary},
      {&kCast, write_cast},
      {&kConcat, write_concat},
      {&kConv, write_conv},
      {&kConvInteger, write_conv_integer},
      {&kConvTranspose, write_conv_transpose},
      {&kCumsum, write_cumsum},
      {&kDequantize, write_dequantize},
      {&kDet, write_det},
      {&kDynamicQuantize, write_dynamic_quantize},
      {&kExpand, write_expand},
      {&kGather, write_gather},
      {&kGatherElements, write_gather_elements},
      {&kGatherNd, write_gather_nd},
      {&kGridSample, write_grid_sample},
      {&kLayerNorm, write_layer_norm},
      {&kLrn, write_lrn},
      {&kMatmul, write_matmul},
      {&kMatmulInteger, write_matmul_integer},
      {&kMaxPool, write_max_pool},
      {&kPad, write_pad},
      {&kQuantize, write_quantize},
      {&kRecurrence, write_recurrence},
      {&kReduce, write_reduce},
      {&kReshape, write_reshape},
      {&kResize, write_resize},
      {&kRoiAlign, write_roi_align},
      {&kScatterElements, write_scatter_elements},
      {&kScatterNd, write_scatter_nd},
      {&kSlice, write_slice},
      {&kSoftmax, write_softmax},
      {&kTopk, write_topk},
      {&kTranspose, write_transpose},
      {&kUnary, write_unary},
      {&kWhere, write_where},
  };
  const auto found =
      std::find_if(std::begin(kWriters), std::end(kWriters), [&](const auto& entry) { return entry.first == &spec; });
  return found == std::end(kWriters) ? nullptr : found->second;
}

}  // namespace octavo::onnx_export
