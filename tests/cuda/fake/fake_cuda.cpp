// The functions of the driver API that src/cuda/driver.cpp asks for.
#include "cuda/fake/fake_cuda.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cuda/launch.h"
#include "support/cuda_emulator.h"

namespace {

using namespace octavo::testing::fake;

constexpr int kOutOfMemory = 2, kNoBinary = 209, kNotFound = 500;

FakeCuda state;
std::set<const void*> held;                    // handles and memory
std::set<std::uint64_t> device_memory;         // where blocks of it begin
std::vector<std::function<void()>>* recorded;  // while a graph is captured

using Graph = std::vector<std::function<void()>>;

int called() { return state.calls++ == state.fail_at ? kFailed : 0; }

}  // namespace

namespace octavo::testing::fake {

int called_with_context() {
  if (state.current < 1) ++state.wrong;
  const int code = called();
  return state.is_lost ? kFailed : code;
}

void check_context() {
  if (state.current < 1) ++state.wrong;
}

void count_given(const void* object) {
  held.insert(object);
  ++state.live;
}

bool take_back(const void* object) {
  if (held.erase(object) == 0) {
    ++state.wrong;
    return false;
  }
  --state.live;
  return true;
}

bool is_given(const void* object) {
  if (held.contains(object)) return true;
  ++state.wrong;
  return false;
}

bool is_recording() { return recorded != nullptr; }

int enqueue(std::function<void()> work) {
  if (recorded != nullptr) recorded->push_back(std::move(work));
  else work();
  return 0;
}

}  // namespace octavo::testing::fake

extern "C" {

FakeCuda* fake_cuda() { return &state; }

int cuInit(unsigned) { return called(); }
int cuDriverGetVersion(int* version) {
  *version = state.version;
  return called();
}
int cuDeviceGetCount(int* count) {
  *count = state.devices;
  return called();
}
int cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, "a pretended device", static_cast<std::size_t>(length));
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? state.major : 0;
  return called();
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (const int code = called()) return code;
  state.opened = device;
  ++state.live;
  *context = &state;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  --state.live;
  return 0;
}
int cuCtxPushCurrent_v2(void* context) {
  if (const int code = called()) return code;
  if (context != &state) ++state.wrong;
  ++state.current;
  return 0;
}
int cuCtxPopCurrent_v2(void** context) {
  *context = &state;
  --state.current;
  return 0;
}
int cuModuleLoadData(void** module, const void* image) {
  if (const int code = called_with_context()) return code;
  if (std::strcmp(static_cast<const char*>(image), "a pretended image") != 0) return kInvalid;
  if (!state.has_kernels) return kNoBinary;
  *module = give(new int);
  return 0;
}
int cuModuleUnload(void* module) {
  check_context();
  if (take_back(module)) delete static_cast<int*>(module);
  return 0;
}
// A function is its kernel's number, and one.
int cuModuleGetFunction(void** function, void* module, const char* name) {
  if (const int code = called_with_context()) return code;
  if (!is_given(module)) return kInvalid;
  const auto names = octavo::testing::emulated_cuda_kernels();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return *function = reinterpret_cast<void*>(i + 1), 0;
  }
  return kNotFound;
}
int cuFuncSetAttribute(void*, int, int) { return called_with_context(); }
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = *total = state.free_bytes;
  return called_with_context();
}
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  if (const int code = called_with_context()) return code;
  if (bytes > state.free_bytes) return kOutOfMemory;
  auto* memory = new (std::align_val_t{256}) std::byte[bytes];
  std::memset(memory, 0x5a, bytes);
  *address = reinterpret_cast<std::uint64_t>(give(memory));
  device_memory.insert(*address);
  return 0;
}
int cuMemFree_v2(std::uint64_t address) {
  auto* memory = reinterpret_cast<std::byte*>(address);
  check_context();
  device_memory.erase(address);
  if (take_back(memory)) ::operator delete[](memory, std::align_val_t{256});
  return 0;
}
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  if (const int code = called_with_context()) return code;
  *memory = give(new (std::align_val_t{256}) std::byte[bytes]);
  return 0;
}
int cuMemFreeHost(void* memory) {
  check_context();
  if (take_back(memory)) ::operator delete[](memory, std::align_val_t{256});
  return 0;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  if (const int code = called_with_context()) return code;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
  if (const int code = called_with_context()) return code;
  if (!is_given(stream)) return kInvalid;
  return enqueue([=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
}
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream) {
  if (const int code = called_with_context()) return code;
  if (!is_given(stream)) return kInvalid;
  return enqueue([=] { std::memcpy(to, reinterpret_cast<const void*>(from), bytes); });
}
int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* stream) {
  if (const int code = called_with_context()) return code;
  if (!is_given(stream)) return kInvalid;
  return enqueue([=] { std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes); });
}
// Of memory of the device, by its first byte: the type and the device that it is asked for. Others are no error.
int cuPointerGetAttributes(unsigned, int*, void** values, std::uint64_t address) {
  if (const int code = called_with_context()) return code;
  if (!device_memory.contains(address)) return 0;
  *static_cast<int*>(values[0]) = 2;
  *static_cast<int*>(values[1]) = state.memory_of;
  return 0;
}
int cuStreamCreate(void** stream, unsigned) {
  if (const int code = called_with_context()) return code;
  *stream = give(new char);
  return 0;
}
int cuStreamDestroy_v2(void* stream) {
  check_context();
  if (take_back(stream)) delete static_cast<char*>(stream);
  return 0;
}
int cuStreamSynchronize(void* stream) {
  if (const int code = called_with_context()) return code;
  if (recorded != nullptr) return kInvalid;
  if (stream != nullptr) return is_given(stream) ? 0 : kInvalid;
  if (const auto work = std::exchange(state.default_stream, nullptr)) work();
  return 0;
}
int cuStreamBeginCapture_v2(void* stream, int) {
  if (const int code = called_with_context()) return code;
  if (!is_given(stream) || recorded != nullptr) return kInvalid;
  recorded = new Graph;
  ++state.live;
  return 0;
}
int cuStreamEndCapture(void*, void** graph) {
  Graph* ended = std::exchange(recorded, nullptr);
  --state.live;
  if (const int code = called_with_context()) return delete ended, code;
  *graph = give(ended);
  return 0;
}
int cuGraphInstantiateWithFlags(void** run, void* graph, unsigned long long) {
  if (const int code = called_with_context()) return code;
  if (!is_given(graph)) return kInvalid;
  *run = give(new Graph(*static_cast<Graph*>(graph)));
  return 0;
}
int cuGraphDestroy(void* graph) {
  check_context();
  if (take_back(graph)) delete static_cast<Graph*>(graph);
  return 0;
}
int cuGraphExecDestroy(void* run) { return cuGraphDestroy(run); }
int cuGraphLaunch(void* run, void* stream) {
  if (const int code = called_with_context()) return code;
  if (!is_given(run) || !is_given(stream)) return kInvalid;
  for (const auto& work : *static_cast<Graph*>(run)) work();
  return 0;
}
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned,
                   unsigned, unsigned shared_bytes, void* stream, void** parameters, void**) {
  if (const int code = called_with_context()) return code;
  if (!is_given(stream)) return kInvalid;
  const std::string_view name = octavo::testing::emulated_cuda_kernels()[reinterpret_cast<std::size_t>(function) - 1];
  const auto* first = static_cast<const std::byte*>(parameters[0]);
  const octavo::cuda::Launch launch{.kernel = std::string(name),
                                    .grid = {grid_x, grid_y, grid_z},
                                    .threads = static_cast<int>(block_x),
                                    .shared_bytes = static_cast<int>(shared_bytes),
                                    .arguments = {first, first + octavo::testing::emulated_cuda_argument_bytes(name)}};
  return enqueue([launch] { octavo::testing::emulate_cuda(launch, launch.arguments.data(), {0, launch.blocks()}); });
}
int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  if (const int code = called_with_context()) return code;
  if (!is_given(stream)) return kInvalid;
  return enqueue([=] { function(data); });
}
int cuGetErrorString(int code, const char** text) {
  *text = code == kOutOfMemory ? "out of memory" : code == kFailed ? "a pretended failure" : "an error";
  return 0;
}

}  // extern "C"
