// LibraryStep: a step of a plan that is a call of one of NVIDIA's libraries, and the kernel behind it. Part of cuda/.
#ifndef OCTAVO_CUDA_LIBRARIES_LIBRARY_STEP_H_
#define OCTAVO_CUDA_LIBRARIES_LIBRARY_STEP_H_

#include <array>
#include <optional>

#include "cuda/launch.h"
#include "cuda/libraries/libraries.h"

namespace octavo::cuda {

// Only a device runs it.
class LibraryStep final : public Step {
 public:
  // `after`: what goes on with y, where the library cannot.
  LibraryStep(Library library, const LibraryConv& conv, std::optional<Launch> after)
      : library_(library), conv_(conv), after_(std::move(after)) {}

  Library library() const { return library_; }
  const LibraryConv& conv() const { return conv_; }
  const std::optional<Launch>& after() const { return after_; }
  // Which operands of the step are those of the call, in the order of LibraryOperand, without workspace.
  std::array<PointerSlot, kCallWorkspace> operands() const {
    const PointerSlot y{.operand = Operand::output};
    return {{{.operand = Operand::input},
             {.operand = Operand::packed},
             {.operand = Operand::packed, .index = 1},
             conv_.has_residual ? PointerSlot{.operand = Operand::input, .index = 3} : y,
             y}};
  }

  std::int64_t items() const override { return 1; }
  void run(const StepBuffers& buffers, ItemRange) const noexcept override {
    buffers.failure->set("a call of a library for CUDA devices, which none of them runs");
  }

 private:
  Library library_;
  LibraryConv conv_;
  std::optional<Launch> after_;
};

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_LIBRARIES_LIBRARY_STEP_H_
