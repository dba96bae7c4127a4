// Predictions by roofline and occupancy. Part of cuda/.
#include "cuda/cost.h"

#include <algorithm>
#include <cmath>

namespace octavo::cuda {

double memory_ns(const CallView& call, const Machine& machine) {
  return machine.speeds.barrier_ns + call.bytes() / machine.speeds.memory_gbytes;
}

double blocks_ns(const BlockWork& work, const Machine& machine) {
  // Between asking for a step of K and having it, when nothing else runs meanwhile; three steps are under way.
  constexpr double kStepNs = 250.0;
  const double turns = std::ceil(work.blocks / std::max(1, machine.cores));
  const double block_ns = work.block_macs / (machine.speeds.tile_gmacs * work.share);
  return std::max(turns * block_ns, work.steps * kStepNs) + kStepNs;
}

}  // namespace octavo::cuda
