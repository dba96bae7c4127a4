// What runs a case of quantized_conv on every tile of this machine. For the tests of kernels/conv.
#ifndef OCTAVO_TESTS_KERNELS_CONV_TILES_H_
#define OCTAVO_TESTS_KERNELS_CONV_TILES_H_

#include <cstdint>
#include <vector>

#include "cuda/cuda.h"
#include "kernels/conv/conv.h"
#include "kernels/conv_cases.h"
#include "support/amx_emulator.h"
#include "support/cuda_runner.h"

namespace octavo {

inline bool runs_here(const KernelChoice& kernel) {
  return host_machine().isa.has(kernel.code.needs) || testing::is_emulated_cuda(kernel) ||
         (kernel.code.needs == Isa::amx_int8 && testing::AmxEmulation::is_possible());
}

// The family's table, and the AVX-VNNI tiles in the encoding that AVX-512 machines have; those of CUDA devices. AMX and
// devices are emulated where they have to be.
inline std::vector<KernelChoice> kernels_of_this_machine() {
  std::vector<KernelChoice> kernels(conv_choices().begin(), conv_choices().end());
  KernelChoice evex = kernels[0];
  evex.code.name = "conv_u8s8_6x2_avx512vnni_ymm";
  evex.code.needs = Isa::avx512vnni;
  evex.refusal = [](const OpCall& call) { return conv_refusal(call, kTileVnni256Evex); };
  evex.pack = [](const OpCall& call) { return pack_conv(call, kTileVnni256Evex); };
  evex.code.prepare = [](const StepSpec& spec) { return prepare_conv(spec, kTileVnni256Evex); };
  kernels.push_back(evex);
  kernels.insert(kernels.end(), cuda_conv_choices().begin(), cuda_conv_choices().end());
  std::erase_if(kernels, [](const KernelChoice& kernel) { return !runs_here(kernel); });
  return kernels;
}

// Twice, since rows of zeros in the padding are left out.
inline void check(ConvCase c, unsigned seed) {
  const testing::AmxEmulation emulation;
  const std::uint64_t before = testing::AmxEmulation::trapped();
  for (const std::int32_t x_zero_point : {117, 0}) {
    c.x_zero_point = x_zero_point;
    check(c, seed, kernels_of_this_machine());
  }
  if (!testing::AmxEmulation::is_possible() || is_depthwise(c)) return;
  EXPECT_TRUE(testing::AmxEmulation::trapped() > before || !testing::AmxEmulation::is_needed())
      << "the AMX kernel executed no tile instruction: " << describe(c);
  EXPECT_TRUE(testing::AmxEmulation::is_released()) << describe(c);
}

}  // namespace octavo

#endif  // OCTAVO_TESTS_KERNELS_CONV_TILES_H_
