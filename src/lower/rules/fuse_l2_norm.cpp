// Quantized values over the length of their line. Part of lower/.
#include "lower/rules/fuse_l2_norm.h"

#include <optional>

#include "lower/last_axis.h"
#include "lower/quantized_value.h"
#include "ops/binary/binary.h"
#include "ops/fixed_l2_norm/fixed_l2_norm.h"
#include "ops/reduce/reduce.h"

namespace octavo {
namespace {

// The axis along which `wire` is max(|x|, epsilon).
std::optional<std::int64_t> axis_of_length(const Graph& graph, ValueId wire, ValueId x) {
  const Node* bounded = graph.producer(wire);
  if (bounded == nullptr || !is_binary(bounded->attrs, BinaryKind::max)) return std::nullopt;
  const auto epsilon = scalar_constant(graph, bounded->inputs[1]);
  const Node* norm = graph.producer_if(bounded->inputs[0], kReduce);
  if (!epsilon || !(*epsilon <= 1e-6f) || norm == nullptr || norm->inputs[0] != x) return std::nullopt;
  const auto& reduce = norm->attrs.as<ReduceAttrs>();
  if (reduce.kind != ReduceKind::l2 || !reduce.keep_dims || reduce.axes.size() != 1) return std::nullopt;
  return reduce.axes.front();
}

}  // namespace

Match fuse_l2_norm(const Graph& graph, const Node& node) {
  if (!is_binary(node.attrs, BinaryKind::div)) return std::string();
  const auto axis = axis_of_length(graph, node.inputs[1], node.inputs[0]);
  if (!axis) return std::string();
  const auto x = dequantized(graph, node.inputs[0]);
  if (!x) return std::string("its input is not quantized");
  const auto followed = follow_to_quantize(graph, node.outputs[0]);
  if (const auto* reason = std::get_if<std::string>(&followed)) return *reason;
  const auto& end = std::get<Quantized>(followed);
  if (end.profile != Profile::tflite_double && end.profile != Profile::tflite_single)
    return std::string("there is no integer form of it for this rounding");
  const bool is_u8 = end.type.dtype == DType::u8;
  if (end.type.scale != 0x1p-7f || end.type.zero_point != (is_u8 ? 128 : 0))
    return std::string("its result is not in units of 1/128");
  const FixedL2NormAttrs attrs{.form = is_u8 ? FixedNormForm::in_value : FixedNormForm::in_factor,
                               .profile = end.profile,
                               .x_zero_point = x->type.zero_point,
                               .epilogue = {{end.rounding()}, end.type.dtype}};
  Patch patch(graph);
  const ValueId y = with_axis_last(patch, node, x->q, *axis, [&](ValueId lines) {
    return patch.add(kFixedL2Norm, attrs, {lines}, node.name, node.origin);
  });
  patch.set_quant(y, end.type.params());
  patch.replace(end.y, y);
  return patch;
}

}  // namespace octavo
