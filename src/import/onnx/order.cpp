// Finding the cycles of an ONNX file. Part of import/.
#include "import/onnx/order.h"

#include <map>
#include <string>

#include "import/onnx/proto.h"

namespace octavo::onnx_import {
namespace {

using Edges = std::vector<std::vector<int>>;

// Takes away nodes that nothing points to, again and again; what stays hangs behind a cycle.
void peel(const Edges& edges, std::vector<bool>& is_left) {
  std::vector<int> degree(edges.size(), 0);
  for (std::size_t from = 0; from < edges.size(); ++from) {
    if (!is_left[from]) continue;
    for (int to : edges[from]) ++degree[static_cast<std::size_t>(to)];
  }
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (is_left[i] && degree[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const std::size_t node = ready.back();
    ready.pop_back();
    is_left[node] = false;
    for (int to : edges[node]) {
      const auto next = static_cast<std::size_t>(to);
      if (is_left[next] && --degree[next] == 0) ready.push_back(next);
    }
  }
}

}  // namespace

std::vector<bool> nodes_on_cycles(const onnx::GraphProto& graph) {
  std::map<std::string, int> producers;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& output : graph.node(i).output()) {
      if (!output.empty()) producers.emplace(output, i);
    }
  }
  const auto count = static_cast<std::size_t>(graph.node_size());
  Edges forward(count), backward(count);
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& input : graph.node(i).input()) {
      const auto producer = producers.find(input);
      if (producer == producers.end()) continue;
      forward[static_cast<std::size_t>(producer->second)].push_back(i);
      backward[static_cast<std::size_t>(i)].push_back(producer->second);
    }
  }
  std::vector<bool> is_left(count, true);
  peel(forward, is_left);
  peel(backward, is_left);
  return is_left;
}

}  // namespace octavo::onnx_import
