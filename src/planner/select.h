// select: which kernel computes a call on a machine, and why the others do not. Part of planner/.
#ifndef OCTAVO_PLANNER_SELECT_H_
#define OCTAVO_PLANNER_SELECT_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/machine.h"
#include "base/result.h"
#include "kernels/choice.h"
#include "planner/choice_list.h"

namespace octavo {

// Whether a kernel may win: `near` are those predicted to take less than twice as long as the best, and whichever is
// best after these are measured.
enum class Prospect : std::uint8_t { near, far };

// Measured nanoseconds of a call on one thread, where they are known or can be found out; they overrule the predicted
// ones. Asked of every kernel that can take a call, where there are several. What is predicted to be best stays so
// unless another is measured to be 3 % faster.
using MeasuredCost =
    std::function<std::optional<double>(const KernelChoice& kernel, const OpCall& call, Prospect prospect)>;

// A way to go about a call that was tuned, with nanoseconds on as many threads as were asked for.
struct TunedWay {
  std::string kernel;
  std::string schedule;  // schedule_text; empty: what the kernel chooses by itself
  double ns = 0.0;
};
// Of a call on so many threads, the fastest first; empty where nothing was tuned.
using TunedWays = std::function<std::vector<TunedWay>(const OpCall& call, int threads)>;

// Whether trials can time a kernel. Where one that they cannot is predicted to be best, what was measured or tuned of
// others says nothing.
inline bool is_timed(const KernelChoice& kernel) { return kernel.code.needs != Isa::tf32; }

struct SelectOptions {
  // Only kernels with the reference's bits: everything but a plan in fp32.
  bool needs_exact = true;
  bool allow_reference =
      false;  // the scalar reference may stand in where nothing else can; implied by a machine that is scalar only
  MeasuredCost measured;  // may be empty
  // May be empty. The first of these ways that the options allow is taken, whatever is predicted or measured.
  TunedWays tuned;
  int threads = 1;  // that will share the call
};

struct Choice {
  const KernelChoice* kernel = nullptr;
  std::vector<std::byte> schedule;  // as PlanStep::schedule
  double predicted_ns = 0.0;
  std::vector<std::string>
      refusals;  // "kernel: why not", of every candidate of this operator that was not taken, sorted
};

// A kernel that can take a call, and one of its ways.
struct Way {
  const KernelChoice* kernel = nullptr;
  std::vector<std::byte> schedule;  // as PlanStep::schedule
  double predicted_ns = 0.0;        // of a whole call on the threads of the options
};

// All that the options allow, kernel by kernel: first that which the kernel chooses by itself, then those of its
// schedules that are worth looking at. Without kernels that are predicted to take over four times as long as the best.
std::vector<Way> all_ways(const OpCall& call, const Machine& machine, const SelectOptions& options,
                          std::span<const KernelChoice* const> kernels = all_choices());

// Legality first (instruction sets, then the kernel's own refusal), then, of a device, its kernels before those of its
// host, then the lowest cost; equal costs go to the name that sorts first. The answer does not depend on the order of
// `kernels`. A scalar-only machine takes the reference for everything. Errors: unsupported, with every refusal;
// invalid_input, where the schedule of a tuned way is none of its kernel or not legal for the call. `where` is left to
// the caller.
Result<Choice> choose(const OpCall& call, const Machine& machine, const SelectOptions& options,
                      std::span<const KernelChoice* const> kernels = all_choices());

// Whether all kernels that a call of this operator may get give the same bits, so that any of them may stand for the
// one that would be chosen.
bool give_same_bits(const OpSpec& spec, const SelectOptions& options,
                    std::span<const KernelChoice* const> kernels = all_choices());

// That kernel, which was chosen for a call like this one; nothing where it cannot take this one. Others are not asked,
// and none has a refusal.
std::optional<Choice> choose_alike(const KernelChoice& kernel, const OpCall& call, const Machine& machine,
                                   const SelectOptions& options);

}  // namespace octavo

#endif  // OCTAVO_PLANNER_SELECT_H_
