// Which oneDNN function an activation is. Part of kernels/onednn.
#include "kernels/onednn/post_ops.h"

namespace octavo::onednn {

bool append_activation(dnnl::post_ops& post_ops, const UnaryAttrs& activation) {
  using dnnl::algorithm;
  const auto add = [&](algorithm kind, float alpha = 0.0f, float beta = 0.0f) {
    post_ops.append_eltwise(1.0f, kind, alpha, beta);
    return true;
  };
  switch (activation.kind) {
    case UnaryKind::identity: return true;
    case UnaryKind::relu: return add(algorithm::eltwise_relu);
    case UnaryKind::leaky_relu: return add(algorithm::eltwise_relu, activation.alpha);
    case UnaryKind::clip: return add(algorithm::eltwise_clip, activation.alpha, activation.beta);
    case UnaryKind::sigmoid: return add(algorithm::eltwise_logistic);
    case UnaryKind::tanh: return add(algorithm::eltwise_tanh);
    case UnaryKind::silu: return add(algorithm::eltwise_swish, 1.0f);
    case UnaryKind::hard_swish: return add(algorithm::eltwise_hardswish);
    case UnaryKind::hard_sigmoid:
      return add(algorithm::eltwise_linear, activation.alpha, activation.beta) && add(algorithm::eltwise_clip, 0.0f, 1.0f);
    case UnaryKind::gelu: return add(algorithm::eltwise_gelu_erf);
    case UnaryKind::gelu_tanh: return add(algorithm::eltwise_gelu_tanh);
    case UnaryKind::elu: return add(algorithm::eltwise_elu, activation.alpha);
    case UnaryKind::mish: return add(algorithm::eltwise_mish);
    case UnaryKind::softplus: return add(algorithm::eltwise_soft_relu);
    case UnaryKind::exp: return add(algorithm::eltwise_exp);
    case UnaryKind::abs: return add(algorithm::eltwise_abs);
    case UnaryKind::sqrt: return add(algorithm::eltwise_sqrt);
    case UnaryKind::neg: return add(algorithm::eltwise_linear, -1.0f, 0.0f);
    default: return false;
  }
}

}  // namespace octavo::onednn
