// What a file means at sizes that answer its questions in another way than the examples do. Part of api/.
#ifndef OCTAVO_API_READINGS_H_
#define OCTAVO_API_READINGS_H_

#include <functional>
#include <optional>
#include <vector>

#include "api/planned_sizes.h"
#include "graph/graph.h"

namespace octavo::v1 {

// A graph as a file says it, before it is lowered, and the conditions under which the file says it.
struct Reading {
  Graph graph;
  SizeProgram sizes;
};

// With the conditions that its table has now.
Reading reading_of(const Graph& graph);

// The graph with these numbers for its sizes. Nothing where the file means something else there.
std::optional<Graph> closed_at(const Reading& reading, const SizeValues& sizes);

// Whether it means something where sizes are as few as they can be, or 1, or where a question has its other answer,
// and `lowered` does not hold there.
bool means_more(const Reading& reading, const Sizes& lowered);

// Reads the file with these sizes for the examples; nothing where it has no meaning there.
using ReadAt = std::function<std::optional<Graph>(const SizeValues& sizes)>;

// What a file means at the least sizes that there are and at 1, each alone and all together, and where each question of
// the importer has its other answer, as far as no reading before holds there. Most files mean the same, and there are
// none.
std::vector<Graph> other_readings(const Graph& first, const ReadAt& read);

}  // namespace octavo::v1

#endif  // OCTAVO_API_READINGS_H_
