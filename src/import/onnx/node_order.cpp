// The order in which the nodes of an ONNX graph are read. The format asks for nodes in an order of computation; files
// that do not keep to it run all the same, since ONNX Runtime sorts them. Part of import/.
#include "import/onnx/node_order.h"

#include <functional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "import/onnx/proto.h"

namespace octavo::onnx_import {
namespace {

using Visit = std::function<void(const std::string&)>;

// What a node reads, also in the graphs inside it, but for what these have themselves: they may call it as they like.
void visit_reads(const onnx::NodeProto& node, const Visit& visit) {
  for (const std::string& input : node.input()) {
    if (!input.empty()) visit(input);
  }
  for (const auto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    const onnx::GraphProto& inner = attribute.g();
    std::unordered_set<std::string_view> own;
    for (const auto& input : inner.input()) own.insert(input.name());
    for (const auto& constant : inner.initializer()) own.insert(constant.name());
    for (const auto& maker : inner.node()) own.insert(maker.output().begin(), maker.output().end());
    const Visit visit_outer = [&](const std::string& name) {
      if (!own.contains(name)) visit(name);
    };
    for (const auto& reader : inner.node()) visit_reads(reader, visit_outer);
    for (const auto& output : inner.output()) visit_outer(output.name());
  }
}

// Of most files: each node stands behind what it reads.
bool is_in_order(const onnx::GraphProto& graph, const std::unordered_map<std::string_view, int>& producers) {
  for (int i = 0; i < graph.node_size(); ++i) {
    bool is_behind = true;
    visit_reads(graph.node(i), [&](const std::string& name) {
      const auto producer = producers.find(name);
      is_behind = is_behind && (producer == producers.end() || producer->second < i);
    });
    if (!is_behind) return false;
  }
  return true;
}

std::vector<int> file_order(int nodes) {
  std::vector<int> order;
  for (int i = 0; i < nodes; ++i) order.push_back(i);
  return order;
}

}  // namespace

std::vector<int> order_of_computation(const onnx::GraphProto& graph) {
  const int count = graph.node_size();
  std::unordered_map<std::string_view, int> producers;
  for (int i = 0; i < count; ++i) {
    for (const std::string& output : graph.node(i).output()) {
      if (!output.empty()) producers.emplace(output, i);
    }
  }
  if (is_in_order(graph, producers)) return file_order(count);
  const auto at = [](int node) { return static_cast<std::size_t>(node); };
  std::vector<std::vector<int>> readers(at(count));
  std::vector<int> waits_for(at(count), 0);
  for (int i = 0; i < count; ++i) {
    std::unordered_set<int> before;
    visit_reads(graph.node(i), [&](const std::string& name) {
      const auto producer = producers.find(name);
      if (producer != producers.end() && before.insert(producer->second).second) {
        readers[at(producer->second)].push_back(i);
        ++waits_for[at(i)];
      }
    });
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;  // the first of the file next
  for (int i = 0; i < count; ++i) {
    if (waits_for[at(i)] == 0) ready.push(i);
  }
  std::vector<int> order;
  for (; !ready.empty();) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const int reader : readers[at(node)]) {
      if (--waits_for[at(reader)] == 0) ready.push(reader);
    }
  }
  for (int i = 0; i < count; ++i) {
    if (waits_for[at(i)] > 0) order.push_back(i);
  }
  return order;
}

}  // namespace octavo::onnx_import
