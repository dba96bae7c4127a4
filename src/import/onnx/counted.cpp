// ONNX readers: operators whose results' extents depend on data. Part of import/.
#include "import/onnx/operators.h"
#include "ops/compress/compress.h"
#include "ops/non_max_suppression/non_max_suppression.h"
#include "ops/nonzero/nonzero.h"
#include "ops/unique/unique.h"

namespace octavo::onnx_import {
namespace {

ValueId read_compress(NodeReader& in) {
  const ValueId x = in.value(0), condition = in.value(1);
  CompressAttrs attrs;
  if (in.has("axis")) attrs.axis = in.axis(in.integer("axis"), in.rank(x));
  const auto made = in.add_exactly(kCompress, attrs, {x, condition});
  return in.with_shape(made[0], made[1], {static_cast<int>(attrs.axis < 0 ? 0 : attrs.axis)});
}

// A number of boxes that is known bounds the result; without one there is none.
ValueId read_non_max_suppression(NodeReader& in) {
  const ValueId boxes = in.value(0), scores = in.value(1);
  NonMaxSuppressionAttrs attrs{.is_centered = in.flag("center_point_box"), .most = 0};
  ValueId most = in.optional(2, "max_output_boxes_per_class");
  if (most.exists()) attrs.most = NonMaxSuppressionAttrs{}.most;
  if (most.exists() && in.is_constant(most) && in.fact(most).extents == nullptr) {
    const auto data = in.list_of(most, "max_output_boxes_per_class", is_integer, "an integer");
    if (data == nullptr || data->elements() != 1) return in.fail("input 2", in.shape(most).to_string(), "one number");
    attrs.most = std::max<std::int64_t>(to_int64s(data->view())[0], 0);
    most = {};
  }
  const auto made =
      in.add_exactly(kNonMaxSuppression, attrs,
                     {boxes, scores, most, in.optional(3, "iou_threshold"), in.optional(4, "score_threshold")});
  return in.with_shape(made[0], made[1], {0});
}

ValueId read_nonzero(NodeReader& in) {
  const auto made = in.add_exactly(kNonzero, NoAttrs{}, {in.value(0)});
  return in.with_shape(made[0], made[1], {1});
}

ValueId read_unique(NodeReader& in) {
  const ValueId x = in.value(0);
  UniqueAttrs attrs{.is_sorted = in.flag("sorted", true)};
  if (in.has("axis")) attrs.axis = in.axis(in.integer("axis"), in.rank(x));
  const auto made = in.add_exactly(kUnique, attrs, {x});
  in.output(1, in.with_shape(made[1], made[5], {0}));
  in.output(2, made[2]);
  in.output(3, in.with_shape(made[3], made[5], {0}));
  return in.with_shape(made[0], made[4], {static_cast<int>(attrs.axis < 0 ? 0 : attrs.axis)});
}

constexpr Operator kCountedTable[] = {
    {"Compress", 9, 2, 2, read_compress},
    {"NonMaxSuppression", 10, 2, 5, read_non_max_suppression},
    {"NonZero", 9, 1, 1, read_nonzero},
    {"Unique", 11, 1, 1, read_unique},
};

}  // namespace

const std::span<const Operator> kCounted = kCountedTable;

}  // namespace octavo::onnx_import
