// The tuners against each other, on times that a log has: how near the best way of a call they are after so many
// trials.
//   tuner_replay LOG [XGBOOST LIBRARY]
// LOG: of `octavo tune --tuner grid` with more trials than there are ways. Groups of the other calls are known to xgb
// in a row of its own.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "tuner/features.h"

namespace octavo {
namespace {

constexpr int kSeeds = 20;
constexpr std::size_t kBatch = 16, kLeastWays = 100;
constexpr std::size_t kTrials[] = {16, 32, 50, 100, 200, 400};

struct Recorded {
  std::string subject;
  std::vector<SearchPoint> space;
  std::vector<double> ns;
  double best() const { return *std::min_element(ns.begin(), ns.end()); }
};

std::vector<Recorded> read(const MeasurementLog& log) {
  std::map<std::string, Recorded> calls;
  for (const Measurement* trial : log.trials()) {
    auto point = search_point(*trial);
    if (!point) continue;
    Recorded& own = calls[trial->subject];
    own.subject = trial->subject;
    own.space.push_back(std::move(*point));
    own.ns.push_back(trial->values.at("ns"));
  }
  std::vector<Recorded> recorded;
  for (auto& [subject, own] : calls) {
    if (own.space.size() >= kLeastWays) recorded.push_back(std::move(own));
  }
  return recorded;
}

// Times of the best so far over the best of all, after each of kTrials.
std::vector<double> regrets(const Recorded& call, const SearchOptions& options) {
  const auto search = make_search(call.space, options);
  std::vector<double> result;
  double least = HUGE_VAL;
  for (std::size_t done = 0; result.size() < std::size(kTrials);) {
    const auto points = search->propose(std::min(kBatch, kTrials[result.size()] - done));
    if (!points) return {};
    std::vector<SearchTrial> observed;
    for (const std::size_t point : *points) {
      observed.push_back({point, call.ns[point]});
      least = std::min(least, call.ns[point]);
    }
    search->observe(observed);
    done += points->size();
    while (result.size() < std::size(kTrials) && (done >= kTrials[result.size()] || points->empty()))
      result.push_back(least / call.best());
  }
  return result;
}

void show(const char* name, const std::vector<Recorded>& calls, SearchOptions options, bool knows_others) {
  std::vector<double> logs(std::size(kTrials)), worst(std::size(kTrials));
  for (const Recorded& call : calls) {
    std::vector<RankedGroup> known;
    for (const Recorded& other : calls) {
      if (!knows_others || &other == &call) continue;
      RankedGroup& group = known.emplace_back();
      for (const SearchPoint& point : other.space) group.features.push_back(point.features);
      group.ns = other.ns;
    }
    options.known = known;
    for (int seed = 0; seed < kSeeds; ++seed) {
      options.seed = static_cast<std::uint32_t>(seed + 1);
      const std::vector<double> found = regrets(call, options);
      for (std::size_t i = 0; i < found.size(); ++i)
        logs[i] += std::log(found[i]), worst[i] = std::max(worst[i], found[i]);
    }
  }
  std::printf("%-20s", name);
  for (std::size_t i = 0; i < logs.size(); ++i)
    std::printf("  %6.3f (%5.3f)", std::exp(logs[i] / static_cast<double>(calls.size()) / kSeeds), worst[i]);
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace
}  // namespace octavo

int main(int argc, char** argv) {
  using namespace octavo;
  if (argc < 2) return std::puts("tuner_replay LOG [XGBOOST LIBRARY]"), 2;
  const auto log = MeasurementLog::open(argv[1]);
  if (!log) return std::printf("%s\n", to_string(log.errors()).c_str()), 3;
  const std::vector<Recorded> calls = read(*log);
  for (const Recorded& call : calls) std::printf("%zu ways: %s\n", call.space.size(), call.subject.c_str());
  std::printf("%zu calls, %d seeds: best so far over best of all, geometric mean (worst), after\n%-20s", calls.size(),
              kSeeds, "");
  for (const std::size_t trials : kTrials) std::printf("  %14zu", trials);
  std::printf("\n");
  for (const SearchKind kind : {SearchKind::grid, SearchKind::random, SearchKind::ga})
    show(std::string(name_of(kind)).c_str(), calls, {.kind = kind}, false);
  const auto ranker = load_xgboost(argc > 2 ? argv[2] : "");
  if (!ranker) return std::printf("xgb skipped: %s\n", to_string(ranker.errors()).c_str()), 0;
  const SearchOptions xgb{.kind = SearchKind::xgb, .ranker = ranker->get()};
  show("xgb", calls, xgb, false);
  show("xgb, other calls", calls, xgb, true);
  return 0;
}
