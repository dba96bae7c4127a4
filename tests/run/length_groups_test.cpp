// Which sequences of a batch run together.
#include "run/length_groups.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

namespace octavo {
namespace {

std::int64_t cost_of(const std::vector<LengthGroup>& groups) {
  std::int64_t cost = 0;
  for (const LengthGroup& group : groups) cost += kTokensOfRun + std::ssize(group.sequences) * group.length;
  return cost;
}

TEST(LengthGroups, HaveEverySequenceOnce) {
  const std::vector<std::int64_t> lengths = {9, 0, 40, 7, 8, 39, 1, 40};
  std::vector<int> seen(lengths.size());
  for (const LengthGroup& group : groups_of_lengths(lengths, 8, 1, 40)) {
    EXPECT_EQ(group.length % 8, 0);
    for (const std::int64_t sequence : group.sequences) {
      EXPECT_LE(lengths[static_cast<std::size_t>(sequence)], group.length);
      ++seen[static_cast<std::size_t>(sequence)];
    }
  }
  EXPECT_EQ(seen, (std::vector<int>{1, 0, 1, 1, 1, 1, 1, 1}));
}

TEST(LengthGroups, KeepToTheirBounds) {
  const std::vector<std::int64_t> lengths = {2, 37};
  const auto groups = groups_of_lengths(lengths, 8, 16, 37);
  ASSERT_EQ(groups.size(), 1u);  // another run would cost more than 21 tokens
  EXPECT_EQ(groups[0].length, 37);
  EXPECT_EQ(groups_of_lengths(std::vector<std::int64_t>{2}, 8, 16, 64)[0].length, 16);
  EXPECT_TRUE(groups_of_lengths(std::vector<std::int64_t>{0, 0}, 8, 1, 64).empty());
  EXPECT_TRUE(groups_of_lengths({}, 8, 1, 64).empty());
}

// Beside every way to put up to seven sequences into groups.
TEST(LengthGroups, CostLeast) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::int64_t> lengths(1 + random() % 7);
    for (std::int64_t& length : lengths) length = 1 + static_cast<std::int64_t>(random() % 128);
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::vector<LengthGroup> groups;
    const std::function<void(std::size_t)> place = [&](std::size_t i) {
      if (i == lengths.size()) return void(least = std::min(least, cost_of(groups)));
      const std::int64_t padded = std::min<std::int64_t>((lengths[i] + 7) / 8 * 8, 128);
      for (std::size_t g = 0; g <= groups.size(); ++g) {
        const std::vector<LengthGroup> before = groups;
        if (g == groups.size()) groups.emplace_back();
        groups[g].length = std::max(groups[g].length, padded);
        groups[g].sequences.push_back(static_cast<std::int64_t>(i));
        place(i + 1);
        groups = before;
      }
    };
    place(0);
    EXPECT_EQ(cost_of(groups_of_lengths(lengths, 8, 1, 128)), least);
  }
}

}  // namespace
}  // namespace octavo
