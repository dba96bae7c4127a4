// Device: one CUDA device with its kernels loaded, which all plans of a process share. Part of cuda/.
#ifndef OCTAVO_CUDA_DEVICE_H_
#define OCTAVO_CUDA_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "cuda/driver.h"
#include "cuda/launch.h"

namespace octavo::cuda {

class Device {
 public:
  // A device by its number, opened once and kept while somebody holds it. Errors: Driver::open's; usage, of a number
  // that the driver has no device for; resource, where it is too old, or where the library with the kernels
  // (liboctavo_cuda.so) is not there, of another release, or without kernels for it.
  static Result<std::shared_ptr<const Device>> open(int number);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Driver& driver() const { return *driver_; }
  const DriverFunctions& functions() const { return driver_->functions(); }
  // A kernel by its name, with that much shared memory allowed. Asked while the device is current.
  Result<FunctionHandle> function(const Launch& launch) const;

  // All blocks of it, in a stream (null: the default one), with these arguments, addresses among them.
  Status launch(const Launch& launch, FunctionHandle function, std::byte* arguments, StreamHandle stream) const;

  // While it lives, calls of this thread are for the device.
  class Current {
   public:
    explicit Current(const Device& device);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    const Status& status() const { return status_; }

   private:
    const Device& device_;
    Status status_;
  };

  // Whether memory of a caller is this device's; usage, where it is another one's. Asked while the device is current.
  Result<bool> holds(const std::byte* memory) const;

  // Memory of the device. Error: resource, told before it is asked for where there is less than that.
  Result<Owned<Address>> allocate(std::uint64_t bytes, const std::string& what) const;

 private:
  explicit Device(int number) : number_(number) {}
  Status start();
  Status load_kernels();
  std::string described() const;
  int number_;
  int major_ = 0, minor_ = 0;  // compute capability
  std::shared_ptr<const Driver> driver_;
  Owned<int> retained_;  // the device's primary context, which other libraries of the process share
  ContextHandle context_ = nullptr;
  void* library_ = nullptr;
  Owned<ModuleHandle> module_;
};

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_H_
