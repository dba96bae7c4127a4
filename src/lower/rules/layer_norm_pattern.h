// Layer normalisation that exporters write as several nodes. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_LAYER_NORM_PATTERN_H_
#define OCTAVO_LOWER_RULES_LAYER_NORM_PATTERN_H_

#include "graph/patch.h"

namespace octavo {

// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * scale + bias over the last axes; also as a product with the
// reciprocal.
Match layer_norm_pattern(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_LAYER_NORM_PATTERN_H_
