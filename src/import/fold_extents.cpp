// Shape arithmetic on open extents. Part of import/.
#include "import/fold_extents.h"

#include <algorithm>
#include <optional>

#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/concat/concat.h"
#include "ops/movement.h"
#include "ops/reduce/reduce.h"
#include "ops/unary/unary.h"
#include "ops/where/where.h"

namespace octavo {
namespace {

using Extents = std::vector<Dim>;

bool counts(DType dtype) { return dtype == DType::s64 || dtype == DType::s32; }

// The elements of an integer constant.
Extents extents_of(const Fact& fact) {
  if (fact.extents != nullptr) return *fact.extents;
  const std::vector<std::int64_t> numbers = to_int64s(fact.constant->view());
  return {numbers.begin(), numbers.end()};
}

// Which inputs hold what is moved; the others say where.
bool is_moved(const OpSpec& spec, std::size_t input) {
  if (&spec == &kWhere) return input > 0;
  return &spec == &kConcat || input == 0;
}

// The reference moves places instead of elements: where each one comes from.
std::optional<Extents> moved(const OpSpec& spec, const Attrs& attrs, const std::vector<const Fact*>& inputs,
                             const Fact& output) {
  Extents all;
  std::vector<Tensor> places;
  std::vector<ConstTensorView> views;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) return std::nullopt;
    if (!is_moved(spec, i)) {
      if (inputs[i]->extents != nullptr) return std::nullopt;
      views.push_back(inputs[i]->constant->view());
      continue;
    }
    Tensor own(DType::s64, inputs[i]->shape);
    for (std::int64_t& place : own.span<std::int64_t>()) place = std::ssize(all) + (&place - own.as<std::int64_t>());
    const Extents extents = extents_of(*inputs[i]);
    all.insert(all.end(), extents.begin(), extents.end());
    places.push_back(std::move(own));
    views.push_back(std::as_const(places.back()).view());
  }
  Tensor from(DType::s64, output.shape);
  const std::vector<TensorView> results = {from.view()};
  spec.reference(attrs, views, results);
  Extents made;
  for (const std::int64_t place : from.span<std::int64_t>()) made.push_back(all[static_cast<std::size_t>(place)]);
  return made;
}

// Integer division truncates; that of what may be negative is not among the sums and quotients of extents.
std::optional<Dim> computed(BinaryKind kind, const Dim& a, const Dim& b) {
  switch (kind) {
    case BinaryKind::add: return a + b;
    case BinaryKind::sub: return a - b;
    case BinaryKind::mul: return a * b;
    case BinaryKind::min: return smaller(a, b);
    case BinaryKind::max: return larger(a, b);
    case BinaryKind::div: return b > 0 && a >= 0 ? std::optional(a / b) : std::nullopt;
    case BinaryKind::mod: return b > 0 && a >= 0 ? std::optional(a % b) : std::nullopt;
    case BinaryKind::equal: return Dim(a == b ? 1 : 0);
    case BinaryKind::greater: return Dim(a > b ? 1 : 0);
    case BinaryKind::greater_or_equal: return Dim(a >= b ? 1 : 0);
    case BinaryKind::less: return Dim(a < b ? 1 : 0);
    case BinaryKind::less_or_equal: return Dim(a <= b ? 1 : 0);
    default: return std::nullopt;
  }
}

std::optional<Extents> computed(const BinaryAttrs& binary, const Fact& a, const Fact& b, const Fact& output) {
  const Extents x = extents_of(a), y = extents_of(b);
  const std::vector<std::int64_t> along_x = broadcast_strides(a.shape, output.shape),
                                  along_y = broadcast_strides(b.shape, output.shape);
  std::vector<std::size_t> from_x, from_y;
  for_each_offset(output.shape, along_x, 0, [&](std::int64_t at) { from_x.push_back(static_cast<std::size_t>(at)); });
  for_each_offset(output.shape, along_y, 0, [&](std::int64_t at) { from_y.push_back(static_cast<std::size_t>(at)); });
  Extents made;
  for (std::size_t i = 0; i < from_x.size(); ++i) {
    const auto one = computed(binary.kind, x[from_x[i]], y[from_y[i]]);
    if (!one) return std::nullopt;
    made.push_back(*one);
  }
  return made;
}

std::optional<Extents> computed(UnaryKind kind, const Fact& x) {
  Extents made = extents_of(x);
  for (Dim& dim : made) {
    if (kind == UnaryKind::neg) dim = 0 - dim;
    else if (kind == UnaryKind::abs) dim = larger(dim, 0 - dim);
    else return std::nullopt;
  }
  return made;
}

// Over all elements: what counts the elements of a shape, or takes the least of a size and a number that was asked for.
std::optional<Extents> reduced(const ReduceAttrs& reduce, const Fact& x, const Fact& output) {
  const Extents all = extents_of(x);
  if (output.shape.elements() != 1) return std::nullopt;
  if (all.empty() && reduce.kind == ReduceKind::prod) return Extents{1};
  if (all.empty()) return std::nullopt;
  std::optional<BinaryKind> kind;
  if (reduce.kind == ReduceKind::prod) kind = BinaryKind::mul;
  if (reduce.kind == ReduceKind::sum) kind = BinaryKind::add;
  if (reduce.kind == ReduceKind::min) kind = BinaryKind::min;
  if (reduce.kind == ReduceKind::max) kind = BinaryKind::max;
  if (!kind) return std::nullopt;
  Dim result = all[0];
  for (std::size_t i = 1; i < all.size(); ++i) result = *computed(*kind, result, all[i]);
  return Extents{result};
}

std::optional<Extents> fold(const OpSpec& spec, const Attrs& attrs, const std::vector<const Fact*>& inputs,
                            const Fact& output) {
  if (!counts(inputs[0] == nullptr ? DType::f32 : inputs[0]->dtype) && &spec != &kWhere) return std::nullopt;
  if (const auto* binary = attrs.get_if<BinaryAttrs>()) return computed(*binary, *inputs[0], *inputs[1], output);
  if (const auto* unary = attrs.get_if<UnaryAttrs>()) return computed(unary->kind, *inputs[0]);
  if (const auto* reduce = attrs.get_if<ReduceAttrs>()) return reduced(*reduce, *inputs[0], output);
  if (&spec == &kCast) return counts(output.dtype) ? std::optional(extents_of(*inputs[0])) : std::nullopt;
  const Elements kind = elements_of(spec, attrs);
  if (kind == Elements::moved || kind == Elements::joined || &spec == &kWhere)
    return moved(spec, attrs, inputs, output);
  return std::nullopt;
}

// Sizes that can be 0 are those that data decide.
bool can_be_none(const Sizes& table) {
  return std::any_of(table.sizes().begin(), table.sizes().end(),
                     [](const OpenSize& size) { return size.lowest_usual() == 0; });
}

// Whether a relation between 0 and the difference is not known before.
bool is_undecided(BinaryKind kind, const Dim& difference) {
  if (difference.is_number() || !can_be_none(*difference.expression()->table)) return false;
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

}  // namespace

bool is_for_the_run(const Attrs& attrs, const std::vector<const Fact*>& inputs) {
  const auto* binary = attrs.get_if<BinaryAttrs>();
  if (binary == nullptr || !counts(inputs[0]->dtype)) return false;
  const Extents a = extents_of(*inputs[0]), b = extents_of(*inputs[1]);
  if (a.size() != 1 || b.size() != 1) return false;
  return is_undecided(binary->kind, a[0] - b[0]);
}

std::vector<ValueId> add_folded_extents(Graph& graph, const OpSpec& spec, const Attrs& attrs,
                                        const std::vector<const Fact*>& inputs, const std::vector<Fact>& outputs,
                                        const std::string& name) {
  const auto extents = outputs.size() == 1 ? fold(spec, attrs, inputs, outputs[0]) : std::nullopt;
  if (!extents) {
    for (const Fact* input : inputs) {
      if (input != nullptr && input->extents != nullptr) static_cast<void>(fixed(*input->extents));
    }
    return {};
  }
  const Fact& output = outputs[0];
  if (counts(output.dtype) && !all_numbers(*extents))
    return {graph.add_extents(name, output.dtype, output.shape, *extents)};
  Tensor numbers(output.dtype, output.shape);
  for (std::size_t i = 0; i < extents->size(); ++i)
    store_double(numbers.view(), static_cast<std::int64_t>(i), static_cast<double>((*extents)[i].example()));
  return {graph.add_constant(name, std::move(numbers))};
}

}  // namespace octavo
