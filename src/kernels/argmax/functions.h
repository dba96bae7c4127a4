// The contract of argmax/, between files that are compiled for one instruction set. Part of kernels/.
#ifndef OCTAVO_KERNELS_ARGMAX_FUNCTIONS_H_
#define OCTAVO_KERNELS_ARGMAX_FUNCTIONS_H_

#include <cstddef>
#include <cstdint>

namespace octavo {

// Which of n elements that are `stride` apart is the extreme; `width` neighbours, each for itself. n below 2^31.
struct ArgmaxCall {
  const std::byte* x = nullptr;
  std::int64_t* y = nullptr;  // width
  std::int64_t n = 0, stride = 1, width = 1;
};
using ArgmaxFunction = void (*)(const ArgmaxCall&);

// How an element takes the place of the one held before it. One that is no number never does, nor is it replaced.
enum class Takes : std::uint8_t { above = 0, at_least = 1, below = 2, at_most = 3 };
inline constexpr int kTakes = 4;

struct ArgmaxFunctions {
  ArgmaxFunction f32[kTakes], u8[kTakes], s8[kTakes];  // by the number of Takes
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_ARGMAX_FUNCTIONS_H_
