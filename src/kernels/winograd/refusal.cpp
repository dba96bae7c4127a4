// What the winograd family can do, and what it costs. Part of kernels/winograd/.
#include <algorithm>
#include <cmath>

#include "kernels/conv/conv_step.h"
#include "kernels/weight_offsets.h"
#include "kernels/winograd/schedule.h"
#include "kernels/winograd/winograd_step.h"
#include "ops/epilogue.h"
#include "ops/quantized_conv/quantized_conv.h"

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

StageCycles stages_of(const TileTarget& target, const MachineSpeeds& speeds) {
  StageCycles stages{.step = 0.55, .tile = 2.5, .input = 330, .sums = 205, .output = 5};
  if (target.step == MacStep::pairs_avx2) stages = {.step = 0.83, .tile = 2, .input = 250, .sums = 160, .output = 5};
  if (target.step == MacStep::neon_words) {  // by instructions: two on vectors in a cycle, one of them smlal
    const double units = kReferenceSpeeds.vectors_per_cycle / speeds.vectors_per_cycle;
    stages = {.step = 2, .tile = 2 * units, .input = 190 * units, .sums = 110 * units, .output = 5 * units};
  }
  stages.step *= target.cycle_scale(speeds);
  return stages;
}

WinogradGeometry geometry_of(const OpCall& call, const WinogradTarget& target) {
  return winograd_geometry(call.attrs->as<QuantizedConvAttrs>(), call.inputs[kConvX]->shape, call.inputs[kConvW]->shape,
                           call.outputs[0].shape, target);
}

// Transformed weights come from memory first, and for each further chunk from level 3 where they fit; as they are
// fetched, at a part of what reading alone reaches.
double stream_cycles(const WinogradGeometry& g, double chunks, const Machine& machine) {
  constexpr double kReached = 0.6;
  const MachineSpeeds& speeds = machine.speeds;
  const double memory = kReached * speeds.bytes_per_cycle(speeds.memory_gbytes),
               level3 = kReached * speeds.bytes_per_cycle(speeds.level3_gbytes);
  const auto bytes = static_cast<double>(g.transformed_bytes());
  return bytes / memory + (chunks - 1) * bytes / (bytes <= static_cast<double>(machine.l3_bytes) / 2 ? level3 : memory);
}

// Vectors times the parts beyond the first.
double more_parts(const OpCall& call, const WinogradGeometry& g) {
  double sum = 0;
  for (std::int64_t block = 0; block < g.blocks(); ++block)
    sum += static_cast<double>(parts_needed(g, *call.inputs[kConvW]->constant, block) - 1) * g.vectors_of(block);
  return sum;
}

// Of the thread that takes longest, beside its input: narrower groups of tiles load weights more often, and sums are
// stored and added for each slice.
double product_cycles(const WinogradGeometry& g, const WinogradTarget& target, const WinogradSchedule& s,
                      const MachineSpeeds& speeds, double own_groups) {
  constexpr double kLatency = 5.0, kLoad = 0.5, kAdd = 1.5;
  const StageCycles stage = stages_of(target.pairs, speeds);
  const double pixels = tile_groups(g, s.groups).pixels, vectors = g.block_vectors,
               pairs = static_cast<double>(g.pairs);
  const double step = std::max({kLatency, pixels * vectors * stage.step, kLoad * (vectors + pixels * vectors)});
  const double sums = pixels * vectors * (stage.tile + kAdd * (static_cast<double>(ceil_div(g.pairs, s.slice)) - 1));
  return own_groups * static_cast<double>(g.vectors) / vectors * kWinogradPositions * (pairs * step + sums);
}

// Of the thread that takes longest.
double schedule_cycles(const WinogradGeometry& g, const WinogradTarget& target, const WinogradSchedule& s, int threads,
                       const Machine& machine) {
  constexpr double kNotAhead = 0.5;  // of the stream, where nothing is fetched ahead
  const std::int64_t own = s.by_channels ? s.groups : ceil_div(s.groups, threads);
  const double of_tiles = static_cast<double>(own) / static_cast<double>(s.groups),
               of_blocks = s.by_channels
                               ? static_cast<double>(ceil_div(g.blocks(), threads)) / static_cast<double>(g.blocks())
                               : 1.0;
  const WinogradCycles whole = winograd_cycles(g, target, machine.speeds);
  const double products = of_blocks * product_cycles(g, target, s, machine.speeds, static_cast<double>(own));
  const double stream = of_blocks * stream_cycles(g, static_cast<double>(ceil_div(own, s.chunk)), machine);
  return std::max(products, stream) + (s.prefetches ? 0.0 : kNotAhead * std::min(products, stream)) +
         of_tiles * (whole.input + of_blocks * whole.outputs);
}

}  // namespace

std::string winograd_refusal(const OpCall& call, const WinogradTarget& target) {
  if (auto reason = conv_refusal(call, target.epilogue); !reason.empty()) return reason;
  if (call.attrs->as<QuantizedConvAttrs>().epilogue.find<AddRest>() != nullptr) return "needs a bias of whole units";
  if (weight_offsets(call) != nullptr) return "needs weights without a zero point";
  return winograd_geometry_refusal(call.attrs->as<QuantizedConvAttrs>(), call.inputs[kConvX]->shape,
                                   call.inputs[kConvW]->shape);
}

WinogradCycles winograd_cycles(const WinogradGeometry& g, const WinogradTarget& target, const MachineSpeeds& speeds) {
  const StageCycles stage = stages_of(target.pairs, speeds);
  const auto tiles = static_cast<double>(g.tiles()), vectors = static_cast<double>(g.vectors),
             pairs = static_cast<double>(g.pairs);
  return {.products = tiles * kWinogradPositions * vectors * (pairs * stage.step + stage.tile),
          .input = tiles * static_cast<double>(g.padded_channels / (2 * g.lanes)) * stage.input,
          .outputs = tiles * vectors * (stage.sums + 16 * stage.output)};
}

double winograd_cost(const OpCall& call, const Machine& machine, const WinogradTarget& target) {
  const WinogradGeometry g = geometry_of(call, target);
  const WinogradCycles cycles = winograd_cycles(g, target, machine.speeds);
  const double more_sums =
      static_cast<double>(g.tiles()) * more_parts(call, g) * stages_of(target.pairs, machine.speeds).sums;
  const double chunks = std::ceil(static_cast<double>(g.tiles()) / static_cast<double>(kChunkTiles));
  return machine.speeds.ns_of_cycles(std::max(cycles.products, stream_cycles(g, chunks, machine)) + cycles.input +
                                     cycles.outputs + more_sums);
}

std::vector<Candidate> winograd_candidates(const OpCall& call, const Machine& machine, int threads,
                                           const WinogradTarget& target) {
  const WinogradGeometry g = geometry_of(call, target);
  const double more_sums =
      static_cast<double>(g.tiles()) * more_parts(call, g) * stages_of(target.pairs, machine.speeds).sums / threads;
  std::vector<Candidate> candidates;
  for (const WinogradSchedule& schedule : winograd_schedules(g, target, threads)) {
    const double cycles = schedule_cycles(g, target, schedule, threads, machine) + more_sums;
    candidates.push_back({schedule.encode(), machine.speeds.ns_of_cycles(cycles)});
  }
  return candidates;
}

std::string winograd_schedule_refusal(const OpCall& call, std::span<const std::byte> schedule,
                                      const WinogradTarget& target) {
  return decode_winograd_schedule(schedule, geometry_of(call, target), target) ? "" : "is not legal for this shape";
}

}  // namespace octavo
