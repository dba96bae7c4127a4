// TFLite readers: products of an input whose last ones are kept and summed by time, in floats or integers. Part of
// import/.
#include "import/tflite/fixed_scaling.h"
#include "import/tflite/operators.h"
#include "import/tflite/recurrent.h"
#include "ops/matmul_integer/matmul_integer.h"

namespace octavo::tflite_import {
namespace {

using B = BinaryKind;

enum Input : int { kX = 0, kFeatures = 1, kByTime = 2, kBias = 3, kState = kSvdfState };

struct Sizes {
  Dim batch;
  std::int64_t filters = 0, memory = 0, rank = 1;
};

// Of the newest features [batch, filters].
struct Step {
  ValueId sums;  // of each unit [batch, units]: of all values of `rank` filters that are kept, weighted by time
  ValueId kept;  // [batch, filters, memory]: the oldest ones are forgotten
};

// Without a state all but the newest features are zeros.
Step summed_by_time(OperatorReader& in, ValueId newest, ValueId state, ValueId by_time, const Sizes& sizes) {
  ValueId values = in.reshape(newest, {sizes.batch, sizes.filters, 1}, "newest.last"), weights = by_time;
  if (state.exists()) {
    const ValueId kept = in.reshape(state, {sizes.batch, sizes.filters, sizes.memory}, "state");
    const ValueId later = slice(in, kept, 2, {.start = 1, .size = sizes.memory - 1}, "later");
    values = concat(in, {later, values}, 2, "values");
  } else {
    weights = slice(in, by_time, 1, {.start = sizes.memory - 1, .size = 1}, "of_newest");
  }
  weights = in.reshape(weights, {sizes.filters, state.exists() ? sizes.memory : 1}, "weights");
  const ValueId weighted = in.binary(B::mul, values, unsqueeze(in, weights, Integers{0}, "weights.row"), "weighted");
  if (in.failed()) return {};
  const Dim length = in.shape(weighted)[2] * sizes.rank;
  const ValueId lines = in.reshape(weighted, {sizes.batch, sizes.filters / sizes.rank, length}, "lines");
  return {reduce(in, {.x = lines, .kind = ReduceKind::sum, .axes = Integers{2}, .keeps_dims = false}, "sums"), values};
}

// What lies in a branch or loop begins as zeros each time.
ValueId kept_state(OperatorReader& in) {
  const bool is_zeros = in.has(kState) && in.tensor(kState).is_variable && !in.keeps(kState);
  return !in.has(kState) || is_zeros ? ValueId{} : in.stored(kState);
}

void keep(OperatorReader& in, ValueId values, const Sizes& sizes) {
  if (in.failed() || !in.keeps(kState)) return;
  in.keep(kState, in.reshape(values, {sizes.batch, sizes.filters * sizes.memory}, "kept"));
}

void require_types(OperatorReader& in, std::initializer_list<std::pair<int, DType>> types) {
  for (const auto& [input, type] : types) {
    if (!in.failed() && in.has(input) && in.tensor(input).dtype != type)
      in.unsupported("input " + std::to_string(input), std::string(octavo::name_of(in.tensor(input).dtype)),
                     std::string(octavo::name_of(type)) + ", beside the other inputs' types");
  }
}

ValueId add_floats(OperatorReader& in, const Sizes& sizes, int activation) {
  require_types(in, {{kX, DType::f32}, {kFeatures, DType::f32}, {kByTime, DType::f32}, {kState, DType::f32}});
  if (in.failed()) return {};
  const ValueId features = swap_axes(in, in.stored(kFeatures), 0, 1, "features");
  const ValueId newest = matmul(in, in.stored(kX), features, {}, "newest");
  const Step step = summed_by_time(in, newest, kept_state(in), in.stored(kByTime), sizes);
  keep(in, step.kept, sizes);
  ValueId sums = step.sums;
  if (in.has(kBias)) sums = in.binary(B::add, sums, in.stored(kBias), "biased");
  return in.activation(sums, activation);
}

// x and features of 8 bits, what is kept of 16 bits, sums of 32 bits.
ValueId add_integers(OperatorReader& in, const Sizes& sizes) {
  require_types(in, {{kBias, DType::s32}});
  const OneScale x = scale_of_input(in, kX, DType::s8), y = scale_of(in, in.output_tensor(0), DType::s8, "output 0");
  const float features_scale = scale_without_zero(in, kFeatures, DType::s8);
  const float time_scale = scale_without_zero(in, kByTime, DType::s16);
  const float state_scale = scale_without_zero(in, kState, DType::s16);
  const FixedMultiplier first = FixedMultiplier::of(static_cast<double>(x.scale * features_scale / state_scale));
  const FixedMultiplier second = FixedMultiplier::of(static_cast<double>(state_scale * time_scale / y.scale));
  if (in.failed()) return {};
  const auto zero = static_cast<std::int8_t>(x.zero_point);
  const ValueId features = swap_axes(in, in.stored(kFeatures), 0, 1, "features");
  const ValueId sum = in.add(kMatmulInteger, NoAttrs{},
                             {in.stored(kX), features, in.constant(Tensor::scalar(zero), "x.zero_point")}, "products");
  const ValueId newest = times_fixed(in, in.cast(sum, DType::s64, "wide"), first, 0, range_of(DType::s16), "newest");
  ValueId kept = kept_state(in);
  if (kept.exists()) kept = in.cast(kept, DType::s64, "state.wide");
  const Step step = summed_by_time(in, newest, kept, in.cast(in.stored(kByTime), DType::s64, "by_time"), sizes);
  if (in.keeps(kState)) keep(in, in.cast(step.kept, DType::s16, "kept.narrow"), sizes);
  ValueId sums = step.sums;
  if (in.has(kBias)) sums = in.binary(B::add, sums, in.cast(in.stored(kBias), DType::s64, "bias"), "biased");
  return in.cast(times_fixed(in, sums, second, y.zero_point, range_of(DType::s8), "result"), DType::s8);
}

}  // namespace

ValueId read_svdf(OperatorReader& in) {
  const auto& given = in.required_options<file::SVDFOptions>();
  const ValueId x = in.placed(in.stored(kX), "input 0"), features = in.placed(in.stored(kFeatures), "input 1"),
                by_time = in.placed(in.stored(kByTime), "input 2");
  for (const ValueId value : {x, features, by_time}) in.require_rank(value, 2, 2);
  if (in.failed()) return {};
  const Sizes sizes{in.shape(x)[0], in.shape(by_time)[0].fixed(), in.shape(by_time)[1].fixed(), given.rank()};
  if (sizes.rank < 1 || sizes.filters % sizes.rank != 0 || sizes.memory < 1)
    return in.fail("option 'rank'", std::to_string(sizes.rank),
                   "a number that divides the " + std::to_string(sizes.filters) + " filters");
  return in.tensor(kX).dtype == DType::s8 ? add_integers(in, sizes)
                                          : add_floats(in, sizes, given.fused_activation_function());
}

}  // namespace octavo::tflite_import
