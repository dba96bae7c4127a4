// What stands for the functions of x86 in programs for aarch64, which compile models for it: tables without functions,
// but with the sizes that packing goes by. Kernels made by prepare_on (call.h) need none. Loading a model refuses
// kernels of another processor before it asks for these. Part of kernels/.
#include "kernels/conv/epilogue.h"
#include "kernels/conv/tile.h"
#include "kernels/depthwise/rows.h"
#include "kernels/float/sums.h"
#include "kernels/integer_attention/head.h"
#include "kernels/jit/code.h"
#include "kernels/lines/functions.h"
#include "kernels/move/plane.h"
#include "kernels/table/lookup.h"
#include "kernels/winograd/transforms.h"

namespace octavo {

constexpr VnniSet kStripsAvx512Vnni{};
constexpr SumFunctions kSumsAvx2{.chain_lanes = 8, .chain_rows = 6}, kSumsAvx512{.chain_lanes = 16, .chain_rows = 12};
constexpr HeadFunctions kHeadAvx2{.lanes = 8, .per_lane = 2, .rows = 4},
    kHeadAvx512{.lanes = 16, .per_lane = 2, .rows = 8}, kHeadAvxVnni{.lanes = 8, .per_lane = 4, .rows = 4},
    kHeadEvexVnni{.lanes = 8, .per_lane = 4, .rows = 4}, kHeadAvx512Vnni{.lanes = 16, .per_lane = 4, .rows = 8},
    kHeadAmx{.lanes = 16, .per_lane = 4, .rows = 16, .tile_depth = 16};
constexpr LineFunctions kLinesAvx2{}, kLinesAvx512{};
constexpr PlaneFunctions kPlaneAvx2{};
constexpr LookupFunctions kLookupAvx2{}, kLookupAvx512{}, kLookupAvx512Vbmi{};
constexpr WinogradFunctions kWinogradAvx2{8, nullptr, nullptr, nullptr}, kWinogradAvx512{16, nullptr, nullptr, nullptr};
void lookup_three_avx512vbmi(const ChannelLookup&, const std::uint8_t*, std::byte*, std::int64_t) { __builtin_trap(); }

bool has_vex_vnni() { return false; }
Result<std::unique_ptr<Step>> prepare_amx(const StepSpec&) { return refused_conv("needs amx_int8"); }
Result<std::unique_ptr<Step>> prepare_scaled_amx(const StepSpec&, CheckedConv) {
  return refused_conv("needs amx_int8");
}

}  // namespace octavo
