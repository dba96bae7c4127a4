// The axes in front of matrices, and what becomes of operands and masks where these are merged or split. Part of
// lower/.
#ifndef OCTAVO_LOWER_LEADING_AXES_H_
#define OCTAVO_LOWER_LEADING_AXES_H_

#include <optional>
#include <string>

#include "graph/patch.h"

namespace octavo {

// All axes but the last two; the shape has these.
OpenShape leading_axes(const OpenShape& shape);

// x with these leading axes, which count as many matrices as its own.
ValueId with_leading_axes(Patch& patch, ValueId x, const OpenShape& leading, const std::string& name);

// A mask that broadcasts to matrices with leading axes `from` as one that broadcasts to the same matrices with leading
// axes `to`. Nothing where it is for some of the axes alone that are merged or split.
std::optional<ValueId> mask_for_leading_axes(Patch& patch, ValueId mask, const OpenShape& from, const OpenShape& to,
                                             const std::string& name);

}  // namespace octavo

#endif  // OCTAVO_LOWER_LEADING_AXES_H_
