// MXCSR. Part of run/.
#include "run/float_mode.h"

#include <xmmintrin.h>

namespace octavo {
namespace {

constexpr std::uint64_t kMode = 0x1f80;  // all exceptions masked, nearest even, no flush to zero, no denormals-are-zero
std::uint64_t read_mode() { return _mm_getcsr(); }
void write_mode(std::uint64_t mode) { _mm_setcsr(static_cast<unsigned>(mode)); }

}  // namespace

// Writing the register is slow; it is written only where it differs. The caller's sticky exception flags come back too.
ScopedFloatMode::ScopedFloatMode() : saved_(read_mode()) {
  if (saved_ != kMode) write_mode(kMode);
}

ScopedFloatMode::~ScopedFloatMode() {
  if (read_mode() != saved_) write_mode(saved_);
}

}  // namespace octavo
