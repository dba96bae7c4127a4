// Choosing by time alone, and by time within an accuracy budget. Part of analyze/.
#include "analyze/mixed_precision.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace octavo {
namespace {

// What is not faster by this much may be the clock's doing.
constexpr double kClearly = 0.95;      // of a group's time
constexpr double kFaster = 0.99;       // of a run's
constexpr double kNegligible = 0.001;  // of a run: a group that saves less is not worth a boundary
constexpr double kLeastCost = 0.005;   // of a run: what a group in fp32 is taken to cost at least

// Those of the groups that are clearly faster than in int8.
Groups faster_groups(const Groups& groups, const VariantTimes& times, const VariantTimes& int8) {
  Groups faster;
  std::copy_if(groups.begin(), groups.end(), std::back_inserter(faster), [&](std::size_t group) {
    const double own = times.group_ms[group], other = int8.group_ms[group];
    return own < kClearly * other && other - own > kNegligible * int8.run_ms;
  });
  return faster;
}

FastestVariant fastest(const std::vector<Variant>& variants, const std::vector<VariantTimes>& times) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < variants.size(); ++i) {
    if (times[i].run_ms < kFaster * times[best].run_ms) best = i;
  }
  return {.variant = variants[best], .int8 = times.front(), .fp32 = times.back(), .chosen = times[best]};
}

class BudgetSearch {
 public:
  BudgetSearch(std::size_t groups, const JudgeVariant& judge, const VisitVariant& visit)
      : groups_(groups), judge_(judge), visit_(visit) {}

  Result<JudgedVariant> within_budget() {
    if (!try_variant({}) || best_.verdict.is_within() || groups_ < 2 || !try_each_alone() || !try_all_but_each())
      return outcome();
    const Groups order = by_noise_per_time();
    const std::size_t enough = prefix_within(order);
    if (errors_.empty() && enough > 0)
      take_back(Groups(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(enough)));
    return outcome();
  }

 private:
  Result<JudgedVariant> outcome() {
    if (!errors_.empty()) return errors_;
    return best_;
  }

  // Nothing where measuring failed.
  const Verdict* try_variant(Groups in_fp32) {
    std::sort(in_fp32.begin(), in_fp32.end());
    const auto [place, is_new] = known_.try_emplace(in_fp32);
    if (!is_new) return &place->second;
    const auto result = judge_(in_fp32);
    if (!result) return fail(result.errors());
    place->second = *result;
    const JudgedVariant variant{std::move(in_fp32), *result};
    const bool is_best = known_.size() == 1 || is_better(variant, best_);
    if (is_best) best_ = variant;
    if (const Status visited = visit_(variant, is_best); !visited) return fail(visited.errors());
    return &place->second;
  }

  const Verdict* fail(Errors errors) {
    errors_ = std::move(errors);
    return nullptr;
  }

  bool try_each_alone() {
    for (std::size_t group = 0; group < groups_ && groups_ > 1; ++group) {
      if (try_variant({group}) == nullptr) return false;
    }
    return true;
  }

  Groups all_but(std::size_t group) const {
    Groups others;
    for (std::size_t other = 0; other < groups_; ++other) {
      if (other != group) others.push_back(other);
    }
    return others;
  }

  bool try_all_but_each() {
    for (std::size_t group = 0; group < groups_; ++group) {
      if (try_variant(all_but(group)) == nullptr) return false;
    }
    return true;
  }

  double cost_of(std::size_t group) const { return known_.at({group}).ms - known_.at({}).ms; }

  Groups by_noise_per_time() const {
    const double least_cost = kLeastCost * known_.at({}).ms;
    const auto worth = [&](std::size_t group) {
      return known_.at(all_but(group)).noise / std::max(cost_of(group), least_cost);
    };
    Groups order(groups_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return worth(a) > worth(b); });
    return order;
  }

  // How many of the first groups must be in fp32; 0 where none of the tried numbers is enough.
  std::size_t prefix_within(const Groups& order) {
    const auto is_enough = [&](std::size_t count) {
      const Verdict* result = try_variant(Groups(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count)));
      return result != nullptr && result->is_within();
    };
    const std::size_t most = groups_ - 1;
    std::size_t low = 0, high = 1;  // low is not enough
    while (!is_enough(high)) {
      if (!errors_.empty() || high == most) return 0;
      low = high;
      high = std::min(2 * high, most);
    }
    while (errors_.empty() && high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      (is_enough(middle) ? high : low) = middle;
    }
    return high;
  }

  void take_back(Groups in_fp32) {
    constexpr std::size_t kMostTries = 32;
    Groups dearest = in_fp32;
    std::stable_sort(dearest.begin(), dearest.end(),
                     [&](std::size_t a, std::size_t b) { return cost_of(a) > cost_of(b); });
    for (std::size_t i = 0; i < std::min(kMostTries, dearest.size()) && in_fp32.size() > 1; ++i) {
      Groups fewer = in_fp32;
      std::erase(fewer, dearest[i]);
      const Verdict* result = try_variant(fewer);
      if (result == nullptr) return;
      if (result->is_within()) in_fp32 = std::move(fewer);
    }
  }

  const std::size_t groups_;
  const JudgeVariant& judge_;
  const VisitVariant& visit_;
  std::map<Groups, Verdict> known_;
  JudgedVariant best_;
  Errors errors_;
};

}  // namespace

std::string name_of(const Variant& variant) {
  if (variant.is_fp32) return "fp32";
  if (variant.in_fp32.empty()) return "int8";
  std::string name = "fp32 in";
  for (const std::size_t group : variant.in_fp32) name += " " + std::to_string(group);
  return name;
}

Result<FastestVariant> choose_fastest(const TimeVariants& time) {
  std::vector<Variant> variants = {kAllInt8, kAllFp32};
  auto times = time(variants);
  if (!times) return times.errors();
  Groups candidates(times->front().group_ms.size());
  std::iota(candidates.begin(), candidates.end(), std::size_t{0});
  for (Groups wanted = faster_groups(candidates, times->back(), times->front()); !wanted.empty();) {
    variants = {kAllInt8, {.in_fp32 = wanted}, kAllFp32};
    times = time(variants);
    if (!times) return times.errors();
    candidates = std::exchange(wanted, faster_groups(wanted, (*times)[1], times->front()));
    if (wanted == candidates) return fastest(variants, *times);
  }
  return fastest({kAllInt8, kAllFp32}, {times->front(), times->back()});
}

bool is_better(const JudgedVariant& a, const JudgedVariant& b) {
  if (a.verdict.is_within() != b.verdict.is_within()) return a.verdict.is_within();
  const double own = a.verdict.is_within() ? a.verdict.ms : a.verdict.excess,
               other = b.verdict.is_within() ? b.verdict.ms : b.verdict.excess;
  return own != other ? own < other : a.in_fp32.size() < b.in_fp32.size();
}

Result<JudgedVariant> search_budget(std::size_t groups, const JudgeVariant& judge, const VisitVariant& visit) {
  return BudgetSearch(groups, judge, visit).within_budget();
}

}  // namespace octavo
