// The CUDA driver, found when a program needs it: no program links it. Part of cuda/.
#ifndef OCTAVO_CUDA_DRIVER_H_
#define OCTAVO_CUDA_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"

namespace octavo::cuda {

// Handles of the driver API; what they point to is the driver's.
using ContextHandle = struct ContextTag*;
using ModuleHandle = struct ModuleTag*;
using FunctionHandle = struct FunctionTag*;
using StreamHandle = struct StreamTag*;
using GraphHandle = struct GraphTag*;
using GraphRunHandle = struct GraphRunTag*;
using Address = std::uint64_t;  // in a device's memory

// The functions of the driver API that are called here, by its own names without "cu". All return 0 or an error code.
struct DriverFunctions {
  int (*init)(unsigned flags);
  int (*driver_version)(int* version);
  int (*device_count)(int* count);
  int (*device_name)(char* name, int length, int device);
  int (*device_attribute)(int* value, int attribute, int device);
  int (*retain_context)(ContextHandle* context, int device);
  int (*release_context)(int device);
  int (*push_context)(ContextHandle context);
  int (*pop_context)(ContextHandle* context);
  int (*load_module)(ModuleHandle* module, const void* image);
  int (*unload_module)(ModuleHandle module);
  int (*find_function)(FunctionHandle* function, ModuleHandle module, const char* name);
  int (*set_function_attribute)(FunctionHandle function, int attribute, int value);
  int (*memory_info)(std::size_t* free, std::size_t* total);
  int (*allocate)(Address* address, std::size_t bytes);
  int (*release)(Address address);
  int (*allocate_host)(void** memory, std::size_t bytes, unsigned flags);
  int (*release_host)(void* memory);
  int (*copy_to_device)(Address to, const void* from, std::size_t bytes);
  int (*copy_to_device_async)(Address to, const void* from, std::size_t bytes, StreamHandle stream);
  int (*copy_from_device_async)(void* to, Address from, std::size_t bytes, StreamHandle stream);
  int (*copy_on_device_async)(Address to, Address from, std::size_t bytes, StreamHandle stream);
  int (*pointer_attributes)(unsigned count, int* attributes, void** values, Address address);
  int (*create_stream)(StreamHandle* stream, unsigned flags);
  int (*destroy_stream)(StreamHandle stream);
  int (*wait_for_stream)(StreamHandle stream);
  int (*begin_capture)(StreamHandle stream, int mode);
  int (*end_capture)(StreamHandle stream, GraphHandle* graph);
  int (*make_runnable)(GraphRunHandle* run, GraphHandle graph, unsigned long long flags);
  int (*destroy_graph)(GraphHandle graph);
  int (*destroy_graph_run)(GraphRunHandle run);
  int (*launch_graph)(GraphRunHandle run, StreamHandle stream);
  int (*launch)(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream, void** parameters,
                void** extra);
  int (*launch_host)(StreamHandle stream, void (*function)(void* data), void* data);
  int (*error_text)(int code, const char** text);
};

class Driver {
 public:
  // Opens the library and initializes it. Error: resource, saying what is missing: no driver, one that is too old, no
  // device.
  static Result<std::shared_ptr<const Driver>> open(const std::string& library = "libcuda.so.1");
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  const DriverFunctions& functions() const { return functions_; }
  int version() const { return version_; }  // 12020 of 12.2
  int devices() const { return devices_; }
  std::string device_name(int device) const;

  // What a call returned, as a Status; `doing` says what for ("loading kernels").
  Status check(int code, const std::string& doing) const;

 private:
  Driver() = default;
  Status load(const std::string& name);
  Status start();
  void* library_ = nullptr;
  DriverFunctions functions_{};
  int version_ = 0, devices_ = 0;
};

// What the driver gave and takes back, by that function.
template <class Handle>
class Owned {
 public:
  Owned() = default;
  Owned(Handle handle, int (*release)(Handle)) : handle_(handle), release_(release) {}
  Owned(Owned&& other) noexcept
      : handle_(std::exchange(other.handle_, Handle{})), release_(std::exchange(other.release_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_), std::swap(release_, other.release_);
    return *this;
  }
  ~Owned() {
    if (release_ != nullptr) release_(handle_);
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_{};
  int (*release_)(Handle) = nullptr;
};

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DRIVER_H_
