// The table of the winograd family. Part of kernels/winograd/.
#include <array>

#include "kernels/conv/conv_step.h"
#include "kernels/jit/code.h"
#include "kernels/winograd/schedule.h"
#include "kernels/winograd/winograd.h"
#include "kernels/winograd/winograd_step.h"

namespace octavo {
namespace {

template <const WinogradTarget& target>
std::vector<Candidate> winograd_candidates_of(const OpCall& call, const Machine& machine, int threads) {
  return winograd_candidates(call, machine, threads, target);
}

template <const WinogradTarget& target>
std::string winograd_schedule_refusal_of(const OpCall& call, const Machine&, std::span<const std::byte> schedule) {
  return winograd_schedule_refusal(call, schedule, target);
}

// evex: for machines that have its instructions only in that encoding.
template <const WinogradTarget& target, const WinogradTarget& evex = target>
constexpr KernelChoice winograd_kernel(std::string_view name, Isa needs) {
  return {
      .code = {.name = name,
               .op = "quantized_conv",
               .needs = needs,
               .packs = true,
               .knobs = kWinogradKnobs,
               .prepare = [](const StepSpec& spec) { return prepare_winograd(spec, has_vex_vnni() ? target : evex); },
               .in_place_input = residual_in_place},
      .words_per_mac = 36.0 / 144.0,  // F(4x4, 3x3): 36 for 16 results of nine products each
      .refusal = [](const OpCall& call) { return winograd_refusal(call, target); },
      .cost = [](const OpCall& call, const Machine& machine) { return winograd_cost(call, machine, target); },
      .candidates = winograd_candidates_of<target>,
      .schedule_refusal = winograd_schedule_refusal_of<target>,
      .knows_speeds = true,
      .pack = [](const OpCall& call) { return pack_winograd(call, target); },
      .packed_layout = same_layout};
}

constexpr KernelChoice kWinogradChoices[] = {
    winograd_kernel<kWinograd512>("winograd_u8s8_4x4_avx512vnni", Isa::avx512vnni),
    winograd_kernel<kWinograd256, kWinograd256Evex>("winograd_u8s8_4x4_avxvnni", Isa::avxvnni),
    winograd_kernel<kWinogradPairsAvx2>("winograd_u8s8_4x4_avx2", Isa::avx2),
    winograd_kernel<kWinogradPairsNeon>("winograd_u8s8_4x4_neon", Isa::neon),
};
constexpr auto kWinogradCodes = codes_of(kWinogradChoices);

}  // namespace

std::span<const KernelCode> winograd_codes() { return kWinogradCodes; }
std::span<const KernelChoice> winograd_choices() { return kWinogradChoices; }

}  // namespace octavo
