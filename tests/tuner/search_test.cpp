// The searches on made-up times. Tests of tuner/.
#include "tuner/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace octavo {
namespace {

// 4 x 10 x 10 points; time grows with the distance from one of them.
struct Valley {
  Valley() {
    for (std::int64_t kernel = 0; kernel < 4; ++kernel) {
      for (std::int64_t a = 0; a < 10; ++a) {
        for (std::int64_t b = 0; b < 10; ++b) {
          const auto features =
              std::vector<float>{static_cast<float>(kernel), static_cast<float>(a), static_cast<float>(b)};
          space.push_back({{kernel, a, b}, features, 1.0});
          const double slower = 1.0 + std::abs(static_cast<double>(kernel - 2));
          ns.push_back(slower * (100.0 + 9.0 * std::pow(static_cast<double>(a - 7), 2.0) +
                                 4.0 * std::pow(static_cast<double>(b - 3), 2.0)));
        }
      }
    }
  }
  std::vector<SearchPoint> space;
  std::vector<double> ns;
};

// Knows the answer to what it was fitted on, and of other points that of the nearest one.
class Nearest final : public Ranker {
 public:
  Status fit(std::span<const RankedGroup> groups) override {
    if (fails) return Error{.kind = ErrorKind::resource, .where = "ranker", .found = "nothing"};
    group_ = groups.back();
    return ok_status();
  }
  Result<std::vector<float>> predict(std::span<const std::vector<float>> features) override {
    std::vector<float> scores;
    for (const std::vector<float>& wanted : features) {
      float least = HUGE_VALF, score = 0.0f;
      for (std::size_t i = 0; i < group_.ns.size(); ++i) {
        float distance = 0.0f;
        for (std::size_t k = 0; k < wanted.size(); ++k) distance += std::pow(wanted[k] - group_.features[i][k], 2.0f);
        if (distance < least) least = distance, score = static_cast<float>(-group_.ns[i]);
      }
      scores.push_back(score);
    }
    return scores;
  }
  bool fails = false;

 private:
  RankedGroup group_;
};

// The best time after so many trials in batches of 10, and that nothing is proposed twice.
double best_after(Search& search, const Valley& valley, std::size_t trials) {
  double best = HUGE_VAL;
  std::set<std::size_t> seen;
  while (seen.size() < trials) {
    const auto points = search.propose(std::min<std::size_t>(10, trials - seen.size()));
    EXPECT_TRUE(points);
    if (points->empty()) break;
    std::vector<SearchTrial> observed;
    for (const std::size_t point : *points) {
      EXPECT_TRUE(seen.insert(point).second) << "proposed twice";
      observed.push_back({point, point % 13 == 5 ? HUGE_VAL : valley.ns[point]});
      best = std::min(best, observed.back().ns);
    }
    search.observe(observed);
  }
  EXPECT_EQ(seen.size(), std::min(trials, valley.space.size()));
  return best;
}

double mean_after(SearchKind kind, std::size_t trials) {
  const Valley valley;
  double sum = 0.0;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    Nearest ranker;
    const auto search = make_search(valley.space, {.kind = kind, .seed = seed, .ranker = &ranker});
    sum += best_after(*search, valley, trials);
  }
  return sum / 20;
}

TEST(Search, AllOfThemEndWithTheBest) {
  const Valley valley;
  for (int kind = 0; kind < count_of(SearchKind{}); ++kind) {
    Nearest ranker;
    const auto search = make_search(valley.space, {.kind = static_cast<SearchKind>(kind), .ranker = &ranker});
    EXPECT_EQ(best_after(*search, valley, 1000), 100.0) << name_of(static_cast<SearchKind>(kind));
    const auto none = search->propose(10);
    ASSERT_TRUE(none);
    EXPECT_TRUE(none->empty());
  }
}

TEST(Search, ThoseThatLearnAreBetterThanChance) {
  const double random = mean_after(SearchKind::random, 100);
  EXPECT_LT(mean_after(SearchKind::ga, 100), 0.97 * random);
  EXPECT_LT(mean_after(SearchKind::xgb, 100), 0.97 * random);
}

TEST(Search, ASeedDecidesEverything) {
  const Valley valley;
  for (const SearchKind kind : {SearchKind::random, SearchKind::ga, SearchKind::xgb}) {
    const auto proposals = [&](std::uint32_t seed) {
      Nearest ranker;
      const auto search = make_search(valley.space, {.kind = kind, .seed = seed, .ranker = &ranker});
      std::vector<std::size_t> all;
      for (int batch = 0; batch < 5; ++batch) {
        const auto points = search->propose(16);
        std::vector<SearchTrial> observed;
        for (const std::size_t point : *points) observed.push_back({point, valley.ns[point]});
        search->observe(observed);
        all.insert(all.end(), points->begin(), points->end());
      }
      return all;
    };
    EXPECT_EQ(proposals(1), proposals(1)) << name_of(kind);
    EXPECT_NE(proposals(1), proposals(2)) << name_of(kind);
  }
}

TEST(Search, BoostedStartsWithWhatOtherCallsTaught) {
  const Valley valley;
  RankedGroup other;
  for (std::size_t i = 0; i < valley.space.size(); ++i) {
    other.features.push_back(valley.space[i].features);
    other.ns.push_back(valley.ns[i]);
  }
  Nearest ranker;
  const std::vector<RankedGroup> known = {other};
  const auto search = make_search(valley.space, {.kind = SearchKind::xgb, .ranker = &ranker, .known = known});
  const auto first = search->propose(10);
  ASSERT_TRUE(first);
  EXPECT_EQ(valley.ns[first->front()], 100.0);
}

TEST(Search, WhatARankerSaysIsNotHidden) {
  const Valley valley;
  Nearest ranker;
  ranker.fails = true;
  const auto search = make_search(valley.space, {.kind = SearchKind::xgb, .ranker = &ranker});
  const auto first = search->propose(16);
  ASSERT_TRUE(first) << "nothing was learned yet";
  std::vector<SearchTrial> observed;
  for (const std::size_t point : *first) observed.push_back({point, valley.ns[point]});
  search->observe(observed);
  const auto second = search->propose(16);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.errors()[0].where, "ranker");
}

TEST(XgBoost, ALibraryThatIsNotThereOrAnotherOneIsAnError) {
  const auto missing = load_xgboost("/no/such/libxgboost.so");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.errors()[0].kind, ErrorKind::resource);
  EXPECT_NE(missing.errors()[0].message().find("/no/such/libxgboost.so"), std::string::npos);
  const auto other = load_xgboost("libc.so.6");
  ASSERT_FALSE(other);
  EXPECT_NE(other.errors()[0].message().find("XGBGetLastError"), std::string::npos) << other.errors()[0].message();
}

TEST(XgBoost, RanksWhatItWasFittedOn) {
  const char* path = std::getenv("OCTAVO_XGBOOST");
  const auto ranker = load_xgboost(path != nullptr ? path : "");
  if (!ranker) GTEST_SKIP() << "needs libxgboost: by its usual name, or where OCTAVO_XGBOOST says";
  const Valley valley;
  RankedGroup group;
  for (std::size_t i = 0; i < valley.space.size(); ++i) {
    group.features.push_back(valley.space[i].features);
    group.ns.push_back(i % 50 == 7 ? HUGE_VAL : valley.ns[i]);
  }
  RankedGroup shorter{{{1.0f}, {2.0f}}, {1.0, 2.0}};
  for (int times = 0; times < 2; ++times) {
    const Status fitted = (*ranker)->fit(std::vector<RankedGroup>{shorter, group});
    ASSERT_TRUE(fitted) << to_string(fitted.errors());
  }
  const auto scores = (*ranker)->predict(group.features);
  ASSERT_TRUE(scores) << to_string(scores.errors());
  ASSERT_EQ(scores->size(), group.features.size());
  const auto first = static_cast<std::size_t>(std::max_element(scores->begin(), scores->end()) - scores->begin());
  EXPECT_LT(valley.ns[first], 140.0);
  const auto search = make_search(valley.space, {.kind = SearchKind::xgb, .ranker = ranker->get()});
  EXPECT_LT(best_after(*search, valley, 100), 120.0);
}

}  // namespace
}  // namespace octavo
