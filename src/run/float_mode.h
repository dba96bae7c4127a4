// The floating-point mode that results depend on. Part of run/.
#ifndef OCTAVO_RUN_FLOAT_MODE_H_
#define OCTAVO_RUN_FLOAT_MODE_H_

#include <cstdint>

namespace octavo {

// While it lives, this thread rounds to nearest even, keeps denormals and traps nothing; afterwards the caller's mode
// is back.
class ScopedFloatMode {
 public:
  ScopedFloatMode();
  ~ScopedFloatMode();
  ScopedFloatMode(const ScopedFloatMode&) = delete;
  ScopedFloatMode& operator=(const ScopedFloatMode&) = delete;

 private:
  std::uint64_t saved_;
};

}  // namespace octavo

#endif  // OCTAVO_RUN_FLOAT_MODE_H_
