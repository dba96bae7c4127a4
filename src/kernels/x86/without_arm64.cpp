// What stands for the functions of aarch64 in programs for x86, which compile models for it: tables without functions,
// but with the sizes that packing goes by. Kernels made by prepare_on (call.h) need none. Loading a model refuses
// kernels of another processor before it asks for these. Part of kernels/.
#include "kernels/compiled_for.h"
#include "kernels/depthwise/rows.h"
#include "kernels/float/sums.h"
#include "kernels/integer_attention/head.h"
#include "kernels/lines/functions.h"
#include "kernels/move/plane.h"
#include "kernels/table/lookup.h"
#include "kernels/winograd/transforms.h"

namespace octavo {

constexpr VnniSet kStripsDotprod{.widest = 2, .least_direct_stride = 1, .most_direct_rows = 3, .takes_signed = true};
template <>
constinit const SumFunctions CompiledFor<SumFunctions, Isa::neon>::table{.chain_lanes = 8, .chain_rows = 6};
template <>
constinit const HeadFunctions CompiledFor<HeadFunctions, Isa::neon>::table{.lanes = 8, .per_lane = 2, .rows = 4};
template <>
constinit const HeadFunctions CompiledFor<HeadFunctions, Isa::dotprod>::table{.lanes = 8, .per_lane = 4, .rows = 4};
template <>
constinit const LineFunctions CompiledFor<LineFunctions, Isa::neon>::table{};
template <>
constinit const PlaneFunctions CompiledFor<PlaneFunctions, Isa::neon>::table{};
template <>
constinit const LookupFunctions CompiledFor<LookupFunctions, Isa::neon>::table{};
constexpr WinogradFunctions kWinogradNeon{4, nullptr, nullptr, nullptr};

}  // namespace octavo
