// The table of the conv family. Part of kernels/conv/.
#include <array>

#include "kernels/conv/amx_schedule.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/conv_step.h"
#include "kernels/conv/split.h"
#include "kernels/jit/code.h"

namespace octavo {
namespace {

template <const TileTarget& target>
std::vector<Candidate> conv_candidates_of(const OpCall& call, const Machine& machine, int threads) {
  return conv_candidates(scheduled_conv(call, target), machine, threads);
}

template <const TileTarget& target>
std::string conv_schedule_refusal_of(const OpCall& call, const Machine& machine, std::span<const std::byte> schedule) {
  return conv_schedule_refusal(scheduled_conv(call, target), machine, schedule);
}

// evex: for machines that have its instructions only in that encoding.
template <const TileTarget& target, const TileTarget& evex = target>
constexpr KernelChoice conv_kernel(std::string_view name, Isa needs) {
  return {.code = {.name = name,
                   .op = "quantized_conv",
                   .needs = needs,
                   .packs = true,
                   .knobs = kConvKnobs,
                   .prepare = [](const StepSpec& spec) { return prepare_conv(spec, has_vex_vnni() ? target : evex); },
                   .in_place_input = residual_in_place},
          .refusal = [](const OpCall& call) { return conv_refusal(call, target); },
          .cost = [](const OpCall& call, const Machine& machine) { return conv_cost(call, machine, target); },
          .candidates = conv_candidates_of<target>,
          .schedule_refusal = conv_schedule_refusal_of<target>,
          .knows_speeds = true,
          .pack = [](const OpCall& call) { return pack_conv(call, target); },
          .packed_layout = [](const OpCall& call) { return packed_conv_layout(call, target); }};
}

constexpr KernelChoice kAmx{
    .code = {.name = "conv_u8s8_16x16_amx_int8",
             .op = "quantized_conv",
             .needs = Isa::amx_int8,
             .packs = true,
             .knobs = kAmxKnobs,
             .prepare = prepare_amx,
             .in_place_input = residual_in_place},
    .refusal = [](const OpCall& call) { return conv_refusal(call, kTileAmx); },
    .cost = [](const OpCall& call, const Machine& machine) { return conv_cost(call, machine, kTileAmx); },
    .candidates = conv_candidates_of<kTileAmx>,
    .schedule_refusal = conv_schedule_refusal_of<kTileAmx>,
    .knows_speeds = true,
    .pack = [](const OpCall& call) { return pack_conv(call, kTileAmx); },
    .packed_layout = [](const OpCall& call) { return packed_conv_layout(call, kTileAmx); }};

constexpr KernelChoice kConvChoices[] = {
    conv_kernel<kTileVnni512>("conv_u8s8_7x4_avx512vnni", Isa::avx512vnni),
    conv_kernel<kTileVnni256, kTileVnni256Evex>("conv_u8s8_6x2_avxvnni", Isa::avxvnni),
    conv_kernel<kTileAvx2Words>("conv_u8s8_4x3_avx2", Isa::avx2),
    conv_kernel<kTileAvx2Bytes>("conv_u8s8_6x2_avx2_bytes", Isa::avx2),
    kAmx,
    conv_kernel<kTileNeonBytes>("conv_u8s8_5x1_neon", Isa::neon),
    conv_kernel<kTileNeonPairs>("conv_u8s8_5x1_neon_pairs", Isa::neon),
    conv_kernel<kTileDotprod>("conv_u8s8_6x4_dotprod", Isa::dotprod),
    conv_kernel<kTileDotprodAhead>("conv_u8s8_6x4_dotprod_ahead", Isa::dotprod),
    conv_kernel<kTileI8mm>("conv_u8s8_4x4_i8mm", Isa::i8mm),
};
constexpr auto kConvCodes = codes_of(kConvChoices);

}  // namespace

std::span<const KernelCode> conv_codes() { return kConvCodes; }
std::span<const KernelChoice> conv_choices() { return kConvChoices; }

}  // namespace octavo
