// Depthwise convolution in strips of interleaved rows (vpdpbusd, sdot), 16 channels or more. Results of 8 bits without
// a residual leave the registers finished; others are finished from the accumulators, as the kernels that go position
// by position do it. Part of kernels/.
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "kernels/compiled_for.h"
#include "kernels/depthwise/blocks.h"
#include "kernels/depthwise/depthwise.h"
#include "kernels/depthwise/rows.h"
#include "kernels/depthwise/schedule.h"
#include "kernels/depthwise/shape.h"
#include "kernels/move/separable.h"
#include "kernels/table/lookup.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
namespace {

using namespace strips;

enum VnniDepthwisePacked : std::size_t {
  kVnniWeights = 0,
  kVnniBias = 1,
  kVnniMultiplier = 2,
  kVnniTable = 3,
  kVnniRest = 4
};

// What the rows do not finish themselves.
bool finishes_from_sums(const EpilogueParts& parts) { return !is_8bit(parts.to) || parts.other >= 0; }
bool vnni_depthwise_are_finite(std::span<const float> multipliers) {
  return std::all_of(multipliers.begin(), multipliers.end(), [](float m) { return std::isfinite(m); });
}
// Whether 16 bits hold every result before it is a byte.
bool vnni_depthwise_fits_words(const StepSpec& spec, const Placement& placement, std::int64_t block_bytes) {
  constexpr double kMost = 32000.0;
  const auto* weights = spec.packed[kVnniWeights].as<std::int8_t>();
  const auto* bias = spec.packed[kVnniBias].as<std::int32_t>();
  const auto* multiplier = spec.packed[kVnniMultiplier].as<float>();
  for (const auto& unit : placement.units) {
    for (const PlacedBlock& placed : unit) {
      const std::int64_t lanes = placed.block.size();
      std::array<std::int64_t, kVnniBlocks[0]> most{};
      for (std::int64_t i = 0; i < block_bytes; ++i)
        most[static_cast<std::size_t>(i / 4 % lanes)] += 128 * std::abs(weights[placed.weights + i]);
      for (std::int64_t i = 0; i < lanes; ++i) {
        const std::int64_t at = placed.channels + i;
        const double sum =
            std::fabs(static_cast<double>(bias[at])) + static_cast<double>(most[static_cast<std::size_t>(i)]);
        if (!(sum * std::fabs(static_cast<double>(multiplier[at])) <= kMost)) return false;
      }
    }
  }
  return true;
}
EpilogueParts parts_of(const Attrs& attrs) {
  return *EpilogueParts::of(attrs.as<QuantizedConvAttrs>().epilogue, kConvOperands);
}

// ---- pack ----

template <const VnniSet& set>
std::vector<Tensor> pack_vnni_depthwise(const OpCall& call) {
  const DepthwiseShape s = DepthwiseShape::of(view_of(call));
  const Grouping grouping = Grouping::of(view_of(call));
  const Placement placement = place(s, grouping, set);
  const Weights w(call);
  const EpilogueParts parts = parts_of(*call.attrs);
  const Tensor multipliers = parts.constant(call, parts.multiplier), rests = parts.constant(call, parts.rest);
  const bool has_multipliers = parts.multiplier >= 0, has_rests = parts.rest >= 0;
  const bool in_channel_order = finishes_from_sums(parts);
  Tensor weights(DType::s8, Shape{placement.weight_bytes});
  Tensor bias(DType::s32, Shape{placement.channels});
  Tensor multiplier(DType::f32, Shape{placement.channels});
  Tensor rest(DType::f32, Shape{has_rests ? placement.channels : 0});
  for (const auto& unit : placement.units) {
    for (const PlacedBlock& placed : unit) {
      const Block& block = placed.block;
      for (std::int64_t r = 0; r < grouping.rows; ++r) {
        w.pack_row(s, grouping, block, r,
                   weights.as<std::int8_t>() + placed.weights + r * row_weight_bytes(s, grouping, block));
      }
      for (std::int64_t i = 0; i < block.size(); ++i) {
        const std::int64_t channel = block.first + vnni_channel(i / (block.size() / 4), i % (block.size() / 4));
        bias.as<std::int32_t>()[placed.channels + i] =
            w.corrected_bias(channel, call.inputs[kConvBias]->constant->as<std::int32_t>()[channel],
                             call.inputs[kConvX]->dtype == DType::s8, set);
        const std::int64_t finished = in_channel_order ? block.first + i : channel;
        if (has_multipliers) multiplier.as<float>()[placed.channels + i] = multipliers.as<float>()[finished];
        if (has_rests) rest.as<float>()[placed.channels + i] = rests.as<float>()[finished];
      }
    }
  }
  return {std::move(weights), std::move(bias), std::move(multiplier), parts.constant(call, parts.table),
          std::move(rest)};
}

// ---- run ----

struct VnniDepthwiseParams {
  const VnniSet* set;
  const DepthwiseFunctions* finishing;  // of sums
  DepthwiseShape shape;
  Grouping grouping;
  DepthwiseSchedule schedule;
  Placement placement;
  VnniRow row;      // without pointers and sizes
  VnniStrip strip;  // without pointers and sizes
  const std::int8_t* weights;
  const std::int32_t* bias;
  const float* multiplier;
  const float* rest;
  const std::uint8_t* table;
  const LookupFunctions* lookup;
  bool finishes_from_sums;
  int other;  // the input that is added, -1: none
  std::size_t y_element_bytes;
  std::int64_t row_groups;
  std::vector<VnniTap> taps;   // of a row of the window
  std::size_t staging_offset;  // in the scratch: a row of accumulators, or of results before the table
};

// Output columns [begin, end) of a group of output rows, for one block.
struct Tile {
  const PlacedBlock* placed;
  std::int64_t image, row_group, begin, end;
};

// Output rows of a tile by way of a strip, or each at once.
bool is_direct(const VnniDepthwiseParams& params, const Block& block) {
  return params.schedule.direct && params.set->blocks[block.kind].direct != nullptr;
}

// Where the rows under a tile lie.
void find_rows(const VnniDepthwiseParams& params, const Tile& tile, const std::uint8_t* x, VnniStrip& strip,
               const std::uint8_t** rows) {
  const DepthwiseShape& s = params.shape;
  const std::int64_t first_column = tile.begin * s.stride_width - s.pad_left;
  strip.first_inside = std::clamp<std::int64_t>(-first_column, 0, strip.columns);
  strip.end_inside = std::clamp<std::int64_t>(s.width - first_column, strip.first_inside, strip.columns);
  for (std::int64_t j = 0; j < 4 * params.grouping.groups; ++j) {
    const std::int64_t ih = tile.row_group * params.schedule.rows * s.stride_height - s.pad_top + j * s.dilation_height;
    const bool is_used = j < strip.used_rows;  // else its weights are 0
    const bool is_inside = is_used && ih >= 0 && ih < s.height && strip.first_inside < strip.end_inside;
    const std::int64_t pixel = (tile.image * s.height + ih) * s.width + first_column + strip.first_inside;
    rows[j] = is_inside ? x + pixel * s.channels + tile.placed->block.first : nullptr;
  }
  strip.rows = rows;
}

void accumulate_row(const VnniDepthwiseParams& params, const Block& block, const VnniStrip& strip, const VnniRow& row) {
  const VnniFunctions& functions = params.set->blocks[block.kind];
  is_direct(params, block) ? functions.direct(strip, row) : functions.row(row);
}

// One output row of a tile, by way of its accumulators. `first`: the element of its first position and channel.
void run_row_by_sums(const VnniDepthwiseParams& params, const Tile& tile, const VnniStrip& strip, VnniRow row,
                     std::int64_t first, const StepBuffers& buffers) {
  const Block& block = tile.placed->block;
  const std::byte* residual = params.other < 0 ? nullptr : buffers.inputs[static_cast<std::size_t>(params.other)];
  row.sums = reinterpret_cast<std::int32_t*>(buffers.scratch + params.staging_offset);
  accumulate_row(params, block, strip, row);
  RowEpilogue epilogue = row.epilogue;
  epilogue.table = params.table;
  for (std::int64_t i = 0; i < row.count; ++i) {
    const std::int64_t element = first + i * params.shape.channels;
    params.finishing->finish(epilogue, row.sums + i * block.size(), block.size(),
                             residual == nullptr ? nullptr : reinterpret_cast<const std::uint8_t*>(residual) + element,
                             buffers.outputs[0] + static_cast<std::size_t>(element) * params.y_element_bytes);
  }
}

// What a run hands to tile after tile, each of which changes its places.
struct Work {
  VnniRow row;
  VnniStrip strip;
  const std::uint8_t* rows[64];
};

void run_vnni_depthwise_tile(const VnniDepthwiseParams& params, const Tile& tile, Work& work,
                             const StepBuffers& buffers) {
  const DepthwiseShape& s = params.shape;
  const Block& block = tile.placed->block;
  auto* scratch = reinterpret_cast<std::uint8_t*>(buffers.scratch);
  VnniStrip& strip = work.strip;
  strip.columns = (tile.end - tile.begin - 1) * s.stride_width + (s.kernel_width - 1) * s.dilation_width + 1;
  strip.phase_columns = (strip.columns + s.stride_width - 1) / s.stride_width;
  find_rows(params, tile, reinterpret_cast<const std::uint8_t*>(buffers.inputs[kConvX]), strip, work.rows);
  strip.strip = scratch;
  if (!is_direct(params, block)) params.set->blocks[block.kind].interleave(strip);
  VnniRow& row = work.row;
  row.taps = params.taps.data();
  row.strip = scratch;
  row.phase_columns = strip.phase_columns;
  row.bias = params.bias + tile.placed->channels;
  row.epilogue.multiplier = params.multiplier + tile.placed->channels;
  row.epilogue.rest = params.rest == nullptr ? nullptr : params.rest + tile.placed->channels;
  row.count = tile.end - tile.begin;
  for (std::int64_t r = 0; r < params.schedule.rows; ++r) {
    const std::int64_t oh = tile.row_group * params.schedule.rows + r;
    if (oh >= s.out_height) break;
    const std::int64_t first = ((tile.image * s.out_height + oh) * s.out_width + tile.begin) * s.channels + block.first;
    auto* y = reinterpret_cast<std::uint8_t*>(buffers.outputs[0]) + first;
    std::uint8_t* staging = scratch + params.staging_offset;
    row.weights = params.weights + tile.placed->weights + r * row_weight_bytes(s, params.grouping, block);
    if (params.finishes_from_sums) {
      run_row_by_sums(params, tile, strip, row, first, buffers);
      continue;
    }
    row.y = params.table == nullptr ? y : staging;
    row.y_stride = params.table == nullptr ? s.channels : block.size();
    accumulate_row(params, block, strip, row);
    if (params.table == nullptr) continue;
    params.lookup->bytes(params.table, staging, staging, row.count * block.size());
    row.y = y;
    row.y_stride = s.channels;
    params.set->blocks[block.kind].spread(staging, row);
  }
}

void run_vnni_depthwise(const VnniDepthwiseParams& params, const StepBuffers& buffers, ItemRange range) {
  const DepthwiseSchedule& schedule = params.schedule;
  const auto units = static_cast<std::int64_t>(params.placement.units.size());
  const std::int64_t row_items = params.shape.batch * params.row_groups;
  Work work{.row = params.row, .strip = params.strip};
  for (std::int64_t item = range.begin; item < range.end; ++item) {
    const std::int64_t rows = schedule.by_channels ? item % row_items : item / units,
                       unit = schedule.by_channels ? item / row_items : item % units;
    for (const PlacedBlock& placed : params.placement.units[static_cast<std::size_t>(unit)]) {
      for (std::int64_t begin = 0; begin < params.shape.out_width; begin += schedule.columns) {
        const std::int64_t end = std::min(begin + schedule.columns, params.shape.out_width);
        run_vnni_depthwise_tile(params, {&placed, rows / params.row_groups, rows % params.row_groups, begin, end}, work,
                                buffers);
      }
    }
  }
}

// ---- the kernel ----

std::string refuse_vnni_depthwise(const CallView& call) {
  if (const std::string reason = refuse_not_depthwise(call); !reason.empty()) return reason;
  const DepthwiseShape s = DepthwiseShape::of(call);
  if (s.channels != s.in_channels) return "needs one output channel per input channel";
  if (s.channels < 16) return "needs at least 16 channels";
  if (s.stride_width > 8 || (s.kernel_width - 1) * s.dilation_width > 256)
    return "needs strides up to 8 and a window of at most 256 columns";
  return {};
}

std::string vnni_depthwise_refusal(const OpCall& call) {
  if (const std::string reason = refuse_vnni_depthwise(view_of(call)); !reason.empty()) return reason;
  if (const std::string reason = refuse_variable_weights(call); !reason.empty()) return reason;
  return Weights(call).refusal();
}

DepthwiseStrips strips_of(const DepthwiseShape& s, const Grouping& grouping, const Placement& placement,
                          const VnniSet& set) {
  const bool has_wide_block = std::any_of(placement.units.begin(), placement.units.end(), [&](const auto& unit) {
    return std::any_of(unit.begin(), unit.end(),
                       [&](const PlacedBlock& placed) { return placed.block.kind == set.widest; });
  });
  return {s,
          grouping.groups,
          grouping.rows,
          static_cast<std::int64_t>(placement.units.size()),
          has_wide_block,
          set.least_direct_stride,
          grouping.parts == 1 ? set.most_direct_rows : 0};
}

std::vector<VnniTap> vnni_depthwise_taps_of(const DepthwiseShape& s, const Grouping& grouping) {
  std::vector<VnniTap> taps;
  for (std::int64_t column = 0; column < s.kernel_width * grouping.parts; ++column) {
    const std::int64_t under = column / grouping.parts * s.dilation_width;
    taps.push_back({under % s.stride_width, under / s.stride_width});
  }
  return taps;
}

template <const VnniSet& set, const DepthwiseFunctions& finishing, const LookupFunctions& (*lookup)()>
Result<std::unique_ptr<Step>> make_vnni_depthwise(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  const DepthwiseShape s = DepthwiseShape::of(call);
  const Grouping grouping = Grouping::of(call);
  Placement placement = place(s, grouping, set);
  const EpilogueParts parts = parts_of(*call.attrs);
  const bool has_table = parts.table >= 0, has_rest = parts.rest >= 0;
  const bool is_whole = is_packed_as(spec, kVnniWeights, DType::s8, placement.weight_bytes) &&
                        is_packed_as(spec, kVnniBias, DType::s32, placement.channels) &&
                        is_packed_as(spec, kVnniMultiplier, DType::f32, placement.channels) &&
                        (!has_table || is_packed_as(spec, kVnniTable, call.output().dtype, 256)) &&
                        (!has_rest || is_packed_as(spec, kVnniRest, DType::f32, placement.channels));
  if (!is_whole || !is_read_in_run(spec, kConvX) || !parts.is_read_in_run(spec)) return not_as_packed(spec);
  const DepthwiseStrips strips = strips_of(s, grouping, placement, set);
  const auto schedule =
      spec.schedule.empty() ? depthwise_schedule(strips) : decode_depthwise_schedule(spec.schedule, strips);
  if (!schedule) return refused_at_load(spec, "needs a schedule that is legal for the shape");
  const std::int64_t row_groups = (s.out_height + schedule->rows - 1) / schedule->rows;
  const std::int64_t items = s.batch * row_groups * static_cast<std::int64_t>(placement.units.size());
  const auto staging_offset = static_cast<std::size_t>(strip_bytes(strips, schedule->columns));
  const bool is_signed = call.input(kConvX).dtype == DType::s8;
  VnniDepthwiseParams params{
      .set = &set,
      .finishing = &finishing,
      .shape = s,
      .grouping = grouping,
      .schedule = *schedule,
      .placement = std::move(placement),
      .row = {.groups = grouping.groups,
              .phases = s.stride_width,
              .kernel_width = s.kernel_width * grouping.parts,
              .parts = grouping.parts,
              .epilogue = parts.for_rows(spec),
              .to_signed = parts.to == DType::s8},
      .strip = {.groups = grouping.groups,
                .used_rows = (schedule->rows - 1) * s.stride_height + s.kernel_height,
                .column_stride = s.channels,
                .phases = s.stride_width,
                .padding = static_cast<std::uint8_t>(attrs.x_zero_point),
                .flip = static_cast<std::uint8_t>(is_signed == set.takes_signed ? 0 : 0x80)},
      .weights = spec.packed[kVnniWeights].as<std::int8_t>(),
      .bias = spec.packed[kVnniBias].as<std::int32_t>(),
      .multiplier = spec.packed[kVnniMultiplier].as<float>(),
      .rest = has_rest ? spec.packed[kVnniRest].as<float>() : nullptr,
      .table = has_table ? spec.packed[kVnniTable].as<std::uint8_t>() : nullptr,
      .lookup = &lookup(),
      // Of Arm channels lie in their order in any case, and rows take no product for NaN.
      .finishes_from_sums =
          finishes_from_sums(parts) ||
          (set.takes_signed && !vnni_depthwise_are_finite(spec.packed[kVnniMultiplier].span<float>())),
      .other = parts.other,
      .y_element_bytes = size_of(call.output().dtype),
      .row_groups = row_groups,
      .taps = vnni_depthwise_taps_of(s, grouping),
      .staging_offset = staging_offset};
  // A table that makes s8 of u8 is a zero point that is 128 less.
  if (has_table && !params.finishes_from_sums && parts.to == DType::u8 && flips_sign(params.table)) {
    params.table = nullptr;
    params.row.to_signed = true;
    params.row.epilogue.round.after -= 128;
  }
  const RowRound& round = params.row.epilogue.round;
  params.row.is_bare =
      set.takes_signed && !params.finishes_from_sums && params.table == nullptr && !has_rest &&
      round.after == (params.row.to_signed ? -128 : 0) && round.lowest_integer == 0 && round.highest_integer == 255 &&
      vnni_depthwise_fits_words(spec, params.placement, row_weight_bytes(s, grouping, {0, set.widest}));
  const std::size_t staged_bytes = params.finishes_from_sums ? sizeof(std::int32_t) : 1;
  const std::size_t scratch = staging_offset + static_cast<std::size_t>(schedule->columns * 64) * staged_bytes;
  return make_step(std::move(params), items, run_vnni_depthwise, scratch, schedule->encode());
}

// About 0.25 ns per result of a 3x3 window at 64 channels (2.5 GHz, cloud machine, 2026-11); more taps and overlapping
// blocks in proportion.
template <const VnniSet& set>
double vnni_depthwise_cost(const OpCall& call, const Machine&) {
  const DepthwiseShape s = DepthwiseShape::of(view_of(call));
  const Grouping grouping = Grouping::of(view_of(call));
  const double blocks = static_cast<double>(place(s, grouping, set).channels) / static_cast<double>(s.channels);
  const double results = static_cast<double>(s.batch * s.out_height * s.out_width * s.channels);
  const EpilogueParts parts = parts_of(*call.attrs);
  const double finish = (parts.table >= 0 ? 0.25 : 0.0) + (finishes_from_sums(parts) ? 0.2 : 0.0);
  // Of Arm by instructions: a register of 16 bytes instead of 64, and none is shared by rows of bytes.
  const double by_width = set.widest == 0 ? 1.0 : 3.0;
  return 300.0 + results * blocks * by_width *
                     (0.1 + 0.05 * static_cast<double>(grouping.groups * grouping.parts * s.kernel_width) + finish);
}

// Of the thread that takes longest, beside what `cost` counts: rows of input that strips share with others are
// interleaved again, and so are the columns under a window's edges.
template <const VnniSet& set>
double schedule_cost(const OpCall& call, const Machine& machine, const DepthwiseStrips& strips,
                     const DepthwiseSchedule& schedule, int threads) {
  constexpr double kInterleave = 0.04, kStrip = 25.0;  // ns of a byte, of a strip
  const DepthwiseShape& s = strips.shape;
  const std::int64_t row_items = s.batch * ((s.out_height + schedule.rows - 1) / schedule.rows);
  const std::int64_t items = row_items * strips.units;
  const auto strip_count = [&](std::int64_t rows, std::int64_t columns) {
    return static_cast<double>((s.out_height + rows - 1) / rows * ((s.out_width + columns - 1) / columns));
  };
  const DepthwiseSchedule chosen = depthwise_schedule(strips);
  const auto extra = [&](const DepthwiseSchedule& one) {
    const double count = strip_count(one.rows, one.columns);
    const double bytes = one.direct ? 0.0 : static_cast<double>(strip_bytes(strips, one.columns));
    return static_cast<double>(s.batch * strips.units) * count * (kStrip + kInterleave * bytes);
  };
  const double all = std::max(0.5 * vnni_depthwise_cost<set>(call, machine),
                              vnni_depthwise_cost<set>(call, machine) + extra(schedule) - extra(chosen));
  const std::int64_t slowest = (items + threads - 1) / threads;
  return all * static_cast<double>(slowest) / static_cast<double>(items);
}

template <const VnniSet& set>
std::vector<Candidate> vnni_depthwise_candidates(const OpCall& call, const Machine& machine, int threads) {
  const DepthwiseShape s = DepthwiseShape::of(view_of(call));
  const Grouping grouping = Grouping::of(view_of(call));
  const DepthwiseStrips strips = strips_of(s, grouping, place(s, grouping, set), set);
  std::vector<Candidate> all;
  for (const DepthwiseSchedule& schedule : depthwise_schedules(strips))
    all.push_back({schedule.encode(), schedule_cost<set>(call, machine, strips, schedule, threads)});
  return all;
}

template <const VnniSet& set>
std::string vnni_depthwise_schedule_refusal(const OpCall& call, const Machine&, std::span<const std::byte> schedule) {
  const DepthwiseShape s = DepthwiseShape::of(view_of(call));
  const Grouping grouping = Grouping::of(view_of(call));
  const DepthwiseStrips strips = strips_of(s, grouping, place(s, grouping, set), set);
  return decode_depthwise_schedule(schedule, strips) ? "" : "is not legal for this shape";
}

template <const VnniSet& set, const DepthwiseFunctions& finishing, const LookupFunctions& (*lookup)(), Isa isa>
constexpr KernelChoice vnni_depthwise_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "quantized_conv",
                   .needs = isa,
                   .packs = true,
                   .knobs = kDepthwiseKnobs,
                   .prepare = prepare_on<isa, refuse_vnni_depthwise, make_vnni_depthwise<set, finishing, lookup>>()},
          .refusal = vnni_depthwise_refusal,
          .cost = vnni_depthwise_cost<set>,
          .candidates = vnni_depthwise_candidates<set>,
          .schedule_refusal = vnni_depthwise_schedule_refusal<set>,
          .pack = pack_vnni_depthwise<set>,
          .packed_layout = same_layout};
}

constexpr KernelChoice kVnniDepthwiseChoices[] = {
    vnni_depthwise_kernel<kStripsAvx512Vnni, CompiledFor<DepthwiseFunctions, Isa::avx512>::table, lookup_of_avx512,
                          Isa::avx512vnni>("depthwise_q8s8_4x64_avx512vnni"),
    vnni_depthwise_kernel<kStripsDotprod, CompiledFor<DepthwiseFunctions, Isa::neon>::table, lookup_of_8_lanes,
                          Isa::dotprod>("depthwise_q8s8_4x16_dotprod"),
};
constexpr auto kVnniDepthwiseCodes = codes_of(kVnniDepthwiseChoices);

}  // namespace

std::span<const KernelCode> depthwise_vnni_codes() { return kVnniDepthwiseCodes; }
std::span<const KernelChoice> depthwise_vnni_choices() { return kVnniDepthwiseChoices; }

}  // namespace octavo
