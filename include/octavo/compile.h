// From a model file to a compiled model. Part of the public API.
//
//   auto compiled = octavo::v1::compile("resnet18.qdq.onnx", {.batches = {1, 64}});
//   if (!compiled) return report(compiled.errors());
//   if (auto saved = compiled->save("resnet18.octv"); !saved) return report(saved.errors());
#ifndef OCTAVO_COMPILE_H_
#define OCTAVO_COMPILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "octavo/choices.h"
#include "octavo/precision.h"
#include "octavo/progress.h"
#include "octavo/result.h"
#include "octavo/run.h"
#include "octavo/tensor.h"

namespace octavo::v1 {

// Calibration data: `count` samples of batch 1, all of one size: that of the first planned shape where sizes are open,
// else an example of them. fill(index, inputs) writes one sample into the model's inputs, in their
// order, index below count. It is called from one thread at a time, not always the caller's, and may be called several
// times for the same index. An error of it ends the call that it was given to, with that error.
struct SampleFunction {
  std::int64_t count = 0;
  std::function<Status(std::int64_t index, std::span<const TensorRef> inputs)> fill;
};

// What samples taught of a model: quantize() learns it, parse_scales() reads it. Immutable; copies share it. One that
// is made here holds nothing.
class Calibration {
 public:
  Calibration() = default;
  explicit operator bool() const { return impl_ != nullptr; }

 private:
  friend struct Access;
  struct Impl;
  explicit Calibration(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// Whole shapes by input.
using InputShapes = std::map<std::string, std::vector<std::int64_t>>;

// What an fp32 file without samples comes to where no precision is asked for: an error that asks for one, or fp32.
enum class Unquantized : std::uint8_t { refuse, fp32 };

// How activations that meet constant weights become 8-bit.
enum class Activations : std::uint8_t {
  per_tensor,  // one scale for all values of a tensor, from samples (behind GELU one for each row)
  per_token,   // a scale for each row (a token), found in the run, of what products with a constant matrix read; ranges
               // of samples serve what is between the products, which without samples stays in f32
};

// Names follow the command line's options (docs/cli.md). What cannot be is an error of kind usage.
struct CompileOptions {
  // None: int8 where the file is quantized or samples are given, else what `unquantized` says.
  std::optional<Precision> precision;
  Unquantized unquantized = Unquantized::refuse;
  std::string target = "host";  // host, scalar, avx2, avxvnni, avx512vnni, amx, arm64-neon, arm64-dotprod, arm64-i8mm,
                                // cuda
  std::vector<std::int64_t> batches = {1};  // at least 1, each once: a plan each, over one set of weights
  // Whole shapes by input; they override the file's, whose dimensions otherwise stay open where it leaves them open.
  std::map<std::string, std::vector<Extent>> shapes;
  // Which of the open sizes have their plans in the file, one plan for each entry; a run plans for others. Within
  // `shapes`, each once, and `batches` left as they are: shapes say the batch. An input may be left out where the
  // others say its sizes. The first is also the size of samples that a function fills, at batch 1, and what a question
  // is answered for that the ranges leave open (of a first dimension: no usual batch).
  std::vector<InputShapes> planned_shapes;

  // Not empty: the only input, an image, takes pictures as they are, u8 [N, H, W, C] in RGB (C 1: grey), and this SPEC
  // (docs/cli.md, Preprocessing: "torch", "mean=127.5,std=127.5") is computed inside, with the bits that it has
  // outside. Its resize and crop are only remembered, in ModelInfo::pictures. Samples stay the file's own inputs.
  std::string pictures;
  // f32, u8 or s8, of every output: 8-bit values with one scale are delivered as f32, f32 ones that are such values,
  // dequantized, as these. Others are an error (usage), each by its name. None: the file's types.
  std::optional<DType> output_type;

  // How an fp32 file becomes int8.
  SampleFunction samples;             // what is learned from; or
  Calibration calibrated;             // of an earlier quantize(): no sample is taken then; or
  std::optional<float> global_scale;  // S > 0: every activation is in [-S, S)
  CalibrationMethod calibration = CalibrationMethod::automatic;
  double percentile = 99.999;   // for CalibrationMethod::percentile: above 50, at most 100
  bool corrects_biases = true;  // take back the shift of the means that rounding makes, by the samples
  bool corrects_fast = false;  // that from the means of what products read, without going through the quantized network
  bool equalizes = false;  // make the channels of a tensor alike by factors moved between convolutions, by the samples
  bool smooths = true;     // the same of what normalisations give, moved into the products that read it
  WeightMethod weights = WeightMethod::adaround;
  // Signal to noise ratio in dB that every output keeps on the samples: the layers that cost it most for what they
  // compute stay in fp32. None: 20, where that costs no more than three quarters of the multiply-adds, but a network
  // whose only output has one place (a classifier's scores) is left alone; 0: no layer is kept for that. At most 100.
  std::optional<double> output_sqnr;
  PairPlacement placement = PairPlacement::fused;
  Activations activations = Activations::per_tensor;  // per_token: no samples are needed; compile() only
  std::vector<std::string> skip;                      // stay in fp32: node names, globs, "type:conv", "position:first"
  bool observes_all = false;                          // quantize() learns ranges that serve whatever `skip` names later

  // Whose formulas quantized operators follow: of a TFLite file one of the tflite_ ones; none: the format's own.
  std::optional<Profile> rounding;
  // Of random operators that have no seed in the file; none: by the clock. They draw when a model is compiled: all runs
  // of it have the same numbers.
  std::optional<std::uint64_t> seed;
  // A float operator, input or output is an error (unsupported); those of an fp32 file become 8-bit with its scales.
  bool integer_only = false;
  BatchOrder batch_order = BatchOrder::automatic;
  bool allow_reference = false;  // the scalar reference may stand in where no kernel exists; slow
  bool allow_host = false;       // of target cuda: what has no kernel there is computed by the host, as this machine's
                                 // processor can, between copies of what it reads and writes
  bool allow_tf32 = false;       // of target cuda: convolutions and products of fp32 plans are those of NVIDIA's
                                 // libraries where these have them, whose factors are rounded to tf32
  TuningMode tuning_mode = TuningMode::off;
  // A file of measured times and of a tuner's trials (docs/cli.md), used where known; what `tuning_mode` measures is
  // added. Trials of other machines alone are an error (invalid_input), unless they are asked for.
  std::string tuning_log;
  bool uses_foreign_log = false;
  // A machine file (docs/cli.md): what is compiled for, and how fast it is; beside another target than host only its
  // caches and speeds count. Empty: the target, with this machine's caches and usual speeds.
  std::string machine_file;
  int tuned_threads = 0;  // trials with so many threads are looked for; 0: this machine's cores

  ProgressFunction progress;
  std::stop_token stop;  // asked between samples, layers, measurements and plans; then: an error of kind cancelled
};

// Imports, quantizes where asked, lowers and plans. Nothing is run on this machine but calibration and what
// `tuning_mode` asks for, so any target can be compiled for. Several calls may run at the same time. Errors: usage,
// invalid_input (all that is broken in the file), unsupported (all that Octavo cannot do of it, each by its name),
// resource, cancelled.
Result<CompiledModel> compile(const std::string& path, const CompileOptions& options = {});

// The same of a file's bytes, which are read during the call; `name` stands for the path in messages. Data that an ONNX
// file keeps in other files is an error.
Result<CompiledModel> compile(std::span<const std::byte> bytes, const std::string& name,
                              const CompileOptions& options = {});

}  // namespace octavo::v1

#endif  // OCTAVO_COMPILE_H_
