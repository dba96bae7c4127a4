// What a context takes of memory for a plan, and how it is divided. Part of run/.
#ifndef OCTAVO_RUN_CONTEXT_MEMORY_H_
#define OCTAVO_RUN_CONTEXT_MEMORY_H_

#include <cstdint>

#include "run/model.h"

namespace octavo {

// Larger than any model that fits a machine; a file that asks for more is refused before memory is.
inline constexpr std::uint64_t kMaxContextBytes = std::uint64_t{1} << 37;

// An arena, then one of a slice for each thread, then scratch for each thread.
struct ContextMemory {
  std::uint64_t arena_bytes = 0;
  std::uint64_t slice_arena_stride = 0;
  std::uint64_t scratch_stride = 0;
  std::uint64_t threads = 1;

  // Of all; where they are more than kMaxContextBytes, at least more than that.
  std::uint64_t bytes() const;
};

// Of a context that runs the plan with so many threads.
ContextMemory context_memory(const PreparedPlan& prepared, int threads);

// Bytes of a context that runs the plan with so many threads; of a plan for a device: there.
std::uint64_t context_bytes(const PreparedPlan& prepared, int threads);

// Kind resource.
Error too_large_context(std::string where, std::uint64_t bytes, std::uint64_t most);

// How many a context of the model has where it is offered so many; 0: the model's.
int context_threads(const Model& model, int threads);

}  // namespace octavo

#endif  // OCTAVO_RUN_CONTEXT_MEMORY_H_
