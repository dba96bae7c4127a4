// What stands for the functions of x86 in programs for aarch64, which compile models for it: tables without functions,
// but with the sizes that packing goes by. Kernels made by prepare_on (call.h) need none. Loading a model refuses
// kernels of another processor before it asks for these. Part of kernels/.
#include "kernels/compiled_for.h"
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
constexpr HeadFunctions kHeadEvexVnni{.lanes = 8, .per_lane = 4, .rows = 4};
template <>
constinit const SumFunctions CompiledFor<SumFunctions, Isa::avx2>::table{.chain_lanes = 8, .chain_rows = 6};
template <>
constinit const SumFunctions CompiledFor<SumFunctions, Isa::avx512>::table{.chain_lanes = 16, .chain_rows = 12};
template <>
constinit const HeadFunctions CompiledFor<HeadFunctions, Isa::avx2>::table{.lanes = 8, .per_lane = 2, .rows = 4};
template <>
constinit const HeadFunctions CompiledFor<HeadFunctions, Isa::avx512>::table{.lanes = 16, .per_lane = 2, .rows = 8};
template <>
constinit const HeadFunctions CompiledFor<HeadFunctions, Isa::avxvnni>::table{.lanes = 8, .per_lane = 4, .rows = 4};
template <>
constinit const HeadFunctions CompiledFor<HeadFunctions, Isa::avx512vnni>::table{.lanes = 16, .per_lane = 4, .rows = 8};
template <>
constinit const HeadFunctions CompiledFor<HeadFunctions, Isa::amx_int8>::table{
    .lanes = 16, .per_lane = 4, .rows = 16, .tile_depth = 16};
template <>
constinit const LineFunctions CompiledFor<LineFunctions, Isa::avx2>::table{};
template <>
constinit const LineFunctions CompiledFor<LineFunctions, Isa::avx512>::table{};
template <>
constinit const PlaneFunctions CompiledFor<PlaneFunctions, Isa::avx2>::table{};
template <>
constinit const LookupFunctions CompiledFor<LookupFunctions, Isa::avx2>::table{};
template <>
constinit const LookupFunctions CompiledFor<LookupFunctions, Isa::avx512>::table{};
template <>
constinit const LookupFunctions CompiledFor<LookupFunctions, Isa::avx512vbmi>::table{};
constexpr WinogradFunctions kWinogradAvx2{8, nullptr, nullptr, nullptr}, kWinogradAvx512{16, nullptr, nullptr, nullptr};
void lookup_three_avx512vbmi(const ChannelLookup&, const std::uint8_t*, std::byte*, std::int64_t) { __builtin_trap(); }

bool has_vex_vnni() { return false; }
Result<std::unique_ptr<Step>> prepare_amx(const StepSpec&) { return refused_conv("needs amx_int8"); }
Result<std::unique_ptr<Step>> prepare_scaled_amx(const StepSpec&, CheckedConv) {
  return refused_conv("needs amx_int8");
}

}  // namespace octavo
