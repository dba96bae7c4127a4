// What the kernels of this folder share above the contract: one view of a call at compile time and at load time, steps
// made of plain parameters, and the cutting of work into items. Part of kernels/.
#ifndef OCTAVO_KERNELS_CALL_H_
#define OCTAVO_KERNELS_CALL_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel.h"

namespace octavo {

// An operand's type; shape is null where the operand is left out.
struct OperandType {
  DType dtype = DType::f32;
  const Shape* shape = nullptr;

  bool exists() const { return shape != nullptr; }
  std::int64_t elements() const { return exists() ? shape->elements() : 0; }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(dtype); }
};

// A call as `refusal` (compile time) and `prepare` (load time) both see it, so that one check serves both:
// an artifact may be hostile and ask a kernel for what it refuses.
struct CallView {
  const Attrs* attrs = nullptr;
  std::vector<OperandType> inputs;
  std::vector<OperandType> outputs;
  std::shared_ptr<const std::vector<Shape>> shapes;  // of a call's facts, as numbers: what operands point to

  // Absent beyond the end.
  OperandType input(std::size_t i) const { return i < inputs.size() ? inputs[i] : OperandType{}; }
  const OperandType& output() const { return outputs[0]; }
  // All operands.
  double bytes() const;
};
CallView view_of(const OpCall& call);
CallView view_of(const StepSpec& spec);

// A choice's refusal and its code's prepare from one check and one maker.
using Refuse = std::string (*)(const CallView& call);
template <Refuse refuse>
std::string refusal_by(const OpCall& call) {
  return refuse(view_of(call));
}
Error refused_at_load(const StepSpec& spec, const std::string& reason);
using MakeStep = Result<std::unique_ptr<Step>> (*)(const CallView& call, const StepSpec& spec);
Result<std::unique_ptr<Step>> prepare_checked(const StepSpec& spec, Refuse refuse, MakeStep make);
template <Refuse refuse, MakeStep make>
Result<std::unique_ptr<Step>> prepare_by(const StepSpec& spec) {
  return prepare_checked(spec, refuse, make);
}

// Whether processors of the kind that this program is for have the instruction set; those of devices any may.
constexpr bool is_of_this_processor(Isa isa) {
#ifdef __aarch64__
  constexpr bool is_arm64 = true;
#else
  constexpr bool is_arm64 = false;
#endif
  if (isa == Isa::neon || isa == Isa::dotprod || isa == Isa::i8mm) return is_arm64;
  return !is_arm64 || isa == Isa::scalar || isa == Isa::cuda || isa == Isa::tf32;
}
Result<std::unique_ptr<Step>> refuse_other_processor(const StepSpec& spec);
// The code of a kernel that needs `isa`; where no processor of this kind has it, nothing of it is in the program.
template <Isa isa, Refuse refuse, MakeStep make>
constexpr auto prepare_on() {
  if constexpr (is_of_this_processor(isa)) return &prepare_by<refuse, make>;
  else return &refuse_other_processor;
}

// ---- kernels that pack ----
// An artifact may name a packing kernel and lie about what was packed, so `prepare` checks with these whatever `run`
// reads.

// At compile time: input i as a tensor of the same type, or an empty one where it is left out: what a kernel keeps as
// it is.
Tensor constant_or_empty(const OpCall& call, std::size_t i);
// False where a file claims that the kernel packed input i, so that a run would pass no pointer.
bool is_read_in_run(const StepSpec& spec, std::size_t i);
// True where there is a packed tensor i of this type and element count.
bool is_packed_as(const StepSpec& spec, std::size_t i, DType dtype, std::int64_t elements);
Error not_as_packed(const StepSpec& spec);

// A step that is a plain struct of parameters and a function of it. `schedule`: of kernels with knobs.
template <class Params>
class ParamsStep final : public Step {
 public:
  using Run = void (*)(const Params& params, const StepBuffers& buffers, ItemRange range);
  ParamsStep(Params params, std::int64_t items, Run function, std::size_t scratch, std::vector<std::byte> schedule)
      : params_(std::move(params)),
        items_(items),
        function_(function),
        scratch_bytes_(scratch),
        schedule_(std::move(schedule)) {}
  // There is always one to run; of an empty tensor it does nothing.
  std::int64_t items() const override { return std::max<std::int64_t>(items_, 1); }
  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  void run(const StepBuffers& buffers, ItemRange range) const noexcept override {
    range.end = std::min(range.end, items_);
    if (range.begin < range.end) function_(params_, buffers, range);
  }
  std::vector<std::byte> schedule() const override { return schedule_; }

 private:
  Params params_;
  std::int64_t items_;
  Run function_;
  std::size_t scratch_bytes_;
  std::vector<std::byte> schedule_;
};

template <class Params>
std::unique_ptr<Step> make_step(Params params, std::int64_t items, typename ParamsStep<Params>::Run run,
                                std::size_t scratch_bytes = 0, std::vector<std::byte> schedule = {}) {
  return std::make_unique<ParamsStep<Params>>(std::move(params), items, run, scratch_bytes, std::move(schedule));
}

// Enough for a thread to be worth waking.
inline constexpr std::int64_t kChunkBytes = 16 * 1024;
// `units` of work in chunks: one where all of it is not more than kChunkBytes, else so many that threads differ little
// by one more or less.
struct Chunks {
  std::int64_t units = 0;
  std::int64_t chunk = 1;

  static Chunks of(std::int64_t units, std::int64_t bytes_per_unit) {
    constexpr std::int64_t kChunks = 64;
    const bool is_small = bytes_per_unit <= 0 || units <= kChunkBytes / bytes_per_unit;
    return {units, std::max<std::int64_t>(1, is_small ? units : units / kChunks)};
  }
  std::int64_t items() const { return (units + chunk - 1) / chunk; }
  // The units of these items.
  ItemRange units_of(ItemRange items_range) const {
    return {std::min(units, items_range.begin * chunk), std::min(units, items_range.end * chunk)};
  }
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CALL_H_
