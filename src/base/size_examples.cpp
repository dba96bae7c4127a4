// Examples of sizes that answer a question otherwise. Part of base/.
#include <algorithm>
#include <numeric>

#include "base/sizes.h"

namespace octavo {
namespace {

// What a size is tried to be: more than the pixels of a side of a picture, or than a model has positions.
constexpr std::int64_t kLargestExample = 8192;

bool is_usual(const OpenSize& size, std::int64_t number) {
  return number >= size.lowest_usual() && number <= size.range.highest && number % size.step == 0;
}

// Which expressions it is made of, itself included; they come before it.
std::vector<bool> needed_by(const std::deque<SizeExpression>& expressions, std::int32_t expression) {
  std::vector<bool> is_needed(static_cast<std::size_t>(expression) + 1, false);
  is_needed.back() = true;
  for (std::size_t i = is_needed.size(); i-- > 0;) {
    if (!is_needed[i]) continue;
    for (const SizeTerm& term : expressions[i].sum.terms) {
      for (const SizeAtom& atom : term.atoms) {
        if (atom.kind != AtomKind::size)
          is_needed[static_cast<std::size_t>(atom.a)] = is_needed[static_cast<std::size_t>(atom.b)] = true;
      }
    }
  }
  return is_needed;
}

}  // namespace

bool Sizes::set_shape_rule_asks(bool asks) {
  if (asks) forget_asked();
  return std::exchange(shape_rule_asks_, asks);
}

void Sizes::note_refusal() {
  if (!last_asked_) return;
  last_asked_->relation = opposite(last_asked_->relation);
  refused_.push_back(std::move(*last_asked_));
  last_asked_.reset();
}

std::vector<SizeCondition> Sizes::other_answers() const {
  std::vector<SizeCondition> others;
  for (SizeCondition condition : conditions_) {
    const SizeRange& range = expression(condition.expression).range;
    const bool is_one_of_many = condition.relation == SizeRelation::zero && range.highest - range.lowest > 1;
    if (condition.is_of_shapes || is_one_of_many) continue;
    condition.relation = opposite(condition.relation);
    others.push_back(std::move(condition));
  }
  return others;
}

std::vector<std::size_t> Sizes::sizes_in(std::int32_t expression) const {
  const std::vector<bool> is_needed = needed_by(expressions_, expression);
  std::vector<bool> is_there(sizes_.size(), false);
  for (std::size_t i = 0; i < is_needed.size(); ++i) {
    if (!is_needed[i]) continue;
    for (const SizeTerm& term : expressions_[i].sum.terms) {
      for (const SizeAtom& atom : term.atoms) {
        if (atom.kind == AtomKind::size) is_there[static_cast<std::size_t>(atom.a)] = true;
      }
    }
  }
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < is_there.size(); ++i) {
    if (is_there[i]) found.push_back(i);
  }
  return found;
}

std::optional<std::int64_t> Sizes::value_of(std::int32_t expression, std::span<const std::int64_t> sizes) const {
  const std::vector<bool> is_needed = needed_by(expressions_, expression);
  std::vector<std::int64_t> values(is_needed.size(), 0);
  for (std::size_t i = 0; i < is_needed.size(); ++i) {
    if (!is_needed[i]) continue;
    __int128 value = expressions_[i].sum.constant;
    for (const SizeTerm& term : expressions_[i].sum.terms) {
      __int128 product = term.coefficient;
      for (const SizeAtom& factor : term.atoms) {
        product *= value_of(factor, sizes, values);
        if (product > SizeRange::kUnbounded || product < -SizeRange::kUnbounded) return std::nullopt;
      }
      value += product;
    }
    if (value > SizeRange::kUnbounded || value < -SizeRange::kUnbounded) return std::nullopt;
    values[i] = static_cast<std::int64_t>(value);
  }
  return values.back();
}

std::optional<std::vector<std::int64_t>> Sizes::example_for(const SizeCondition& condition) const {
  const std::vector<std::size_t> asked = sizes_in(condition.expression);
  // Each alone, then all of them together: a picture whose height is its width.
  std::vector<std::vector<std::size_t>> tried;
  for (const std::size_t size : asked) tried.push_back({size});
  if (asked.size() > 1) tried.push_back(asked);
  for (const std::vector<std::size_t>& changed : tried) {
    std::vector<std::int64_t> sizes = examples_;
    const auto holds_at = [&](std::int64_t number) {
      for (const std::size_t size : changed) sizes[size] = number;
      const bool can_be =
          std::all_of(changed.begin(), changed.end(), [&](std::size_t size) { return is_usual(sizes_[size], number); });
      const auto value = can_be ? value_of(condition.expression, sizes) : std::nullopt;
      return value && holds(condition.relation, *value);
    };
    const std::int64_t middle = std::min(examples_[changed.front()], kLargestExample);
    for (std::int64_t distance = 0; distance <= kLargestExample; ++distance) {
      for (const std::int64_t number : {middle - distance, middle + distance}) {
        if (number >= 0 && number <= kLargestExample && holds_at(number)) return sizes;
      }
    }
  }
  return std::nullopt;
}

}  // namespace octavo
