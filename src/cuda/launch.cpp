// Steps that only a device runs. Part of cuda/.
#include "cuda/launch.h"

namespace octavo::cuda {
namespace {

constexpr const char* kNoGrid = "needs a grid that devices have";

std::size_t bytes_of(const StepSpec& spec, const PointerSlot& slot) {
  if (slot.operand == Operand::packed) return spec.packed[slot.index].bytes();
  const StepOperand& operand = (slot.operand == Operand::input ? spec.inputs : spec.outputs)[slot.index];
  return static_cast<std::size_t>(operand.shape.elements()) * size_of(operand.dtype);
}

}  // namespace

LaunchStep::LaunchStep(Launch launch, const StepSpec& spec) : launch_(std::move(launch)) {
  for (const ConstTensorView& tensor : spec.packed) packed_.push_back(tensor.data);
}

void LaunchStep::run(const StepBuffers& buffers, ItemRange range) const noexcept {
  constexpr std::size_t kMostArguments = 1024;
  if (octavo_cuda_emulator == nullptr || launch_.arguments.size() > kMostArguments)
    return buffers.failure->set("a kernel of a CUDA device, which this program cannot run on the host");
  alignas(std::max_align_t) std::array<std::byte, kMostArguments> arguments;
  std::memcpy(arguments.data(), launch_.arguments.data(), launch_.arguments.size());
  for (const PointerSlot& slot : launch_.pointers) {
    const std::byte* address = slot.operand == Operand::input    ? buffers.inputs[slot.index]
                               : slot.operand == Operand::output ? buffers.outputs[slot.index]
                                                                 : packed_[slot.index];
    std::memcpy(arguments.data() + slot.at, &address, sizeof address);
  }
  octavo_cuda_emulator(launch_, arguments.data(), range);
}

std::unique_ptr<Step> make_launch_step(Launch launch, const StepSpec& spec) {
  for (PointerSlot& slot : launch.pointers) slot.bytes = bytes_of(spec, slot);
  return std::make_unique<LaunchStep>(std::move(launch), spec);
}

std::string grid_refusal(const std::array<std::int64_t, 3>& grid) {
  constexpr std::int64_t kMostX = (std::int64_t{1} << 31) - 1, kMostYz = 65535;
  return grid[0] <= kMostX && grid[1] <= kMostYz && grid[2] <= kMostYz ? "" : kNoGrid;
}

std::string elements_refusal(std::int64_t elements) { return elements < std::int64_t{1} << 38 ? "" : kNoGrid; }

}  // namespace octavo::cuda
