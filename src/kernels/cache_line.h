// Sizes in whole cache lines. Part of kernels/.
#ifndef OCTAVO_KERNELS_CACHE_LINE_H_
#define OCTAVO_KERNELS_CACHE_LINE_H_

#include <cstdint>

#include "base/tensor.h"

namespace octavo {

// The bytes of the lines that hold `bytes`: parts of a scratch that lie behind each other each begin a line.
constexpr std::int64_t whole_lines(std::int64_t bytes) {
  constexpr auto line = static_cast<std::int64_t>(kAlignment);
  return (bytes + line - 1) / line * line;
}

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CACHE_LINE_H_
