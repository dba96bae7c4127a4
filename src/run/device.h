// Plans that a device runs: what run/ asks of whoever drives it. Part of run/.
#ifndef OCTAVO_RUN_DEVICE_H_
#define OCTAVO_RUN_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/result.h"
#include "plan/constants.h"
#include "run/model.h"
#include "run/step_call.h"

namespace octavo {

// One caller's memory on a device, and its queue of work. For one thread at a time.
class DeviceContext {
 public:
  virtual ~DeviceContext() = default;
  // As Context::run: memory of the caller, its types and sizes checked, which may be the device's. Errors: resource,
  // where the device fails; usage, of memory of another one.
  virtual Status run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) = 0;
  // The same step by step; told of each how long it took, launching included.
  using OnStep = std::function<void(std::size_t step, std::int64_t elapsed_ns)>;
  virtual Status run_by_steps(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                              const OnStep& on_step) = 0;
  virtual std::uint64_t memory_bytes() const = 0;
};

// A plan whose constants lie on a device. Immutable.
class DevicePlan {
 public:
  virtual ~DevicePlan() = default;
  // Of a context there, before it is made.
  virtual std::uint64_t context_bytes() const = 0;
  // Error: resource.
  virtual Result<std::unique_ptr<DeviceContext>> make_context() const = 0;
};

// One call on a device, in some ways, with operands of its own: to be timed.
class DeviceTrial {
 public:
  virtual ~DeviceTrial() = default;
  // Nanoseconds of a run, the mean of at least so many one after the other. Error: resource.
  virtual Result<double> run_ns(int number) = 0;
};

// Implemented by cuda/. Any number of threads may call it.
class DeviceProvider {
 public:
  virtual ~DeviceProvider() = default;
  // A device, counted from 0, and what it needs; it stays open while somebody holds it. Errors: resource, saying what
  // is missing; usage, of a number that there is none for.
  virtual Result<std::shared_ptr<const void>> open(int device) const = 0;
  // Memory of a device that holds these bytes, where tensors of a run may lie; it is given back by the last who has it,
  // and is not to be read by processors. Errors: those of open; resource.
  virtual Result<std::shared_ptr<std::byte>> upload(std::span<const std::byte> bytes, int device) const = 0;
  // Of a plan that has been verified. Errors: invalid_input, where a file says of it what no planner makes; resource.
  virtual Result<std::shared_ptr<const DevicePlan>> place(const PreparedPlan& plan, const ConstantSource& constants,
                                                          int device) const = 0;
  // `steps` differ in where their constants lie, and take turns; operands hold what `operands` do in the beginning.
  // Errors: those of open; resource.
  virtual Result<std::unique_ptr<DeviceTrial>> prepare_trial(std::span<const std::unique_ptr<Step>> steps,
                                                             const Pointers& operands, int device) const = 0;
};

// That which this program links (octavo_cuda), or null.
const DeviceProvider* linked_devices();

// The library for phones has no room for what it never does.
#ifdef OCTAVO_RUNTIME_ONLY
inline constexpr bool kMayHaveDevices = false;
#else
inline constexpr bool kMayHaveDevices = true;
#endif

inline bool is_for_device(const Plan& plan) { return kMayHaveDevices && plan.needs.has(Isa::cuda); }
// For plans for a device. Errors: unsupported, where none is linked; those of DeviceProvider::open.
Result<std::shared_ptr<const void>> open_device(int device);
// Sets PreparedPlan::device, of a plan for one.
Status place_on_device(PreparedPlan& plan, const ConstantSource& constants, int device);

}  // namespace octavo

#endif  // OCTAVO_RUN_DEVICE_H_
