// What the reader of one operator sees, and how it builds. Part of import/.
#include "import/pt2/node_reader.h"

#include <algorithm>
#include <utility>

#include "import/fold.h"
#include "import/pt2/types.h"
#include "ops/list.h"

namespace octavo::pt2_import {
namespace {

std::string quoted(std::string_view name) { return "argument '" + std::string(name) + "'"; }

}  // namespace

NodeReader::NodeReader(Building& building, const ProgramNode& node, std::string origin, std::string where)
    : building_(building),
      node_(node),
      origin_(std::move(origin)),
      where_(std::move(where)),
      outputs_(node.outputs.size()),
      first_value_(building.graph.value_count()) {
  for (const NamedArgument& input : node.inputs) {
    if (!arguments_.emplace(input.name, &input.value).second) fail(quoted(input.name), "it twice", "it once");
    if (!first_tensor_.empty()) continue;
    if (const auto* tensor = std::get_if<TensorName>(&input.value)) first_tensor_ = tensor->name;
  }
}

const Argument* NodeReader::find(std::string_view name) {
  const auto found = arguments_.find(name);
  if (found == arguments_.end()) return nullptr;
  read_.insert(found->first);
  return std::holds_alternative<NoArgument>(*found->second) ? nullptr : found->second;
}

const Argument* NodeReader::require(std::string_view name) {
  const Argument* argument = find(name);
  if (argument == nullptr) fail(quoted(name), "none", "one");
  return argument;
}

bool NodeReader::has(std::string_view name) const {
  const auto found = arguments_.find(name);
  return found != arguments_.end() && !std::holds_alternative<NoArgument>(*found->second);
}

bool NodeReader::is_tensor(std::string_view name) const {
  const auto found = arguments_.find(name);
  return found != arguments_.end() && std::holds_alternative<TensorName>(*found->second);
}

void NodeReader::wrong_kind(std::string_view name, std::string_view expected) {
  const auto* other = std::get_if<OtherArgument>(arguments_.find(name)->second);
  fail(quoted(name), other != nullptr ? "a value of kind '" + other->kind + "'" : "a value of another kind",
       std::string(expected));
}

ValueId NodeReader::resolve(const TensorName& tensor, std::string_view name) {
  const auto found = building_.wires.find(tensor.name);
  if (found == building_.wires.end()) {
    fail(quoted(name), "'" + tensor.name + "', which nothing before this node makes",
         "an input or the result of an earlier node");
    return {};
  }
  const Wire& wire = found->second;
  if (wire.is_left_out)
    unsupported(quoted(name), "'" + tensor.name + "', a result that Octavo does not compute", "a first result");
  else if (!wire.value.exists()) has_failed_ = true;  // said where it was made
  else if (wire.version != building_.versions[static_cast<std::size_t>(wire.storage)]) {
    unsupported(quoted(name), "'" + tensor.name + "', a view of a tensor that was written in place since",
                "operators that do not write in place");
  }
  return wire.value;
}

ValueId NodeReader::value(std::string_view name) {
  const Argument* argument = require(name);
  if (argument == nullptr) return {};
  if (const auto* tensor = std::get_if<TensorName>(argument)) return resolve(*tensor, name);
  wrong_kind(name, "a tensor");
  return {};
}

ValueId NodeReader::optional(std::string_view name) { return find(name) == nullptr ? ValueId{} : value(name); }

std::vector<ValueId> NodeReader::values(std::string_view name) {
  const Argument* argument = require(name);
  if (argument == nullptr) return {};
  const auto* tensors = std::get_if<TensorNames>(argument);
  if (tensors == nullptr) {
    wrong_kind(name, "a list of tensors");
    return {};
  }
  std::vector<ValueId> values;
  for (const auto& tensor : *tensors) {
    if (!tensor) fail(quoted(name), "None in a list", "tensors");
    else values.push_back(resolve(*tensor, name));
  }
  return values;
}

ValueId NodeReader::value_or_number(std::string_view name, ValueId like) {
  if (is_tensor(name)) return value(name);
  const double given = number(name, 0.0);
  if (failed()) return {};
  const ValueId scalar = scalar_like(like, given, name);
  building_.exact_numbers[scalar.index] = given;
  return scalar;
}

std::int64_t NodeReader::resolve(const SymInt& number, std::string_view name) {
  if (number.name.empty()) return number.value;
  const auto found = building_.sizes.find(number.name);
  if (found != building_.sizes.end()) return found->second;
  unsupported(quoted(name), "'" + number.name + "', a number that is known at run time only", "sizes of tensors");
  return 0;
}

std::int64_t NodeReader::integer(std::string_view name) {
  const Argument* argument = require(name);
  if (argument == nullptr) return 0;
  if (const auto* number = std::get_if<SymInt>(argument)) return resolve(*number, name);
  wrong_kind(name, "an integer");
  return 0;
}

std::int64_t NodeReader::integer(std::string_view name, std::int64_t fallback) {
  return find(name) == nullptr ? fallback : integer(name);
}

std::vector<std::int64_t> NodeReader::integers(std::string_view name, std::vector<std::int64_t> fallback) {
  const Argument* argument = find(name);
  if (argument == nullptr) return fallback;
  std::vector<std::int64_t> numbers;
  if (const auto* one = std::get_if<SymInt>(argument)) return {resolve(*one, name)};
  if (const auto* several = std::get_if<std::vector<SymInt>>(argument)) {
    for (const SymInt& number : *several) numbers.push_back(resolve(number, name));
    return numbers;
  }
  // An empty list is written as a list of nothing in particular.
  const auto* tensors = std::get_if<TensorNames>(argument);
  if (tensors == nullptr || !tensors->empty()) wrong_kind(name, "a list of integers");
  return numbers;
}

double NodeReader::number(std::string_view name, double fallback) {
  const Argument* argument = find(name);
  if (argument == nullptr) return fallback;
  if (const auto* real = std::get_if<double>(argument)) return *real;
  if (const auto* whole = std::get_if<SymInt>(argument)) return static_cast<double>(resolve(*whole, name));
  if (const auto* truth = std::get_if<bool>(argument)) return *truth ? 1.0 : 0.0;
  wrong_kind(name, "a number");
  return fallback;
}

std::vector<double> NodeReader::numbers(std::string_view name) {
  const Argument* argument = find(name);
  if (argument == nullptr) return {};
  if (const auto* several = std::get_if<std::vector<double>>(argument)) return *several;
  const std::vector<std::int64_t> whole = integers(name);
  return {whole.begin(), whole.end()};
}

bool NodeReader::flag(std::string_view name, bool fallback) {
  const Argument* argument = find(name);
  if (argument == nullptr) return fallback;
  if (const auto* truth = std::get_if<bool>(argument)) return *truth;
  wrong_kind(name, "true or false");
  return fallback;
}

std::string NodeReader::text(std::string_view name, std::string fallback) {
  const Argument* argument = find(name);
  if (argument == nullptr) return fallback;
  if (const auto* string = std::get_if<std::string>(argument)) return *string;
  wrong_kind(name, "a string");
  return fallback;
}

DType NodeReader::element_type(std::string_view name, DType fallback) {
  const Argument* argument = find(name);
  if (argument == nullptr) return fallback;
  const auto* type = std::get_if<TypeNumber>(argument);
  if (type == nullptr) {
    wrong_kind(name, "an element type");
    return fallback;
  }
  const auto known = dtype_of_torch(type->type);
  if (!known) unsupported(quoted(name), torch_type_name(type->type), "integers, floats of 16 to 64 bits or bool");
  return known.value_or(fallback);
}

const Fact& NodeReader::fact(ValueId id) const {
  static const Fact kNone;
  return id.exists() ? building_.graph.fact(id) : kNone;
}

void NodeReader::output(std::size_t index, ValueId value) {
  if (index < outputs_.size() && value.exists()) outputs_[index] = value;
}

void NodeReader::output_size(std::int64_t size) {
  if (failed()) return;
  made_size_ = true;
  if (!node_.outputs.empty() && !node_.outputs[0].empty()) building_.sizes[node_.outputs[0]] = size;
}

// Integers that stand for real numbers stay visible: a cast or a dequantization of a constant is not folded.
ValueId NodeReader::folded(const OpSpec& spec, const Attrs& attrs, const std::vector<ValueId>& inputs,
                           const std::string& name) {
  if (spec.name == kCast.name && is_8bit(fact(inputs[0]).dtype)) return {};
  const auto constants = add_folded(building_.graph, spec, attrs, inputs, name, building_.fold_budget);
  return constants.empty() ? ValueId{} : constants.front();
}

ValueId NodeReader::add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, std::string_view suffix) {
  if (failed()) return {};
  while (!inputs.empty() && !inputs.back().exists()) inputs.pop_back();
  const std::string name = suffix.empty() ? node_.name : node_.name + "." + std::string(suffix);
  if (const ValueId constant = folded(spec, attrs, inputs, name); constant.exists()) return constant;
  auto added = building_.graph.add(spec, std::move(attrs), std::move(inputs), name, origin_);
  if (added) return *added;
  for (const Error& error : added.errors()) record(error.kind, error.where, error.found, error.expected);
  return {};
}

ValueId NodeReader::add_constant(Tensor tensor, std::string_view suffix) {
  return building_.graph.add_constant(node_.name + "." + std::string(suffix), std::move(tensor));
}

ValueId NodeReader::scalar_like(ValueId value, double number, std::string_view suffix) {
  Tensor tensor(dtype(value), Shape{});
  store_double(tensor.view(), 0, number);
  return add_constant(std::move(tensor), suffix);
}

ValueId NodeReader::cast(ValueId value, DType to, std::string_view suffix) {
  if (!value.exists() || dtype(value) == to) return value;
  return add(kCast, CastAttrs{.to = to}, {value}, suffix);
}

ValueId NodeReader::reshape(ValueId value, std::vector<std::int64_t> dims, std::string_view suffix) {
  if (!value.exists() || shape(value) == Shape(dims)) return value;
  return add(kReshape, ReshapeAttrs{.shape = std::move(dims)}, {value}, suffix);
}

ValueId NodeReader::transpose(ValueId value, std::vector<std::int64_t> perm, std::string_view suffix) {
  if (std::is_sorted(perm.begin(), perm.end())) return value;
  return add(kTranspose, TransposeAttrs{.perm = std::move(perm)}, {value}, suffix);
}

void NodeReader::record(ErrorKind kind, std::string_view what, std::string found, std::string expected) {
  has_failed_ = true;
  building_.errors.push_back(
      {kind, what.empty() ? where_ : where_ + ", " + std::string(what), std::move(found), std::move(expected), ""});
}

void NodeReader::fail(std::string_view what, std::string found, std::string expected) {
  record(ErrorKind::invalid_input, what, std::move(found), std::move(expected));
}

void NodeReader::unsupported(std::string_view what, std::string found, std::string expected) {
  record(ErrorKind::unsupported, what, std::move(found), std::move(expected));
}

std::int64_t NodeReader::axis(std::string_view what, std::int64_t axis, int rank) {
  if (const auto normal = normalize_axis(axis, rank)) return *normal;
  fail(quoted(what), std::to_string(axis), "an axis of a value of rank " + std::to_string(rank));
  return 0;
}

std::vector<std::int64_t> NodeReader::axes(std::string_view what, const std::vector<std::int64_t>& axes, int rank) {
  std::vector<std::int64_t> normal;
  for (std::int64_t one : axes) {
    normal.push_back(axis(what, one, rank));
    if (failed()) return {};
  }
  std::sort(normal.begin(), normal.end());
  if (std::adjacent_find(normal.begin(), normal.end()) != normal.end())
    fail(quoted(what), print(axes), "different axes");
  return failed() ? std::vector<std::int64_t>{} : normal;
}

void NodeReader::require_rank(std::string_view what, ValueId value, int lowest, int highest) {
  if (failed() || (rank(value) >= lowest && rank(value) <= highest)) return;
  const std::string expected = lowest == highest ? std::to_string(lowest) : "at least " + std::to_string(lowest);
  fail(quoted(what), "shape " + shape(value).to_string(), "rank " + expected);
}

void NodeReader::bind(const std::string& name, ValueId value, Aliasing aliasing) {
  Wire wire{value, -1, 0};
  const auto first = building_.wires.find(first_tensor_);
  const bool shares = aliasing != Aliasing::fresh && first != building_.wires.end() && first->second.storage >= 0;
  wire.storage = shares ? first->second.storage : building_.new_storage();
  int& version = building_.versions[static_cast<std::size_t>(wire.storage)];
  if (shares && aliasing == Aliasing::in_place) {
    ++version;
    first->second.value = value;
    first->second.version = version;
  }
  wire.version = version;
  building_.wires[name] = wire;
}

void NodeReader::finish(Aliasing aliasing) {
  if (!failed()) {
    for (const auto& [name, argument] : arguments_) {
      if (read_.count(name) == 0 && !std::holds_alternative<NoArgument>(*argument))
        unsupported(quoted(name), "it", "it left out");
    }
    if (!made_size_ && !outputs_.empty() && !outputs_[0].exists())
      fail("result 0", "'" + node_.outputs[0] + "'", "a result of the operator");
  }
  for (std::size_t i = 0; i < outputs_.size() && !made_size_; ++i) {
    const std::string& name = node_.outputs[i];
    if (name.empty()) continue;
    if (building_.wires.count(name) != 0) {
      fail("result " + std::to_string(i), "'" + name + "', a name that is taken", "a new name");
      continue;
    }
    const ValueId made = failed() ? ValueId{} : outputs_[i];
    if (made.index >= first_value_) building_.graph.set_name(made, name);
    bind(name, made, aliasing);
    building_.wires[name].is_left_out = !failed() && !made.exists();
  }
}

}  // namespace octavo::pt2_import
