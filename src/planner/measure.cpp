// One call, prepared and timed. Part of planner/.
#include "planner/measure.h"

#include <algorithm>

#include "planner/trial.h"

namespace octavo {

std::optional<double> measure_ns(const KernelChoice& kernel, const OpCall& call) {
  constexpr double kLeastRuns = 3.0, kMostRuns = 25.0, kEnoughNs = 20e6;
  Trial trial(call, 1, {.cache = TrialCache::cold});
  if (!trial.prepare(kernel, {}, 0.0)) return std::nullopt;
  const auto first = trial.time({.number = 1, .repeat = 1, .min_repeat_ms = 0.0});
  if (!first) return std::nullopt;
  const double runs = std::clamp(kEnoughNs / std::max(first->front(), 1.0), kLeastRuns, kMostRuns);
  const auto times = trial.time({.number = 1, .repeat = static_cast<int>(runs) - 1, .min_repeat_ms = 0.0});
  if (!times) return std::nullopt;
  return std::min(first->front(), *std::min_element(times->begin(), times->end()));
}

}  // namespace octavo
