// What kernels are predicted to take on a device. Part of cuda/.
//
// A Machine for a device is read like this: a core is a multiprocessor, tile_gmacs what the tensor cores of one of them
// multiply and add of bytes, memory_gbytes what the whole device reads of its memory, barrier_ns what passes between
// two kernels of a graph. Times are of the whole device.
#ifndef OCTAVO_CUDA_COST_H_
#define OCTAVO_CUDA_COST_H_

#include "base/machine.h"
#include "kernels/call.h"

namespace octavo::cuda {

// Reads and writes all operands once.
double memory_ns(const CallView& call, const Machine& machine);

// Blocks of equal work: `block_macs` each, as fast as `share` of the tensor cores' peak, and `block_sums` to finish.
// A multiprocessor takes one after the other, the most loaded one counts. `steps` of K wait for each other where blocks
// are few.
struct BlockWork {
  double blocks = 1.0, block_macs = 0.0, block_sums = 0.0, share = 1.0, steps = 0.0;
};
double blocks_ns(const BlockWork& work, const Machine& machine);

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_COST_H_
