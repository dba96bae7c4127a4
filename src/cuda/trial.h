// A step on a device, to find out how long ways to go about it take. Part of cuda/.
#ifndef OCTAVO_CUDA_TRIAL_H_
#define OCTAVO_CUDA_TRIAL_H_

#include <memory>

#include "cuda/device.h"
#include "run/device.h"

namespace octavo::cuda {

// As DeviceProvider::prepare_trial.
Result<std::unique_ptr<DeviceTrial>> make_trial(std::shared_ptr<const Device> device,
                                                std::span<const std::unique_ptr<Step>> steps, const Pointers& operands);

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_TRIAL_H_
