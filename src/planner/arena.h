// Where buffers of known lifetime lie in one arena. Part of planner/.
#ifndef OCTAVO_PLANNER_ARENA_H_
#define OCTAVO_PLANNER_ARENA_H_

#include <cstdint>
#include <span>

#include "base/result.h"

namespace octavo {

struct ArenaBuffer {
  std::uint64_t bytes = 0;
  int first_step = 0;  // written; not negative
  int last_step = 0;   // read for the last time; first_step where nobody reads it
  std::uint64_t offset = 0;
};

// Sets each offset, a multiple of kAlignment; buffers that live in a common step do not overlap, kReadSlack after each
// included. Largest first, each into the tightest gap that holds it. Returns the arena's size in bytes.
std::uint64_t place_buffers(std::span<ArenaBuffer> buffers);

// Error: resource, where an arena is larger than a plan may have.
Status check_arena_bytes(std::uint64_t bytes);

}  // namespace octavo

#endif  // OCTAVO_PLANNER_ARENA_H_
