// See trial.h. Part of cuda/.
#include "cuda/trial.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>

#include "cuda/graph.h"

namespace octavo::cuda {
namespace {

constexpr std::uint64_t kTrialAligned = 256;  // of each operand

class StepTrial final : public DeviceTrial {
 public:
  explicit StepTrial(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
  ~StepTrial() override {
    const Device::Current current(*device_);
    own_ = {};
  }

  Status prepare(std::span<const std::unique_ptr<Step>> steps, const Pointers& operands) {
    const Device::Current current(*device_);
    if (!current.status()) return current.status();
    for (const auto& step : steps) {
      const auto* launched = dynamic_cast<const LaunchStep*>(step.get());
      if (launched == nullptr)
        return Error{.kind = ErrorKind::resource,
                     .found = "a step of a processor or a library",
                     .expected = "a kernel of a device"};
      auto function = device_->function(launched->launch());
      if (!function) return function.errors();
      launches_.push_back({launched, *function, launched->launch().arguments});
    }
    if (Status status = place(operands); !status) return status;
    return record();
  }

  Result<double> run_ns(int number) override {
    using Clock = std::chrono::steady_clock;
    const Device::Current current(*device_);
    if (!current.status()) return current.status().errors();
    const int graphs = (number + launches_in_graph_ - 1) / launches_in_graph_;
    if (Status status = wait(); !status) return status.errors();
    const auto start = Clock::now();
    for (int i = 0; i < graphs; ++i) {
      const int code = device_->functions().launch_graph(own_.graph.get(), own_.stream.get());
      if (Status status = device_->driver().check(code, "starting a trial"); !status) return status.errors();
    }
    if (Status status = wait(); !status) return status.errors();
    const double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    return ns / (static_cast<double>(graphs) * launches_in_graph_);
  }

 private:
  struct Bound {
    const LaunchStep* step;
    FunctionHandle function;
    std::vector<std::byte> arguments;
  };

  Status wait() const {
    return device_->driver().check(device_->functions().wait_for_stream(own_.stream.get()), "running a trial");
  }

  // Inputs and outputs are the same for all steps, constants of kernels are not.
  Status place(const Pointers& operands) {
    std::uint64_t bytes = 0;
    std::map<std::tuple<std::size_t, Operand, std::size_t>, std::uint64_t> places;
    const auto key_of = [](std::size_t number, const PointerSlot& slot) {
      return std::tuple(slot.operand == Operand::packed ? number : 0, slot.operand, slot.index);
    };
    const auto each_slot = [&](const auto& f) -> Status {
      for (std::size_t i = 0; i < launches_.size(); ++i) {
        for (const PointerSlot& slot : launches_[i].step->launch().pointers) {
          if (Status status = f(i, slot); !status) return status;
        }
      }
      return ok_status();
    };
    (void)each_slot([&](std::size_t i, const PointerSlot& slot) {
      if (places.try_emplace(key_of(i, slot), bytes).second)
        bytes += (slot.bytes + kTrialAligned - 1) / kTrialAligned * kTrialAligned;
      return ok_status();
    });
    auto memory = device_->allocate(bytes, "a trial");
    if (!memory) return memory.errors();
    own_.memory = std::move(*memory);
    return each_slot([&](std::size_t i, const PointerSlot& slot) -> Status {
      const Address address = own_.memory.get() + places.at(key_of(i, slot));
      std::memcpy(launches_[i].arguments.data() + slot.at, &address, sizeof address);
      if (slot.operand == Operand::output || slot.bytes == 0) return ok_status();
      const std::byte* from =
          slot.operand == Operand::input ? operands.inputs[slot.index] : launches_[i].step->packed(slot.index);
      return device_->driver().check(device_->functions().copy_to_device(address, from, slot.bytes),
                                     "copying operands of a trial");
    });
  }

  // So many launches that starting a graph takes no part of their time, each step equally often.
  Status record() {
    constexpr int kEnough = 32;
    auto stream = make_stream(*device_);
    if (!stream) return stream.errors();
    own_.stream = std::move(*stream);
    const int steps = static_cast<int>(launches_.size()), turns = (kEnough + steps - 1) / steps;
    launches_in_graph_ = steps * turns;
    auto graph = record_graph(*device_, own_.stream.get(), [&]() -> Status {
      for (int i = 0; i < launches_in_graph_; ++i) {
        Bound& bound = launches_[static_cast<std::size_t>(i % steps)];
        const Status launched =
            device_->launch(bound.step->launch(), bound.function, bound.arguments.data(), own_.stream.get());
        if (!launched) return launched;
      }
      return ok_status();
    });
    if (!graph) return graph.errors();
    own_.graph = std::move(*graph);
    return ok_status();
  }

  // Given back in the opposite order, while the device is current.
  struct Resources {
    Owned<Address> memory;
    Owned<StreamHandle> stream;
    Owned<GraphRunHandle> graph;
  };
  std::shared_ptr<const Device> device_;
  std::vector<Bound> launches_;
  Resources own_;
  int launches_in_graph_ = 1;
};

}  // namespace

Result<std::unique_ptr<DeviceTrial>> make_trial(std::shared_ptr<const Device> device,
                                                std::span<const std::unique_ptr<Step>> steps,
                                                const Pointers& operands) {
  auto trial = std::make_unique<StepTrial>(std::move(device));
  if (Status status = trial->prepare(steps, operands); !status) return status.errors();
  return std::unique_ptr<DeviceTrial>(std::move(trial));
}

}  // namespace octavo::cuda
