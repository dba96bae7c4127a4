// Peaks: what this machine's arithmetic and memory reach at best, measured; the denominators of every "share of peak".
// Part of kernels/.
#ifndef OCTAVO_KERNELS_JIT_PEAK_H_
#define OCTAVO_KERNELS_JIT_PEAK_H_

#include <string>
#include <string_view>

#include "base/machine.h"
#include "base/result.h"
#include "kernels/jit/peak_loop.h"

namespace octavo {

// Of all threads together. 0 where the machine has no such instruction.
struct Peaks {
  double amx_gmacs = 0.0;     // tdpbusd on full tiles: 10^9 multiply-accumulates of u8 by s8 per second
  double tensor_gmacs = 0.0;  // of a CUDA device's tensor cores, the same: known of it, not measured
  double dot_gmacs = 0.0;     // vpdpbusd in the widest form, the same; sdot
  double words_gmacs = 0.0;   // vpdpwssd in the widest form: of 16-bit integers
  double madd_gmacs = 0.0;    // vpmaddwd + vpaddd in the widest form: the exact one without vpdpbusd; smull + sadalp
  double fma_gmacs = 0.0;     // vfmadd231ps in the widest form, f32; fmla
  double read_gbytes = 0.0;   // 10^9 bytes per second read of memory that is in no cache
  // What dot, words and madd are; measured ones are of the processor that this program is built for.
  std::string_view dot_name = PeakLoop::kDot, words_name = PeakLoop::kWords, madd_name = PeakLoop::kMadd;

  // The best of the machine.
  double int8_gmacs() const;
  // That of the instructions which integer kernels for this instruction set multiply with: what they are a share of.
  double int8_gmacs_of(Isa isa) const;
  // The same of kernels that multiply 16-bit integers.
  double int16_gmacs_of(Isa isa) const;
};

// "int8 by vpdpbusd 310 GMAC/s, ..., memory 12.3 GB/s": those that the machine has.
std::string to_string(const Peaks& peaks);

// Of one core of another machine, or of a whole CUDA device, by its speeds: nothing is measured.
Peaks known_peaks(const Machine& machine);

// Takes about half a second. Best of several repeats, so that short disturbances do not count.
// Error: resource, where executable memory is refused.
Result<Peaks> measure_peaks(int threads);

// What cost models take from `host`, this machine, with so many threads at the same time; barrier_ns and
// vectors_per_cycle are left as they are, and so is what the machine has no instructions for. Takes about a second.
// Error: resource.
Result<MachineSpeeds> measure_speeds(const Machine& host, int threads);

// As much of its level 3 as so many threads together read at a rate nearer to that of level 3 than to that of memory:
// caches are shared with others, and virtual machines tell of more than there is. Takes about a second. Error:
// resource.
Result<std::int64_t> measure_level3_bytes(const Machine& host, const MachineSpeeds& speeds, int threads);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_JIT_PEAK_H_
