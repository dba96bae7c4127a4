// The static executor: calls the steps of one plan in order, split over threads. Part of run/.
#include <algorithm>
#include <chrono>
#include <deque>

#include "base/memory.h"
#include "run/context_memory.h"
#include "run/device.h"
#include "run/float_mode.h"
#include "run/model.h"
#include "run/region_runner.h"
#include "run/step_call.h"

namespace octavo {
namespace {

// Where the caller's pointer of this run goes.
struct CallerPointer {
  std::size_t slot = 0;   // in inputs or outputs
  std::size_t index = 0;  // of the model's tensor
};

Error wrong(const std::string& where, std::string found, std::string expected) {
  return {.kind = ErrorKind::usage, .where = where, .found = std::move(found), .expected = std::move(expected)};
}

template <class View>
Status check_tensors(std::span<const View> given, const Plan& plan, const std::vector<PlanPort>& wanted,
                     const char* what) {
  if (given.size() != wanted.size())
    return wrong(what, std::to_string(given.size()) + " tensors", std::to_string(wanted.size()));
  for (std::size_t i = 0; i < given.size(); ++i) {
    const View& tensor = given[i];
    const PlanValue& value = plan.value(wanted[i].value);
    const auto where = [&] { return std::string(what) + " '" + wanted[i].name + "'"; };
    if (tensor.dtype != value.dtype ||
        !std::equal(tensor.shape.begin(), tensor.shape.end(), value.shape.begin(), value.shape.end())) {
      return wrong(where(), std::string(name_of(tensor.dtype)) + " " + tensor.shape.to_string(),
                   std::string(name_of(value.dtype)) + " " + Shape(value.shape).to_string());
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
bool context_overlap(const A& a, const B& b) {
  const auto a_begin = reinterpret_cast<std::uintptr_t>(a.data);
  const auto b_begin = reinterpret_cast<std::uintptr_t>(b.data);
  return a_begin < b_begin + b.bytes() && b_begin < a_begin + a.bytes();
}

Status check_overlap(std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs, const Plan& plan) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto where = [&] { return "output '" + plan.outputs[i].name + "'"; };
    for (const ConstTensorView& input : inputs) {
      if (context_overlap(outputs[i], input))
        return wrong(where(), "memory that an input occupies", "memory of its own");
    }
    for (std::size_t other = 0; other < i; ++other) {
      if (context_overlap(outputs[i], outputs[other]))
        return wrong(where(), "memory that another output occupies", "memory of its own");
    }
  }
  return ok_status();
}

}  // namespace

struct Context::State {
  std::shared_ptr<const Model> model;
  std::shared_ptr<const PreparedPlan> prepared;
  const Plan* plan = nullptr;
  std::shared_ptr<Executor> executor;  // null: one thread
  MappedMemory memory;                 // the arena, an arena of one slice for each thread, scratch for each thread
  std::byte* arena = nullptr;          // where it begins
  std::byte* slice_arenas = nullptr;
  std::uint64_t slice_arena_stride = 0;
  Scratch scratch;
  std::vector<StepCall> calls;
  std::vector<StepFailure> failures;  // by step
  Pointers pointers;
  std::deque<RegionRunner> regions;
  std::vector<CallerPointer> caller_inputs, caller_outputs;
  // Of a plan for a device: its own context there, and the caller's tensors of this run. All above is empty then.
  std::unique_ptr<DeviceContext> device;
  std::vector<const std::byte*> device_inputs;
  std::vector<std::byte*> device_outputs;
  StepHook hook;
  bool hook_needs_values = true;
  std::vector<TensorView> hook_outputs;  // parallel to the outputs' pointers

  // Ready to run the plan, in `before` where that is large enough: its owner then hands it over, when nothing can fail
  // any more. Else in memory of its own.
  static Result<std::unique_ptr<State>> create(std::shared_ptr<const Model> model,
                                               std::shared_ptr<const PreparedPlan> prepared,
                                               std::shared_ptr<Executor> executor, const MappedMemory& before) {
    auto state = std::make_unique<State>();
    state->model = std::move(model);
    state->prepared = std::move(prepared);
    state->plan = state->prepared->plan;
    state->executor = std::move(executor);
    if (kMayHaveDevices && state->prepared->device != nullptr) return on_device(std::move(state));
    const int threads = state->executor ? context_threads(*state->model, state->executor->threads()) : 1;
    if (Status status = state->allocate(threads, before); !status) return status.errors();
    const std::vector<PreparedStep>& steps = state->prepared->steps;
    state->failures = std::vector<StepFailure>(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) state->add_call(state->plan->steps[i], *steps[i].step, threads);
    state->look_ahead();
    state->prepare_regions(threads);
    return state;
  }

  static Result<std::unique_ptr<State>> on_device(std::unique_ptr<State> state) {
    const std::uint64_t bytes = state->prepared->device->context_bytes(), most = state->model->most_context_bytes();
    if (bytes > most) return too_large_context(state->model->described(*state->plan), bytes, most);
    auto device = state->prepared->device->make_context();
    if (!device) return device.errors();
    state->device = std::move(*device);
    state->device_inputs.resize(state->plan->inputs.size());
    state->device_outputs.resize(state->plan->outputs.size());
    return state;
  }

  Status allocate(int threads, const MappedMemory& before) {
    const ContextMemory needed = context_memory(*prepared, threads);
    const std::uint64_t bytes = needed.bytes(), most = model->most_context_bytes();
    if (bytes > most) return too_large_context(model->described(*plan), bytes, most);
    if (before == nullptr || before.get_deleter().bytes < bytes) {
      auto mapped = map_zeros(bytes);
      if (!mapped) return mapped.errors();
      memory = std::move(*mapped);
    }
    arena = memory == nullptr ? before.get() : memory.get();
    slice_arena_stride = needed.slice_arena_stride;
    slice_arenas = arena + needed.arena_bytes;
    scratch = {.first = slice_arenas + slice_arena_stride * needed.threads, .stride = needed.scratch_stride};
    return ok_status();
  }

  void add_call(const PlanStep& step, const Step& ready, int threads) {
    StepCall call{.step = &ready,
                  .items = ready.items(),
                  .rounds = ready.rounds(),
                  .first_input = pointers.inputs.size(),
                  .first_output = pointers.outputs.size()};
    call.parts = parts_for(ready, step.predicted_ns, threads, plan->machine.speeds.barrier_ns);
    call.input_count = step.inputs.size();
    call.output_count = step.outputs.size();
    call.failure = &failures[calls.size()];
    for (const ValueIndex input : step.inputs) {
      if (input != kNoValue && plan->value(input).place == Place::input)
        caller_inputs.push_back({pointers.inputs.size(), plan->value(input).offset});
      pointers.inputs.push_back(input == kNoValue ? nullptr : input_address(plan->value(input)));
    }
    for (const ValueIndex output : step.outputs) {
      const PlanValue& value = plan->value(output);
      if (value.place == Place::output) caller_outputs.push_back({pointers.outputs.size(), value.offset});
      pointers.outputs.push_back(value.place == Place::arena ? arena + value.offset : nullptr);
      hook_outputs.push_back({.dtype = value.dtype, .shape = Shape(value.shape)});
    }
    calls.push_back(call);
  }

  // A step may fetch what a later one reads, if that does not come too late to be there still.
  void look_ahead() {
    constexpr std::size_t kFarthest = 4;
    std::size_t next = calls.size();
    for (std::size_t i = calls.size(); i-- > 0;) {
      if (next < calls.size() && next - i <= kFarthest) calls[i].next = &calls[next];
      if (!calls[i].step->reads({0, 1}).empty()) next = i;
    }
  }

  const std::byte* input_address(const PlanValue& value) const {
    if (value.place == Place::arena) return arena + value.offset;
    if (value.place == Place::constant) return model->constants().find(value.offset, value.bytes());
    return nullptr;
  }

  void prepare_regions(int threads) {
    for (const Region& region : plan->regions)
      regions.emplace_back(*plan, region, calls, pointers, slice_arenas, slice_arena_stride, threads);
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

  void tell_of(const RegionRunner& runner) {
    for (std::int64_t s = runner.region().first_step; s < runner.region().end(); ++s) {
      const auto step = static_cast<std::size_t>(s);
      tell(step, runner.elapsed_ns(step), runner.values_of(calls[step]));
    }
  }

  void set_hook(StepHook new_hook, bool needs_values) {
    hook = std::move(new_hook);
    hook_needs_values = needs_values;
    for (RegionRunner& runner : regions) {
      if (hook) runner.observe(needs_values);
      else runner.stop_observing();
    }
  }

  // The region that starts at a step, or null.
  RegionRunner* region_at(std::size_t step) {
    const auto starts = [&](const RegionRunner& runner) {
      return runner.region().first_step == static_cast<std::int64_t>(step);
    };
    const auto it = std::find_if(regions.begin(), regions.end(), starts);
    return it == regions.end() ? nullptr : &*it;
  }

  void bind(std::span<const std::byte* const> in, std::span<std::byte* const> out) {
    if (is_on_device()) {
      std::copy(in.begin(), in.end(), device_inputs.begin());
      std::copy(out.begin(), out.end(), device_outputs.begin());
      return;
    }
    for (const CallerPointer& pointer : caller_inputs) pointers.inputs[pointer.slot] = in[pointer.index];
    for (const CallerPointer& pointer : caller_outputs) pointers.outputs[pointer.slot] = out[pointer.index];
  }

  bool is_on_device() const { return kMayHaveDevices && device != nullptr; }

  // All of a plan for a device; values stay there, so that a hook is told of none.
  Status run_on_device() {
    if (!hook) return device->run(device_inputs, device_outputs);
    return device->run_by_steps(device_inputs, device_outputs, [this](std::size_t index, std::int64_t elapsed_ns) {
      std::vector<TensorView> outputs;
      for (const ValueIndex output : plan->steps[index].outputs)
        outputs.push_back({.dtype = plan->value(output).dtype, .shape = Shape(plan->value(output).shape)});
      tell(index, elapsed_ns, outputs);
    });
  }

  // A hook and a caller's parallel_for may throw; the context is then as good as before.
  Status run_range(std::size_t first, std::size_t last, const std::stop_token& stop) {
    const ScopedFloatMode mode;
    const AcquiredExecutor acquired(executor.get());
    Executor* const pool = acquired.get();
    for (std::size_t i = first; i < last; ++i) {
      if (stop.stop_requested()) return ended();
      if (RegionRunner* runner = region_at(i)) {
        const bool is_through = runner->run(pointers, scratch, pool, stop);
        if (Status status = check_region(runner->region()); !status) return status;
        if (!is_through) return ended();
        if (hook) tell_of(*runner);
        i = static_cast<std::size_t>(runner->region().end()) - 1;
        continue;
      }
      if (hook) run_step_observed(i, pool);
      else calls[i].run(pointers, scratch, pool);
      if (const char* reason = failures[i].take()) return failed(i, reason);
    }
    return ok_status();
  }

  Error ended() const {
    return {.kind = ErrorKind::cancelled,
            .where = model->compiled().source,
            .found = "a request to stop the run",
            .expected = "none"};
  }

  Error failed(std::size_t index, const char* reason) const {
    return {.kind = ErrorKind::resource,
            .where = "step '" + plan->report_of(index).name + "' (" + plan->steps[index].kernel + ")",
            .found = reason,
            .hint = "the outputs of this run are undefined"};
  }

  // The first failure of the region; all are forgotten.
  Status check_region(const Region& region) {
    Status status = ok_status();
    for (auto i = static_cast<std::size_t>(region.first_step); region.has(i); ++i) {
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
  auto prepared = options.prepared ? Result(std::move(options.prepared)) : model->plan_at(options.plan);
  if (!prepared) return prepared.errors();
  prepare_thread();
  auto executor = std::move(options.executor);
  if (!executor && model->threads() > 1) executor = shared_thread_pool(model->threads());
  auto state = State::create(std::move(model), std::move(*prepared), std::move(executor), {});
  if (!state) return state.errors();
  return Context(std::move(*state));
}

Status Context::set_plan(std::shared_ptr<const PreparedPlan> plan) {
  if (plan == state_->prepared) return ok_status();
  auto next = State::create(state_->model, std::move(plan), state_->executor, state_->memory);
  if (!next) return next.errors();
  if (state_->hook) (*next)->set_hook(state_->hook, state_->hook_needs_values);
  if ((*next)->memory == nullptr) (*next)->memory = std::move(state_->memory);
  state_ = std::move(*next);
  return ok_status();
}

const Model& Context::model() const { return *state_->model; }
const Plan& Context::plan() const { return *state_->plan; }
std::vector<std::byte> Context::schedule_of(std::size_t step) const {
  return state_->prepared->steps[step].step->schedule();
}
std::uint64_t Context::memory_bytes() const {
  return state_->is_on_device() ? state_->device->memory_bytes() : state_->memory.get_deleter().bytes;
}

Status Context::run(std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
                    const std::stop_token& stop) {
  State& state = *state_;
  if (Status status = check_tensors(inputs, *state.plan, state.plan->inputs, "input"); !status) return status;
  if (Status status = check_tensors(outputs, *state.plan, state.plan->outputs, "output"); !status) return status;
  if (Status status = check_overlap(inputs, outputs, *state.plan); !status) return status;
  if (state.is_on_device()) {
    const auto data = [](const auto& tensor) { return tensor.data; };
    std::ranges::transform(inputs, state.device_inputs.begin(), data);
    std::ranges::transform(outputs, state.device_outputs.begin(), data);
    return state.run_on_device();
  }
  for (const CallerPointer& pointer : state.caller_inputs)
    state.pointers.inputs[pointer.slot] = inputs[pointer.index].data;
  for (const CallerPointer& pointer : state.caller_outputs)
    state.pointers.outputs[pointer.slot] = outputs[pointer.index].data;
  return state.run_range(0, state.calls.size(), stop);
}

Status Context::run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) {
  State& state = *state_;
  if (inputs.size() != state.plan->inputs.size())
    return wrong("inputs", std::to_string(inputs.size()), std::to_string(state.plan->inputs.size()));
  if (outputs.size() != state.plan->outputs.size())
    return wrong("outputs", std::to_string(outputs.size()), std::to_string(state.plan->outputs.size()));
  state.bind(inputs, outputs);
  if (state.is_on_device()) return state.run_on_device();
  return state.run_range(0, state.calls.size(), {});
}

Status Context::run_steps(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                          std::size_t first, std::size_t last) {
  if (state_->is_on_device())
    return Error{
        .kind = ErrorKind::unsupported, .found = "some steps of a plan for a device", .expected = "all of them"};
  state_->bind(inputs, outputs);
  return state_->run_range(first, last, {});
}

std::byte* Context::arena() { return state_->arena; }

void Context::set_step_hook(StepHook hook, bool needs_values) { state_->set_hook(std::move(hook), needs_values); }

}  // namespace octavo
