// recurrence: sequences in blocks that share their weights; blocks are shared out to threads. Part of kernels/.
#include "kernels/recurrence/recurrence.h"

#include <algorithm>

#include "kernels/call.h"
#include "ops/recurrence/recurrence.h"

namespace octavo {
namespace {

struct Params {
  Cell cell;
  Sequences sequences;
  std::vector<bool> has;  // which inputs there are
  StepCell step = nullptr;
};

void run(const Params& p, const StepBuffers& buffers, ItemRange blocks) {
  const auto input = [&](std::size_t i) { return p.has[i] ? buffers.inputs[i] : nullptr; };
  const auto floats = [&](std::size_t i) { return reinterpret_cast<const float*>(input(i)); };
  Cell cell = p.cell;
  cell.w = floats(kRecurrenceW), cell.bias = floats(kRecurrenceBias), cell.peepholes = floats(kRecurrencePeepholes);
  Sequences all = p.sequences;
  all.x = floats(kRecurrenceX), all.h = floats(kRecurrenceH), all.c = floats(kRecurrenceC);
  all.lengths = reinterpret_cast<const std::int32_t*>(input(kRecurrenceLengths));
  all.y = reinterpret_cast<float*>(buffers.outputs[0]), all.last = reinterpret_cast<float*>(buffers.outputs[1]);
  for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
    const std::int64_t first = block * kCellRows;
    const auto count = static_cast<int>(std::min<std::int64_t>(kCellRows, all.batch - first));
    run_sequences(cell, all, first, count, reinterpret_cast<float*>(buffers.scratch), p.step);
  }
}

std::string refuse(const CallView&) { return ""; }

template <StepCell step>
Result<std::unique_ptr<Step>> make(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<RecurrenceAttrs>();
  const Shape& x = *call.input(kRecurrenceX).shape;
  Params p{.cell = cell_of(attrs, (*call.input(kRecurrenceW).shape)[0]),
           .sequences = {.steps = x[0], .batch = x[1], .is_backward = attrs.is_backward},
           .step = step};
  for (std::size_t i = 0; i <= kRecurrenceLengths; ++i) p.has.push_back(call.input(i).exists());
  const std::int64_t blocks = (x[1] + kCellRows - 1) / kCellRows;
  const std::size_t scratch = static_cast<std::size_t>(sequence_scratch(p.cell)) * sizeof(float);
  return make_step(std::move(p), blocks, run, scratch);
}

// Nanoseconds, by products and by activations.
template <int kPicosecondsPerProduct, int kPicosecondsPerGate>
double cost(const OpCall& call, const Machine&) {
  const auto gates = static_cast<double>(call.inputs[kRecurrenceX]->shape.elements());
  const auto hidden = static_cast<double>(call.inputs[kRecurrenceW]->shape[0].example());
  return 500.0 + gates * (kPicosecondsPerProduct * hidden + kPicosecondsPerGate) / 1000.0;
}

template <StepCell step, int kPicosecondsPerProduct, int kPicosecondsPerGate>
constexpr KernelChoice kernel(Isa isa, std::string_view name) {
  return {.code = {.name = name, .op = "recurrence", .needs = isa, .prepare = prepare_by<refuse, make<step>>},
          .refusal = refusal_by<refuse>,
          .cost = cost<kPicosecondsPerProduct, kPicosecondsPerGate>};
}

constexpr KernelChoice kChoices[] = {
    kernel<step_cell_scalar, 500, 15000>(Isa::scalar, "recurrence_f32_portable"),
    kernel<step_cell_avx2, 60, 1500>(Isa::avx2, "recurrence_f32_avx2"),
    kernel<step_cell_avx512, 40, 800>(Isa::avx512, "recurrence_f32_avx512"),
    kernel<step_cell_neon, 120, 3000>(Isa::neon, "recurrence_f32_neon"),
};
constexpr auto kCodes = codes_of(kChoices);

}  // namespace

std::span<const KernelCode> recurrence_codes() { return kCodes; }
std::span<const KernelChoice> recurrence_choices() { return kChoices; }

}  // namespace octavo
