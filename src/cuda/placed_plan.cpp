// Places of operands, and constants uploaded once. Part of cuda/.
#include "cuda/placed_plan.h"

#include <algorithm>
#include <map>

namespace octavo::cuda {
namespace {

constexpr std::uint64_t kPlacedPlanAligned =
    256;  // of each tensor of the caller, each constant, and operands of host steps

constexpr std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kPlacedPlanAligned - 1) / kPlacedPlanAligned * kPlacedPlanAligned;
}

class Placer {
 public:
  Placer(const PreparedPlan& plan, const ConstantSource& constants)
      : prepared_(plan), plan_(*plan.plan), source_(constants) {}

  Result<std::shared_ptr<const PlacedPlan>> place(std::shared_ptr<const Device> device) {
    placed_->device = std::move(device);
    if (!plan_.regions.empty()) {
      return Error{.kind = ErrorKind::invalid_input,
                   .found = "steps that run image by image",
                   .expected = "what a plan for a device consists of"};
    }
    const Device::Current current(*placed_->device);
    if (!current.status()) return current.status().errors();
    if (Status status = prepare_libraries(); !status) return status.errors();
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (Status status = add_step(i); !status) return status.errors();
    }
    if (Status status = upload(); !status) return status.errors();
    return std::shared_ptr<const PlacedPlan>(std::move(placed_));
  }

 private:
  // What these work in is part of the layout that the steps are placed by.
  Status prepare_libraries() {
    std::uint64_t workspace = 0;
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const auto* step = dynamic_cast<const LibraryStep*>(prepared_.steps[i].step.get());
      if (step == nullptr) continue;
      auto call = placed_->libraries->prepare(step->library(), step->conv(), name_of(i));
      if (!call) return call.errors();
      workspace = std::max(workspace, (*call)->workspace_bytes());
      placed_->calls[i] = std::move(*call);
    }
    placed_->layout = ContextLayout::of(plan_, workspace);
    return ok_status();
  }

  std::string name_of(std::size_t index) const {
    return "step '" + plan_.report_of(index).name + "' (" + plan_.steps[index].kernel + ")";
  }

  Status add_step(std::size_t index) {
    const Step* step = prepared_.steps[index].step.get();
    if (const auto* library = dynamic_cast<const LibraryStep*>(step)) return add_library_step(index, *library);
    const auto* launched = dynamic_cast<const LaunchStep*>(step);
    if (launched == nullptr) {
      add_host_step(index);
      return ok_status();
    }
    auto launch = planned(launched->launch(), plan_.steps[index]);
    if (!launch) return launch.errors();
    placed_->steps.emplace_back(std::move(*launch));
    return ok_status();
  }

  Result<PlannedLaunch> planned(const Launch& launch, const PlanStep& step) {
    auto function = placed_->device->function(launch);
    if (!function) return function.errors();
    PlannedLaunch planned{.launch = &launch, .function = *function};
    for (const PointerSlot& slot : launch.pointers) planned.pointers.push_back(location_of(step, slot));
    return planned;
  }

  Status add_library_step(std::size_t index, const LibraryStep& step) {
    PlannedLibraryCall planned_call{.call = placed_->calls.at(index).get()};
    const auto operands = step.operands();
    for (std::size_t i = 0; i < operands.size(); ++i)
      planned_call.operands[i] = location_of(plan_.steps[index], operands[i]);
    if (step.after()) {
      auto after = planned(*step.after(), plan_.steps[index]);
      if (!after) return after.errors();
      planned_call.after = std::move(*after);
    }
    placed_->steps.emplace_back(std::move(planned_call));
    return ok_status();
  }

  void add_host_step(std::size_t index) {
    const PlanStep& step = plan_.steps[index];
    PlannedHostStep host{.step = prepared_.steps[index].step.get(), .name = name_of(index)};
    for (const ValueIndex input : step.inputs) host.inputs.push_back(host_operand(input, host.bytes));
    for (const ValueIndex output : step.outputs) host.outputs.push_back(host_operand(output, host.bytes));
    host.scratch = host.bytes;
    host.bytes += aligned(host.step->scratch_bytes());
    placed_->layout.host_step_bytes = std::max(placed_->layout.host_step_bytes, host.bytes);
    placed_->steps.emplace_back(std::move(host));
  }

  // At `end` of the host's memory, which goes on behind it.
  HostOperand host_operand(ValueIndex index, std::uint64_t& end) const {
    if (index == kNoValue || plan_.value(index).place == Place::packed) return {.is_given = false};
    const PlanValue& value = plan_.value(index);
    if (value.place == Place::constant) return {.constant = source_.find(value.offset, value.bytes())};
    const HostOperand operand{.there = offset_of(value), .here = end, .bytes = value.bytes()};
    end += aligned(operand.bytes + kReadSlack);
    return operand;
  }

  Location location_of(const PlanStep& step, const PointerSlot& slot) {
    const std::vector<ValueIndex>& list = slot.operand == Operand::input    ? step.inputs
                                          : slot.operand == Operand::output ? step.outputs
                                                                            : step.packed;
    const PlanValue& value = plan_.value(list[slot.index]);
    if (value.place == Place::constant) return {.is_constant = true, .offset = constant_at(value)};
    return {.offset = offset_of(value)};
  }

  // Of what is no constant, in the context's memory.
  std::uint64_t offset_of(const PlanValue& value) const {
    switch (value.place) {
      case Place::input: return placed_->layout.inputs[value.offset];
      case Place::output: return placed_->layout.outputs[value.offset];
      default: return value.offset;
    }
  }

  // Where it is going to lie. Empty ones stand for operands that are left out.
  std::uint64_t constant_at(const PlanValue& value) {
    const auto [it, is_new] = constants_.try_emplace({value.offset, value.bytes()}, constant_bytes_);
    if (is_new) constant_bytes_ += aligned(value.bytes());
    return it->second;
  }

  Status upload() {
    const Device& device = *placed_->device;
    auto memory = device.allocate(constant_bytes_, "constants");
    if (!memory) return memory.errors();
    placed_->constants = std::move(*memory);
    for (const auto& [key, offset] : constants_) {
      const auto& [from, bytes] = key;
      if (bytes == 0) continue;
      const int code =
          device.functions().copy_to_device(placed_->constants.get() + offset, source_.find(from, bytes), bytes);
      if (Status status = device.driver().check(code, "uploading constants"); !status) return status;
    }
    return ok_status();
  }

  const PreparedPlan& prepared_;
  const Plan& plan_;
  const ConstantSource& source_;
  std::shared_ptr<PlacedPlan> placed_ = std::make_shared<PlacedPlan>();
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> constants_;  // offset and size -> offset there
  std::uint64_t constant_bytes_ = 0;
};

}  // namespace

ContextLayout ContextLayout::of(const Plan& plan, std::uint64_t workspace_bytes) {
  ContextLayout layout{.workspace = aligned(plan.arena_bytes)};
  layout.first_tensor = layout.bytes = layout.workspace + aligned(workspace_bytes);
  const auto add = [&](const PlanValue& value, auto& offsets, auto& sizes) {
    offsets.push_back(layout.bytes);
    sizes.push_back(value.bytes());
    layout.bytes += aligned(value.bytes());
  };
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) add(plan.input(i), layout.inputs, layout.input_bytes);
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) add(plan.output(i), layout.outputs, layout.output_bytes);
  return layout;
}

PlacedPlan::~PlacedPlan() {
  const Device::Current current(*device);
  calls.clear();
  libraries = {};
  constants = {};
}

Result<std::shared_ptr<const PlacedPlan>> place_plan(const PreparedPlan& plan, const ConstantSource& constants,
                                                     std::shared_ptr<const Device> device) {
  return Placer(plan, constants).place(std::move(device));
}

}  // namespace octavo::cuda
