// ATen readers: normalisations and softmax. Part of import/.
#include <algorithm>

#include "import/pt2/operators.h"
#include "import/pt2/parts.h"
#include "ops/list.h"

namespace octavo::pt2_import {
namespace {

// The parameter, or as many times `fallback`.
ValueId filled(NodeReader& in, ValueId given, const Shape& shape, float fallback, std::string_view suffix) {
  if (given.exists() || in.failed()) return given;
  Tensor tensor(DType::f32, shape);
  std::fill_n(tensor.as<float>(), tensor.elements(), fallback);
  return in.add_constant(std::move(tensor), suffix);
}

}  // namespace

void read_batch_norm(NodeReader& in) {
  const ValueId x = in.value("input"), mean = in.value("running_mean"), variance = in.value("running_var");
  const ValueId given_scale = in.optional("weight"), given_bias = in.optional("bias");
  const auto epsilon = static_cast<float>(in.number("eps", 1e-5));
  in.ignore("momentum");
  in.ignore("cudnn_enabled");
  if (in.flag("training", false))
    in.unsupported("argument 'training'", "true", "false; export the model in evaluation mode");
  in.require_rank("input", x, 2, kMaxRank);
  if (in.failed()) return;
  const ValueId scale = filled(in, given_scale, in.shape(mean), 1.0f, "scale");
  const ValueId bias = filled(in, given_bias, in.shape(mean), 0.0f, "bias");
  in.output(0, in.add(kBatchNorm, BatchNormAttrs{.epsilon = epsilon, .axis = 1}, {x, scale, bias, mean, variance}));
}

void read_layer_norm(NodeReader& in) {
  const ValueId x = in.value("input"), given_scale = in.optional("weight"), bias = in.optional("bias");
  const auto sizes = in.integers("normalized_shape");
  const auto epsilon = static_cast<float>(in.number("eps", 1e-5));
  in.ignore("cudnn_enable");
  if (in.failed()) return;
  const int axis = in.rank(x) - static_cast<int>(sizes.size());
  if (axis < 0 || !std::equal(sizes.begin(), sizes.end(), in.shape(x).begin() + axis)) {
    return in.fail("argument 'normalized_shape'", Shape(sizes).to_string(),
                   "the last sizes of " + in.shape(x).to_string());
  }
  const ValueId scale = filled(in, given_scale, Shape(sizes), 1.0f, "scale");
  in.output(0, in.add(kLayerNorm, LayerNormAttrs{.axis = axis, .epsilon = epsilon}, {x, scale, bias}));
}

void read_softmax(NodeReader& in) {
  const ValueId x = in.value("self");
  const std::int64_t dim = in.integer("dim");
  in.ignore("half_to_float");
  const DType type = in.element_type("dtype", in.dtype(x));
  if (in.failed()) return;
  const std::int64_t axis = in.axis("dim", dim, in.rank(x));
  const bool is_log = base_name(in.target()).find("log") != std::string::npos;
  const SoftmaxAttrs attrs{.kind = is_log ? SoftmaxKind::log_softmax : SoftmaxKind::softmax, .axis = axis};
  in.output(0, in.add(kSoftmax, attrs, {in.cast(x, type, "x")}));
}

}  // namespace octavo::pt2_import
