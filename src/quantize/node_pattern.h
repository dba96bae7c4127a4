// Which nodes a user means: names, globs, "type:conv", "position:first". Part of quantize/.
#ifndef OCTAVO_QUANTIZE_NODE_PATTERN_H_
#define OCTAVO_QUANTIZE_NODE_PATTERN_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace octavo {

// `*` is any text, `?` any one character; everything else is itself.
bool matches_glob(std::string_view pattern, std::string_view text);

// A name or glob of the node's name (and of those that it was joined of), or "type:" and an operator's name, ours
// ("conv") or the file's ("Gemm"), without regard to case.
bool matches_node(std::string_view pattern, const Node& node);
bool matches_any(const std::vector<std::string>& patterns, const Node& node);

// The same patterns, but instead of "position:first" the names of the products (convolutions, products with weights)
// that an input reaches through no other one, instead of "position:last" of those from which no other one is reached.
// Other positions stay as they are.
std::vector<std::string> with_positions_named(const Graph& graph, const std::vector<std::string>& patterns);

// Names of the nodes that one of the patterns matches; positions, too.
std::set<std::string> matching_nodes(const Graph& graph, const std::vector<std::string>& patterns);

// Those patterns and positions that no node of the graph matches.
std::vector<std::string> unmatched_patterns(const Graph& graph, const std::vector<std::string>& patterns);

// Error (usage): a pattern or position that no node of the graph matches, with a few names there are.
Status check_patterns(const Graph& graph, const std::vector<std::string>& patterns, const std::string& option);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_NODE_PATTERN_H_
