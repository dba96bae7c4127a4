// Expressions in normal form, their ranges and values. Part of base/.
#include "base/sizes.h"

#include <algorithm>
#include <iterator>

#include "base/size_limits.h"

namespace octavo {
namespace {

using Wide = __int128;

constexpr std::int64_t kUnbounded = SizeRange::kUnbounded;

std::int64_t size_saturated(Wide value) {
  return static_cast<std::int64_t>(std::clamp<Wide>(value, -kUnbounded, kUnbounded));
}

Wide divided(Wide a, Wide b) {
  const Wide quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

SizeRange sum(const SizeRange& a, const SizeRange& b) {
  return {size_saturated(Wide{a.lowest} + b.lowest), size_saturated(Wide{a.highest} + b.highest)};
}

// Of function(x, y) that is monotonous in both: the ends are at corners.
template <class Function>
SizeRange at_corners(const SizeRange& a, const SizeRange& b, const Function& function) {
  const Wide corners[] = {function(Wide{a.lowest}, Wide{b.lowest}), function(Wide{a.lowest}, Wide{b.highest}),
                          function(Wide{a.highest}, Wide{b.lowest}), function(Wide{a.highest}, Wide{b.highest})};
  return {size_saturated(*std::min_element(corners, corners + 4)),
          size_saturated(*std::max_element(corners, corners + 4))};
}

SizeRange size_product(const SizeRange& a, const SizeRange& b) {
  return at_corners(a, b, [](Wide x, Wide y) { return x * y; });
}

// How often `divisor` goes into the product, rounded down, and what is left: all of it where it does not divide its
// atoms, or has others and leaves something.
struct Divided {
  SizeTerm whole, rest;
};
Divided split(const SizeTerm& term, const SizeTerm& divisor) {
  SizeTerm whole{.coefficient = size_saturated(divided(term.coefficient, divisor.coefficient))};
  SizeTerm rest{term.atoms, size_saturated(term.coefficient - Wide{whole.coefficient} * divisor.coefficient)};
  const bool has_atoms =
      std::includes(term.atoms.begin(), term.atoms.end(), divisor.atoms.begin(), divisor.atoms.end());
  if (!has_atoms || (!divisor.atoms.empty() && rest.coefficient != 0)) return {{}, term};
  std::set_difference(term.atoms.begin(), term.atoms.end(), divisor.atoms.begin(), divisor.atoms.end(),
                      std::back_inserter(whole.atoms));
  return {std::move(whole), std::move(rest)};
}

void add_term(SizeSum& sum, SizeTerm term) {
  if (term.atoms.empty()) {
    sum.constant = size_saturated(Wide{sum.constant} + term.coefficient);
    return;
  }
  const auto at = std::lower_bound(sum.terms.begin(), sum.terms.end(), term,
                                   [](const SizeTerm& a, const SizeTerm& b) { return a.atoms < b.atoms; });
  if (at == sum.terms.end() || at->atoms != term.atoms) {
    if (term.coefficient != 0) sum.terms.insert(at, std::move(term));
    return;
  }
  at->coefficient = size_saturated(Wide{at->coefficient} + term.coefficient);
  if (at->coefficient == 0) sum.terms.erase(at);
}

// The constant as a term, too.
std::vector<SizeTerm> all_terms(const SizeSum& sum) {
  std::vector<SizeTerm> terms = sum.terms;
  if (sum.constant != 0) terms.push_back({{}, sum.constant});
  return terms;
}

// What is so for every value of a range, where one of the relation and its opposite is.
std::optional<bool> known(SizeRelation relation, const SizeRange& range) {
  const bool is_about_zero = relation == SizeRelation::zero || relation == SizeRelation::not_zero;
  if (is_about_zero && (range.lowest > 0 || range.highest < 0)) return relation == SizeRelation::not_zero;
  if (!is_about_zero && range.lowest >= 0) return relation == SizeRelation::not_negative;
  if (!is_about_zero && range.highest < 0) return relation == SizeRelation::negative;
  return std::nullopt;
}

SizeRange range_at(const Dim& dim, SizeRange SizeExpression::*of) {
  return dim.is_number() ? SizeRange{dim.example(), dim.example()} : dim.expression()->*of;
}

Sizes& table_of(const Dim& a, const Dim& b) { return *(a.is_number() ? b : a).expression()->table; }

}  // namespace

bool holds(SizeRelation relation, std::int64_t value) {
  switch (relation) {
    case SizeRelation::zero: return value == 0;
    case SizeRelation::not_zero: return value != 0;
    case SizeRelation::negative: return value < 0;
    case SizeRelation::not_negative: return value >= 0;
  }
  return false;
}

// ---- expressions ----

Dim Sizes::add(OpenSize size, std::int64_t example) {
  examples_.push_back(example);
  sizes_.push_back(std::move(size));
  const SizeTerm term{{{AtomKind::size, static_cast<std::int32_t>(sizes_.size()) - 1, 0}}, sizes_.back().step};
  return interned({0, {term}});
}

std::optional<std::size_t> Sizes::size_of(const Dim& dim) const {
  if (dim.is_number() || dim.expression()->sum.constant != 0 || dim.expression()->sum.terms.size() != 1)
    return std::nullopt;
  const SizeTerm& term = dim.expression()->sum.terms[0];
  if (term.atoms.size() != 1 || term.atoms[0].kind != AtomKind::size) return std::nullopt;
  const auto index = static_cast<std::size_t>(term.atoms[0].a);
  return term.coefficient == sizes_[index].step ? std::optional(index) : std::nullopt;
}

SizeSum Sizes::sum_of(const Dim& dim) const {
  return dim.is_number() ? SizeSum{size_saturated(dim.example()), {}} : dim.expression()->sum;
}

std::int32_t Sizes::index_of(const Dim& dim) {
  if (!dim.is_number()) return dim.expression()->index;
  // A number among the operands of an atom.
  const std::int64_t number = size_saturated(dim.example());
  const auto [at, is_new] = index_.try_emplace({number, {}}, count());
  if (is_new) {
    values_.push_back(number);
    expressions_.push_back({this, at->second, at->first, {number, number}, {number, number}, number});
  }
  return at->second;
}

Dim Sizes::interned(SizeSum sum) {
  if (sum.terms.empty()) return sum.constant;
  const auto found = index_.find(sum);
  if (found != index_.end()) return Dim(expression(found->second));
  const auto is_long = [](const SizeTerm& term) { return term.atoms.size() > kMostFactors; };
  is_full_ = is_full_ || expressions_.size() >= kMostExpressions || sum.terms.size() > kMostTerms ||
             std::any_of(sum.terms.begin(), sum.terms.end(), is_long);
  const SizeRange constant{sum.constant, sum.constant};
  SizeExpression made{
      .table = this, .index = count(), .range = constant, .possible = constant, .example = sum.constant};
  for (const SizeTerm& term : sum.terms) {
    Wide example = term.coefficient;
    for (const SizeAtom& factor : term.atoms) example = size_saturated(example * value_of(factor, examples_, values_));
    for (const auto of : {&SizeExpression::range, &SizeExpression::possible}) {
      SizeRange range{term.coefficient, term.coefficient};
      for (const SizeAtom& factor : term.atoms) range = size_product(range, range_of(factor, of));
      made.*of = octavo::sum(made.*of, range);
    }
    made.example = size_saturated(Wide{made.example} + example);
  }
  if (is_full_) return made.example;
  made.sum = sum;
  index_.emplace(std::move(sum), made.index);
  values_.push_back(made.example);
  expressions_.push_back(std::move(made));
  return Dim(expressions_.back());
}

Dim Sizes::atom(SizeAtom atom) { return interned({0, {{{atom}, 1}}}); }

SizeRange Sizes::range_of(const SizeAtom& atom, SizeRange SizeExpression::*of) const {
  if (atom.kind == AtomKind::size) {
    const OpenSize& size = sizes_[static_cast<std::size_t>(atom.a)];
    const std::int64_t least = of == &SizeExpression::range ? size.lowest_usual() : size.range.lowest;
    return {static_cast<std::int64_t>(-divided(-least, size.step)),
            static_cast<std::int64_t>(divided(size.range.highest, size.step))};
  }
  const SizeRange& a = expression(atom.a).*of;
  const SizeRange& b = expression(atom.b).*of;
  switch (atom.kind) {
    case AtomKind::smaller: return {std::min(a.lowest, b.lowest), std::min(a.highest, b.highest)};
    case AtomKind::larger: return {std::max(a.lowest, b.lowest), std::max(a.highest, b.highest)};
    default: break;
  }
  if (b.lowest <= 0 && b.highest >= 0) return {-kUnbounded, kUnbounded};
  return at_corners(a, b, divided);
}

std::int64_t Sizes::value_of(const SizeAtom& atom, std::span<const std::int64_t> sizes,
                             std::span<const std::int64_t> values) const {
  if (atom.kind == AtomKind::size)
    return sizes[static_cast<std::size_t>(atom.a)] / sizes_[static_cast<std::size_t>(atom.a)].step;
  const std::int64_t a = values[static_cast<std::size_t>(atom.a)], b = values[static_cast<std::size_t>(atom.b)];
  switch (atom.kind) {
    case AtomKind::smaller: return std::min(a, b);
    case AtomKind::larger: return std::max(a, b);
    default: break;
  }
  if (b != 0) return static_cast<std::int64_t>(divided(a, b));
  return a == 0 ? 0 : kUnbounded;  // nothing among none
}

Dim Sizes::sum(const Dim& a, const Dim& b, std::int64_t factor) {
  Sizes& table = table_of(a, b);
  SizeSum made = table.sum_of(a);
  for (SizeTerm term : all_terms(table.sum_of(b))) {
    term.coefficient = size_saturated(Wide{term.coefficient} * factor);
    add_term(made, std::move(term));
  }
  return table.interned(std::move(made));
}

Dim Sizes::product(const Dim& a, const Dim& b) {
  Sizes& table = table_of(a, b);
  SizeSum made;
  for (const SizeTerm& x : all_terms(table.sum_of(a))) {
    for (const SizeTerm& y : all_terms(table.sum_of(b))) {
      SizeTerm term{.coefficient = size_saturated(Wide{x.coefficient} * y.coefficient)};
      std::merge(x.atoms.begin(), x.atoms.end(), y.atoms.begin(), y.atoms.end(), std::back_inserter(term.atoms));
      add_term(made, std::move(term));
    }
  }
  return table.interned(std::move(made));
}

std::optional<Sizes::Nested> Sizes::quotient_inside(const Dim& dim) const {
  if (dim.is_number() || dim.expression()->sum.terms.size() != 1) return std::nullopt;
  const SizeTerm& term = dim.expression()->sum.terms[0];
  if (term.coefficient != 1 || term.atoms.size() != 1 || term.atoms[0].kind != AtomKind::quotient) return std::nullopt;
  const SizeExpression &x = expression(term.atoms[0].a), &by = expression(term.atoms[0].b);
  if (!by.sum.terms.empty() || by.sum.constant < 1 || by.sum.constant > kMostDivisor) return std::nullopt;
  return Nested{Dim(x), by.sum.constant, dim.expression()->sum.constant};
}

// What is divided comes out of the quotient: floor((b * q + r) / b) = q + floor(r / b).
Dim Sizes::quotient(const Dim& a, const Dim& b) {
  note_unusual(b, SizeRelation::not_zero);
  if (a.expression() == b.expression() && !a.is_number()) return 1;
  Sizes& table = table_of(a, b);
  const std::vector<SizeTerm> divisor = all_terms(table.sum_of(b));
  SizeSum whole, rest;
  for (const SizeTerm& term : all_terms(table.sum_of(a))) {
    const Divided parts = divisor.size() == 1 ? split(term, divisor[0]) : Divided{{}, term};
    add_term(whole, parts.whole);
    add_term(rest, parts.rest);
  }
  const Dim outside = table.interned(whole), left = table.interned(rest);
  const auto is_less = [&](SizeRange SizeExpression::*of) {
    const SizeRange range = range_at(left, of);
    return range.lowest >= 0 && range.highest < range_at(b, of).lowest;
  };
  if (is_less(&SizeExpression::range)) {
    note_unusual(left, SizeRelation::not_negative);
    if (!is_less(&SizeExpression::possible)) table.keep_unusual(left - b, SizeRelation::negative);
    return outside;
  }
  if (const auto nested = table.quotient_inside(left); nested && b.is_number() && b.example() > 0) {
    // floor((floor(x / c) + k) / b) = floor((x + k * c) / (c * b))
    const auto& [x, c, k] = *nested;
    return outside + (x + k * c) / (b * c);
  }
  return outside + table.atom({AtomKind::quotient, table.index_of(left), table.index_of(b)});
}

Dim Sizes::chosen(AtomKind kind, const Dim& a, const Dim& b) {
  Sizes& table = table_of(a, b);
  const Dim difference = a - b;
  const SizeRange range = range_at(difference, &SizeExpression::range);
  const SizeRange possible = range_at(difference, &SizeExpression::possible);
  if (range.highest <= 0) {
    if (possible.highest > 0) table.keep_unusual(b - a, SizeRelation::not_negative);
    return kind == AtomKind::smaller ? a : b;
  }
  if (range.lowest >= 0) {
    if (possible.lowest < 0) table.keep_unusual(difference, SizeRelation::not_negative);
    return kind == AtomKind::smaller ? b : a;
  }
  const std::int32_t x = table.index_of(a), y = table.index_of(b);
  return table.atom({kind, std::min(x, y), std::max(x, y)});
}

bool Sizes::is(const Dim& dim, SizeRelation relation) {
  if (dim.is_number()) return holds(relation, dim.example());
  const SizeExpression& expression = *dim.expression();
  if (const auto usual = known(relation, expression.range)) {
    note_unusual(dim, *usual ? relation : opposite(relation));
    return *usual;
  }
  const bool answer = holds(relation, expression.example);
  Sizes& table = *expression.table;
  table.keep({expression.index, answer ? relation : opposite(relation), table.asking_, table.shape_rule_asks_});
  return answer;
}

bool Sizes::must_be_zero(const Dim& dim) {
  if (dim.is_number()) return dim.example() == 0;
  const SizeExpression& expression = *dim.expression();
  Sizes& table = *expression.table;
  const bool is_possible = expression.range.lowest <= 0 && expression.range.highest >= 0;
  if (table.of_ == SizesOf::inputs || expression.example == 0 || !is_possible) return is(dim, SizeRelation::zero);
  table.has_example_ = false;
  table.keep({expression.index, SizeRelation::zero, table.asking_, table.shape_rule_asks_});
  return true;
}

void Sizes::keep_once(std::vector<SizeCondition>& conditions, SizeCondition condition) {
  const auto before = std::find_if(conditions.begin(), conditions.end(), [&](const SizeCondition& c) {
    return c.expression == condition.expression && c.relation == condition.relation;
  });
  if (before == conditions.end()) conditions.push_back(std::move(condition));
  else before->is_of_shapes = before->is_of_shapes && condition.is_of_shapes;
}

void Sizes::keep(SizeCondition condition) {
  // Not where a message reads a number; what a rule refuses is seldom that two things are equal.
  if (condition.relation != SizeRelation::zero) last_asked_ = condition;
  keep_once(conditions_, std::move(condition));
}

void Sizes::keep_unusual(const Dim& dim, SizeRelation relation) {
  if (!dim.is_number()) keep_once(unusual_, {dim.expression()->index, relation, asking_, shape_rule_asks_});
}

void Sizes::note_unusual(const Dim& dim, SizeRelation relation) {
  if (dim.is_number() || known(relation, dim.expression()->possible)) return;
  if (known(relation, dim.expression()->range)) dim.expression()->table->keep_unusual(dim, relation);
}

// ---- values ----

Result<std::vector<std::int64_t>> Sizes::evaluate(std::span<const std::int64_t> sizes) const {
  const auto refuse = [](std::string where, std::string found, std::string expected) {
    return Error{.kind = ErrorKind::usage,
                 .where = std::move(where),
                 .found = std::move(found),
                 .expected = std::move(expected)};
  };
  if (sizes.size() != sizes_.size())
    return refuse("sizes", std::to_string(sizes.size()) + " of them", std::to_string(sizes_.size()));
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    const OpenSize& size = sizes_[i];
    if (sizes[i] < size.range.lowest || sizes[i] > size.range.highest || sizes[i] % size.step != 0) {
      return refuse("size '" + size.name + "'", std::to_string(sizes[i]), to_string(size));
    }
  }
  std::vector<std::int64_t> values;
  for (const SizeExpression& expression : expressions_) {
    Wide value = expression.sum.constant;
    for (const SizeTerm& term : expression.sum.terms) {
      Wide size_product = term.coefficient;
      for (const SizeAtom& factor : term.atoms)
        size_product = size_saturated(size_product * value_of(factor, sizes, values));
      value += size_product;
    }
    // What is beyond all bounds, or is divided by nothing, may be what nobody reads; no shape has such an extent.
    values.push_back(size_saturated(value));
  }
  const auto broken_of = [&](const std::vector<SizeCondition>& conditions) {
    const auto broken = std::find_if(conditions.begin(), conditions.end(), [&](const SizeCondition& condition) {
      return !holds(condition.relation, values[static_cast<std::size_t>(condition.expression)]);
    });
    return broken == conditions.end() ? nullptr : &*broken;
  };
  bool is_usual = true;
  for (std::size_t i = 0; i < sizes_.size(); ++i) is_usual = is_usual && sizes[i] >= sizes_[i].least_usual;
  const SizeCondition* broken = broken_of(conditions_);
  if (broken == nullptr && !is_usual) broken = broken_of(unusual_);
  if (broken == nullptr) return values;
  std::string given;
  for (std::size_t i = 0; i < sizes_.size(); ++i)
    given += (given.empty() ? "" : ", ") + sizes_[i].name + " = " + std::to_string(sizes[i]);
  return refuse(broken->where, given, text(*broken));
}

std::string Sizes::text(const SizeSum& sum) const {
  const auto text_of = [&](const SizeAtom& atom) {
    if (atom.kind == AtomKind::size) {
      const OpenSize& size = sizes_[static_cast<std::size_t>(atom.a)];
      return size.step > 1 ? "(" + size.name + " / " + std::to_string(size.step) + ")" : size.name;
    }
    const std::string a = text(expression(atom.a).sum), b = text(expression(atom.b).sum);
    if (atom.kind == AtomKind::quotient) return "floor((" + a + ") / (" + b + "))";
    return (atom.kind == AtomKind::smaller ? "min(" : "max(") + a + ", " + b + ")";
  };
  std::string text;
  for (const SizeTerm& term : all_terms(sum)) {
    if (!text.empty()) text += term.coefficient < 0 ? " - " : " + ";
    else if (term.coefficient < 0) text += "-";
    const std::int64_t magnitude = term.coefficient < 0 ? -term.coefficient : term.coefficient;
    std::string factors = magnitude == 1 && !term.atoms.empty() ? "" : std::to_string(magnitude);
    for (const SizeAtom& atom : term.atoms) factors += (factors.empty() ? "" : " * ") + text_of(atom);
    text += factors;
  }
  return text.empty() ? "0" : text;
}

std::string Sizes::text(const SizeCondition& condition) const {
  constexpr std::string_view relations[] = {" = ", " != ", " < ", " >= "};
  SizeSum left, right;
  for (SizeTerm term : all_terms(expression(condition.expression).sum)) {
    SizeSum& side = term.coefficient > 0 ? left : right;
    if (term.coefficient < 0) term.coefficient = -term.coefficient;
    add_term(side, std::move(term));
  }
  // Sizes of windows of windows fill pages.
  const auto readable = [&](const SizeSum& side) {
    constexpr std::size_t kMost = 120;
    const std::string whole = text(side);
    return whole.size() <= kMost ? whole : whole.substr(0, kMost) + " ...";
  };
  return readable(left) + std::string(relations[static_cast<int>(condition.relation)]) + readable(right);
}

// ---- Dim ----

Dim::Dim(const SizeExpression& expression) : value_(expression.example), expression_(&expression) {}

std::int64_t Dim::at(std::span<const std::int64_t> values) const {
  const std::uint64_t index = static_cast<std::uint64_t>(encoded(*this)) - static_cast<std::uint64_t>(kFirstOpen);
  return index < values.size() ? values[index] : value_;
}

Dim Dim::at(std::span<const Dim> dims) const {
  const std::uint64_t index = static_cast<std::uint64_t>(encoded(*this)) - static_cast<std::uint64_t>(kFirstOpen);
  return index < dims.size() ? dims[index] : *this;
}

std::int64_t Dim::fixed_example() const {
  static_cast<void>(*this == Dim(value_));
  return value_;
}

Dim Dim::added(const Dim& a, const Dim& b, std::int64_t factor) {
  return are_numbers(a, b) ? Dim(size_saturated(a.value_ + Wide{factor} * b.value_)) : Sizes::sum(a, b, factor);
}
Dim Dim::multiplied(const Dim& a, const Dim& b) {
  return are_numbers(a, b) ? Dim(size_saturated(Wide{a.value_} * b.value_)) : Sizes::product(a, b);
}
Dim Dim::divided(const Dim& a, const Dim& b) {
  return are_numbers(a, b) ? Dim(size_saturated(octavo::divided(a.value_, b.value_))) : Sizes::quotient(a, b);
}
Dim Dim::chosen(const Dim& a, const Dim& b, bool is_larger) {
  return Sizes::chosen(is_larger ? AtomKind::larger : AtomKind::smaller, a, b);
}
bool Dim::is_equal(const Dim& a, const Dim& b) {
  return a.expression_ == b.expression_ || Sizes::is(a - b, SizeRelation::zero);
}
bool Dim::is_less(const Dim& a, const Dim& b) { return Sizes::is(a - b, SizeRelation::negative); }

bool must_equal(const Dim& a, const Dim& b) {
  return (!a.is_number() && a.expression() == b.expression()) || Sizes::must_be_zero(a - b);
}

std::int64_t encoded(const Dim& dim) { return dim.is_number() ? dim.example() : kFirstOpen + dim.expression()->index; }

std::string to_string(const Dim& dim) {
  return dim.is_number() ? std::to_string(dim.example()) : dim.expression()->table->text(dim.expression()->sum);
}

}  // namespace octavo
