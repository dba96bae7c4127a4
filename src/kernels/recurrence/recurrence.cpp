// recurrence: a round for each step; in it, blocks of units, each for up to kCellRows sequences at a time, are shared
// out to threads, so that a thread's weights stay in its caches from step to step. Part of kernels/.
#include "kernels/recurrence/recurrence.h"

#include <algorithm>

#include "kernels/call.h"
#include "ops/recurrence/recurrence.h"

namespace octavo {
namespace {

// Whole vectors on all instruction sets, and lines of whole cache lines.
constexpr std::int64_t kBlockUnits = 32;

std::int64_t units_of_block(const Cell& cell) {
  return cell.has_blocks() ? std::min(kBlockUnits, cell.hidden) : cell.hidden;
}

struct RecurrenceParams {
  Cell cell;
  Sequences sequences;
  // Of every input: its values where it was packed; where there is none, null, and a run does not look.
  const std::byte* packed[kRecurrenceInputs] = {};
  bool is_read[kRecurrenceInputs] = {};
  std::int64_t block_units = 0, unit_blocks = 0, sequence_blocks = 0;
  StepCell step = nullptr;

  bool has_panels() const { return packed[kRecurrenceW] != nullptr; }
};

// Blocks of the same units follow one another.
CellBlock block_of(const RecurrenceParams& p, const float* w, std::int64_t item) {
  const std::int64_t unit_block = item / p.sequence_blocks, sequence = item % p.sequence_blocks * kCellRows;
  const std::int64_t gates = gates_of(p.cell.kind), first = unit_block * p.block_units;
  const bool has_panels = p.has_panels();
  return {.first_sequence = sequence,
          .count = static_cast<int>(std::min<std::int64_t>(kCellRows, p.sequences.batch - sequence)),
          .first_unit = first,
          .units = std::min(p.block_units, p.cell.hidden - first),
          .w = w + (has_panels ? unit_block * p.cell.hidden * gates * p.block_units : first),
          .w_stride = gates * (has_panels ? p.block_units : p.cell.hidden),
          .gate_stride = has_panels ? p.block_units : p.cell.hidden};
}

void run_recurrence(const RecurrenceParams& p, const StepBuffers& buffers, ItemRange blocks) {
  const auto input = [&](std::size_t i) { return p.is_read[i] ? buffers.inputs[i] : p.packed[i]; };
  const auto floats = [&](std::size_t i) { return reinterpret_cast<const float*>(input(i)); };
  Cell cell = p.cell;
  cell.bias = floats(kRecurrenceBias), cell.peepholes = floats(kRecurrencePeepholes);
  Sequences all = p.sequences;
  all.x = floats(kRecurrenceX), all.h = floats(kRecurrenceH), all.c = floats(kRecurrenceC);
  all.lengths = reinterpret_cast<const std::int32_t*>(input(kRecurrenceLengths));
  all.y = reinterpret_cast<float*>(buffers.outputs[0]), all.last = reinterpret_cast<float*>(buffers.outputs[1]);
  for (std::int64_t item = blocks.begin; item < blocks.end; ++item)
    run_block(cell, all, block_of(p, floats(kRecurrenceW), item), buffers.round,
              reinterpret_cast<float*>(buffers.scratch), p.step);
}

class RecurrenceStep final : public Step {
 public:
  explicit RecurrenceStep(RecurrenceParams params) : params_(params) {}
  std::int64_t items() const override {
    return std::max<std::int64_t>(1, params_.unit_blocks * params_.sequence_blocks);
  }
  std::int64_t rounds() const override { return params_.sequences.rounds(); }
  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(block_scratch(params_.block_units)) * sizeof(float);
  }
  void run(const StepBuffers& buffers, ItemRange range) const noexcept override {
    if (params_.sequence_blocks > 0) run_recurrence(params_, buffers, range);
  }

 private:
  RecurrenceParams params_;
};

std::string refuse_recurrence(const CallView&) { return ""; }

RecurrenceParams recurrence_params_of(const CallView& call, StepCell step) {
  const auto& attrs = call.attrs->as<RecurrenceAttrs>();
  const Shape& x = *call.input(kRecurrenceX).shape;
  RecurrenceParams p{.cell = cell_of(attrs, (*call.input(kRecurrenceW).shape)[0]),
                     .sequences = {.steps = x[0], .batch = x[1], .is_backward = attrs.is_backward},
                     .step = step};
  p.block_units = units_of_block(p.cell);
  p.unit_blocks = (p.cell.hidden + p.block_units - 1) / p.block_units;
  p.sequence_blocks = (p.sequences.batch + kCellRows - 1) / kCellRows;
  for (std::size_t i = 0; i < kRecurrenceInputs; ++i) p.is_read[i] = call.input(i).exists();
  return p;
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_recurrence(const CallView& call, const StepSpec&) {
  return std::unique_ptr<Step>(std::make_unique<RecurrenceStep>(recurrence_params_of(call, step_cell_on<isa>)));
}

// ---- constant weights ----

// Elements that are packed of an input.
std::int64_t recurrence_packed_elements(const RecurrenceParams& p, const CallView& call, std::size_t input) {
  if (input != kRecurrenceW) return call.input(input).elements();
  return p.unit_blocks * p.block_units * p.cell.hidden * gates_of(p.cell.kind);
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_packed(const CallView& call, const StepSpec& spec) {
  RecurrenceParams p = recurrence_params_of(call, step_cell_on<isa>);
  for (std::size_t i = 0; i < kRecurrenceInputs; ++i) {
    if (!p.is_read[i] || (i != kRecurrenceW && is_read_in_run(spec, i))) continue;
    if (is_read_in_run(spec, i) || i == kRecurrenceX ||
        !is_packed_as(spec, i, call.input(i).dtype, recurrence_packed_elements(p, call, i)))
      return not_as_packed(spec);
    p.packed[i] = spec.packed[i].data;
    p.is_read[i] = false;
  }
  return std::unique_ptr<Step>(std::make_unique<RecurrenceStep>(p));
}

std::string refusal_of_packed(const OpCall& call) {
  if (!call.inputs[kRecurrenceW]->is_constant()) return "needs constant weights";
  return call.inputs[kRecurrenceX]->is_constant() ? "needs a variable x" : "";
}

// A tensor for each input, empty where a run reads it. Weights become [block of units][hidden][gate][unit], with zeros
// behind the last unit.
std::vector<Tensor> pack_recurrence(const OpCall& call) {
  const RecurrenceParams p = recurrence_params_of(view_of(call), nullptr);
  const Tensor& w = *call.inputs[kRecurrenceW]->constant;
  const std::int64_t hidden = p.cell.hidden, gates = gates_of(p.cell.kind);
  std::vector<Tensor> packed;
  for (std::size_t i = 0; i < kRecurrenceInputs; ++i) {
    const bool is_constant = i < call.inputs.size() && call.inputs[i] != nullptr && call.inputs[i]->is_constant();
    packed.push_back(is_constant ? *call.inputs[i]->constant : Tensor(DType::u8, Shape{0}));
  }
  Tensor panels(DType::f32, Shape{p.unit_blocks * p.block_units * hidden * gates});
  std::fill_n(panels.as<float>(), panels.elements(), 0.0f);
  for (std::int64_t unit = 0; unit < hidden; ++unit) {
    float* const panel = panels.as<float>() + unit / p.block_units * hidden * gates * p.block_units;
    for (std::int64_t k = 0; k < hidden; ++k) {
      for (std::int64_t gate = 0; gate < gates; ++gate)
        panel[(k * gates + gate) * p.block_units + unit % p.block_units] =
            w.as<float>()[(k * gates + gate) * hidden + unit];
    }
  }
  packed[kRecurrenceW] = std::move(panels);
  return packed;
}

// Nanoseconds, by products and by activations.
template <int kPicosecondsPerProduct, int kPicosecondsPerGate>
double recurrence_cost(const OpCall& call, const Machine&) {
  const auto gates = static_cast<double>(call.inputs[kRecurrenceX]->shape.elements());
  const auto hidden = static_cast<double>(call.inputs[kRecurrenceW]->shape[0].example());
  return 500.0 + gates * (kPicosecondsPerProduct * hidden + kPicosecondsPerGate) / 1000.0;
}

template <Isa isa, int kPicosecondsPerProduct, int kPicosecondsPerGate>
constexpr KernelChoice recurrence_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "recurrence",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_recurrence, make_recurrence<isa>>()},
          .refusal = refusal_by<refuse_recurrence>,
          .cost = recurrence_cost<kPicosecondsPerProduct, kPicosecondsPerGate>};
}

template <Isa isa, int kPicosecondsPerProduct, int kPicosecondsPerGate>
constexpr KernelChoice packed_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "recurrence",
                   .needs = isa,
                   .packs = true,
                   .prepare = prepare_on<isa, refuse_recurrence, make_packed<isa>>()},
          .refusal = refusal_of_packed,
          .cost = recurrence_cost<kPicosecondsPerProduct, kPicosecondsPerGate>,
          .pack = pack_recurrence,
          .packed_layout = same_layout};
}

constexpr KernelChoice kRecurrenceChoices[] = {
    recurrence_kernel<Isa::scalar, 500, 15000>("recurrence_f32_portable"),
    recurrence_kernel<Isa::avx2, 60, 1500>("recurrence_f32_avx2"),
    recurrence_kernel<Isa::avx512, 45, 800>("recurrence_f32_avx512"),
    recurrence_kernel<Isa::neon, 120, 3000>("recurrence_f32_neon"),
    packed_kernel<Isa::scalar, 450, 15000>("recurrence_f32_portable_packed"),
    packed_kernel<Isa::avx2, 50, 1500>("recurrence_f32_avx2_packed"),
    packed_kernel<Isa::avx512, 40, 800>("recurrence_f32_avx512_packed"),
    packed_kernel<Isa::neon, 100, 3000>("recurrence_f32_neon_packed"),
};
constexpr auto kRecurrenceCodes = codes_of(kRecurrenceChoices);

}  // namespace

std::span<const KernelCode> recurrence_codes() { return kRecurrenceCodes; }
std::span<const KernelChoice> recurrence_choices() { return kRecurrenceChoices; }

}  // namespace octavo
