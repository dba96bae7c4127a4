// What the conv family can do, and what it costs. Part of kernels/conv/.
#include <algorithm>

#include "kernels/conv/amx_schedule.h"
#include "kernels/conv/conv_step.h"
#include "kernels/conv/split.h"
#include "kernels/weight_offsets.h"
#include "ops/epilogue.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
namespace {

const Fact* input(const OpCall& call, int index) {
  return static_cast<std::size_t>(index) < call.inputs.size() ? call.inputs[static_cast<std::size_t>(index)] : nullptr;
}

// Two products of -128 leave 16 bits.
std::string lowest_refusal(const OpCall& call) {
  const auto weights = input(call, kConvW)->constant->span<std::int8_t>();
  return std::ranges::find(weights, std::int8_t{-128}) == weights.end() ? "" : "needs weights above -128";
}

std::string offset_refusal(const OpCall& call, const TileTarget& target) {
  switch (target.step) {
    case MacStep::avx2_words: return wide_offsets_refusal(call);
    case MacStep::neon_pairs: return lowest_refusal(call);
    case MacStep::avx2_bytes: return weight_offsets(call) == nullptr ? "" : "needs weights without an offset";
    default: return {};
  }
}

// Bytes per cycle and thread at which weights come from where they lie between two runs.
double stream_rate(std::int64_t weight_bytes, const Machine& machine) {
  const MachineSpeeds& speeds = machine.speeds;
  if (weight_bytes > machine.l3_bytes / 2) return speeds.bytes_per_cycle(speeds.memory_gbytes);
  return speeds.bytes_per_cycle(weight_bytes > machine.l2_bytes / 2 ? speeds.level3_gbytes : speeds.level2_gbytes);
}

// Arithmetic and the stream of weights overlap, though not quite: of two kernels that wait for the same weights, the
// one with less to do is faster.
double nanoseconds(double cycles, const ChannelBlocks& blocks, const Machine& machine) {
  constexpr double kNotHidden = 0.1;
  const double stream = static_cast<double>(blocks.weight_bytes) / stream_rate(blocks.weight_bytes, machine);
  return machine.speeds.ns_of_cycles(std::max(cycles, stream) + kNotHidden * std::min(cycles, stream));
}

// Cycles of a schedule are compared with each other as they were counted; all of them go by how fast tiles are.
double amx_nanoseconds(double cycles, const ChannelBlocks& blocks, const Machine& machine) {
  constexpr double kConfigure = 400.0;
  return nanoseconds((cycles + kConfigure) * kTileAmx.cycle_scale(machine.speeds), blocks, machine);
}

double tiles_cycles(const ConvGeometry& g, const ChannelBlocks& blocks, const TileTarget& target,
                    const MachineSpeeds& speeds) {
  const PixelTiles tiles = pixel_tiles(g, ceil_div(g.out_width, target.max_pixels(blocks.max_vectors)));
  double cycles = 0.0;
  for (const ChannelBlock& block : blocks.blocks)
    cycles += static_cast<double>(tiles.tiles()) * tile_cycles(g, target, tiles.pixels, block.vectors, speeds);
  return cycles;
}

}  // namespace

int residual_in_place(const OpCall& call) {
  const auto parts = EpilogueParts::of(call.attrs->as<QuantizedConvAttrs>().epilogue, kConvOperands);
  if (!parts || parts->other < 0) return -1;
  const Fact& other = *call.inputs[static_cast<std::size_t>(parts->other)];
  const Fact& y = call.outputs[0];
  return other.shape == y.shape && size_of(other.dtype) == size_of(y.dtype) ? parts->other : -1;
}

std::string conv_refusal(const OpCall& call, const TileTarget& target) {
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  const Fact* x = input(call, kConvX);
  const Fact* w = input(call, kConvW);
  if (x->dtype != DType::u8) return "needs an input of type u8";
  if (w->dtype != DType::s8 || !w->is_constant()) return "needs constant weights of type s8";
  for (int index : {kConvBias, kConvOffset}) {
    const Fact* fact = input(call, index);
    if (fact != nullptr && !fact->is_constant()) return "needs a constant bias and weight offset";
  }
  if (std::string reason = offset_refusal(call, target); !reason.empty()) return reason;
  if (x->is_constant()) return "needs inputs known only in a run";
  if (call.spec == &kQuantizedConv && attrs.epilogue.find<ScaleInRun>() != nullptr)
    return "needs a scale known at compile time";
  if (auto reason = epilogue_refusal(call, attrs.epilogue, kConvOperands); !reason.empty()) return reason;
  if (auto reason = geometry_refusal(attrs, x->shape, w->shape); !reason.empty()) return reason;
  if (target.step != MacStep::amx) return {};
  if (w->shape[3] == 1 && attrs.groups > 1) return "needs more than one input channel per group";
  return amx_refusal(geometry_of(call, target));
}

// A channel of its own for each group leaves compiled tiles one vector and one byte of four: 7 instructions for each
// multiply-accumulate, counted, where those over channels have a tenth of that.
constexpr double kLoneChannels = 5.0;

double conv_cost(const OpCall& call, const Machine& machine, const TileTarget& target) {
  const ConvGeometry g = geometry_of(call, target);
  const ChannelBlocks blocks = channel_blocks(g, target);
  const bool has_lone_channels = input(call, kConvW)->shape[3] == 1 && call.attrs->as<QuantizedConvAttrs>().groups > 1;
  const double factor = target.is_compiled() && has_lone_channels ? kLoneChannels : 1.0;
  if (target.step != MacStep::amx)
    return factor * nanoseconds(tiles_cycles(g, blocks, target, machine.speeds), blocks, machine);
  const AmxConditions conditions{machine.l2_bytes};
  return amx_nanoseconds(amx_cycles(g, blocks, amx_schedule(g, blocks, conditions), conditions), blocks, machine);
}

ScheduledConv scheduled_conv(const OpCall& call, const TileTarget& target) {
  return {target, geometry_of(call, target), call.attrs->as<QuantizedConvAttrs>().epilogue.find<Lookup>() != nullptr};
}

std::vector<Candidate> conv_candidates(const ScheduledConv& conv, const Machine& machine, int threads) {
  const ConvGeometry& g = conv.geometry;
  const ChannelBlocks blocks = channel_blocks(g, conv.target);
  std::vector<Candidate> candidates;
  const auto add = [&](const auto& schedule, double nanoseconds) {
    candidates.push_back({schedule.encode(), nanoseconds});
  };
  if (conv.target.step == MacStep::amx) {
    const AmxConditions conditions{machine.l2_bytes, threads};
    for (const AmxSchedule& schedule : amx_schedules(g, blocks, conditions))
      add(schedule, amx_nanoseconds(amx_cycles(g, blocks, schedule, conditions), blocks, machine));
    return candidates;
  }
  const ConvConditions conditions{conv.target, tile_pixels(conv.target, blocks, conv.has_table), threads,
                                  machine.l2_bytes, machine.speeds};
  for (const ConvSchedule& schedule : conv_schedules(g, blocks, conditions))
    add(schedule, nanoseconds(conv_cycles(g, blocks, schedule, conditions), blocks, machine));
  return candidates;
}

std::string conv_schedule_refusal(const ScheduledConv& conv, const Machine& machine,
                                  std::span<const std::byte> schedule) {
  const ConvGeometry& g = conv.geometry;
  const ChannelBlocks blocks = channel_blocks(g, conv.target);
  const bool is_legal =
      conv.target.step == MacStep::amx
          ? decode_amx_schedule(schedule, g, blocks, {machine.l2_bytes}).has_value()
          : decode_conv_schedule(schedule, g, blocks, tile_pixels(conv.target, blocks, conv.has_table)).has_value();
  return is_legal ? "" : "is not legal for this shape";
}

}  // namespace octavo
