// The reserves of a process. Part of base/.
#include "base/call_reserve.h"

#include <atomic>
#include <cstdint>

namespace octavo {

// Blocks are cut off one after the other; when none is in use any more, from the start again.
struct alignas(64) Reserve {
  std::byte bytes[kReserveBytes] = {};
  std::size_t used = 0;  // of the thread that has the reserve
  std::atomic<int> blocks{0};
  std::atomic<bool> is_taken{false};
};

namespace {

constinit Reserve reserves[kReserves];
constinit thread_local Reserve* current = nullptr;
constinit thread_local std::size_t last_index = 0;

Reserve* take_reserve() noexcept {
  for (std::size_t i = 0; i < kReserves; ++i) {
    const std::size_t index = (last_index + i) % kReserves;
    if (reserves[index].is_taken.exchange(true, std::memory_order_acquire)) continue;
    last_index = index;
    return &reserves[index];
  }
  return nullptr;
}

}  // namespace

CallReserve::CallReserve() noexcept : mine_(take_reserve()), outer_(current) { current = mine_; }

CallReserve::~CallReserve() {
  current = outer_;
  // Blocks that outlive the call keep the reserve from ever being used again; none of oneDNN's does.
  if (mine_ == nullptr || mine_->blocks.load(std::memory_order_acquire) != 0) return;
  mine_->used = 0;
  mine_->is_taken.store(false, std::memory_order_release);
}

void* take_from_reserve(std::size_t bytes) noexcept {
  Reserve* const reserve = current;
  if (reserve == nullptr || bytes > kReserveBytes) return nullptr;
  if (reserve->blocks.load(std::memory_order_acquire) == 0) reserve->used = 0;
  constexpr std::size_t kBlockAlignment = alignof(std::max_align_t);
  const std::size_t taken =
      bytes == 0 ? kBlockAlignment : (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
  if (taken > kReserveBytes - reserve->used) return nullptr;
  void* const block = reserve->bytes + reserve->used;
  reserve->used += taken;
  reserve->blocks.fetch_add(1, std::memory_order_relaxed);
  return block;
}

bool return_to_reserve(void* block) noexcept {
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(reserves);
  if (offset >= sizeof reserves) return false;
  reserves[offset / sizeof(Reserve)].blocks.fetch_sub(1, std::memory_order_release);
  return true;
}

}  // namespace octavo
