// Any function of one quantized value becomes a table. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_TABLE_H_
#define OCTAVO_LOWER_RULES_FUSE_TABLE_H_

#include "graph/patch.h"

namespace octavo {

// A quantize whose input depends, element by element, on one 8-bit value and scalar constants: all 256 answers are
// computed by the references, inner quantize and dequantize pairs included.
Match fuse_table(const Graph& graph, const Node& node);
// A table of the only reader of an integer operator becomes that operator's own; a table that only clamps becomes its
// bounds.
Match table_into_producer(const Graph& graph, const Node& node);
// table(view(x)) where x comes from an integer operator that may take the table in: view(table(x)).
Match table_before_view(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_TABLE_H_
