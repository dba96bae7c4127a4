// TFLite readers: reductions over axes, and softmax. Part of import/.
#include <algorithm>

#include "import/tflite/operators.h"
#include "ops/list.h"

namespace octavo::tflite_import {
void read_reduce(OperatorReader& in, ReduceKind kind) {
  const ValueId x = in.operand(0);
  const auto* given = in.options<file::ReducerOptions>();
  std::vector<std::int64_t> axes;
  for (const std::int64_t one : in.constant_integers(1, "axes"))
    axes.push_back(in.axis("input 'axes'", one, in.rank(x)));
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  const ReduceAttrs attrs{.kind = kind, .axes = axes, .keep_dims = given != nullptr && given->keep_dims()};
  in.output(0, in.add(kReduce, attrs, {x}));
}

void read_arg_extreme(OperatorReader& in) {
  const ValueId x = in.operand(0);
  const std::vector<std::int64_t> given = in.constant_integers(1, "axis");
  if (in.failed()) return;
  if (given.size() != 1) return in.fail("input 'axis'", std::to_string(given.size()) + " numbers", "one");
  const ArgKind kind = in.type() == "ARG_MAX" ? ArgKind::max : ArgKind::min;
  const ArgmaxAttrs attrs{.kind = kind, .axis = in.axis("input 'axis'", given[0], in.rank(x)), .keep_dims = false};
  const ValueId index = in.add(kArgmax, attrs, {x}, "index");
  const DType to = in.output_tensor(0).dtype;
  in.output_stored(0, in.failed() || to == in.dtype(index) ? index : in.add(kCast, CastAttrs{.to = to}, {index}));
}

// x / max(|x|, 1e-6) along the last axis.
void read_l2_normalization(OperatorReader& in) {
  const auto* given = in.options<file::L2NormOptions>();
  const ValueId x = in.operand(0);
  in.require_rank("x", x, 1, kMaxRank);
  if (in.failed()) return;
  const auto binary = [&](BinaryKind kind, ValueId a, ValueId b, std::string_view suffix) {
    return in.add(kBinary, BinaryAttrs{.kind = kind}, {a, b}, suffix);
  };
  const ReduceAttrs last{.kind = ReduceKind::l2, .axes = {in.rank(x) - 1}};
  const ValueId norm = in.add(kReduce, last, {x}, "norm"), epsilon = in.scalar(1e-6f, "epsilon");
  const ValueId bounded = binary(BinaryKind::max, norm, epsilon, "bounded");
  in.output(0, in.activation(binary(BinaryKind::div, x, bounded, ""),
                             given == nullptr ? 0 : given->fused_activation_function()));
}

void read_softmax(OperatorReader& in) {
  const float beta = in.required_options<file::SoftmaxOptions>().beta();
  ValueId x = in.operand(0);
  in.require_rank("x", x, 1, kMaxRank);
  if (in.failed()) return;
  if (beta != 1.0f) x = in.add(kBinary, BinaryAttrs{.kind = BinaryKind::mul}, {x, in.scalar(beta, "beta")}, "scaled");
  in.output(0, in.add(kSoftmax, SoftmaxAttrs{.axis = in.rank(x) - 1}, {x}));
}

}  // namespace octavo::tflite_import
