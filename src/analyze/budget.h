// The fastest mixture of int8 and fp32 within an accuracy budget: the search, apart from what is measured. Part of
// analyze/.
#ifndef OCTAVO_ANALYZE_BUDGET_H_
#define OCTAVO_ANALYZE_BUDGET_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "base/result.h"

namespace octavo {

// Of one mixture.
struct MixtureResult {
  double ms = 0.0;      // a run
  double noise = 0.0;   // sum of squared errors of the outputs over that of the outputs themselves
  double excess = 0.0;  // how far beyond the budget, in the metric's unit; 0 or less: within
  bool is_within() const { return excess <= 0.0; }
};

// Groups that compute in fp32, ascending; the others compute in int8.
struct Mixture {
  std::vector<std::size_t> in_float;
  MixtureResult result;
};

// Within the budget the faster one is better, beyond it the nearer one; of equals the one with fewer groups in float.
bool is_better(const Mixture& a, const Mixture& b);

using MeasureMixture = std::function<Result<MixtureResult>(const std::vector<std::size_t>& in_float)>;
// Told of every mixture as soon as it is measured, and whether it is the best so far. An error ends the search.
using VisitMixture = std::function<Status(const Mixture& mixture, bool is_best)>;

// First all in int8. Where that is beyond the budget: each group alone in fp32, which tells what it costs in time,
// conversions included, and each alone in int8, which tells its noise; then the groups with the most noise per time
// together, as many as the budget takes (doubling, then bisection); then each of these back in int8, dearest first,
// where the budget allows it. At least one group stays in int8.
Result<Mixture> search_budget(std::size_t groups, const MeasureMixture& measure, const VisitMixture& visit);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_BUDGET_H_
