// Verbs like those of verbs.h that few readers call, apart because most of import/ includes verbs.h. Part of import/.
#ifndef OCTAVO_IMPORT_RARE_VERBS_H_
#define OCTAVO_IMPORT_RARE_VERBS_H_

#include <string>

#include "import/verbs.h"
#include "ops/recurrence/recurrence.h"

namespace octavo::importing {

// Elements of a constant that says where others lie: a file says little to ask for many.
inline constexpr std::int64_t kMostPlaces = std::int64_t{1} << 25;
// Windows of an image of sizes `image` put back, where they add up (col2im.cpp): x [N, C * windows' elements, windows]
// becomes [N, C, image...]. A number for each spatial axis; pads: all begins, then all ends.
struct Col2ImArgs {
  ValueId x;
  Numbers image, block, strides, dilations, pads;
};
ValueId col2im(NodeBuilder& in, const Col2ImArgs& args);

// The angle of (x, y), floats, in (-pi, pi] (angle.cpp).
ValueId angle(NodeBuilder& in, ValueId y, ValueId x);

// The biases [gates * H] of a recurrent layer's input and of its state as one, which is added to the product of the
// input; a gru that resets after the product keeps that of its candidate, [H], apart: it belongs to the product of the
// state (recurrent.cpp).
struct RecurrentBiases {
  ValueId all, candidate;
};
RecurrentBiases recurrent_biases(NodeBuilder& in, const RecurrenceAttrs& attrs, ValueId of_x, ValueId of_h,
                                 const std::string& name);

}  // namespace octavo::importing

#endif  // OCTAVO_IMPORT_RARE_VERBS_H_
