// The four searches. Part of tuner/.
#include "tuner/search.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <utility>

namespace octavo {
namespace {

using Points = std::vector<std::size_t>;

// What all of them know: which points are left.
class Base : public Search {
 public:
  Base(std::span<const SearchPoint> space, const SearchOptions& options)
      : space_(space), is_left_(space.size(), true), left_(space.size()), random_(options.seed) {}

  void observe(std::span<const SearchTrial> observations) override {
    for (const SearchTrial& observation : observations) {
      if (is_left_[observation.point]) --left_;
      is_left_[observation.point] = false;
      seen_.push_back(observation);
    }
  }

 protected:
  Points points_left() const {
    Points points;
    for (std::size_t i = 0; i < space_.size(); ++i) {
      if (is_left_[i]) points.push_back(i);
    }
    return points;
  }

  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  // Moves `count` of the points, each equally likely, to the front.
  void draw(Points& points, std::size_t count) {
    for (std::size_t i = 0; i < std::min(count, points.size()); ++i)
      std::swap(points[i], points[i + below(points.size() - i)]);
  }

  std::span<const SearchPoint> space_;
  std::vector<bool> is_left_;
  std::size_t left_;
  std::vector<SearchTrial> seen_;
  std::mt19937 random_;
};

class Grid final : public Base {
 public:
  using Base::Base;
  Result<Points> propose(std::size_t most) override {
    Points points = points_left();
    points.resize(std::min(most, points.size()));
    return points;
  }
};

class Random final : public Base {
 public:
  using Base::Base;
  Result<Points> propose(std::size_t most) override {
    Points points = points_left();
    draw(points, most);
    points.resize(std::min(most, points.size()));
    return points;
  }
};

// The first are random. Later ones are children of two of the best: each gene of either parent, some changed to that of
// a point at random; a child that is no point, or one that was seen, is the point that is left and most like it.
class Genetic final : public Base {
 public:
  using Base::Base;
  Result<Points> propose(std::size_t most) override;

 private:
  std::vector<std::int64_t> child(std::span<const SearchTrial> parents);
  std::size_t most_like(const std::vector<std::int64_t>& genes, const std::set<std::size_t>& taken) const;
};

Result<Points> Genetic::propose(std::size_t most) {
  constexpr std::size_t kParents = 16, kFirst = 16;
  most = std::min(most, left_);
  if (seen_.size() < kFirst) {
    Points points = points_left();
    draw(points, most);
    points.resize(most);
    return points;
  }
  std::vector<SearchTrial> parents = seen_;
  std::sort(parents.begin(), parents.end(), [](const auto& a, const auto& b) { return a.ns < b.ns; });
  parents.resize(std::min(kParents, parents.size()));
  std::set<std::size_t> taken;
  Points points;
  while (points.size() < most) {
    points.push_back(most_like(child(parents), taken));
    taken.insert(points.back());
  }
  return points;
}

std::vector<std::int64_t> Genetic::child(std::span<const SearchTrial> parents) {
  constexpr std::size_t kOneIn = 8;  // genes that change
  // The better of two is a parent.
  const auto parent = [&] { return &space_[parents[std::min(below(parents.size()), below(parents.size()))].point]; };
  const SearchPoint *a = parent(), *b = parent();
  std::vector<std::int64_t> genes = a->genes;
  for (std::size_t i = 0; i < genes.size(); ++i) {
    if (below(2) == 0) genes[i] = b->genes[i];
    if (below(kOneIn) == 0) genes[i] = space_[below(space_.size())].genes[i];
  }
  return genes;
}

std::size_t Genetic::most_like(const std::vector<std::int64_t>& genes, const std::set<std::size_t>& taken) const {
  std::size_t best = space_.size();
  double least = HUGE_VAL;
  for (std::size_t i = 0; i < space_.size(); ++i) {
    if (!is_left_[i] || taken.contains(i)) continue;
    double distance = 0.0;
    for (std::size_t k = 0; k < genes.size(); ++k) {
      const auto own = static_cast<double>(space_[i].genes[k]), wanted = static_cast<double>(genes[k]);
      if (own != wanted) distance += 1.0 + std::abs(std::log2((1.0 + own) / (1.0 + wanted)));
    }
    if (distance < least) least = distance, best = i;
  }
  return best;
}

// Half of the first batch is predicted to be fast, half random; then what is ranked first, and one in ten at random.
class Boosted final : public Base {
 public:
  Boosted(std::span<const SearchPoint> space, const SearchOptions& options)
      : Base(space, options), ranker_(*options.ranker), groups_(options.known.begin(), options.known.end()) {}
  Result<Points> propose(std::size_t most) override;

 private:
  // Higher is better, by index of the space; what is predicted where nothing was learned.
  Result<std::vector<float>> scores();

  Ranker& ranker_;
  std::vector<RankedGroup> groups_;  // of other tasks
};

Result<std::vector<float>> Boosted::scores() {
  constexpr std::size_t kLeast = 8;
  std::vector<RankedGroup> groups = groups_;
  if (seen_.size() >= kLeast) {
    RankedGroup& own = groups.emplace_back();
    for (const SearchTrial& observation : seen_) {
      own.features.push_back(space_[observation.point].features);
      own.ns.push_back(observation.ns);
    }
  }
  std::vector<std::vector<float>> features;
  for (const SearchPoint& point : space_) features.push_back(point.features);
  if (!groups.empty()) {
    const Status fitted = ranker_.fit(groups);
    return fitted ? ranker_.predict(features) : fitted.errors();
  }
  std::vector<float> scores;
  for (const SearchPoint& point : space_) scores.push_back(static_cast<float>(-point.predicted_ns));
  return scores;
}

Result<Points> Boosted::propose(std::size_t most) {
  constexpr std::size_t kOneIn = 10;
  most = std::min(most, left_);
  const auto score = scores();
  if (!score) return score.errors();
  Points points = points_left();
  std::stable_sort(points.begin(), points.end(),
                   [&](std::size_t a, std::size_t b) { return (*score)[a] > (*score)[b]; });
  const std::size_t at_random = seen_.empty() && groups_.empty() ? most / 2 : most / kOneIn;
  Points rest(points.begin() + static_cast<std::ptrdiff_t>(most - at_random), points.end());
  draw(rest, at_random);
  points.resize(most - at_random);
  points.insert(points.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(at_random));
  return points;
}

}  // namespace

std::unique_ptr<Search> make_search(std::span<const SearchPoint> space, const SearchOptions& options) {
  switch (options.kind) {
    case SearchKind::grid: return std::make_unique<Grid>(space, options);
    case SearchKind::random: return std::make_unique<Random>(space, options);
    case SearchKind::ga: return std::make_unique<Genetic>(space, options);
    case SearchKind::xgb: break;
  }
  return std::make_unique<Boosted>(space, options);
}

}  // namespace octavo
