// Steps of octavo_cuda in test programs: what links this runs them as it runs others', by the emulator or on a device.
#ifndef OCTAVO_TESTS_SUPPORT_CUDA_RUNNER_H_
#define OCTAVO_TESTS_SUPPORT_CUDA_RUNNER_H_

#include <memory>

#include "cuda/device.h"
#include "kernels/choice.h"

namespace octavo::testing {

// True, of kernels of octavo_cuda; asking links what runs them.
bool is_emulated_cuda(const KernelChoice& kernel);

// This machine's device, which whole launches run on where it is asked for; parts of one are emulated there, too.
class CudaRunner {
 public:
  // Null unless OCTAVO_TEST_DEVICE is set. Where it is and no device can be opened, the process ends: what asks for a
  // device must not pass without one.
  static const CudaRunner* asked_for();

  // All blocks of a launch whose arguments point to this process's memory: what they point to is copied to memory of
  // the device that has just that size, and outputs are copied back. Ends the process where the driver refuses.
  void run(const cuda::Launch& launch, const std::byte* arguments) const;

 private:
  CudaRunner();
  std::shared_ptr<const cuda::Device> device_;
};

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_SUPPORT_CUDA_RUNNER_H_
