// Search: which ways of a task are tried next, by what was measured of others. Part of tuner/.
#ifndef OCTAVO_TUNER_SEARCH_H_
#define OCTAVO_TUNER_SEARCH_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tuner/ranker.h"

namespace octavo {

enum class SearchKind : std::uint8_t {
  grid,    // in the order of the list
  random,  // each untried one equally likely
  ga,      // genetic: the best are crossed and changed
  xgb,     // those that boosted trees rank first, trained again after every batch
};
constexpr int count_of(SearchKind) { return 4; }
constexpr std::string_view name_of(SearchKind kind) {
  constexpr std::string_view names[] = {"grid", "random", "ga", "xgb"};
  return names[static_cast<int>(kind)];
}

// A way as a search sees it.
struct SearchPoint {
  std::vector<std::int64_t> genes;  // kernel, then its knobs; equally many for all points of a space
  std::vector<float> features;      // for a ranker
  double predicted_ns = 0.0;
};

// What was measured of a point; HUGE_VAL where it failed.
struct SearchTrial {
  std::size_t point = 0;
  double ns = 0.0;
};

class Search {
 public:
  virtual ~Search() = default;
  // Up to `most` points that were not observed yet and differ; fewer only where no more are left. Error: of the ranker.
  virtual Result<std::vector<std::size_t>> propose(std::size_t most) = 0;
  // Of whatever points, each once.
  virtual void observe(std::span<const SearchTrial> observations) = 0;
};

struct SearchOptions {
  SearchKind kind = SearchKind::random;
  std::uint32_t seed = 0;
  Ranker* ranker = nullptr;                 // xgb needs one
  std::span<const RankedGroup> known = {};  // for the ranker: of other tasks
};

// The same proposals for the same space, options and observations. All that is given must outlive it.
std::unique_ptr<Search> make_search(std::span<const SearchPoint> space, const SearchOptions& options);

}  // namespace octavo

#endif  // OCTAVO_TUNER_SEARCH_H_
