// The search for mixtures on networks that are only numbers, and its log. Part of tests/analyze/.
#include "analyze/budget.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "analyze/search_log.h"

namespace octavo {
namespace {

using Groups = std::vector<std::size_t>;

// Group i makes this much noise in int8 and takes this much longer in fp32; noise up to `allowed` is within the budget.
struct Network {
  std::vector<double> noise, cost;
  double allowed = 1.0;
  int measured = 0;

  MixtureResult of(const Groups& in_float) const {
    MixtureResult result{.ms = 1.0};
    for (std::size_t i = 0; i < noise.size(); ++i) {
      const bool is_float = std::find(in_float.begin(), in_float.end(), i) != in_float.end();
      (is_float ? result.ms : result.noise) += is_float ? cost[i] : noise[i];
    }
    result.excess = result.noise - allowed;
    return result;
  }
  MeasureMixture measure() {
    return [this](const Groups& in_float) -> Result<MixtureResult> {
      ++measured;
      EXPECT_TRUE(std::is_sorted(in_float.begin(), in_float.end()));
      return of(in_float);
    };
  }
};

const VisitMixture kIgnore = [](const Mixture&, bool) { return ok_status(); };

TEST(SearchBudget, NothingGoesToFloatWhereInt8IsGoodEnough) {
  Network network{.noise = {0.1, 0.2, 0.3}, .cost = {1, 1, 1}};
  const auto best = search_budget(3, network.measure(), kIgnore);
  ASSERT_TRUE(best);
  EXPECT_TRUE(best->in_float.empty());
  EXPECT_EQ(network.measured, 1);
}

TEST(SearchBudget, TheOneBadLayerAloneGoesBack) {
  Network network{.noise = {0.1, 0.1, 0.1, 9.0, 0.1, 0.1, 0.1, 0.1}, .cost = {1, 1, 1, 2, 1, 1, 1, 1}};
  const auto best = search_budget(8, network.measure(), kIgnore);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->in_float, (Groups{3}));
  EXPECT_DOUBLE_EQ(best->result.ms, 3.0);
  EXPECT_TRUE(best->result.is_within());
}

TEST(SearchBudget, MuchNoisePerTimeGoesFirst) {
  // Either the dear group or the two cheap ones would do.
  Network network{.noise = {2.0, 1.2, 1.2, 0.1}, .cost = {5.0, 0.5, 0.5, 0.5}, .allowed = 2.2};
  const auto best = search_budget(4, network.measure(), kIgnore);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->in_float, (Groups{1, 2}));
}

TEST(SearchBudget, WhatIsNotNeededIsTakenBack) {
  // By noise per time the small one comes first, but the large one is enough.
  Network network{.noise = {0.5, 4.0, 0.3}, .cost = {0.1, 1.0, 1.0}, .allowed = 0.8};
  const auto best = search_budget(3, network.measure(), kIgnore);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->in_float, (Groups{1}));
}

TEST(SearchBudget, LeavesTheNearestWhereNoneIsWithin) {
  Network network{.noise = {1.0, 2.0, 3.0}, .cost = {1, 1, 1}, .allowed = 0.5};
  const auto best = search_budget(3, network.measure(), kIgnore);
  ASSERT_TRUE(best);
  EXPECT_FALSE(best->result.is_within());
  EXPECT_EQ(best->in_float, (Groups{1, 2}));
  EXPECT_DOUBLE_EQ(best->result.excess, 0.5);
}

TEST(SearchBudget, TellsEveryMixtureOnceAndEveryBest) {
  Network network{.noise = {1.0, 2.0, 0.2, 0.3, 5.0}, .cost = {1, 1, 1, 1, 3}, .allowed = 1.6};
  std::vector<Groups> seen;
  Mixture last;
  const auto best = search_budget(5, network.measure(), [&](const Mixture& mixture, bool is_best) {
    EXPECT_EQ(std::count(seen.begin(), seen.end(), mixture.in_float), 0);
    seen.push_back(mixture.in_float);
    EXPECT_EQ(is_best, seen.size() == 1 || is_better(mixture, last));
    if (is_best) last = mixture;
    return ok_status();
  });
  ASSERT_TRUE(best);
  EXPECT_EQ(best->in_float, last.in_float);
  EXPECT_EQ(static_cast<int>(seen.size()), network.measured);
}

TEST(SearchBudget, EdgesAndErrors) {
  Network one{.noise = {3.0}, .cost = {1.0}};
  const auto single = search_budget(1, one.measure(), kIgnore);
  ASSERT_TRUE(single);
  EXPECT_TRUE(single->in_float.empty());
  Network none;
  ASSERT_TRUE(search_budget(0, none.measure(), kIgnore));
  const auto failed = search_budget(
      3, [](const Groups&) { return Result<MixtureResult>(Error{.found = "no memory"}); }, kIgnore);
  ASSERT_FALSE(failed);
  Network network{.noise = {1.0, 2.0}, .cost = {1, 1}};
  const auto stopped =
      search_budget(2, network.measure(), [](const Mixture&, bool) { return Status(Error{.found = "disk full"}); });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(network.measured, 1);
}

class SearchLogTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove(path_); }
  void TearDown() override { std::filesystem::remove(path_); }
  void append(const std::string& text) const { std::ofstream(path_, std::ios::app) << text; }
  const std::string path_ = ::testing::TempDir() + "octavo_search_log_test";
};

TEST_F(SearchLogTest, RemembersAndGoesOn) {
  {
    auto log = SearchLog::open(path_, "a \"search\"");
    ASSERT_TRUE(log);
    EXPECT_EQ(log->find({1, 2}), nullptr);
    ASSERT_TRUE(log->add({1, 2}, {.ms = 0.1, .noise = 1.0 / 3.0, .agreeing = 7, .right = 5}));
    ASSERT_TRUE(log->add({}, {.ms = 2.5}));
  }
  append("{\"float\": [4], \"ms\": 1");  // cut off
  auto again = SearchLog::open(path_, "a \"search\"");
  ASSERT_TRUE(again);
  ASSERT_NE(again->find({1, 2}), nullptr);
  EXPECT_EQ(again->find({1, 2})->noise, 1.0 / 3.0);
  EXPECT_EQ(again->find({1, 2})->agreeing, 7);
  EXPECT_EQ(again->find({1, 2})->right, 5);
  EXPECT_EQ(again->find({})->ms, 2.5);
  EXPECT_EQ(again->find({4}), nullptr);
  ASSERT_TRUE(again->add({4}, {.ms = 3.0}));  // not behind the rest of the line that was cut off
  const auto third = SearchLog::open(path_, "a \"search\"");
  ASSERT_TRUE(third);
  EXPECT_NE(third->find({4}), nullptr);
}

TEST_F(SearchLogTest, RefusesOtherSearchesAndSkipsNonsense) {
  ASSERT_TRUE(SearchLog::open(path_, "one"));
  const auto other = SearchLog::open(path_, "two");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.errors()[0].kind, ErrorKind::usage);
  append("[]\n{}\nnonsense\n{\"float\":[-1],\"ms\":1,\"noise\":1,\"agreeing\":1,\"right\":1}\n");
  const auto same = SearchLog::open(path_, "one");
  ASSERT_TRUE(same);
  EXPECT_EQ(same->find({}), nullptr);
  EXPECT_FALSE(SearchLog::open(path_ + "/no/such/folder", "one"));
  const auto none = SearchLog::open("", "one");
  ASSERT_TRUE(none);
}

}  // namespace
}  // namespace octavo
