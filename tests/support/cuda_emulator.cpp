// Every kernel of cuda/device/ over HostBlock.
#include "support/cuda_emulator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "cuda/device/conv.h"
#include "cuda/device/depthwise.h"
#include "cuda/device/elements.h"
#include "cuda/device/pool.h"
#include "cuda/launch.h"
#include "support/cuda_block.h"

namespace octavo::cuda {
namespace {

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

template <int rows, int columns, int copy>
constexpr Emulated tile(std::string_view name) {
  return emulated<ConvArgs, conv<ConvTile<rows, columns, copy>>>(name);
}

// Sorted.
constexpr Emulated kKernels[] = {
    emulated<PoolArgs, sum_pool<true>>("average_pool"),
    tile<128, 128, 1>("conv_128x128_1"),
    tile<128, 128, 16>("conv_128x128_16"),
    tile<128, 128, 4>("conv_128x128_4"),
    tile<128, 64, 1>("conv_128x64_1"),
    tile<128, 64, 16>("conv_128x64_16"),
    tile<128, 64, 4>("conv_128x64_4"),
    tile<32, 32, 1>("conv_32x32_1"),
    tile<32, 32, 16>("conv_32x32_16"),
    tile<32, 32, 4>("conv_32x32_4"),
    tile<64, 64, 1>("conv_64x64_1"),
    tile<64, 64, 16>("conv_64x64_16"),
    tile<64, 64, 4>("conv_64x64_4"),
    emulated<BytesArgs, copy>("copy_bytes"),
    emulated<DepthwiseArgs, depthwise<1>>("depthwise_1"),
    emulated<DepthwiseArgs, depthwise<4>>("depthwise_4"),
    emulated<PoolArgs, max_pool<std::uint8_t>>("max_pool_u8"),
    emulated<PoolArgs, mean_pool>("mean_pool"),
    emulated<PairArgs, pairs_of<1>>("pairs_1"),
    emulated<PairArgs, pairs_of<4>>("pairs_4"),
    emulated<QuantizeArgs, quantize>("quantize_f32"),
    emulated<PoolArgs, sum_pool<false>>("sum_pool"),
    emulated<BytesArgs, table<std::uint8_t>>("table_1"),
    emulated<BytesArgs, table<std::uint32_t>>("table_4"),
    emulated<StridedArgs, transpose<std::uint8_t>>("transpose_1"),
    emulated<StridedArgs, transpose<std::uint32_t>>("transpose_4"),
};
std::array<std::atomic<std::int64_t>, std::size(kKernels)> blocks_run{};

std::size_t number_of(std::string_view name) {
  const auto* found = std::ranges::find(kKernels, name, &Emulated::name);
  return static_cast<std::size_t>(found - std::begin(kKernels));
}

}  // namespace
}  // namespace octavo::cuda

extern "C" void octavo_cuda_emulator(const octavo::cuda::Launch& launch, const std::byte* arguments,
                                     octavo::ItemRange blocks) {
  using namespace octavo::cuda;
  const std::size_t number = number_of(launch.kernel);
  if (number == std::size(kKernels) || kKernels[number].argument_bytes != launch.arguments.size()) {
    std::fprintf(stderr, "no kernel '%s' with %zu bytes of arguments\n", launch.kernel.c_str(),
                 launch.arguments.size());
    std::abort();
  }
  for (std::int64_t i = blocks.begin; i < blocks.end; ++i) {
    const std::array<std::int64_t, 3> index{i % launch.grid[0], i / launch.grid[0] % launch.grid[1],
                                            i / launch.grid[0] / launch.grid[1]};
    HostBlock block(index, launch.threads, launch.shared_bytes);
    kKernels[number].run(block, arguments);
  }
  blocks_run[number] += blocks.end - blocks.begin;
}

namespace octavo::testing {

bool is_emulated_cuda(const KernelChoice& kernel) { return kernel.code.needs == Isa::cuda; }

std::vector<std::string_view> emulated_cuda_kernels() {
  std::vector<std::string_view> names;
  for (const cuda::Emulated& kernel : cuda::kKernels) names.push_back(kernel.name);
  return names;
}

std::size_t emulated_cuda_argument_bytes(std::string_view kernel) {
  return cuda::kKernels[cuda::number_of(kernel)].argument_bytes;
}

std::int64_t emulated_cuda_blocks(std::string_view kernel) { return cuda::blocks_run[cuda::number_of(kernel)]; }

}  // namespace octavo::testing
