// Sums and means of quantized values, TFLite's. Part of lower/.
#include "lower/rules/fuse_sum.h"

#include "base/rescale.h"
#include "lower/fixed_result.h"
#include "lower/quantized_value.h"
#include "lower/reduced_axes.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"
#include "ops/quantized_pool/quantized_pool.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"
#include "ops/s16_byte/s16_byte.h"
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

// The reference kernels' factor in fixed point.
FixedMultiplier fixed_factor(const Lines& lines, const QuantType& x, const Quantized& end) {
  const FixedMultiplier scale = FixedMultiplier::of(static_cast<double>(x.scale) / static_cast<double>(end.type.scale));
  return lines.is_mean ? mean_multiplier(scale, lines.axes.terms) : scale;
}

// XNNPACK's, of values as they are stored.
Epilogue stored_epilogue(const Lines& lines, const QuantType& x, const Quantized& end) {
  const std::int64_t terms = lines.axes.terms;
  const StoredSumForm form = StoredSumForm::of(x.scale, x.zero_point, end.type.scale, end.type.zero_point, terms,
                                               lines.is_mean ? 1.0f / static_cast<float>(terms) : 1.0f);
  return {{Affine{form.multiplier, form.offset}, Round{.lowest = end.lowest, .highest = end.highest}}, end.type.dtype};
}

// The pool of a whole image of x. Where the reduced axes are not those of one, it has `terms` rows of one pixel.
ValueId pool_of(Patch& patch, const Lines& lines, ValueId x, QuantizedPoolAttrs pool, std::vector<ValueId> operands,
                const std::string& name) {
  const auto& [outer, terms, inner] = lines.axes;
  const OpenShape& shape = patch.fact(x).shape;
  const bool is_image = shape.rank() == 4 && shape[0] == outer && shape[3] == inner;
  const ReshapeAttrs image = is_image ? ReshapeAttrs{shape.to_vector()} : ReshapeAttrs{{outer, terms, 1, inner}};
  pool.window = unit_window({image.shape[1], image.shape[2]});
  operands.insert(operands.begin(), patch.add(kReshape, image, {x}, name + "/lines", lines.node.origin));
  return patch.add(kQuantizedPool, std::move(pool), std::move(operands), name, lines.node.origin);
}

ValueId sums_of(Patch& patch, const Lines& lines, const QuantType& x, const Quantized& end) {
  const std::string& name = lines.node.name;
  if (!is_fixed_point(end.profile))
    return pool_of(patch, lines, lines.x, {.epilogue = stored_epilogue(lines, x, end)}, {}, name);
  return pool_of(patch, lines, lines.x, {.x_zero_point = x.zero_point, .epilogue = fixed_epilogue(end)},
                 fixed_factors(patch, lines.node, {fixed_factor(lines, x, end)}), name);
}

// Of s16 values: the sums of both of their bytes, joined.
ValueId joined_sums_of(Patch& patch, const Lines& lines, const QuantType& x, const Quantized& end) {
  const Node& node = lines.node;
  std::vector<ValueId> inputs;
  for (const S16Byte which : {S16Byte::upper, S16Byte::lower}) {
    const std::string name = node.name + "/" + std::string(name_of(which));
    const ValueId bytes = patch.add(kS16Byte, S16ByteAttrs{which}, {lines.x}, name + "_bytes", node.origin);
    inputs.push_back(
        pool_of(patch, lines, bytes, {.x_zero_point = zero_of(which), .epilogue = {.to = DType::s32}}, {}, name));
  }
  for (const ValueId factor : fixed_factors(patch, node, {fixed_factor(lines, x, end)})) inputs.push_back(factor);
  const Epilogue epilogue{{JoinBytes{}, FixedScale{end.profile}, end.rounding()}, DType::s16};
  return patch.add(kQuantizedElementwise, QuantizedElementwiseAttrs{epilogue}, std::move(inputs), node.name,
                   node.origin);
}

}  // namespace

Match fuse_sum(const Graph& graph, const Node& node) {
  if (node.spec != &kReduce) return std::string();
  const auto& reduce = node.attrs.as<ReduceAttrs>();
  if (reduce.kind != ReduceKind::mean && reduce.kind != ReduceKind::sum)
    return std::string("only sums and means have an integer form");
  const auto x = dequantized(graph, node.inputs[0], Stored::bytes_or_s16);
  if (!x) return std::string("its input is not quantized");
  const auto followed = follow_to_quantize(graph, node.outputs[0], Stored::bytes_or_s16);
  if (const auto* reason = std::get_if<std::string>(&followed)) return *reason;
  const auto& end = std::get<Quantized>(followed);
  if (!is_of_tflite(end.profile)) return std::string();
  const bool is_s16 = x->type.dtype == DType::s16;
  if (is_s16 != (end.type.dtype == DType::s16)) return std::string("only one of its operand and its result is s16");
  if (is_s16 && (!is_fixed_point(end.profile) || x->type.zero_point != 0))
    return std::string("sums of s16 values have no form of this rounding");
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
  const ValueId y = (is_s16 ? joined_sums_of : sums_of)(patch, lines, x->type, end);
  patch.set_quant(y, end.type.params());
  const ReshapeAttrs back{graph.fact(end.y).shape.to_vector()};
  patch.replace(end.y, patch.add(kReshape, back, {y}, node.name + "/result", node.origin));
  return patch;
}

}  // namespace octavo
