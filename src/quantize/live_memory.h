// Which bytes of a plan's arena somebody will still read: what has to be kept of a run that stops between two steps.
// Part of quantize/.
#ifndef OCTAVO_QUANTIZE_LIVE_MEMORY_H_
#define OCTAVO_QUANTIZE_LIVE_MEMORY_H_

#include <cstdint>
#include <vector>

#include "base/tensor.h"
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
  // Bytes, written over what was kept before where that was about as much: the same few pieces of memory serve a whole
  // run.
  void keep(const std::byte* from, Tensor& kept) const;
  void put_back(const Tensor& kept, std::byte* to) const;
};

// By step: after it.
std::vector<LiveMemory> live_memory(const Plan& plan);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_LIVE_MEMORY_H_
