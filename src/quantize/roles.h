// What each operator can do with 8-bit values. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_ROLES_H_
#define OCTAVO_QUANTIZE_ROLES_H_

#include "quantize/placement.h"

namespace octavo {

NodeRole role_of(const Graph& graph, const Node& node);

// A softmax that has an integer form.
bool is_integer_softmax(const Graph& graph, const Node& node);

// ReLU or clip: on a rounded value these are a clamp, so they follow a kernel without a rounding in between.
bool is_clamp(const Node& node);

bool is_norm(const Node& node);
bool is_mean(const Node& node);

// Whether an operator with an integer form takes that input as integers: all but the scale and bias of a normalisation
// and the mask of attention.
bool takes_integers(const Node& node, std::size_t input);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_ROLES_H_
