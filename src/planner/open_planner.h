// Graphs with open sizes as data, and plans made of that: what Octavo::planner adds to a program that runs models. Part
// of planner/.
#ifndef OCTAVO_PLANNER_OPEN_PLANNER_H_
#define OCTAVO_PLANNER_OPEN_PLANNER_H_

#include <set>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lower/lower.h"
#include "plan/constants.h"
#include "plan/open_network.h"

namespace octavo {

// A graph with open sizes as data. Its constants go into the sink.
StoredGraph stored_graph(const Graph& graph, ConstantSink& constants);

// What a graph still holds by once it is at other sizes: not by what shape rules asked.
void keep_decisions(SizeProgram& sizes);

// The first dimension of the first input of a graph without open sizes; 1 where there is none.
std::int64_t batch_of(const Graph& graph);

// What a report tells of nodes in float; `kept` are those that somebody chose to keep in fp32.
std::vector<PlanIsland> told_islands(const std::vector<Island>& islands, const std::set<std::string>& kept);

// The graph at these values (Sizes::evaluate), whose constants are borrowed from `constants`. Errors: invalid_input,
// where the graph, which may come from a hostile file, is none; what an operator says of the shapes that come of it.
Result<Graph> graph_at(const StoredGraph& stored, const ConstantSource& constants,
                       std::span<const std::int64_t> values);

}  // namespace octavo

#endif  // OCTAVO_PLANNER_OPEN_PLANNER_H_
