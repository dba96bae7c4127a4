// Ranker: what learns from measurements which of several points is the fastest. Part of tuner/.
#ifndef OCTAVO_TUNER_RANKER_H_
#define OCTAVO_TUNER_RANKER_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace octavo {

// Points of one task: their times compare.
struct RankedGroup {
  std::vector<std::vector<float>> features;  // all of the same length, which groups need not share
  std::vector<double> ns;                    // above 0; HUGE_VAL where it failed
};

class Ranker {
 public:
  virtual ~Ranker() = default;
  // Forgets what it knew. At least one group, of at least two points. Error: resource, what the library says.
  virtual Status fit(std::span<const RankedGroup> groups) = 0;
  // Of each point, higher where it is faster; of what was fitted last.
  virtual Result<std::vector<float>> predict(std::span<const std::vector<float>> features) = 0;
};

// Boosted trees by the C API of XGBoost (1.7 or newer), with a pairwise objective. The library is loaded from `path`;
// empty: libxgboost.so as the system finds it. Error: resource, which names the library and what is missing.
Result<std::unique_ptr<Ranker>> load_xgboost(const std::string& path);

}  // namespace octavo

#endif  // OCTAVO_TUNER_RANKER_H_
