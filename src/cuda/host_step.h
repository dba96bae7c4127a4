// HostStep: a step of a device's plan that the host computes, for one context; and what going there and back is
// predicted to take. Part of cuda/.
#ifndef OCTAVO_CUDA_HOST_STEP_H_
#define OCTAVO_CUDA_HOST_STEP_H_

#include <cstddef>

#include "cuda/placed_plan.h"
#include "kernels/kernel.h"

namespace octavo::cuda {

// Of a step that reads and writes so many bytes that are no constants: PCIe 4.0 with sixteen lanes, and what a stream
// waits for each way.
constexpr double transfer_ns(double bytes_read, double bytes_written) {
  constexpr double kGigabytesPerSecond = 25.0, kWaitNs = 10'000.0;
  return 2.0 * kWaitNs + (bytes_read + bytes_written) / kGigabytesPerSecond;
}

// On one thread of the driver's, whatever calls it.
class HostStep {
 public:
  // `here`: pinned memory of PlannedHostStep::bytes, which other steps of the context use before and after; `there`:
  // the context's memory on the device. All have to last as long as this, which stays where it is.
  HostStep(const PlannedHostStep& planned, std::byte* here, Address there);
  HostStep(const HostStep&) = delete;
  HostStep& operator=(const HostStep&) = delete;

  // Copies, the step, copies, in this order in the stream.
  Status enqueue(const Device& device, StreamHandle stream);
  // After a run: what the step lacked; it is forgotten.
  Status failure();

 private:
  static void run(void* self) noexcept;
  const PlannedHostStep& planned_;
  std::byte* here_;
  Address there_;
  std::vector<const std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
  StepFailure failure_;
};

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_HOST_STEP_H_
