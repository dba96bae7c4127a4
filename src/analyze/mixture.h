// What a mixture of int8 and fp32 is worth: its answers against those in fp32, and its time, measured on this machine.
// Part of analyze/.
#ifndef OCTAVO_ANALYZE_MIXTURE_H_
#define OCTAVO_ANALYZE_MIXTURE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyze/model_file.h"

namespace octavo {

// What the answers of a mixture are judged by.
struct MixtureData {
  std::string images, labels;  // as for open_labelled; empty: the calibration samples, without labels
  int threads = 0;             // 0: all cores
  double seconds = 0.25;       // of timing per mixture
};

struct MixtureFacts {
  double ms = 0.0;            // fastest run of batch 1
  double noise = 0.0;         // sum of squared errors of all outputs over the sum of their squares in fp32
  std::int64_t agreeing = 0;  // samples with the same largest value of the first output
  std::int64_t right = 0;     // samples classified as labelled; 0 without labels
};

// One fp32 model, calibrated once for whatever stays in float, or with the scales that the request has: where a layer
// goes to fp32, boundaries are left over or vanish, none comes to be.
class MixtureLab {
 public:
  using Progress = std::function<void(double done)>;
  // Compiles the fp32 model and runs all samples on it.
  static Result<MixtureLab> create(const std::string& model, const CompileRequest& request, const MixtureData& data,
                                   const Progress& progress);

  // Names of the nodes of each group that computes in integers where nothing else is asked for.
  const std::vector<std::vector<std::string>>& groups() const { return groups_; }
  const MixtureFacts& in_fp32() const { return in_fp32_; }
  std::int64_t samples() const { return static_cast<std::int64_t>(references_.size()); }
  bool has_labels() const { return !labels_.empty(); }
  // Of the scales: the same for the same model, samples and options.
  const std::string& scales() const { return scales_; }

  // What compiles to the mixture, samples not needed any more.
  CompileRequest request_for(const std::vector<std::size_t>& in_float) const;
  Result<MixtureFacts> measure(const std::vector<std::size_t>& in_float);

 private:
  MixtureLab() = default;
  Status open_data(const MixtureData& data);
  Status take_references(const Progress& progress);
  Result<std::vector<Tensor>> sample(std::int64_t index);
  Result<MixtureFacts> judge(Session& session);

  std::string model_;
  CompileRequest request_;  // with what the samples taught
  std::vector<std::string> skip_;
  std::vector<std::vector<std::string>> groups_;
  std::string scales_;
  std::shared_ptr<const SampleSource> source_;
  std::vector<std::int64_t> labels_;
  std::vector<std::vector<float>> references_;  // by sample: all outputs of the fp32 model
  std::vector<std::vector<Tensor>> kept_;       // samples read before, as far as memory is set aside for them
  std::int64_t kept_bytes_ = 0;
  MixtureFacts in_fp32_;
  std::shared_ptr<Session> fp32_;
  int threads_ = 0;
  double seconds_ = 0.0;
};

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_MIXTURE_H_
