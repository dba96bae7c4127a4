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

}  // namespace

bool Sizes::set_shape_rule_asks(bool asks) {
  if (asks) last_asked_.reset();
  return std::exchange(shape_rule_asks_, asks);
}

void Sizes::note_refusal() {
  if (!last_asked_) return;
  last_asked_->relation = static_cast<SizeRelation>(static_cast<std::uint8_t>(last_asked_->relation) ^ 1);
  refused_.push_back(std::move(*last_asked_));
  last_asked_.reset();
}

// The expressions that it is made of come before it.
std::vector<std::size_t> Sizes::sizes_in(std::int32_t expression) const {
  std::vector<bool> is_needed(static_cast<std::size_t>(expression) + 1, false), is_there(sizes_.size(), false);
  is_needed.back() = true;
  for (std::size_t i = is_needed.size(); i-- > 0;) {
    if (!is_needed[i]) continue;
    for (const SizeTerm& term : expressions_[i].sum.terms) {
      for (const SizeAtom& atom : term.atoms) {
        if (atom.kind == AtomKind::size) is_there[static_cast<std::size_t>(atom.a)] = true;
        else is_needed[static_cast<std::size_t>(atom.a)] = is_needed[static_cast<std::size_t>(atom.b)] = true;
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
  std::vector<std::int64_t> values;
  for (std::int32_t i = 0; i <= expression; ++i) {
    __int128 value = expressions_[static_cast<std::size_t>(i)].sum.constant;
    for (const SizeTerm& term : expressions_[static_cast<std::size_t>(i)].sum.terms) {
      __int128 product = term.coefficient;
      for (const SizeAtom& factor : term.atoms) {
        product *= value_of(factor, sizes, values);
        if (product > SizeRange::kUnbounded || product < -SizeRange::kUnbounded) return std::nullopt;
      }
      value += product;
    }
    if (value > SizeRange::kUnbounded || value < -SizeRange::kUnbounded) return std::nullopt;
    values.push_back(static_cast<std::int64_t>(value));
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
    for (std::int64_t number = 0; number <= kLargestExample; ++number) {
      for (const std::size_t size : changed) sizes[size] = number;
      const bool can_be =
          std::all_of(changed.begin(), changed.end(), [&](std::size_t size) { return is_usual(sizes_[size], number); });
      const auto value = can_be ? value_of(condition.expression, sizes) : std::nullopt;
      if (value && holds(condition.relation, *value)) return sizes;
    }
  }
  return std::nullopt;
}

}  // namespace octavo
