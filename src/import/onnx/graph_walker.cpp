// One node after the other. Part of import/.
#include "import/onnx/graph_walker.h"

#include <algorithm>
#include <set>

#include "import/onnx/node_order.h"
#include "import/onnx/proto.h"
#include "import/onnx/tensor.h"

namespace octavo::onnx_import {
namespace {

// A body of a loop is read again where shapes change inside, loops inside it each time.
constexpr std::int64_t kMostNodes = std::int64_t{1} << 22;

std::string graph_walker_type_of(const onnx::NodeProto& node) {
  const std::string domain = standard_domain(node.domain());
  return domain.empty() ? node.op_type() : domain + "." + node.op_type();
}

std::string name_of_node(const onnx::NodeProto& node, int index) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output()) {
    if (!output.empty()) return output;
  }
  return "#" + std::to_string(index);
}

bool is_control_flow(const std::string& type) { return type == "If" || type == "Loop" || type == "Scan"; }

}  // namespace

std::string standard_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

void GraphWalker::read_opsets(const onnx::ModelProto& model) {
  for (const auto& import : model.opset_import()) {
    const std::string domain = standard_domain(import.domain());
    // Only the standard and Microsoft's are ever asked for; a version beyond int is no version.
    if (domain.empty() && (import.version() < kOldestOpset || import.version() > kNewestOpset)) {
      building_.report(ErrorKind::unsupported, "opset_import", "opset " + std::to_string(import.version()),
                       std::to_string(kOldestOpset) + " to " + std::to_string(kNewestOpset),
                       "Convert the model to another opset");
    }
    opsets_[domain] = static_cast<int>(std::clamp<std::int64_t>(import.version(), 0, 1 << 20));
  }
}

int GraphWalker::opset_of(const onnx::NodeProto& node) const {
  const auto found = opsets_.find(standard_domain(node.domain()));
  return found == opsets_.end() ? 0 : found->second;
}

// nullptr where Octavo has no reader for this version.
const Operator* GraphWalker::find_operator(const onnx::NodeProto& node) const {
  const std::string type = graph_walker_type_of(node);
  const auto all = all_operators();
  const auto found = std::lower_bound(all.begin(), all.end(), std::string_view(type),
                                      [](const Operator& a, std::string_view name) { return a.name < name; });
  const int opset = opset_of(node);
  const bool is_read = found != all.end() && found->name == type && opset >= found->since && opset <= found->until;
  return is_read ? &*found : nullptr;
}

void GraphWalker::list_unread(const onnx::GraphProto& graph, Unread& unread) {
  for (int i = 0; i < graph.node_size(); ++i) {
    const auto& node = graph.node(i);
    if (is_control_flow(graph_walker_type_of(node))) {
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) list_unread(attribute.g(), unread);
      }
    } else if (find_operator(node) == nullptr) {
      unread[graph_walker_type_of(node) + " (opset " + std::to_string(opset_of(node)) + ")"].push_back(
          "'" + name_of_node(node, i) + "'");
    }
  }
}

void GraphWalker::list_unread(const onnx::GraphProto& graph) {
  Unread unread;
  list_unread(graph, unread);
  building_.report_unread(unread, "in node", "operators and opsets that Octavo reads");
}

void GraphWalker::read_initializer(const onnx::TensorProto& tensor) {
  const std::string name = tensor.name(), place = "initializer '" + name + "'";
  if (name.empty() || building_.is_known(name)) {
    building_.report(ErrorKind::invalid_input, place, name.empty() ? "no name" : "it twice",
                     "initializers of different names");
    return;
  }
  auto read = read_tensor(tensor, building_.folder, building_.file + ": " + place);
  building_.bind(name, {});
  if (!read) return building_.report(read.errors());
  elements_ += read->elements();
  building_.values[name] = building_.graph.add_constant(name, *std::move(read));
}

void GraphWalker::read_nodes(const onnx::GraphProto& graph) {
  for (const int i : order_of_computation(graph)) {
    if (building_.is_full()) return;
    if (++nodes_ > kMostNodes) {
      building_.report(ErrorKind::unsupported, "",
                       "loops inside loops that take " + std::to_string(kMostNodes) + " nodes to read", "fewer");
      return;
    }
    read_node(graph, i);
  }
}

// False where an input is missing or its producer could not be read.
bool GraphWalker::inputs_are_known(const Place& at) {
  bool are_known = true;
  for (int i = 0; i < at.node.input_size(); ++i) {
    const std::string& name = at.node.input(i);
    if (name.empty()) continue;
    if (!building_.is_known(name)) report_missing(at, i), are_known = false;
    const auto here = building_.values.find(name);
    if (here == building_.values.end() || !here->second.exists()) continue;
    // Its shape is known once this graph has run.
    if (building_.computed.contains(here->second.index)) building_.leave_graph();
  }
  return are_known;
}

void GraphWalker::report_missing(const Place& at, int input) {
  if (producers_of_ != &at.graph) {
    producers_.clear();
    for (int i = 0; i < at.graph.node_size(); ++i) {
      for (const std::string& output : at.graph.node(i).output()) producers_.emplace(output, i);
    }
    producers_of_ = &at.graph;
  }
  // Whether this node has to run before the value can be made.
  const auto needs_itself = [&] {
    std::vector<std::string> open{at.node.input(input)};
    std::set<std::string> seen{at.node.input(input)};
    while (!open.empty()) {
      const auto producer = producers_.find(open.back());
      open.pop_back();
      if (producer == producers_.end()) continue;
      if (producer->second == at.index) return true;
      for (const std::string& name : at.graph.node(producer->second).input()) {
        if (!name.empty() && seen.insert(name).second) open.push_back(name);
      }
    }
    return false;
  };
  const auto report = [&](const char* found, const char* expected) {
    building_.report(ErrorKind::invalid_input, at.origin + ", input " + std::to_string(input),
                     "'" + at.node.input(input) + "', " + found, expected);
  };
  if (!producers_.contains(at.node.input(input)))
    report("which nothing makes", "a graph input, an initializer or the output of an earlier node");
  else if (needs_itself()) report("which depends on this node: a cycle", "a graph without cycles");
  else report("which comes out of a cycle", "a graph without cycles");
}

bool GraphWalker::outputs_are_new(const Place& at) {
  for (const std::string& output : at.node.output()) {
    if (output.empty() || !building_.is_known(output)) continue;
    building_.report(ErrorKind::invalid_input, at.origin, "the output '" + output + "', a name that is taken",
                     "a new name");
    return false;
  }
  return true;
}

void GraphWalker::forget_outputs(const onnx::NodeProto& node) {
  for (const std::string& output : node.output()) {
    if (!output.empty() && !building_.is_known(output)) building_.bind(output, {});
  }
}

void GraphWalker::read_node(const onnx::GraphProto& graph, int index) {
  const auto& node = graph.node(index);
  const std::string name = name_of_node(node, index), type = graph_walker_type_of(node);
  const Place at{graph, index, node, name,
                 "node '" + name + "' (" + type + ", opset " + std::to_string(opset_of(node)) + ")"};
  const bool is_readable = inputs_are_known(at) && outputs_are_new(at);
  const Operator* entry = find_operator(node);
  if (is_readable && is_control_flow(type)) return read_control_flow(at);
  if (is_readable && entry != nullptr) return read_operator(at, *entry);
  forget_outputs(node);
}

void GraphWalker::read_operator(const Place& at, const Operator& entry) {
  if (read_computed_range(at)) return;
  read_computed_sizes(at);
  for (const std::string& input : at.node.input()) {
    if (!input.empty() && !building_.find(input).exists()) return forget_outputs(at.node);
  }
  NodeReader in(building_, at.node, opset_of(at.node), at.name, at.origin);
  if (in.input_count() < entry.min_inputs || in.input_count() > entry.max_inputs) {
    const std::string most = entry.max_inputs == kAnyNumber ? "more" : std::to_string(entry.max_inputs);
    in.fail("", std::to_string(in.input_count()) + " inputs", std::to_string(entry.min_inputs) + " to " + most);
  } else {
    ++families_[family_of(at.node.op_type())];
    in.output(0, entry.read(in));
  }
  in.finish();
}

Handle GraphWalker::handle_of(const std::string& name) {
  const auto outer = building_.outer.find(name);
  const bool is_outer = outer != building_.outer.end() && outer->second != kNoHandle;
  if (is_outer && !building_.program.fact(outer->second).is_constant()) return outer->second;
  ValueId id = building_.find(name);
  if (id.exists() && building_.graph.fact(id).is_constant()) id = building_.copied(id, name);
  return id.exists() ? building_.program.handle_of(id) : kNoHandle;
}

}  // namespace octavo::onnx_import
