// Cutting ONNX graphs. Part of analyze/.
#include "analyze/onnx_slice.h"

#include <algorithm>
#include <span>

#include "import/import.h"
#include "import/onnx/types.h"

namespace octavo {
namespace {

using onnx::TensorProto;

// What a node reads from around it.
void add_reads(const onnx::NodeProto& node, std::set<std::string>& reads);

void add_reads(const onnx::GraphProto& graph, std::set<std::string>& reads) {
  std::set<std::string> inside, read;
  for (const auto& input : graph.input()) inside.insert(input.name());
  for (const auto& initializer : graph.initializer()) inside.insert(initializer.name());
  for (const auto& node : graph.node()) {
    add_reads(node, read);
    inside.insert(node.output().begin(), node.output().end());
  }
  for (const auto& output : graph.output()) read.insert(output.name());
  std::ranges::set_difference(read, inside, std::inserter(reads, reads.end()));
}

void add_reads(const onnx::NodeProto& node, std::set<std::string>& reads) {
  for (const std::string& input : node.input()) {
    if (!input.empty()) reads.insert(input);
  }
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) add_reads(attribute.g(), reads);
    for (const auto& graph : attribute.graphs()) add_reads(graph, reads);
  }
}

bool is_complete(const onnx::TypeProto& type) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape() || type.tensor_type().elem_type() == 0) return false;
  const auto& dims = type.tensor_type().shape().dim();
  return std::ranges::all_of(dims, [](const auto& dim) { return dim.has_dim_value() || dim.has_dim_param(); });
}

onnx::TypeProto type_of(const Fact& fact) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(onnx_import::onnx_type_of(fact.dtype));
  auto* shape = type.mutable_tensor_type()->mutable_shape();
  for (const Dim& dim : fact.shape) shape->add_dim()->set_dim_value(dim.example());
  return type;
}

bool is_half(int type) { return type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16; }

template <class List, class Keep>
void keep_if(List& list, const Keep& keep) {
  for (int i = list.size() - 1; i >= 0; --i) {
    if (!keep(list.Get(i).name())) list.DeleteSubrange(i, 1);
  }
}

}  // namespace

OnnxSlicer::OnnxSlicer(onnx::ModelProto model) : model_(std::move(model)) {
  onnx::GraphProto& graph = *model_.mutable_graph();
  onnx::GraphProto nodes;  // and constants, aside while the rest is copied
  nodes.mutable_node()->Swap(graph.mutable_node());
  nodes.mutable_initializer()->Swap(graph.mutable_initializer());
  shell_ = model_;
  nodes.mutable_node()->Swap(graph.mutable_node());
  nodes.mutable_initializer()->Swap(graph.mutable_initializer());
  list_reads();
  find_constants();
  read_types();
  if (!has_halves_) import_types();
}

void OnnxSlicer::list_reads() {
  const onnx::GraphProto& graph = model_.graph();
  for (const auto& initializer : graph.initializer()) initializers_.insert(initializer.name());
  for (int i = 0; i < graph.node_size(); ++i) {
    add_reads(graph.node(i), reads_.emplace_back());
    for (const std::string& output : graph.node(i).output()) {
      if (!output.empty()) makers_.emplace(output, static_cast<std::size_t>(i));
    }
  }
}

// Random numbers are read from nothing, and no constants.
void OnnxSlicer::find_constants() {
  std::set<std::string> constants = initializers_;
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    const auto& node = model_.graph().node(static_cast<int>(i));
    const bool reads_constants =
        node.op_type() == "Constant" || (!reads_[i].empty() && std::ranges::includes(constants, reads_[i]));
    is_constant_.push_back(reads_constants);
    if (reads_constants) constants.insert(node.output().begin(), node.output().end());
    else choices_.push_back(i);
  }
}

void OnnxSlicer::read_types() {
  const onnx::GraphProto& graph = model_.graph();
  for (const auto* list : {&graph.input(), &graph.output(), &graph.value_info()}) {
    for (const auto& value : *list) {
      if (is_complete(value.type())) types_.emplace(value.name(), value.type());
      has_halves_ |= is_half(value.type().tensor_type().elem_type());
    }
  }
  for (const auto& initializer : graph.initializer()) has_halves_ |= is_half(initializer.data_type());
}

// What cannot be imported makes what stands behind it unknown: the longest beginning tells the most.
void OnnxSlicer::import_types() {
  if (take_types(choices_.size())) return;
  std::size_t known = 0, unknown = choices_.size();
  while (unknown - known > 1) {
    const std::size_t middle = (known + unknown) / 2;
    (take_types(middle) ? known : unknown) = middle;
  }
}

// Of what the first `count` choices make; false where they cannot be imported. Names of values may repeat inside an
// operator, and the last one is the file's.
bool OnnxSlicer::take_types(std::size_t count) {
  NodeSet nodes(reads_.size(), false);
  for (std::size_t i = 0; i < count; ++i) nodes[choices_[i]] = true;
  const auto part = slice(nodes);
  if (!part) return false;
  const std::string text = part->SerializeAsString();
  const auto imported = import_model(std::as_bytes(std::span(text)), "model", {});
  if (!imported || imported->program) return false;
  std::map<std::string, onnx::TypeProto> found;
  const Graph& graph = imported->graph;
  for (int i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph.value({i});
    if (makers_.contains(value.name) && graph.producer({i}) != nullptr) found[value.name] = type_of(value.fact);
  }
  types_.merge(found);
  return true;
}

NodeSet OnnxSlicer::with_constants(NodeSet nodes) const {
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (!nodes[i]) continue;
    for (const std::string& name : reads_[i]) {
      const auto maker = makers_.find(name);
      if (maker != makers_.end() && is_constant_[maker->second]) nodes[maker->second] = true;
    }
  }
  return nodes;
}

std::optional<onnx::ModelProto> OnnxSlicer::slice(const NodeSet& chosen) const {
  if (std::ranges::none_of(choices_, [&](std::size_t i) { return chosen[i]; })) return std::nullopt;
  const NodeSet nodes = with_constants(chosen);
  std::set<std::string> read, made;
  onnx::ModelProto part = shell_;
  onnx::GraphProto& graph = *part.mutable_graph();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i]) continue;
    const auto& node = *graph.add_node() = model_.graph().node(static_cast<int>(i));
    read.insert(reads_[i].begin(), reads_[i].end());
    made.insert(node.output().begin(), node.output().end());
  }
  made.erase("");
  for (const auto& initializer : model_.graph().initializer()) {
    if (read.contains(initializer.name())) *graph.add_initializer() = initializer;
  }
  keep_if(*graph.mutable_input(), [&](const std::string& name) { return read.contains(name); });
  keep_if(*graph.mutable_output(), [&](const std::string& name) { return made.contains(name); });
  keep_if(*graph.mutable_value_info(), [&](const std::string& name) { return made.contains(name); });
  std::set<std::string> inputs, outputs;
  for (const auto& input : graph.input()) inputs.insert(input.name());
  for (const auto& output : graph.output()) outputs.insert(output.name());
  for (const std::string& name : read) {
    if (made.contains(name) || initializers_.contains(name) || inputs.contains(name)) continue;
    const auto type = types_.find(name);
    if (type == types_.end()) return std::nullopt;
    onnx::ValueInfoProto& input = *graph.add_input();
    input.set_name(name);
    *input.mutable_type() = type->second;
  }
  for (const std::string& name : made) {
    const auto maker = makers_.find(name);
    if (read.contains(name) || outputs.contains(name) || is_constant_[maker->second]) continue;
    graph.add_output()->set_name(name);
  }
  return part;
}

}  // namespace octavo
