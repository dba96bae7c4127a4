// The arithmetic of a context's memory. Part of run/.
#include "run/context_memory.h"

#include <algorithm>

#include "run/device.h"

namespace octavo {
namespace {

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

// Two cache lines apart, so that threads do not share what the prefetcher takes together.
std::uint64_t stride_of(std::uint64_t bytes) {
  return bytes > kMaxContextBytes ? bytes : round_up(bytes, 2 * kAlignment) + 2 * kAlignment;
}

}  // namespace

std::uint64_t ContextMemory::bytes() const {
  const std::uint64_t most_of_thread = kMaxContextBytes / threads;
  if (arena_bytes > kMaxContextBytes || slice_arena_stride > most_of_thread || scratch_stride > most_of_thread)
    return kMaxContextBytes + 1;
  return arena_bytes + (slice_arena_stride + scratch_stride) * threads;
}

ContextMemory context_memory(const PreparedPlan& prepared, int threads) {
  std::uint64_t scratch_bytes = 0, slice_bytes = 0;
  for (const PreparedStep& step : prepared.steps)
    scratch_bytes = std::max<std::uint64_t>(scratch_bytes, step.step->scratch_bytes());
  for (const Region& region : prepared.plan->regions) slice_bytes = std::max(slice_bytes, region.arena_bytes);
  return {.arena_bytes = round_up(prepared.plan->arena_bytes + kReadSlack, 2 * kAlignment),
          .slice_arena_stride = prepared.plan->regions.empty() ? 0 : stride_of(slice_bytes),
          .scratch_stride = stride_of(scratch_bytes),
          .threads = static_cast<std::uint64_t>(threads)};
}

std::uint64_t context_bytes(const PreparedPlan& prepared, int threads) {
  if (kMayHaveDevices && prepared.device != nullptr) return prepared.device->context_bytes();
  return context_memory(prepared, threads).bytes();
}

Error too_large_context(std::string where, std::uint64_t bytes, std::uint64_t most) {
  const std::string found =
      bytes <= kMaxContextBytes ? std::to_string(bytes) : "more than " + std::to_string(kMaxContextBytes);
  return {.kind = ErrorKind::resource,
          .where = std::move(where),
          .found = found + " bytes of memory for a context",
          .expected = "at most " + std::to_string(most)};
}

int context_threads(const Model& model, int threads) {
  return threads <= 0 ? model.threads() : std::min(model.threads(), threads);
}

}  // namespace octavo
