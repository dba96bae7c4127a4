// Fractions of sizes, by the nodes that compute them. Part of import/.
#include "import/float_sizes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "graph/open_shape.h"
#include "import/float_factors.h"
#include "import/places.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/evaluate.h"
#include "ops/unary/unary.h"

namespace octavo {
namespace {

constexpr int kMostNodes = 64;  // that are looked at for one value; sizes take a dozen
constexpr std::int64_t kMostElements = 64;

// over / under, which is above 0, or over * factor. Exact, or rounded once, to the nearest float.
struct Fraction {
  Dim over;
  Dim under = 1;
  bool is_rounded = false;
  std::optional<FloatFactor> factor = std::nullopt;

  bool is_whole() const { return is_one(under) && !factor; }
};
using Fractions = std::vector<Fraction>;

bool is_power_of_two(const Dim& dim) {
  return dim.is_number() && dim.example() > 0 && (dim.example() & (dim.example() - 1)) == 0;
}

// Factors of a few bits: their products with sizes are exact. 0.1 is none.
std::optional<Fraction> fraction_of(double number) {
  constexpr double kLargest = 65536.0;
  for (std::int64_t under = 1; under <= 65536; under *= 2) {
    const double over = number * static_cast<double>(under);
    if (std::abs(over) <= kLargest && over == std::trunc(over)) return Fraction{static_cast<std::int64_t>(over), under};
  }
  return std::nullopt;
}

// Arithmetic goes on with what is exact.
bool are_exact(const Fraction& a, const Fraction& b) {
  return !a.is_rounded && !b.is_rounded && !a.factor && !b.factor;
}

std::optional<Fraction> sum(const Fraction& a, const Fraction& b, int sign) {
  if (!are_exact(a, b)) return std::nullopt;
  if (is_same(a.under, b.under)) return Fraction{a.over + sign * b.over, a.under};
  return Fraction{a.over * b.under + sign * b.over * a.under, a.under * b.under};
}

std::optional<Fraction> product(const Fraction& a, const Fraction& b) {
  if (a.factor && is_one(a.over) && b.is_whole()) return Fraction{b.over, 1, true, a.factor};
  if (b.factor && is_one(b.over) && a.is_whole()) return Fraction{a.over, 1, true, b.factor};
  if (!are_exact(a, b) || !(a.over.is_number() || b.over.is_number())) return std::nullopt;
  return Fraction{a.over * b.over, a.under * b.under};
}

std::optional<Fraction> quotient(const Fraction& a, const Fraction& b) {
  if (!are_exact(a, b) || !(b.over > 0)) return std::nullopt;
  const Dim under = a.under * b.over;
  return Fraction{a.over * b.under, under, !is_power_of_two(under)};
}

std::optional<Fraction> computed(BinaryKind kind, const Fraction& a, const Fraction& b) {
  switch (kind) {
    case BinaryKind::add: return sum(a, b, 1);
    case BinaryKind::sub: return sum(a, b, -1);
    case BinaryKind::mul: return product(a, b);
    case BinaryKind::div: return quotient(a, b);
    default: return std::nullopt;
  }
}

// The quotient of two integers below 2^24, rounded to the nearest float, is an integer or on the same side of all
// integers as before: it differs from the next one by 1 / under at least, which is more than half a step there. Of
// halves that is so below 2^23.
void ask_exact(const Fraction& fraction, std::int64_t end) {
  if (fraction.is_rounded) static_cast<void>(fraction.over < end && fraction.under < end);
}

std::optional<Dim> floor_of(const Fraction& fraction) {
  if (fraction.factor) return whole_product(fraction.over, *fraction.factor, WholeOf::floor);
  ask_exact(fraction, kExactInFloats);
  return fraction.over / fraction.under;
}

std::optional<Dim> ceil_of(const Fraction& fraction) {
  if (fraction.factor) return whole_product(fraction.over, *fraction.factor, WholeOf::ceil);
  ask_exact(fraction, kExactInFloats);
  return 0 - (0 - fraction.over) / fraction.under;
}

// Halves to the even neighbour.
std::optional<Dim> nearest_of(const Fraction& fraction) {
  if (fraction.factor) return std::nullopt;
  ask_exact(fraction, kExactInFloats / 2);
  const Dim twice = 2 * fraction.over + fraction.under, under = 2 * fraction.under;
  const Dim nearest = twice / under, is_half = 1 - smaller(1, twice % under);
  return nearest - is_half * (nearest % 2);
}

std::optional<Fraction> computed(UnaryKind kind, const Fraction& x) {
  std::optional<Dim> whole;
  switch (kind) {
    case UnaryKind::identity: return x;
    case UnaryKind::neg: return x.factor ? std::nullopt : std::optional(Fraction{0 - x.over, x.under, x.is_rounded});
    case UnaryKind::floor: whole = floor_of(x); break;
    case UnaryKind::ceil: whole = ceil_of(x); break;
    case UnaryKind::round: whole = nearest_of(x); break;
    default: break;
  }
  return whole ? std::optional(Fraction{*whole}) : std::nullopt;
}

// Of one graph.
class FloatSizes {
 public:
  explicit FloatSizes(const Graph& graph) : graph_(graph) {}

  std::optional<Fractions> read(ValueId value) {
    const Fact& fact = graph_.fact(value);
    if (++nodes_ > kMostNodes || is_open(fact.shape.dims()) || fact.shape.elements() > kMostElements)
      return std::nullopt;
    if (fact.is_constant()) return of_constant(fact);
    const Node* node = graph_.producer(value);
    return node == nullptr || node->outputs.size() != 1 ? std::nullopt : of_node(*node, fact);
  }

 private:
  static std::optional<Fractions> of_constant(const Fact& fact) {
    Fractions made;
    if (fact.extents != nullptr) {
      for (const Dim& dim : *fact.extents) made.push_back({dim});
      return made;
    }
    for (std::int64_t i = 0; i < fact.constant->elements(); ++i) {
      const double number = element_as_double(fact.constant->view(), i);
      made.push_back(fraction_of(number).value_or(Fraction{1, 1, false, FloatFactor{number, fact.dtype}}));
    }
    return made;
  }

  std::optional<Fractions> of_node(const Node& node, const Fact& fact) {
    if (node.spec == &kCast) return is_float(fact.dtype) ? read(node.inputs[0]) : std::nullopt;
    if (const auto* unary = node.attrs.get_if<UnaryAttrs>()) {
      auto x = read(node.inputs[0]);
      return x ? each(x->size(), [&](std::size_t i) { return computed(unary->kind, (*x)[i]); }) : std::nullopt;
    }
    if (const auto* binary = node.attrs.get_if<BinaryAttrs>()) {
      const auto a = read(node.inputs[0]), b = read(node.inputs[1]);
      if (!a || !b) return std::nullopt;
      const auto from_a = broadcast_places(graph_.fact(node.inputs[0]).shape, fact.shape),
                 from_b = broadcast_places(graph_.fact(node.inputs[1]).shape, fact.shape);
      return each(from_a.size(),
                  [&](std::size_t i) { return computed(binary->kind, (*a)[from_a[i]], (*b)[from_b[i]]); });
    }
    const Elements kind = elements_of(*node.spec, node.attrs);
    return kind == Elements::moved || kind == Elements::joined ? moved(node, fact) : std::nullopt;
  }

  std::optional<Fractions> moved(const Node& node, const Fact& fact) {
    Fractions all;
    std::vector<const Fact*> facts;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].exists()) return std::nullopt;
      facts.push_back(&graph_.fact(node.inputs[i]));
      if (!holds_elements(*node.spec, i)) {
        if (!facts.back()->is_constant() || facts.back()->extents != nullptr) return std::nullopt;
        continue;
      }
      const auto part = read(node.inputs[i]);
      if (!part) return std::nullopt;
      all.insert(all.end(), part->begin(), part->end());
    }
    Fractions made;
    for (const std::size_t place : moved_places(*node.spec, node.attrs, facts, fact)) made.push_back(all[place]);
    return made;
  }

  template <class Function>
  static std::optional<Fractions> each(std::size_t count, const Function& function) {
    Fractions made;
    for (std::size_t i = 0; i < count; ++i) {
      auto one = function(i);
      if (!one) return std::nullopt;
      made.push_back(std::move(*one));
    }
    return made;
  }

  const Graph& graph_;
  int nodes_ = 0;
};

// No example answers for what data decide.
bool is_of_data(const std::vector<Dim>& extents) {
  return std::any_of(extents.begin(), extents.end(),
                     [](const Dim& dim) { return !dim.is_number() && are_of_data(*dim.expression()->table); });
}

// Of one graph, each value once.
class Examples {
 public:
  explicit Examples(const Graph& graph) : graph_(graph) {}

  const Tensor* read(ValueId value) {
    if (const auto known = made_.find(value.index); known != made_.end()) return &known->second;
    const Fact& fact = graph_.fact(value);
    if (fact.is_constant()) {
      if (fact.extents != nullptr && is_of_data(*fact.extents)) return nullptr;
      if (fact.extents != nullptr) sizes.push_back(fact.extents);
      return fact.constant.get();
    }
    const Node* node = graph_.producer(value);
    if (node == nullptr || !node->spec->folds_at_import || node->outputs.size() != 1 || ++nodes_ > kMostNodes ||
        is_open(fact.shape.dims()) || fact.shape.elements() > kMostElements)
      return nullptr;
    std::vector<ConstTensorView> inputs;
    for (const ValueId input : node->inputs) {
      const Tensor* tensor = input.exists() ? read(input) : nullptr;
      if (input.exists() && tensor == nullptr) return nullptr;
      inputs.push_back(tensor != nullptr ? tensor->view() : ConstTensorView{});
    }
    auto results = evaluate_op(*node->spec, node->attrs, inputs);
    return results ? &made_.emplace(value.index, std::move(results->front())).first->second : nullptr;
  }

  std::vector<std::shared_ptr<const std::vector<Dim>>> sizes;  // that were read

 private:
  const Graph& graph_;
  std::map<int, Tensor> made_;
  int nodes_ = 0;
};

}  // namespace

std::optional<std::vector<Dim>> truncated_sizes(const Graph& graph, ValueId floats) {
  const auto fractions = FloatSizes(graph).read(floats);
  if (!fractions) return std::nullopt;
  std::vector<Dim> sizes;
  for (const Fraction& fraction : *fractions) {
    const auto whole = fraction.over >= 0 ? floor_of(fraction) : std::nullopt;
    if (!whole) return std::nullopt;
    sizes.push_back(*whole);
  }
  return sizes;
}

bool are_of_data(const Sizes& table) {
  return std::any_of(table.sizes().begin(), table.sizes().end(),
                     [](const OpenSize& size) { return size.lowest_usual() == 0; });
}

void ExampleValues::fix() const {
  for (const auto& list : sizes) static_cast<void>(fixed(*list));
}

std::optional<ExampleValues> at_example(const Graph& graph, std::span<const ValueId> values) {
  Examples examples(graph);
  ExampleValues made;
  for (const ValueId value : values) {
    const Tensor* found = value.exists() ? examples.read(value) : nullptr;
    if (found == nullptr) return std::nullopt;
    made.tensors.push_back(*found);
  }
  made.sizes = std::move(examples.sizes);
  return made;
}

}  // namespace octavo
