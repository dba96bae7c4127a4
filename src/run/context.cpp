// The static executor: calls the steps of one plan in order, split over threads. Part of run/.
#include <algorithm>
#include <chrono>

#include "base/memory.h"
#include "run/float_mode.h"
#include "run/image_runner.h"
#include "run/model.h"
#include "run/step_call.h"

namespace octavo {
namespace {

// A part of a step shorter than this is not worth another thread: joining costs about as much.
constexpr double kMinPartNs = 1000.0;
constexpr std::uint64_t kMaxContextBytes = std::uint64_t{1} << 37;

// Where the caller's pointer of this run goes.
struct CallerPointer {
  std::size_t slot = 0;   // in inputs or outputs
  std::size_t index = 0;  // of the model's tensor
};

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

// A prediction that is not a positive number limits nothing.
int parts_for(std::int64_t items, double predicted_ns, int threads) {
  int parts = static_cast<int>(std::min<std::int64_t>(items, threads));
  if (predicted_ns > 0.0 && predicted_ns < kMinPartNs * parts)
    parts = std::max(1, static_cast<int>(predicted_ns / kMinPartNs));
  return parts;
}

Error wrong(const std::string& where, std::string found, std::string expected) {
  return {.kind = ErrorKind::usage, .where = where, .found = std::move(found), .expected = std::move(expected)};
}

template <class View>
Status check_tensors(std::span<const View> given, const std::vector<PlanTensor>& wanted, const char* what) {
  if (given.size() != wanted.size())
    return wrong(what, std::to_string(given.size()) + " tensors", std::to_string(wanted.size()));
  for (std::size_t i = 0; i < given.size(); ++i) {
    const View& tensor = given[i];
    const PlanTensor& plan = wanted[i];
    const auto where = [&] { return std::string(what) + " '" + plan.name + "'"; };
    if (tensor.dtype != plan.dtype ||
        !std::equal(tensor.shape.begin(), tensor.shape.end(), plan.shape.begin(), plan.shape.end())) {
      return wrong(where(), std::string(name_of(tensor.dtype)) + " " + tensor.shape.to_string(),
                   std::string(name_of(plan.dtype)) + " " + Shape(plan.shape).to_string());
    }
    if (tensor.data == nullptr && tensor.bytes() != 0)
      return wrong(where(), "no memory", std::to_string(tensor.bytes()) + " bytes");
    if (reinterpret_cast<std::uintptr_t>(tensor.data) % size_of(tensor.dtype) != 0) {
      return wrong(where(), "an unaligned address", "a multiple of " + std::to_string(size_of(tensor.dtype)));
    }
  }
  return ok_status();
}

template <class A, class B>
bool overlap(const A& a, const B& b) {
  const auto a_begin = reinterpret_cast<std::uintptr_t>(a.data);
  const auto b_begin = reinterpret_cast<std::uintptr_t>(b.data);
  return a_begin < b_begin + b.bytes() && b_begin < a_begin + a.bytes();
}

Status check_overlap(std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs, const Plan& plan) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto where = [&] { return "output '" + plan.outputs[i].name + "'"; };
    for (const ConstTensorView& input : inputs) {
      if (overlap(outputs[i], input)) return wrong(where(), "memory that an input occupies", "memory of its own");
    }
    for (std::size_t other = 0; other < i; ++other) {
      if (overlap(outputs[i], outputs[other]))
        return wrong(where(), "memory that another output occupies", "memory of its own");
    }
  }
  return ok_status();
}

}  // namespace

struct Context::State {
  std::shared_ptr<const Model> model;
  const Plan* plan = nullptr;
  std::shared_ptr<Executor> executor;  // null: one thread
  MappedMemory memory;                 // the arena, an arena of one image for each thread, scratch for each thread
  std::byte* image_arenas = nullptr;
  std::uint64_t image_arena_stride = 0;
  Scratch scratch;
  std::vector<StepCall> calls;
  std::vector<StepFailure> failures;  // by step
  Pointers pointers;
  ImageRunner images;  // of the first steps, where the plan has a loop
  std::size_t loop_steps = 0;
  std::vector<CallerPointer> caller_inputs, caller_outputs;
  StepHook hook;
  std::vector<TensorView> hook_outputs;  // parallel to the outputs' pointers

  Status allocate(const std::vector<PreparedStep>& steps, int threads) {
    std::uint64_t scratch_bytes = 0;
    for (const PreparedStep& step : steps)
      scratch_bytes = std::max<std::uint64_t>(scratch_bytes, step.step->scratch_bytes());
    const std::uint64_t arena_bytes = round_up(plan->arena_bytes + kReadSlack, 2 * kAlignment);
    const auto thread_count = static_cast<std::uint64_t>(threads);
    // Two cache lines apart, so that threads do not share what the prefetcher takes together.
    const auto stride_of = [](std::uint64_t bytes) {
      return bytes > kMaxContextBytes ? bytes : round_up(bytes, 2 * kAlignment) + 2 * kAlignment;
    };
    scratch.stride = stride_of(scratch_bytes);
    image_arena_stride = plan->image_loop.steps == 0 ? 0 : stride_of(plan->image_loop.arena_bytes);
    if (scratch.stride > kMaxContextBytes / thread_count || image_arena_stride > kMaxContextBytes / thread_count) {
      return Error{.kind = ErrorKind::resource,
                   .where = "memory of a context",
                   .found = std::to_string(scratch_bytes + plan->image_loop.arena_bytes) +
                            " bytes of scratch and arena per thread"};
    }
    auto mapped = map_zeros(arena_bytes + (image_arena_stride + scratch.stride) * thread_count);
    if (!mapped) return mapped.errors();
    memory = std::move(*mapped);
    image_arenas = memory.get() + arena_bytes;
    scratch.first = image_arenas + image_arena_stride * thread_count;
    return ok_status();
  }

  void add_call(const PlanStep& step, const Step& prepared, int threads) {
    StepCall call{.step = &prepared,
                  .items = prepared.items(),
                  .first_input = pointers.inputs.size(),
                  .first_output = pointers.outputs.size()};
    call.parts = parts_for(call.items, step.predicted_ns, threads);
    call.input_count = step.inputs.size();
    call.output_count = step.outputs.size();
    call.failure = &failures[calls.size()];
    for (const PlanOperand& operand : step.inputs) {
      if (operand.place == Place::input) caller_inputs.push_back({pointers.inputs.size(), operand.offset});
      pointers.inputs.push_back(input_address(operand));
    }
    for (const PlanOperand& operand : step.outputs) {
      if (operand.place == Place::output) caller_outputs.push_back({pointers.outputs.size(), operand.offset});
      pointers.outputs.push_back(operand.place == Place::arena ? memory.get() + operand.offset : nullptr);
      hook_outputs.push_back({.dtype = operand.dtype, .shape = Shape(operand.shape)});
    }
    calls.push_back(call);
  }

  const std::byte* input_address(const PlanOperand& operand) const {
    if (operand.place == Place::arena) return memory.get() + operand.offset;
    if (operand.place == Place::constant) return model->compiled().constants.data() + operand.offset;
    return nullptr;
  }

  void prepare_loop(int threads) {
    loop_steps = static_cast<std::size_t>(plan->image_loop.steps);
    if (loop_steps == 0) return;
    images.prepare(*plan, std::span(calls).first(loop_steps), pointers, image_arenas, image_arena_stride, threads);
  }

  void tell(std::size_t index, std::int64_t elapsed_ns, std::span<const TensorView> outputs) {
    hook({.index = index, .step = &plan->steps[index], .elapsed_ns = elapsed_ns, .outputs = outputs});
  }

  void run_step_observed(std::size_t index, Executor* pool) {
    const StepCall& call = calls[index];
    const auto start = std::chrono::steady_clock::now();
    call.run(pointers, scratch, pool);
    const auto elapsed = std::chrono::steady_clock::now() - start;
    for (std::size_t i = 0; i < call.output_count; ++i)
      hook_outputs[call.first_output + i].data = pointers.outputs[call.first_output + i];
    tell(index, std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count(),
         std::span(hook_outputs).subspan(call.first_output, call.output_count));
  }

  void tell_of_loop() {
    for (std::size_t i = 0; i < loop_steps; ++i)
      tell(i, images.elapsed_ns(i), images.values().subspan(calls[i].first_output, calls[i].output_count));
  }

  void set_hook(StepHook new_hook, bool needs_values) {
    hook = std::move(new_hook);
    if (loop_steps == 0) return;
    if (hook) images.observe(needs_values);
    else images.stop_observing();
  }

  void bind(std::span<const std::byte* const> in, std::span<std::byte* const> out) {
    for (const CallerPointer& pointer : caller_inputs) pointers.inputs[pointer.slot] = in[pointer.index];
    for (const CallerPointer& pointer : caller_outputs) pointers.outputs[pointer.slot] = out[pointer.index];
  }

  // A hook and a caller's parallel_for may throw; the context is then as good as before.
  Status run_range(std::size_t first, std::size_t last) {
    const ScopedFloatMode mode;
    const AcquiredExecutor acquired(executor.get());
    Executor* const pool = acquired.get();
    if (first < loop_steps) {
      images.run(pointers, scratch, pool);
      if (Status status = check_loop(); !status) return status;
      if (hook) tell_of_loop();
      first = loop_steps;
    }
    for (std::size_t i = first; i < last; ++i) {
      if (hook) run_step_observed(i, pool);
      else calls[i].run(pointers, scratch, pool);
      if (const char* reason = failures[i].take()) return failed(i, reason);
    }
    return ok_status();
  }

  Error failed(std::size_t index, const char* reason) const {
    const PlanStep& step = plan->steps[index];
    return {.kind = ErrorKind::resource,
            .where = "step '" + step.name + "' (" + step.kernel + ")",
            .found = reason,
            .hint = "the outputs of this run are undefined"};
  }

  // The first failure of the loop; all are forgotten.
  Status check_loop() {
    Status status = ok_status();
    for (std::size_t i = 0; i < loop_steps; ++i) {
      const char* reason = failures[i].take();
      if (reason != nullptr && status) status = failed(i, reason);
    }
    return status;
  }
};

Context::Context(std::unique_ptr<State> state) : state_(std::move(state)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

Result<Context> Context::create(std::shared_ptr<const Model> model, ContextOptions options) {
  if (options.plan >= model->plans().size()) {
    return wrong("plan", std::to_string(options.plan), "an index below " + std::to_string(model->plans().size()));
  }
  prepare_thread();
  auto state = std::make_unique<State>();
  state->plan = &model->plans()[options.plan];
  state->executor = std::move(options.executor);
  if (!state->executor && model->threads() > 1) state->executor = shared_thread_pool(model->threads());
  const int threads = state->executor ? std::min(model->threads(), state->executor->threads()) : 1;
  const std::vector<PreparedStep>& steps = model->steps(options.plan);
  state->model = std::move(model);
  if (Status status = state->allocate(steps, threads); !status) return status.errors();
  state->failures = std::vector<StepFailure>(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) state->add_call(state->plan->steps[i], *steps[i].step, threads);
  state->prepare_loop(threads);
  return Context(std::move(state));
}

const Model& Context::model() const { return *state_->model; }
const Plan& Context::plan() const { return *state_->plan; }

Status Context::run(std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs) {
  State& state = *state_;
  if (Status status = check_tensors(inputs, state.plan->inputs, "input"); !status) return status;
  if (Status status = check_tensors(outputs, state.plan->outputs, "output"); !status) return status;
  if (Status status = check_overlap(inputs, outputs, *state.plan); !status) return status;
  for (const CallerPointer& pointer : state.caller_inputs)
    state.pointers.inputs[pointer.slot] = inputs[pointer.index].data;
  for (const CallerPointer& pointer : state.caller_outputs)
    state.pointers.outputs[pointer.slot] = outputs[pointer.index].data;
  return state.run_range(0, state.calls.size());
}

Status Context::run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) {
  State& state = *state_;
  if (inputs.size() != state.plan->inputs.size())
    return wrong("inputs", std::to_string(inputs.size()), std::to_string(state.plan->inputs.size()));
  if (outputs.size() != state.plan->outputs.size())
    return wrong("outputs", std::to_string(outputs.size()), std::to_string(state.plan->outputs.size()));
  state.bind(inputs, outputs);
  return state.run_range(0, state.calls.size());
}

Status Context::run_steps(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                          std::size_t first, std::size_t last) {
  state_->bind(inputs, outputs);
  return state_->run_range(first, last);
}

std::byte* Context::arena() { return state_->memory.get(); }

void Context::set_step_hook(StepHook hook, bool needs_values) { state_->set_hook(std::move(hook), needs_values); }

}  // namespace octavo
