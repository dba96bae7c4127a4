// What the reader of one ATen operator sees of an exported program. Part of import/.
#include "import/pt2/node_reader.h"

#include "base/fields.h"
#include "import/pt2/types.h"

namespace octavo::pt2_import {
namespace {

std::string argument(std::string_view name) { return quoted("argument", name); }

}  // namespace

NodeReader::NodeReader(Building& building, const ProgramNode& node, const std::string& origin)
    : NodeBuilder(building, node.name, origin), building_(building), node_(node) {
  outputs_.resize(node.outputs.size());
  for (const NamedArgument& input : node.inputs) {
    if (!arguments_.emplace(input.name, &input.value).second) fail(argument(input.name), "it twice", "it once");
    if (!first_tensor_.empty()) continue;
    if (const auto* tensor = std::get_if<TensorName>(&input.value)) first_tensor_ = tensor->name;
  }
}

std::string_view NodeReader::overload() const {
  return std::string_view(node_.target).substr(node_.target.rfind('.') + 1);
}

const Argument* NodeReader::find(std::string_view name) {
  const auto found = arguments_.find(name);
  if (found == arguments_.end()) return nullptr;
  read_.insert(found->first);
  return std::holds_alternative<NoArgument>(*found->second) ? nullptr : found->second;
}

template <class T>
const T* NodeReader::find(std::string_view name, std::string_view kind) {
  const Argument* found = find(name);
  if (found == nullptr) return nullptr;
  const T* typed = std::get_if<T>(found);
  if (typed == nullptr) wrong_kind(name, kind);
  return typed;
}

bool NodeReader::has(std::string_view name) const {
  const auto found = arguments_.find(name);
  return found != arguments_.end() && !std::holds_alternative<NoArgument>(*found->second);
}

void NodeReader::wrong_kind(std::string_view name, std::string_view expected) {
  const auto* other = std::get_if<OtherArgument>(arguments_.find(name)->second);
  fail(argument(name), other != nullptr ? "a value of kind '" + other->kind + "'" : "a value of another kind",
       std::string(expected));
}

ValueId NodeReader::resolve(const TensorName& tensor, std::string_view name) {
  const auto found = building_.wires.find(tensor.name);
  if (found == building_.wires.end())
    return fail(argument(name), "'" + tensor.name + "', which nothing before this node makes",
                "an input or the result of an earlier node");
  const Wire& wire = found->second;
  if (wire.is_left_out)
    return unsupported(argument(name), "'" + tensor.name + "', a result that Octavo does not compute",
                       "a first result");
  if (!wire.value.exists()) has_failed_ = true;  // said where it was made
  else if (wire.version != building_.versions[static_cast<std::size_t>(wire.storage)])
    unsupported(argument(name), "'" + tensor.name + "', a view of a tensor that was written in place since",
                "operators that do not write in place");
  return placed(wire.value, argument(name));
}

ValueId NodeReader::value(std::string_view name) {
  if (!has(name)) return fail(argument(name), "none", "one");
  const auto* tensor = find<TensorName>(name, "a tensor");
  return tensor == nullptr ? ValueId{} : resolve(*tensor, name);
}

ValueId NodeReader::optional(std::string_view name) {
  ignore(name);
  return has(name) ? value(name) : ValueId{};
}

std::vector<ValueId> NodeReader::optional_values(std::string_view name) {
  if (!has(name)) fail(argument(name), "none", "one");
  std::vector<ValueId> values;
  const auto* tensors = find<TensorNames>(name, "a list of tensors");
  for (const auto& tensor : tensors == nullptr ? TensorNames{} : *tensors)
    values.push_back(tensor ? resolve(*tensor, name) : ValueId{});
  return values;
}

std::vector<ValueId> NodeReader::values(std::string_view name) {
  std::vector<ValueId> values = optional_values(name);
  for (std::size_t i = 0; i < values.size() && !failed(); ++i) {
    if (!values[i].exists()) fail(argument(name), "None in a list", "tensors");
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

std::shared_ptr<const Tensor> NodeReader::constant_of(std::string_view name) {
  const auto* tensor = find<TensorName>(name, "a tensor");
  auto data = data_of(value(name), tensor == nullptr ? "" : tensor->name);
  return failed() ? nullptr : data;
}

Dim NodeReader::resolve(const SymInt& number, std::string_view name) {
  if (number.name.empty()) return number.value;
  const auto found = building_.sizes.find(number.name);
  if (found != building_.sizes.end()) return found->second;
  unsupported(argument(name), "'" + number.name + "', a number that is known at run time only", "sizes of tensors");
  return 0;
}

Number NodeReader::integer(std::string_view name) {
  if (!has(name)) fail(argument(name), "none", "one");
  return integer(name, 0);
}

Number NodeReader::integer(std::string_view name, std::int64_t fallback) {
  const auto* number = find<SymInt>(name, "an integer");
  return {number == nullptr ? fallback : resolve(*number, name).fixed(), argument(name)};
}

Dim NodeReader::extent(std::string_view name) {
  if (!has(name)) fail(argument(name), "none", "an integer");
  return extent(name, 0);
}

Dim NodeReader::extent(std::string_view name, const Dim& fallback) {
  const auto* number = find<SymInt>(name, "an integer");
  return number == nullptr ? fallback : resolve(*number, name);
}

Numbers NodeReader::integers(std::string_view name, Integers fallback) {
  const Argument* found = find(name);
  Numbers numbers(found == nullptr ? std::move(fallback) : Integers{}, argument(name));
  if (found == nullptr) return numbers;
  if (const auto* one = std::get_if<SymInt>(found)) {
    numbers.values = {resolve(*one, name)};
  } else if (const auto* several = std::get_if<std::vector<SymInt>>(found)) {
    for (const SymInt& number : *several) numbers.values.push_back(resolve(number, name));
  } else if (const auto* tensors = std::get_if<TensorNames>(found); tensors == nullptr || !tensors->empty()) {
    wrong_kind(name, "a list of integers");  // an empty list is written as a list of nothing in particular
  }
  return numbers;
}

Numbers NodeReader::per_axis(std::string_view name, int rank, Integers fallback) {
  Numbers numbers = integers(name, std::move(fallback));
  if (numbers.size() == 1) numbers.values.assign(static_cast<std::size_t>(rank), numbers[0]);
  return numbers;
}

double NodeReader::number(std::string_view name, double fallback) {
  const Argument* found = find(name);
  if (found == nullptr) return fallback;
  if (const auto* real = std::get_if<double>(found)) return *real;
  if (const auto* whole = std::get_if<SymInt>(found)) return static_cast<double>(resolve(*whole, name));
  if (const auto* truth = std::get_if<bool>(found)) return *truth ? 1.0 : 0.0;
  wrong_kind(name, "a number");
  return fallback;
}

std::vector<double> NodeReader::numbers(std::string_view name) {
  const Argument* found = find(name);
  if (found == nullptr) return {};
  if (const auto* several = std::get_if<std::vector<double>>(found)) return *several;
  const Numbers whole = integers(name);
  return {whole.begin(), whole.end()};
}

bool NodeReader::flag(std::string_view name, bool fallback) {
  const auto* truth = find<bool>(name, "true or false");
  return truth == nullptr ? fallback : *truth;
}

std::string NodeReader::text(std::string_view name, std::string fallback) {
  const auto* string = find<std::string>(name, "a string");
  return string == nullptr ? std::move(fallback) : *string;
}

DType NodeReader::element_type(std::string_view name, DType fallback) {
  const auto* type = find<TypeNumber>(name, "an element type");
  if (type == nullptr) return fallback;
  const auto known = dtype_of_torch(type->type);
  if (!known) unsupported(argument(name), torch_type_name(type->type), "integers, floats of 16 to 64 bits or bool");
  return known.value_or(fallback);
}

ValueId NodeReader::output_size(const Dim& size) {
  if (failed()) return {};
  made_size_ = true;
  if (!node_.outputs.empty() && !node_.outputs[0].empty()) building_.sizes[node_.outputs[0]] = size;
  return {};
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
    write_bases(first->second);
  }
  if (shares && aliasing == Aliasing::view && part_) wire.part = part_, wire.base = first_tensor_;
  wire.version = version;
  building_.wires[name] = wire;
}

// What a name shows a part of holds what was written to the part.
void NodeReader::write_bases(Wire& written) {
  for (Wire* wire = &written; wire->part && !failed();) {
    Wire& base = building_.wires.at(wire->base);
    if (base.version != wire->version - 1) return;  // stale, and so it stays
    const Part& part = *wire->part;
    const std::string name = wire->base + ".written";
    const ValueId whole =
        part.is_index ? unsqueeze(*this, wire->value, Integers{part.axis}, name + ".axis") : wire->value;
    base.value = replaced(*this, base.value, whole, part.axis, part.range.start, name);
    base.version = wire->version;
    wire = &base;
  }
}

// Writing in place keeps type and shape.
void NodeReader::check_in_place() {
  const auto first = building_.wires.find(first_tensor_);
  if (failed() || outputs_.empty() || first == building_.wires.end()) return;
  const ValueId before = first->second.value, after = outputs_[0];
  if (!before.exists() || !after.exists() || (dtype(before) == dtype(after) && shape(before) == shape(after))) return;
  fail("result 0", std::string(octavo::name_of(dtype(after))) + shape(after).to_string() + ", written in place",
       std::string(octavo::name_of(dtype(before))) + shape(before).to_string());
}

void NodeReader::finish(Aliasing aliasing) {
  if (aliasing == Aliasing::in_place) check_in_place();
  if (!failed()) {
    for (const auto& [name, given] : arguments_) {
      if (read_.count(name) == 0 && !std::holds_alternative<NoArgument>(*given))
        unsupported(argument(name), "it", "it left out");
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
    name_result(made, name);
    bind(name, made, aliasing);
    building_.wires[name].is_left_out = !failed() && !made.exists();
  }
}

}  // namespace octavo::pt2_import
