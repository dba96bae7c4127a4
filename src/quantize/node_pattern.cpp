// Matching nodes by name and type. Part of quantize/.
#include "quantize/node_pattern.h"

#include <algorithm>
#include <cctype>

#include "graph/origin.h"

namespace octavo {
namespace {

bool equal_without_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

// Whether a value is made of constants alone: weights, also where a file quantizes or rearranges them.
std::vector<bool> find_constants(const Graph& graph) {
  std::vector<bool> is_constant(static_cast<std::size_t>(graph.value_count()));
  for (int i = 0; i < graph.value_count(); ++i)
    is_constant[static_cast<std::size_t>(i)] = graph.fact({i}).is_constant();
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const bool reads_constants = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return !input.exists() || is_constant[static_cast<std::size_t>(input.index)];
    });
    if (!reads_constants) continue;
    for (const ValueId output : node.outputs) is_constant[static_cast<std::size_t>(output.index)] = true;
  }
  return is_constant;
}

// By NodeId.
std::vector<bool> find_products(const Graph& graph) {
  const std::vector<bool> is_constant = find_constants(graph);
  std::vector<bool> is_product;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    is_product.resize(std::max(is_product.size(), static_cast<std::size_t>(id.index) + 1));
    is_product[static_cast<std::size_t>(id.index)] = node.spec->weight_axis >= 0 &&
                                                     is_constant[static_cast<std::size_t>(node.inputs[1].index)] &&
                                                     !is_constant[static_cast<std::size_t>(node.inputs[0].index)];
  }
  return is_product;
}

// Products with no other one before them, or behind them.
std::vector<std::string> outermost_products(const Graph& graph, bool is_first) {
  const std::vector<bool> is_product = find_products(graph);
  std::vector<bool> lies_beyond(static_cast<std::size_t>(
      graph.value_count()));  // by ValueId: there is a product on the way from there to the end
  std::vector<NodeId> order = graph.order();
  if (!is_first) std::reverse(order.begin(), order.end());
  std::vector<std::string> names;
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    const auto& from = is_first ? node.inputs : node.outputs;
    const auto& to = is_first ? node.outputs : node.inputs;
    const bool is_inner = std::any_of(from.begin(), from.end(), [&](ValueId v) {
      return v.exists() && lies_beyond[static_cast<std::size_t>(v.index)];
    });
    const bool is_own = is_product[static_cast<std::size_t>(id.index)];
    if (is_own && !is_inner) names.push_back(node.name);
    for (const ValueId value : to) {
      if (value.exists() && (is_own || is_inner)) lies_beyond[static_cast<std::size_t>(value.index)] = true;
    }
  }
  if (!is_first) std::reverse(names.begin(), names.end());
  return names;
}

constexpr std::string_view kFirst = "position:first", kLast = "position:last";

// "node 'block2/conv' (QLinearConv, opset 13)" -> "QLinearConv".
std::string_view file_type(std::string_view origin) {
  const std::size_t open = origin.rfind('(');
  if (open == std::string_view::npos) return {};
  const std::string_view inside = origin.substr(open + 1);
  return inside.substr(0, inside.find_first_of(",)"));
}

// Of a node that came of several of the file's: whether one of these has such a name.
bool matches_joined(std::string_view pattern, std::string_view origin) {
  constexpr std::string_view kNode = "node '";
  for (std::size_t at = origin.find(kNode); at != std::string_view::npos; at = origin.find(kNode, at)) {
    at += kNode.size();
    const std::string_view name = origin.substr(at, origin.find('\'', at) - at);
    if (matches_glob(pattern, name)) return true;
  }
  return false;
}

}  // namespace

bool matches_glob(std::string_view pattern, std::string_view text) {
  // Greedy with one point to return to: linear in practice, quadratic at worst.
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool matches_node(std::string_view pattern, const Node& node) {
  constexpr std::string_view kType = "type:";
  if (!pattern.starts_with(kType))
    return matches_glob(pattern, node.name) ||
           (node.origin.find(kJoinedOrigins) != std::string::npos && matches_joined(pattern, node.origin));
  const std::string_view type = pattern.substr(kType.size());
  return equal_without_case(type, node.spec->name) || equal_without_case(type, file_type(node.origin));
}

bool matches_any(const std::vector<std::string>& patterns, const Node& node) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches_node(pattern, node); });
}

std::vector<std::string> with_positions_named(const Graph& graph, const std::vector<std::string>& patterns) {
  std::vector<std::string> named;
  for (const std::string& pattern : patterns) {
    if (pattern != kFirst && pattern != kLast) {
      named.push_back(pattern);
      continue;
    }
    const std::vector<std::string> products = outermost_products(graph, pattern == kFirst);
    named.insert(named.end(), products.begin(), products.end());
  }
  return named;
}

std::set<std::string> matching_nodes(const Graph& graph, const std::vector<std::string>& words) {
  const std::vector<std::string> patterns = with_positions_named(graph, words);
  std::set<std::string> names;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (matches_any(patterns, node)) names.insert(node.name);
  }
  return names;
}

std::vector<std::string> unmatched_patterns(const Graph& graph, const std::vector<std::string>& patterns) {
  std::vector<std::string> unmatched;
  for (const std::string& pattern : patterns) {
    const auto matches = [&](NodeId id) { return matches_node(pattern, graph.node(id)); };
    const bool is_position = pattern == kFirst || pattern == kLast;
    if (is_position && !outermost_products(graph, pattern == kFirst).empty()) continue;
    if (std::any_of(graph.order().begin(), graph.order().end(), matches)) continue;
    unmatched.push_back(pattern);
  }
  return unmatched;
}

Status check_patterns(const Graph& graph, const std::vector<std::string>& patterns, const std::string& option) {
  Errors errors;
  for (const std::string& pattern : unmatched_patterns(graph, patterns)) {
    std::string some;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, graph.order().size()); ++i)
      some += (i ? ", '" : "'") + graph.node(graph.order()[i]).name + "'";
    errors.push_back(
        {.kind = ErrorKind::usage,
         .where = option,
         .found = "'" + pattern + "', which no node matches",
         .expected = "a node name, a glob, type:conv, position:first or position:last (there are " + some + ", ...)"});
  }
  if (!errors.empty()) return errors;
  return ok_status();
}

}  // namespace octavo
