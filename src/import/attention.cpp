// Verbs of transformers: attention and what stands around it. Part of import/.
#include <cmath>
#include <numeric>

#include "import/verbs.h"
#include "ops/where/where.h"

namespace octavo::importing {

float attention_scale(std::int64_t head_size) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(std::max<std::int64_t>(head_size, 1))));
}

ValueId attention(NodeBuilder& in, ValueId q, ValueId k, ValueId v, ValueId mask, const AttentionAttrs& attrs,
                  std::string_view suffix) {
  std::vector<ValueId> inputs = {q, k, v};
  if (mask.exists()) inputs.push_back(mask);
  return in.add(kAttention, attrs, std::move(inputs), suffix);
}

ValueId repeated_heads(NodeBuilder& in, ValueId x, std::int64_t times, std::string_view suffix) {
  if (in.failed() || times == 1) return x;
  const int axis = in.rank(x) - 3;
  Extents dims = in.shape(x).to_vector();
  Extents wide = dims;
  dims[static_cast<std::size_t>(axis)] = dims[static_cast<std::size_t>(axis)] * times;
  wide.insert(wide.begin() + axis + 1, Dim(1));
  const ValueId apart = in.reshape(x, wide, std::string(suffix) + ".apart");
  wide[static_cast<std::size_t>(axis) + 1] = times;
  return in.reshape(expand(in, apart, wide, std::string(suffix) + ".expanded"), dims, suffix);
}

ValueId attention_by_axes(NodeBuilder& in, const AttentionByAxes& args) {
  for (const ValueId x : {args.q, args.k, args.v}) in.require_rank(x, 2, kMaxRank - 1);
  if (in.failed()) return {};
  const OpenShape q = in.shape(args.q), k = in.shape(args.k), v = in.shape(args.v);
  const Dim size = q[q.rank() - 1], value_size = v[v.rank() - 1];
  if (!size.is_number() || !value_size.is_number())
    return in.unsupported("", "heads of an open size", "heads of a known size");
  std::vector<ValueId> inputs = {args.q, args.k, args.v};
  if (q.rank() >= 3 && k.rank() == q.rank() && v.rank() == q.rank()) {
    const Dim heads = q[q.rank() - 3], groups = k[k.rank() - 3];
    const bool is_grouped = heads.is_number() && groups.is_number() && groups > 0 && heads > groups;
    if (is_grouped && heads % groups != 0)
      return in.fail("", to_string(heads) + " heads of queries for " + to_string(groups) + " of keys", "a multiple");
    for (std::size_t i = 1; i <= 2 && is_grouped; ++i)
      inputs[i] = repeated_heads(in, inputs[i], heads / groups, i == 1 ? "keys" : "values");
  }
  ValueId mask = args.mask;
  if (mask.exists() && in.rank(mask) > 2) {
    Extents dims = in.shape(mask).to_vector();
    dims.insert(dims.end() - 2, Dim(1));
    mask = in.reshape(mask, dims, "mask");
  }
  const AttentionAttrs attrs{.head_size = size,
                             .value_size = value_size,
                             .scale = args.scale ? *args.scale : attention_scale(size),
                             .is_causal = args.is_causal};
  return attention(in, inputs[0], inputs[1], inputs[2], mask, attrs);
}

ValueId rms_norm(NodeBuilder& in, const NormArgs& args, std::int64_t axis) {
  if (in.failed()) return {};
  Integers axes(static_cast<std::size_t>(in.rank(args.x) - axis));
  std::iota(axes.begin(), axes.end(), axis);
  const ValueId squares = in.binary(BinaryKind::mul, args.x, args.x, "squares");
  const ValueId mean = reduce(in, {.x = squares, .kind = ReduceKind::mean, .axes = axes}, "mean");
  if (in.failed()) return {};
  const ValueId stable = in.binary(BinaryKind::add, mean, in.scalar_like(mean, args.epsilon, "epsilon"), "stable");
  const ValueId root = in.unary({.kind = UnaryKind::sqrt}, stable, "root");
  const ValueId normalized = in.binary(BinaryKind::div, args.x, root, "normalized");
  const ValueId scaled =
      args.scale.exists() ? in.binary(BinaryKind::mul, normalized, args.scale, "scaled") : normalized;
  return args.bias.exists() ? in.binary(BinaryKind::add, scaled, args.bias) : scaled;
}

ValueId rotated(NodeBuilder& in, const RotaryArgs& args) {
  if (in.failed()) return {};
  const int rank = in.rank(args.x);
  const Dim columns = in.shape(args.x)[rank - 1];
  const std::int64_t last = rank - 1, turned = 2 * args.half;
  const ValueId part = slice(in, args.x, last, Range{.start = 0, .size = turned}, "turned");
  ValueId a, b;
  if (args.is_interleaved) {
    a = slice(in, part, last, Range{.start = 0, .step = 2, .size = args.half}, "even");
    b = slice(in, part, last, Range{.start = 1, .step = 2, .size = args.half}, "odd");
  } else {
    a = slice(in, part, last, Range{.start = 0, .size = args.half}, "first");
    b = slice(in, part, last, Range{.start = args.half, .size = args.half}, "second");
  }
  const auto times = [&](ValueId x, ValueId factor, std::string_view name) {
    return in.binary(BinaryKind::mul, x, factor, name);
  };
  const ValueId real =
      in.binary(BinaryKind::sub, times(a, args.cosines, "a.cos"), times(b, args.sines, "b.sin"), "real");
  const ValueId imaginary =
      in.binary(BinaryKind::add, times(a, args.sines, "a.sin"), times(b, args.cosines, "b.cos"), "imaginary");
  if (in.failed()) return {};
  ValueId y;
  if (args.is_interleaved) {
    Extents dims = in.shape(part).to_vector();
    y = concat(in,
               {unsqueeze(in, real, Integers{rank}, "real.apart"),
                unsqueeze(in, imaginary, Integers{rank}, "imaginary.apart")},
               std::int64_t{rank}, "pairs");
    y = in.reshape(y, dims, "joined");
  } else {
    y = concat(in, {real, imaginary}, last, "joined");
  }
  if (is_same(columns, Dim(turned)) || in.failed()) return y;
  const ValueId rest = slice(in, args.x, last, Range{.start = turned, .size = columns - turned}, "rest");
  return concat(in, {y, rest}, last);
}

}  // namespace octavo::importing
