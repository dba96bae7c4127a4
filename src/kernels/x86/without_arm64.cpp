// What stands for the functions of aarch64 in programs for x86, which compile models for it: tables without functions,
// but with the sizes that packing goes by. Loading a model refuses kernels of another processor before it asks for
// these. Part of kernels/.
#include "kernels/argmax/functions.h"
#include "kernels/attention/attention.h"
#include "kernels/byte_product/functions.h"
#include "kernels/depthwise/rows.h"
#include "kernels/eltwise/rows.h"
#include "kernels/float/sums.h"
#include "kernels/halves/functions.h"
#include "kernels/integer_attention/head.h"
#include "kernels/integer_norm/lines.h"
#include "kernels/lines/functions.h"
#include "kernels/move/plane.h"
#include "kernels/pool/taps.h"
#include "kernels/quantize/rows.h"
#include "kernels/recurrence/recurrence.h"
#include "kernels/resize/integer_lines.h"
#include "kernels/resize/linear.h"
#include "kernels/resize/weighted.h"
#include "kernels/sampling/functions.h"
#include "kernels/table/lookup.h"
#include "kernels/winograd/transforms.h"

namespace octavo {

constexpr ArgmaxFunctions kArgmaxNeon{};
constexpr AttentionFunctions kAttentionNeon{};
constexpr DepthwiseFunctions kDepthwiseNeon{};
constexpr VnniSet kStripsDotprod{.widest = 2, .least_direct_stride = 1, .most_direct_rows = 3, .takes_signed = true};
constexpr EltwiseFunctions kEltwiseNeon{};
constexpr SumFunctions kSumsNeon{.chain_lanes = 8, .chain_rows = 6};
constexpr ByteProductFunctions kByteProductDotprod{};
constexpr HeadFunctions kHeadNeon{.lanes = 8, .per_lane = 2, .rows = 4},
    kHeadDotprod{.lanes = 8, .per_lane = 4, .rows = 4};
constexpr NormFunctions kNormNeon{};
constexpr LineFunctions kLinesNeon{};
constexpr PlaneFunctions kPlaneNeon{};
constexpr PoolFunctions kPoolNeon{};
constexpr QuantizeFunctions kQuantizeNeon{};
constexpr HalfFunctions kHalvesNeon{};
constexpr LinearFunctions kLinearNeon{};
constexpr IntegerLineFunctions kIntegerLinesNeon{};
constexpr WeightedFunctions kWeightedNeon{};
constexpr SampleFunctions kSampleNeon{};
constexpr LookupFunctions kLookupNeon{};
constexpr WinogradFunctions kWinogradNeon{4, nullptr, nullptr, nullptr};
void step_cell_neon(const Cell&, const CellRows&) { __builtin_trap(); }

}  // namespace octavo
