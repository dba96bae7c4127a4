// quantized_elementwise with results of s16: pairs of s16 values in fixed point, and sums of their bytes. Part of
// kernels/.
#include "kernels/broadcast.h"
#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/eltwise/eltwise.h"
#include "kernels/eltwise/rows.h"
#include "kernels/epilogue/step.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"

namespace octavo {
namespace {

std::optional<StepEpilogue> s16_epilogue_of(const CallView& call) {
  return StepEpilogue::of_s16(call.attrs->as<QuantizedElementwiseAttrs>().epilogue, kElementwiseOperands, call);
}

std::string refuse_s16_eltwise(const CallView& call) {
  const auto epilogue = s16_epilogue_of(call);
  if (!epilogue) return "needs s16 as the result, of two operands in fixed point or of the sums of two bytes";
  const bool is_s16_pair = call.input(0).dtype == DType::s16 && call.input(1).dtype == DType::s16;
  return epilogue->other >= 0 && !is_s16_pair ? "needs two operands of s16" : "";
}

struct S16EltwiseParams {
  Broadcast broadcast;  // of x and the other operand, or of sums and their factors
  StepEpilogue epilogue;
  const EltwiseFunctions* functions;
};

void run_s16_pairs(const S16EltwiseParams& params, const StepBuffers& buffers, ItemRange range) {
  S16Rows rows{.epilogue = params.epilogue.placed(buffers, 0)};
  params.broadcast.for_blocks(range, [&](const RowBlock& block) {
    place_rows(rows, block, buffers);
    params.functions->s16_pairs(rows);
  });
}

void run_joined_sums(const S16EltwiseParams& params, const StepBuffers& buffers, ItemRange range) {
  const auto* upper = reinterpret_cast<const std::int32_t*>(buffers.inputs[0]);
  const auto* lower =
      reinterpret_cast<const std::int32_t*>(buffers.inputs[static_cast<std::size_t>(params.epilogue.lower)]);
  auto* y = reinterpret_cast<std::int16_t*>(buffers.outputs[0]);
  params.broadcast.for_blocks(range, [&](const RowBlock& block) {
    params.functions->joined_sums({.upper = upper + block.y_offset,
                                   .lower = lower + block.y_offset,
                                   .y = y + block.y_offset,
                                   .rows = block.rows,
                                   .n = block.n,
                                   .is_wide = params.epilogue.is_wide,
                                   .epilogue = params.epilogue.placed(buffers, block.offset[1])});
  });
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_s16_eltwise(const CallView& call, const StepSpec&) {
  const StepEpilogue epilogue = *s16_epilogue_of(call);
  const bool is_pair = epilogue.other >= 0;
  const auto second = static_cast<std::size_t>(is_pair ? epilogue.other : epilogue.factor);
  const Shape* const operands[] = {call.input(0).shape, call.input(second).shape};
  Broadcast broadcast(*call.output().shape, operands);
  const std::int64_t items = broadcast.items();
  return make_step(S16EltwiseParams{std::move(broadcast), epilogue, &CompiledFor<EltwiseFunctions, isa>::table}, items,
                   is_pair ? run_s16_pairs : run_joined_sums);
}

// Nanoseconds per element: those of the fixed point of bytes, and of products of 64 bits.
template <Isa isa>
double s16_eltwise_cost(const OpCall& call, const Machine&) {
  const bool is_wide = s16_epilogue_of(view_of(call))->is_wide;
  const double per_element = is_wide ? by_width(isa, {2.0, 1.5, 0.7}) : by_width(isa, {6.0, 1.2, 0.7});
  return 100.0 + static_cast<double>(call.outputs[0].shape.elements()) * per_element;
}

template <Isa isa>
constexpr KernelChoice s16_eltwise_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "quantized_elementwise",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_s16_eltwise, make_s16_eltwise<isa>>()},
          .refusal = refusal_by<refuse_s16_eltwise>,
          .cost = s16_eltwise_cost<isa>};
}

constexpr KernelChoice kS16EltwiseChoices[] = {
    s16_eltwise_kernel<Isa::scalar>("eltwise_s16_portable"),
    s16_eltwise_kernel<Isa::avx2>("eltwise_s16_avx2"),
    s16_eltwise_kernel<Isa::avx512>("eltwise_s16_avx512"),
    s16_eltwise_kernel<Isa::neon>("eltwise_s16_neon"),
};
constexpr auto kS16EltwiseCodes = codes_of(kS16EltwiseChoices);

}  // namespace

std::span<const KernelCode> s16_eltwise_codes() { return kS16EltwiseCodes; }
std::span<const KernelChoice> s16_eltwise_choices() { return kS16EltwiseChoices; }

}  // namespace octavo
