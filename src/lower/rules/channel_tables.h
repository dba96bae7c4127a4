// What pictures go through first. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_CHANNEL_TABLES_H_
#define OCTAVO_LOWER_RULES_CHANNEL_TABLES_H_

#include "graph/patch.h"

namespace octavo {

// A function of single elements behind a channel_table, parameters of one element included: the references compute it
// of all entries, which keeps the bits. So the quantize of a picture becomes a table of integers.
Match into_channel_table(const Graph& graph, const Node& node);
// The same but for what makes floats of integers: while operators still look for a dequantize before them.
Match into_integer_channel_table(const Graph& graph, const Node& node);
// A channel_table that has one function for all channels becomes a table. After everything that may still change it.
Match channel_table_to_table(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_CHANNEL_TABLES_H_
