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

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_ROLES_H_
