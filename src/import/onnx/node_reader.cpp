// What the reader of one operator sees, and how it builds. Part of import/.
#include "import/onnx/node_reader.h"

#include <algorithm>

#include "import/fold.h"
#include "import/onnx/proto.h"
#include "ops/list.h"

namespace octavo::onnx_import {
namespace {

int count_inputs(const onnx::NodeProto& node) {
  int count = node.input_size();
  while (count > 0 && node.input(count - 1).empty()) --count;
  return count;
}

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

}  // namespace

NodeReader::NodeReader(Building& building, const onnx::NodeProto& node, int opset, std::string name, std::string origin,
                       std::string where)
    : attributes(node, where),
      building_(building),
      node_(node),
      opset_(opset),
      input_count_(count_inputs(node)),
      first_value_(building.graph.value_count()),
      name_(std::move(name)),
      origin_(std::move(origin)),
      where_(std::move(where)),
      outputs_(static_cast<std::size_t>(node.output_size())) {}

const std::string& NodeReader::op() const { return node_.op_type(); }
bool NodeReader::is_microsoft() const { return node_.domain() == "com.microsoft"; }
bool NodeReader::has(int index) const { return index < input_count_ && !node_.input(index).empty(); }
int NodeReader::output_count() const { return node_.output_size(); }
bool NodeReader::wants(int index) const { return index < node_.output_size() && !node_.output(index).empty(); }

ValueId NodeReader::value(int index) {
  if (!has(index)) {
    fail("input " + std::to_string(index), "none", "a value");
    return {};
  }
  return building_.values.at(node_.input(index));
}

ValueId NodeReader::optional(int index) { return has(index) ? value(index) : ValueId{}; }

const Fact& NodeReader::fact(ValueId id) const {
  static const Fact kNone;
  return id.exists() ? building_.graph.fact(id) : kNone;
}

std::shared_ptr<const Tensor> NodeReader::constant(int index, std::string_view name) {
  const ValueId id = value(index);
  if (!id.exists()) return nullptr;
  if (!fact(id).is_constant()) {
    unsupported("input '" + std::string(name) + "'", "'" + node_.input(index) + "', which is computed at run time",
                "a constant");
  }
  return fact(id).constant;
}

std::vector<std::int64_t> NodeReader::constant_integers(int index, std::string_view name) {
  const auto tensor = constant(index, name);
  if (!tensor) return {};
  if (!is_integer(tensor->dtype()) || tensor->shape().rank() > 1) {
    fail("input '" + std::string(name) + "'", std::string(name_of(tensor->dtype())) + " " + tensor->shape().to_string(),
         "a list of integers");
    return {};
  }
  return to_int64s(tensor->view());
}

std::vector<float> NodeReader::constant_floats(int index, std::string_view name) {
  const auto tensor = constant(index, name);
  if (!tensor) return {};
  if (!is_float(tensor->dtype()) || tensor->shape().rank() > 1) {
    fail("input '" + std::string(name) + "'", std::string(name_of(tensor->dtype())) + " " + tensor->shape().to_string(),
         "a list of floats");
    return {};
  }
  return to_floats(tensor->view());
}

void NodeReader::output(int index, ValueId value) {
  if (!wants(index) || !value.exists()) return;
  outputs_[static_cast<std::size_t>(index)] = value;
}

std::vector<ValueId> NodeReader::add_exactly(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs,
                                             std::string_view suffix) {
  const std::vector<ValueId> nothing(static_cast<std::size_t>(spec.outputs));
  if (failed()) return nothing;
  while (!inputs.empty() && !inputs.back().exists()) inputs.pop_back();
  const std::string name = suffix.empty() ? name_ : name_ + "." + std::string(suffix);
  auto constants = add_folded(building_.graph, spec, attrs, inputs, name, building_.fold_budget);
  if (!constants.empty()) return constants;
  auto node = building_.graph.add_node(spec, std::move(attrs), std::move(inputs), name, origin_);
  if (node) return building_.graph.node(*node).outputs;
  for (const Error& error : node.errors()) record(error.kind, error.where, error.found, error.expected);
  return nothing;
}

ValueId NodeReader::add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, std::string_view suffix) {
  DType half = DType::f32;
  for (ValueId& input : inputs) {
    if (!input.exists() || !is_half(dtype(input))) continue;
    half = dtype(input);
    input = widened(input);
  }
  const ValueId result = add_exactly(spec, std::move(attrs), std::move(inputs), suffix).front();
  return half != DType::f32 && result.exists() && dtype(result) == DType::f32 ? rounded(result, half, suffix) : result;
}

ValueId NodeReader::widened(ValueId value) {
  const auto known = building_.wide.find(value.index);
  if (known != building_.wide.end()) return known->second;
  const ValueId wide = add_exactly(kCast, CastAttrs{.to = DType::f32}, {value}, "widened").front();
  if (wide.exists()) building_.wide[value.index] = wide;
  return wide;
}

ValueId NodeReader::rounded(ValueId value, DType to, std::string_view suffix) {
  const ValueId result = cast(value, to, std::string(suffix) + "rounded");
  // A constant stays what its type can hold: widening it again starts from the rounded value.
  if (is_half(to) && result.exists() && !fact(result).is_constant()) building_.wide[result.index] = value;
  return result;
}

ValueId NodeReader::add_constant(Tensor tensor, std::string_view suffix) {
  return building_.graph.add_constant(name_ + "." + std::string(suffix), std::move(tensor));
}

ValueId NodeReader::scalar_like(ValueId value, double number, std::string_view suffix) {
  Tensor tensor(dtype(value), Shape{});
  store_double(tensor.view(), 0, number);
  return add_constant(std::move(tensor), suffix);
}

ValueId NodeReader::cast(ValueId value, DType to, std::string_view suffix) {
  if (!value.exists() || dtype(value) == to) return value;
  return add_exactly(kCast, CastAttrs{.to = to}, {value}, suffix).front();
}

ValueId NodeReader::reshape(ValueId value, std::vector<std::int64_t> dims, std::string_view suffix) {
  if (!value.exists() || shape(value) == Shape(dims)) return value;
  return add(kReshape, ReshapeAttrs{.shape = std::move(dims)}, {value}, suffix);
}

ValueId NodeReader::transpose(ValueId value, std::vector<std::int64_t> perm, std::string_view suffix) {
  return add(kTranspose, TransposeAttrs{.perm = std::move(perm)}, {value}, suffix);
}

void NodeReader::record(ErrorKind kind, std::string_view what, std::string found, std::string expected) {
  has_failed_ = true;
  errors_.push_back(
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
  fail(what, std::to_string(axis), "an axis of a value of rank " + std::to_string(rank));
  return 0;
}

std::vector<std::int64_t> NodeReader::axes(std::string_view what, const std::vector<std::int64_t>& axes, int rank) {
  std::vector<std::int64_t> normal;
  for (std::int64_t one : axes) {
    const std::int64_t found = axis(what, one, rank);
    if (!failed() && std::find(normal.begin(), normal.end(), found) != normal.end())
      fail(what, "axis " + std::to_string(one) + " twice", "it once");
    if (failed()) return {};
    normal.push_back(found);
  }
  return normal;
}

void NodeReader::require_rank(std::string_view what, ValueId value, int lowest, int highest) {
  if (failed() || (rank(value) >= lowest && rank(value) <= highest)) return;
  const std::string expected = lowest == highest ? std::to_string(lowest) : "at least " + std::to_string(lowest);
  fail("input '" + std::string(what) + "'", "shape " + shape(value).to_string(), "rank " + expected);
}

bool NodeReader::finish() {
  bool is_good = !failed();
  if (is_good) {
    for (int i = 0; i < node_.output_size(); ++i) {
      if (!node_.output(i).empty() && !outputs_[static_cast<std::size_t>(i)].exists()) {
        unsupported("output " + std::to_string(i), "'" + node_.output(i) + "', which is asked for", "it left out");
      }
    }
  }
  for (const Error& error : attributes.errors()) building_.errors.push_back(error);
  // After an error the reader may not have come to every attribute.
  if (is_good) {
    for (Error& error : attributes.unread()) errors_.push_back(std::move(error));
  }
  is_good = is_good && errors_.empty();
  building_.errors.insert(building_.errors.end(), errors_.begin(), errors_.end());
  for (int i = 0; i < node_.output_size(); ++i) {
    if (node_.output(i).empty()) continue;
    const ValueId made = is_good ? outputs_[static_cast<std::size_t>(i)] : ValueId{};
    // The name of the file goes on what this node made, not on a value that it only passes on.
    if (made.index >= first_value_) building_.graph.set_name(made, node_.output(i));
    building_.values[node_.output(i)] = made;
  }
  return is_good;
}

}  // namespace octavo::onnx_import
