// Peaks: what this machine's arithmetic and memory reach at best, measured; the denominators of every "share of peak".
// Part of kernels/.
#ifndef OCTAVO_KERNELS_JIT_PEAK_H_
#define OCTAVO_KERNELS_JIT_PEAK_H_

#include "base/result.h"

namespace octavo {

// Of all threads together. 0 where the machine has no such instruction.
struct Peaks {
  double dot_gmacs = 0.0;    // vpdpbusd in the widest form, 10^9 multiply-accumulates of u8 by s8 per second
  double madd_gmacs = 0.0;   // vpmaddwd + vpaddd on 256 bits: the exact form without vpdpbusd
  double fma_gmacs = 0.0;    // vfmadd231ps in the widest form, f32
  double read_gbytes = 0.0;  // memory, 10^9 bytes per second
};

// Takes about a third of a second. Best of several repeats, so that short disturbances do not count.
// Error: resource, where executable memory is refused.
Result<Peaks> measure_peaks(int threads);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_JIT_PEAK_H_
