// Candidates, legality, cost: the choice of one kernel. Part of planner/.
#include "planner/select.h"

#include <algorithm>
#include <cmath>

namespace octavo {
namespace {

constexpr std::string_view kAnyOperator = "*";

bool is_reference(const KernelChoice& kernel) { return kernel.code.op == kAnyOperator; }

bool is_scalar_only(const Machine& machine) { return machine.isa == IsaSet{}; }

// Why the kernel may not be considered at all, or empty.
std::string illegal(const KernelChoice& kernel, const OpCall& call, const Machine& machine,
                    const SelectOptions& options) {
  if (is_scalar_only(machine) && !is_reference(kernel)) return "a scalar-only machine runs the reference";
  if (options.needs_exact && !kernel.is_exact) return "does not give the reference's bits";
  if (!machine.isa.has(kernel.code.needs)) return "needs " + std::string(name_of(kernel.code.needs));
  if (is_reference(kernel) && !is_scalar_only(machine) && !options.allow_reference)
    return "the scalar reference has to be allowed";
  return kernel.refusal == nullptr ? "" : kernel.refusal(call);
}

// A kernel that can take the call, in the best of its ways.
struct Legal {
  const KernelChoice* kernel = nullptr;
  std::vector<std::byte> schedule;
  double ns = 0.0;
  bool is_asked = false;  // for a measurement
  bool is_measured = false;
};

// The reference is taken only where nothing else can.
bool is_better(const Legal& a, const Legal& b) {
  if (is_reference(*a.kernel) != is_reference(*b.kernel)) return is_reference(*b.kernel);
  return a.ns != b.ns ? a.ns < b.ns : a.kernel->code.name < b.kernel->code.name;
}

// Sorts the candidates, measured where that can change which is first. A choice without an alternative is not measured.
void rank(std::vector<Legal>& legal, const OpCall& call, const MeasuredCost& measured) {
  constexpr double kNear = 2.0;
  constexpr double kNoise = 0.03;
  std::sort(legal.begin(), legal.end(), is_better);
  if (!measured || legal.size() < 2 || is_reference(*legal[1].kernel)) return;
  const double near_ns = kNear * legal[0].ns;
  const KernelChoice* predicted = legal[0].kernel;
  const auto ask = [&](Legal& candidate, Prospect prospect) {
    candidate.is_asked = prospect == Prospect::near;
    if (const auto ns = measured(*candidate.kernel, call, prospect)) candidate.ns = *ns, candidate.is_measured = true;
  };
  for (Legal& candidate : legal) {
    if (candidate.ns >= near_ns && !is_reference(*candidate.kernel)) ask(candidate, Prospect::far);
  }
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (Legal& candidate : legal) {
      if (candidate.is_asked || candidate.is_measured || is_reference(*candidate.kernel) ||
          (candidate.ns >= near_ns && &candidate != &legal[0]))
        continue;
      ask(candidate, Prospect::near);
      is_new = true;
    }
    std::sort(legal.begin(), legal.end(), is_better);
  }
  // A difference that may be noise leaves the prediction as it is.
  const auto it =
      std::find_if(legal.begin(), legal.end(), [&](const Legal& candidate) { return candidate.kernel == predicted; });
  if (it->is_measured && (1.0 - kNoise) * it->ns <= legal[0].ns) std::rotate(legal.begin(), it, it + 1);
}

std::string rounded(double ns) { return std::isfinite(ns) ? std::to_string(std::llround(ns)) : "unknown"; }

Error no_kernel(const OpCall& call, const Machine& machine, const std::vector<std::string>& refusals) {
  std::string list;
  for (const std::string& refusal : refusals) list += (list.empty() ? "" : "; ") + refusal;
  return {.kind = ErrorKind::unsupported,
          .found = "no kernel for " + std::string(call.spec->name) + " on " + machine.isa.to_string(),
          .expected = "one of those to take it: " + (list.empty() ? "there are none for this operator" : list),
          .hint = "The scalar reference can stand in where it is allowed (--allow-reference)"};
}

}  // namespace

Candidate best_candidate(const KernelChoice& kernel, const OpCall& call, const Machine& machine) {
  std::vector<Candidate> candidates;
  if (kernel.candidates != nullptr) candidates = kernel.candidates(call, machine);
  else candidates.push_back({.ns = kernel.cost == nullptr ? HUGE_VAL : kernel.cost(call, machine)});
  for (Candidate& candidate : candidates) {
    if (std::isnan(candidate.ns)) candidate.ns = HUGE_VAL;
  }
  const auto is_faster = [](const Candidate& a, const Candidate& b) { return a.ns < b.ns; };
  return std::move(*std::min_element(candidates.begin(), candidates.end(), is_faster));
}

Result<Choice> choose(const OpCall& call, const Machine& machine, const SelectOptions& options,
                      std::span<const KernelChoice* const> kernels) {
  Choice choice;
  std::vector<Legal> legal;
  for (const KernelChoice* kernel : kernels) {
    if (!is_reference(*kernel) && kernel->code.op != call.spec->name) continue;
    const std::string reason = illegal(*kernel, call, machine, options);
    if (!reason.empty()) {
      choice.refusals.push_back(std::string(kernel->code.name) + ": " + reason);
      continue;
    }
    Candidate best = best_candidate(*kernel, call, machine);
    legal.push_back({kernel, std::move(best.schedule), best.ns});
  }
  rank(legal, call, options.measured);
  for (std::size_t i = 1; i < legal.size(); ++i) {
    choice.refusals.push_back(std::string(legal[i].kernel->code.name) +
                              (legal[i].is_measured ? ": measured " : ": predicted ") + rounded(legal[i].ns) +
                              " ns, the choice " + rounded(legal[0].ns) + " ns");
  }
  std::sort(choice.refusals.begin(), choice.refusals.end());
  if (legal.empty()) return no_kernel(call, machine, choice.refusals);
  choice.kernel = legal[0].kernel;
  choice.schedule = std::move(legal[0].schedule);
  choice.predicted_ns = std::isfinite(legal[0].ns) ? legal[0].ns : 0.0;
  return choice;
}

}  // namespace octavo
