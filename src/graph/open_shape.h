// What is certain of shapes that may depend on sizes that a model leaves open. Part of graph/.
#ifndef OCTAVO_GRAPH_OPEN_SHAPE_H_
#define OCTAVO_GRAPH_OPEN_SHAPE_H_

#include <algorithm>
#include <span>

#include "base/dim.h"
#include "base/sizes.h"

namespace octavo {

inline bool is_open(std::span<const Dim> dims) {
  return std::any_of(dims.begin(), dims.end(), [](const Dim& dim) { return !dim.is_number(); });
}

// Known to be equal, whatever the sizes.
inline bool is_same(std::span<const Dim> a, std::span<const Dim> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Dim& x, const Dim& y) { return is_same(x, y); });
}

// As must_equal of extents.
inline bool must_equal(std::span<const Dim> a, std::span<const Dim> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Dim& x, const Dim& y) { return must_equal(x, y); });
}

}  // namespace octavo

#endif  // OCTAVO_GRAPH_OPEN_SHAPE_H_
