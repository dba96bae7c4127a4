// PlacedPlan: a plan on a device, before there is a context: where everything lies, constants uploaded. Part of cuda/.
#ifndef OCTAVO_CUDA_PLACED_PLAN_H_
#define OCTAVO_CUDA_PLACED_PLAN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "cuda/device.h"
#include "cuda/libraries/library_step.h"
#include "plan/constants.h"
#include "run/model.h"

namespace octavo::cuda {

// Where an operand lies: in the context's memory, or among the plan's constants.
struct Location {
  bool is_constant = false;
  std::uint64_t offset = 0;
};

// A kernel with all that is known before there is a context.
struct PlannedLaunch {
  const Launch* launch = nullptr;
  FunctionHandle function = nullptr;
  std::vector<Location> pointers;  // by slot
};

// An operand of a step that the host computes: in the context's memory, and in the host's while the step runs.
struct HostOperand {
  std::uint64_t there = 0, here = 0;    // offsets
  std::uint64_t bytes = 0;              // 0: nothing to copy
  const std::byte* constant = nullptr;  // of an input that is one: where it is here already
  bool is_given = true;                 // false: the step is passed no pointer
};

// A step that a device has no kernel for: the host's, between copies of what it reads and writes.
struct PlannedHostStep {
  const Step* step = nullptr;
  std::string name;  // for messages
  std::vector<HostOperand> inputs, outputs;
  std::uint64_t scratch = 0;  // offset
  std::uint64_t bytes = 0;    // of the host's memory
};

// A call of a library, and the kernel behind it.
struct PlannedLibraryCall {
  const LibraryCall* call = nullptr;
  std::array<Location, kCallWorkspace> operands;
  std::optional<PlannedLaunch> after;
};

using PlannedStep = std::variant<PlannedLaunch, PlannedHostStep, PlannedLibraryCall>;

// Memory of a context: the arena, what libraries work in, one call after the other, then the caller's tensors. The
// host's: the same tensors, then what its steps need, likewise.
struct ContextLayout {
  std::vector<std::uint64_t> inputs, outputs;            // offsets
  std::vector<std::uint64_t> input_bytes, output_bytes;  // of each
  std::uint64_t workspace = 0, first_tensor = 0, bytes = 0, host_step_bytes = 0;

  static ContextLayout of(const Plan& plan, std::uint64_t workspace_bytes);
  std::uint64_t tensor_bytes() const { return bytes - first_tensor; }
};

struct PlacedPlan {
  std::shared_ptr<const Device> device;
  ContextLayout layout;
  std::unique_ptr<Libraries> libraries = std::make_unique<Libraries>();
  std::map<std::size_t, std::unique_ptr<LibraryCall>> calls;  // of them, by step
  std::vector<PlannedStep> steps;
  Owned<Address> constants;

  ~PlacedPlan();
};

// The plan, its steps and its constants have to last as long as the result. Errors: those of DeviceProvider::place.
Result<std::shared_ptr<const PlacedPlan>> place_plan(const PreparedPlan& plan, const ConstantSource& constants,
                                                     std::shared_ptr<const Device> device);

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_PLACED_PLAN_H_
