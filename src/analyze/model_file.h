// A model file given by a user, ready to load: an .octv as it is, anything else compiled first. Part of analyze/.
#ifndef OCTAVO_ANALYZE_MODEL_FILE_H_
#define OCTAVO_ANALYZE_MODEL_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/inside.h"
#include "data/samples.h"
#include "octavo/compile.h"
#include "octavo/quantize.h"
#include "octavo/run.h"
#include "pictures/preprocess.h"
#include "planner/planner.h"

namespace octavo {

// How a model is loaded to run, but for its threads.
struct RunSettings {
  std::int64_t max_iterations = v1::LoadOptions{}.max_iterations;  // of all loops of a run
  std::uint64_t context_bytes = v1::LoadOptions{}.context_bytes;   // the most memory of a context; 0: no limit
  int device = v1::LoadOptions{}.device;                           // that runs plans for one

  v1::LoadOptions with(int threads) const {
    return {.threads = threads, .context_bytes = context_bytes, .max_iterations = max_iterations, .device = device};
  }
};

// What compiling takes beyond v1::CompileOptions: where calibration samples come from.
struct CompileRequest {
  v1::CompileOptions options;
  std::string calibrate;  // empty: none; see open_samples
  std::optional<Preprocess> preprocess;
  std::int64_t samples = 0;  // 0: all
  v1::PlanChoice plan;       // of what is opened or compiled, for whoever runs it
  // Likewise, of what is opened: the sizes to run at, one after the other. What is compiled has them in its options.
  std::vector<v1::InputShapes> shapes;
  bool guesses_batch = false;      // options.batches are the first dimension of the inputs at hand
  bool plans_examples = false;     // OwnOptions::plans_examples
  bool chooses_precision = false;  // by time, as auto_precision.h says; options.precision is none then
  RunSettings run;                 // of whoever runs it
  v1::InputShapes examples = {};   // OwnOptions::examples, of samples that were looked at before
  int threads = 0;                 // that these times are taken with; 0: all cores
  double seconds = 0.25;           // for each variant of the network
  std::vector<std::string> notes;  // for every plan of what is compiled
};

// The inputs of a model file as samples have them: with batch 1, and what else is open at an example.
Result<std::vector<InputSpec>> model_inputs(const v1::ModelSource& model, const CompileRequest& request);

// What a request names as its samples.
struct CalibrationSamples {
  std::vector<InputSpec> inputs;  // as model_inputs
  std::shared_ptr<const SampleSource> samples;
  v1::InputShapes examples;  // the shapes that most of them have; none where no axis of an input is open
};
// Errors: those of open_samples and, where sizes are open, of the samples.
Result<CalibrationSamples> calibration_samples(const v1::ModelSource& model, const CompileRequest& request);

// Of a model file, which is compiled; the observer is told of every step (PlanOptions::on_step).
Result<v1::CompiledModel> compile_observed(const v1::ModelSource& model, const CompileRequest& request,
                                           StepObserver observer);
Result<v1::CompiledModel> open_or_compile(const v1::ModelSource& model, const CompileRequest& request);

// An fp32 model file, quantized by what the request says.
enum class QuantizedFor { octavo, other_programs };
Result<v1::QuantizedModel> quantize_file(const v1::ModelSource& model, const CompileRequest& request,
                                         QuantizedFor reader = QuantizedFor::octavo);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_MODEL_FILE_H_
