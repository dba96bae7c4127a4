// Plans on a device: a graph of kernels for each context. Part of cuda/.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "cuda/cuda.h"
#include "cuda/graph.h"
#include "cuda/host_step.h"
#include "cuda/placed_plan.h"
#include "cuda/trial.h"
#include "run/device.h"

namespace octavo::cuda {
namespace {

class RunningContext final : public DeviceContext {
 public:
  explicit RunningContext(std::shared_ptr<const PlacedPlan> plan) : plan_(std::move(plan)) {}
  ~RunningContext() override {
    const Device::Current current(device());
    own_ = {};
  }

  // All that a run needs, so that it only fails where the device does.
  Status prepare() {
    const Device::Current current(device());
    if (!current.status()) return current.status();
    for (const auto step : {&RunningContext::allocate, &RunningContext::start_stream, &RunningContext::bind,
                            &RunningContext::call_libraries, &RunningContext::capture}) {
      if (Status status = (this->*step)(); !status) return status;
    }
    return ok_status();
  }

  std::uint64_t memory_bytes() const override { return plan_->layout.bytes; }

  Status run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) override {
    const auto kernels = [this] {
      return check(functions().launch_graph(own_.graph.get(), own_.stream.get()), "starting a run");
    };
    return run_by(kernels, inputs, outputs);
  }

  Status run_by_steps(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                      const OnStep& on_step) override {
    using Clock = std::chrono::steady_clock;
    const auto kernels = [&]() -> Status {
      for (std::size_t i = 0; i < plan_->steps.size(); ++i) {
        if (Status status = wait(); !status) return status;
        const auto start = Clock::now();
        if (Status status = enqueue(i); !status) return status;
        if (Status status = wait(); !status) return status;
        on_step(i, std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
      }
      return ok_status();
    };
    return run_by(kernels, inputs, outputs);
  }

 private:
  // A launch's arguments, a library's operands, or the host's.
  struct BoundStep {
    std::vector<std::byte> arguments;
    LibraryAddresses operands{};
    std::unique_ptr<HostStep> host;
  };

  const Device& device() const { return *plan_->device; }
  const DriverFunctions& functions() const { return device().functions(); }
  const ContextLayout& layout() const { return plan_->layout; }
  Status check(int code, const std::string& doing) const { return device().driver().check(code, doing); }
  Status wait() const { return check(functions().wait_for_stream(own_.stream.get()), "running"); }

  Status allocate() {
    auto memory = device().allocate(layout().bytes, "a context");
    if (!memory) return memory.errors();
    own_.memory = std::move(*memory);
    void* host = nullptr;
    const std::uint64_t bytes = std::max<std::uint64_t>(1, layout().tensor_bytes() + layout().host_step_bytes);
    if (Status status = check(functions().allocate_host(&host, bytes, 0), "allocating memory for tensors"); !status)
      return status;
    own_.host = Owned<void*>(host, functions().release_host);
    return ok_status();
  }

  Status start_stream() {
    auto stream = make_stream(device());
    if (!stream) return stream.errors();
    own_.stream = std::move(*stream);
    return ok_status();
  }

  // Steps with addresses.
  Status bind() {
    for (const PlannedStep& step : plan_->steps) {
      BoundStep& bound = steps_.emplace_back();
      if (const auto* launch = std::get_if<PlannedLaunch>(&step)) bound.arguments = arguments_of(*launch);
      else if (const auto* host = std::get_if<PlannedHostStep>(&step))
        bound.host = std::make_unique<HostStep>(*host, host_at(layout().bytes), own_.memory.get());
      else bind_library(std::get<PlannedLibraryCall>(step), bound);
    }
    return ok_status();
  }

  void bind_library(const PlannedLibraryCall& planned, BoundStep& bound) const {
    for (std::size_t i = 0; i < planned.operands.size(); ++i) bound.operands[i] = address_of(planned.operands[i]);
    bound.operands[kCallWorkspace] = own_.memory.get() + layout().workspace;
    if (planned.after) bound.arguments = arguments_of(*planned.after);
  }

  // Once before they are recorded: what a library makes or loads in its first call is refused while a graph is.
  Status call_libraries() {
    bool are_any = false;
    for (std::size_t i = 0; i < plan_->steps.size(); ++i) {
      if (!std::holds_alternative<PlannedLibraryCall>(plan_->steps[i])) continue;
      if (Status status = enqueue(i); !status) return status;
      are_any = true;
    }
    return are_any ? wait() : ok_status();
  }

  Address address_of(const Location& location) const {
    return (location.is_constant ? plan_->constants : own_.memory).get() + location.offset;
  }

  std::vector<std::byte> arguments_of(const PlannedLaunch& launch) const {
    std::vector<std::byte> arguments = launch.launch->arguments;
    for (std::size_t i = 0; i < launch.pointers.size(); ++i) {
      const Address address = address_of(launch.pointers[i]);
      std::memcpy(arguments.data() + launch.launch->pointers[i].at, &address, sizeof address);
    }
    return arguments;
  }

  Status capture() {
    auto graph = record_graph(device(), own_.stream.get(), [this] { return record(); });
    if (!graph) return graph.errors();
    own_.graph = std::move(*graph);
    return ok_status();
  }

  Status record() {
    for (std::size_t i = 0; i < plan_->steps.size(); ++i) {
      if (Status status = enqueue(i); !status) return status;
    }
    return ok_status();
  }

  Status enqueue(std::size_t index) {
    BoundStep& bound = steps_[index];
    if (bound.host != nullptr) return bound.host->enqueue(device(), own_.stream.get());
    const PlannedStep& step = plan_->steps[index];
    const auto* library = std::get_if<PlannedLibraryCall>(&step);
    if (library == nullptr) return launch(std::get<PlannedLaunch>(step), bound);
    Status called = plan_->libraries->enqueue(*library->call, bound.operands, own_.stream.get());
    return called && library->after ? launch(*library->after, bound) : called;
  }

  Status launch(const PlannedLaunch& planned, BoundStep& bound) const {
    return device().launch(*planned.launch, planned.function, bound.arguments.data(), own_.stream.get());
  }

  // The first failure of the host's steps; all are forgotten.
  Status check_host_steps() {
    Status first = ok_status();
    for (BoundStep& bound : steps_) {
      if (bound.host == nullptr) continue;
      if (Status status = bound.host->failure(); !status && first) first = std::move(status);
    }
    return first;
  }

  std::byte* host_at(std::uint64_t offset) const {
    return static_cast<std::byte*>(own_.host.get()) + (offset - layout().first_tensor);
  }

  template <class Pointer>
  Status ask_places(std::span<Pointer const> tensors, const std::vector<std::uint64_t>& bytes,
                    std::vector<bool>& are_there) {
    are_there.assign(tensors.size(), false);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (bytes[i] == 0) continue;
      const auto is_there = device().holds(tensors[i]);
      if (!is_there) return is_there.errors();
      are_there[i] = *is_there;
    }
    return ok_status();
  }

  // Whoever works on tensors of the device has let its default stream wait for that; the context's own stream waits for
  // no other one.
  Status wait_for_tensors(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) {
    constexpr StreamHandle kDefaultStream = nullptr;
    if (Status asked = ask_places(inputs, layout().input_bytes, are_inputs_there_); !asked) return asked;
    if (Status asked = ask_places(outputs, layout().output_bytes, are_outputs_there_); !asked) return asked;
    const auto is_any = [](const std::vector<bool>& there) { return std::ranges::find(there, true) != there.end(); };
    if (!is_any(are_inputs_there_) && !is_any(are_outputs_there_)) return ok_status();
    return check(functions().wait_for_stream(kDefaultStream), "waiting for the caller's tensors");
  }

  // Tensors of this process come and go through pinned memory, those of the device are copied there.
  template <class Kernels>
  Status run_by(const Kernels& kernels, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) {
    const Device::Current current(device());
    if (!current.status()) return current.status();
    if (Status status = wait_for_tensors(inputs, outputs); !status) return status;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (Status status = take(i, inputs[i]); !status) return status;
    }
    if (Status status = kernels(); !status) return status;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (Status status = fetch(i, outputs[i]); !status) return status;
    }
    if (Status status = wait(); !status) return status;
    if (Status status = check_host_steps(); !status) return status;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!are_outputs_there_[i] && layout().output_bytes[i] > 0)
        std::memcpy(outputs[i], host_at(layout().outputs[i]), layout().output_bytes[i]);
    }
    return ok_status();
  }

  Status take(std::size_t i, const std::byte* input) {
    const std::uint64_t bytes = layout().input_bytes[i];
    if (bytes == 0) return ok_status();
    const Address to = own_.memory.get() + layout().inputs[i];
    StreamHandle stream = own_.stream.get();
    if (are_inputs_there_[i])
      return check(functions().copy_on_device_async(to, reinterpret_cast<Address>(input), bytes, stream),
                   "copying inputs");
    std::byte* pinned = host_at(layout().inputs[i]);
    std::memcpy(pinned, input, bytes);
    return check(functions().copy_to_device_async(to, pinned, bytes, stream), "copying inputs");
  }

  Status fetch(std::size_t i, std::byte* output) {
    const std::uint64_t bytes = layout().output_bytes[i];
    if (bytes == 0) return ok_status();
    const Address from = own_.memory.get() + layout().outputs[i];
    StreamHandle stream = own_.stream.get();
    return check(are_outputs_there_[i]
                     ? functions().copy_on_device_async(reinterpret_cast<Address>(output), from, bytes, stream)
                     : functions().copy_from_device_async(host_at(layout().outputs[i]), from, bytes, stream),
                 "copying outputs");
  }

  // Given back in the opposite order, while the device is current.
  struct Resources {
    Owned<Address> memory;
    Owned<void*> host;  // pinned: where the caller's tensors are copied to and from, then memory of the host's steps
    Owned<StreamHandle> stream;
    Owned<GraphRunHandle> graph;
  };
  std::shared_ptr<const PlacedPlan> plan_;
  Resources own_;
  std::vector<BoundStep> steps_;                            // by step
  std::vector<bool> are_inputs_there_, are_outputs_there_;  // of a run: those whose memory is the device's
};

class PlanOnDevice final : public DevicePlan {
 public:
  explicit PlanOnDevice(std::shared_ptr<const PlacedPlan> plan) : plan_(std::move(plan)) {}
  std::uint64_t context_bytes() const override { return plan_->layout.bytes; }
  Result<std::unique_ptr<DeviceContext>> make_context() const override {
    auto context = std::make_unique<RunningContext>(plan_);
    if (Status status = context->prepare(); !status) return status.errors();
    return std::unique_ptr<DeviceContext>(std::move(context));
  }

 private:
  std::shared_ptr<const PlacedPlan> plan_;
};

class Provider final : public DeviceProvider {
 public:
  Result<std::shared_ptr<const void>> open(int number) const override {
    auto device = Device::open(number);
    if (!device) return device.errors();
    return std::shared_ptr<const void>(std::move(*device));
  }
  Result<std::shared_ptr<std::byte>> upload(std::span<const std::byte> bytes, int number) const override {
    auto device = Device::open(number);
    if (!device) return device.errors();
    const Device::Current current(**device);
    if (!current.status()) return current.status().errors();
    auto memory = (*device)->allocate(bytes.size(), "a tensor");
    if (!memory) return memory.errors();
    const int code = (*device)->functions().copy_to_device(memory->get(), bytes.data(), bytes.size());
    if (Status status = (*device)->driver().check(code, "copying a tensor"); !status) return status.errors();
    // Given back while the device is current.
    struct Holder {
      std::shared_ptr<const Device> device;
      Owned<Address> memory;
      ~Holder() {
        const Device::Current in(*device);
        memory = {};
      }
    };
    auto holder = std::make_shared<Holder>(std::move(*device), std::move(*memory));
    auto* data = reinterpret_cast<std::byte*>(holder->memory.get());
    return std::shared_ptr<std::byte>(std::move(holder), data);
  }
  Result<std::shared_ptr<const DevicePlan>> place(const PreparedPlan& plan, const ConstantSource& constants,
                                                  int number) const override {
    auto device = Device::open(number);
    if (!device) return device.errors();
    auto placed = place_plan(plan, constants, std::move(*device));
    if (!placed) return placed.errors();
    return std::shared_ptr<const DevicePlan>(std::make_shared<PlanOnDevice>(std::move(*placed)));
  }
  Result<std::unique_ptr<DeviceTrial>> prepare_trial(std::span<const std::unique_ptr<Step>> steps,
                                                     const Pointers& operands, int number) const override {
    auto device = Device::open(number);
    if (!device) return device.errors();
    return make_trial(std::move(*device), steps, operands);
  }
};

}  // namespace
}  // namespace octavo::cuda

// What run/ looks for: a program that links this library may have devices.
extern "C" const octavo::DeviceProvider* octavo_device_provider() {
  static const octavo::cuda::Provider provider;
  return &provider;
}
