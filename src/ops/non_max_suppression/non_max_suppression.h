// non_max_suppression: the best boxes of each class that do not overlap much. Part of ops/.
#ifndef OCTAVO_OPS_NON_MAX_SUPPRESSION_NON_MAX_SUPPRESSION_H_
#define OCTAVO_OPS_NON_MAX_SUPPRESSION_NON_MAX_SUPPRESSION_H_

#include <cstdint>
#include <limits>
#include <tuple>

#include "graph/op.h"

namespace octavo {

struct NonMaxSuppressionAttrs {
  bool is_centered = false;  // boxes are [x, y of the middle, width, height], else two corners, [y, x, y, x]
  std::int64_t most = std::numeric_limits<std::int64_t>::max();  // boxes of a class; at least 0

  bool operator==(const NonMaxSuppressionAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"is_centered", &NonMaxSuppressionAttrs::is_centered},
                      Field{"most", &NonMaxSuppressionAttrs::most});
  }
};

// Of every image and class, boxes in the order of their scores, equal ones by their index: one is taken where its score
// is above `score_threshold` (left out: any score) and no box that was taken has an intersection over union with it
// above `iou_threshold` (left out: 0), until there are `most`, or `most_boxes` where that is fewer. Areas and their
// quotient are computed in f32; a box without an area overlaps nothing.
// results: [image, class, box] of each that is taken, s64 [images * classes * most, 3], of which as many as there are
// stand at the beginning and zeros behind them; and that shape, s64 [2].
// inputs: boxes [images, boxes, 4], scores [images, classes, boxes], both f32; most_boxes s64, iou_threshold and
// score_threshold f32, one element each.
extern const OpSpec kNonMaxSuppression;

// `scratch` has room for so many integers per box.
inline constexpr std::int64_t kSuppressionScratch = 3;
void suppress_boxes(const NonMaxSuppressionAttrs& attrs, InputViews inputs, OutputViews outputs, std::int64_t* scratch);

}  // namespace octavo

#endif  // OCTAVO_OPS_NON_MAX_SUPPRESSION_NON_MAX_SUPPRESSION_H_
