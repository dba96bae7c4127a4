// Accuracy: how many labelled samples a model classifies as their label says. Part of analyze/.
#ifndef OCTAVO_ANALYZE_EVALUATE_ACCURACY_H_
#define OCTAVO_ANALYZE_EVALUATE_ACCURACY_H_

#include <cstdint>
#include <functional>
#include <span>

#include "analyze/model_file.h"

namespace octavo {

struct Accuracy {
  std::int64_t samples = 0;
  std::int64_t top1 = 0;
  std::int64_t top5 = 0;
  std::int64_t classes = 0;
  std::int64_t label_offset = 0;  // 1 where the model has a background class in front
  double mean_ms = 0.0;           // of a run, preprocessing not included
};

// Rank of `label` among the scores: how many are larger, or equal and before it.
std::int64_t rank_of(const ConstTensorView& scores, std::int64_t label);

// Runs all samples through the session, as many at a time as its batch. The first output holds one score per class.
// A model of 1001 classes over labels below 1000 has a background class at 0 (TensorFlow's ImageNet models): labels are moved by one.
Result<Accuracy> evaluate_accuracy(Session& session, const LabelledSamples& data,
                                   const std::function<void(std::int64_t done, std::int64_t total)>& progress);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_EVALUATE_ACCURACY_H_
