// Matching nodes by name and type. Part of quantize/.
#include "quantize/node_pattern.h"

#include <algorithm>
#include <cctype>

namespace octavo {
namespace {

bool equal_without_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

// "node 'block2/conv' (QLinearConv, opset 13)" -> "QLinearConv".
std::string_view file_type(std::string_view origin) {
  const std::size_t open = origin.rfind('(');
  if (open == std::string_view::npos) return {};
  const std::string_view inside = origin.substr(open + 1);
  return inside.substr(0, inside.find_first_of(",)"));
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
  if (!pattern.starts_with(kType)) return matches_glob(pattern, node.name);
  const std::string_view type = pattern.substr(kType.size());
  return equal_without_case(type, node.spec->name) || equal_without_case(type, file_type(node.origin));
}

std::set<std::string> matching_nodes(const Graph& graph, const std::vector<std::string>& patterns) {
  std::set<std::string> names;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) { return matches_node(pattern, node); }))
      names.insert(node.name);
  }
  return names;
}

Status check_patterns(const Graph& graph, const std::vector<std::string>& patterns, const std::string& option) {
  Errors errors;
  for (const std::string& pattern : patterns) {
    const auto matches = [&](NodeId id) { return matches_node(pattern, graph.node(id)); };
    if (std::any_of(graph.order().begin(), graph.order().end(), matches)) continue;
    std::string some;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, graph.order().size()); ++i)
      some += (i ? ", '" : "'") + graph.node(graph.order()[i]).name + "'";
    errors.push_back({.kind = ErrorKind::usage,
                      .where = option,
                      .found = "'" + pattern + "', which no node matches",
                      .expected = "a node name, a glob or type:conv (there are " + some + ", ...)"});
  }
  if (!errors.empty()) return errors;
  return ok_status();
}

}  // namespace octavo
