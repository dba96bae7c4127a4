// Sums and means of quantized values in fixed point. Part of lower/.
#include "lower/rules/fuse_sum.h"

#include "lower/fixed_result.h"
#include "lower/quantized_value.h"
#include "lower/reduced_axes.h"
#include "ops/integer_sum/integer_sum.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"
#include "ops/transpose/transpose.h"

namespace octavo {

Match fuse_sum(const Graph& graph, const Node& node) {
  if (node.spec != &kReduce) return std::string();
  const auto& reduce = node.attrs.as<ReduceAttrs>();
  if (reduce.kind != ReduceKind::mean && reduce.kind != ReduceKind::sum)
    return std::string("only sums and means have an integer form");
  const auto x = dequantized(graph, node.inputs[0]);
  if (!x) return std::string("its input is not quantized");
  const auto followed = follow_to_quantize(graph, node.outputs[0]);
  if (const auto* reason = std::get_if<std::string>(&followed)) return *reason;
  const auto& end = std::get<Quantized>(followed);
  if (!is_fixed_point(end.profile)) return std::string();
  const Shape& shape = graph.fact(node.inputs[0]).shape;
  const auto neighbours = reduced_axes(shape, reduce);
  const ReducedLast last = reduced_last(shape, reduce);
  const ReducedAxes& axes = neighbours ? *neighbours : last.axes;
  constexpr std::int64_t kMostTerms = 1 << 22;
  if (axes.terms < 1 || axes.terms > kMostTerms) return std::string("its sum has no or more than 4194304 terms");

  Patch patch(graph);
  const ValueId ordered =
      neighbours ? x->q : patch.add(kTranspose, TransposeAttrs{last.perm}, {x->q}, node.name + "/moved", node.origin);
  const ValueId lines = patch.add(kReshape, ReshapeAttrs{{axes.outer, axes.terms, axes.inner}}, {ordered},
                                  node.name + "/lines", node.origin);
  const ValueId sums = patch.add(kIntegerSum, IntegerSumAttrs{x->type.zero_point}, {lines}, node.name, node.origin);
  const FixedMultiplier scale =
      FixedMultiplier::of(static_cast<double>(x->type.scale) / static_cast<double>(end.type.scale));
  const FixedMultiplier factor = reduce.kind == ReduceKind::mean ? mean_multiplier(scale, axes.terms) : scale;
  const ValueId y = fixed_result(patch, node, sums, end, {factor});
  const ReshapeAttrs back{graph.fact(end.y).shape.to_vector()};
  patch.replace(end.y, patch.add(kReshape, back, {y}, node.name + "/result", node.origin));
  return patch;
}

}  // namespace octavo
