// Launch: a step of a plan as a device is told of it; and the steps of this folder's kernels, which are nothing else.
// Part of cuda/.
#ifndef OCTAVO_CUDA_LAUNCH_H_
#define OCTAVO_CUDA_LAUNCH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/call.h"
#include "kernels/kernel.h"

namespace octavo::cuda {

enum class Operand : std::uint8_t { input, output, packed };

// Where in the arguments the address of an operand belongs.
struct PointerSlot {
  std::size_t at = 0;
  Operand operand = Operand::input;
  std::size_t index = 0;
  std::size_t bytes = 0;  // of the operand, from make_launch_step on
};

struct Launch {
  std::string kernel;  // its name in cuda/device/kernels.cu
  std::array<std::int64_t, 3> grid{1, 1, 1};
  int threads = 1;
  int shared_bytes = 0;
  std::vector<std::byte> arguments;
  std::vector<PointerSlot> pointers;

  std::int64_t blocks() const { return grid[0] * grid[1] * grid[2]; }
};

// A step that only a device runs; its items are the blocks of the grid.
class LaunchStep final : public Step {
 public:
  LaunchStep(Launch launch, const StepSpec& spec);
  const Launch& launch() const { return launch_; }
  const std::byte* packed(std::size_t index) const { return packed_[index]; }
  std::int64_t items() const override { return launch_.blocks(); }
  // By octavo_cuda_emulator; without it the step fails.
  void run(const StepBuffers& buffers, ItemRange range) const noexcept override;

 private:
  Launch launch_;
  std::vector<const std::byte*> packed_;
};
std::unique_ptr<Step> make_launch_step(Launch launch, const StepSpec& spec);

// A launch while its arguments are filled in.
template <class Arguments>
class LaunchMaker {
 public:
  static_assert(std::is_trivially_copyable_v<Arguments>);
  Arguments arguments;
  Launch launch;

  // `member` is a pointer of the arguments.
  template <class Pointer>
  void point(const Pointer& member, Operand operand, std::size_t index) {
    const auto at = reinterpret_cast<const std::byte*>(&member) - reinterpret_cast<const std::byte*>(&arguments);
    launch.pointers.push_back({static_cast<std::size_t>(at), operand, index});
  }
  template <class Pointer>
  void point_if(bool exists, const Pointer& member, Operand operand, std::size_t index) {
    if (exists) point(member, operand, index);
  }
  // With one thread for each of so many elements, in blocks of kThreadsOfBlock.
  void for_threads(std::int64_t threads) {
    constexpr std::int64_t kThreads = 256;
    launch.threads = kThreads;
    launch.grid = {std::max<std::int64_t>(1, (threads + kThreads - 1) / kThreads), 1, 1};
  }

  Launch finish() {
    launch.arguments.resize(sizeof arguments);
    std::memcpy(launch.arguments.data(), &arguments, sizeof arguments);
    return std::move(launch);
  }
  std::unique_ptr<Step> make(const StepSpec& spec) { return make_launch_step(finish(), spec); }
};

// The largest grids that every device has.
std::string grid_refusal(const std::array<std::int64_t, 3>& grid);
// The most elements that LaunchMaker::for_threads is asked for.
std::string elements_refusal(std::int64_t elements);

}  // namespace octavo::cuda

// Runs blocks of a launch on the host, its pointers in place: what tests link to have the kernels' bits without a
// device. Null in programs.
extern "C" [[gnu::weak]] void octavo_cuda_emulator(const octavo::cuda::Launch& launch, const std::byte* arguments,
                                                   octavo::ItemRange blocks);

#endif  // OCTAVO_CUDA_LAUNCH_H_
