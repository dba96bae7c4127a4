// MXCSR. Part of tests/support/.
#include <xmmintrin.h>

#include "support/thread_float_mode.h"

namespace octavo::testing {

const std::uint32_t kUsualFloatMode = 0x1f80, kOtherFloatMode = 0xffc0;

std::uint32_t thread_float_mode() { return _mm_getcsr() & 0xffc0u; }
void set_thread_float_mode(std::uint32_t mode) { _mm_setcsr(mode); }

}  // namespace octavo::testing
