// full_lstm: sequences one by one, which are shared out to threads. Part of kernels/.
#include "kernels/call.h"
#include "kernels/recurrence/recurrence.h"
#include "ops/full_lstm/full_lstm.h"

namespace octavo {
namespace {

struct FullRecurrenceParams {
  FullLstmAttrs attrs;
  FullLstmCall call;
  std::vector<bool> has;  // which inputs there are
};

void run_full_recurrence(const FullRecurrenceParams& p, const StepBuffers& buffers, ItemRange sequences) {
  FullLstmCall call = p.call;
  for (std::size_t input = 0; input < p.has.size(); ++input)
    call.take(input, p.has[input] ? buffers.inputs[input] : nullptr);
  call.y = reinterpret_cast<float*>(buffers.outputs[0]);
  for (std::int64_t b = sequences.begin; b < sequences.end; ++b)
    run_full_lstm(p.attrs, call, b, reinterpret_cast<float*>(buffers.scratch));
}

std::string refuse_full_recurrence(const CallView&) { return ""; }

Result<std::unique_ptr<Step>> make_full_recurrence(const CallView& call, const StepSpec&) {
  FullRecurrenceParams p{.attrs = call.attrs->as<FullLstmAttrs>(),
                         .call = FullLstmCall::sizes_of(*call.input(kFullLstmX).shape, *call.input(kFullLstmW).shape,
                                                        *call.input(kFullLstmR).shape, call.input(kFullLstmW).dtype)};
  for (std::size_t i = 0; i <= kFullLstmC; ++i) p.has.push_back(call.input(i).exists());
  const std::int64_t sequences = p.call.batch;
  const std::size_t scratch = static_cast<std::size_t>(p.call.scratch_floats()) * sizeof(float);
  return make_step(std::move(p), sequences, run_full_recurrence, scratch);
}

// Nanoseconds: an estimate by products and by functions of gates.
double full_recurrence_cost(const OpCall& call, const Machine&) {
  const double rows = static_cast<double>(call.outputs[0].shape.elements(0, 2).example());
  const double products = static_cast<double>(call.inputs[kFullLstmW]->shape.elements().example() +
                                              call.inputs[kFullLstmR]->shape.elements().example());
  const double gates = static_cast<double>(call.inputs[kFullLstmBias]->shape.elements().example());
  return 500.0 + rows * (0.5 * products + 15.0 * gates);
}

constexpr KernelChoice kFullRecurrenceChoices[] = {
    {.code = {.name = "full_lstm_f32_portable",
              .op = "full_lstm",
              .prepare = prepare_by<refuse_full_recurrence, make_full_recurrence>},
     .refusal = refusal_by<refuse_full_recurrence>,
     .cost = full_recurrence_cost},
};
constexpr auto kFullRecurrenceCodes = codes_of(kFullRecurrenceChoices);

}  // namespace

std::span<const KernelCode> full_lstm_codes() { return kFullRecurrenceCodes; }
std::span<const KernelChoice> full_lstm_choices() { return kFullRecurrenceChoices; }

}  // namespace octavo
