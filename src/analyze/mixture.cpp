// Compiling, judging and timing mixtures. Part of analyze/.
#include "analyze/mixture.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include "analyze/evaluate_accuracy.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kKeptBytes = std::int64_t{1} << 28;

std::vector<float> all_outputs(const Session& session) {
  std::vector<float> values;
  for (const Tensor& output : session.outputs()) {
    const std::vector<float> own = to_floats(output.view());
    values.insert(values.end(), own.begin(), own.end());
  }
  return values;
}

std::int64_t top(const std::vector<float>& outputs, std::int64_t scores) {
  const auto end = outputs.begin() + static_cast<std::ptrdiff_t>(scores);
  return std::max_element(outputs.begin(), end) - outputs.begin();
}

Status run_sample(Session& session, const std::vector<Tensor>& sample) {
  for (std::size_t i = 0; i < sample.size(); ++i)
    std::memcpy(session.inputs()[i].data(), sample[i].data(), sample[i].bytes());
  return session.run();
}

// The fastest run of `seconds`, at least three: the one that nothing else disturbed.
Result<double> fastest_run(Session& session, double seconds) {
  constexpr int kLeastRuns = 3;
  auto fastest = Clock::duration::max();
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (int i = 0; i < kLeastRuns || Clock::now() < end; ++i) {
    const auto start = Clock::now();
    if (const Status done = session.run(); !done) return done.errors();
    fastest = std::min(fastest, Clock::now() - start);
  }
  return std::chrono::duration<double, std::milli>(fastest).count();
}

// How long `session` takes in units of `reference`: the two take turns, so that both see the same weather; the fastest
// runs of either count.
Result<double> time_in_turns(Session& session, Session& reference, double seconds) {
  constexpr int kTurns = 4;
  double own = std::numeric_limits<double>::max(), other = own;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (auto [runner, fastest] : {std::pair(&session, &own), std::pair(&reference, &other)}) {
      const auto ms = fastest_run(*runner, seconds / (2 * kTurns));
      if (!ms) return ms.errors();
      *fastest = std::min(*fastest, *ms);
    }
  }
  return own / std::max(other, 1e-9);
}

// The worse of two measurements: a mixture must not be chosen because the reference was disturbed once.
Result<double> relative_time(Session& session, Session& reference, double seconds) {
  const auto first = time_in_turns(session, reference, seconds / 2);
  if (!first) return first;
  const auto second = time_in_turns(session, reference, seconds / 2);
  if (!second) return second;
  return std::max(*first, *second);
}

}  // namespace

Result<MixtureLab> MixtureLab::create(const std::string& model, const CompileRequest& request, const MixtureData& data,
                                      const Progress& progress) {
  MixtureLab lab;
  lab.model_ = model;
  lab.request_ = request;
  lab.request_.options.batches = {1};
  lab.request_.options.observes_all = true;
  lab.skip_ = request.options.skip;
  lab.threads_ = data.threads;
  lab.seconds_ = data.seconds;
  const auto quantized = quantize_file(model, lab.request_);
  if (!quantized) return quantized.errors();
  lab.groups_ = quantized->groups();
  lab.scales_ = quantized->scales();
  if (const Status opened = lab.open_data(data); !opened) return opened.errors();
  lab.request_.options.calibrated = quantized->calibrated();
  lab.request_.calibrate.clear();
  if (const Status taken = lab.take_references(progress); !taken) return taken.errors();
  return lab;
}

Status MixtureLab::open_data(const MixtureData& data) {
  const auto inputs = model_inputs(model_, request_);
  if (!inputs) return inputs.errors();
  const SampleOptions options{.preprocess = request_.preprocess, .limit = data.images.empty() ? request_.samples : 0};
  if (data.images.empty()) {
    auto samples = open_samples(request_.calibrate, *inputs, options);
    if (!samples) return samples.errors();
    source_ = std::move(*samples);
    return ok_status();
  }
  auto labelled = open_labelled(data.images, data.labels, *inputs, options);
  if (!labelled) return labelled.errors();
  source_ = std::move(labelled->samples);
  labels_ = std::move(labelled->labels);
  return ok_status();
}

Status MixtureLab::take_references(const Progress& progress) {
  CompileRequest request = request_;
  request.options.precision = Precision::fp32;
  const auto compiled = open_or_compile(model_, request);
  if (!compiled) return compiled.errors();
  auto session = Session::create(*compiled, std::nullopt, std::nullopt, threads_);
  if (!session) return session.errors();
  for (std::int64_t i = 0; i < source_->size(); ++i) {
    const auto inputs = sample(i);
    if (!inputs) return inputs.errors();
    if (const Status done = run_sample(*session, *inputs); !done) return done;
    references_.push_back(all_outputs(*session));
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(source_->size()));
  }
  in_fp32_ = {.agreeing = samples()};
  const auto ms = fastest_run(*session, seconds_);
  if (!ms) return ms.errors();
  in_fp32_.ms = *ms;
  fp32_ = std::make_shared<Session>(std::move(*session));
  const auto facts = judge(*fp32_);
  if (!facts) return facts.errors();
  in_fp32_.right = facts->right;
  return ok_status();
}

Result<std::vector<Tensor>> MixtureLab::sample(std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  if (at < kept_.size()) return kept_[at];
  auto read = source_->sample(index);
  if (!read) return read;
  for (const Tensor& tensor : *read) kept_bytes_ += static_cast<std::int64_t>(tensor.bytes());
  if (at == kept_.size() && kept_bytes_ <= kKeptBytes) kept_.push_back(*read);
  return read;
}

CompileRequest MixtureLab::request_for(const std::vector<std::size_t>& in_float) const {
  CompileRequest request = request_;
  request.options.precision = Precision::int8;
  request.options.skip = skip_;
  for (const std::size_t group : in_float)
    request.options.skip.insert(request.options.skip.end(), groups_[group].begin(), groups_[group].end());
  return request;
}

Result<MixtureFacts> MixtureLab::measure(const std::vector<std::size_t>& in_float) {
  const auto compiled = open_or_compile(model_, request_for(in_float));
  if (!compiled) return compiled.errors();
  auto session = Session::create(*compiled, std::nullopt, std::nullopt, threads_);
  if (!session) return session.errors();
  return judge(*session);
}

Result<MixtureFacts> MixtureLab::judge(Session& session) {
  MixtureFacts facts;
  double signal = 0.0, errors = 0.0;
  const std::int64_t scores = session.outputs().empty() ? 0 : session.outputs()[0].elements();
  for (std::int64_t i = 0; i < samples(); ++i) {
    const auto inputs = sample(i);
    if (!inputs) return inputs.errors();
    if (const Status done = run_sample(session, *inputs); !done) return done.errors();
    const std::vector<float>& wanted = references_[static_cast<std::size_t>(i)];
    const std::vector<float> found = all_outputs(session);
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const double error = static_cast<double>(found[k]) - wanted[k];
      signal += static_cast<double>(wanted[k]) * wanted[k];
      errors += error * error;
    }
    const std::int64_t answer = top(found, scores);
    facts.agreeing += answer == top(wanted, scores) ? 1 : 0;
    if (has_labels()) {
      const std::int64_t offset = scores == 1001 && *std::max_element(labels_.begin(), labels_.end()) < 1000 ? 1 : 0;
      facts.right += answer == labels_[static_cast<std::size_t>(i)] + offset ? 1 : 0;
    }
  }
  facts.noise = signal > 0.0 ? errors / signal : errors > 0.0 ? std::numeric_limits<double>::infinity() : 0.0;
  const auto time = relative_time(session, *fp32_, seconds_);
  if (!time) return time.errors();
  facts.ms = *time * in_fp32_.ms;
  return facts;
}

}  // namespace octavo
