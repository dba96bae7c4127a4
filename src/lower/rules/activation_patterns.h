// Activation functions that exporters write as several nodes. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_ACTIVATION_PATTERNS_H_
#define OCTAVO_LOWER_RULES_ACTIVATION_PATTERNS_H_

#include "graph/patch.h"

namespace octavo {

// x * sigmoid(x), hard-swish and hard-sigmoid from add, clip, mul and div, gelu from erf or tanh.
Match activation_patterns(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_ACTIVATION_PATTERNS_H_
