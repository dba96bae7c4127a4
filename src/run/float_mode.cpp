// MXCSR on x86-64, FPCR on AArch64. Part of run/.
#include "run/float_mode.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace octavo {
namespace {

#if defined(__x86_64__)
constexpr std::uint64_t kMode = 0x1f80;  // all exceptions masked, nearest even, no flush to zero, no denormals-are-zero
std::uint64_t read_mode() { return _mm_getcsr(); }
void write_mode(std::uint64_t mode) { _mm_setcsr(static_cast<unsigned>(mode)); }
#elif defined(__aarch64__)
constexpr std::uint64_t kMode = 0;
std::uint64_t read_mode() {
  std::uint64_t mode = 0;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
void write_mode(std::uint64_t mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
#endif

}  // namespace

// Writing the register is slow; it is written only where it differs. The caller's sticky exception flags come back too.
ScopedFloatMode::ScopedFloatMode() : saved_(read_mode()) {
  if (saved_ != kMode) write_mode(kMode);
}

ScopedFloatMode::~ScopedFloatMode() {
  if (read_mode() != saved_) write_mode(saved_);
}

}  // namespace octavo
