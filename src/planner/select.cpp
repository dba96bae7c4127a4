// Candidates, legality, cost: the choice of one kernel. Part of planner/.
#include "planner/select.h"

#include <algorithm>
#include <cmath>

#include "cuda/host_step.h"
#include "kernels/call.h"
#include "kernels/schedule.h"

namespace octavo {
namespace {

constexpr std::string_view kAnyOperator = "*";

bool is_reference(const KernelChoice& kernel) { return kernel.code.op == kAnyOperator; }

bool is_scalar_only(const Machine& machine) { return machine.isa == IsaSet{}; }

// Of a plan for a device.
bool runs_on_host(const KernelChoice& kernel, const Machine& machine) {
  return is_device(machine) && !is_of_device(kernel.code.needs);
}

bool has_empty_operand(const OpCall& call) {
  const auto is_empty = [](const Fact& fact) { return fact.shape.elements().example() == 0; };
  return std::any_of(call.inputs.begin(), call.inputs.end(),
                     [&](const Fact* input) { return input != nullptr && is_empty(*input); }) ||
         std::any_of(call.outputs.begin(), call.outputs.end(), is_empty);
}

// Of no elements there is nothing to compute fast: the reference says what is made of them.
std::string illegal_of_nothing(const KernelChoice& kernel) {
  return is_reference(kernel) ? "" : "an operand has no elements";
}

// Why the kernel may not be considered at all, or empty.
std::string illegal(const KernelChoice& kernel, const OpCall& call, const Machine& machine,
                    const SelectOptions& options) {
  if (is_scalar_only(machine) && !is_reference(kernel)) return "a scalar-only machine runs the reference";
  if (options.needs_exact && !kernel.is_exact) return "does not give the reference's bits";
  if (!machine.isa.has(kernel.code.needs)) return "needs " + std::string(name_of(kernel.code.needs));
  if (runs_on_host(kernel, machine) && !host_beside(machine)) return "runs on the host";
  if (is_reference(kernel) && !is_scalar_only(machine) && !options.allow_reference)
    return "the scalar reference has to be allowed";
  return kernel.refusal == nullptr ? "" : kernel.refusal(call);
}

// A device's host is taken only where the device has no kernel, the reference only where there is no other.
enum class Rank : std::uint8_t { usual, of_host, reference };

// A kernel that can take the call.
struct Legal {
  const KernelChoice* kernel = nullptr;
  Rank rank = Rank::usual;
  double ns = 0.0;
  bool is_asked = false;  // for a measurement
  bool is_measured = false;
};

bool is_better(const Legal& a, const Legal& b) {
  if (a.rank != b.rank) return a.rank < b.rank;
  return a.ns != b.ns ? a.ns < b.ns : a.kernel->code.name < b.kernel->code.name;
}

// Sorts the candidates, best first as predicted, where measuring can change which is first. A choice without an
// alternative is not measured.
void rank(std::vector<Legal>& legal, const OpCall& call, const MeasuredCost& measured) {
  constexpr double kNear = 2.0;
  constexpr double kNoise = 0.03;
  if (!measured || legal.size() < 2 || legal[1].rank != Rank::usual || !is_timed(*legal[0].kernel)) return;
  const double near_ns = kNear * legal[0].ns;
  const KernelChoice* predicted = legal[0].kernel;
  const auto ask = [&](Legal& candidate, Prospect prospect) {
    candidate.is_asked = prospect == Prospect::near;
    if (const auto ns = measured(*candidate.kernel, call, prospect)) candidate.ns = *ns, candidate.is_measured = true;
  };
  for (Legal& candidate : legal) {
    if (candidate.ns >= near_ns && candidate.rank == Rank::usual) ask(candidate, Prospect::far);
  }
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (Legal& candidate : legal) {
      if (candidate.is_asked || candidate.is_measured || candidate.rank != Rank::usual ||
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

// Of a whole call on one thread; of a device's host with its way there and back.
double predicted_on(const KernelChoice& kernel, const OpCall& call, const Machine& machine) {
  if (kernel.cost == nullptr) return HUGE_VAL;
  if (!runs_on_host(kernel, machine)) return predicted_ns(kernel, call, machine);
  const CallView view = view_of(call);
  double read = 0.0, written = 0.0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i] != nullptr && !call.inputs[i]->is_constant())
      read += static_cast<double>(view.inputs[i].bytes());
  }
  for (const OperandType& output : view.outputs) written += static_cast<double>(output.bytes());
  return predicted_ns(kernel, call, *host_beside(machine)) + cuda::transfer_ns(read, written);
}

Error no_kernel(const OpCall& call, const Machine& machine, const std::vector<std::string>& refusals) {
  std::string list;
  for (const std::string& refusal : refusals) list += (list.empty() ? "" : "; ") + refusal;
  return {.kind = ErrorKind::unsupported,
          .found = "no kernel for " + std::string(call.spec->name) + " on " + machine.isa.to_string(),
          .expected = "one of those to take it: " + (list.empty() ? "there are none for this operator" : list),
          .hint = is_device(machine) && !host_beside(machine)
                      ? "The host can stand in where it is allowed (--allow-host)"
                      : "The scalar reference can stand in where it is allowed (--allow-reference)"};
}

struct Candidates {
  std::vector<Legal> legal;  // the best first, as predicted
  std::vector<std::string> refusals;
};

Rank rank_of(const KernelChoice& kernel, const Machine& machine) {
  if (is_reference(kernel)) return Rank::reference;
  return runs_on_host(kernel, machine) ? Rank::of_host : Rank::usual;
}

Candidates candidates_for(const OpCall& call, const Machine& machine, const SelectOptions& options,
                          std::span<const KernelChoice* const> kernels) {
  Candidates candidates;
  const bool is_empty = has_empty_operand(call);
  for (const KernelChoice* kernel : kernels) {
    if (!is_reference(*kernel) && kernel->code.op != call.spec->name) continue;
    const std::string reason = is_empty ? illegal_of_nothing(*kernel) : illegal(*kernel, call, machine, options);
    if (!reason.empty()) {
      candidates.refusals.push_back(std::string(kernel->code.name) + ": " + reason);
      continue;
    }
    const double ns = predicted_on(*kernel, call, machine);
    candidates.legal.push_back({kernel, rank_of(*kernel, machine), std::isnan(ns) ? HUGE_VAL : ns});
  }
  std::sort(candidates.legal.begin(), candidates.legal.end(), is_better);
  return candidates;
}

struct ChosenWay {
  std::vector<std::byte> schedule;
  double ns = 0.0;
};

// The first tuned way of a legal kernel, which comes to the front; nothing where there is none.
Result<std::optional<ChosenWay>> tuned_way(const OpCall& call, const Machine& machine, const SelectOptions& options,
                                           std::vector<Legal>& legal) {
  if (!options.tuned || legal.empty() || !is_timed(*legal[0].kernel)) return std::optional<ChosenWay>();
  for (const TunedWay& way : options.tuned(call, options.threads)) {
    const auto it = std::find_if(legal.begin(), legal.end(),
                                 [&](const Legal& candidate) { return candidate.kernel->code.name == way.kernel; });
    if (it == legal.end()) continue;
    const KernelChoice& kernel = *it->kernel;
    std::rotate(legal.begin(), it, it + 1);
    if (way.schedule.empty()) return std::optional(ChosenWay{{}, way.ns});
    auto schedule = parse_schedule(kernel.code, way.schedule);
    const std::string reason =
        !schedule ? "is not made of the knobs of that kernel" : kernel.schedule_refusal(call, machine, *schedule);
    if (reason.empty()) return std::optional(ChosenWay{std::move(*schedule), way.ns});
    return Error{.kind = ErrorKind::invalid_input,
                 .found = "tuned schedule '" + way.schedule + "' of " + way.kernel + ", which " + reason,
                 .expected = "a schedule that this release could have measured",
                 .hint = "Tune again, or leave the log out"};
  }
  return std::optional<ChosenWay>();
}

}  // namespace

std::vector<Way> all_ways(const OpCall& call, const Machine& machine, const SelectOptions& options,
                          std::span<const KernelChoice* const> kernels) {
  constexpr double kFar = 4.0;
  const Candidates candidates = candidates_for(call, machine, options, kernels);
  std::vector<Way> ways;
  for (const Legal& legal : candidates.legal) {
    const KernelChoice& kernel = *legal.kernel;
    if (is_reference(kernel) || legal.ns > kFar * candidates.legal.front().ns) continue;
    ways.push_back({&kernel, {}, legal.ns / options.threads});
    if (kernel.candidates == nullptr) continue;
    for (Candidate& candidate : predicted_candidates(kernel, call, machine, options.threads))
      ways.push_back({&kernel, std::move(candidate.schedule), candidate.ns});
  }
  return ways;
}

Result<Choice> choose(const OpCall& call, const Machine& machine, const SelectOptions& options,
                      std::span<const KernelChoice* const> kernels) {
  Candidates candidates = candidates_for(call, machine, options, kernels);
  auto& [legal, refusals] = candidates;
  Choice choice{.refusals = std::move(refusals)};
  const auto tuned = tuned_way(call, machine, options, legal);
  if (!tuned) return tuned.errors();
  if (!*tuned) rank(legal, call, options.measured);
  const std::string by =
      *tuned ? "tuned " + rounded((*tuned)->ns) : "the choice " + rounded(legal.empty() ? 0.0 : legal[0].ns);
  for (std::size_t i = 1; i < legal.size(); ++i) {
    choice.refusals.push_back(std::string(legal[i].kernel->code.name) +
                              (legal[i].is_measured ? ": measured " : ": predicted ") + rounded(legal[i].ns) + " ns, " +
                              by + " ns");
  }
  std::sort(choice.refusals.begin(), choice.refusals.end());
  if (legal.empty()) return no_kernel(call, machine, choice.refusals);
  choice.kernel = legal[0].kernel;
  if (*tuned) choice.schedule = std::move((*tuned)->schedule);
  choice.predicted_ns = std::isfinite(legal[0].ns) ? legal[0].ns : 0.0;
  return choice;
}

bool give_same_bits(const OpSpec& spec, const SelectOptions& options, std::span<const KernelChoice* const> kernels) {
  return options.needs_exact || std::ranges::none_of(kernels, [&](const KernelChoice* kernel) {
           return kernel->code.op == spec.name && !kernel->is_exact;
         });
}

std::optional<Choice> choose_alike(const KernelChoice& kernel, const OpCall& call, const Machine& machine,
                                   const SelectOptions& options) {
  // What has a better rank may take this call though it refused the other one.
  if (rank_of(kernel, machine) != Rank::usual || has_empty_operand(call)) return std::nullopt;
  if (!illegal(kernel, call, machine, options).empty()) return std::nullopt;
  const double ns = predicted_on(kernel, call, machine);
  return Choice{.kernel = &kernel, .predicted_ns = std::isfinite(ns) ? ns : 0.0};
}

}  // namespace octavo
