// Loading and running a compiled model. Part of the public API.
//
//   auto model = octavo::v1::Model::load(*octavo::v1::open("resnet18.octv"), {.threads = 2});
//   auto context = octavo::v1::Context::create(*model);
//   context->run({{ConstTensorRef{DType::f32, shape, pixels}}}, {{TensorRef{DType::f32, classes, scores}}});
#ifndef OCTAVO_RUN_H_
#define OCTAVO_RUN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "octavo/compile.h"
#include "octavo/precision.h"
#include "octavo/result.h"
#include "octavo/tensor.h"

namespace octavo {
class Model;
class Context;
class Executor;
}  // namespace octavo

namespace octavo::v1 {

// Of this release: "0.1.0".
std::string_view version();

// Threads for running. Contexts may share one; a context that finds it busy runs on its caller's thread alone, with the
// same bits.
class ThreadPool {
 public:
  // `threads` counts the caller's own.
  explicit ThreadPool(int threads);
  // A caller's threads instead: parallel_for(parts, body) runs body(0) .. body(parts - 1), concurrently or not, and
  // returns when all are done. If it throws, no body may be running any more.
  using ParallelFor = std::function<void(int parts, const std::function<void(int part)>& body)>;
  ThreadPool(int threads, ParallelFor parallel_for);
  const std::shared_ptr<octavo::Executor>& internal() const { return executor_; }

 private:
  std::shared_ptr<octavo::Executor> executor_;
};

// Which plan of a compiled model: the first of this precision and this batch, where one is asked for.
struct PlanChoice {
  std::optional<Precision> precision;
  std::optional<std::int64_t> batch;
};

struct LoadOptions {
  int threads = 0;  // 0: every core this process may use
};

// A compiled model ready to run. Immutable; copies share it; any number of contexts use it at the same time.
class Model {
 public:
  // Verifies all of it, so that a damaged or hostile file is an error and never a crash, and prepares its kernels.
  // Errors: invalid_input; resource (instructions that this machine lacks, executable memory refused).
  static Result<Model> load(const CompiledModel& compiled, const LoadOptions& options = {});
  ModelInfo info() const;
  int threads() const;
  // Index of the plan. Error: usage, with the list of what there is.
  Result<std::size_t> find_plan(const PlanChoice& choice) const;
  const std::shared_ptr<const octavo::Model>& internal() const { return model_; }

 private:
  explicit Model(std::shared_ptr<const octavo::Model> model) : model_(std::move(model)) {}
  std::shared_ptr<const octavo::Model> model_;
};

// What a step hook is told after each step.
struct StepInfo {
  std::size_t index = 0;
  std::string_view name;  // of the source node
  std::string_view op;
  std::string_view kernel;
  std::int64_t elapsed_ns = 0;
  std::span<const std::string> value_names;  // of the step's outputs
  std::span<const float> value_scales;  // value = scale * (integer - zero point); 0 where an output has no one scale
  std::span<const std::int32_t> value_zero_points;
  std::span<const ConstTensorRef> outputs;  // valid during the call
};

// The memory of one run at a time. A context belongs to one thread at a time; contexts run at the same time.
class Context {
 public:
  // `pool` none: the process-wide one. Errors: usage (no such plan), resource (memory).
  static Result<Context> create(const Model& model, std::size_t plan = 0, const ThreadPool* pool = nullptr);
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  ~Context();

  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;
  // Tensors in the order of inputs() and outputs(), in the caller's memory, which must not overlap. An integer
  // plan allocates nothing; layers in fp32 allocate inside oneDNN, and references (target scalar, allow_reference) for
  // their results. Errors: usage, naming the tensor that is not what the
  // plan says; resource, naming the step that lacked memory: then the outputs are undefined, and the next run is as
  // good as any. What a hook or a caller's parallel_for throws comes out; the same holds.
  Status run(std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs);
  // Calls `hook` after each step of every run, with its time and results; an empty function removes it. Steps that run
  // image by image are told of in their order after the last image, their time summed; their results are there only
  // where `needs_values`, which takes memory for all of them.
  void set_step_hook(std::function<void(const StepInfo&)> hook, bool needs_values = true);
  octavo::Context& internal();

 private:
  struct State;
  explicit Context(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace octavo::v1

#endif  // OCTAVO_RUN_H_
