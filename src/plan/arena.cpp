// Best-fit placement of buffers by size and lifetime. Part of plan/.
#include "plan/arena.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "base/tensor.h"

namespace octavo {
namespace {

std::uint64_t padded_bytes(const ArenaBuffer& buffer) {
  return (buffer.bytes + kReadSlack + kAlignment - 1) / kAlignment * kAlignment;
}

bool live_together(const ArenaBuffer& a, const ArenaBuffer& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

// `taken` holds the buffers that are in the way, by offset. The tightest gap that fits, or the end.
std::uint64_t best_offset(std::uint64_t size, std::span<const ArenaBuffer* const> taken) {
  std::uint64_t best = 0;
  std::uint64_t best_gap = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t end = 0;
  for (const ArenaBuffer* buffer : taken) {
    if (buffer->offset >= end) {
      const std::uint64_t gap = buffer->offset - end;
      if (gap >= size && gap < best_gap) {
        best = end;
        best_gap = gap;
      }
    }
    end = std::max(end, buffer->offset + padded_bytes(*buffer));
  }
  return best_gap == std::numeric_limits<std::uint64_t>::max() ? end : best;
}

}  // namespace

std::uint64_t place_buffers(std::span<ArenaBuffer> buffers) {
  std::vector<std::size_t> by_size(buffers.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::size_t a, std::size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  std::vector<const ArenaBuffer*> placed, taken;
  std::uint64_t arena_bytes = 0;
  for (const std::size_t index : by_size) {
    ArenaBuffer& buffer = buffers[index];
    taken.clear();
    std::copy_if(placed.begin(), placed.end(), std::back_inserter(taken),
                 [&](const ArenaBuffer* other) { return live_together(buffer, *other); });
    std::sort(taken.begin(), taken.end(),
              [](const ArenaBuffer* a, const ArenaBuffer* b) { return a->offset < b->offset; });
    buffer.offset = best_offset(padded_bytes(buffer), taken);
    arena_bytes = std::max(arena_bytes, buffer.offset + padded_bytes(buffer));
    placed.push_back(&buffer);
  }
  return arena_bytes;
}

}  // namespace octavo
