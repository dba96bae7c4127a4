// is_open: whether a shape depends on sizes that a model leaves open. Part of graph/.
#ifndef OCTAVO_GRAPH_OPEN_SHAPE_H_
#define OCTAVO_GRAPH_OPEN_SHAPE_H_

#include <algorithm>
#include <span>

#include "base/dim.h"

namespace octavo {

inline bool is_open(std::span<const Dim> dims) {
  return std::any_of(dims.begin(), dims.end(), [](const Dim& dim) { return !dim.is_number(); });
}

}  // namespace octavo

#endif  // OCTAVO_GRAPH_OPEN_SHAPE_H_
