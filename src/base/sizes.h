// Sizes: the extents that a model leaves open, the expressions over them, and the conditions that hold for what was
// made of it: a program that is evaluated once for a new size. Part of base/.
#ifndef OCTAVO_BASE_SIZES_H_
#define OCTAVO_BASE_SIZES_H_

#include <algorithm>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/dim.h"
#include "base/fields.h"
#include "base/result.h"

namespace octavo {

// What an expression can come to; bounds saturate at kUnbounded.
struct SizeRange {
  static constexpr std::int64_t kUnbounded = std::int64_t{1} << 62;
  std::int64_t lowest = 1;
  std::int64_t highest = kUnbounded;
  bool operator==(const SizeRange&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"lowest", &SizeRange::lowest}, Field{"highest", &SizeRange::highest});
  }
};

// An extent that a model leaves open: a number of the range that is a multiple of `step`.
struct OpenSize {
  std::string name;
  SizeRange range;
  std::int64_t step = 1;
  // Expressions are simplified and comparisons answered as if the size were never less than this. A smaller size that
  // is in the range, such as a length of 0, is possible where every answer that relied on it still holds.
  std::int64_t least_usual = 0;
  std::int64_t lowest_usual() const { return std::max(range.lowest, least_usual); }
  bool operator==(const OpenSize&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"name", &OpenSize::name}, Field{"range", &OpenSize::range}, Field{"step", &OpenSize::step},
                      Field{"least_usual", &OpenSize::least_usual});
  }
};

// Numbers are part of the artifact format.
enum class AtomKind : std::uint8_t { size = 0, quotient = 1, smaller = 2, larger = 3 };
constexpr int count_of(AtomKind) { return 4; }
constexpr std::string_view name_of(AtomKind kind) {
  constexpr std::string_view names[] = {"size", "quotient", "smaller", "larger"};
  return names[static_cast<int>(kind)];
}

// A size by its index (over its step), or a function of two expressions, by theirs.
struct SizeAtom {
  AtomKind kind = AtomKind::size;
  std::int32_t a = 0, b = 0;
  auto operator<=>(const SizeAtom&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"kind", &SizeAtom::kind}, Field{"a", &SizeAtom::a}, Field{"b", &SizeAtom::b});
  }
};

struct SizeTerm {
  std::vector<SizeAtom> atoms;  // factors, sorted
  std::int64_t coefficient = 0;
  auto operator<=>(const SizeTerm&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"atoms", &SizeTerm::atoms}, Field{"coefficient", &SizeTerm::coefficient});
  }
};

// constant + terms; these sorted by their atoms, each product once, no coefficient 0.
struct SizeSum {
  std::int64_t constant = 0;
  std::vector<SizeTerm> terms;
  auto operator<=>(const SizeSum&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"constant", &SizeSum::constant}, Field{"terms", &SizeSum::terms});
  }
};

class Sizes;

// Belongs to its table, where equal ones are one.
struct SizeExpression {
  Sizes* table = nullptr;
  std::int32_t index = 0;
  SizeSum sum;
  SizeRange range;     // where every size is at least its lowest_usual()
  SizeRange possible;  // at all sizes
  std::int64_t example = 0;
};

// What an expression has to be.
enum class SizeRelation : std::uint8_t { zero = 0, not_zero = 1, negative = 2, not_negative = 3 };
constexpr int count_of(SizeRelation) { return 4; }
constexpr std::string_view name_of(SizeRelation relation) {
  constexpr std::string_view names[] = {"= 0", "!= 0", "< 0", ">= 0"};
  return names[static_cast<int>(relation)];
}
bool holds(SizeRelation relation, std::int64_t value);
constexpr SizeRelation opposite(SizeRelation relation) {
  return static_cast<SizeRelation>(static_cast<std::uint8_t>(relation) ^ 1);
}

struct SizeCondition {
  std::int32_t expression = 0;
  SizeRelation relation = SizeRelation::zero;
  std::string where;  // who asked
  // Only shape rules asked: where a graph has its shapes at other sizes too, it holds there whatever the answer.
  bool is_of_shapes = false;
  bool operator==(const SizeCondition&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"expression", &SizeCondition::expression}, Field{"relation", &SizeCondition::relation},
                      Field{"where", &SizeCondition::where}, Field{"is_of_shapes", &SizeCondition::is_of_shapes});
  }
};

// "32 to 1024, a multiple of 32".
std::string to_string(const OpenSize& size);

// All of a table, as data. Expressions refer to those before them.
struct SizeProgram {
  std::vector<OpenSize> sizes;
  std::vector<SizeSum> expressions;
  std::vector<SizeCondition> conditions;
  std::vector<SizeCondition> unusual;  // only checked where a size is less than its least_usual
  bool operator==(const SizeProgram&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"sizes", &SizeProgram::sizes}, Field{"expressions", &SizeProgram::expressions},
                      Field{"conditions", &SizeProgram::conditions}, Field{"unusual", &SizeProgram::unusual});
  }
};

// Who decides the sizes of a table: inputs of the model, for which an example stands, or data, of which nobody has an
// example: there is one for each size alone, so that two that are equal in every run may have different ones.
enum class SizesOf : std::uint8_t { inputs, data };

// Not for several threads at a time, but for evaluate() and at_example().
class Sizes {
 public:
  // A table made of another's program.
  struct AtExample;
  // The same sizes, expressions and conditions, with these sizes for the example, those that are less than usual as
  // numbers; the program may be hostile, but what evaluate() said of it at these sizes is no error. Error:
  // invalid_input.
  static Result<AtExample> at_example(const SizeProgram& program, std::span<const std::int64_t> sizes);

  Sizes() = default;
  explicit Sizes(SizesOf of) : of_(of) {}
  Sizes(const Sizes&) = delete;
  Sizes& operator=(const Sizes&) = delete;

  SizeProgram program() const;
  // For evaluate(), size_of() and decoded() alone: of a program that may be hostile. Error: invalid_input.
  static Result<std::shared_ptr<const Sizes>> restored(SizeProgram program);
  // The expression that a number of a file stands for (see encoded), or the dimension as it is.
  Dim decoded(const Dim& dim) const;

  // A new size; `example` is in its range, and usual.
  Dim add(OpenSize size, std::int64_t example);
  const std::vector<OpenSize>& sizes() const { return sizes_; }
  // The index of the size that the dimension is; nothing where it is a number or something else.
  std::optional<std::size_t> size_of(const Dim& dim) const;
  const SizeExpression& expression(std::int32_t index) const { return expressions_[static_cast<std::size_t>(index)]; }
  std::int32_t count() const { return static_cast<std::int32_t>(expressions_.size()); }

  // More or longer expressions were asked for than it holds: what was made since is of no use.
  bool is_full() const { return is_full_; }

  // Whether the example is one of the sizes for which what was made holds.
  bool has_example() const { return has_example_; }

  // Who is told to have asked, from now on.
  void set_asking(std::string where) { asking_ = std::move(where); }
  // Whether it is a shape rule that asks; what it was before.
  bool set_shape_rule_asks(bool asks);
  // Whoever asks from now on has asked nothing yet.
  void forget_asked() { last_asked_.reset(); }
  // The shape rule or importer that asked refuses what the example answered.
  void note_refusal();
  // What they asked last, as they would have it: with another example they may accept.
  const std::vector<SizeCondition>& refused() const { return refused_; }
  // The nearest sizes to the example where the condition holds: one is another, or all that it is about are one number.
  // Nothing where none is found.
  std::optional<std::vector<std::int64_t>> example_for(const SizeCondition& condition) const;
  // What an importer asked and the example answered, as the other answer has it: which of two relations an expression
  // has, or which of two numbers it is. Of an expression that had to be one of many numbers there is no other answer.
  std::vector<SizeCondition> other_answers() const;
  const std::vector<SizeCondition>& conditions() const { return conditions_; }

  // The value of every expression, by its index, for these sizes. Errors (usage): a size outside its range or no
  // multiple of its step, a condition that does not hold, a value beyond 64 bits; with names, values and who asked.
  Result<std::vector<std::int64_t>> evaluate(std::span<const std::int64_t> sizes) const;

  // For Dim.
  static Dim sum(const Dim& a, const Dim& b, std::int64_t factor);
  static Dim product(const Dim& a, const Dim& b);
  static Dim quotient(const Dim& a, const Dim& b);
  static Dim chosen(AtomKind kind, const Dim& a, const Dim& b);
  static bool is(const Dim& dim, SizeRelation relation);
  // Whether it can be 0, which becomes a condition.
  static bool must_be_zero(const Dim& dim);
  std::string text(const SizeSum& sum) const;
  // "2 * w + 1 < h"
  std::string text(const SizeCondition& condition) const;

 private:
  void keep(SizeCondition condition);
  static void keep_once(std::vector<SizeCondition>& conditions, SizeCondition condition);
  // The relation holds at usual sizes, and not known to at others.
  void keep_unusual(const Dim& dim, SizeRelation relation);
  // The same where the ranges say so.
  static void note_unusual(const Dim& dim, SizeRelation relation);
  // Of one expression; nothing where a number is beyond 64 bits.
  std::optional<std::int64_t> value_of(std::int32_t expression, std::span<const std::int64_t> sizes) const;
  std::vector<std::size_t> sizes_in(std::int32_t expression) const;
  SizeSum sum_of(const Dim& dim) const;
  Dim interned(SizeSum sum);
  Dim atom(SizeAtom atom);
  // floor(x / by) + rest
  struct Nested {
    Dim x;
    std::int64_t by, rest;
  };
  std::optional<Nested> quotient_inside(const Dim& dim) const;
  std::int32_t index_of(const Dim& dim);
  // `of` its operands: at usual sizes or at all.
  SizeRange range_of(const SizeAtom& atom, SizeRange SizeExpression::*of) const;
  std::int64_t value_of(const SizeAtom& atom, std::span<const std::int64_t> sizes,
                        std::span<const std::int64_t> values) const;

  std::vector<OpenSize> sizes_;
  std::vector<std::int64_t> examples_;  // of sizes_
  std::vector<std::int64_t> values_;    // of expressions_, at these
  std::deque<SizeExpression> expressions_;
  std::map<SizeSum, std::int32_t> index_;
  std::vector<SizeCondition> conditions_, unusual_;
  std::string asking_;
  bool shape_rule_asks_ = false;
  std::optional<SizeCondition> last_asked_;  // by who asks now
  std::vector<SizeCondition> refused_;
  bool is_full_ = false;
  SizesOf of_ = SizesOf::inputs;
  bool has_example_ = true;
};

struct Sizes::AtExample {
  std::shared_ptr<Sizes> sizes;
  std::vector<Dim> dims;  // what each expression of the program is there, by its index
};

// While it lives, a shape rule asks. Null: there is no table.
class ShapeRuleAsks {
 public:
  explicit ShapeRuleAsks(Sizes* sizes) : sizes_(sizes), before_(sizes != nullptr && sizes->set_shape_rule_asks(true)) {}
  ~ShapeRuleAsks() {
    if (sizes_ != nullptr) sizes_->set_shape_rule_asks(before_);
  }
  ShapeRuleAsks(const ShapeRuleAsks&) = delete;
  ShapeRuleAsks& operator=(const ShapeRuleAsks&) = delete;

 private:
  Sizes* sizes_;
  bool before_;
};

// Whether they can be equal, where something is only right if they are: from then on they have to be. An example of
// inputs answers; one of data does not.
bool must_equal(const Dim& a, const Dim& b);

}  // namespace octavo

#endif  // OCTAVO_BASE_SIZES_H_
