// The register that says how a thread rounds, as tests see it. Part of tests/support/.
#ifndef OCTAVO_TESTS_SUPPORT_THREAD_FLOAT_MODE_H_
#define OCTAVO_TESTS_SUPPORT_THREAD_FLOAT_MODE_H_

#include <cstdint>

namespace octavo::testing {

// As programs begin; and towards zero, denormals flushed to zero.
extern const std::uint32_t kUsualFloatMode, kOtherFloatMode;

// This thread's, without flags of what happened.
std::uint32_t thread_float_mode();
void set_thread_float_mode(std::uint32_t mode);

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_SUPPORT_THREAD_FLOAT_MODE_H_
