// KernelChoice: a kernel and what decides whether a plan takes it. The contract between kernels/ and planner/. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_CHOICE_H_
#define OCTAVO_KERNELS_CHOICE_H_

#include <array>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace octavo {

// One way of a kernel to go about a call.
struct Candidate {
  std::vector<std::byte> schedule;  // as PlanStep::schedule
  double ns = 0.0;                  // predicted, of a whole call on so many threads
};

struct KernelChoice {
  KernelCode code;
  // Products of 16-bit integers for each multiply-accumulate of the operator, where the kernel multiplies these; 0:
  // bytes, one for one.
  double words_per_mac = 0.0;
  // The reference's bits on every machine. Kernels that only come close are taken in fp32 plans alone.
  bool is_exact = true;
  // Why this kernel cannot do that call, as a sentence ("needs channels_last"), or empty. Instruction sets are checked
  // by the caller.
  std::string (*refusal)(const OpCall& call) = nullptr;
  // Predicted nanoseconds of a whole call on one thread; predicted_ns() is what others ask.
  double (*cost)(const OpCall& call, const Machine& machine) = nullptr;
  // Where the code has knobs: the ways that are worth looking at with so many threads, and why a schedule cannot be
  // that of the call, as a sentence, or empty. Only asked of calls that are not refused.
  std::vector<Candidate> (*candidates)(const OpCall& call, const Machine& machine, int threads) = nullptr;
  std::string (*schedule_refusal)(const OpCall& call, const Machine& machine,
                                  std::span<const std::byte> schedule) = nullptr;
  // `cost` and `candidates` go by all of the machine's speeds; else they say what a machine with kReferenceSpeeds
  // takes, and its clock alone makes the difference.
  bool knows_speeds = false;
  // Constants rearranged for this kernel; null unless the code packs.
  // Where set, constant inputs are not kept: everything the step needs must be in the result.
  std::vector<Tensor> (*pack)(const OpCall& call) = nullptr;
  // Numbers by which, besides attributes, types and constants, the result of `pack` depends on a call; calls of other
  // sizes mostly have the same, and then nothing is packed twice. Null: of other sizes everything may be different.
  std::vector<std::int64_t> (*packed_layout)(const OpCall& call) = nullptr;
};

// Nanoseconds of a whole call on one thread of this machine.
inline double predicted_ns(const KernelChoice& kernel, const OpCall& call, const Machine& machine) {
  return kernel.cost(call, machine) * (kernel.knows_speeds ? 1.0 : machine.speeds.clock_scale());
}

// Of a kernel with knobs: its candidates on so many threads of this machine.
inline std::vector<Candidate> predicted_candidates(const KernelChoice& kernel, const OpCall& call,
                                                   const Machine& machine, int threads) {
  std::vector<Candidate> candidates = kernel.candidates(call, machine, threads);
  for (Candidate& candidate : candidates) candidate.ns *= kernel.knows_speeds ? 1.0 : machine.speeds.clock_scale();
  return candidates;
}

// Of costs: what was counted for single lanes and for vectors of 256 and of 512 bits. Those of 128 bits take twice as
// long as those of 256, by processors that start as many of them in a cycle.
struct WidthCosts {
  double scalar, bits256, bits512;
};
constexpr double by_width(Isa isa, const WidthCosts& costs) {
  switch (isa) {
    case Isa::scalar: return costs.scalar;
    case Isa::avx2: return costs.bits256;
    case Isa::neon: return 2.0 * costs.bits256;
    default: return costs.bits512;
  }
}

// By what costs of kernels that multiply f32 are multiplied, where predicted_ns scales them by clock and vectors: cores
// of aarch64 differ in how many fmla they start.
inline double multiply_add_scale(Isa isa, const MachineSpeeds& speeds) {
  if (isa != Isa::neon) return 1.0;
  return speeds.cycle_scale(&MachineSpeeds::fmla_gmacs) * speeds.vectors_per_cycle / kReferenceSpeeds.vectors_per_cycle;
}

// For KernelChoice::packed_layout: no sizes but those of the constants.
inline std::vector<std::int64_t> same_layout(const OpCall&) { return {}; }

// The codes of a family's kernels as a table of their own: a program that only runs links it and nothing that chooses.
template <std::size_t n>
constexpr std::array<KernelCode, n> codes_of(const KernelChoice (&choices)[n]) {
  std::array<KernelCode, n> codes;
  for (std::size_t i = 0; i < n; ++i) codes[i] = choices[i].code;
  return codes;
}

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CHOICE_H_
