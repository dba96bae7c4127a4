// Which oneDNN function an activation is. Part of onednn/.
#include "onednn/post_ops.h"

namespace octavo::onednn {

std::optional<EltwiseFunction> function_of(const UnaryAttrs& unary) {
  using dnnl::algorithm;
  switch (unary.kind) {
    case UnaryKind::relu: return EltwiseFunction{algorithm::eltwise_relu};
    case UnaryKind::leaky_relu: return EltwiseFunction{algorithm::eltwise_relu, unary.alpha};
    case UnaryKind::clip: return EltwiseFunction{algorithm::eltwise_clip, unary.alpha, unary.beta};
    case UnaryKind::sigmoid: return EltwiseFunction{algorithm::eltwise_logistic};
    case UnaryKind::tanh: return EltwiseFunction{algorithm::eltwise_tanh};
    case UnaryKind::silu: return EltwiseFunction{algorithm::eltwise_swish, 1.0f};
    case UnaryKind::hard_swish: return EltwiseFunction{algorithm::eltwise_hardswish};
    case UnaryKind::gelu: return EltwiseFunction{algorithm::eltwise_gelu_erf};
    case UnaryKind::gelu_tanh: return EltwiseFunction{algorithm::eltwise_gelu_tanh};
    case UnaryKind::elu: return EltwiseFunction{algorithm::eltwise_elu, unary.alpha};
    case UnaryKind::mish: return EltwiseFunction{algorithm::eltwise_mish};
    case UnaryKind::softplus: return EltwiseFunction{algorithm::eltwise_soft_relu};
    case UnaryKind::exp: return EltwiseFunction{algorithm::eltwise_exp};
    case UnaryKind::abs: return EltwiseFunction{algorithm::eltwise_abs};
    case UnaryKind::sqrt: return EltwiseFunction{algorithm::eltwise_sqrt};
    case UnaryKind::neg: return EltwiseFunction{algorithm::eltwise_linear, -1.0f};
    default: return std::nullopt;
  }
}

bool append_activation(dnnl::post_ops& post_ops, const UnaryAttrs& activation) {
  const auto append = [&](const EltwiseFunction& function) {
    post_ops.append_eltwise(1.0f, function.algorithm, function.alpha, function.beta);
  };
  if (activation.kind == UnaryKind::identity) return true;
  if (activation.kind == UnaryKind::hard_sigmoid) {
    append({dnnl::algorithm::eltwise_linear, activation.alpha, activation.beta});
    append({dnnl::algorithm::eltwise_clip, 0.0f, 1.0f});
    return true;
  }
  const auto function = function_of(activation);
  if (function) append(*function);
  return function.has_value();
}

}  // namespace octavo::onednn
