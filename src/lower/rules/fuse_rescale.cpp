// s16 values as bytes. Part of lower/.
#include "lower/rules/fuse_rescale.h"

#include "lower/fixed_result.h"
#include "lower/quantized_value.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"

namespace octavo {

Match fuse_fixed_rescale(const Graph& graph, const Node& node) {
  const auto end = quantized_by(graph, node);
  const auto x = end ? dequantized(graph, end->x, Stored::bytes_or_s16) : std::nullopt;
  if (!x || x->type.dtype != DType::s16 || x->type.zero_point != 0 || !is_fixed_point(end->profile))
    return std::string();
  const double ratio = static_cast<double>(x->type.scale) / static_cast<double>(end->type.scale);
  Patch patch(graph);
  patch.replace(end->y, fixed_result(patch, node, x->q, *end, {FixedMultiplier::of(ratio)}));
  return patch;
}

Match fuse_rescale(const Graph& graph, const Node& node) {
  const auto end = quantized_by(graph, node, Stored::bytes_or_s16);
  const auto x = end ? dequantized(graph, end->x, Stored::bytes_or_s16) : std::nullopt;
  if (!x || x->type.dtype != DType::s16) return std::string();
  if (end->type.dtype == DType::s16) {
    const IntegerRange range = range_of(DType::s16);
    if (end->type != x->type || end->lowest != range.lowest || end->highest != range.highest) return std::string();
    Patch patch(graph);
    patch.replace(end->y, x->q);
    return patch;
  }
  if (rounds_away(end->profile)) return std::string();
  const float ratio = x->type.scale / end->type.scale;
  const Affine affine{ratio, static_cast<float>(-x->type.zero_point) * ratio};
  Patch patch(graph);
  const ValueId y =
      patch.add(kQuantizedElementwise, QuantizedElementwiseAttrs{{{affine, end->rounding()}, end->type.dtype}}, {x->q},
                node.name, node.origin);
  patch.set_quant(y, end->type.params());
  patch.replace(end->y, y);
  return patch;
}

}  // namespace octavo
