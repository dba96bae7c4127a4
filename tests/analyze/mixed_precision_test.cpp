// The searches between int8 and fp32, on networks that are only numbers. Part of tests/analyze/.
#include "analyze/mixed_precision.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace octavo {
namespace {

// A chain of groups. A boundary between int8 and fp32 counts for the group in fp32 and takes as long as `conversion`.
struct Chain {
  std::vector<double> int8, fp32;
  double conversion = 0.1;
  double disturbance = 1.0;  // factor of the runs of what is neither
  std::vector<std::vector<Variant>> asked = {};

  bool is_fp32_in(const Variant& variant, std::size_t group) const {
    return variant.is_fp32 || std::find(variant.in_fp32.begin(), variant.in_fp32.end(), group) != variant.in_fp32.end();
  }
  VariantTimes of(const Variant& variant) const {
    VariantTimes times;
    for (std::size_t i = 0; i < int8.size(); ++i) {
      const bool starts = i > 0 && !is_fp32_in(variant, i - 1),
                 ends = i + 1 < int8.size() && !is_fp32_in(variant, i + 1);
      times.group_ms.push_back(is_fp32_in(variant, i) ? fp32[i] + conversion * (starts + ends) : int8[i]);
      times.run_ms += times.group_ms.back();
    }
    if (!variant.in_fp32.empty()) times.run_ms *= disturbance;
    return times;
  }
  Result<FastestVariant> choose() {
    return choose_fastest([this](const std::vector<Variant>& variants) -> Result<std::vector<VariantTimes>> {
      asked.push_back(variants);
      std::vector<VariantTimes> times;
      for (const Variant& variant : variants) times.push_back(of(variant));
      return times;
    });
  }
};

Variant with_fp32(std::vector<std::size_t> groups) { return {.in_fp32 = std::move(groups)}; }

TEST(ChooseFastest, Int8WhereItIsFaster) {
  Chain chain{.int8 = {1, 1, 1}, .fp32 = {4, 3, 1}};
  const auto choice = chain.choose();
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->variant, kAllInt8);
  EXPECT_EQ(chain.asked, (std::vector<std::vector<Variant>>{{kAllInt8, kAllFp32}}));
  EXPECT_DOUBLE_EQ(choice->fp32.run_ms, 8.0);
}

TEST(ChooseFastest, OneSlowGroupAloneGoesToFp32) {
  Chain chain{.int8 = {1, 1, 2, 1}, .fp32 = {4, 4, 1, 4}};
  const auto choice = chain.choose();
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->variant, with_fp32({2}));
  EXPECT_DOUBLE_EQ(choice->chosen.run_ms, 4.2);
  EXPECT_DOUBLE_EQ(choice->int8.group_ms[2], 2.0);
  EXPECT_DOUBLE_EQ(choice->chosen.group_ms[2], 1.2);
}

TEST(ChooseFastest, ConversionsThatCostMoreThanTheyBringKeepItInInt8) {
  Chain chain{.int8 = {1, 2, 1}, .fp32 = {4, 1.5, 4}, .conversion = 0.3};
  const auto choice = chain.choose();
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->variant, kAllInt8);
  ASSERT_EQ(chain.asked.size(), 2u);
  EXPECT_EQ(chain.asked[1], (std::vector<Variant>{kAllInt8, with_fp32({1}), kAllFp32}));
}

TEST(ChooseFastest, NeighboursShareTheConversions) {
  Chain chain{.int8 = {1, 2, 2, 1}, .fp32 = {4, 1.5, 1.5, 4}, .conversion = 0.3};  // either alone would lose
  const auto choice = chain.choose();
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->variant, with_fp32({1, 2}));
}

TEST(ChooseFastest, ComingBackGoesOnUntilAllThatIsLeftPays) {
  // With the last gone its neighbour has another boundary, which is too much for it.
  Chain chain{.int8 = {3, 1, 1.5, 1.4, 1}, .fp32 = {1, 4, 1.1, 1.2, 4}, .conversion = 0.25};
  const auto choice = chain.choose();
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->variant, with_fp32({0}));
  ASSERT_EQ(chain.asked.size(), 4u);
  EXPECT_EQ(chain.asked[1][1], with_fp32({0, 2, 3}));
  EXPECT_EQ(chain.asked[2][1], with_fp32({0, 2}));
}

TEST(ChooseFastest, NoiseDecidesNothing) {
  Chain group{.int8 = {1, 1, 1}, .fp32 = {4, 0.96, 4}, .conversion = 0.0};
  EXPECT_EQ(group.choose()->variant, kAllInt8);
  Chain whole{.int8 = {1, 1, 1}, .fp32 = {0.995, 0.995, 0.995}};
  EXPECT_EQ(whole.choose()->variant, kAllInt8);
  Chain tiny{.int8 = {100, 0.02}, .fp32 = {400, 0.01}, .conversion = 0.0};
  EXPECT_EQ(tiny.choose()->variant, kAllInt8);
  EXPECT_EQ(tiny.asked.size(), 1u);
}

TEST(ChooseFastest, TheWholeInFp32WhereThatIsFastest) {
  Chain chain{.int8 = {2, 2, 1}, .fp32 = {1, 1, 1.02}, .conversion = 0.5};
  const auto choice = chain.choose();
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->variant, kAllFp32);
  EXPECT_DOUBLE_EQ(choice->chosen.run_ms, 3.02);
}

TEST(ChooseFastest, AVariantThatIsSlowerAsAWholeIsNotTaken) {
  Chain chain{.int8 = {1, 2, 1}, .fp32 = {4, 1, 4}, .disturbance = 2.0};
  const auto choice = chain.choose();
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->variant, kAllInt8);
}

TEST(ChooseFastest, NetworksWithoutGroupsAndErrors) {
  Chain none;
  EXPECT_EQ(none.choose()->variant, kAllInt8);
  const auto failed = choose_fastest(
      [](const std::vector<Variant>&) { return Result<std::vector<VariantTimes>>(Error{.found = "no memory"}); });
  ASSERT_FALSE(failed);
}

// Group i makes this much noise in int8 and takes this much longer in fp32; noise up to `allowed` is within the budget.
struct Network {
  std::vector<double> noise, cost;
  double allowed = 1.0;
  int measured = 0;

  Verdict of(const Groups& in_fp32) const {
    Verdict result{.ms = 1.0};
    for (std::size_t i = 0; i < noise.size(); ++i) {
      const bool is_float = std::find(in_fp32.begin(), in_fp32.end(), i) != in_fp32.end();
      (is_float ? result.ms : result.noise) += is_float ? cost[i] : noise[i];
    }
    result.excess = result.noise - allowed;
    return result;
  }
  JudgeVariant measure() {
    return [this](const Groups& in_fp32) -> Result<Verdict> {
      ++measured;
      EXPECT_TRUE(std::is_sorted(in_fp32.begin(), in_fp32.end()));
      return of(in_fp32);
    };
  }
};

const VisitVariant kIgnore = [](const JudgedVariant&, bool) { return ok_status(); };

TEST(SearchBudget, NothingGoesToFloatWhereInt8IsGoodEnough) {
  Network network{.noise = {0.1, 0.2, 0.3}, .cost = {1, 1, 1}};
  const auto best = search_budget(3, network.measure(), kIgnore);
  ASSERT_TRUE(best);
  EXPECT_TRUE(best->in_fp32.empty());
  EXPECT_EQ(network.measured, 1);
}

TEST(SearchBudget, TheOneBadLayerAloneGoesBack) {
  Network network{.noise = {0.1, 0.1, 0.1, 9.0, 0.1, 0.1, 0.1, 0.1}, .cost = {1, 1, 1, 2, 1, 1, 1, 1}};
  const auto best = search_budget(8, network.measure(), kIgnore);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->in_fp32, (Groups{3}));
  EXPECT_DOUBLE_EQ(best->verdict.ms, 3.0);
  EXPECT_TRUE(best->verdict.is_within());
}

TEST(SearchBudget, MuchNoisePerTimeGoesFirst) {
  // Either the dear group or the two cheap ones would do.
  Network network{.noise = {2.0, 1.2, 1.2, 0.1}, .cost = {5.0, 0.5, 0.5, 0.5}, .allowed = 2.2};
  const auto best = search_budget(4, network.measure(), kIgnore);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->in_fp32, (Groups{1, 2}));
}

TEST(SearchBudget, WhatIsNotNeededIsTakenBack) {
  // By noise per time the small one comes first, but the large one is enough.
  Network network{.noise = {0.5, 4.0, 0.3}, .cost = {0.1, 1.0, 1.0}, .allowed = 0.8};
  const auto best = search_budget(3, network.measure(), kIgnore);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->in_fp32, (Groups{1}));
}

TEST(SearchBudget, LeavesTheNearestWhereNoneIsWithin) {
  Network network{.noise = {1.0, 2.0, 3.0}, .cost = {1, 1, 1}, .allowed = 0.5};
  const auto best = search_budget(3, network.measure(), kIgnore);
  ASSERT_TRUE(best);
  EXPECT_FALSE(best->verdict.is_within());
  EXPECT_EQ(best->in_fp32, (Groups{1, 2}));
  EXPECT_DOUBLE_EQ(best->verdict.excess, 0.5);
}

TEST(SearchBudget, TellsEveryVariantOnceAndEveryBest) {
  Network network{.noise = {1.0, 2.0, 0.2, 0.3, 5.0}, .cost = {1, 1, 1, 1, 3}, .allowed = 1.6};
  std::vector<Groups> seen;
  JudgedVariant last;
  const auto best = search_budget(5, network.measure(), [&](const JudgedVariant& variant, bool is_best) {
    EXPECT_EQ(std::count(seen.begin(), seen.end(), variant.in_fp32), 0);
    seen.push_back(variant.in_fp32);
    EXPECT_EQ(is_best, seen.size() == 1 || is_better(variant, last));
    if (is_best) last = variant;
    return ok_status();
  });
  ASSERT_TRUE(best);
  EXPECT_EQ(best->in_fp32, last.in_fp32);
  EXPECT_EQ(static_cast<int>(seen.size()), network.measured);
}

TEST(SearchBudget, EdgesAndErrors) {
  Network one{.noise = {3.0}, .cost = {1.0}};
  const auto single = search_budget(1, one.measure(), kIgnore);
  ASSERT_TRUE(single);
  EXPECT_TRUE(single->in_fp32.empty());
  Network none;
  ASSERT_TRUE(search_budget(0, none.measure(), kIgnore));
  const auto failed = search_budget(
      3, [](const Groups&) { return Result<Verdict>(Error{.found = "no memory"}); }, kIgnore);
  ASSERT_FALSE(failed);
  Network network{.noise = {1.0, 2.0}, .cost = {1, 1}};
  const auto stopped = search_budget(2, network.measure(),
                                     [](const JudgedVariant&, bool) { return Status(Error{.found = "disk full"}); });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(network.measured, 1);
}

}  // namespace
}  // namespace octavo
