// Shape arithmetic on open extents. Part of import/.
#include "import/fold_extents.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/open_shape.h"
#include "import/float_sizes.h"
#include "import/places.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/evaluate.h"
#include "ops/reduce/reduce.h"
#include "ops/unary/unary.h"
#include "ops/where/where.h"

namespace octavo {
namespace {

using Extents = std::vector<Dim>;

constexpr std::int64_t kMostFloats = 64;  // of a list of sizes; larger ones are tables

bool counts(DType dtype) { return dtype == DType::s64 || dtype == DType::s32; }

// Sizes, floats that are one, and answers to comparisons, 0 or 1.
bool can_be_open(const Fact& fact) {
  if (fact.dtype == DType::f32) return fact.shape.elements() <= kMostFloats;
  return counts(fact.dtype) || fact.dtype == DType::boolean;
}

// The elements of a constant; nothing where a float is no whole number.
std::optional<Extents> whole_elements(const Fact& fact) {
  if (fact.extents != nullptr) return *fact.extents;
  const std::vector<std::int64_t> numbers = to_int64s(fact.constant->view());
  for (std::size_t i = 0; is_float(fact.dtype) && i < numbers.size(); ++i) {
    const double number = element_as_double(fact.constant->view(), static_cast<std::int64_t>(i));
    if (std::abs(number) > kExactInFloats || number != std::trunc(number)) return std::nullopt;
  }
  return Extents(numbers.begin(), numbers.end());
}

std::optional<Extents> moved(const OpSpec& spec, const Attrs& attrs, const std::vector<const Fact*>& inputs,
                             const Fact& output) {
  Extents all;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr || (!holds_elements(spec, i) && inputs[i]->extents != nullptr)) return std::nullopt;
    const auto elements = holds_elements(spec, i) ? whole_elements(*inputs[i]) : Extents();
    if (!elements) return std::nullopt;
    all.insert(all.end(), elements->begin(), elements->end());
  }
  Extents made;
  for (const std::size_t place : moved_places(spec, attrs, inputs, output)) made.push_back(all[place]);
  return made;
}

// 1 where a > 0, else 0.
Dim is_above(const Dim& a) { return larger(smaller(a, 1), 0); }
Dim is_not(const Dim& truth) { return 1 - truth; }

// Truncated, as the integers of a file are.
std::optional<Dim> quotient(const Dim& a, const Dim& b) {
  if (b < 0) return quotient(0 - a, 0 - b);
  if (b == 0) return std::nullopt;
  return larger(a, 0) / b - larger(0 - a, 0) / b;
}

std::optional<Dim> computed(BinaryKind kind, const Dim& a, const Dim& b) {
  switch (kind) {
    case BinaryKind::add: return a + b;
    case BinaryKind::sub: return a - b;
    case BinaryKind::mul: return a * b;
    case BinaryKind::min: return smaller(a, b);
    case BinaryKind::max: return larger(a, b);
    case BinaryKind::div: return quotient(a, b);
    case BinaryKind::mod: return b > 0 ? std::optional(a % b) : std::nullopt;
    case BinaryKind::equal: return is_not(is_above(larger(a - b, b - a)));
    case BinaryKind::greater: return is_above(a - b);
    case BinaryKind::greater_or_equal: return is_not(is_above(b - a));
    case BinaryKind::less: return is_above(b - a);
    case BinaryKind::less_or_equal: return is_not(is_above(a - b));
    case BinaryKind::logical_and: return smaller(a, b);
    case BinaryKind::logical_or: return larger(a, b);
    case BinaryKind::logical_xor: return larger(a, b) - smaller(a, b);
    default: return std::nullopt;
  }
}

// Floats round products of two sizes, and quotients.
bool stays_whole(BinaryKind kind, const Dim& a, const Dim& b) {
  if (kind == BinaryKind::mul) return a.is_number() || b.is_number();
  return kind != BinaryKind::div && kind != BinaryKind::mod;
}

std::optional<Extents> computed(const BinaryAttrs& binary, const Fact& a, const Fact& b, const Fact& output) {
  const auto x = whole_elements(a), y = whole_elements(b);
  if (!x || !y) return std::nullopt;
  const std::vector<std::size_t> from_x = broadcast_places(a.shape, output.shape),
                                 from_y = broadcast_places(b.shape, output.shape);
  Extents made;
  for (std::size_t i = 0; i < from_x.size(); ++i) {
    const Dim &one = (*x)[from_x[i]], &other = (*y)[from_y[i]];
    if (is_float(a.dtype) && !stays_whole(binary.kind, one, other)) return std::nullopt;
    const auto result = computed(binary.kind, one, other);
    if (!result) return std::nullopt;
    made.push_back(*result);
  }
  return made;
}

std::optional<Extents> computed(UnaryKind kind, const Fact& x) {
  auto made = whole_elements(x);
  if (!made) return std::nullopt;
  for (Dim& dim : *made) {
    switch (kind) {
      case UnaryKind::neg: dim = 0 - dim; break;
      case UnaryKind::abs: dim = larger(dim, 0 - dim); break;
      case UnaryKind::logical_not: dim = is_not(dim); break;
      case UnaryKind::identity:
      case UnaryKind::floor:
      case UnaryKind::ceil:
      case UnaryKind::round: break;
      default: return std::nullopt;
    }
  }
  return made;
}

// b + condition * (a - b); of a condition that is known, one of them.
std::optional<Extents> selected(const std::vector<const Fact*>& inputs, const Fact& output) {
  const auto condition = whole_elements(*inputs[0]), a = whole_elements(*inputs[1]), b = whole_elements(*inputs[2]);
  if (!condition || !a || !b) return std::nullopt;
  const std::vector<std::size_t> from = broadcast_places(inputs[0]->shape, output.shape),
                                 from_a = broadcast_places(inputs[1]->shape, output.shape),
                                 from_b = broadcast_places(inputs[2]->shape, output.shape);
  Extents made;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Dim &truth = (*condition)[from[i]], &yes = (*a)[from_a[i]], &no = (*b)[from_b[i]];
    if (truth.is_number()) made.push_back(truth.example() != 0 ? yes : no);
    else made.push_back(no + truth * (yes - no));
  }
  return made;
}

// Over all elements: what counts the elements of a shape, or takes the least of a size and a number that was asked for.
std::optional<Extents> reduced(const ReduceAttrs& reduce, const Fact& x, const Fact& output) {
  const auto all = whole_elements(x);
  if (!all || output.shape.elements() != 1) return std::nullopt;
  if (all->empty() && reduce.kind == ReduceKind::prod) return Extents{1};
  if (all->empty()) return std::nullopt;
  std::optional<BinaryKind> kind;
  if (reduce.kind == ReduceKind::prod && !is_float(x.dtype)) kind = BinaryKind::mul;
  if (reduce.kind == ReduceKind::sum) kind = BinaryKind::add;
  if (reduce.kind == ReduceKind::min) kind = BinaryKind::min;
  if (reduce.kind == ReduceKind::max) kind = BinaryKind::max;
  if (!kind) return std::nullopt;
  Dim result = (*all)[0];
  for (std::size_t i = 1; i < all->size(); ++i) result = *computed(*kind, result, (*all)[i]);
  return Extents{result};
}

std::optional<Extents> fold(const OpSpec& spec, const Attrs& attrs, const std::vector<const Fact*>& inputs,
                            const Fact& output) {
  const auto is_fit = [](const Fact* fact) { return fact != nullptr && can_be_open(*fact); };
  if (!is_fit(inputs[0]) || !can_be_open(output)) return std::nullopt;
  if (const auto* binary = attrs.get_if<BinaryAttrs>()) return computed(*binary, *inputs[0], *inputs[1], output);
  if (const auto* unary = attrs.get_if<UnaryAttrs>()) return computed(unary->kind, *inputs[0]);
  if (const auto* reduce = attrs.get_if<ReduceAttrs>()) return reduced(*reduce, *inputs[0], output);
  if (&spec == &kWhere)
    return is_fit(inputs[1]) && is_fit(inputs[2]) ? selected(inputs, output) : std::optional<Extents>();
  if (&spec == &kCast) return output.dtype != DType::boolean ? whole_elements(*inputs[0]) : std::optional<Extents>();
  const Elements kind = elements_of(spec, attrs);
  if (kind == Elements::moved || kind == Elements::joined) return moved(spec, attrs, inputs, output);
  return std::nullopt;
}

// Whether a relation between 0 and the difference is not known before.
bool is_undecided(BinaryKind kind, const Dim& difference) {
  if (difference.is_number() || !are_of_data(*difference.expression()->table)) return false;
  const auto [lowest, highest] = difference.expression()->range;
  switch (kind) {
    case BinaryKind::equal: return lowest <= 0 && highest >= 0;
    case BinaryKind::less:
    case BinaryKind::greater_or_equal: return lowest < 0 && highest >= 0;
    case BinaryKind::greater:
    case BinaryKind::less_or_equal: return lowest <= 0 && highest > 0;
    default: return false;
  }
}

bool all_numbers(const Extents& extents) {
  return std::all_of(extents.begin(), extents.end(), [](const Dim& dim) { return dim.is_number(); });
}

ValueId add(Graph& graph, const Fact& fact, const Extents& extents, const std::string& name) {
  if (all_numbers(extents)) {
    Tensor numbers(fact.dtype, fact.shape);
    for (std::size_t i = 0; i < extents.size(); ++i)
      store_double(numbers.view(), static_cast<std::int64_t>(i), static_cast<double>(extents[i].example()));
    return graph.add_constant(name, std::move(numbers));
  }
  if (counts(fact.dtype)) return graph.add_extents(name, fact.dtype, fact.shape, extents);
  const ValueId sizes = graph.add_extents(name + ".sizes", DType::s64, fact.shape, extents);
  const auto cast = graph.add_node(kCast, CastAttrs{.to = fact.dtype}, {sizes}, name, {});
  return cast ? graph.node(*cast).outputs[0] : ValueId{};
}

}  // namespace

Fact fact_with_sizes(const Graph& graph, ValueId value) {
  Fact fact = graph.fact(value);
  const Node* node = graph.producer(value);
  if (node == nullptr || node->spec != &kCast || counts(fact.dtype)) return fact;
  const Fact& sizes = graph.fact(node->inputs[0]);
  if (sizes.extents == nullptr || !can_be_open(fact)) return fact;
  const ConstTensorView inputs[] = {sizes.constant->view()};
  auto example = evaluate_op(kCast, node->attrs, inputs);
  if (!example) return fact;
  fact.constant = std::make_shared<const Tensor>(std::move(example->front()));
  fact.extents = sizes.extents;
  return fact;
}

bool is_for_the_run(const Attrs& attrs, const std::vector<const Fact*>& inputs) {
  const auto* binary = attrs.get_if<BinaryAttrs>();
  if (binary == nullptr || !counts(inputs[0]->dtype)) return false;
  const auto a = whole_elements(*inputs[0]), b = whole_elements(*inputs[1]);
  if (a->size() != 1 || b->size() != 1) return false;
  return is_undecided(binary->kind, (*a)[0] - (*b)[0]);
}

std::vector<ValueId> add_folded_extents(Graph& graph, const OpSpec& spec, const Attrs& attrs,
                                        const std::vector<const Fact*>& inputs, const std::vector<Fact>& outputs,
                                        const std::string& name) {
  if (const auto extents = outputs.size() == 1 ? fold(spec, attrs, inputs, outputs[0]) : std::nullopt)
    return {add(graph, outputs[0], *extents, name)};
  return {};
}

ValueId add_integers_of_floats(Graph& graph, const OpSpec& spec, const Attrs& attrs, const std::vector<ValueId>& inputs,
                               const std::string& name) {
  const auto* cast = &spec == &kCast ? attrs.get_if<CastAttrs>() : nullptr;
  if (cast != nullptr && counts(cast->to) && is_float(graph.fact(inputs[0]).dtype)) {
    const Fact output{.dtype = cast->to, .shape = graph.fact(inputs[0]).shape};
    if (const auto sizes = truncated_sizes(graph, inputs[0])) return add(graph, output, *sizes, name);
  }
  const auto example = at_example(graph, inputs);
  if (!example) return {};
  std::vector<const Fact*> facts;
  std::vector<ConstTensorView> views;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    facts.push_back(&graph.fact(inputs[i]));
    views.push_back(example->tensors[i].view());
  }
  const auto inferred = infer_checked(spec, attrs, facts);
  const bool is_list = inferred && inferred->size() == 1 && !is_float(inferred->front().dtype) &&
                       !is_open(inferred->front().shape.dims()) && inferred->front().shape.elements() <= kMostFloats;
  auto made = is_list ? evaluate_op(spec, attrs, views) : Errors();
  if (!made) return {};
  example->fix();
  return graph.add_constant(name, std::move(made->front()));
}

}  // namespace octavo
