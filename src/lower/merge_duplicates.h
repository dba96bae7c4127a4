// One node for nodes that compute the same. Part of lower/.
#ifndef OCTAVO_LOWER_MERGE_DUPLICATES_H_
#define OCTAVO_LOWER_MERGE_DUPLICATES_H_

#include "graph/graph.h"
#include "graph/patch.h"

namespace octavo {

// Nodes with equal operator, attributes and inputs become one; small constants of equal content count as equal.
// Exporters write a quantize of the same value per reader; as one node it leaves the value with one reader, so that it
// fuses. Nodes whose results are quantized differently stay apart for the same reason.
PassReport merge_duplicates(Graph& graph);

}  // namespace octavo

#endif  // OCTAVO_LOWER_MERGE_DUPLICATES_H_
