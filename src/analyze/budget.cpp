// Searching mixtures. Part of analyze/.
#include "analyze/budget.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace octavo {
namespace {

using Groups = std::vector<std::size_t>;

// Differences below this share of a run are the clock's.
constexpr double kNegligible = 0.005;

class Search {
 public:
  Search(std::size_t groups, const MeasureMixture& measure, const VisitMixture& visit)
      : groups_(groups), measure_(measure), visit_(visit) {}

  Result<Mixture> within_budget() {
    if (!try_mixture({}) || best_.result.is_within() || groups_ < 2 || !try_each_alone() || !try_all_but_each())
      return outcome();
    const Groups order = by_noise_per_time();
    const std::size_t enough = prefix_within(order);
    if (errors_.empty() && enough > 0)
      take_back(Groups(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(enough)));
    return outcome();
  }

 private:
  Result<Mixture> outcome() {
    if (!errors_.empty()) return errors_;
    return best_;
  }

  // Nothing where measuring failed.
  const MixtureResult* try_mixture(Groups in_float) {
    std::sort(in_float.begin(), in_float.end());
    const auto [place, is_new] = known_.try_emplace(in_float);
    if (!is_new) return &place->second;
    const auto result = measure_(in_float);
    if (!result) return fail(result.errors());
    place->second = *result;
    const Mixture mixture{std::move(in_float), *result};
    const bool is_best = known_.size() == 1 || is_better(mixture, best_);
    if (is_best) best_ = mixture;
    if (const Status visited = visit_(mixture, is_best); !visited) return fail(visited.errors());
    return &place->second;
  }

  const MixtureResult* fail(Errors errors) {
    errors_ = std::move(errors);
    return nullptr;
  }

  bool try_each_alone() {
    for (std::size_t group = 0; group < groups_ && groups_ > 1; ++group) {
      if (try_mixture({group}) == nullptr) return false;
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
      if (try_mixture(all_but(group)) == nullptr) return false;
    }
    return true;
  }

  double cost_of(std::size_t group) const { return known_.at({group}).ms - known_.at({}).ms; }

  Groups by_noise_per_time() const {
    const double least_cost = kNegligible * known_.at({}).ms;
    const auto worth = [&](std::size_t group) {
      return known_.at(all_but(group)).noise / std::max(cost_of(group), least_cost);
    };
    Groups order(groups_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return worth(a) > worth(b); });
    return order;
  }

  // How many of the first groups must be in float; 0 where none of the tried numbers is enough.
  std::size_t prefix_within(const Groups& order) {
    const auto is_enough = [&](std::size_t count) {
      const MixtureResult* result =
          try_mixture(Groups(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count)));
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

  void take_back(Groups in_float) {
    constexpr std::size_t kMostTries = 32;
    Groups dearest = in_float;
    std::stable_sort(dearest.begin(), dearest.end(),
                     [&](std::size_t a, std::size_t b) { return cost_of(a) > cost_of(b); });
    for (std::size_t i = 0; i < std::min(kMostTries, dearest.size()) && in_float.size() > 1; ++i) {
      Groups fewer = in_float;
      std::erase(fewer, dearest[i]);
      const MixtureResult* result = try_mixture(fewer);
      if (result == nullptr) return;
      if (result->is_within()) in_float = std::move(fewer);
    }
  }

  const std::size_t groups_;
  const MeasureMixture& measure_;
  const VisitMixture& visit_;
  std::map<Groups, MixtureResult> known_;
  Mixture best_;
  Errors errors_;
};

}  // namespace

bool is_better(const Mixture& a, const Mixture& b) {
  if (a.result.is_within() != b.result.is_within()) return a.result.is_within();
  const double own = a.result.is_within() ? a.result.ms : a.result.excess,
               other = b.result.is_within() ? b.result.ms : b.result.excess;
  return own != other ? own < other : a.in_float.size() < b.in_float.size();
}

Result<Mixture> search_budget(std::size_t groups, const MeasureMixture& measure, const VisitMixture& visit) {
  return Search(groups, measure, visit).within_budget();
}

}  // namespace octavo
