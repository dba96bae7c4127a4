// Who drives devices, where anybody does. Part of run/.
#include "run/device.h"

// Of octavo_cuda, where it is linked: weak, so that a program without it links too and finds null.
extern "C" [[gnu::weak]] const octavo::DeviceProvider* octavo_device_provider();

namespace octavo {

const DeviceProvider* linked_devices() {
  return octavo_device_provider == nullptr ? nullptr : octavo_device_provider();
}

Result<std::shared_ptr<const void>> open_device(int device) {
  if (linked_devices() != nullptr) return linked_devices()->open(device);
  return Error{.kind = ErrorKind::unsupported,
               .found = "a plan for a CUDA device",
               .expected = "one for a processor: this program does not link octavo_cuda"};
}

Status place_on_device(PreparedPlan& plan, const ConstantSource& constants, int device) {
  auto placed = linked_devices()->place(plan, constants, device);
  if (!placed) return placed.errors();
  plan.device = std::move(*placed);
  return ok_status();
}

}  // namespace octavo
