// Which bytes of a plan's arena somebody will still read: what has to be kept of a run that stops between two steps. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_LIVE_MEMORY_H_
#define OCTAVO_QUANTIZE_LIVE_MEMORY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.h"

namespace octavo {

struct ByteRange {
  std::uint64_t begin = 0, end = 0;
  bool operator==(const ByteRange&) const = default;
};

// What later steps read.
struct LiveMemory {
  std::vector<ByteRange> arena;  // ascending, apart from each other
  bool has_inputs = false;       // the model's own

  std::uint64_t arena_bytes() const;
  std::vector<std::byte> copy(const std::byte* from) const;
  void put_back(std::span<const std::byte> kept, std::byte* to) const;
};

// By step: after it.
std::vector<LiveMemory> live_memory(const Plan& plan);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_LIVE_MEMORY_H_
