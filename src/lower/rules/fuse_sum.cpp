// Sums and means of quantized values, TFLite's. Part of lower/.
#include "lower/rules/fuse_sum.h"

#include "base/rescale.h"
#include "lower/fixed_result.h"
#include "lower/quantized_value.h"
#include "lower/reduced_axes.h"
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

// The reference kernels': a factor in fixed point. Gives its operands.
std::vector<ValueId> end_in_fixed_point(Patch& patch, const Lines& lines, const QuantType& x, const Quantized& end,
                                        QuantizedPoolAttrs& pool) {
  const FixedMultiplier scale = FixedMultiplier::of(static_cast<double>(x.scale) / static_cast<double>(end.type.scale));
  pool.x_zero_point = x.zero_point;
  pool.epilogue = fixed_epilogue(end);
  return fixed_factors(patch, lines.node, {lines.is_mean ? mean_multiplier(scale, lines.axes.terms) : scale});
}

// XNNPACK's, of values as they are stored.
Epilogue stored_epilogue(const Lines& lines, const QuantType& x, const Quantized& end) {
  const std::int64_t terms = lines.axes.terms;
  const StoredSumForm form = StoredSumForm::of(x.scale, x.zero_point, end.type.scale, end.type.zero_point, terms,
                                               lines.is_mean ? 1.0f / static_cast<float>(terms) : 1.0f);
  return {{Affine{form.multiplier, form.offset}, Round{.lowest = end.lowest, .highest = end.highest}}, end.type.dtype};
}

// The pool of a whole image. Where the reduced axes are not those of one, it has `terms` rows of one pixel.
ValueId sums_of(Patch& patch, const Lines& lines, const QuantType& x, const Quantized& end) {
  const auto& [outer, terms, inner] = lines.axes;
  const Node& node = lines.node;
  const OpenShape& shape = patch.fact(lines.x).shape;
  const bool is_image = shape.rank() == 4 && shape[0] == outer && shape[3] == inner;
  const ReshapeAttrs image = is_image ? ReshapeAttrs{shape.to_vector()} : ReshapeAttrs{{outer, terms, 1, inner}};
  std::vector<ValueId> inputs = {patch.add(kReshape, image, {lines.x}, node.name + "/lines", node.origin)};
  QuantizedPoolAttrs pool{.window = unit_window({image.shape[1], image.shape[2]})};
  if (is_fixed_point(end.profile)) {
    for (const ValueId factor : end_in_fixed_point(patch, lines, x, end, pool)) inputs.push_back(factor);
  } else {
    pool.epilogue = stored_epilogue(lines, x, end);
  }
  const ValueId y = patch.add(kQuantizedPool, std::move(pool), std::move(inputs), node.name, node.origin);
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
  const OpenShape& shape = graph.fact(node.inputs[0]).shape;
  const auto neighbours = reduced_axes(shape, reduce);
  const ReducedLast last = reduced_last(shape, reduce);
  const ReducedAxes& axes = neighbours ? *neighbours : last.axes;
  if (!axes.terms.is_number()) return std::string("how much it sums is open");
  constexpr std::int64_t kMostTerms = 1 << 22;
  if (axes.terms < 1 || axes.terms > kMostTerms) return std::string("its sum has no or more than 4194304 terms");

  Patch patch(graph);
  const ValueId ordered =
      neighbours ? x->q : patch.add(kTranspose, TransposeAttrs{last.perm}, {x->q}, node.name + "/moved", node.origin);
  const Lines lines{node, reduce.kind == ReduceKind::mean, ordered, axes};
  const ValueId y = sums_of(patch, lines, x->type, end);
  const ReshapeAttrs back{graph.fact(end.y).shape.to_vector()};
  patch.replace(end.y, patch.add(kReshape, back, {y}, node.name + "/result", node.origin));
  return patch;
}

}  // namespace octavo
