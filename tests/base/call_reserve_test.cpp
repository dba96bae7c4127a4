// Blocks of a reserve: where they come from, when they run out, and that one which outlives its reserve stays whole.
#include "base/call_reserve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace octavo {
namespace {

TEST(CallReserve, OnlyWhileOneLives) {
  EXPECT_EQ(take_from_reserve(8), nullptr);
  void* block = nullptr;
  {
    const CallReserve reserve;
    block = take_from_reserve(8);
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(return_to_reserve(block));
  }
  EXPECT_EQ(take_from_reserve(8), nullptr);
  int elsewhere = 0;
  EXPECT_FALSE(return_to_reserve(&elsewhere));
  EXPECT_FALSE(return_to_reserve(nullptr));
}

TEST(CallReserve, BlocksAreAlignedAndApart) {
  const CallReserve reserve;
  std::vector<std::byte*> blocks;
  const std::size_t sizes[] = {0, 1, 15, 16, 17, 31, 32, 104, 112};
  for (const std::size_t size : sizes) {
    auto* block = static_cast<std::byte*>(take_from_reserve(size));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignof(std::max_align_t), 0u);
    if (!blocks.empty()) {
      EXPECT_GE(block, blocks.back() + std::max<std::size_t>(sizes[blocks.size() - 1], 1));
    }
    blocks.push_back(block);
  }
  for (std::byte* block : blocks) EXPECT_TRUE(return_to_reserve(block));
}

TEST(CallReserve, RunsOutAndStartsAgain) {
  const CallReserve reserve;
  EXPECT_EQ(take_from_reserve(kReserveBytes + 1), nullptr);
  EXPECT_EQ(take_from_reserve(SIZE_MAX), nullptr);
  for (int round = 0; round < 3; ++round) {
    void* const all = take_from_reserve(kReserveBytes);
    ASSERT_NE(all, nullptr);
    EXPECT_EQ(take_from_reserve(1), nullptr);
    EXPECT_TRUE(return_to_reserve(all));
  }
}

TEST(CallReserve, OneInsideAnotherHasItsOwn) {
  const CallReserve outer;
  void* const first = take_from_reserve(kReserveBytes);
  {
    const CallReserve inner;
    void* const second = take_from_reserve(kReserveBytes);
    EXPECT_NE(second, nullptr);
    EXPECT_NE(second, first);
    EXPECT_TRUE(return_to_reserve(second));
  }
  EXPECT_EQ(take_from_reserve(1), nullptr);
  EXPECT_TRUE(return_to_reserve(first));
  void* const again = take_from_reserve(1);
  EXPECT_NE(again, nullptr);
  EXPECT_TRUE(return_to_reserve(again));
}

TEST(CallReserve, BlocksThatOutliveItAreNeverHandedOutAgain) {
  std::byte* kept = nullptr;
  {
    const CallReserve reserve;
    kept = static_cast<std::byte*>(take_from_reserve(64));
  }
  ASSERT_NE(kept, nullptr);
  std::memset(kept, 1, 64);
  for (std::size_t i = 0; i < 2 * kReserves; ++i) {
    const CallReserve reserve;
    void* const block = take_from_reserve(kReserveBytes);
    ASSERT_NE(block, nullptr);
    std::memset(block, 2, kReserveBytes);
    EXPECT_TRUE(return_to_reserve(block));
  }
  EXPECT_TRUE(std::all_of(kept, kept + 64, [](std::byte value) { return value == std::byte{1}; }));
  std::thread([&] { EXPECT_TRUE(return_to_reserve(kept)); }).join();
}

TEST(CallReserve, ThereAreSoManyAndNoMore) {
  std::vector<std::unique_ptr<CallReserve>> reserves;
  std::size_t served = 0;
  for (std::size_t i = 0; i < kReserves + 1; ++i) {
    reserves.push_back(std::make_unique<CallReserve>());
    void* const block = take_from_reserve(1);
    if (block == nullptr) continue;
    ++served;
    EXPECT_TRUE(return_to_reserve(block));
  }
  EXPECT_GE(served, kReserves - 1);  // the test before has left one of them taken
  EXPECT_LE(served, kReserves);
  while (!reserves.empty()) reserves.pop_back();
}

TEST(CallReserve, ThreadsHaveTheirOwn) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([thread] {
      for (int round = 0; round < 2000; ++round) {
        const CallReserve reserve;
        auto* const block = static_cast<std::uint8_t*>(take_from_reserve(256));
        ASSERT_NE(block, nullptr);
        std::memset(block, thread, 256);
        EXPECT_EQ(std::count(block, block + 256, thread), 256);
        EXPECT_TRUE(return_to_reserve(block));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace octavo
