// fixed_lstm: sequences one by one, which are shared out to threads. Part of kernels/.
#include "kernels/call.h"
#include "kernels/recurrence/recurrence.h"
#include "ops/fixed_lstm/fixed_lstm.h"

namespace octavo {
namespace {

struct FixedRecurrenceParams {
  FixedLstmAttrs attrs;
  FixedLstmCall call;
  std::vector<bool> has;  // which inputs there are
};

template <class T>
const T* operand(const FixedRecurrenceParams& p, const StepBuffers& buffers, std::size_t input) {
  return p.has[input] ? reinterpret_cast<const T*>(buffers.inputs[input]) : nullptr;
}

void run_fixed_recurrence(const FixedRecurrenceParams& p, const StepBuffers& buffers, ItemRange sequences) {
  FixedLstmCall call = p.call;
  call.x = operand<std::int8_t>(p, buffers, kFixedLstmX), call.w = operand<std::int8_t>(p, buffers, kFixedLstmW);
  call.r = operand<std::int8_t>(p, buffers, kFixedLstmR), call.bias = operand<std::int32_t>(p, buffers, kFixedLstmBias);
  call.projection = operand<std::int8_t>(p, buffers, kFixedLstmProjection);
  call.projection_bias = operand<std::int32_t>(p, buffers, kFixedLstmProjectionBias);
  call.h = operand<std::int8_t>(p, buffers, kFixedLstmH), call.c = operand<std::int16_t>(p, buffers, kFixedLstmC);
  call.y = reinterpret_cast<std::int8_t*>(buffers.outputs[0]);
  for (std::int64_t b = sequences.begin; b < sequences.end; ++b)
    run_fixed_lstm(p.attrs, call, b, static_cast<std::byte*>(buffers.scratch));
}

std::string refuse_fixed_recurrence(const CallView&) { return ""; }

Result<std::unique_ptr<Step>> make_fixed_recurrence(const CallView& call, const StepSpec&) {
  FixedRecurrenceParams p{
      .attrs = call.attrs->as<FixedLstmAttrs>(),
      .call = FixedLstmCall::sizes_of(*call.input(kFixedLstmX).shape, *call.input(kFixedLstmW).shape,
                                      *call.input(kFixedLstmR).shape)};
  for (std::size_t i = 0; i <= kFixedLstmC; ++i) p.has.push_back(call.input(i).exists());
  const std::int64_t sequences = p.call.batch;
  const std::size_t scratch = p.call.scratch_bytes();
  return make_step(std::move(p), sequences, run_fixed_recurrence, scratch);
}

// Nanoseconds: an estimate by products and by functions of gates.
double fixed_recurrence_cost(const OpCall& call, const Machine&) {
  const double rows = static_cast<double>(call.outputs[0].shape.elements(0, 2).example());
  const double products = static_cast<double>(call.inputs[kFixedLstmW]->shape.elements().example() +
                                              call.inputs[kFixedLstmR]->shape.elements().example());
  const double gates = static_cast<double>(call.inputs[kFixedLstmBias]->shape.elements().example());
  return 500.0 + rows * (0.1 * products + 30.0 * gates);
}

constexpr KernelChoice kFixedRecurrenceChoices[] = {
    {.code = {.name = "fixed_lstm_s8_portable",
              .op = "fixed_lstm",
              .prepare = prepare_by<refuse_fixed_recurrence, make_fixed_recurrence>},
     .refusal = refusal_by<refuse_fixed_recurrence>,
     .cost = fixed_recurrence_cost},
};
constexpr auto kFixedRecurrenceCodes = codes_of(kFixedRecurrenceChoices);

}  // namespace

std::span<const KernelCode> fixed_lstm_codes() { return kFixedRecurrenceCodes; }
std::span<const KernelChoice> fixed_lstm_choices() { return kFixedRecurrenceChoices; }

}  // namespace octavo
