// See device.h. Part of cuda/.
#include "cuda/device.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string_view>

namespace octavo::cuda {
namespace {

constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
constexpr int kDynamicShared = 8;        // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr int kOldestMajor = 8;
constexpr const char* kLibrary = "liboctavo_cuda.so";

Error lacks(std::string found, std::string expected) {
  return {.kind = ErrorKind::resource, .where = "CUDA", .found = std::move(found), .expected = std::move(expected)};
}

// CUDA_ERROR_NO_BINARY_FOR_GPU, _UNSUPPORTED_PTX_VERSION, _JIT_COMPILER_NOT_FOUND: an image of other devices.
bool is_for_others(int code) { return code == 209 || code == 222 || code == 221; }

}  // namespace

Result<std::shared_ptr<const Device>> Device::open(int number) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<const Device>> known;
  const std::lock_guard lock(mutex);
  if (auto device = known[number].lock()) return device;
  auto driver = Driver::open();
  if (!driver) return driver.errors();
  if (const int devices = (*driver)->devices(); number < 0 || number >= devices) {
    return Error{.kind = ErrorKind::usage,
                 .where = "CUDA",
                 .found = "device " + std::to_string(number),
                 .expected = devices == 1 ? "0, the only one" : "0 to " + std::to_string(devices - 1)};
  }
  std::shared_ptr<Device> device(new Device(number));
  device->driver_ = std::move(*driver);
  if (Status status = device->start(); !status) return status.errors();
  known[number] = device;
  return std::shared_ptr<const Device>(std::move(device));
}

Device::~Device() {
  if (module_.get() == nullptr) return;
  const Current current(*this);
  module_ = {};
}

std::string Device::described() const {
  return driver_->device_name(number_) + " of compute capability " + std::to_string(major_) + "." +
         std::to_string(minor_);
}

Status Device::start() {
  for (const auto& [attribute, value] : {std::pair(kMajor, &major_), std::pair(kMinor, &minor_)}) {
    if (Status status = driver_->check(functions().device_attribute(value, attribute, number_),
                                       "asking for what the device can do");
        !status)
      return status;
  }
  if (major_ < kOldestMajor) return lacks(described(), std::to_string(kOldestMajor) + ".0 or higher");
  if (Status status = driver_->check(functions().retain_context(&context_, number_), "opening the device"); !status)
    return status;
  retained_ = Owned<int>(number_, functions().release_context);
  const Current current(*this);
  return current.status() ? load_kernels() : current.status();
}

Status Device::load_kernels() {
  library_ = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr)
    return lacks("no kernels: " + std::string(dlerror()), std::string(kLibrary) + ", which `make cuda` builds");
  const auto* version = static_cast<const char*>(dlsym(library_, "octavo_cuda_version"));
  const void* image = dlsym(library_, "octavo_cuda_image");
  if (version == nullptr || image == nullptr || std::string_view(version) != OCTAVO_VERSION)
    return lacks(std::string(kLibrary) + " of release " + (version == nullptr ? "none" : version),
                 "release " OCTAVO_VERSION);
  ModuleHandle module = nullptr;
  const int code = functions().load_module(&module, image);
  if (is_for_others(code))
    return lacks(std::string(kLibrary) + " without kernels for " + described(),
                 "one that `make cuda` built with this in OCTAVO_CUDA_ARCHITECTURES");
  if (Status status = driver_->check(code, "loading kernels"); !status) return status;
  module_ = Owned<ModuleHandle>(module, functions().unload_module);
  return ok_status();
}

Result<FunctionHandle> Device::function(const Launch& launch) const {
  FunctionHandle found = nullptr;
  if (Status status = driver_->check(functions().find_function(&found, module_.get(), launch.kernel.c_str()),
                                     "looking for kernel '" + launch.kernel + "'");
      !status)
    return status.errors();
  if (Status status = driver_->check(functions().set_function_attribute(found, kDynamicShared, launch.shared_bytes),
                                     "asking for shared memory of kernel '" + launch.kernel + "'");
      !status)
    return status.errors();
  return found;
}

Status Device::launch(const Launch& launch, FunctionHandle function, std::byte* arguments, StreamHandle stream) const {
  void* parameters[] = {arguments};
  const auto size = [&](std::size_t axis) { return static_cast<unsigned>(launch.grid[axis]); };
  const int code = functions().launch(function, size(0), size(1), size(2), static_cast<unsigned>(launch.threads), 1, 1,
                                      static_cast<unsigned>(launch.shared_bytes), stream, parameters, nullptr);
  return driver_->check(code, "launching '" + launch.kernel + "'");
}

Device::Current::Current(const Device& device) : device_(device), status_(ok_status()) {
  status_ = device.driver_->check(device.functions().push_context(device.context_), "turning to the device");
}

Device::Current::~Current() {
  ContextHandle popped = nullptr;
  if (status_) device_.functions().pop_context(&popped);
}

// The driver knows no memory but what it gave, and leaves what it says of others as it is; pinned memory of the host is
// for processors, too.
Result<bool> Device::holds(const std::byte* memory) const {
  constexpr unsigned kOfDevice = 2;  // CU_MEMORYTYPE_DEVICE
  int attributes[] = {2, 9};         // CU_POINTER_ATTRIBUTE_MEMORY_TYPE, _DEVICE_ORDINAL
  unsigned type = 0;
  int device = 0;
  void* values[] = {&type, &device};
  const int code = functions().pointer_attributes(2, attributes, values, reinterpret_cast<Address>(memory));
  if (Status status = driver_->check(code, "asking where a tensor lies"); !status) return status.errors();
  if (type != kOfDevice) return false;
  if (device == number_) return true;
  return Error{.kind = ErrorKind::usage,
               .where = "CUDA",
               .found = "a tensor in the memory of device " + std::to_string(device),
               .expected = "one of device " + std::to_string(number_) + ", which runs the plan, or of this process"};
}

Result<Owned<Address>> Device::allocate(std::uint64_t bytes, const std::string& what) const {
  std::size_t free = 0, total = 0;
  if (Status status = driver_->check(functions().memory_info(&free, &total), "asking for its memory"); !status)
    return status.errors();
  if (bytes > free)
    return lacks(std::to_string(bytes) + " bytes for " + what,
                 "at most the " + std::to_string(free) + " bytes that are free of " + std::to_string(total));
  if (bytes == 0) return Owned<Address>();
  Address address = 0;
  if (Status status = driver_->check(functions().allocate(&address, bytes), "allocating memory for " + what); !status)
    return status.errors();
  return Owned<Address>(address, functions().release);
}

}  // namespace octavo::cuda
