// Which groups of layers of a network compute in fp32 and which in int8: two searches, apart from what is measured.
// Part of analyze/.
#ifndef OCTAVO_ANALYZE_MIXED_PRECISION_H_
#define OCTAVO_ANALYZE_MIXED_PRECISION_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace octavo {

using Groups = std::vector<std::size_t>;

// A network that computes in int8 but for some groups of its layers, or as a whole in fp32.
struct Variant {
  bool is_fp32 = false;
  Groups in_fp32;  // ascending
  bool operator==(const Variant&) const = default;
};
inline const Variant kAllInt8{};
inline const Variant kAllFp32{.is_fp32 = true};
// "int8", "fp32", "fp32 in 3 4".
std::string name_of(const Variant& variant);

struct VariantTimes {
  double run_ms = 0.0;
  std::vector<double> group_ms;  // by group: its kernels and the conversions that it causes
};

// Takes the times of these variants in turns, so that what disturbs one disturbs all.
using TimeVariants = std::function<Result<std::vector<VariantTimes>>(const std::vector<Variant>& variants)>;

struct FastestVariant {
  Variant variant;
  VariantTimes int8, fp32, chosen;  // measured together
};

// Groups that are clearly faster in an fp32 network go to fp32 together; those that are not faster any more there, with
// the conversions around them, come back, until none is left that does. Of this variant, int8 and fp32 the fastest is
// chosen; what is only within the noise stays in int8.
Result<FastestVariant> choose_fastest(const TimeVariants& time);

// What a variant that has groups in fp32 is worth.
struct Verdict {
  double ms = 0.0;      // a run
  double noise = 0.0;   // sum of squared errors of the outputs over that of the outputs themselves
  double excess = 0.0;  // how far beyond the budget, in the metric's unit; 0 or less: within
  bool is_within() const { return excess <= 0.0; }
};
struct JudgedVariant {
  Groups in_fp32;
  Verdict verdict;
};

// Within the budget the faster one is better, beyond it the nearer one; of equals the one with fewer groups in fp32.
bool is_better(const JudgedVariant& a, const JudgedVariant& b);

using JudgeVariant = std::function<Result<Verdict>(const Groups& in_fp32)>;
// Told of every variant as soon as it is judged, and whether it is the best so far. An error ends the search.
using VisitVariant = std::function<Status(const JudgedVariant& variant, bool is_best)>;

// The fastest variant within an accuracy budget. First all in int8. Where that is beyond the budget: each group alone
// in fp32, which tells what it costs in time, conversions included, and each alone in int8, which tells its noise; then
// the groups with the most noise per time together, as many as the budget takes (doubling, then bisection); then each
// of these back in int8, dearest first, where the budget allows it. At least one group stays in int8.
Result<JudgedVariant> search_budget(std::size_t groups, const JudgeVariant& judge, const VisitVariant& visit);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_MIXED_PRECISION_H_
