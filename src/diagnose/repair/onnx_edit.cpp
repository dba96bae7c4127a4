// An ONNX graph while it is changed. Part of diagnose/.
#include "diagnose/repair/onnx_edit.h"

#include <algorithm>

#include "import/onnx/tensor.h"

namespace octavo::repair {
namespace {

// What branches and loops read, whether from outside or not.
void list_inside(const onnx::GraphProto& graph, std::set<std::string>& names) {
  for (const onnx::NodeProto& node : graph.node()) {
    names.insert(node.input().begin(), node.input().end());
    for (const onnx::AttributeProto& each : node.attribute()) {
      if (each.has_g()) list_inside(each.g(), names);
      for (const onnx::GraphProto& part : each.graphs()) list_inside(part, names);
    }
  }
  for (const onnx::ValueInfoProto& output : graph.output()) names.insert(output.name());
}

bool is_standard(const onnx::NodeProto& node) { return node.domain().empty() || node.domain() == "ai.onnx"; }

int onnx_type(DType type) {
  switch (type) {
    case DType::f32: return onnx::TensorProto::FLOAT;
    case DType::s8: return onnx::TensorProto::INT8;
    case DType::u8: return onnx::TensorProto::UINT8;
    case DType::s32: return onnx::TensorProto::INT32;
    default: return onnx::TensorProto::INT64;
  }
}

}  // namespace

OnnxEdit::OnnxEdit(onnx::ModelProto model) : model_(std::move(model)) {
  for (const onnx::OperatorSetIdProto& set : model_.opset_import()) {
    if (set.domain().empty() || set.domain() == "ai.onnx") opset_ = set.version();
  }
  for (const onnx::ValueInfoProto& each : graph().input()) inputs_.insert(each.name());
  for (const onnx::ValueInfoProto& each : graph().output()) pinned_.insert(each.name());
  for (const onnx::TensorProto& each : graph().initializer()) {
    constants_[each.name()] = &each;
    inputs_.erase(each.name());
    names_.insert(each.name());
  }
  names_.insert(inputs_.begin(), inputs_.end());
  for (onnx::NodeProto& node : *graph().mutable_node()) {
    enlist(node);
    for (const onnx::AttributeProto& each : node.attribute()) {
      if (each.has_g()) list_inside(each.g(), pinned_);
      for (const onnx::GraphProto& part : each.graphs()) list_inside(part, pinned_);
    }
  }
}

void OnnxEdit::enlist(onnx::NodeProto& node) {
  for (const std::string& input : node.input()) readers_[input].push_back(&node);
  for (const std::string& output : node.output()) {
    writers_[output] = &node;
    names_.insert(output);
  }
  const onnx::AttributeProto* value = node.op_type() == "Constant" ? attribute(node, "value") : nullptr;
  if (value != nullptr && value->has_t()) constants_[node.output(0)] = &value->t();
}

std::vector<onnx::NodeProto*> OnnxEdit::nodes() const {
  std::vector<onnx::NodeProto*> left;
  for (const onnx::NodeProto& node : model_.graph().node()) {
    if (!removed_.contains(&node)) left.push_back(const_cast<onnx::NodeProto*>(&node));
  }
  return left;
}

std::vector<onnx::NodeProto*> OnnxEdit::nodes(std::string_view op) const {
  std::vector<onnx::NodeProto*> left = nodes();
  std::erase_if(left, [&](const onnx::NodeProto* node) { return node->op_type() != op || !is_standard(*node); });
  return left;
}

onnx::NodeProto* OnnxEdit::writer(const std::string& tensor) const {
  const auto found = writers_.find(tensor);
  return found == writers_.end() ? nullptr : found->second;
}

onnx::NodeProto* OnnxEdit::writer(const std::string& tensor, std::string_view op) const {
  onnx::NodeProto* node = writer(tensor);
  return node != nullptr && node->op_type() == op && is_standard(*node) ? node : nullptr;
}

std::vector<onnx::NodeProto*> OnnxEdit::readers(const std::string& tensor) const {
  const auto found = readers_.find(tensor);
  return found == readers_.end() ? std::vector<onnx::NodeProto*>() : found->second;
}

onnx::NodeProto* OnnxEdit::only_reader(const std::string& tensor) const {
  const auto found = readers_.find(tensor);
  if (is_pinned(tensor) || found == readers_.end() || found->second.size() != 1) return nullptr;
  return found->second.front();
}

std::optional<Tensor> OnnxEdit::constant(const std::string& tensor) const {
  const auto found = constants_.find(tensor);
  if (found == constants_.end()) return std::nullopt;
  auto value = onnx_import::read_tensor(*found->second, "", tensor);
  return value ? std::optional<Tensor>(std::move(*value)) : std::nullopt;
}

std::string OnnxEdit::add_constant(const std::string& stem, const Tensor& value) {
  onnx::TensorProto& proto = *graph().add_initializer();
  proto.set_name(fresh(stem));
  proto.set_data_type(onnx_type(value.dtype()));
  for (const std::int64_t extent : value.shape()) proto.add_dims(extent);
  proto.set_raw_data(value.data(), value.bytes());
  names_.insert(proto.name());
  constants_[proto.name()] = &proto;
  return proto.name();
}

onnx::NodeProto& OnnxEdit::add_node(std::string_view op, const std::vector<std::string>& inputs,
                                    const std::string& output) {
  onnx::NodeProto& node = *graph().add_node();
  node.set_op_type(std::string(op));
  node.set_name(output + "_" + std::string(op));
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  enlist(node);
  return node;
}

void OnnxEdit::remove(onnx::NodeProto& node) {
  removed_.insert(&node);
  for (const std::string& input : node.input()) std::erase(readers_[input], &node);
  for (const std::string& output : node.output()) {
    if (writer(output) == &node) writers_.erase(output);
  }
}

void OnnxEdit::set_input(onnx::NodeProto& node, int index, const std::string& tensor) {
  std::vector<onnx::NodeProto*>& before = readers_[node.input(index)];
  if (const auto own = std::ranges::find(before, &node); own != before.end()) before.erase(own);
  node.set_input(index, tensor);
  readers_[tensor].push_back(&node);
}

void OnnxEdit::set_output(onnx::NodeProto& node, int index, const std::string& tensor) {
  if (writer(node.output(index)) == &node) writers_.erase(node.output(index));
  node.set_output(index, tensor);
  writers_[tensor] = &node;
  names_.insert(tensor);
}

void OnnxEdit::redirect(const std::string& from, const std::string& to) {
  for (onnx::NodeProto* node : readers(from)) {
    for (int i = 0; i < node->input_size(); ++i) {
      if (node->input(i) == from) set_input(*node, i, to);
    }
  }
}

std::string OnnxEdit::fresh(const std::string& stem) {
  std::string name = stem;
  for (int number = 2; names_.contains(name); ++number) name = stem + "_" + std::to_string(number);
  names_.insert(name);
  return name;
}

std::optional<Scales> OnnxEdit::scales_of(const std::string& scale, const std::string& zero_point,
                                          std::int64_t axis) const {
  const auto numbers = constant(scale);
  if (!numbers || numbers->dtype() != DType::f32 || numbers->elements() == 0) return std::nullopt;
  Scales found{to_floats(numbers->view()), Tensor::scalar<std::uint8_t>(0), axis};
  if (zero_point.empty()) return found;
  const auto zero = constant(zero_point);
  if (!zero || zero->elements() == 0) return std::nullopt;
  found.zero_point = *zero;
  return found;
}

std::optional<Scales> OnnxEdit::scales_of(const onnx::NodeProto& node) const {
  if (node.input_size() < 2) return std::nullopt;
  return scales_of(node.input(1), input_of(node, 2), integer_attribute(node, "axis", 1));
}

void OnnxEdit::drop_unread() {
  for (bool is_done = false; !is_done;) {
    is_done = true;
    for (onnx::NodeProto* node : nodes()) {
      const bool is_read = std::ranges::any_of(node->output(), [&](const std::string& output) {
        return !output.empty() && (is_pinned(output) || !readers(output).empty());
      });
      if (is_read) continue;
      remove(*node);
      is_done = false;
    }
  }
}

// Nodes in the order of the file, each after those that write what it reads.
void OnnxEdit::sort() {
  const std::vector<onnx::NodeProto*> left = nodes();
  std::set<const onnx::NodeProto*> placed;
  google::protobuf::RepeatedPtrField<onnx::NodeProto> sorted;
  std::vector<onnx::NodeProto*> stack(left.rbegin(), left.rend());
  while (!stack.empty()) {
    onnx::NodeProto* node = stack.back();
    std::set<std::string> reads(node->input().begin(), node->input().end());
    for (const onnx::AttributeProto& each : node->attribute()) {
      if (each.has_g()) list_inside(each.g(), reads);
      for (const onnx::GraphProto& part : each.graphs()) list_inside(part, reads);
    }
    std::vector<onnx::NodeProto*> before;
    for (const std::string& read : reads) {
      onnx::NodeProto* maker = writer(read);
      if (maker != nullptr && maker != node && !placed.contains(maker)) before.push_back(maker);
    }
    if (!placed.contains(node) && !before.empty()) {
      stack.insert(stack.end(), before.begin(), before.end());
      continue;
    }
    stack.pop_back();
    if (placed.insert(node).second) *sorted.Add() = *node;
  }
  graph().mutable_node()->Swap(&sorted);
}

onnx::ModelProto OnnxEdit::finish() {
  drop_unread();
  sort();
  std::set<std::string> read = pinned_;
  for (const onnx::NodeProto& node : graph().node()) read.insert(node.input().begin(), node.input().end());
  google::protobuf::RepeatedPtrField<onnx::TensorProto> kept;
  for (onnx::TensorProto& each : *graph().mutable_initializer()) {
    if (read.contains(each.name())) kept.Add()->Swap(&each);
  }
  graph().mutable_initializer()->Swap(&kept);
  // Types that a repair may have changed; whoever needs them infers them.
  graph().clear_value_info();
  return std::move(model_);
}

const onnx::AttributeProto* attribute(const onnx::NodeProto& node, std::string_view name) {
  for (const onnx::AttributeProto& each : node.attribute()) {
    if (each.name() == name) return &each;
  }
  return nullptr;
}

std::int64_t integer_attribute(const onnx::NodeProto& node, std::string_view name, std::int64_t otherwise) {
  const onnx::AttributeProto* found = attribute(node, name);
  return found == nullptr ? otherwise : found->i();
}

void set_integer(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  onnx::AttributeProto* made = nullptr;
  for (onnx::AttributeProto& each : *node.mutable_attribute()) {
    if (each.name() == name) made = &each;
  }
  if (made == nullptr) made = node.add_attribute();
  made->set_name(name);
  made->set_type(onnx::AttributeProto::INT);
  made->set_i(value);
}

void copy_attribute(const onnx::NodeProto& from, onnx::NodeProto& to, std::string_view name) {
  if (const onnx::AttributeProto* found = attribute(from, name); found != nullptr) *to.add_attribute() = *found;
}

const std::string& input_of(const onnx::NodeProto& node, int index) {
  static const std::string kNone;
  return index < node.input_size() ? node.input(index) : kNone;
}

}  // namespace octavo::repair
