// What follows the last products of a network. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_TAILS_H_
#define OCTAVO_QUANTIZE_TAILS_H_

#include <vector>

#include "quantize/quantize.h"

namespace octavo {

// Behind its last products a network computes on what it answers, no longer on features: boxes of distances and
// anchors, points of offsets. These are measures, of which 256 steps are few, nothing reads them in 8 bits, and the
// arithmetic is a few operations for each element: it stays in f32, and the products give f32. So do products with a
// handful of weights between floats, as the mean of a distribution over bins is one. What only says where something is
// read, the regions of a roi_align and the grid of a grid_sample, is no feature either. Means, pools and normalisations
// read features as products do. `roles` by NodeId.
void keep_tails_in_float(const Graph& graph, std::vector<NodeRole>& roles);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_TAILS_H_
