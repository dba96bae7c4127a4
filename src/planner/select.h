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

struct SelectOptions {
  bool needs_exact =
      true;  // only kernels with the reference's bits: everything but a plan in fp32, and nodes kept in f32 by choice
  bool allow_reference =
      false;  // the scalar reference may stand in where nothing else can; implied by a machine that is scalar only
  MeasuredCost measured;  // may be empty
};

struct Choice {
  const KernelChoice* kernel = nullptr;
  std::vector<std::byte> schedule;  // which of the kernel's ways
  double predicted_ns = 0.0;
  std::vector<std::string>
      refusals;  // "kernel: why not", of every candidate of this operator that was not taken, sorted
};

// The kernel's candidate that is predicted to be the fastest; never one of NaN.
Candidate best_candidate(const KernelChoice& kernel, const OpCall& call, const Machine& machine);

// Legality first (instruction sets, then the kernel's own refusal), then the lowest cost; equal costs go to the name
// that sorts first. The answer does not depend on the order of `kernels`. A scalar-only machine takes the reference for
// everything. Error: unsupported, with every refusal; `where` is left to the caller.
Result<Choice> choose(const OpCall& call, const Machine& machine, const SelectOptions& options,
                      std::span<const KernelChoice* const> kernels = all_choices());

}  // namespace octavo

#endif  // OCTAVO_PLANNER_SELECT_H_
