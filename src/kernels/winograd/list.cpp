// The table of the winograd family. Part of kernels/winograd/.
#include <array>

#include "kernels/conv/conv_step.h"
#include "kernels/winograd/winograd.h"
#include "kernels/winograd/winograd_step.h"

namespace octavo {
namespace {

// evex: for machines that have its instructions only in that encoding.
template <const WinogradTarget& target, const WinogradTarget& evex = target>
constexpr Kernel winograd_kernel(std::string_view name, Isa needs) {
  return {.name = name,
          .op = "quantized_conv",
          .needs = needs,
          .refusal = [](const OpCall& call) { return winograd_refusal(call, target); },
          .cost = [](const OpCall& call, const Machine& machine) { return winograd_cost(call, machine, target); },
          .pack = [](const OpCall& call) { return pack_winograd(call, target); },
          .prepare = [](const StepSpec& spec) { return prepare_winograd(spec, has_vex_vnni() ? target : evex); },
          .in_place_input = residual_in_place};
}

constexpr std::array kKernels = {
    winograd_kernel<kWinograd512>("winograd_u8s8_4x4_avx512vnni", Isa::avx512vnni),
    winograd_kernel<kWinograd256, kWinograd256Evex>("winograd_u8s8_4x4_avxvnni", Isa::avxvnni),
    winograd_kernel<kWinogradPairsAvx2>("winograd_u8s8_4x4_avx2", Isa::avx2),
};

}  // namespace

std::span<const Kernel> winograd_kernels() { return kKernels; }

}  // namespace octavo
