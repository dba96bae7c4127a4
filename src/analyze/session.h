// A compiled model loaded to run one of its plans, or at a size that it has no plan of. Part of analyze/.
#ifndef OCTAVO_ANALYZE_SESSION_H_
#define OCTAVO_ANALYZE_SESSION_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyze/model_file.h"
#include "octavo/unpadded.h"

namespace octavo {

// Which plan of a compiled model is run: the one for inputs of these shapes, which is made where the file has none and
// its sizes are open; without shapes the file's first of the precision and batch. An input may be left out where the
// shapes of others say its sizes.
struct RunChoice {
  v1::PlanChoice plan = {};
  v1::InputShapes shapes = {};
  RunSettings settings = {};
  bool keeps_tensors_there = false;  // inputs and outputs lie in the device's memory
};

// What the request asks for of the model at `path`.
RunChoice choice_of(const std::string& path, const CompileRequest& request);

// Of ModelInfo::plans, the first that is asked for. Error (usage), with the list of what there is.
Result<std::size_t> plan_of_shapes(const v1::ModelInfo& info, const RunChoice& choice);

// Whether more is open than one first dimension, so that a batch does not tell a plan.
bool opens_more_than_batch(const v1::ModelInfo& info);

// Of the inputs of a plan, or of a sample.
v1::InputShapes shapes_of(const std::vector<v1::TensorInfo>& inputs);
v1::InputShapes shapes_of(const std::vector<InputSpec>& inputs);
// "1x3x224x224" of one input, "x=1x48, y=1x48" of several.
std::string brief(const v1::InputShapes& shapes);

// The shapes that SPEC's `crop` makes of a model that takes a picture and leaves its height and width open. Nothing
// elsewhere.
v1::InputShapes shapes_of_crop(const v1::ModelInfo& info, const CompileRequest& request);

// Error (usage): what `where` asks for needs a model that is one network.
Error needs_one_network(std::string where);

// Error (usage): sizes are open, the file has no plan, and nobody says at which ones to run.
Error no_size_given(const v1::ModelInfo& info);

// A model loaded with a context for one of its plans and memory for its tensors, or a model of several parts.
class Session {
 public:
  // Of a model of several parts, for inputs of the choice's shapes; an input may be left out whose shape is numbers.
  // Its outputs, and their places in the plan, are those of the last run.
  static Result<Session> of_program(const v1::CompiledModel& compiled, const RunChoice& choice, int threads);
  // That model, or a plan of one network.
  static Result<Session> of_any(const v1::CompiledModel& compiled, const RunChoice& choice, int threads);
  // Errors: usage (no such plan, or shapes that the model cannot have), those of loading and planning.
  static Result<Session> create(const v1::CompiledModel& compiled, const RunChoice& choice, int threads);
  // Of a model that others share; `pool` none: the process-wide one.
  static Result<Session> create(const v1::Model& model, const RunChoice& choice, const v1::ThreadPool* pool);
  const v1::PlanInfo& plan() const { return plan_; }
  int threads() const { return threads_; }
  // The inputs as samples have them: with batch 1, other open sizes at those of the plan.
  std::vector<InputSpec> sample_inputs() const;
  // What becomes of pictures inside, where the model takes them as they are.
  const std::optional<Preprocess>& pictures() const { return pictures_; }
  // Of the inputs, those that keep values from run to run.
  const std::vector<v1::StateInfo>& states() const { return states_; }
  bool is_program() const { return program_.has_value(); }
  // Of a plan of one network.
  v1::Context& context() { return *context_; }
  // Of several parts.
  v1::Program& program() { return *program_; }
  std::uint64_t memory_bytes() const { return program_ ? program_->memory_bytes() : context_->memory_bytes(); }
  // From now on `run` takes inputs of these shapes, and outputs are what they become: of a model with open sizes, whose
  // inputs() and outputs() are others then; no work where they are as they were. Errors: those of Context::resize.
  Status resize(const std::vector<Shape>& shapes);
  // Inputs hold the sample from now on, at whose shapes `run` runs. Errors: those of resize().
  Status take(const std::vector<Tensor>& sample);
  std::vector<Tensor>& inputs() { return inputs_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }
  Status run();
  // From now on `run` reads the inputs as they are now, and writes outputs, in memory of the device that runs the plan;
  // outputs() are not its results. Errors: usage, of what processors run; resource.
  Status move_to_device(int device);
  // From now on `run` leaves out what only pads sequences (octavo/unpadded.h), by this input. Errors: usage (the model
  // or the input has another form).
  Status skip_padding(const std::string& mask);

 private:
  Session(v1::Context context, v1::PlanInfo plan, std::optional<Preprocess> pictures, int threads);
  Session(v1::Program program, v1::PlanInfo plan, int threads);
  Status run_program();
  // Memory for what the context, or the program, takes and gives at the sizes it has.
  void bind();
  std::optional<v1::Context> context_;
  std::optional<v1::Program> program_;
  std::optional<v1::Model> model_;  // of the context
  std::optional<v1::Unpadded> unpadded_;
  v1::PlanInfo plan_;
  std::optional<Preprocess> pictures_;
  std::vector<v1::StateInfo> states_;
  int threads_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<v1::ConstTensorRef> input_refs_;
  std::vector<v1::TensorRef> output_refs_;
  std::vector<std::shared_ptr<std::byte>> on_device_;  // what these point to, once it lies there
};

// How a picture becomes its input: what is left of a SPEC that is computed inside, else what the request says, if
// anything. Error (usage): it says another one than is computed inside.
Result<std::optional<Preprocess>> preprocess_for(const Session& session, const CompileRequest& request);
Result<std::optional<Preprocess>> preprocess_for(const v1::ModelInfo& info, const CompileRequest& request);

// The inputs of a model with open sizes as samples have them: with batch 1, of other sizes no example.
std::vector<InputSpec> open_sample_inputs(const v1::ModelInfo& info);

// Fills tensors with seeded random numbers: what speed is measured on. Integers of 32 and 64 bits are 0, an index that
// every table has.
Status fill_random(std::vector<Tensor>& tensors);
// Fills the inputs of a session that is about to be timed.
using FillInputs = std::function<Status(Session& session)>;
inline Status fill_inputs_randomly(Session& session) { return fill_random(session.inputs()); }

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_SESSION_H_
