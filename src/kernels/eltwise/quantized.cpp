// quantized_elementwise on rows: pairs of stored values in any broadcasting, and sums. Part of kernels/.
#include "kernels/broadcast.h"
#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/eltwise/eltwise.h"
#include "kernels/eltwise/rows.h"
#include "kernels/epilogue/step.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"

namespace octavo {
namespace {

struct QuantizedEltwiseParams {
  Broadcast broadcast;  // of x and the other operand, or of sums and their factors
  StepEpilogue epilogue;
  bool x_is_signed = false, other_is_signed = false;
  const EltwiseFunctions* functions;
};

std::optional<StepEpilogue> epilogue_of(const CallView& call) {
  return StepEpilogue::of(call.attrs->as<QuantizedElementwiseAttrs>().epilogue, kElementwiseOperands, call);
}

bool is_fixed_pair(const StepEpilogue& epilogue) { return epilogue.rows.formula >= Formula::fixed_add; }

template <Isa isa>
std::string refuse_quantized_eltwise(const CallView& call) {
  const auto epilogue = epilogue_of(call);
  if (!epilogue) return std::string(kStepEpilogueRefusal);
  const bool is_for_bytes = epilogue->factor < 0 && epilogue->rows.result == RowEpilogue::Result::bytes;
  if (call.input(0).dtype == DType::s16 && !is_for_bytes) return "needs one scale and bytes as the result of s16";
  const bool has_signed = call.input(0).dtype == DType::s8 || call.input(1).dtype == DType::s8;
  return isa != Isa::scalar && is_fixed_pair(*epilogue) && has_signed ? "needs u8 operands in fixed point" : "";
}

void run_pairs(const QuantizedEltwiseParams& params, const StepBuffers& buffers, ItemRange range) {
  PairRows rows{.a_is_signed = params.x_is_signed,
                .b_is_signed = params.other_is_signed,
                .epilogue = params.epilogue.placed(buffers, 0)};
  params.broadcast.for_blocks(range, [&](const RowBlock& block) {
    place_rows(rows, block, buffers);
    params.functions->pairs(rows);
  });
}

// s16 values as sums, some at a time: without factors per channel they are one row.
void run_quantized_eltwise_s16(const QuantizedEltwiseParams& params, const StepBuffers& buffers, ItemRange range) {
  constexpr std::int64_t kAtOnce = 256;
  const auto* x = reinterpret_cast<const std::int16_t*>(buffers.inputs[0]);
  const RowEpilogue epilogue = params.epilogue.placed(buffers, 0);
  params.broadcast.for_blocks(range, [&](const RowBlock& block) {
    const std::int64_t count = block.rows * block.n;
    for (std::int64_t first = 0; first < count; first += kAtOnce) {
      std::int32_t sums[kAtOnce];
      const std::int64_t n = std::min(kAtOnce, count - first);
      std::copy_n(x + block.offset[0] + first, n, sums);
      params.functions->sums(epilogue, sums, 1, n, buffers.outputs[0] + block.y_offset + first);
    }
  });
}

void run_sums(const QuantizedEltwiseParams& params, const StepBuffers& buffers, ItemRange range) {
  const auto* x = reinterpret_cast<const std::int32_t*>(buffers.inputs[0]);
  const std::size_t y_bytes = params.epilogue.rows.result == RowEpilogue::Result::bytes ? 1 : sizeof *x;
  params.broadcast.for_blocks(range, [&](const RowBlock& block) {
    params.functions->sums(params.epilogue.placed(buffers, block.offset[1]), x + block.offset[0], block.rows, block.n,
                           buffers.outputs[0] + static_cast<std::size_t>(block.y_offset) * y_bytes);
  });
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_quantized_eltwise(const CallView& call, const StepSpec&) {
  const StepEpilogue epilogue = *epilogue_of(call);
  const bool is_pair = epilogue.other >= 0;
  std::vector<const Shape*> operands = {call.input(0).shape};
  for (const int operand : {epilogue.other, epilogue.factor}) {
    if (operand >= 0) operands.push_back(call.input(static_cast<std::size_t>(operand)).shape);
  }
  Broadcast broadcast(*call.output().shape, operands);
  const std::int64_t items = broadcast.items();
  return make_step(
      QuantizedEltwiseParams{std::move(broadcast), epilogue, call.input(0).dtype == DType::s8,
                             is_pair && call.input(1).dtype == DType::s8, &CompiledFor<EltwiseFunctions, isa>::table},
      items, is_pair ? run_pairs : (call.input(0).dtype == DType::s16 ? run_quantized_eltwise_s16 : run_sums));
}

// Nanoseconds per element, measured on 16 KB chunks in L2 of a Xeon of 2.5 GHz.
template <Isa isa>
double quantized_eltwise_cost(const OpCall& call, const Machine&) {
  const auto by_isa = [](double scalar, double avx2, double avx512) { return by_width(isa, {scalar, avx2, avx512}); };
  const StepEpilogue epilogue = *epilogue_of(view_of(call));
  const double per_element = epilogue.other < 0        ? by_isa(3.0, 0.7, 0.4)
                             : is_fixed_pair(epilogue) ? by_isa(6.0, 1.2, 0.7)
                                                       : by_isa(4.0, 0.25, 0.15) * (epilogue.table >= 0 ? 3.0 : 1.0);
  return 100.0 + static_cast<double>(call.outputs[0].shape.elements()) * per_element;
}

int quantized_eltwise_in_place_input(const OpCall& call) {
  const Shape& result = call.outputs[0].shape;
  const auto epilogue = epilogue_of(view_of(call));
  if (!epilogue || epilogue->other < 0) return -1;
  if (call.inputs[0]->shape == result) return 0;
  return call.inputs[1]->shape == result ? 1 : -1;
}

template <Isa isa>
constexpr KernelChoice quantized_eltwise_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "quantized_elementwise",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_quantized_eltwise<isa>, make_quantized_eltwise<isa>>(),
                   .in_place_input = quantized_eltwise_in_place_input},
          .refusal = refusal_by<refuse_quantized_eltwise<isa>>,
          .cost = quantized_eltwise_cost<isa>};
}

constexpr KernelChoice kQuantizedEltwiseChoices[] = {
    quantized_eltwise_kernel<Isa::scalar>("eltwise_q8_portable"),
    quantized_eltwise_kernel<Isa::avx2>("eltwise_q8_avx2"),
    quantized_eltwise_kernel<Isa::avx512>("eltwise_q8_avx512"),
    quantized_eltwise_kernel<Isa::neon>("eltwise_q8_neon"),
};
constexpr auto kQuantizedEltwiseCodes = codes_of(kQuantizedEltwiseChoices);

}  // namespace

std::span<const KernelCode> quantized_eltwise_codes() { return kQuantizedEltwiseCodes; }
std::span<const KernelChoice> quantized_eltwise_choices() { return kQuantizedEltwiseChoices; }

}  // namespace octavo
