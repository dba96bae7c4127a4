// Functions of one quantized value that XNNPACK computes in integers. Part of lower/.
#include "lower/rules/xnnpack_table.h"

#include <algorithm>

#include "base/rescale.h"
#include "lower/quantized_value.h"
#include "ops/table/table.h"
#include "ops/unary/unary.h"

namespace octavo {

Match xnnpack_table(const Graph& graph, const Node& node) {
  const auto end = quantized_by(graph, node);
  if (!end || end->profile != Profile::tflite_xnnpack) return std::string();
  const Node* inner = graph.producer_if(end->x, kUnary);
  const bool is_leaky = inner != nullptr && inner->attrs.as<UnaryAttrs>().kind == UnaryKind::leaky_relu;
  if (inner != nullptr && (!is_leaky || !graph.has_one_reader(end->x))) return std::string();
  const auto x = quantized_operand(graph, is_leaky ? inner->inputs[0] : end->x);
  if (!x || x->type.dtype != end->type.dtype || (!is_leaky && x->type == end->type)) return std::string();
  const float ratio = x->type.scale / end->type.scale;
  const RescaleForm form = RescaleForm::of(ratio, is_leaky ? inner->attrs.as<UnaryAttrs>().alpha : 1.0f);
  if (!form.is_possible()) return std::string("its scales differ by more than XNNPACK's integer formula allows");

  Tensor table(end->type.dtype, Shape{256});
  const IntegerRange range = range_of(end->type.dtype);
  for (auto q = static_cast<std::int32_t>(range.lowest); q <= range.highest; ++q) {
    const std::int32_t y = form.apply(q - x->type.zero_point) + end->type.zero_point;
    table.as<std::uint8_t>()[q & 0xff] = static_cast<std::uint8_t>(std::clamp(y, end->lowest, end->highest));
  }
  const Node& named = is_leaky ? *inner : node;
  Patch patch(graph);
  const ValueId constant = patch.constant(named.name + "/table", std::move(table));
  const ValueId y = patch.add(kTable, NoAttrs{}, {x->q, constant}, named.name, named.origin);
  patch.set_quant(y, end->type.params());
  patch.replace(end->y, y);
  return patch;
}

}  // namespace octavo
