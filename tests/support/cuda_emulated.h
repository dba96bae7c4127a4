// What the emulator has of a CUDA kernel. Part of the tests' support.
#ifndef OCTAVO_TESTS_SUPPORT_CUDA_EMULATED_H_
#define OCTAVO_TESTS_SUPPORT_CUDA_EMULATED_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "support/cuda_block.h"

namespace octavo::cuda {

struct Emulated {
  std::string_view name;
  void (*run)(HostBlock& block, const std::byte* arguments);
  std::size_t argument_bytes;
};

template <class Arguments, void (*kernel)(HostBlock&, const Arguments&)>
constexpr Emulated emulated(std::string_view name) {
  const auto run = [](HostBlock& block, const std::byte* arguments) {
    kernel(block, *reinterpret_cast<const Arguments*>(arguments));
  };
  return {name, run, sizeof(Arguments)};
}

// Of convolutions, each half compiled on its own: a compiler takes minutes for all of them.
std::span<const Emulated> emulated_tiles();
std::span<const Emulated> emulated_tiles_of_offsets();

}  // namespace octavo::cuda

#endif  // OCTAVO_TESTS_SUPPORT_CUDA_EMULATED_H_
