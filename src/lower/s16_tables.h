// How many tables of s16 values a graph may have. Part of lower/.
#ifndef OCTAVO_LOWER_S16_TABLES_H_
#define OCTAVO_LOWER_S16_TABLES_H_

#include <string>

#include "graph/graph.h"

namespace octavo {

// Why the graph may have no other table with an entry for each s16 value, which takes 128 KiB where the node of a file
// that makes one takes 60 bytes; empty where it may.
std::string s16_table_refusal(const Graph& graph);

}  // namespace octavo

#endif  // OCTAVO_LOWER_S16_TABLES_H_
