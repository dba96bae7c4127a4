// batch_norm, layer_norm and reduce in f32. Part of kernels/.
#include <cmath>
#include <limits>

#include "base/math.h"
#include "kernels/call.h"
#include "kernels/float/float.h"
#include "kernels/float/sums.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/reduce/reduce.h"

namespace octavo {
namespace {

bool are_f32(const CallView& call) {
  for (const OperandType& input : call.inputs) {
    if (input.exists() && input.dtype != DType::f32) return false;
  }
  return true;
}

// ---- batch_norm ----

struct BatchNormParams {
  std::int64_t channels = 1, inner = 1;
  float epsilon = 0.0f;
  Chunks chunks;  // of rows of `channels` elements, or of `inner` elements where there are several
  const SumFunctions* functions;
};

// Factors, then shifts, `channels` of each.
void make_channels(const BatchNormParams& params, const StepBuffers& buffers, float* to) {
  const auto input = [&](std::size_t i, std::int64_t c) {
    return reinterpret_cast<const float*>(buffers.inputs[i])[c];
  };
  for (std::int64_t c = 0; c < params.channels; ++c) {
    const auto channel =
        BatchNormChannel<float>::of(input(1, c), input(2, c), input(3, c), input(4, c), params.epsilon);
    to[c] = channel.factor;
    to[params.channels + c] = channel.shift;
  }
}

void run_batch_norm(const BatchNormParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange rows = params.chunks.units_of(range);
  auto* channels = reinterpret_cast<float*>(buffers.scratch);
  make_channels(params, buffers, channels);
  const bool is_last = params.inner == 1;
  const std::int64_t n = is_last ? params.channels : params.inner;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const float* first = channels + (is_last ? 0 : row % params.channels);
    params.functions->normalize({.x = reinterpret_cast<const float*>(buffers.inputs[0]) + row * n,
                                 .y = reinterpret_cast<float*>(buffers.outputs[0]) + row * n,
                                 .n = n,
                                 .step = is_last ? 1 : 0,
                                 .factor = first,
                                 .shift = first + params.channels});
  }
}

std::string refuse_batch_norm(const CallView& call) { return are_f32(call) ? "" : "needs f32"; }

template <const SumFunctions& functions>
Result<std::unique_ptr<Step>> make_batch_norm(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<BatchNormAttrs>();
  const Shape& x = *call.input(0).shape;
  const int axis = static_cast<int>(attrs.axis);
  BatchNormParams params{
      .channels = x[axis], .inner = x.elements(axis + 1, x.rank()), .epsilon = attrs.epsilon, .functions = &functions};
  const std::int64_t n = params.inner == 1 ? params.channels : params.inner;
  params.chunks = Chunks::of(n == 0 ? 0 : x.elements() / n, 4 * n);
  const auto scratch = static_cast<std::size_t>(2 * params.channels) * sizeof(float);
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_batch_norm, scratch);
}

// ---- layer_norm ----

struct LayerNormParams {
  std::int64_t n = 0;
  double epsilon = 0.0;
  bool has_bias = false;
  Chunks chunks;
  const SumFunctions* functions;
};

void run_layer_norm(const LayerNormParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange rows = params.chunks.units_of(range);
  params.functions->layer_norm({.x = reinterpret_cast<const float*>(buffers.inputs[0]) + rows.begin * params.n,
                                .y = reinterpret_cast<float*>(buffers.outputs[0]) + rows.begin * params.n,
                                .rows = rows.end - rows.begin,
                                .n = params.n,
                                .scale = reinterpret_cast<const float*>(buffers.inputs[1]),
                                .bias = params.has_bias ? reinterpret_cast<const float*>(buffers.inputs[2]) : nullptr,
                                .epsilon = params.epsilon});
}

std::int64_t normalized_elements(const CallView& call) {
  const Shape& x = *call.input(0).shape;
  return x.elements(static_cast<int>(call.attrs->as<LayerNormAttrs>().axis), x.rank());
}

std::string refuse_layer_norm(const CallView& call) {
  if (!are_f32(call)) return "needs f32";
  const std::int64_t n = normalized_elements(call);
  const bool is_whole = call.input(1).elements() == n && (!call.input(2).exists() || call.input(2).elements() == n);
  return is_whole ? "" : "needs a scale and a bias for each element";
}

template <const SumFunctions& functions>
Result<std::unique_ptr<Step>> make_layer_norm(const CallView& call, const StepSpec&) {
  const std::int64_t n = normalized_elements(call);
  LayerNormParams params{.n = n,
                         .epsilon = static_cast<double>(call.attrs->as<LayerNormAttrs>().epsilon),
                         .has_bias = call.input(2).exists(),
                         .chunks = Chunks::of(n == 0 ? 0 : call.output().elements() / n, 8 * n),
                         .functions = &functions};
  // Groups of eight rows are faster.
  params.chunks.chunk = (params.chunks.chunk + 7) / 8 * 8;
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_layer_norm);
}

// ---- reduce ----

// x seen as [outer, count, inner], reduced over the middle.
struct ReduceShape {
  std::int64_t outer = 1, count = 1, inner = 1;
  bool is_one_run = true;  // the reduced axes lie next to each other
};

ReduceShape reduce_shape(const CallView& call) {
  const auto& axes = call.attrs->as<ReduceAttrs>().axes;
  const Shape& x = *call.input(0).shape;
  ReduceShape shape;
  bool is_past = false;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (x[axis] == 1) continue;
    const bool is_reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (is_reduced && is_past) shape.is_one_run = false;
    if (is_reduced) shape.count *= x[axis];
    else if (shape.count == 1) shape.outer *= x[axis];
    else shape.inner *= x[axis], is_past = true;
  }
  return shape;
}

struct ReduceParams {
  ReduceShape shape;
  ReduceKind kind;
  std::int64_t block = 1;  // of inner elements
  Chunks chunks;           // of (outer, block) pairs
  const SumFunctions* functions;
};

ReduceStep step_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::l1: return ReduceStep::l1;
    case ReduceKind::l2:
    case ReduceKind::sum_square: return ReduceStep::sum_square;
    case ReduceKind::max: return ReduceStep::max;
    case ReduceKind::min: return ReduceStep::min;
    default: return ReduceStep::sum;
  }
}

double start_of(ReduceKind kind) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return kind == ReduceKind::max ? -infinity : (kind == ReduceKind::min ? infinity : 0.0);
}

double finish(const ReduceParams& params, double value) {
  switch (params.kind) {
    case ReduceKind::mean: return value / static_cast<double>(params.shape.count);
    case ReduceKind::l2: return std::sqrt(value);
    case ReduceKind::log_sum: return math_log(value);
    default: return value;
  }
}

constexpr std::int64_t kReduceBlock = 64;

void run_reduce(const ReduceParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  const ReduceShape& s = params.shape;
  const std::int64_t blocks = (s.inner + params.block - 1) / params.block;
  double acc[kReduceBlock];
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    const std::int64_t outer = unit / blocks, first = unit % blocks * params.block;
    const std::int64_t width = std::min(params.block, s.inner - first);
    std::fill_n(acc, width, start_of(params.kind));
    params.functions->reduce(
        {.step = step_of(params.kind),
         .x = reinterpret_cast<const float*>(buffers.inputs[0]) + outer * s.count * s.inner + first,
         .count = s.count,
         .stride = s.inner,
         .width = width,
         .acc = acc});
    float* y = reinterpret_cast<float*>(buffers.outputs[0]) + outer * s.inner + first;
    for (std::int64_t j = 0; j < width; ++j) y[j] = static_cast<float>(finish(params, acc[j]));
  }
}

std::string refuse_reduce(const CallView& call) {
  if (!are_f32(call)) return "needs f32";
  const ReduceKind kind = call.attrs->as<ReduceAttrs>().kind;
  if (kind == ReduceKind::prod || kind == ReduceKind::log_sum_exp) return "computes neither prod nor log_sum_exp";
  if (call.input(0).elements() == 0) return "needs elements";
  return reduce_shape(call).is_one_run ? "" : "needs reduced axes next to each other";
}

template <const SumFunctions& functions>
Result<std::unique_ptr<Step>> make_reduce(const CallView& call, const StepSpec&) {
  ReduceParams params{.shape = reduce_shape(call), .kind = call.attrs->as<ReduceAttrs>().kind, .functions = &functions};
  params.block = std::min(params.shape.inner, kReduceBlock);
  const std::int64_t blocks = (params.shape.inner + params.block - 1) / params.block;
  params.chunks = Chunks::of(params.shape.outer * blocks, 4 * params.shape.count * params.block);
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_reduce);
}

// ---- the kernels ----

template <int kPicoseconds>
double cost(const OpCall& call, const Machine&) {
  return 200.0 + kPicoseconds / 1000.0 * static_cast<double>(call.inputs[0]->shape.elements());
}

template <const SumFunctions& functions, Isa isa, int kPicoseconds>
constexpr KernelChoice batch_norm_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "batch_norm",
                   .needs = isa,
                   .prepare = prepare_by<refuse_batch_norm, make_batch_norm<functions>>},
          .refusal = refusal_by<refuse_batch_norm>,
          .cost = cost<kPicoseconds>};
}
template <const SumFunctions& functions, Isa isa, int kPicoseconds>
constexpr KernelChoice layer_norm_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "layer_norm",
                   .needs = isa,
                   .prepare = prepare_by<refuse_layer_norm, make_layer_norm<functions>>},
          .refusal = refusal_by<refuse_layer_norm>,
          .cost = cost<kPicoseconds>};
}
template <const SumFunctions& functions, Isa isa, int kPicoseconds>
constexpr KernelChoice reduce_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "reduce",
                   .needs = isa,
                   .prepare = prepare_by<refuse_reduce, make_reduce<functions>>},
          .refusal = refusal_by<refuse_reduce>,
          .cost = cost<kPicoseconds>};
}

constexpr KernelChoice kChoices[] = {
    batch_norm_kernel<kSumsScalar, Isa::scalar, 4000>("norm_batch_f32_portable"),
    batch_norm_kernel<kSumsAvx2, Isa::avx2, 1500>("norm_batch_f32_avx2"),
    batch_norm_kernel<kSumsAvx512, Isa::avx512, 1200>("norm_batch_f32_avx512"),
    layer_norm_kernel<kSumsScalar, Isa::scalar, 6000>("norm_layer_f32_portable"),
    layer_norm_kernel<kSumsAvx2, Isa::avx2, 3000>("norm_layer_f32_avx2"),
    layer_norm_kernel<kSumsAvx512, Isa::avx512, 2500>("norm_layer_f32_avx512"),
    reduce_kernel<kSumsScalar, Isa::scalar, 1500>("norm_reduce_f32_portable"),
    reduce_kernel<kSumsAvx2, Isa::avx2, 500>("norm_reduce_f32_avx2"),
    reduce_kernel<kSumsAvx512, Isa::avx512, 400>("norm_reduce_f32_avx512"),
};
constexpr auto kCodes = codes_of(kChoices);

}  // namespace

std::span<const KernelCode> float_norm_codes() { return kCodes; }
std::span<const KernelChoice> float_norm_choices() { return kChoices; }

}  // namespace octavo
