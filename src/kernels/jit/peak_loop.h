// PeakLoop: a loop that does one thing as fast as the machine can, of x86/ or arm64/. Internal to kernels/jit/.
#ifndef OCTAVO_KERNELS_JIT_PEAK_LOOP_H_
#define OCTAVO_KERNELS_JIT_PEAK_LOOP_H_

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "base/tensor.h"

namespace octavo {

struct PeakLoop {
  // The best instructions for products of bytes (tiles: also usmmla; dot, madd: as Peaks has them) and of 16-bit
  // integers (words), f32, reading, and what takes as many cycles as it has units.
  enum class Kind { tiles, dot, words, madd, fma, read, cycle };
  enum class Width { widest, bits256 };
  static const char* const kDot;  // what `dot`, `madd` and `words` are
  static const char* const kMadd;
  static const char* const kWords;
  static constexpr std::int64_t kReadBytes = std::int64_t{64} << 20;  // of memory, by each thread

  void (*run)(std::int64_t rounds, const void* memory) = nullptr;
  std::shared_ptr<const void> owner;  // of generated code
  std::int64_t rounds = 0;
  std::int64_t units = 0;  // multiply-accumulates, bytes or cycles of all rounds
};
// Asked only for what the machine has. Error: resource, where executable memory is refused.
Result<PeakLoop> make_peak_loop(PeakLoop::Kind kind, PeakLoop::Width width = PeakLoop::Width::widest);

// No cache holds any of it afterwards, whatever caches the machine says it has.
void flush_from_caches(const Tensor& memory);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_JIT_PEAK_LOOP_H_
