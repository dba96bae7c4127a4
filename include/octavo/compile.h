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
#include <string>
#include <utility>
#include <vector>

#include "octavo/choices.h"
#include "octavo/precision.h"
#include "octavo/result.h"
#include "octavo/tensor.h"

namespace octavo {
class SampleSource;
struct Calibrated;
struct CompiledModel;
enum class Profile : std::uint8_t;
}  // namespace octavo

namespace octavo::v1 {

// Calibration data: `count` samples of batch 1. fill(index, inputs) writes one sample into the model's inputs, in their
// order. It is called from one thread at a time and may be called several times for the same index.
struct SampleFunction {
  std::int64_t count = 0;
  std::function<Status(std::int64_t index, std::span<const TensorRef> inputs)> fill;
};

// What an fp32 file without samples comes to where no precision is asked for: an error that asks for one, or fp32.
enum class Unquantized : std::uint8_t { refuse, fp32 };

// Names follow the command line's options.
struct CompileOptions {
  // None: int8 where the file is quantized or samples are given, else what `unquantized` says.
  std::optional<Precision> precision;
  Unquantized unquantized = Unquantized::refuse;
  std::string target = "host";                              // host, scalar, avx2, avxvnni, avx512vnni, amx
  std::vector<std::int64_t> batches = {1};                  // one plan each, over one set of weights
  std::map<std::string, std::vector<std::int64_t>> shapes;  // by input; overrides the file's
  SampleFunction samples;                                   // to quantize an fp32 file; or
  std::shared_ptr<const octavo::SampleSource>
      source;  // the same from Octavo's own readers (folders of images, .npy, .npz)
  std::shared_ptr<const octavo::Calibrated> calibrated;  // of an earlier quantize(): no sample is taken then
  CalibrationMethod calibration = CalibrationMethod::automatic;
  double percentile = 99.999;
  bool corrects_biases = true;  // take back the shift of the means that rounding makes, by the samples
  bool corrects_fast = false;  // that from the means of what products read, without going through the quantized network
  bool equalizes = false;  // make the channels of a tensor alike by factors moved between convolutions, by the samples
  WeightMethod weights = WeightMethod::adaround;
  PairPlacement placement = PairPlacement::fused;
  std::vector<std::string> skip;  // stay in fp32: node names, globs, "type:conv", "position:first"
  std::optional<float> global_scale;
  bool observes_all = false;  // quantize() learns ranges that serve whatever `skip` names later
  // Which source's formulas quantized operators follow (base/requantize.h): of a TFLite file one of the tflite_ ones;
  // none: the format's own.
  std::optional<Profile> rounding;
  bool integer_only =
      false;  // a float operator, input or output is an error; those of an fp32 file become 8-bit with its scales
  BatchOrder batch_order = BatchOrder::automatic;
  bool allow_reference = false;  // the scalar reference may stand in where no kernel exists; slow
  std::function<void(std::int64_t done, std::int64_t total)> progress;  // of calibration
  TuningMode tuning_mode = TuningMode::off;
  std::string tuning_log;  // a file of measured times (docs/cli.md), used where known; what is measured is added
};

// One plan of a compiled model: one batch or shape in one precision.
struct PlanInfo {
  Precision precision = Precision::int8;
  std::int64_t batch = 1;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::int64_t steps = 0;            // kernels called in a run
  std::int64_t macs = 0;             // multiply-accumulates of all convolutions and matrix products
  std::uint64_t arena_bytes = 0;     // memory of each context
  std::int64_t steps_by_image = 0;   // the first steps run on one image of the batch after the other
  std::uint64_t image_bytes = 0;     // memory of each thread for these
  std::vector<std::string> islands;  // what runs in float inside an int8 plan: "node (operator): reason"
  std::vector<std::string> notes;
  std::map<std::string, std::int64_t> kernels;  // name -> steps
};

struct ModelInfo {
  std::string source;        // file it was compiled from
  std::string dialect;       // "ONNX QDQ s8", ...
  std::string machine;       // compiled for
  std::string instructions;  // instruction sets that its kernels need
  std::int64_t source_nodes = 0;
  std::uint64_t constant_bytes = 0;  // packed weights of all plans
  std::vector<PlanInfo> plans;
};

// Immutable; copies share it.
class CompiledModel {
 public:
  explicit CompiledModel(std::shared_ptr<const octavo::CompiledModel> model) : model_(std::move(model)) {}
  ModelInfo info() const;
  // Writes an .octv file, all or nothing. Error: resource.
  Status save(const std::string& path) const;
  const octavo::CompiledModel& internal() const { return *model_; }

 private:
  std::shared_ptr<const octavo::CompiledModel> model_;
};

// Imports, quantizes where asked, lowers and plans. Nothing is run on this machine but calibration and what
// `tuning_mode` asks for, so any target can be compiled for.
Result<CompiledModel> compile(const std::string& path, const CompileOptions& options = {});

// Where the weights of an opened file are: in the file, paged in as they are needed and shared by all processes that
// have it open; or in memory of this process.
enum class Weights : std::uint8_t { mapped, copied };

struct OpenOptions {
  Weights weights = Weights::mapped;
};

// Opens an .octv file. A mapped one may be replaced by renaming another over it, as save() does: who has the old one
// open keeps it. Cutting it off or writing into it while it is open raises SIGBUS in whoever uses it, or changes his
// answers; the library has no handler for that: where it may happen, copy. Errors: resource (cannot be read),
// invalid_input (not an .octv file, of another version, truncated, damaged).
Result<CompiledModel> open(const std::string& path, const OpenOptions& options = {});

// The same of a file's bytes, which are copied; `name` stands for the path in messages. Error: invalid_input.
Result<CompiledModel> open(std::span<const std::byte> bytes, const std::string& name);

// Whether the file is an .octv, by content.
bool is_compiled(const std::string& path);

// Removes what an interrupted save() would leave behind. Async-signal-safe: for the handler of SIGINT or SIGTERM.
void remove_unfinished_files();

}  // namespace octavo::v1

#endif  // OCTAVO_COMPILE_H_
