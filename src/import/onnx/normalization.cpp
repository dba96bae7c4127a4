// ONNX readers: normalisations, softmax and what does nothing in inference. Part of import/.
#include <numeric>

#include "import/onnx/operators.h"
#include "import/onnx/parts.h"

namespace octavo::onnx_import {
namespace {

using Integers = std::vector<std::int64_t>;

ValueId binary(NodeReader& in, BinaryKind kind, ValueId a, ValueId b, std::string_view suffix) {
  return in.add(kBinary, BinaryAttrs{.kind = kind}, {a, b}, suffix);
}

// The optional outputs of LayerNormalization: mean and 1 / sqrt(variance + epsilon).
void add_statistics(NodeReader& in, ValueId x, int axis, float epsilon) {
  if (!in.wants(1) && !in.wants(2)) return;
  Integers axes(static_cast<std::size_t>(in.rank(x) - axis));
  std::iota(axes.begin(), axes.end(), axis);
  const ReduceAttrs mean_attrs{.kind = ReduceKind::mean, .axes = axes};
  const ValueId mean = in.add(kReduce, mean_attrs, {x}, "mean");
  const ValueId centred = binary(in, BinaryKind::sub, x, mean, "centred");
  const ValueId variance =
      in.add(kReduce, mean_attrs, {binary(in, BinaryKind::mul, centred, centred, "squares")}, "variance");
  if (in.failed()) return;
  const ValueId sum =
      binary(in, BinaryKind::add, variance, in.scalar_like(variance, epsilon, "epsilon"), "stable_variance");
  const ValueId deviation = in.add(kUnary, UnaryAttrs{.kind = UnaryKind::sqrt}, {sum}, "deviation");
  in.output(1, mean);
  in.output(2, in.add(kUnary, UnaryAttrs{.kind = UnaryKind::reciprocal}, {deviation}, "inverse_deviation"));
}

// Statistics of the batch itself, one number per channel, and the running ones moved towards them: opset 14's
// training_mode.
struct BatchStatistics {
  ValueId mean, variance;
};

BatchStatistics add_batch_statistics(NodeReader& in, ValueId x, ValueId running_mean, ValueId running_variance) {
  Integers axes;
  for (int i = 0; i < in.rank(x); ++i) {
    if (i != 1) axes.push_back(i);
  }
  const ValueId mean = in.add(kReduce, ReduceAttrs{.kind = ReduceKind::mean, .axes = axes}, {x}, "mean");
  const ValueId centred = binary(in, BinaryKind::sub, x, mean, "centred");
  const ValueId squares = binary(in, BinaryKind::mul, centred, centred, "squares");
  const ValueId variance =
      in.add(kReduce, ReduceAttrs{.kind = ReduceKind::mean, .axes = axes, .keep_dims = false}, {squares}, "variance");
  const float momentum = in.attributes.number("momentum", 0.9f);
  if (in.failed()) return {};
  const ValueId flat_mean = in.reshape(mean, {in.shape(x)[1]}, "flat_mean");
  const auto moved = [&](ValueId running, ValueId now, const std::string& name) {
    const ValueId kept =
        binary(in, BinaryKind::mul, running, in.scalar_like(running, momentum, name + ".momentum"), name + ".kept");
    const ValueId added =
        binary(in, BinaryKind::mul, now, in.scalar_like(now, 1.0f - momentum, name + ".rest"), name + ".added");
    return binary(in, BinaryKind::add, kept, added, name);
  };
  in.output(1, moved(running_mean, flat_mean, "running_mean"));
  in.output(2, moved(running_variance, variance, "running_variance"));
  return {flat_mean, variance};
}

}  // namespace

ValueId add_softmax(NodeReader& in, SoftmaxKind kind, SoftmaxExtent extent, ValueId x, std::int64_t axis,
                    std::string_view suffix) {
  const std::int64_t first = in.axis("attribute 'axis'", axis, in.rank(x));
  if (in.failed()) return {};
  const Shape shape = in.shape(x);
  const auto from = static_cast<int>(first);
  const std::int64_t after = shape.elements(from + 1, shape.rank());
  if (extent == SoftmaxExtent::one_axis || after == 1)
    return in.add(kSoftmax, SoftmaxAttrs{.kind = kind, .axis = first}, {x}, suffix);
  const ValueId flat = in.reshape(x, {shape.elements(0, from), shape[from] * after}, "flat");
  return in.reshape(in.add(kSoftmax, SoftmaxAttrs{.kind = kind, .axis = 1}, {flat}, "softmax"), shape.to_vector(),
                    suffix);
}

void read_softmax(NodeReader& in) {
  const ValueId x = in.value(0);
  const bool is_old = in.opset() < 13;
  const std::int64_t axis = in.attributes.integer("axis", is_old ? 1 : -1);
  const SoftmaxKind kind = in.op() == "Softmax" ? SoftmaxKind::softmax : SoftmaxKind::log_softmax;
  in.output(0, add_softmax(in, kind, is_old ? SoftmaxExtent::all_from_axis : SoftmaxExtent::one_axis, x, axis, ""));
}

void read_batch_norm(NodeReader& in) {
  const ValueId x = in.value(0), scale = in.value(1), bias = in.value(2);
  BatchStatistics statistics{in.value(3), in.value(4)};
  const float epsilon = in.attributes.number("epsilon", 1e-5f);
  in.attributes.ignore("momentum");
  if (in.opset() < 9 && in.attributes.integer("spatial", 1) != 1) in.unsupported("attribute 'spatial'", "0", "1");
  in.require_rank("X", x, 2, kMaxRank);
  if (in.opset() >= 14 && in.attributes.flag("training_mode", false) && !in.failed()) {
    statistics = add_batch_statistics(in, x, statistics.mean, statistics.variance);
  }
  in.output(0, in.add(kBatchNorm, BatchNormAttrs{.epsilon = epsilon, .axis = 1},
                      {x, scale, bias, statistics.mean, statistics.variance}));
}

void read_layer_norm(NodeReader& in) {
  const ValueId x = in.value(0), scale = in.value(1), bias = in.optional(2);
  const float epsilon = in.attributes.number("epsilon", 1e-5f);
  if (in.attributes.integer("stash_type", 1) != 1)
    in.unsupported("attribute 'stash_type'", in.attributes.printed("stash_type"), "1 (FLOAT)");
  const auto axis = static_cast<int>(in.axis("attribute 'axis'", in.attributes.integer("axis", -1), in.rank(x)));
  if (in.failed()) return;
  const Integers dims(in.shape(x).begin() + axis, in.shape(x).end());
  const auto fitted = [&](ValueId parameter, std::string_view suffix) {
    if (!parameter.exists() || in.shape(parameter) == Shape(dims)) return parameter;
    return in.add(kExpand, ExpandAttrs{.shape = dims}, {parameter}, suffix);
  };
  in.output(0, in.add(kLayerNorm, LayerNormAttrs{.axis = axis, .epsilon = epsilon},
                      {x, fitted(scale, "scale"), fitted(bias, "bias")}));
  add_statistics(in, x, axis, epsilon);
}

void read_lrn(NodeReader& in) {
  const ValueId x = in.value(0);
  const LrnAttrs attrs{.size = in.attributes.integer("size", 0),
                       .alpha = in.attributes.number("alpha", 1e-4f),
                       .beta = in.attributes.number("beta", 0.75f),
                       .bias = in.attributes.number("bias", 1.0f),
                       .axis = 1};
  in.output(0, in.add(kLrn, attrs, {x}));
}

void read_dropout(NodeReader& in) {
  const ValueId x = in.value(0);
  in.attributes.ignore("ratio");
  in.attributes.ignore("seed");
  if (in.has(2)) {
    const auto trains = in.constant(2, "training_mode");
    const auto is_zero = [](const std::shared_ptr<const Tensor>& tensor) {
      return tensor->elements() == 1 && element_as_double(tensor->view(), 0) == 0.0;
    };
    const bool drops_nothing = (trains && is_zero(trains)) || (in.has(1) && in.fact(in.value(1)).is_constant() &&
                                                               is_zero(in.fact(in.value(1)).constant));
    if (!drops_nothing) in.unsupported("input 'training_mode'", "true", "false, or the ratio 0");
  }
  if (in.failed()) return;
  in.output(0, x);
  if (!in.wants(1)) return;
  // Everything is kept.
  Tensor kept(in.opset() < 10 ? in.dtype(x) : DType::boolean, Shape{});
  store_double(kept.view(), 0, 1.0);
  in.output(1, in.add(kExpand, ExpandAttrs{.shape = in.shape(x).to_vector()},
                      {in.add_constant(std::move(kept), "kept")}, "mask"));
}

}  // namespace octavo::onnx_import
