// A model file given by a user, ready to load: an .octv as it is, anything else compiled first. Part of analyze/.
#ifndef OCTAVO_ANALYZE_MODEL_FILE_H_
#define OCTAVO_ANALYZE_MODEL_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/samples.h"
#include "octavo/compile.h"
#include "octavo/quantize.h"
#include "octavo/run.h"
#include "pictures/preprocess.h"

namespace octavo {

// What compiling takes beyond v1::CompileOptions: where calibration samples come from.
struct CompileRequest {
  v1::CompileOptions options;
  std::string calibrate;  // empty: none; see open_samples
  std::optional<Preprocess> preprocess;
  std::int64_t samples = 0;        // 0: all
  v1::PlanChoice plan;             // of what is opened or compiled, for whoever runs it
  bool chooses_precision = false;  // by time, as auto_precision.h says; options.precision is none then
  int threads = 0;                 // that these times are taken with; 0: all cores
  double seconds = 0.25;           // for each variant of the network
  std::vector<std::string> notes;  // for every plan of what is compiled
};

// The inputs of a model file as samples have them: with batch 1, and what else is open at one size.
Result<std::vector<InputSpec>> model_inputs(const std::string& path, const CompileRequest& request);

Result<v1::CompiledModel> open_or_compile(const std::string& path, const CompileRequest& request);

// An fp32 model file, quantized by what the request says.
Result<v1::QuantizedModel> quantize_file(const std::string& path, const CompileRequest& request);

// A model loaded with a context for one of its plans and memory for its tensors.
class Session {
 public:
  static Result<Session> create(const v1::CompiledModel& compiled, const v1::PlanChoice& plan, int threads);
  // Of a model that others share; `pool` none: the process-wide one.
  static Result<Session> create(const v1::Model& model, const v1::PlanChoice& plan, const v1::ThreadPool* pool);
  // Of a model with open sizes, for inputs of these shapes.
  static Result<Session> create_at(const v1::CompiledModel& compiled, std::span<const std::vector<std::int64_t>> shapes,
                                   int threads);
  const v1::PlanInfo& plan() const { return plan_; }
  int threads() const { return threads_; }
  // What becomes of pictures inside, where the model takes them as they are.
  const std::optional<Preprocess>& pictures() const { return pictures_; }
  v1::Context& context() { return context_; }
  std::vector<Tensor>& inputs() { return inputs_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }
  Status run();

 private:
  Session(v1::Context context, v1::PlanInfo plan, std::optional<Preprocess> pictures, int threads);
  v1::Context context_;
  v1::PlanInfo plan_;
  std::optional<Preprocess> pictures_;
  int threads_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<v1::ConstTensorRef> input_refs_;
  std::vector<v1::TensorRef> output_refs_;
};

// How a picture becomes its input: what is left of a SPEC that is computed inside, else what the request says, if
// anything. Error (usage): it says another one than is computed inside.
Result<std::optional<Preprocess>> preprocess_for(const Session& session, const CompileRequest& request);

// Fills tensors with seeded random numbers: what speed is measured on. Integers of 32 and 64 bits are 0, an index that
// every table has.
Status fill_random(std::vector<Tensor>& tensors);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_MODEL_FILE_H_
