// TFLite readers: what detectors of boxes end in. Part of import/.
#include <cmath>
#include <limits>

#include "base/fields.h"
#include "import/tflite/custom_options.h"
#include "import/tflite/operators.h"
#include "ops/non_max_suppression/non_max_suppression.h"
#include "ops/where/where.h"

namespace octavo::tflite_import {
namespace {

using B = BinaryKind;

// What the operator is asked for.
struct Detection {
  std::int64_t most = 1, classes = 1;
  float iou = 0.5f, least = 0.0f;
  double scale[4] = {1, 1, 1, 1};  // of y, x, height and width
};
Detection read_options(OperatorReader& in) {
  CustomOptions options(in);
  Detection made{.most = options.integer("max_detections", 1, 1 << 16),
                 .classes = options.integer("num_classes", 1),
                 .iou = static_cast<float>(options.positive("nms_iou_threshold")),
                 .least = static_cast<float>(options.real("nms_score_threshold"))};
  const char* names[] = {"y_scale", "x_scale", "h_scale", "w_scale"};
  for (int i = 0; i < 4; ++i) made.scale[i] = options.positive(names[i]);
  if (const std::int64_t each = options.integer("max_classes_per_detection", 1); each != 1)
    in.unsupported("custom option 'max_classes_per_detection'", std::to_string(each), "1");
  if (options.has("use_regular_nms") && options.real("use_regular_nms") != 0.0)
    in.unsupported("custom option 'use_regular_nms'", "true", "false: the best class of each box");
  return made;
}

// Boxes [1, n, 4] as y, x, height and width relative to anchors [n, 4]: as corners y, x, y, x.
ValueId corners_of(OperatorReader& in, ValueId boxes, ValueId anchors, const Detection& given) {
  const auto part = [&](ValueId x, std::int64_t i, const std::string& name) {
    return slice(in, x, in.rank(x) - 1, {.start = i, .size = 1}, name + std::to_string(i));
  };
  ValueId low[2], high[2];
  for (int i = 0; i < 2 && !in.failed(); ++i) {
    const std::string name = i == 0 ? "y" : "x";
    const auto scaled_by = [&](ValueId x, double scale, const std::string& suffix) {
      return in.binary(B::div, x, in.scalar(static_cast<float>(scale), name + suffix + ".scale"), name + suffix);
    };
    const ValueId size = part(anchors, 2 + i, name + ".anchor");
    const ValueId moved =
        in.binary(B::mul, scaled_by(part(boxes, i, name + ".box"), given.scale[i], ".place"), size, name + ".moved");
    const ValueId middle = in.binary(B::add, moved, part(anchors, i, name + ".anchor"), name + ".middle");
    const ValueId grown =
        in.unary({.kind = UnaryKind::exp}, scaled_by(part(boxes, 2 + i, name + ".box"), given.scale[2 + i], ".size"),
                 name + ".grown");
    const ValueId half = in.binary(B::mul, in.binary(B::mul, grown, size, name + ".whole"),
                                   in.scalar(0.5f, name + ".two"), name + ".half");
    low[i] = in.binary(B::sub, middle, half, name + ".low");
    high[i] = in.binary(B::add, middle, half, name + ".high");
  }
  return concat(in, {low[0], low[1], high[0], high[1]}, 2, "corners");
}

// Boxes [1, n, 4], scores [1, n, classes] with or without one of the background before them, anchors [n, 4]: of the
// boxes whose best scores are the highest, those that overlap with none before; their corners, classes and scores,
// zeros behind them, and how many they are.
ValueId read_detection(OperatorReader& in) {
  const Detection given = read_options(in);
  const ValueId boxes = in.placed(in.value(0), "input 'boxes'"), all = in.placed(in.value(1), "input 'scores'");
  const ValueId anchors = in.placed(in.value(2), "input 'anchors'");
  in.require_rank(boxes, 3, 3);
  in.require_rank(all, 3, 3);
  in.require_rank(anchors, 2, 2);
  if (in.failed()) return {};
  const Dim count = in.shape(boxes)[1];
  const std::int64_t background = in.shape(all)[2].fixed() - given.classes;
  if (in.shape(boxes)[0] != 1 || in.shape(boxes)[2] != 4 || in.shape(anchors)[1] != 4 || in.shape(all)[1] != count ||
      in.shape(anchors)[0] != count || background < 0 || background > 1 || count < 1)
    return in.fail(
        "inputs",
        in.shape(boxes).to_string() + ", " + in.shape(all).to_string() + " and " + in.shape(anchors).to_string(),
        "1xNx4, 1xNx" + std::to_string(given.classes) + " (or one more) and Nx4");
  const ValueId corners = corners_of(in, boxes, anchors, given);
  const ValueId scores = slice(in, all, 2, {.start = background, .size = given.classes}, "scores");
  const ValueId best =
      reduce(in, {.x = scores, .kind = ReduceKind::max, .axes = Integers{2}, .keeps_dims = false}, "best");
  const ValueId classes = in.cast(argmax(in, scores, 2, {.keep_dims = false}, "class"), DType::f32, "classes");
  if (in.failed()) return {};
  // At least the score, and more than the overlap.
  const float least = std::nextafter(given.least, -std::numeric_limits<float>::infinity());
  const auto made = in.add_exactly(kNonMaxSuppression, NonMaxSuppressionAttrs{.most = given.most},
                                   {corners, in.reshape(best, {1, 1, count}, "of_one_class"), ValueId{},
                                    in.scalar(given.iou, "iou"), in.scalar(least, "least")},
                                   "taken");
  if (in.failed()) return {};
  const ValueId taken = pick(in, made[0], 1, Number(2), "boxes_taken");
  const Dim missing = Dim(given.most) - in.shape(taken)[0];
  const ValueId places = pad(in, {.x = taken, .begin = Extents{0}, .end = Extents{missing}}, "places");
  const ValueId number = pick(in, made[1], 0, Number(0), "number");
  const ValueId is_taken = in.binary(B::less, counted(in, given.most, DType::s64, "positions"), number, "is_taken");
  const auto picked = [&](ValueId list, Extents apart, const std::string& name) {
    const ValueId mask = in.reshape(is_taken, std::move(apart), name + ".is_taken");
    return in.add(kWhere, NoAttrs{}, {mask, gather(in, list, places, Number(1)), in.scalar(0.0f, name + ".none")},
                  name);
  };
  in.output(1, picked(classes, {1, given.most}, "detection_classes"));
  in.output(2, picked(best, {1, given.most}, "detection_scores"));
  in.output(3, in.reshape(in.cast(number, DType::f32, "real_number"), {1}, "detections"));
  return picked(corners, {1, given.most, 1}, "detection_boxes");
}

constexpr OperatorEntry kDetectionTable[] = {
    {"TFLite_Detection_PostProcess", 3, 3, 4, Operands::real, read_detection},
};

}  // namespace

const std::span<const OperatorEntry> kDetection = kDetectionTable;

}  // namespace octavo::tflite_import
