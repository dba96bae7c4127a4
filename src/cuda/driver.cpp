// Opening the CUDA driver. Part of cuda/.
#include "cuda/driver.h"

#include <array>

#include "cuda/finder.h"

namespace octavo::cuda {
namespace {

// What nvcc 13 compiles, as scripts/packages-cuda.txt has it, is for drivers of CUDA 13 and later.
constexpr int kOldest = 13000;
constexpr const char* kOldestRelease = " or later (driver release 580), for which its kernels are compiled";

Error missing(std::string found, std::string expected) {
  return {.kind = ErrorKind::resource,
          .where = "CUDA",
          .found = std::move(found),
          .expected = std::move(expected),
          .hint = "Plans for processors need none: --target host"};
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Errors after which every call fails in this process: of a kernel that was stopped (700 to 720, but for those that
// have to do with other processes), of memory (214, 220).
bool ends_the_process(int code) {
  constexpr int kPeerFirst = 704, kPeerLast = 705, kHostFirst = 712, kHostLast = 713;
  if (code == 214 || code == 220) return true;
  const bool is_other = (code >= kPeerFirst && code <= kPeerLast) || (code >= kHostFirst && code <= kHostLast);
  return code >= 700 && code <= 720 && !is_other;
}

// Functions whose interface changed have a number behind their name.
std::string driver_find_all(void* library, DriverFunctions& f) {
  Finder in(library);
  in.find(f.init, "cuInit");
  in.find(f.driver_version, "cuDriverGetVersion");
  in.find(f.device_count, "cuDeviceGetCount");
  in.find(f.device_name, "cuDeviceGetName");
  in.find(f.device_attribute, "cuDeviceGetAttribute");
  in.find(f.retain_context, "cuDevicePrimaryCtxRetain");
  in.find(f.release_context, "cuDevicePrimaryCtxRelease_v2");
  in.find(f.push_context, "cuCtxPushCurrent_v2");
  in.find(f.pop_context, "cuCtxPopCurrent_v2");
  in.find(f.load_module, "cuModuleLoadData");
  in.find(f.unload_module, "cuModuleUnload");
  in.find(f.find_function, "cuModuleGetFunction");
  in.find(f.set_function_attribute, "cuFuncSetAttribute");
  in.find(f.memory_info, "cuMemGetInfo_v2");
  in.find(f.allocate, "cuMemAlloc_v2");
  in.find(f.release, "cuMemFree_v2");
  in.find(f.allocate_host, "cuMemHostAlloc");
  in.find(f.release_host, "cuMemFreeHost");
  in.find(f.copy_to_device, "cuMemcpyHtoD_v2");
  in.find(f.copy_to_device_async, "cuMemcpyHtoDAsync_v2");
  in.find(f.copy_from_device_async, "cuMemcpyDtoHAsync_v2");
  in.find(f.copy_on_device_async, "cuMemcpyDtoDAsync_v2");
  in.find(f.pointer_attributes, "cuPointerGetAttributes");
  in.find(f.create_stream, "cuStreamCreate");
  in.find(f.destroy_stream, "cuStreamDestroy_v2");
  in.find(f.wait_for_stream, "cuStreamSynchronize");
  in.find(f.begin_capture, "cuStreamBeginCapture_v2");
  in.find(f.end_capture, "cuStreamEndCapture");
  in.find(f.make_runnable, "cuGraphInstantiateWithFlags");
  in.find(f.destroy_graph, "cuGraphDestroy");
  in.find(f.destroy_graph_run, "cuGraphExecDestroy");
  in.find(f.launch_graph, "cuGraphLaunch");
  in.find(f.launch, "cuLaunchKernel");
  in.find(f.launch_host, "cuLaunchHostFunc");
  in.find(f.error_text, "cuGetErrorString");
  return in.missing();
}

}  // namespace

Result<std::shared_ptr<const Driver>> Driver::open(const std::string& library) {
  std::shared_ptr<Driver> driver(new Driver);
  if (Status status = driver->load(library); !status) return status.errors();
  if (Status status = driver->start(); !status) return status.errors();
  return std::shared_ptr<const Driver>(std::move(driver));
}

Status Driver::load(const std::string& name) {
  library_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) return missing("no driver: " + std::string(dlerror()), "NVIDIA's driver");
  const std::string lacking = driver_find_all(library_, functions_);
  if (!lacking.empty())
    return missing("a driver without " + lacking, "one of CUDA " + version_text(kOldest) + kOldestRelease);
  return ok_status();
}

Status Driver::start() {
  if (const int code = functions_.driver_version(&version_); code != 0) return check(code, "asking for its version");
  if (version_ < kOldest)
    return missing("a driver of CUDA " + version_text(version_), version_text(kOldest) + kOldestRelease);
  if (const int code = functions_.init(0); code != 0) return check(code, "starting the driver");
  if (const int code = functions_.device_count(&devices_); code != 0) return check(code, "counting devices");
  if (devices_ == 0) return missing("a driver without a device", "a device");
  return ok_status();
}

// The driver stays loaded: it has threads of its own.
Driver::~Driver() = default;

std::string Driver::device_name(int device) const {
  std::array<char, 256> name{};
  return functions_.device_name(name.data(), static_cast<int>(name.size()), device) == 0 ? name.data() : "a device";
}

Status Driver::check(int code, const std::string& doing) const {
  if (code == 0) return ok_status();
  const char* text = nullptr;
  if (functions_.error_text(code, &text) != 0 || text == nullptr) text = "an error that the driver does not explain";
  return Error{.kind = ErrorKind::resource,
               .where = "CUDA, " + doing,
               .found = std::string(text) + " (" + std::to_string(code) + ")",
               .expected = "success",
               .hint = ends_the_process(code) ? "The device is lost to this process, and nothing runs there any more; "
                                                "another process starts afresh"
                                              : ""};
}

}  // namespace octavo::cuda
