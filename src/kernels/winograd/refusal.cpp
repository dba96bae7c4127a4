// What the winograd family can do, and what it costs. Part of kernels/winograd/.
#include <algorithm>
#include <cmath>

#include "kernels/conv/conv_step.h"
#include "kernels/weight_offsets.h"
#include "kernels/winograd/winograd_step.h"

namespace octavo {
namespace {

// Cycles of the stages per vector, measured on Cascade Lake (bench/); AVX2 scaled by its multiply-adds.
struct StageCycles {
  double step;    // one multiply-add of pairs
  double tile;    // a tile and position, beside its multiply-adds
  double input;   // a tile of 2 * lanes channels
  double sums;    // a tile of `lanes` outputs
  double output;  // a pixel of `lanes` outputs
};

StageCycles stages_of(const TileTarget& target) {
  if (target.step == MacStep::pairs_avx2) return {.step = 0.83, .tile = 2, .input = 250, .sums = 160, .output = 5};
  return {.step = 0.55, .tile = 2.5, .input = 330, .sums = 205, .output = 5};
}

// Transformed weights come from memory first, and for each further chunk from level 3 where they fit.
double stream_cycles(const WinogradGeometry& g, const Machine& machine) {
  constexpr double kFromMemory = 2.4, kFromLevel3 = 6.0;  // bytes a cycle
  const auto bytes = static_cast<double>(g.transformed_bytes());
  const double chunks = std::ceil(static_cast<double>(g.tiles()) / static_cast<double>(kChunkTiles));
  return bytes / kFromMemory +
         (chunks - 1) * bytes / (bytes <= static_cast<double>(machine.l3_bytes) / 2 ? kFromLevel3 : kFromMemory);
}

}  // namespace

std::string winograd_refusal(const OpCall& call, const WinogradTarget& target) {
  if (auto reason = conv_refusal(call, target.epilogue); !reason.empty()) return reason;
  if (call.attrs->as<QuantizedConvAttrs>().epilogue.find<AddRest>() != nullptr) return "needs a bias of whole units";
  if (weight_offsets(call) != nullptr) return "needs weights without a zero point";
  return winograd_geometry_refusal(call.attrs->as<QuantizedConvAttrs>(), call.inputs[kConvX]->shape,
                                   call.inputs[kConvW]->shape);
}

WinogradCycles winograd_cycles(const WinogradGeometry& g, const WinogradTarget& target) {
  const StageCycles stage = stages_of(target.pairs);
  const auto tiles = static_cast<double>(g.tiles()), vectors = static_cast<double>(g.vectors),
             pairs = static_cast<double>(g.pairs);
  return {.products = tiles * kWinogradPositions * vectors * (pairs * stage.step + stage.tile),
          .input = tiles * static_cast<double>(g.padded_channels / (2 * g.lanes)) * stage.input,
          .outputs = tiles * vectors * (stage.sums + 16 * stage.output)};
}

double winograd_cost(const OpCall& call, const Machine& machine, const WinogradTarget& target) {
  constexpr double kGigahertz = 2.5;
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  const WinogradGeometry g =
      winograd_geometry(attrs, call.inputs[kConvX]->shape, call.inputs[kConvW]->shape, call.outputs[0].shape, target);
  const WinogradCycles cycles = winograd_cycles(g, target);
  double more_parts = 0;  // vectors times the parts beyond the first
  for (std::int64_t block = 0; block < g.blocks(); ++block)
    more_parts += static_cast<double>(parts_needed(g, *call.inputs[kConvW]->constant, block) - 1) * g.vectors_of(block);
  const double more_sums = static_cast<double>(g.tiles()) * more_parts * stages_of(target.pairs).sums;
  return (std::max(cycles.products, stream_cycles(g, machine)) + cycles.input + cycles.outputs + more_sums) /
         kGigahertz;
}

}  // namespace octavo
