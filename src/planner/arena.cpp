// Best-fit placement of buffers by size and lifetime. Part of planner/.
#include "planner/arena.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace octavo {
namespace {

std::uint64_t padded_bytes(const ArenaBuffer& buffer) {
  return (buffer.bytes + kReadSlack + kAlignment - 1) / kAlignment * kAlignment;
}

// Placed buffers by step, so that those in the way of another one are found without a look at the others.
class Placed {
 public:
  explicit Placed(int steps) : alive_(static_cast<std::size_t>(steps)), beginning_(static_cast<std::size_t>(steps)) {}

  void add(const ArenaBuffer& buffer) {
    beginning_[at(buffer.first_step)].push_back(&buffer);
    for (int step = buffer.first_step; step <= buffer.last_step; ++step) alive_[at(step)].push_back(&buffer);
  }
  // What lives in a step of `buffer`, by offset.
  std::vector<const ArenaBuffer*> beside(const ArenaBuffer& buffer) const {
    std::vector<const ArenaBuffer*> taken = alive_[at(buffer.first_step)];
    for (int step = buffer.first_step + 1; step <= buffer.last_step; ++step)
      taken.insert(taken.end(), beginning_[at(step)].begin(), beginning_[at(step)].end());
    std::sort(taken.begin(), taken.end(),
              [](const ArenaBuffer* a, const ArenaBuffer* b) { return a->offset < b->offset; });
    return taken;
  }

 private:
  static std::size_t at(int step) { return static_cast<std::size_t>(step); }
  std::vector<std::vector<const ArenaBuffer*>> alive_, beginning_;
};

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
  int steps = 0;
  for (const ArenaBuffer& buffer : buffers) steps = std::max(steps, buffer.last_step + 1);
  Placed placed(steps);
  std::uint64_t arena_bytes = 0;
  for (const std::size_t index : by_size) {
    ArenaBuffer& buffer = buffers[index];
    buffer.offset = best_offset(padded_bytes(buffer), placed.beside(buffer));
    arena_bytes = std::max(arena_bytes, buffer.offset + padded_bytes(buffer));
    placed.add(buffer);
  }
  return arena_bytes;
}

Status check_arena_bytes(std::uint64_t bytes) {
  constexpr std::uint64_t kMaxArenaBytes = std::uint64_t{1} << 36;
  if (bytes <= kMaxArenaBytes) return ok_status();
  return Error{.kind = ErrorKind::resource,
               .where = "memory for intermediate tensors",
               .found = std::to_string(bytes) + " bytes",
               .expected = "at most " + std::to_string(kMaxArenaBytes)};
}

}  // namespace octavo
