// Running on the host in the order of a stream. Part of cuda/.
#include "cuda/host_step.h"

#include "run/float_mode.h"

namespace octavo::cuda {

HostStep::HostStep(const PlannedHostStep& planned, std::byte* here, Address there)
    : planned_(planned), here_(here), there_(there) {
  for (const HostOperand& input : planned.inputs)
    inputs_.push_back(input.is_given && input.constant == nullptr ? here + input.here : input.constant);
  for (const HostOperand& output : planned.outputs) outputs_.push_back(here + output.here);
}

Status HostStep::enqueue(const Device& device, StreamHandle stream) {
  const DriverFunctions& functions = device.functions();
  const auto check = [&](int code) { return device.driver().check(code, "enqueueing " + planned_.name); };
  for (const HostOperand& input : planned_.inputs) {
    if (input.bytes == 0) continue;
    const int code = functions.copy_from_device_async(here_ + input.here, there_ + input.there, input.bytes, stream);
    if (Status status = check(code); !status) return status;
  }
  if (Status status = check(functions.launch_host(stream, &run, this)); !status) return status;
  for (const HostOperand& output : planned_.outputs) {
    if (output.bytes == 0) continue;
    const int code = functions.copy_to_device_async(there_ + output.there, here_ + output.here, output.bytes, stream);
    if (Status status = check(code); !status) return status;
  }
  return ok_status();
}

void HostStep::run(void* self) noexcept {
  auto& own = *static_cast<HostStep*>(self);
  const ScopedFloatMode mode;
  const Step& step = *own.planned_.step;
  StepBuffers whole{.inputs = own.inputs_,
                    .outputs = own.outputs_,
                    .scratch = own.here_ + own.planned_.scratch,
                    .failure = &own.failure_};
  for (; whole.round < step.rounds(); ++whole.round) step.run(whole, {0, step.items()});
}

Status HostStep::failure() {
  const char* reason = failure_.take();
  if (reason == nullptr) return ok_status();
  return Error{.kind = ErrorKind::resource,
               .where = planned_.name + ", on the host",
               .found = reason,
               .hint = "the outputs of this run are undefined"};
}

}  // namespace octavo::cuda
