// What the reader of one operator sees of an ONNX file. Part of import/.
#include "import/onnx/node_reader.h"

#include <algorithm>

#include "base/fields.h"
#include "import/onnx/proto.h"
#include "import/onnx/types.h"

namespace octavo::onnx_import {
namespace {

using Type = onnx::AttributeProto;

int count_inputs(const onnx::NodeProto& node) {
  int count = node.input_size();
  while (count > 0 && node.input(count - 1).empty()) --count;
  return count;
}

std::string attribute(std::string_view name) { return quoted("attribute", name); }

template <class Repeated>
std::string printed_list(const Repeated& values) {
  constexpr int kShown = 8;
  std::string text = "[";
  for (int i = 0; i < values.size() && i < kShown; ++i) text += (i > 0 ? "," : "") + print(values[i]);
  return text + (values.size() > kShown ? ",...]" : "]");
}

// Exporters of 2017 leave the type out; then the field that is set tells.
Type::AttributeType node_reader_type_of(const onnx::AttributeProto& attribute) {
  if (attribute.type() != Type::UNDEFINED) return attribute.type();
  if (attribute.has_i()) return Type::INT;
  if (attribute.has_f()) return Type::FLOAT;
  if (attribute.has_s()) return Type::STRING;
  if (attribute.has_t()) return Type::TENSOR;
  if (attribute.ints_size() > 0) return Type::INTS;
  if (attribute.floats_size() > 0) return Type::FLOATS;
  return Type::UNDEFINED;
}

std::string printed_value(const onnx::AttributeProto& attribute) {
  constexpr std::size_t kShown = 60;
  switch (node_reader_type_of(attribute)) {
    case Type::INT: return print(static_cast<std::int64_t>(attribute.i()));
    case Type::FLOAT: return print(attribute.f());
    case Type::STRING: return "'" + attribute.s().substr(0, kShown) + "'";
    case Type::INTS: return printed_list(attribute.ints());
    case Type::FLOATS: return printed_list(attribute.floats());
    case Type::TENSOR: return "a tensor";
    case Type::GRAPH: return "a graph";
    default: return "a value of attribute type " + std::to_string(static_cast<int>(attribute.type()));
  }
}

}  // namespace

void Building::bind(const std::string& name, ValueId value) {
  values[name] = value;
  if (!scopes.empty()) scopes.back().names.push_back(name);
}

void Building::bind_outer(const std::string& name, Handle handle) {
  outer[name] = handle;
  if (!scopes.empty()) scopes.back().names.push_back(name);
}

bool Building::hide(const std::string& name) {
  Scope& inner = scopes.back();
  const bool is_of_scope = std::find(inner.names.begin(), inner.names.end(), name) != inner.names.end();
  if (is_of_scope || values.contains(name)) return false;
  if (auto outside = outer.extract(name)) inner.hidden.insert(std::move(outside));
  return true;
}

ValueId Building::find(const std::string& name) {
  if (const auto known = values.find(name); known != values.end()) return known->second;
  const auto known = outer.find(name);
  if (known == outer.end() || known->second == kNoHandle) return {};
  return values[name] = program.enter(known->second);
}

void Building::leave_graph() {
  for (const auto& [name, id] : values) {
    if (!outer.contains(name)) outer[name] = id.exists() ? program.handle_of(id) : kNoHandle;
  }
  values.clear();
  program.leave_graph();
}

void Building::end_scope() {
  for (const std::string& name : scopes.back().names) {
    values.erase(name);
    outer.erase(name);
  }
  outer.insert(scopes.back().hidden.begin(), scopes.back().hidden.end());
  scopes.pop_back();
}

NodeReader::NodeReader(Building& building, const onnx::NodeProto& node, int opset, std::string name, std::string origin)
    : NodeBuilder(building, std::move(name), std::move(origin)),
      building_(building),
      node_(node),
      opset_(opset),
      input_count_(count_inputs(node)) {
  outputs_.resize(static_cast<std::size_t>(node.output_size()));
  for (const onnx::AttributeProto& given : node.attribute()) {
    if (!attributes_.emplace(given.name(), &given).second) fail(attribute(given.name()), "it twice", "it once");
  }
}

const std::string& NodeReader::op() const { return node_.op_type(); }
bool NodeReader::is_microsoft() const { return node_.domain() == "com.microsoft"; }
bool NodeReader::has(int index) const { return index < input_count_ && !node_.input(index).empty(); }
bool NodeReader::wants(int index) const { return index < node_.output_size() && !node_.output(index).empty(); }

ValueId NodeReader::value(int index, std::string_view name) {
  const std::string place = name.empty() ? "input " + std::to_string(index) : quoted("input", name);
  return has(index) ? placed(building_.values.at(node_.input(index)), place) : fail(place, "none", "a value");
}

ValueId NodeReader::optional(int index, std::string_view name) { return has(index) ? value(index, name) : ValueId{}; }

std::vector<ValueId> NodeReader::values() {
  std::vector<ValueId> all;
  for (int i = 0; i < input_count_; ++i) all.push_back(value(i));
  return all;
}

std::shared_ptr<const Tensor> NodeReader::constant_of(int index, std::string_view name) {
  return data_of(value(index, name), has(index) ? node_.input(index) : "");
}

// Of rank 0 or 1.
std::shared_ptr<const Tensor> NodeReader::list_at(int index, std::string_view name, bool (*is_type)(DType),
                                                  std::string_view types) {
  auto list = list_of(value(index, name), has(index) ? node_.input(index) : "", is_type, types);
  if (list == nullptr || list->shape().rank() <= 1) return list;
  fail(quoted("input", name), std::string(name_of(list->dtype())) + " " + list->shape().to_string(),
       std::string(types));
  return nullptr;
}

Numbers NodeReader::constant_integers(int index, std::string_view name) {
  const ValueId list = value(index, name);
  if (list.exists() && fact(list).extents == nullptr) {
    const auto numbers = list_at(index, name, is_integer, "a list of integers");
    return {numbers == nullptr ? Integers{} : to_int64s(numbers->view()), quoted("input", name)};
  }
  return {extents_of(list, has(index) ? node_.input(index) : ""), quoted("input", name)};
}

std::vector<float> NodeReader::constant_floats(int index, std::string_view name) {
  const auto list = list_at(index, name, is_float, "a list of floats");
  return list == nullptr ? std::vector<float>{} : to_floats(list->view());
}

const onnx::AttributeProto* NodeReader::find(std::string_view name, int type, std::string_view type_name) {
  const auto found = attributes_.find(name);
  if (found == attributes_.end()) return nullptr;
  read_.insert(found->first);
  const auto given = node_reader_type_of(*found->second);
  // An empty list of an untyped attribute looks like nothing at all.
  if (given == type || (given == Type::UNDEFINED && (type == Type::INTS || type == Type::FLOATS))) return found->second;
  fail(attribute(name), printed_value(*found->second), std::string(type_name));
  return nullptr;
}

Number NodeReader::integer(std::string_view name) {
  if (!has(name)) fail(attribute(name), "none", "one");
  return integer(name, 0);
}

Number NodeReader::integer(std::string_view name, std::int64_t fallback) {
  const auto* found = find(name, Type::INT, "an integer");
  return {found == nullptr ? fallback : found->i(), attribute(name)};
}

bool NodeReader::flag(std::string_view name, bool fallback) {
  const std::int64_t value = integer(name, fallback ? 1 : 0);
  if (value != 0 && value != 1) fail(attribute(name), std::to_string(value), "0 or 1");
  return value == 1;
}

float NodeReader::number(std::string_view name, float fallback) {
  const auto* found = find(name, Type::FLOAT, "a number");
  return found == nullptr ? fallback : found->f();
}

std::string NodeReader::text(std::string_view name, std::string fallback) {
  const auto* found = find(name, Type::STRING, "a string");
  return found == nullptr ? std::move(fallback) : found->s();
}

Numbers NodeReader::integers(std::string_view name, Integers fallback) {
  const auto* found = find(name, Type::INTS, "a list of integers");
  if (found != nullptr) fallback.assign(found->ints().begin(), found->ints().end());
  return {std::move(fallback), attribute(name)};
}

std::vector<float> NodeReader::numbers(std::string_view name) {
  const auto* found = find(name, Type::FLOATS, "a list of numbers");
  return found == nullptr ? std::vector<float>{} : std::vector<float>(found->floats().begin(), found->floats().end());
}

std::vector<std::string> NodeReader::texts(std::string_view name) {
  const auto* found = find(name, Type::STRINGS, "a list of texts");
  return found == nullptr ? std::vector<std::string>{}
                          : std::vector<std::string>(found->strings().begin(), found->strings().end());
}

const onnx::TensorProto* NodeReader::tensor(std::string_view name) {
  const auto* found = find(name, Type::TENSOR, "a tensor");
  return found == nullptr ? nullptr : &found->t();
}

std::optional<DType> NodeReader::element_type(std::string_view name, std::optional<DType> fallback) {
  const auto type = static_cast<int>(integer(name, 0));
  if (type == 0 && fallback) return fallback;
  const auto known = dtype_of_onnx(type);
  if (!known) unsupported(attribute(name), onnx_type_name(type), "integers, floats of 16 to 64 bits or bool");
  return known;
}

Numbers NodeReader::integers_since(int since, std::string_view name, int index) {
  if (opset_ < since) return integers(name);
  return has(index) ? constant_integers(index, name) : Numbers{};
}

void NodeReader::finish() {
  // After an error the reader may not have come to every attribute.
  const bool is_read = !failed();
  for (int i = 0; is_read && i < node_.output_size(); ++i) {
    if (wants(i) && !outputs_[static_cast<std::size_t>(i)].exists())
      unsupported("output " + std::to_string(i), "'" + node_.output(i) + "', which is asked for", "it left out");
  }
  for (const auto& [name, given] : attributes_) {
    if (is_read && read_.count(name) == 0)
      unsupported(attribute(name), printed_value(*given), "no attribute of this name");
  }
  for (int i = 0; i < node_.output_size(); ++i) {
    if (!wants(i)) continue;
    const ValueId made = failed() ? ValueId{} : outputs_[static_cast<std::size_t>(i)];
    name_result(made, node_.output(i));
    building_.bind(node_.output(i), made);
  }
}

}  // namespace octavo::onnx_import
