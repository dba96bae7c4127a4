// KernelCode: what runs of one way to compute one operator on one instruction set. The contract between kernels/ and
// run/; what chooses between kernels is a KernelChoice (kernels/choice.h). Part of kernels/.
//
// The life of a kernel: planner/ asks a choice's `refusal` and `cost` (compile time, any machine) and calls `pack` once
// (compile time, host); run/ calls `prepare` when a model is loaded (JIT code is emitted here) and from then on only
// Step::run.
#ifndef OCTAVO_KERNELS_KERNEL_H_
#define OCTAVO_KERNELS_KERNEL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine.h"
#include "base/result.h"
#include "base/tensor.h"
#include "graph/op.h"

namespace octavo {

// One use of an operator, by what is known of its operands. Inputs that are left out are nullptr.
struct OpCall {
  const OpSpec* spec = nullptr;
  const Attrs* attrs = nullptr;
  std::vector<const Fact*> inputs;
  std::vector<Fact> outputs;
};

// An input or output of a step, as run/ sees it. All tensors are dense and row-major.
struct StepOperand {
  bool is_present = true;
  DType dtype = DType::f32;
  Shape shape;
  // Constant inputs of kernels that do not pack; null for values known only in a run and for constants that were
  // packed.
  const std::byte* constant = nullptr;
  // The values were packed: a run passes no pointer.
  bool is_packed = false;
  // Aligned to kAlignment and followed by kReadSlack readable bytes: the arena and constants, not the caller's tensors.
  bool is_padded = true;
};

// One step of a plan at load time. Types and shapes have been checked by the operator's infer; the sizes of `packed`
// have not: prepare must check dtype and shape of each before it trusts them, and whatever else the choice's `refusal`
// guards, since files may be hostile.
struct StepSpec {
  const OpSpec* spec = nullptr;
  const Attrs* attrs = nullptr;
  std::vector<StepOperand> inputs;
  std::vector<StepOperand> outputs;
  std::vector<ConstTensorView> packed;  // what the choice's `pack` made; lives as long as the step
  std::span<const std::byte> schedule;  // PlanStep::schedule; empty unless the code has knobs
  int threads = 1;
  MachineSpeeds speeds;  // of the machine that the plan was made for; usable
};

// Where the calls of a step say that they could not finish; the threads that share a step share one.
class StepFailure {
 public:
  // `reason` is static text: what was lacking. Of several failures the first counts.
  void set(const char* reason) noexcept {
    const char* none = nullptr;
    reason_.compare_exchange_strong(none, reason, std::memory_order_relaxed);
  }
  // The reason, or nullptr where every call has finished; afterwards it is as new.
  const char* take() noexcept {
    return reason_.load(std::memory_order_relaxed) == nullptr ? nullptr
                                                              : reason_.exchange(nullptr, std::memory_order_relaxed);
  }

 private:
  std::atomic<const char*> reason_{nullptr};
};

// The buffers of one call. Pointers of absent inputs are null. Buffers of the arena and of constants are aligned to
// kAlignment and may be read kReadSlack bytes past their end; tensors of the caller are aligned to their element and
// end where they end.
struct StepBuffers {
  std::span<const std::byte* const> inputs;
  std::span<std::byte* const> outputs;
  std::byte* scratch = nullptr;  // scratch_bytes() of this thread's own, aligned to kAlignment
  // Null only for steps that cannot fail: all but the reference's and those of libraries.
  StepFailure* failure = nullptr;
  std::int64_t round = 0;  // below rounds()
  // Constants that this thread reads after these items (Step::reads of a later step): worth fetching into its level-2
  // cache meanwhile. May be empty.
  std::span<const std::byte> ahead;
};

// Items [begin, end) of a step's work.
struct ItemRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// A step ready to run. Immutable: many threads and contexts call run at the same time, on disjoint items.
// run never allocates, never asks the operating system, keeps no state, and its results do not depend on how items are
// split. The exceptions are the reference and oneDNN, which allocate: where there is no memory, run tells
// StepBuffers::failure, and what the step should have written is undefined.
class Step {
 public:
  virtual ~Step() = default;
  // Units of work that may run in parallel; the executor gives each thread one contiguous range. At least 1.
  virtual std::int64_t items() const = 0;
  // How often a run goes through all items. A round begins when the one before has ended on all threads, and may read
  // what any item of it wrote; scratch is not kept. At least 1.
  virtual std::int64_t rounds() const { return 1; }
  // Bytes of scratch per thread.
  virtual std::size_t scratch_bytes() const { return 0; }
  virtual void run(const StepBuffers& buffers, ItemRange range) const noexcept = 0;
  // The packed constants that these items read, of which there are many, in the order in which they are read.
  virtual std::span<const std::byte> reads(ItemRange) const { return {}; }
  // Of kernels with knobs: the schedule that it goes by, chosen or given.
  virtual std::vector<std::byte> schedule() const { return {}; }
};

struct KernelCode {
  std::string_view name;  // <family>_<types>_<tile>_<isa>[_variant]; unique; the artifact refers to it
  std::string_view op;    // the operator it computes; "*" for the reference, which computes all
  Isa needs = Isa::scalar;
  // Its steps have their constant inputs in packed form alone.
  bool packs = false;
  // Of the numbers that its schedules are made of (kernels/schedule.h), where there are several ways to go about a
  // call; `prepare` chooses one where StepSpec::schedule is empty, for the threads at hand, and checks it where it is
  // not.
  std::span<const std::string_view> knobs;
  // Error: invalid_input where the spec is not what the choice allows and packs; resource where executable memory is
  // refused.
  Result<std::unique_ptr<Step>> (*prepare)(const StepSpec& spec) = nullptr;
  // The input whose buffer may be the output's buffer too (same element size and shape), or -1. May be null: none.
  // Asked of calls that `prepare` has not seen yet: their attributes are what the operator's `infer` accepts.
  int (*in_place_input)(const OpCall& call) = nullptr;
};

// What libraries behind the kernels keep per thread is allocated here, once per thread, instead of in its first run.
// Changes no setting.
void prepare_thread() noexcept;

// The codes of all families, and of libraries of kernels that this program links. Refers to nothing that chooses.
std::span<const KernelCode* const> all_codes();

// A library of kernels that a program may leave out (onednn/, cuda/).
struct KernelLibrary {
  std::span<const std::span<const KernelCode>> families;
  void (*prepare_thread)() noexcept = nullptr;
};
// The library that a kernel is of by its name, as programs link it ("octavo_onednn", "octavo_cuda"); empty for those of
// kernels/.
std::string_view library_of(std::string_view kernel);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_KERNEL_H_
