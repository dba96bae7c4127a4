// Model and Context: a compiled model ready to run, and one caller's memory to run it in. Part of run/.
#ifndef OCTAVO_RUN_MODEL_H_
#define OCTAVO_RUN_MODEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "artifact/artifact.h"
#include "base/machine.h"
#include "base/result.h"
#include "kernels/kernel.h"
#include "plan/plan.h"
#include "run/thread_pool.h"

namespace octavo {

struct LoadOptions {
  int threads = 0;                                           // 0: all usable cores
  std::uint64_t plan_cache_bytes = std::uint64_t{64} << 20;  // for plans of sizes that the file has none for
  std::uint64_t context_bytes = 0;                           // of each context at most; 0: kMaxContextBytes
  std::int64_t max_iterations = 1'000'000;                   // of all loops of a run
  int device = 0;                                            // of plans for one
  std::span<const KernelCode* const> kernels = all_codes();
};

// A step of a plan, ready to run.
struct PreparedStep {
  std::shared_ptr<const Attrs> attrs;  // the step may refer to them
  std::shared_ptr<const Step> step;    // shared by plans for several sizes that have the same call
  int in_place = -1;                   // the input whose memory the first output may have
};

class DevicePlan;

// A plan whose steps are prepared. Immutable.
struct PreparedPlan {
  const Plan* plan = nullptr;  // of the file, or `owned`
  std::vector<PreparedStep> steps;
  Plan owned;
  std::shared_ptr<const DevicePlan> device;  // that runs it; null: this machine's processor
};

// What became of the sizes that were asked for.
struct PlanCacheStatistics {
  std::uint64_t hits = 0;          // found among those made before
  std::uint64_t made = 0;          // planned
  std::uint64_t followed = 0;      // made out of the plan for a size nearby, with its kernels
  std::uint64_t lowered = 0;       // how often the graph was lowered anew
  std::uint64_t dropped = 0;       // left to make room
  std::uint64_t again = 0;         // of those made or followed, how many had been dropped before
  std::uint64_t plans = 0;         // kept now
  std::uint64_t limit_bytes = 0;   // LoadOptions::plan_cache_bytes
  std::uint64_t bytes = 0;         // of these, about
  std::uint64_t packed_bytes = 0;  // of weights that they needed in another form than the file has
};

class ConstantStore;
class OpenPlans;

// A compiled model with every step prepared. Plans of new sizes are added while it is used, by any number of contexts;
// nothing else changes.
class Model {
 public:
  Model();
  ~Model();
  const CompiledModel& compiled() const { return compiled_; }
  const std::vector<Plan>& plans() const { return compiled_.plans; }
  // Of plans(). Error: usage, where there is no such plan.
  Result<std::shared_ptr<const PreparedPlan>> plan_at(std::size_t index) const;
  // Null where none is open.
  const Sizes* sizes() const;
  // The plan for inputs of these shapes. Errors: usage (not the model's inputs, sizes that disagree or are outside
  // their range), unsupported (no planner is linked), resource.
  Result<std::shared_ptr<const PreparedPlan>> plan_for(std::span<const Shape> inputs) const;
  PlanCacheStatistics plan_cache() const;
  // A plan as messages call it: by the shapes of its inputs and its sizes, where these are open.
  std::string described(const Plan& plan) const;
  std::uint64_t most_context_bytes() const { return most_context_bytes_; }
  const ConstantSource& constants() const;
  int threads() const { return threads_; }
  // Index of the plan, or an error (usage) that lists what there is.
  Result<std::size_t> find_plan(std::optional<Precision> precision, std::optional<std::int64_t> batch) const;

 private:
  friend Result<std::shared_ptr<const Model>> load_model(CompiledModel compiled, const LoadOptions& options);
  CompiledModel compiled_;
  std::unique_ptr<ConstantStore> constants_;
  std::vector<std::shared_ptr<const PreparedPlan>> prepared_;  // by plan
  std::unique_ptr<OpenPlans> open_;                            // null where no size is open
  int threads_ = 1;
  std::uint64_t most_context_bytes_ = 0;
};

// Verifies everything against hostile files, then prepares every step of every plan (JIT code is emitted here).
// Errors: resource (missing instructions; executable memory refused), invalid_input (damaged).
Result<std::shared_ptr<const Model>> load_model(CompiledModel compiled, const LoadOptions& options);

// What a step hook is told, after each step.
struct StepEvent {
  std::size_t index = 0;
  const PlanStep* step = nullptr;
  std::int64_t elapsed_ns = 0;
  std::span<const TensorView>
      outputs;  // valid during the call; what a hook writes there is what later steps read, but in a region
};
using StepHook = std::function<void(const StepEvent&)>;

struct ContextOptions {
  std::size_t plan = 0;                          // index into Model::plans()
  std::shared_ptr<const PreparedPlan> prepared;  // instead: one that plan_for gave
  std::shared_ptr<Executor> executor;            // null: the shared pool, or none for a model of one thread
};

// One caller's arena and buffers. run() is for one thread at a time; any number of contexts run at the same time.
class Context {
 public:
  // Error: resource, where the arena cannot be had; usage, where there is no such plan.
  static Result<Context> create(std::shared_ptr<const Model> model, ContextOptions options = {});
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  ~Context();

  const Model& model() const;
  const Plan& plan() const;
  // Goes on with another plan of its model. Its memory grows where it has to and is kept. On an error (resource) it
  // goes on as it was.
  Status set_plan(std::shared_ptr<const PreparedPlan> plan);
  // Arena, and scratch and the arena of a slice for each thread.
  std::uint64_t memory_bytes() const;

  // Computes outputs from inputs, both in the plan's order, in memory of the caller: dense, aligned to their element,
  // not overlapping. Allocates nothing unless it fails, a hook is set, or a step is a reference. Error: usage, where a
  // tensor is not what the plan says; resource, naming the step that lacked memory; cancelled, by `stop`, between
  // steps: then the outputs are undefined and the next run is as good as any. What a hook or a caller's parallel_for
  // throws comes out; the same holds.
  Status run(std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
             const std::stop_token& stop = {});
  // The same where the caller vouches for types and sizes.
  Status run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs);

  // Step::schedule of each step of the plan.
  std::vector<std::byte> schedule_of(std::size_t step) const;

  // Steps [first, last) alone, in memory that the caller vouches for; arena() holds what the steps before have left
  // there. For plans without regions.
  Status run_steps(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::size_t first,
                   std::size_t last);
  std::byte* arena();

  // Called after each step of every run, or, of a region, after all slices for each of its steps in order; an empty
  // function removes it. A region keeps what its steps compute, all slices, only while somebody needs it: else its
  // outputs have no data.
  void set_step_hook(StepHook hook, bool needs_values = true);

 private:
  struct State;
  explicit Context(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace octavo

#endif  // OCTAVO_RUN_MODEL_H_
