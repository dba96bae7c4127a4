// Origins of nodes that several of the source's became. Part of graph/.
#ifndef OCTAVO_GRAPH_ORIGIN_H_
#define OCTAVO_GRAPH_ORIGIN_H_

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace octavo {

// Stands between the parts of a joined origin, each of which begins with "node 'NAME'".
constexpr std::string_view kJoinedOrigins = " and node '";

// That of a node which computes what both did; `main` is the one whose name and operator it keeps.
inline std::string joined_origins(const Node& other, const Node& main) {
  const auto named = [](const Node& node) {  // origins of some formats lack the name
    const std::string name = "node '" + node.name + "'";
    return node.origin.find(name) == std::string::npos ? name + ", " + node.origin : node.origin;
  };
  return named(other) + " and " + named(main);
}

}  // namespace octavo

#endif  // OCTAVO_GRAPH_ORIGIN_H_
