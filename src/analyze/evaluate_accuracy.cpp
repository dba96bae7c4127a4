// Top-1, top-5 and likeness. Part of analyze/.
#include "analyze/evaluate_accuracy.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <ranges>
#include <span>

#include "analyze/compare.h"

namespace octavo {
namespace {

// Row `index` of a batch, without the batch axis.
ConstTensorView row_of(const Tensor& batch, std::int64_t index) {
  ConstTensorView row{batch.dtype(), Shape(batch.shape().dims().subspan(1)), batch.data()};
  row.data += static_cast<std::size_t>(index) * row.bytes();
  return row;
}

void fill_row(std::vector<Tensor>& inputs, std::int64_t row, const std::vector<Tensor>& sample) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::memcpy(inputs[i].data() + static_cast<std::size_t>(row) * sample[i].bytes(), sample[i].data(),
                sample[i].bytes());
  }
}

using Samples = std::vector<std::vector<Tensor>>;

Error wrong(std::string found, std::string expected) {
  return {.kind = ErrorKind::invalid_input,
          .where = "evaluate",
          .found = std::move(found),
          .expected = std::move(expected)};
}

// One model on its way through the samples.
class Evaluation {
 public:
  explicit Evaluation(const EvaluatedModel& model) : session_(*model.session), data_(*model.data) {}

  Status start() {
    if (session_.outputs().empty() || session_.outputs()[0].shape().rank() < 2)
      return wrong("a model without class scores", "a first output of [batch, classes]");
    result_.samples = data_.samples->size();
    result_.classes = classes_now();
    batch_ = std::max<std::int64_t>(1, session_.plan().batch);
    const std::int64_t largest = data_.labels.empty() ? 0 : *std::max_element(data_.labels.begin(), data_.labels.end());
    result_.label_offset = result_.classes == 1001 && largest < 1000 ? 1 : 0;
    if (largest + result_.label_offset >= result_.classes)
      return wrong("label " + std::to_string(largest),
                   "labels below " + std::to_string(result_.classes) + ", the number of classes");
    return ok_status();
  }

  std::int64_t batch() const { return batch_; }
  const LabelledSamples& data() const { return data_; }
  std::int64_t classes() const { return result_.classes; }

  // Samples `first` and those after it; keeps their scores.
  Status run(std::int64_t first, const Samples& samples) {
    rows_.clear();
    for (std::size_t begin = 0, count = 0; begin < samples.size(); begin += count) {
      count = alike(std::span(samples).subspan(begin));
      const std::int64_t index = first + static_cast<std::int64_t>(begin);
      if (const Status sized = resize(samples[begin], index); !sized) return sized;
      for (std::size_t row = 0; row < count; ++row)
        fill_row(session_.inputs(), static_cast<std::int64_t>(row), samples[begin + row]);
      const auto before = std::chrono::steady_clock::now();
      if (const Status done = session_.run(); !done) return done;
      spent_ += std::chrono::steady_clock::now() - before;
      ++runs_;
      for (std::int64_t row = 0; row < static_cast<std::int64_t>(count); ++row)
        take(row_of(session_.outputs()[0], row), index + row);
    }
    return ok_status();
  }

  void compare(const Evaluation& reference) {
    if (!result_.likeness) result_.likeness = Likeness{};
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const std::vector<float>&own = rows_[row], &other = reference.rows_[row];
      const auto top = [](const std::vector<float>& scores) {
        return std::max_element(scores.begin(), scores.end()) - scores.begin();
      };
      result_.likeness->agreeing += top(own) == top(other) ? 1 : 0;
      for (std::size_t i = 0; i < own.size(); ++i) {
        const double difference = static_cast<double>(other[i]) - own[i];
        signal_ += static_cast<double>(other[i]) * other[i];
        noise_ += difference * difference;
      }
    }
  }

  Accuracy finish() && {
    result_.mean_ms = runs_ == 0 ? 0.0 : static_cast<double>(spent_.count()) * 1e-6 / static_cast<double>(runs_);
    if (result_.likeness)
      result_.likeness->sqnr_db =
          noise_ > 0.0 ? 10.0 * std::log10(signal_ / noise_) : std::numeric_limits<double>::infinity();
    return result_;
  }

 private:
  std::int64_t classes_now() const {
    const Shape& scores = session_.outputs()[0].shape();
    return scores.elements(1, scores.rank());
  }

  // How many of these, from the first on, run together: those of one size, and no more than the batch.
  std::size_t alike(std::span<const std::vector<Tensor>> samples) const {
    const auto has_other_shapes = [&](const std::vector<Tensor>& sample) {
      return !std::ranges::equal(sample, samples[0], {}, &Tensor::shape, &Tensor::shape);
    };
    const auto end = std::ranges::find_if(samples, has_other_shapes) - samples.begin();
    return static_cast<std::size_t>(std::min<std::int64_t>(end, batch_));
  }

  // To batches of samples like this one.
  Status resize(const std::vector<Tensor>& sample, std::int64_t index) {
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < sample.size(); ++i) {
      shapes.push_back(sample[i].shape());
      // What has the batch in front holds so many of these.
      if (shapes[i].rank() > 0 && shapes[i][0] == 1) shapes[i][0] = session_.inputs()[i].shape()[0];
    }
    if (const Status resized = session_.resize(shapes); !resized) {
      Errors errors = resized.errors();
      for (Error& error : errors) {
        error.kind = ErrorKind::invalid_input;
        error.where = data_.samples->name(index) + ": " + error.where;
      }
      return errors;
    }
    if (session_.outputs()[0].shape().rank() > 1 && classes_now() == result_.classes) return ok_status();
    return wrong(std::to_string(classes_now()) + " scores for " + data_.samples->name(index),
                 std::to_string(result_.classes) + ", the number of classes at other sizes");
  }

  void take(const ConstTensorView& scores, std::int64_t sample) {
    const std::int64_t rank = rank_of(scores, data_.labels[static_cast<std::size_t>(sample)] + result_.label_offset);
    result_.top1 += rank < 1 ? 1 : 0;
    result_.top5 += rank < 5 ? 1 : 0;
    const v1::TensorInfo& info = session_.plan().outputs[0];
    const bool has_scale = is_8bit(scores.dtype) && info.scale.size() == 1 && info.zero_point.size() == 1;
    rows_.push_back(to_floats(has_scale ? dequantized(scores, info.scale[0], info.zero_point[0]).view() : scores));
  }

  Session& session_;
  const LabelledSamples& data_;
  Accuracy result_;
  std::int64_t batch_ = 1;
  std::vector<std::vector<float>> rows_;  // scores of the samples of the last run()
  double signal_ = 0.0, noise_ = 0.0;
  std::int64_t runs_ = 0;
  std::chrono::nanoseconds spent_{0};
};

Result<Samples> read_samples(const SampleSource& source, std::int64_t first, std::int64_t count) {
  Samples samples;
  for (std::int64_t i = first; i < first + count; ++i) {
    auto sample = source.sample(i);
    if (!sample) return sample.errors();
    samples.push_back(std::move(*sample));
  }
  return samples;
}

Status run_chunk(std::vector<Evaluation>& evaluations, std::int64_t first, std::int64_t count) {
  std::map<const LabelledSamples*, Samples> read;
  for (Evaluation& evaluation : evaluations) {
    const auto [place, is_new] = read.try_emplace(&evaluation.data());
    if (is_new) {
      auto samples = read_samples(*evaluation.data().samples, first, count);
      if (!samples) return samples.errors();
      place->second = std::move(*samples);
    }
    if (const Status done = evaluation.run(first, place->second); !done) return done;
  }
  for (std::size_t i = 1; i < evaluations.size(); ++i) evaluations[i].compare(evaluations[0]);
  return ok_status();
}

}  // namespace

std::int64_t rank_of(const ConstTensorView& scores, std::int64_t label) {
  const double own = element_as_double(scores, label);
  std::int64_t rank = 0;
  for (std::int64_t i = 0; i < scores.shape.elements(); ++i) {
    const double other = element_as_double(scores, i);
    rank += other > own || (other == own && i < label) ? 1 : 0;
  }
  return rank;
}

std::pair<double, double> likely_share(std::int64_t successes, std::int64_t trials) {
  if (trials == 0) return {0.0, 1.0};
  constexpr double z = 1.959963984540054;  // of 95 %
  const auto n = static_cast<double>(trials);
  const double share = static_cast<double>(successes) / n;
  const double middle = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
  const double half = z / (1.0 + z * z / n) * std::sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n));
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

Result<std::vector<Accuracy>> evaluate_accuracy(
    const std::vector<EvaluatedModel>& models,
    const std::function<void(std::int64_t done, std::int64_t total)>& progress) {
  std::vector<Evaluation> evaluations(models.begin(), models.end());
  std::int64_t chunk = 1;  // samples between two comparisons
  for (Evaluation& evaluation : evaluations) {
    if (const Status ok = evaluation.start(); !ok) return ok.errors();
    if (evaluation.classes() != evaluations[0].classes())
      return wrong(std::to_string(evaluation.classes()) + " classes",
                   std::to_string(evaluations[0].classes()) + ", as the first model has");
    chunk = std::max(chunk, evaluation.batch());
  }
  const std::int64_t total = models.empty() ? 0 : models[0].data->samples->size();
  for (std::int64_t first = 0; first < total; first += chunk) {
    const std::int64_t count = std::min(chunk, total - first);
    if (const Status done = run_chunk(evaluations, first, count); !done) return done.errors();
    if (progress) progress(first + count, total);
  }
  std::vector<Accuracy> results;
  for (Evaluation& evaluation : evaluations) results.push_back(std::move(evaluation).finish());
  return results;
}

}  // namespace octavo
