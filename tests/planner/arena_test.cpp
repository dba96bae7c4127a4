// Buffers that live together do not overlap, and the arena is not much larger than it must be. Tests of planner/arena.
#include "planner/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/tensor.h"

namespace octavo {
namespace {

std::uint64_t padded(std::uint64_t bytes) { return (bytes + kReadSlack + kAlignment - 1) / kAlignment * kAlignment; }

TEST(Arena, RandomBuffersNeverOverlapWhileTheyLive) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<ArenaBuffer> buffers(1 + random() % 40);
    std::uint64_t total = 0;
    for (ArenaBuffer& buffer : buffers) {
      buffer.bytes = random() % 5000;
      buffer.first_step = static_cast<int>(random() % 30);
      buffer.last_step = buffer.first_step + static_cast<int>(random() % 6);
      total += padded(buffer.bytes);
    }
    const std::uint64_t arena_bytes = place_buffers(buffers);
    EXPECT_LE(arena_bytes, total);
    for (const ArenaBuffer& a : buffers) {
      EXPECT_EQ(a.offset % kAlignment, 0u);
      EXPECT_LE(a.offset + a.bytes + kReadSlack, arena_bytes);
      for (const ArenaBuffer& b : buffers) {
        if (&a == &b || a.first_step > b.last_step || b.first_step > a.last_step) continue;
        EXPECT_TRUE(a.offset + a.bytes + kReadSlack <= b.offset || b.offset + b.bytes + kReadSlack <= a.offset);
      }
    }
  }
}

TEST(Arena, AChainNeedsTwoBuffers) {
  std::vector<ArenaBuffer> buffers;
  for (int step = 0; step < 10; ++step) buffers.push_back({.bytes = 1000, .first_step = step, .last_step = step + 1});
  EXPECT_EQ(place_buffers(buffers), 2 * padded(1000));
}

TEST(Arena, TheTightestGapIsTaken) {
  // A wide and a narrow gap are left by buffers that are gone; the small one fits both.
  std::vector<ArenaBuffer> buffers = {
      {.bytes = 10000, .first_step = 0, .last_step = 9}, {.bytes = 8000, .first_step = 0, .last_step = 4},
      {.bytes = 7000, .first_step = 0, .last_step = 9},  {.bytes = 1000, .first_step = 0, .last_step = 4},
      {.bytes = 900, .first_step = 0, .last_step = 9},   {.bytes = 800, .first_step = 5, .last_step = 9}};
  const std::uint64_t arena_bytes = place_buffers(buffers);
  EXPECT_EQ(buffers[5].offset, buffers[3].offset);
  EXPECT_EQ(arena_bytes, padded(10000) + padded(8000) + padded(7000) + padded(1000) + padded(900));
}

TEST(Arena, NothingNeedsNothing) { EXPECT_EQ(place_buffers({}), 0u); }

}  // namespace
}  // namespace octavo
