// ONNX writers: functions of one element. Part of export/.
#include <cmath>

#include "export/onnx_operators.h"
#include "ops/unary/unary.h"

namespace octavo::onnx_export {
namespace {

// The operator and what it calls its parameters; no operator: several nodes.
struct UnaryForm {
  std::string_view op;
  std::string_view alpha = {};
  std::string_view beta = {};
};

UnaryForm form_of(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::identity: return {"Identity"};
    case UnaryKind::relu: return {"Relu"};
    case UnaryKind::sigmoid: return {"Sigmoid"};
    case UnaryKind::tanh: return {"Tanh"};
    case UnaryKind::exp: return {"Exp"};
    case UnaryKind::log: return {"Log"};
    case UnaryKind::sqrt: return {"Sqrt"};
    case UnaryKind::reciprocal: return {"Reciprocal"};
    case UnaryKind::neg: return {"Neg"};
    case UnaryKind::abs: return {"Abs"};
    case UnaryKind::floor: return {"Floor"};
    case UnaryKind::ceil: return {"Ceil"};
    case UnaryKind::round: return {"Round"};
    case UnaryKind::sign: return {"Sign"};
    case UnaryKind::erf: return {"Erf"};
    case UnaryKind::softplus: return {"Softplus"};
    case UnaryKind::softsign: return {"Softsign"};
    case UnaryKind::hard_sigmoid: return {"HardSigmoid", "alpha", "beta"};
    case UnaryKind::hard_swish: return {"HardSwish"};
    case UnaryKind::leaky_relu: return {"LeakyRelu", "alpha"};
    case UnaryKind::elu: return {"Elu", "alpha"};
    case UnaryKind::selu: return {"Selu", "alpha", "gamma"};
    case UnaryKind::celu: return {"Celu", "alpha"};
    case UnaryKind::thresholded_relu: return {"ThresholdedRelu", "alpha"};
    case UnaryKind::logical_not: return {"Not"};
    case UnaryKind::sin: return {"Sin"};
    case UnaryKind::cos: return {"Cos"};
    case UnaryKind::is_nan: return {"IsNaN"};
    case UnaryKind::tan: return {"Tan"};
    case UnaryKind::asin: return {"Asin"};
    case UnaryKind::acos: return {"Acos"};
    case UnaryKind::atan: return {"Atan"};
    case UnaryKind::sinh: return {"Sinh"};
    case UnaryKind::cosh: return {"Cosh"};
    case UnaryKind::asinh: return {"Asinh"};
    case UnaryKind::acosh: return {"Acosh"};
    case UnaryKind::atanh: return {"Atanh"};
    case UnaryKind::shrink: return {"Shrink", "lambd", "bias"};
    case UnaryKind::gelu:
    case UnaryKind::gelu_tanh:
    case UnaryKind::mish:
    case UnaryKind::silu:
    case UnaryKind::clip:
    case UnaryKind::is_inf:
    case UnaryKind::bitwise_not: return {};
  }
  return {};
}

std::string number(NodeExport& node, double value, std::string_view suffix) {
  Tensor tensor(node.fact(0).dtype, Shape{});
  store_double(tensor.view(), 0, value);
  return node.out.constant(node.name(suffix), tensor);
}

void write_clip(NodeExport& node) {
  const auto& attrs = node.attrs<UnaryAttrs>();
  const std::string lowest = std::isinf(attrs.alpha) ? "" : number(node, attrs.alpha, "min");
  const std::string highest = std::isinf(attrs.beta) ? "" : number(node, attrs.beta, "max");
  node.emit("Clip", {node.input(0), lowest, highest});
}

// The forms in which exporters write these, and which Octavo and ONNX Runtime know.
void write_silu(NodeExport& node) {
  node.emit("Mul", {node.input(0), node.before("Sigmoid", {node.input(0)}, "sigmoid")});
}

void write_mish(NodeExport& node) {
  node.emit("Mul",
            {node.input(0), node.before("Tanh", {node.before("Softplus", {node.input(0)}, "softplus")}, "tanh")});
}

// x (1 + gate) / 2.
void write_half_gated(NodeExport& node, const std::string& gate) {
  const std::string sum = node.before("Add", {gate, number(node, 1.0, "one")}, "sum");
  node.emit("Mul", {node.before("Mul", {node.input(0), sum}, "product"), number(node, 0.5, "half")});
}

void write_gelu(NodeExport& node) {
  const std::string scaled = node.before("Div", {node.input(0), number(node, std::sqrt(2.0), "root")}, "scaled");
  write_half_gated(node, node.before("Erf", {scaled}, "erf"));
}

void write_gelu_tanh(NodeExport& node) {
  const std::string cube = node.before("Pow", {node.input(0), number(node, 3.0, "three")}, "cube");
  const std::string bent = node.before("Mul", {cube, number(node, 0.044715, "bend")}, "bent");
  const std::string sum = node.before("Add", {node.input(0), bent}, "inner");
  const std::string scaled = node.before("Mul", {sum, number(node, 0.7978845608028654, "factor")}, "scaled");
  write_half_gated(node, node.before("Tanh", {scaled}, "tanh"));
}

void write_is_inf(NodeExport& node) {
  const auto& attrs = node.attrs<UnaryAttrs>();
  onnx::NodeProto& made = node.emit("IsInf", node.inputs());
  set_attribute(made, "detect_negative", std::int64_t{attrs.alpha != 0.0f});
  set_attribute(made, "detect_positive", std::int64_t{attrs.beta != 0.0f});
}

}  // namespace

void write_unary(NodeExport& node) {
  const auto& attrs = node.attrs<UnaryAttrs>();
  switch (attrs.kind) {
    case UnaryKind::clip: return write_clip(node);
    case UnaryKind::silu: return write_silu(node);
    case UnaryKind::mish: return write_mish(node);
    case UnaryKind::gelu: return write_gelu(node);
    case UnaryKind::gelu_tanh: return write_gelu_tanh(node);
    case UnaryKind::is_inf: return write_is_inf(node);
    case UnaryKind::bitwise_not: return node.refuse("the bits of integers", "operators that opset 17 has");
    default: break;
  }
  const UnaryForm form = form_of(attrs.kind);
  onnx::NodeProto& made = node.emit(form.op, node.inputs());
  if (!form.alpha.empty()) set_attribute(made, form.alpha, attrs.alpha);
  if (!form.beta.empty()) set_attribute(made, form.beta, attrs.beta);
}

}  // namespace octavo::onnx_export
