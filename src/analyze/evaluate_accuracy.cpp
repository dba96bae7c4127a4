// Top-1 and top-5. Part of analyze/.
#include "analyze/evaluate_accuracy.h"

#include <algorithm>
#include <chrono>

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
    std::memcpy(inputs[i].data() + static_cast<std::size_t>(row) * sample[i].bytes(), sample[i].data(), sample[i].bytes());
  }
}

Result<Accuracy> start(Session& session, const LabelledSamples& data) {
  const auto error = [](std::string found, std::string expected) {
    return Error{.kind = ErrorKind::invalid_input, .where = "evaluate", .found = std::move(found), .expected = std::move(expected)};
  };
  if (session.outputs().empty() || session.outputs()[0].shape().rank() < 2)
    return error("a model without class scores", "a first output of [batch, classes]");
  Accuracy result{.samples = data.samples->size()};
  result.classes = session.outputs()[0].shape().elements(1, session.outputs()[0].shape().rank());
  const std::int64_t largest = data.labels.empty() ? 0 : *std::max_element(data.labels.begin(), data.labels.end());
  result.label_offset = result.classes == 1001 && largest < 1000 ? 1 : 0;
  if (largest + result.label_offset >= result.classes) {
    return error("label " + std::to_string(largest), "labels below " + std::to_string(result.classes) + ", the number of classes");
  }
  return result;
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

Result<Accuracy> evaluate_accuracy(Session& session, const LabelledSamples& data,
                                   const std::function<void(std::int64_t done, std::int64_t total)>& progress) {
  auto result = start(session, data);
  if (!result) return result;
  const std::int64_t batch = std::max<std::int64_t>(1, session.plan().batch);
  std::int64_t runs = 0;
  std::chrono::nanoseconds spent{0};
  for (std::int64_t first = 0; first < result->samples; first += batch) {
    const std::int64_t count = std::min(batch, result->samples - first);
    for (std::int64_t row = 0; row < count; ++row) {
      const auto sample = data.samples->sample(first + row);
      if (!sample) return sample.errors();
      fill_row(session.inputs(), row, *sample);
    }
    const auto before = std::chrono::steady_clock::now();
    if (const Status done = session.run(); !done) return done.errors();
    spent += std::chrono::steady_clock::now() - before;
    ++runs;
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t label = data.labels[static_cast<std::size_t>(first + row)] + result->label_offset;
      const std::int64_t rank = rank_of(row_of(session.outputs()[0], row), label);
      result->top1 += rank < 1 ? 1 : 0;
      result->top5 += rank < 5 ? 1 : 0;
    }
    if (progress) progress(first + count, result->samples);
  }
  result->mean_ms = runs == 0 ? 0.0 : static_cast<double>(spent.count()) * 1e-6 / static_cast<double>(runs);
  return result;
}

}  // namespace octavo
