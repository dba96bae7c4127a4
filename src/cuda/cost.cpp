// Predictions by roofline and occupancy. Part of cuda/.
#include "cuda/cost.h"

#include <algorithm>
#include <cmath>

namespace octavo::cuda {

double memory_ns(const CallView& call, const Machine& machine) {
  return machine.speeds.barrier_ns + call.bytes() / machine.speeds.memory_gbytes;
}

// Both constants fit what an H200 took for seven networks at three batches.
double blocks_ns(const BlockWork& work, const Machine& machine) {
  // Between asking for the steps of K that are under way at once and having them, when nothing else runs meanwhile.
  constexpr double kStepsNs = 1650.0;
  // Of a multiprocessor: a sum's scaling, rounding and storing, and its part of what a block does before its loop.
  constexpr double kSumNs = 0.24;
  const double turns = std::ceil(work.blocks / std::max(1, machine.cores));
  const double block_ns = work.block_macs / (machine.speeds.tile_gmacs * work.share) + work.block_sums * kSumNs;
  return std::max(turns * block_ns, work.steps * kStepsNs);
}

}  // namespace octavo::cuda
