// quantize: an fp32 graph and samples become a graph with quantize/dequantize pairs. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_QUANTIZE_H_
#define OCTAVO_QUANTIZE_QUANTIZE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/machine.h"
#include "base/monitor.h"
#include "base/result.h"
#include "graph/graph.h"
#include "octavo/choices.h"

namespace octavo {

// Which products read rows that get scales of their own in the run: those behind GELU, all products of a constant
// matrix, or these while everything else stays in f32, which needs no ranges.
enum class RowProducts : std::uint8_t { behind_gelu, all, alone };

// Where calibration inputs come from. One sample is one set of input tensors, in the order of graph.inputs(). Of a
// graph with open sizes each may have its own.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual std::int64_t size() const = 0;
  // Errors name the file of a bad sample.
  virtual Result<std::vector<Tensor>> sample(std::int64_t index) const = 0;
  // Of its tensors. Reads the sample where nothing that takes less tells them; errors as there.
  virtual Result<std::vector<Shape>> shapes(std::int64_t index) const;
  // What messages call it.
  virtual std::string name(std::int64_t index) const { return "calibration sample " + std::to_string(index); }
};

// What passes over samples need: the samples, and a machine whose kernels, which this one can run, and cores they use.
// What they give does not depend on it.
struct SampleRuns {
  const SampleSource& samples;
  const Machine& machine = host_machine();
};

// Whether the method needs more than extremes.
constexpr bool needs_histogram(CalibrationMethod calibration) {
  return calibration != CalibrationMethod::minmax && calibration != CalibrationMethod::average;
}

// Range of a tensor over all samples.
struct TensorRange {
  float lowest = 0.0f;
  float highest = 0.0f;
};

// What 8-bit values of a tensor stand for: scale * (value - zero_point).
struct TensorScale {
  DType type = DType::u8;
  float scale = 1.0f;
  std::int32_t zero_point = 0;
  bool operator==(const TensorScale&) const = default;
};

// By name of a product's result: what is added to its bias, per output channel.
using BiasCorrections = std::map<std::string, std::vector<float>>;

// By name of a convolution's result: what each channel is divided by, and multiplied by in the weights of those that
// read it.
using ChannelFactors = std::map<std::string, std::vector<float>>;

// s8 weights of a product with a scale per output channel.
struct RoundedWeights {
  Tensor values;
  std::vector<float> scale;
};

// What samples teach: with it the network is quantized again at any batch, with the same scales, without them.
struct Calibrated {
  std::map<std::string, TensorRange> ranges;  // by value name
  BiasCorrections bias_corrections;
  ChannelFactors channel_factors;
  std::map<std::string, RoundedWeights>
      weights;  // by name of the product's result, where they are not just rounded to the nearest
  std::vector<std::string> kept_in_f32;       // nodes, by name, for the outputs' precision
  std::map<std::string, TensorScale> scales;  // instead of what the ranges would give; from a file. By value name
};

struct QuantizeOptions {
  CalibrationMethod calibration = CalibrationMethod::minmax;
  double percentile = 99.999;
  std::vector<std::string> skip;  // node names, globs, "type:conv", "position:first": these stay in f32
  std::optional<float>
      global_scale;             // relay.quantize: activation range is [-global_scale, global_scale), symmetric s8-like
  bool corrects_biases = true;  // needs samples
  bool corrects_fast = false;   // that by means of the fp32 network alone
  bool equalizes = false;       // channels of one tensor, by factors moved between convolutions; needs samples
  bool smooths = true;          // channels of a normalisation, by factors moved into products; needs samples
  WeightMethod weights = WeightMethod::max;
  // Signal to noise ratio in dB that each output keeps on the samples: layers stay in f32 until it has; 0: none are
  // kept for that. Scores of one place, as a classifier's only output has, are left alone unless `judges_scores`. Not
  // with integer_only.
  double output_sqnr = 0.0;
  bool judges_scores = false;
  double most_in_f32 = 1.0;   // share of the multiply-adds that this may cost; where it would be more, none stays
  bool integer_only = false;  // inputs and outputs become 8-bit, too
  PairPlacement placement = PairPlacement::fused;
  // Which products quantize rows in the run. With RowProducts::alone no sample is needed and none is taken.
  RowProducts rows = RowProducts::behind_gelu;
  bool is_part = false;                  // of a model of several: `skip` may mean nodes of the others
  bool is_standard = false;              // only what a QDQ file of ONNX says to other programs, too: pairs of bytes
  bool observes_all = false;             // ranges of all activations, so that `calibrated` serves whatever is skipped
  std::optional<Calibrated> calibrated;  // of an earlier report: then no sample is taken
  // Of an open graph that takes no samples: at which values that no input decides are looked at, one for each of
  // Sizes::sizes. Samples bring their own sizes.
  std::vector<std::int64_t> sample_sizes;
  // Whose kernels and cores passes over the samples use; this machine has to be able to run them. The result is the
  // same.
  Machine machine = host_machine();
  Monitor monitor;  // asked before each sample and each layer
};

// Nodes that are one step in integers; in --skip all of them or none.
struct LayerGroup {
  std::string name;  // of the first
  std::vector<std::string> nodes;
};

struct QuantizeReport {
  Calibrated calibrated;
  std::map<std::string, TensorScale> scales;  // of every quantized wire, by value name
  std::vector<LayerGroup> groups;             // what computes in integers
  std::vector<std::string> kept_in_float;     // "node: reason"
  ChannelFactors equalized;                   // of every wire whose channels are divided by factors
  std::vector<std::string> notes;             // what else is to be known, in words
  std::int64_t samples = 0;
};

// Inserts the pairs in place (after an error the graph is of no use): weights s8 per output channel symmetric,
// activations u8 asymmetric, biases s32 (scale x_scale * w_scale). The result has the same form as an imported QDQ
// file, one with 8-bit inputs and outputs where `integer_only` asks for it; pairs stand where `placement` puts them.
// Samples of an open graph may have different sizes: ranges are those of all of them, what else is learned is learned
// from those of the shapes that most have.
Result<QuantizeReport> quantize(Graph& graph, const SampleSource& samples, const QuantizeOptions& options);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_QUANTIZE_H_
