// ONNX readers: losses, which evaluation computes beside a network's answers. Part of import/.
#include "import/onnx/operators.h"
#include "ops/gather/gather.h"
#include "ops/gather_elements/gather_elements.h"
#include "ops/where/where.h"

namespace octavo::onnx_import {
namespace {

using B = BinaryKind;

struct LossArgs {
  ValueId log_probabilities;  // [N, C, ...]
  ValueId target;             // [N, ...]: classes
  ValueId weights;            // [C], or left out
};

ValueId reduced(NodeReader& in, ValueId x, ReduceKind kind, std::string_view suffix = {}) {
  return reduce(in, {.x = x, .kind = kind, .keeps_dims = false}, suffix);
}

// -weights[target] * log_probabilities[target], 0 where the target is the class to ignore; none, summed, or over the
// sum of the weights.
ValueId negative_log_likelihood(NodeReader& in, const LossArgs& args) {
  const std::string reduction = in.text("reduction", "mean");
  const bool ignores = in.has("ignore_index");
  const std::int64_t ignored_class = in.integer("ignore_index", 0);
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return in.fail("attribute 'reduction'", "'" + reduction + "'", "'none', 'sum' or 'mean'");
  const ValueId x = args.log_probabilities;
  in.require_rank(x, 2, kMaxRank);
  if (in.failed()) return {};
  ValueId target = in.cast(args.target, DType::s64, "target"), ignored;
  if (ignores) {
    const ValueId none = in.constant(Tensor::scalar<std::int64_t>(ignored_class), "ignored_class");
    ignored = in.binary(B::equal, target, none, "ignored");
    target = in.add(kWhere, NoAttrs{}, {ignored, in.scalar_like(target, 0.0, "any_class"), target}, "known_target");
  }
  const ValueId apart = unsqueeze(in, target, Integers{1}, "target.apart");
  const ValueId picked = in.add(kGatherElements, GatherElementsAttrs{.axis = 1}, {x, apart}, "picked");
  if (in.failed()) return {};
  ValueId loss = in.unary({.kind = UnaryKind::neg}, in.reshape(picked, in.shape(target).to_vector(), "flat"), "loss");
  ValueId weights;
  if (args.weights.exists()) weights = in.add(kGather, GatherAttrs{.axis = 0}, {args.weights, target}, "weights");
  const ValueId zero = in.scalar_like(loss, 0.0, "zero");
  if (ignores) {
    if (!weights.exists()) weights = expand(in, in.scalar_like(loss, 1.0, "one"), in.shape(target).to_vector(), "ones");
    weights = in.add(kWhere, NoAttrs{}, {ignored, zero, weights}, "kept_weights");
  }
  if (weights.exists()) loss = in.binary(B::mul, loss, weights, "weighted");
  // Whatever the probability is that nobody asks for.
  if (ignores) loss = in.add(kWhere, NoAttrs{}, {ignored, zero, loss}, "kept");
  if (reduction == "none") return loss;
  if (reduction == "sum") return reduced(in, loss, ReduceKind::sum);
  if (!weights.exists()) return reduced(in, loss, ReduceKind::mean);
  return in.binary(B::div, reduced(in, loss, ReduceKind::sum, "sum"), reduced(in, weights, ReduceKind::sum, "all"));
}

ValueId read_negative_log_likelihood(NodeReader& in) {
  const ValueId x = in.value(0), target = in.value(1);
  return negative_log_likelihood(in, {x, target, in.optional(2, "weight")});
}

ValueId read_cross_entropy(NodeReader& in) {
  const ValueId scores = in.value(0), labels = in.value(1), weights = in.optional(2, "weights");
  const ValueId log_probabilities = softmax(in, scores, 1, SoftmaxKind::log_softmax, "log_probabilities");
  if (in.wants(1)) in.output(1, log_probabilities);
  return negative_log_likelihood(in, {log_probabilities, labels, weights});
}

constexpr Operator kLossesTable[] = {
    {"NegativeLogLikelihoodLoss", 12, 2, 3, read_negative_log_likelihood},
    {"SoftmaxCrossEntropyLoss", 12, 2, 3, read_cross_entropy},
};

}  // namespace

const std::span<const Operator> kLosses = kLossesTable;

}  // namespace octavo::onnx_import
