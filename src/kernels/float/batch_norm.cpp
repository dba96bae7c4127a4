// batch_norm in f32. Part of kernels/.
#include "ops/batch_norm/batch_norm.h"

#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/float/float.h"
#include "kernels/float/sums.h"

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

template <Isa isa>
Result<std::unique_ptr<Step>> make_batch_norm(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<BatchNormAttrs>();
  const Shape& x = *call.input(0).shape;
  const int axis = static_cast<int>(attrs.axis);
  BatchNormParams params{.channels = x[axis],
                         .inner = x.elements(axis + 1, x.rank()),
                         .epsilon = attrs.epsilon,
                         .functions = &CompiledFor<SumFunctions, isa>::table};
  const std::int64_t n = params.inner == 1 ? params.channels : params.inner;
  params.chunks = Chunks::of(n == 0 ? 0 : x.elements() / n, 4 * n);
  const auto scratch = static_cast<std::size_t>(2 * params.channels) * sizeof(float);
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_batch_norm, scratch);
}

// ---- the kernels ----

template <int kPicoseconds>
double batch_norm_cost(const OpCall& call, const Machine&) {
  return 200.0 + kPicoseconds / 1000.0 * static_cast<double>(call.inputs[0]->shape.elements());
}

template <Isa isa, int kPicoseconds>
constexpr KernelChoice batch_norm_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "batch_norm",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_batch_norm, make_batch_norm<isa>>()},
          .refusal = refusal_by<refuse_batch_norm>,
          .cost = batch_norm_cost<kPicoseconds>};
}

constexpr KernelChoice kBatchNormChoices[] = {
    batch_norm_kernel<Isa::scalar, 4000>("norm_batch_f32_portable"),
    batch_norm_kernel<Isa::avx2, 1500>("norm_batch_f32_avx2"),
    batch_norm_kernel<Isa::avx512, 1200>("norm_batch_f32_avx512"),
    batch_norm_kernel<Isa::neon, 3000>("norm_batch_f32_neon"),
};
constexpr auto kBatchNormCodes = codes_of(kBatchNormChoices);

}  // namespace

std::span<const KernelCode> batch_norm_codes() { return kBatchNormCodes; }
std::span<const KernelChoice> batch_norm_choices() { return kBatchNormChoices; }

}  // namespace octavo
