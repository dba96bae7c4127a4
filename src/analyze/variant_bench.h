// The variants of one network between int8 and fp32: compiled, timed in turns, and judged by their answers. Part of
// analyze/.
#ifndef OCTAVO_ANALYZE_VARIANT_BENCH_H_
#define OCTAVO_ANALYZE_VARIANT_BENCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyze/mixed_precision.h"
#include "analyze/session.h"

namespace octavo {

struct Plan;

// Names of the nodes of each group: a product, sum, gate or mean with what is joined to it.
using LayerGroups = std::vector<std::vector<std::string>>;

// What each group takes, from what each step of the plan takes. A conversion counts for the group on its float side,
// else for that on the other.
std::vector<double> group_times(const Plan& plan, const LayerGroups& groups, std::span<const double> step_ms);

// What a file is before anything is made of it.
struct ArrivingModel {
  bool is_program = false;
  std::optional<LayerGroups> groups;  // where it is quantized
};
Result<ArrivingModel> arriving_model(const v1::ModelSource& model, const CompileRequest& request);

// What a variant's answers and time are, against those in fp32.
struct VariantFacts {
  double ms = 0.0;            // fastest run of batch 1
  double noise = 0.0;         // sum of squared errors of all outputs over the sum of their squares in fp32
  std::int64_t agreeing = 0;  // samples with the same largest value of the first output
  std::int64_t right = 0;     // samples classified as labelled; 0 without labels
};

// A compiled variant that takes its turns.
struct VariantRun {
  Session session;
  double run_ms;                // fastest so far
  std::vector<double> step_ms;  // by step, the same; empty: not asked for
};

// Calibrates once, for whatever stays in fp32, where the file is not quantized: where a layer goes to fp32, boundaries
// are left over or vanish, none comes to be. Times are taken with request.threads for request.seconds per variant.
class VariantBench {
 public:
  static Result<VariantBench> create(const v1::ModelSource& model, const CompileRequest& request);
  static Result<VariantBench> create(const v1::ModelSource& model, const CompileRequest& request,
                                     ArrivingModel arriving);

  const LayerGroups& groups() const { return groups_; }
  // What compiles to a variant at batch 1 or the first batch or shape asked for, with the file's own ends, samples not
  // needed any more.
  CompileRequest request_for(const Variant& variant) const;
  // Tells the network in a log: name, a checksum of the model in int8 (the same for the same weights, scales, batch and
  // target), shapes of its inputs, threads and target.
  Result<std::string> subject() const;
  // For a target other than the host: times are then those of the cost model on one thread.
  bool predicts() const { return request_.options.target != "host"; }
  Result<std::vector<VariantTimes>> times(const std::vector<Variant>& variants) const;

  // Samples to judge by: `images` and `labels` as for open_labelled; empty: the calibration samples, without labels.
  // Runs all of them in fp32. Error (usage): the file is quantized already.
  using Progress = std::function<void(double done)>;
  Status open_samples_to_judge(const std::string& images, const std::string& labels, const Progress& progress);
  const VariantFacts& in_fp32() const { return in_fp32_; }
  std::int64_t samples() const { return static_cast<std::int64_t>(references_.size()); }
  bool has_labels() const { return !labels_.empty(); }
  Result<VariantFacts> judge(const Variant& variant);

 private:
  explicit VariantBench(v1::ModelSource model) : model_(std::move(model)) {}
  // With a plan. Error (usage): none, as sizes are open and nobody says at which one to measure.
  Result<v1::CompiledModel> compile(const Variant& variant) const;
  Result<VariantRun> run_of(const v1::CompiledModel& compiled) const;
  Result<std::vector<Tensor>> sample(std::int64_t index);
  Result<VariantFacts> judge_answers(Session& session);
  Status time_runs(const std::vector<VariantRun*>& variants, double seconds) const;

  v1::ModelSource model_;
  std::string calibrate_;      // where the samples are
  CompileRequest request_;     // with what the samples taught
  bool is_quantized_ = false;  // when it arrives
  LayerGroups groups_;
  std::shared_ptr<const SampleSource> source_;
  std::vector<std::int64_t> labels_;
  std::vector<std::vector<float>> references_;  // by sample: all outputs of the fp32 model
  std::vector<std::vector<Tensor>> kept_;       // samples read before, as far as memory is set aside for them
  std::int64_t kept_bytes_ = 0;
  VariantFacts in_fp32_;
  std::shared_ptr<VariantRun> fp32_;
};

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_VARIANT_BENCH_H_
