// Operators that only move or select elements work on the 8-bit side of dequantize and quantize. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_STRUCTURE_ON_INTEGERS_H_
#define OCTAVO_LOWER_RULES_STRUCTURE_ON_INTEGERS_H_

#include "graph/patch.h"

namespace octavo {

// op(dequantize(q)) becomes dequantize(op(q)) for reshape, transpose, slice, concat, pad, max_pool, resize to nearest
// and the like.
Match structure_before_dequantize(const Graph& graph, const Node& node);
// quantize(op(v)) becomes op(quantize(v)), unary likewise, where op has one reader.
Match structure_after_quantize(const Graph& graph, const Node& node);
// dequantize(op(q)) becomes op(dequantize(q)): the other way round, for a graph that is to compute in f32.
Match structure_after_dequantize(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_STRUCTURE_ON_INTEGERS_H_
