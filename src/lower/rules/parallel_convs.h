// Sums of convolutions of the same image. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_PARALLEL_CONVS_H_
#define OCTAVO_LOWER_RULES_PARALLEL_CONVS_H_

#include "graph/patch.h"

namespace octavo {

// conv(x, v) + conv(x, w), whose windows differ in how far they reach and in groups only -> conv(x, v + w), over the
// wider window and in the fewer groups. This is what RepVGG, MobileOne, GhostNetV3 and others do before they are used
// ("structural reparameterization", Ding et al. 2021), where the file still has the branches of training.
Match parallel_convs(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_PARALLEL_CONVS_H_
