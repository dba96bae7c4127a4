// Tables of sizes as data, and made of data that may be hostile. Part of base/.
#include <algorithm>

#include "base/size_limits.h"
#include "base/sizes.h"

namespace octavo {

std::string to_string(const OpenSize& size) {
  return std::to_string(size.range.lowest) + " to " + std::to_string(size.range.highest) +
         (size.step > 1 ? ", a multiple of " + std::to_string(size.step) : "");
}

SizeProgram Sizes::program() const {
  SizeProgram program{.sizes = sizes_, .expressions = {}, .conditions = conditions_, .unusual = unusual_};
  for (const SizeExpression& expression : expressions_) program.expressions.push_back(expression.sum);
  return program;
}

namespace {

bool is_possible(const OpenSize& size) {
  return size.range.lowest >= 0 && size.range.lowest <= size.range.highest &&
         size.range.highest <= SizeRange::kUnbounded && size.step >= 1 && size.step <= kMostDivisor &&
         size.least_usual >= 0 && size.least_usual <= size.range.highest;
}

// Of an expression with this index: it refers to those before it, so that there is no circle.
bool is_possible(const SizeAtom& atom, std::size_t index, std::size_t sizes) {
  const auto is_below = [](std::int32_t a, std::size_t end) { return a >= 0 && static_cast<std::size_t>(a) < end; };
  if (atom.kind == AtomKind::size) return is_below(atom.a, sizes);
  return is_below(atom.a, index) && is_below(atom.b, index);
}

bool is_possible(std::int64_t number) { return number >= -SizeRange::kUnbounded && number <= SizeRange::kUnbounded; }

bool is_possible(const SizeSum& sum, std::size_t index, std::size_t sizes) {
  return is_possible(sum.constant) && sum.terms.size() <= kMostTerms &&
         std::all_of(sum.terms.begin(), sum.terms.end(), [&](const SizeTerm& term) {
           return is_possible(term.coefficient) && term.atoms.size() <= kMostFactors &&
                  std::all_of(term.atoms.begin(), term.atoms.end(),
                              [&](const SizeAtom& atom) { return is_possible(atom, index, sizes); });
         });
}

Error damaged(const char* what, std::size_t index) {
  return {.kind = ErrorKind::invalid_input,
          .where = "size program",
          .found = std::string(what) + " " + std::to_string(index) + " that cannot be",
          .expected = "sizes with ranges, and expressions over those before them"};
}

}  // namespace

Result<std::shared_ptr<const Sizes>> Sizes::restored(SizeProgram program) {
  const std::size_t count = program.expressions.size();
  if (count > kMostExpressions) return damaged("number of expressions", count);
  auto sizes = std::make_shared<Sizes>();
  for (std::size_t i = 0; i < program.sizes.size(); ++i) {
    if (!is_possible(program.sizes[i])) return damaged("size", i);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_possible(program.expressions[i], i, program.sizes.size())) return damaged("expression", i);
    sizes->expressions_.push_back({.table = sizes.get(), .index = static_cast<std::int32_t>(i)});
    sizes->expressions_.back().sum = std::move(program.expressions[i]);
  }
  for (const std::vector<SizeCondition>* conditions : {&program.conditions, &program.unusual}) {
    for (std::size_t i = 0; i < conditions->size(); ++i) {
      const std::int32_t expression = (*conditions)[i].expression;
      if (expression < 0 || static_cast<std::size_t>(expression) >= count) return damaged("condition", i);
    }
  }
  sizes->sizes_ = std::move(program.sizes);
  sizes->conditions_ = std::move(program.conditions);
  sizes->unusual_ = std::move(program.unusual);
  return std::shared_ptr<const Sizes>(std::move(sizes));
}

Result<Sizes::AtExample> Sizes::at_example(const SizeProgram& program, std::span<const std::int64_t> sizes) {
  if (const auto possible = restored(program); !possible) return possible.errors();
  if (sizes.size() != program.sizes.size()) return damaged("number of sizes", program.sizes.size());
  AtExample made{.sizes = std::make_shared<Sizes>(), .dims = {}};
  Sizes& table = *made.sizes;
  const auto is_unusual = [&](std::size_t size) { return sizes[size] < program.sizes[size].least_usual; };
  for (std::size_t i = 0; i < program.sizes.size(); ++i) {
    OpenSize size = program.sizes[i];
    if (is_unusual(i)) size = {.name = size.name, .range = {sizes[i], sizes[i]}, .step = size.step};
    table.add(std::move(size), sizes[i]);
  }
  const auto dim_of = [&](const SizeAtom& atom) -> Dim {
    const auto size = static_cast<std::size_t>(atom.a);
    if (atom.kind == AtomKind::size)
      return is_unusual(size) ? Dim(sizes[size] / program.sizes[size].step) : table.atom(atom);
    const Dim &a = made.dims[static_cast<std::size_t>(atom.a)], &b = made.dims[static_cast<std::size_t>(atom.b)];
    if (atom.kind == AtomKind::smaller) return smaller(a, b);
    if (atom.kind == AtomKind::larger) return larger(a, b);
    if (is_zero(b)) return is_zero(a) ? 0 : SizeRange::kUnbounded;
    return a / b;
  };
  for (std::size_t i = 0; i < program.expressions.size(); ++i) {
    Dim sum = program.expressions[i].constant;
    for (const SizeTerm& term : program.expressions[i].terms) {
      Dim product = term.coefficient;
      for (const SizeAtom& factor : term.atoms) product *= dim_of(factor);
      sum += product;
    }
    if (table.is_full()) return damaged("expression", i);
    made.dims.push_back(sum);
  }
  const auto keep = [&](const std::vector<SizeCondition>& conditions, std::vector<SizeCondition>& kept) {
    for (SizeCondition condition : conditions) {
      const Dim& dim = made.dims[static_cast<std::size_t>(condition.expression)];
      if (dim.is_number()) continue;
      condition.expression = dim.expression()->index;
      keep_once(kept, std::move(condition));
    }
  };
  keep(program.conditions, table.conditions_);
  keep(program.unusual, table.unusual_);
  return made;
}

Dim Sizes::decoded(const Dim& dim) const {
  const auto index = static_cast<std::uint64_t>(encoded(dim)) - static_cast<std::uint64_t>(kFirstOpen);
  return index < expressions_.size() ? Dim(expressions_[index]) : dim;
}

}  // namespace octavo
