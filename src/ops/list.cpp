// Joins the operators. Part of ops/.
#include "ops/list.h"

#include <algorithm>
#include <array>

namespace octavo {
namespace {

constexpr std::array<const OpSpec*, 42> kOps = {
    &kArgmax,         &kAveragePool,
    &kBatchNorm,      &kBinary,
    &kCast,           &kConcat,
    &kConv,           &kConvInteger,
    &kDequantize,     &kDynamicQuantize,
    &kExpand,         &kFixedBinary,
    &kFixedL2Norm,    &kFixedRequantize,
    &kFloatDepthwise, &kFusedConv,
    &kGather,         &kHybridConv,
    &kIntegerResize,  &kIntegerSum,
    &kLayerNorm,      &kLrn,
    &kMatmul,         &kMatmulInteger,
    &kMaxPool,        &kPad,
    &kQuantize,       &kQuantizedBinary,
    &kQuantizedConv,  &kQuantizedMatmul,
    &kQuantizedPool,  &kQuantizedSoftmax,
    &kReduce,         &kReshape,
    &kResize,         &kRowQuantize,
    &kSlice,          &kSoftmax,
    &kTable,          &kTranspose,
    &kUnary,          &kWhere,
};

}  // namespace

std::span<const OpSpec* const> all_ops() { return kOps; }

const OpSpec* find_op(std::string_view name) {
  const auto* it = std::find_if(kOps.begin(), kOps.end(), [&](const OpSpec* op) { return op->name == name; });
  return it == kOps.end() ? nullptr : *it;
}

}  // namespace octavo
