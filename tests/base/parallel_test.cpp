// Every part once, whatever the threads. Tests of base/.
#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace octavo {
namespace {

TEST(ForEachPart, TakesEveryPartOnce) {
  for (const std::size_t parts : {0, 1, 2, 7, 1000}) {
    for (const int threads : {-1, 0, 1, 2, 5}) {
      std::vector<std::atomic<int>> taken(parts);
      for_each_part(parts, threads, [&](std::size_t part) { ++taken[part]; });
      for (const auto& count : taken) EXPECT_EQ(count, 1) << parts << " parts, " << threads << " threads";
    }
  }
}

TEST(ForEachPart, UsesTheCallingThreadAlone) {
  const auto caller = std::this_thread::get_id();
  for_each_part(20, 1, [&](std::size_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

// Two parts that wait for each other only end where two threads run them.
TEST(ForEachPart, PartsRunAtTheSameTime) {
  std::atomic<int> arrived{0};
  for_each_part(2, 2, [&](std::size_t) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
}

TEST(ForEachPart, WhatAPartThrowsComesToTheCaller) {
  std::atomic<int> taken{0};
  const auto body = [&](std::size_t part) {
    ++taken;
    if (part == 3) throw std::bad_alloc();
  };
  EXPECT_THROW(for_each_part(10, 3, body), std::bad_alloc);
  EXPECT_GE(taken, 4);
}

}  // namespace
}  // namespace octavo
