// FPCR. Part of run/.
#include "run/float_mode.h"

namespace octavo {
namespace {

constexpr std::uint64_t kMode = 0;  // no traps, nearest even, no flush to zero, NaNs keep their payload
std::uint64_t read_mode() {
  std::uint64_t mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
void write_mode(std::uint64_t mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }

}  // namespace

// Writing the register is slow; it is written only where it differs.
ScopedFloatMode::ScopedFloatMode() : saved_(read_mode()) {
  if (saved_ != kMode) write_mode(kMode);
}

ScopedFloatMode::~ScopedFloatMode() {
  if (read_mode() != saved_) write_mode(saved_);
}

}  // namespace octavo
