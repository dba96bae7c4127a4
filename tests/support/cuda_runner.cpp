#include "support/cuda_runner.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "support/cuda_emulator.h"

namespace octavo::testing {
namespace {

using cuda::Address;
using cuda::Operand;
using cuda::Owned;
using cuda::PointerSlot;

void require(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "on the device: %s\n", to_string(status.errors()).c_str());
  std::exit(1);
}

template <class T>
T required(Result<T> result) {
  if (!result) require(result.errors());
  return std::move(*result);
}

// An operand in the device's memory.
struct Copy {
  std::size_t bytes = 0;
  Owned<Address> memory;
};

}  // namespace

bool is_emulated_cuda(const KernelChoice& kernel) { return kernel.code.needs == Isa::cuda; }

CudaRunner::CudaRunner() : device_(required(cuda::Device::open(0))) {}

const CudaRunner* CudaRunner::asked_for() {
  // Never destroyed: the driver may be gone before.
  static const CudaRunner* const runner = std::getenv("OCTAVO_TEST_DEVICE") == nullptr ? nullptr : new CudaRunner;
  return runner;
}

void CudaRunner::run(const cuda::Launch& launch, const std::byte* arguments) const {
  const cuda::Device::Current current(*device_);
  require(current.status());
  const cuda::DriverFunctions& driver = device_->functions();
  const auto check = [&](int code, const std::string& doing) {
    require(device_->driver().check(code, doing + " of '" + launch.kernel + "'"));
  };
  const auto host_of = [&](const PointerSlot& slot) {
    std::byte* host = nullptr;
    std::memcpy(&host, arguments + slot.at, sizeof host);
    return host;
  };
  std::map<std::byte*, Copy> copies;  // by where they lie here: one that is read and written is there once
  for (const PointerSlot& slot : launch.pointers) {
    auto& copy = copies[host_of(slot)];
    copy.bytes = std::max(copy.bytes, slot.bytes);
  }
  for (auto& [host, copy] : copies) {
    copy.memory = required(device_->allocate(copy.bytes, "an operand"));
    if (copy.bytes != 0) check(driver.copy_to_device(copy.memory.get(), host, copy.bytes), "copying operands");
  }
  std::vector<std::byte> there(arguments, arguments + launch.arguments.size());
  for (const PointerSlot& slot : launch.pointers) {
    const Address address = copies[host_of(slot)].memory.get();
    std::memcpy(there.data() + slot.at, &address, sizeof address);
  }
  require(device_->launch(launch, required(device_->function(launch)), there.data(), nullptr));
  check(driver.wait_for_stream(nullptr), "the kernel");
  for (const PointerSlot& slot : launch.pointers) {
    if (slot.operand != Operand::output || slot.bytes == 0) continue;
    std::byte* host = host_of(slot);
    check(driver.copy_from_device_async(host, copies[host].memory.get(), slot.bytes, nullptr), "copying results");
  }
  check(driver.wait_for_stream(nullptr), "copying results");
}

}  // namespace octavo::testing

extern "C" void octavo_cuda_emulator(const octavo::cuda::Launch& launch, const std::byte* arguments,
                                     octavo::ItemRange blocks) {
  using namespace octavo::testing;
  const CudaRunner* device = CudaRunner::asked_for();
  if (device != nullptr && blocks.end - blocks.begin == launch.blocks()) return device->run(launch, arguments);
  emulate_cuda(launch, arguments, blocks);
}
