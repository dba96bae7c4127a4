// What the conv family can do, and what it costs. Part of kernels/conv/.
#include <algorithm>

#include "kernels/conv/conv_step.h"
#include "kernels/conv/split.h"
#include "kernels/weight_offsets.h"

namespace octavo {
namespace {

const Fact* input(const OpCall& call, int index) {
  return static_cast<std::size_t>(index) < call.inputs.size() ? call.inputs[static_cast<std::size_t>(index)] : nullptr;
}

bool is_inside(std::int64_t lowest, std::int64_t highest, IntegerRange range) {
  return range.lowest <= lowest && lowest <= highest && highest <= range.highest;
}

std::string offset_refusal(const OpCall& call, const TileTarget& target) {
  switch (target.step) {
    case MacStep::avx2_words: return wide_offsets_refusal(call);
    case MacStep::avx2_bytes: return weight_offsets(call) == nullptr ? "" : "needs weights without an offset";
    default: return {};
  }
}

// Bytes per cycle and thread at which weights come from where they lie between two runs; measured on Cascade Lake.
double stream_rate(std::int64_t weight_bytes, const Machine& machine) {
  if (weight_bytes > machine.l3_bytes / 2) return 4.0;
  return weight_bytes > machine.l2_bytes / 2 ? 10.0 : 30.0;
}

}  // namespace

std::string attrs_refusal(const QuantizedConvAttrs& attrs) {
  if (attrs.x_zero_point < 0 || attrs.x_zero_point > 255) return "needs a zero point of x in 0..255";
  if (!is_8bit(attrs.to)) return attrs.residual == Residual::none ? "" : "needs an 8-bit output to add a residual";
  const IntegerRange range = range_of(attrs.to);
  if (attrs.zero_point < range.lowest || attrs.zero_point > range.highest)
    return "needs a zero point within the output type";
  if (!is_inside(attrs.lowest, attrs.highest, range)) return "needs clamp bounds within the output type";
  if (attrs.residual == Residual::after_rounding_integer && !is_inside(attrs.add_lowest, attrs.add_highest, range)) {
    return "needs clamp bounds of the addition within the output type";
  }
  const std::int64_t shift = attrs.add.shift;
  if (adds_after_rounding(attrs.residual) &&
      (std::abs(shift) > 255 || !is_inside(attrs.add_lowest + shift, attrs.add_highest + shift, range))) {
    return "needs clamp bounds of the addition within the output type";
  }
  return {};
}

int residual_in_place(const OpCall& call) {
  const bool has_residual = call.inputs.size() > kConvResidual && call.inputs[kConvResidual] != nullptr;
  return has_residual && call.inputs[kConvResidual]->shape == call.outputs[0].shape ? kConvResidual : -1;
}

std::string conv_refusal(const OpCall& call, const TileTarget& target) {
  if (input(call, kConvBiasRest) != nullptr) return "needs a bias of whole units";
  return direct_refusal(call, target);
}

std::string direct_refusal(const OpCall& call, const TileTarget& target) {
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  const Fact* x = input(call, kConvX);
  const Fact* w = input(call, kConvW);
  if (x->dtype != DType::u8) return "needs an input of type u8";
  if (w->dtype != DType::s8 || !w->is_constant()) return "needs constant weights of type s8";
  for (int index : {kConvBias, kConvMultiplier, kConvTable, kConvOffset, kConvBiasRest}) {
    const Fact* fact = input(call, index);
    if (fact != nullptr && !fact->is_constant()) return "needs constant bias, multiplier, table and weight offset";
  }
  if (std::string reason = offset_refusal(call, target); !reason.empty()) return reason;
  if (input(call, kConvBias) == nullptr) return "needs a bias";
  if (attrs.to != DType::s32 && input(call, kConvMultiplier) == nullptr) return "needs a multiplier";
  if (x->is_constant() || (input(call, kConvResidual) != nullptr && input(call, kConvResidual)->is_constant()))
    return "needs inputs known only in a run";
  if (auto reason = attrs_refusal(attrs); !reason.empty()) return reason;
  return geometry_refusal(attrs, x->shape, w->shape);
}

double conv_cost(const OpCall& call, const Machine& machine, const TileTarget& target) {
  constexpr double kGigahertz = 2.5;
  constexpr double kConfigureAmx = 400.0;
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  const ConvGeometry g = geometry_of(
      attrs,
      {call.inputs[kConvX]->shape, call.inputs[kConvW]->shape, call.outputs[0].shape, weight_offsets(call) != nullptr},
      target);
  const ChannelBlocks blocks = channel_blocks(g, target);
  const PixelTiles tiles = pixel_tiles(g, ceil_div(g.out_width, target.max_pixels(blocks.max_vectors)));
  double cycles = target.step == MacStep::amx ? kConfigureAmx : 0.0;
  for (const ChannelBlock& block : blocks.blocks)
    cycles += static_cast<double>(tiles.tiles()) * tile_cycles(g, target, tiles.pixels, block.vectors);
  // Arithmetic and the stream of weights overlap, though not quite: of two kernels that wait for the same weights, the
  // one with less to do is faster.
  constexpr double kNotHidden = 0.1;
  const double stream = static_cast<double>(blocks.weight_bytes) / stream_rate(blocks.weight_bytes, machine);
  return (std::max(cycles, stream) + kNotHidden * std::min(cycles, stream)) / kGigahertz;
}

}  // namespace octavo
