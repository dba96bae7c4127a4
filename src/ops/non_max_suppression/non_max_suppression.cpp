// non_max_suppression: shape rule and reference. Part of ops/.
#include "ops/non_max_suppression/non_max_suppression.h"

#include <algorithm>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/topk/topk.h"

namespace octavo {
namespace {

enum Input : std::size_t { kBoxes = 0, kScores = 1, kMostBoxes = 2, kIouThreshold = 3, kScoreThreshold = 4 };

Problem check_optional(std::string_view name, InputFacts inputs, std::size_t index, DType dtype) {
  const Fact* fact = fact_at(inputs, index);
  if (fact == nullptr) return std::nullopt;
  return first_of({check_same_dtype(name, *fact, dtype), check_scalar(name, *fact)});
}

Result<std::vector<Fact>> infer_suppression(const Attrs& attrs, InputFacts inputs) {
  const auto& suppression = attrs.as<NonMaxSuppressionAttrs>();
  const Fact &boxes = *inputs[kBoxes], &scores = *inputs[kScores];
  if (auto problem = first_of({check_dtype("boxes", boxes, {DType::f32}), check_rank("boxes", boxes, 3, 3),
                               check_dtype("scores", scores, {DType::f32}), check_rank("scores", scores, 3, 3),
                               check_range("most", suppression.most, 0, std::numeric_limits<std::int64_t>::max()),
                               check_optional("most_boxes", inputs, kMostBoxes, DType::s64),
                               check_optional("iou_threshold", inputs, kIouThreshold, DType::f32),
                               check_optional("score_threshold", inputs, kScoreThreshold, DType::f32)}))
    return *problem;
  const Dim count = boxes.shape[1];
  if (auto problem = check_shape("boxes", boxes, OpenShape({boxes.shape[0], count, Dim(4)}))) return *problem;
  if (auto problem = check_shape("scores", scores, OpenShape({boxes.shape[0], scores.shape[1], count})))
    return *problem;
  const Dim most = scores.shape[0] * scores.shape[1] * smaller(count, std::min(suppression.most, kMaxElements));
  return std::vector<Fact>{{.dtype = DType::s64, .shape = OpenShape({most, Dim(3)})},
                           {.dtype = DType::s64, .shape = OpenShape({Dim(2)})}};
}

struct Corners {
  float y1, x1, y2, x2;
  float area() const { return (y2 - y1) * (x2 - x1); }
};

Corners corners_of(const float* box, bool is_centered) {
  if (is_centered) {
    const float half_width = box[2] / 2, half_height = box[3] / 2;
    return {box[1] - half_height, box[0] - half_width, box[1] + half_height, box[0] + half_width};
  }
  return {std::min(box[0], box[2]), std::min(box[1], box[3]), std::max(box[0], box[2]), std::max(box[1], box[3])};
}

// The boxes of a class that were taken, corner by corner, so that a compiler compares several at a time.
class TakenBoxes {
 public:
  // `memory` has room for four numbers of each box.
  TakenBoxes(float* memory, std::int64_t room)
      : y1_(memory), x1_(memory + room), y2_(memory + 2 * room), x2_(memory + 3 * room) {}

  void add(const Corners& box) {
    y1_[count_] = box.y1, x1_[count_] = box.x1, y2_[count_] = box.y2, x2_[count_] = box.x2;
    ++count_;
  }

  bool any_overlaps(const Corners& a, float threshold) const {
    constexpr std::int64_t kAtOnce = 32;
    const float first = a.area();
    if (!(first > 0)) return false;
    for (std::int64_t begin = 0; begin < count_; begin += kAtOnce) {
      const std::int64_t end = std::min(begin + kAtOnce, count_);
      std::int32_t any = 0;
      for (std::int64_t i = begin; i < end; ++i) {
        const Corners b{y1_[i], x1_[i], y2_[i], x2_[i]};
        const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
        const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
        const float both = height * width, second = b.area();
        const float either = first + second - both;
        const bool meets = (height > 0) & (width > 0) & (second > 0) & (either > 0);
        any |= static_cast<std::int32_t>(meets & (both / either > threshold));
      }
      if (any != 0) return true;
    }
    return false;
  }

 private:
  float *y1_, *x1_, *y2_, *x2_;
  std::int64_t count_ = 0;
};

float scalar_or(InputViews inputs, std::size_t index, float fallback) {
  return has_view(inputs, index) ? *inputs[index].as<float>() : fallback;
}

void reference_suppression(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  std::vector<std::int64_t> scratch(static_cast<std::size_t>(inputs[kBoxes].shape[1] * kSuppressionScratch));
  suppress_boxes(attrs.as<NonMaxSuppressionAttrs>(), inputs, outputs, scratch.data());
}

}  // namespace

void suppress_boxes(const NonMaxSuppressionAttrs& attrs, InputViews inputs, OutputViews outputs,
                    std::int64_t* scratch) {
  const std::int64_t images = inputs[kScores].shape[0], classes = inputs[kScores].shape[1];
  const std::int64_t count = inputs[kBoxes].shape[1];
  std::int64_t most = std::min(attrs.most, count);
  if (has_view(inputs, kMostBoxes)) most = std::min(most, *inputs[kMostBoxes].as<std::int64_t>());
  const float iou_threshold = scalar_or(inputs, kIouThreshold, 0.0f);
  const bool has_score_threshold = has_view(inputs, kScoreThreshold);
  const float score_threshold = scalar_or(inputs, kScoreThreshold, 0.0f);
  auto* taken = outputs[0].as<std::int64_t>();
  std::fill(taken, taken + outputs[0].shape.elements(), 0);
  std::int64_t total = 0;
  for (std::int64_t line = 0; line < images * classes && most > 0; ++line) {
    const float* scores = inputs[kScores].as<float>() + line * count;
    const float* boxes = inputs[kBoxes].as<float>() + line / classes * count * 4;
    std::int64_t candidates = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (!has_score_threshold || scores[i] > score_threshold) scratch[candidates++] = i;
    }
    std::sort(scratch, scratch + candidates,
              [&](std::int64_t i, std::int64_t j) { return comes_before(true, scores[i], i, scores[j], j); });
    const std::int64_t first = total;
    TakenBoxes before(reinterpret_cast<float*>(scratch + count), count);
    for (std::int64_t k = 0; k < candidates && total - first < most; ++k) {
      const Corners box = corners_of(boxes + scratch[k] * 4, attrs.is_centered);
      if (before.any_overlaps(box, iou_threshold)) continue;
      before.add(box);
      taken[total * 3] = line / classes;
      taken[total * 3 + 1] = line % classes;
      taken[total * 3 + 2] = scratch[k];
      ++total;
    }
  }
  outputs[1].as<std::int64_t>()[0] = total;
  outputs[1].as<std::int64_t>()[1] = 3;
}

const OpSpec kNonMaxSuppression{
    .name = "non_max_suppression",
    .summary =
        "of each class the boxes with the best scores whose intersection over union with better ones is small, and "
        "how many there are; the rest of the result is 0",
    .inputs = {"boxes", "scores", "most_boxes?", "iou_threshold?", "score_threshold?"},
    .outputs = 2,
    .infer = infer_suppression,
    .reference = reference_suppression,
    .decode_attrs = decode_attrs_as<NonMaxSuppressionAttrs>,
    .read_from = "ONNX NonMaxSuppression; TFLite NON_MAX_SUPPRESSION_V4, NON_MAX_SUPPRESSION_V5",
};

template Attrs::Attrs(NonMaxSuppressionAttrs);

}  // namespace octavo
