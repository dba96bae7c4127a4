// TFLite readers: products of two activations, reductions over axes, and softmax. Part of import/.

#include "import/tflite/operators.h"
#include "ops/cumsum/cumsum.h"

namespace octavo::tflite_import {
namespace {

// The last two axes of either operand may be the other way round. Integers beside floats count as what they stand for.
ValueId read_batch_matmul(OperatorReader& in) {
  const auto* given = in.options<file::BatchMatMulOptions>();
  const auto matrices = [&](int index, bool is_turned, std::string_view suffix) {
    const ValueId x = in.value(index);
    in.require_rank(x, 2, kMaxRank);
    return is_turned && !in.failed() ? swap_axes(in, x, in.rank(x) - 2, in.rank(x) - 1, suffix) : x;
  };
  const ValueId x = matrices(0, given != nullptr && given->adj_x(), "x_turned");
  const ValueId y = matrices(1, given != nullptr && given->adj_y(), "y_turned");
  return matmul(in, x, y);
}

template <ReduceKind kind>
ValueId read_reduce(OperatorReader& in) {
  const auto* given = in.options<file::ReducerOptions>();
  const ValueId x = in.value(0);
  return reduce(in, {.x = x,
                     .kind = kind,
                     .axes = in.constant_integers(1, "axes"),
                     .keeps_dims = given != nullptr && given->keep_dims(),
                     .empty_is_all = false,
                     .may_repeat = true});
}

ValueId read_log_softmax(OperatorReader& in) { return softmax(in, in.value(0), Number(-1), SoftmaxKind::log_softmax); }

template <ArgKind kind>
ValueId read_argmax(OperatorReader& in) {
  const ValueId x = in.value(0);
  const ValueId index = argmax(in, x, in.constant_integer(1, "axis"), {.kind = kind, .keep_dims = false}, "index");
  return in.cast(index, in.output_tensor(0).dtype);
}

ValueId read_cumsum(OperatorReader& in) {
  const auto* given = in.options<file::CumsumOptions>();
  const ValueId x = in.value(0);
  CumsumAttrs attrs{.axis = in.axis(in.constant_integer(1, "axis"), in.rank(x))};
  if (given != nullptr) attrs.exclusive = given->exclusive(), attrs.reverse = given->reverse();
  return in.add(kCumsum, attrs, {x});
}

// x / max(|x|, 1e-6) along the last axis.
ValueId read_l2_normalization(OperatorReader& in) {
  const auto* given = in.options<file::L2NormOptions>();
  const ValueId x = in.value(0);
  in.require_rank(x, 1, kMaxRank);
  const ValueId norm = reduce(in, {.x = x, .kind = ReduceKind::l2, .axes = Integers{-1}}, "norm");
  const ValueId bounded = in.binary(BinaryKind::max, norm, in.scalar(1e-6f, "epsilon"), "bounded");
  return in.activation(in.binary(BinaryKind::div, x, bounded),
                       given == nullptr ? 0 : given->fused_activation_function());
}

ValueId read_softmax(OperatorReader& in) {
  const float beta = in.required_options<file::SoftmaxOptions>().beta();
  const ValueId x = in.value(0);
  in.require_rank(x, 1, kMaxRank);
  return softmax(in, scaled(in, x, beta, "scaled"), -1);
}

constexpr Operands kReal = Operands::real;

constexpr OperatorEntry kTable[] = {
    {"ARG_MAX", 2, 2, 1, kReal, read_argmax<ArgKind::max>},
    {"ARG_MIN", 2, 2, 1, kReal, read_argmax<ArgKind::min>},
    {"BATCH_MATMUL", 2, 2, 1, kReal, read_batch_matmul},
    {"CUMSUM", 2, 2, 1, kReal, read_cumsum},
    {"L2_NORMALIZATION", 1, 1, 1, kReal, read_l2_normalization},
    {"LOG_SOFTMAX", 1, 1, 1, kReal, read_log_softmax},
    {"MEAN", 2, 2, 1, kReal, read_reduce<ReduceKind::mean>},
    {"REDUCE_MAX", 2, 2, 1, kReal, read_reduce<ReduceKind::max>},
    {"REDUCE_MIN", 2, 2, 1, kReal, read_reduce<ReduceKind::min>},
    {"REDUCE_PROD", 2, 2, 1, kReal, read_reduce<ReduceKind::prod>},
    {"SOFTMAX", 1, 1, 1, kReal, read_softmax},
    {"SUM", 2, 2, 1, kReal, read_reduce<ReduceKind::sum>},
};

}  // namespace

const std::span<const OperatorEntry> kReductions = kTable;

}  // namespace octavo::tflite_import
