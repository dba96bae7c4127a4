// CUDA kernels on the host.
#ifndef OCTAVO_TESTS_SUPPORT_CUDA_EMULATOR_H_
#define OCTAVO_TESTS_SUPPORT_CUDA_EMULATOR_H_

#include <string_view>
#include <vector>

#include "cuda/launch.h"

namespace octavo::testing {

// Some blocks of a launch whose arguments point to this process's memory.
void emulate_cuda(const cuda::Launch& launch, const std::byte* arguments, ItemRange blocks);

// The names of all kernels that it knows, as in cuda/device/kernels.cu; sorted.
std::vector<std::string_view> emulated_cuda_kernels();
std::size_t emulated_cuda_argument_bytes(std::string_view kernel);
// How many blocks of a kernel it has run.
std::int64_t emulated_cuda_blocks(std::string_view kernel);

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_SUPPORT_CUDA_EMULATOR_H_
