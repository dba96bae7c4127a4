// What one operator of a file becomes, node by node. Part of import/.
#include "import/builder.h"

#include <algorithm>
#include <cstring>

#include "graph/open_shape.h"
#include "import/float_sizes.h"
#include "import/fold.h"
#include "ops/cast/cast.h"
#include "ops/reshape/reshape.h"

namespace octavo::importing {
namespace {

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

}  // namespace

NodeBuilder::NodeBuilder(GraphBuilder& built, std::string name, std::string origin)
    : built_(built), first_value_(built.graph.value_count()), name_(std::move(name)), origin_(std::move(origin)) {
  if (built.graph.sizes() != nullptr) built.graph.sizes()->forget_asked();
}

const Fact& NodeBuilder::fact(ValueId id) const {
  static const Fact kNone;
  return id.exists() ? built_.graph.fact(id) : kNone;
}

ValueId NodeBuilder::placed(ValueId value, std::string place) {
  if (value.exists()) places_.emplace_back(value, std::move(place));
  return value;
}

std::string NodeBuilder::place_of(ValueId value) const {
  const auto found =
      std::find_if(places_.rbegin(), places_.rend(), [&](const auto& place) { return place.first == value; });
  return found == places_.rend() ? "an inner value" : found->second;
}

std::vector<ValueId> NodeBuilder::add_exactly(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs,
                                              std::string_view suffix) {
  const std::vector<ValueId> nothing(static_cast<std::size_t>(spec.outputs));
  if (failed()) return nothing;
  while (!inputs.empty() && !inputs.back().exists()) inputs.pop_back();
  const bool stays = !built_.folds_integer_casts && &spec == &kCast && is_8bit(dtype(inputs[0]));
  if (!stays) {
    auto constants = add_folded(built_.graph, spec, attrs, inputs, called(suffix), built_.fold_budget);
    if (!constants.empty()) return constants;
  }
  const std::string name = built_.unique_name(called(suffix));
  auto node = built_.graph.add_node(spec, std::move(attrs), std::move(inputs), name, origin_);
  if (node) return built_.graph.node(*node).outputs;
  for (const Error& error : node.errors()) record(error.kind, error.where, error.found, error.expected);
  return nothing;
}

ValueId NodeBuilder::add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, std::string_view suffix) {
  DType half = DType::f32;
  for (ValueId& input : inputs) {
    if (!built_.widens_halves || !input.exists() || !is_half(dtype(input))) continue;
    half = dtype(input);
    input = widened(input);
  }
  const ValueId result = add_exactly(spec, std::move(attrs), std::move(inputs), suffix).front();
  return half != DType::f32 && result.exists() && dtype(result) == DType::f32 ? rounded(result, half, suffix) : result;
}

ValueId NodeBuilder::widened(ValueId value) {
  const auto known = built_.wide.find(value.index);
  if (known != built_.wide.end()) return known->second;
  const ValueId wide = add_exactly(kCast, CastAttrs{.to = DType::f32}, {value}, "widened").front();
  if (wide.exists()) built_.wide[value.index] = wide;
  return wide;
}

ValueId NodeBuilder::rounded(ValueId value, DType to, std::string_view suffix) {
  const ValueId result = cast(value, to, std::string(suffix) + "rounded");
  // A constant stays what its type can hold: widening it again starts from the rounded value.
  if (is_half(to) && result.exists() && !is_constant(result)) built_.wide[result.index] = value;
  return result;
}

ValueId NodeBuilder::constant(Tensor tensor, std::string_view suffix) {
  return built_.graph.add_constant(called(suffix), std::move(tensor));
}

// An empty one, the shape of a scalar, has no memory to copy.
ValueId NodeBuilder::extents(const Extents& extents, std::string_view suffix) {
  const Shape shape{std::ssize(extents)};
  if (is_open(extents)) return built_.graph.add_extents(called(suffix), DType::s64, shape, extents);
  if (extents.empty()) return constant(Tensor(DType::s64, shape), suffix);
  return constant(Tensor::of<std::int64_t>(shape, fixed(extents)), suffix);
}

ValueId NodeBuilder::scalar_like(ValueId value, double number, std::string_view suffix) {
  Tensor tensor(dtype(value), Shape{});
  store_double(tensor.view(), 0, number);
  return constant(std::move(tensor), suffix);
}

ValueId NodeBuilder::unary(const UnaryAttrs& attrs, ValueId x, std::string_view suffix) {
  return add(kUnary, attrs, {x}, suffix);
}

ValueId NodeBuilder::binary(BinaryKind kind, ValueId a, ValueId b, std::string_view suffix) {
  return add(kBinary, BinaryAttrs{.kind = kind}, {a, b}, suffix);
}

ValueId NodeBuilder::cast(ValueId value, DType to, std::string_view suffix) {
  if (!value.exists() || dtype(value) == to) return value;
  return add_exactly(kCast, CastAttrs{.to = to}, {value}, suffix).front();
}

ValueId NodeBuilder::reshape(ValueId value, Extents dims, std::string_view suffix) {
  if (!value.exists() || is_same(shape(value).dims(), dims)) return value;
  return add(kReshape, ReshapeAttrs{.shape = std::move(dims)}, {value}, suffix);
}

void NodeBuilder::record(ErrorKind kind, std::string_view what, std::string found, std::string expected) {
  has_failed_ = true;
  if (built_.graph.sizes() != nullptr) built_.graph.sizes()->note_refusal();
  const std::string place = what.empty() ? origin_ : origin_ + ", " + std::string(what);
  built_.report(kind, built_.scope + place, std::move(found), std::move(expected));
}

ValueId NodeBuilder::fail(std::string_view what, std::string found, std::string expected) {
  record(ErrorKind::invalid_input, what, std::move(found), std::move(expected));
  return {};
}

ValueId NodeBuilder::unsupported(std::string_view what, std::string found, std::string expected) {
  record(ErrorKind::unsupported, what, std::move(found), std::move(expected));
  return {};
}

std::int64_t NodeBuilder::axis(const Number& axis, int rank) {
  if (const auto normal = normalize_axis(axis, rank)) return *normal;
  fail(axis.place.empty() ? "axis" : axis.place, std::to_string(axis.value),
       "an axis of a value of rank " + std::to_string(rank));
  return 0;
}

Integers NodeBuilder::axes(const Numbers& axes, int rank) {
  Integers normal;
  for (const std::int64_t one : axes) {
    const std::int64_t found = axis({one, axes.place}, rank);
    if (!failed() && std::find(normal.begin(), normal.end(), found) != normal.end())
      fail(axes.place, "axis " + std::to_string(one) + " twice", "it once");
    if (failed()) return {};
    normal.push_back(found);
  }
  return normal;
}

void NodeBuilder::require_rank(ValueId value, int lowest, int highest) {
  if (failed() || (rank(value) >= lowest && rank(value) <= highest)) return;
  std::string expected = std::to_string(lowest);
  if (highest >= kMaxRank) expected = "at least " + expected;
  else if (highest != lowest) expected += " to " + std::to_string(highest);
  fail(place_of(value), "shape " + shape(value).to_string(), "rank " + expected);
}

std::shared_ptr<const Tensor> NodeBuilder::data_of(ValueId value, const std::string& name) {
  if (!value.exists()) return nullptr;
  if (!is_constant(value)) {
    if (auto example = at_example(built_.graph, {&value, 1})) {
      example->fix();
      return std::make_shared<const Tensor>(std::move(example->tensors[0]));
    }
    unsupported(place_of(value), "'" + name + "', which is computed at run time", "a constant");
  }
  if (fact(value).extents != nullptr) static_cast<void>(fixed(*fact(value).extents));
  return fact(value).constant;
}

Extents NodeBuilder::extents_of(ValueId value, const std::string& name) {
  if (value.exists() && fact(value).extents != nullptr) return *fact(value).extents;
  const auto data = list_of(value, name, is_integer, "a list of integers");
  if (data == nullptr) return {};
  const Integers numbers = to_int64s(data->view());
  return {numbers.begin(), numbers.end()};
}

std::shared_ptr<const Tensor> NodeBuilder::list_of(ValueId value, const std::string& name, bool (*is_type)(DType),
                                                   std::string_view types) {
  auto data = data_of(value, name);
  if (data == nullptr || is_type(data->dtype())) return data;
  fail(place_of(value), std::string(name_of(data->dtype())) + " " + data->shape().to_string(), std::string(types));
  return nullptr;
}

// Of constants the elements that there are.
ValueId NodeBuilder::with_shape(ValueId value, ValueId extents, std::vector<int> axes) {
  if (failed() || !value.exists()) return value;
  if (is_constant(value) && is_constant(extents)) {
    const Shape shape(to_int64s(fact(extents).constant->view()));
    Tensor part(dtype(value), shape);
    if (part.bytes() > 0) std::memcpy(part.data(), fact(value).constant->view().data, part.bytes());
    return constant(std::move(part), "value");
  }
  built_.computed[value.index] = {extents, std::move(axes)};
  return value;
}

void NodeBuilder::name_result(ValueId made, const std::string& name) {
  if (is_own(made)) built_.graph.set_name(made, name);
}

}  // namespace octavo::importing
