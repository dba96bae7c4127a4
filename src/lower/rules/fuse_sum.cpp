// Sums and means of quantized values, TFLite's. Part of lower/.
#include "lower/rules/fuse_sum.h"

#include "base/rescale.h"
#include "lower/fixed_result.h"
#include "lower/quantized_value.h"
#include "lower/reduced_axes.h"
#include "ops/integer_sum/integer_sum.h"
#include "ops/quantized_pool/quantized_pool.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"
#include "ops/transpose/transpose.h"

namespace octavo {
namespace {

// What is summed: the shape of x, once its axes are in order, is [outer, terms, inner].
struct Lines {
  const Node& node;
  bool is_mean;
  ValueId x;
  ReducedAxes axes;
};

std::string name_of(const Lines& lines, std::string_view suffix) { return lines.node.name + std::string(suffix); }

// The reference kernels': exact sums, then a factor in fixed point.
ValueId fixed_sums(Patch& patch, const Lines& lines, const QuantType& x, const Quantized& end) {
  const auto& [outer, terms, inner] = lines.axes;
  const ValueId ordered =
      patch.add(kReshape, ReshapeAttrs{{outer, terms, inner}}, {lines.x}, name_of(lines, "/lines"), lines.node.origin);
  const ValueId sums =
      patch.add(kIntegerSum, IntegerSumAttrs{x.zero_point}, {ordered}, lines.node.name, lines.node.origin);
  const FixedMultiplier scale = FixedMultiplier::of(static_cast<double>(x.scale) / static_cast<double>(end.type.scale));
  return fixed_result(patch, lines.node, sums, end, {lines.is_mean ? mean_multiplier(scale, terms) : scale});
}

// XNNPACK's: the pool of a whole image. Where the reduced axes are not those of one, it has `terms` rows of one pixel.
ValueId stored_sums(Patch& patch, const Lines& lines, const QuantType& x, const Quantized& end) {
  const auto& [outer, terms, inner] = lines.axes;
  const Shape& shape = patch.fact(lines.x).shape;
  const bool is_image = shape.rank() == 4 && shape[0] == outer && shape[3] == inner;
  const ReshapeAttrs image = is_image ? ReshapeAttrs{shape.to_vector()} : ReshapeAttrs{{outer, terms, 1, inner}};
  const ValueId ordered = patch.add(kReshape, image, {lines.x}, name_of(lines, "/lines"), lines.node.origin);
  QuantizedPoolAttrs attrs{.form = QuantizedPoolForm::stored_sum,
                           .window = unit_window({image.shape[1], image.shape[2]})};
  attrs.to = end.type.dtype;
  attrs.profile = end.profile;
  attrs.lowest = end.lowest;
  attrs.highest = end.highest;
  attrs.sum = StoredSumForm::of(x.scale, x.zero_point, end.type.scale, end.type.zero_point, terms,
                                lines.is_mean ? 1.0f / static_cast<float>(terms) : 1.0f);
  const ValueId y = patch.add(kQuantizedPool, std::move(attrs), {ordered}, lines.node.name, lines.node.origin);
  patch.set_quant(y, end.type.params());
  return y;
}

}  // namespace

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
  if (!is_of_tflite(end.profile)) return std::string();
  const Shape& shape = graph.fact(node.inputs[0]).shape;
  const auto neighbours = reduced_axes(shape, reduce);
  const ReducedLast last = reduced_last(shape, reduce);
  const ReducedAxes& axes = neighbours ? *neighbours : last.axes;
  constexpr std::int64_t kMostTerms = 1 << 22;
  if (axes.terms < 1 || axes.terms > kMostTerms) return std::string("its sum has no or more than 4194304 terms");

  Patch patch(graph);
  const ValueId ordered =
      neighbours ? x->q : patch.add(kTranspose, TransposeAttrs{last.perm}, {x->q}, node.name + "/moved", node.origin);
  const Lines lines{node, reduce.kind == ReduceKind::mean, ordered, axes};
  const ValueId y =
      is_fixed_point(end.profile) ? fixed_sums(patch, lines, x->type, end) : stored_sums(patch, lines, x->type, end);
  const ReshapeAttrs back{graph.fact(end.y).shape.to_vector()};
  patch.replace(end.y, patch.add(kReshape, back, {y}, node.name + "/result", node.origin));
  return patch;
}

}  // namespace octavo
