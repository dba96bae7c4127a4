// ATen readers: operators of the core set that are others put together. Part of import/.
#include <algorithm>
#include <cmath>

#include "import/pt2/operators.h"

namespace octavo::pt2_import {
namespace {

using B = BinaryKind;
using U = UnaryKind;

// ---- one element ----

template <int base>
ValueId read_logarithm(NodeReader& in) {
  const ValueId log = in.unary({.kind = U::log}, in.value("self"), "log");
  return scaled(in, log, 1.0 / std::log(static_cast<double>(base)), "");
}

ValueId read_trunc(NodeReader& in) {
  const ValueId x = in.value("self");
  if (in.failed() || !is_float(in.dtype(x))) return in.unary({.kind = U::identity}, x);
  const ValueId size = in.unary({.kind = U::floor}, in.unary({.kind = U::abs}, x, "size"), "whole");
  return in.binary(B::mul, in.unary({.kind = U::sign}, x, "sign"), size);
}

// What is left of a division rounded down: it has the divisor's sign.
ValueId read_remainder(NodeReader& in) {
  const ValueId a = in.value("self"), b = in.value_or_number("other", a);
  if (in.failed()) return {};
  if (in.dtype(a) != in.dtype(b))
    return in.unsupported("argument 'other'", std::string(octavo::name_of(in.dtype(b))),
                          std::string(octavo::name_of(in.dtype(a))) + ", as 'self'");
  if (!is_float(in.dtype(a))) return in.binary(B::mod, a, b);
  const ValueId quotient = in.unary({.kind = U::floor}, in.binary(B::div, a, b, "quotient"), "floored");
  return in.binary(B::sub, a, in.binary(B::mul, quotient, b, "whole"));
}

// The first half of the channels times the sigmoid of the second.
ValueId read_glu(NodeReader& in) {
  const ValueId x = in.value("self");
  const Number dim = in.integer("dim", -1);
  const std::int64_t axis = in.axis(dim, in.rank(x));
  if (in.failed()) return {};
  const Dim size = in.shape(x)[static_cast<int>(axis)];
  if (!size.is_number() || size.fixed() % 2 != 0)
    return in.fail("argument 'self'", to_string(size) + " elements along the axis", "an even number");
  const std::int64_t half = size.fixed() / 2;
  const ValueId a = slice(in, x, axis, {.size = half}, "a"), b = slice(in, x, axis, {.start = half, .size = half}, "b");
  return in.binary(B::mul, a, in.unary({.kind = U::sigmoid}, b, "gate"));
}

// ---- images ----

ValueId read_pixel_shuffle(NodeReader& in) {
  return depth_to_space(in, {.x = in.value("self"), .size = in.integer("upscale_factor"), .is_depth_first = false});
}

ValueId read_pixel_unshuffle(NodeReader& in) {
  return space_to_depth(in, {.x = in.value("self"), .size = in.integer("downscale_factor"), .is_depth_first = false});
}

// Two numbers for each of the last axes, the last one first.
template <PadMode mode, int axes>
ValueId read_edge_pad(NodeReader& in) {
  const ValueId x = in.value("self");
  const Numbers pads = in.integers("padding");
  in.require_rank(x, axes + 1, axes + 2);
  if (!in.failed() && pads.size() != 2 * axes)
    in.fail(pads.place, std::to_string(pads.size()) + " numbers", "2 per axis");
  if (in.failed()) return {};
  PadArgs args{.x = x, .begin = Numbers(Extents{}, pads.place), .end = Numbers(Extents{}, pads.place), .mode = mode};
  for (std::size_t i = 0; i < axes; ++i) {
    args.begin.values.push_back(pads[2 * i]);
    args.end.values.push_back(pads[2 * i + 1]);
    args.axes.push_back(in.rank(x) - 1 - static_cast<std::int64_t>(i));
  }
  return pad(in, args);
}

// ---- reductions ----

// One axis, several, or all.
ReduceArgs read_axes(NodeReader& in, ValueId x) {
  ReduceArgs args{.x = x};
  if (in.is_whole("dim")) args.axes = Integers{in.integer("dim")};
  else args.axes = in.integers("dim");
  args.keeps_dims = in.flag("keepdim");
  return args;
}

template <ReduceKind kind>
ValueId read_truths(NodeReader& in) {
  const ValueId truths = in.cast(in.value("self"), DType::boolean, "truths");
  ReduceArgs args = read_axes(in, in.cast(truths, DType::s32, "numbers"));
  args.kind = kind;
  return in.cast(reduce(in, args, "reduced"), DType::boolean);
}

ValueId read_product(NodeReader& in) {
  const ValueId x = in.value("self");
  const DType type = in.element_type("dtype", is_float(in.dtype(x)) ? in.dtype(x) : DType::s64);
  ReduceArgs args = read_axes(in, in.cast(x, type, "x"));
  args.kind = ReduceKind::prod;
  return reduce(in, args);
}

// Of `correction` degrees of freedom less than elements; by default one.
ValueId variance(NodeReader& in, std::string_view suffix) {
  const ValueId x = in.value("self");
  ReduceArgs args = read_axes(in, x);
  double correction = in.number("correction", 1.0);
  if (!in.flag("unbiased", true)) correction = 0.0;
  if (in.failed()) return {};
  const Integers given = args.axes.empty() ? Integers{} : in.axes(args.axes, in.rank(x));
  Dim count = 1;
  for (int i = 0; i < in.rank(x); ++i) {
    if (given.empty() || std::find(given.begin(), given.end(), i) != given.end()) count = count * in.shape(x)[i];
  }
  if (in.failed()) return {};
  if (!count.is_number()) return in.unsupported("argument 'self'", "an open number of elements", "a fixed one");
  ReduceArgs mean = args;
  mean.kind = ReduceKind::mean, mean.keeps_dims = true;
  const ValueId difference = in.binary(B::sub, x, reduce(in, mean, "mean"), "difference");
  args.x = in.binary(B::mul, difference, difference, "squares"), args.kind = ReduceKind::sum;
  const double freedom = static_cast<double>(count.fixed()) - correction;
  if (!(freedom > 0.0))
    return in.unsupported("argument 'correction'", std::to_string(correction), "fewer than elements");
  return scaled(in, reduce(in, args, "sum"), 1.0 / freedom, suffix);
}

ValueId read_variance(NodeReader& in) { return variance(in, ""); }
ValueId read_deviation(NodeReader& in) { return in.unary({.kind = U::sqrt}, variance(in, "variance")); }

ValueId read_sort(NodeReader& in) {
  const ValueId x = in.value("self");
  const Number dim = in.integer("dim", -1);
  const bool is_descending = in.flag("descending");
  in.ignore("stable");  // equals stay in order
  const std::int64_t axis = in.axis(dim, in.rank(x));
  if (in.failed()) return {};
  const Dim size = in.shape(x)[static_cast<int>(axis)];
  if (!size.is_number()) return in.unsupported("argument 'self'", "an open number of elements", "a fixed one");
  const TopElements sorted = topk(in, x, axis, size.fixed(), is_descending);
  in.output(1, sorted.positions);
  return sorted.values;
}

// ---- random numbers ----

template <bool is_normal, bool is_like>
ValueId read_random(NodeReader& in) {
  for (const char* name : {"layout", "device", "pin_memory", "memory_format"}) in.ignore(name);
  const ValueId like = is_like ? in.value("self") : ValueId{};
  RandomArgs args;
  args.shape = is_like ? in.shape(like).to_vector() : in.integers("size").values;
  const DType type = in.element_type("dtype", is_like ? in.dtype(like) : DType::f32);
  if (in.failed()) return {};
  if (!is_float(type)) return in.unsupported("argument 'dtype'", std::string(octavo::name_of(type)), "floats");
  return in.cast(is_normal ? random_normal(in, args, "numbers") : random_uniform(in, args, "numbers"), type);
}

constexpr Operator kCoreTable[] = {
    {"aten.all", "default dim dims", kFresh, read_truths<ReduceKind::min>},
    {"aten.any", "default dim dims", kFresh, read_truths<ReduceKind::max>},
    {"aten.glu", "default", kFresh, read_glu},
    {"aten.log10", "default", kFresh, read_logarithm<10>},
    {"aten.log2", "default", kFresh, read_logarithm<2>},
    {"aten.pixel_shuffle", "default", kFresh, read_pixel_shuffle},
    {"aten.pixel_unshuffle", "default", kFresh, read_pixel_unshuffle},
    {"aten.prod", "default dim_int", kFresh, read_product},
    {"aten.rand", "default", kFresh, read_random<false, false>},
    {"aten.rand_like", "default", kFresh, read_random<false, true>},
    {"aten.randn", "default", kFresh, read_random<true, false>},
    {"aten.randn_like", "default", kFresh, read_random<true, true>},
    {"aten.reflection_pad1d", "default", kFresh, read_edge_pad<PadMode::reflect, 1>},
    {"aten.reflection_pad2d", "default", kFresh, read_edge_pad<PadMode::reflect, 2>},
    {"aten.reflection_pad3d", "default", kFresh, read_edge_pad<PadMode::reflect, 3>},
    {"aten.remainder", "Scalar Tensor", kFresh, read_remainder},
    {"aten.replication_pad1d", "default", kFresh, read_edge_pad<PadMode::edge, 1>},
    {"aten.replication_pad2d", "default", kFresh, read_edge_pad<PadMode::edge, 2>},
    {"aten.replication_pad3d", "default", kFresh, read_edge_pad<PadMode::edge, 3>},
    {"aten.sort", "default stable", kFresh, read_sort},
    {"aten.std", "correction default dim", kFresh, read_deviation},
    {"aten.trunc", "default", kFresh, read_trunc},
    {"aten.var", "correction default dim", kFresh, read_variance},
};

}  // namespace

const std::span<const Operator> kCore = kCoreTable;

}  // namespace octavo::pt2_import
