// FPCR. Part of tests/support/.
#include "support/thread_float_mode.h"

namespace octavo::testing {

const std::uint32_t kUsualFloatMode = 0, kOtherFloatMode = 0x01c00000;

std::uint32_t thread_float_mode() {
  std::uint64_t mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return static_cast<std::uint32_t>(mode);
}
void set_thread_float_mode(std::uint32_t mode) { asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{mode})); }

}  // namespace octavo::testing
