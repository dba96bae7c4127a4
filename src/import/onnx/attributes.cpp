// The attributes of one node. Part of import/.
#include "import/onnx/attributes.h"

#include "base/fields.h"
#include "import/onnx/proto.h"

namespace octavo::onnx_import {
namespace {

using Type = onnx::AttributeProto;

template <class Repeated>
std::string printed_list(const Repeated& values) {
  constexpr int kShown = 8;
  std::string text = "[";
  for (int i = 0; i < values.size() && i < kShown; ++i) text += (i > 0 ? "," : "") + print(values[i]);
  return text + (values.size() > kShown ? ",...]" : "]");
}

// Exporters of 2017 leave the type out; then the field that is set tells.
Type::AttributeType type_of(const onnx::AttributeProto& attribute) {
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
  switch (type_of(attribute)) {
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

AttributeReader::AttributeReader(const onnx::NodeProto& node, std::string where) : where_(std::move(where)) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!attributes_.emplace(attribute.name(), &attribute).second) {
      errors_.push_back(error(ErrorKind::invalid_input, attribute.name(), "it twice", "it once"));
    }
  }
}

Error AttributeReader::error(ErrorKind kind, std::string_view name, std::string found, std::string expected) const {
  return {kind, where_ + ", attribute '" + std::string(name) + "'", std::move(found), std::move(expected), ""};
}

const onnx::AttributeProto* AttributeReader::find(std::string_view name, int type, std::string_view type_name) {
  const auto found = attributes_.find(std::string(name));
  if (found == attributes_.end()) return nullptr;
  read_.insert(found->first);
  if (type_of(*found->second) == type) return found->second;
  // An empty list of an untyped attribute looks like nothing at all.
  if (type_of(*found->second) == Type::UNDEFINED && (type == Type::INTS || type == Type::FLOATS)) return found->second;
  errors_.push_back(error(ErrorKind::invalid_input, name, printed_value(*found->second), std::string(type_name)));
  return nullptr;
}

std::int64_t AttributeReader::integer(std::string_view name, std::int64_t fallback) {
  const auto* attribute = find(name, Type::INT, "an integer");
  return attribute == nullptr ? fallback : attribute->i();
}

bool AttributeReader::flag(std::string_view name, bool fallback) {
  const std::int64_t value = integer(name, fallback ? 1 : 0);
  if (value != 0 && value != 1)
    errors_.push_back(error(ErrorKind::invalid_input, name, std::to_string(value), "0 or 1"));
  return value == 1;
}

float AttributeReader::number(std::string_view name, float fallback) {
  const auto* attribute = find(name, Type::FLOAT, "a number");
  return attribute == nullptr ? fallback : attribute->f();
}

std::string AttributeReader::text(std::string_view name, std::string fallback) {
  const auto* attribute = find(name, Type::STRING, "a string");
  return attribute == nullptr ? std::move(fallback) : attribute->s();
}

std::vector<std::int64_t> AttributeReader::integers(std::string_view name, std::vector<std::int64_t> fallback) {
  const auto* attribute = find(name, Type::INTS, "a list of integers");
  if (attribute == nullptr) return fallback;
  return {attribute->ints().begin(), attribute->ints().end()};
}

std::vector<float> AttributeReader::numbers(std::string_view name, std::vector<float> fallback) {
  const auto* attribute = find(name, Type::FLOATS, "a list of numbers");
  if (attribute == nullptr) return fallback;
  return {attribute->floats().begin(), attribute->floats().end()};
}

const onnx::TensorProto* AttributeReader::tensor(std::string_view name) {
  const auto* attribute = find(name, Type::TENSOR, "a tensor");
  return attribute == nullptr ? nullptr : &attribute->t();
}

std::string AttributeReader::printed(std::string_view name) const {
  const auto found = attributes_.find(std::string(name));
  return found == attributes_.end() ? "" : printed_value(*found->second);
}

Errors AttributeReader::unread() const {
  Errors unread;
  for (const auto& [name, attribute] : attributes_) {
    if (read_.count(name) == 0)
      unread.push_back(error(ErrorKind::unsupported, name, printed_value(*attribute), "no attribute of this name"));
  }
  return unread;
}

}  // namespace octavo::onnx_import
