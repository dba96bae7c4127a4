// Accuracy: how many labelled samples models classify as their labels say, and how near they are to the first of them.
// Part of analyze/.
#ifndef OCTAVO_ANALYZE_EVALUATE_ACCURACY_H_
#define OCTAVO_ANALYZE_EVALUATE_ACCURACY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "analyze/session.h"

namespace octavo {

// How near the first output of a model is to that of the reference, over all samples.
struct Likeness {
  std::int64_t agreeing = 0;  // samples with the same class on top
  double sqnr_db = 0.0;       // 10 log10(sum r^2 / sum (r - x)^2) over all scores; infinite where none differs
};

struct Accuracy {
  std::int64_t samples = 0;
  std::int64_t top1 = 0;
  std::int64_t top5 = 0;
  std::int64_t classes = 0;
  std::int64_t label_offset = 0;     // 1 where the model has a background class in front
  double mean_ms = 0.0;              // of a run, preprocessing not included
  std::optional<Likeness> likeness;  // nothing for the reference itself
};

// Rank of `label` among the scores: how many are larger, or equal and before it.
std::int64_t rank_of(const ConstTensorView& scores, std::int64_t label);

// Lowest and highest share, 0 to 1, that `successes` of `trials` leave likely at 95 % (Wilson, 1927). {0, 1} for no
// trials.
std::pair<double, double> likely_share(std::int64_t successes, std::int64_t trials);

// A model with the samples in the form of its inputs.
struct EvaluatedModel {
  Session* session = nullptr;
  const LabelledSamples* data = nullptr;
};

// Runs all samples through all models in one pass, each as many at a time as its batch, of a model with open sizes
// those of one size that follow each other, at their own. The first output holds one score per class; quantized scores
// count as what they stand for. The first model is the reference of the others. A model of 1001 classes over labels
// below 1000 has a background class at 0 (TensorFlow's ImageNet models): labels are moved by one. Models that share
// `data` share what is read of it. Error (invalid_input): a model without class scores or with too few, or one with
// other classes than the reference.
Result<std::vector<Accuracy>> evaluate_accuracy(
    const std::vector<EvaluatedModel>& models,
    const std::function<void(std::int64_t done, std::int64_t total)>& progress);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_EVALUATE_ACCURACY_H_
