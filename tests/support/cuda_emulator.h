// CUDA kernels on the host: what links this runs their steps as it runs others'.
#ifndef OCTAVO_TESTS_SUPPORT_CUDA_EMULATOR_H_
#define OCTAVO_TESTS_SUPPORT_CUDA_EMULATOR_H_

#include <string_view>
#include <vector>

#include "kernels/choice.h"

namespace octavo::testing {

// True, of kernels of octavo_cuda; asking links the emulator.
bool is_emulated_cuda(const KernelChoice& kernel);

// The names of all kernels that it knows, as in cuda/device/kernels.cu; sorted.
std::vector<std::string_view> emulated_cuda_kernels();
std::size_t emulated_cuda_argument_bytes(std::string_view kernel);
// How many blocks of a kernel it has run.
std::int64_t emulated_cuda_blocks(std::string_view kernel);

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_SUPPORT_CUDA_EMULATOR_H_
