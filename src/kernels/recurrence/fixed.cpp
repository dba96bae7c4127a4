// fixed_lstm: sequences one by one, which are shared out to threads. Part of kernels/.
#include "kernels/call.h"
#include "kernels/recurrence/recurrence.h"
#include "ops/fixed_lstm/fixed_lstm.h"

namespace octavo {
namespace {

struct Params {
  FixedLstmAttrs attrs;
  FixedLstmCall call;
  std::vector<bool> has;  // which inputs there are
};

template <class T>
const T* operand(const Params& p, const StepBuffers& buffers, std::size_t input) {
  return p.has[input] ? reinterpret_cast<const T*>(buffers.inputs[input]) : nullptr;
}

void run(const Params& p, const StepBuffers& buffers, ItemRange sequences) {
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

std::string refuse(const CallView&) { return ""; }

Result<std::unique_ptr<Step>> make(const CallView& call, const StepSpec&) {
  Params p{.attrs = call.attrs->as<FixedLstmAttrs>(),
           .call = FixedLstmCall::sizes_of(*call.input(kFixedLstmX).shape, *call.input(kFixedLstmW).shape,
                                           *call.input(kFixedLstmR).shape)};
  for (std::size_t i = 0; i <= kFixedLstmC; ++i) p.has.push_back(call.input(i).exists());
  const std::int64_t sequences = p.call.batch;
  const std::size_t scratch = p.call.scratch_bytes();
  return make_step(std::move(p), sequences, run, scratch);
}

// Nanoseconds: an estimate by products and by functions of gates.
double cost(const OpCall& call, const Machine&) {
  const double rows = static_cast<double>(call.outputs[0].shape.elements(0, 2).example());
  const double products = static_cast<double>(call.inputs[kFixedLstmW]->shape.elements().example() +
                                              call.inputs[kFixedLstmR]->shape.elements().example());
  const double gates = static_cast<double>(call.inputs[kFixedLstmBias]->shape.elements().example());
  return 500.0 + rows * (0.1 * products + 30.0 * gates);
}

constexpr KernelChoice kChoices[] = {
    {.code = {.name = "fixed_lstm_s8_portable", .op = "fixed_lstm", .prepare = prepare_by<refuse, make>},
     .refusal = refusal_by<refuse>,
     .cost = cost},
};
constexpr auto kCodes = codes_of(kChoices);

}  // namespace

std::span<const KernelCode> fixed_lstm_codes() { return kCodes; }
std::span<const KernelChoice> fixed_lstm_choices() { return kChoices; }

}  // namespace octavo
