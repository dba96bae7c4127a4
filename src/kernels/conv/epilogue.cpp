// Epilogue constants, configuration, and the check of what was packed. Part of kernels/conv/.
#include "kernels/conv/epilogue.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/call.h"
#include "kernels/table/lookup.h"
#include "ops/epilogue.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
namespace {

template <class T, std::size_t N, class V>
void fill(T (&lanes)[N], V value) {
  std::fill_n(lanes, N, static_cast<T>(value));
}

// Whether |(f32(acc) + rest) * multiplier + residual| stays below 2^31 for every acc, so that no conversion to s32 can
// overflow. Nobody knows of scales that come in the run.
bool cannot_overflow(const EpilogueParts& parts, std::span<const float> multipliers) {
  if (parts.in_run != nullptr) return false;
  // |residual| is below 2^16.
  if (parts.scale_and_add != nullptr &&
      !(std::fabs(parts.scale_and_add->ratio) <= 1e4f && std::abs(parts.scale_and_add->zero_point) <= 255))
    return false;
  return std::all_of(multipliers.begin(), multipliers.end(), [](float m) { return std::fabs(m) <= 0.5f; });
}

// Then no result is NaN: conversions of aarch64 saturate, and clamps may wait until results are 16 or 8 bits wide.
bool conv_are_finite(std::span<const float> multipliers) {
  return std::all_of(multipliers.begin(), multipliers.end(), [](float m) { return std::isfinite(m); });
}

// The same of a sum of two values below 2^17.
bool cannot_overflow(const AddReal& add) {
  return std::fabs(add.a_ratio) <= 1e3f && std::fabs(add.b_ratio) <= 1e3f && std::fabs(add.fixed) <= 1e9f;
}

// What packing adds: an addition in integers has its zero point in it.
std::int32_t zero_point_after(const EpilogueParts& parts) {
  if (parts.add_integer != nullptr || parts.round == nullptr) return 0;
  return parts.add_round != nullptr ? parts.add_round->after : parts.round->after;
}

TableStep table_step(const TileTarget& target, const std::uint8_t* table) {
  if (table == nullptr) return TableStep::none;
  if (target.is_compiled() && flips_sign(table)) return TableStep::flips;
  if (target.step != MacStep::vnni512) return TableStep::scalar;
  return host_machine().isa.has(Isa::avx512vbmi) ? TableStep::bytes : TableStep::words;
}

// What the products of a block's lanes can add up to at most, and at least.
struct SumRange {
  std::array<std::int64_t, 16> lowest{}, highest{};
};
SumRange sums_of(const std::uint8_t* weights, std::int64_t bytes, int lanes, const TileTarget& target) {
  const int together = target.step == MacStep::neon_mmla ? 8 : 4;
  SumRange range;
  for (std::int64_t i = 0; i < bytes; ++i) {
    const int w = target.raises_weights() ? weights[i] - 128 : static_cast<std::int8_t>(weights[i]);
    const auto lane = static_cast<std::size_t>(i / together % lanes);
    (w < 0 ? range.lowest : range.highest)[lane] += 255 * w;
  }
  return range;
}

// Whether 16 bits hold every sum, scaled and rounded, and that with a zero point added. Of many products nobody asks:
// two instructions for 16 results are nothing to them.
bool conv_fits_words(const PackedConv& packed, const ChannelBlocks& blocks, const TileTarget& target,
                     std::int64_t elements) {
  constexpr double kMost = 32000.0;
  constexpr std::int64_t kMostElements = 256;
  if (elements > kMostElements || blocks.max_vectors * target.lanes > 16) return false;
  for (const ChannelBlock& block : blocks.blocks) {
    const int lanes = block.vectors * target.lanes;
    const auto* weights = reinterpret_cast<const std::uint8_t*>(packed.weights + block.weights);
    const SumRange range = sums_of(weights, elements * lanes, lanes, target);
    for (int i = 0; i < block.channels; ++i) {
      const auto lane = static_cast<std::size_t>(block.lane + i), own = static_cast<std::size_t>(i);
      const double bias = packed.bias[lane], lowest = bias + static_cast<double>(range.lowest[own]),
                   highest = bias + static_cast<double>(range.highest[own]);
      const double most = std::max(std::fabs(lowest), std::fabs(highest));
      if (!(most * std::fabs(static_cast<double>(packed.multipliers[lane])) <= kMost)) return false;
    }
  }
  return true;
}

// At least one element of the packed weights stands for each of w's, so that the blocks that w's shape claims take
// memory in proportion to the file.
bool may_be_packed(const StepSpec& spec) {
  return spec.packed.size() >= 2 && spec.packed[0].shape.elements() >= spec.inputs[kConvW].shape.elements();
}

}  // namespace

Error refused_conv(std::string reason) {
  return {.kind = ErrorKind::invalid_input,
          .where = "quantized_conv",
          .found = "a call that this kernel refuses",
          .hint = std::move(reason)};
}

Result<EpilogueParts> checked_parts(const StepSpec& spec) {
  const auto parts = EpilogueParts::of(spec.attrs->as<QuantizedConvAttrs>().epilogue, kConvOperands);
  if (!parts) return refused_conv("needs an epilogue of a scale, a rounding, an addition and a table");
  if (parts->other >= 0 && spec.inputs[static_cast<std::size_t>(parts->other)].shape != spec.outputs[0].shape)
    return refused_conv("needs an addition of the same shape");
  return *parts;
}

Result<CheckedConv> checked_conv(const StepSpec& spec, const TileTarget& target) {
  const auto& attrs = spec.attrs->as<QuantizedConvAttrs>();
  const auto parts = checked_parts(spec);
  if (!parts) return parts.errors();
  std::string reason = geometry_refusal(attrs, spec.inputs[kConvX].shape, spec.inputs[kConvW].shape);
  if (spec.inputs[kConvX].dtype != DType::u8) reason = "needs an input of type u8";
  if (!reason.empty()) return refused_conv(std::move(reason));
  if (!may_be_packed(spec)) return not_as_packed(spec);
  const bool has_offset = spec.inputs.size() > kConvOffset && spec.inputs[kConvOffset].is_present;
  const ConvGeometry g = geometry_of(
      attrs, {spec.inputs[kConvX].shape, spec.inputs[kConvW].shape, spec.outputs[0].shape, has_offset}, target);
  ChannelBlocks blocks = channel_blocks(g, target);
  auto packed = checked_packed(spec, *parts, {target.weight_type(), blocks.weight_bytes, blocks.lanes, g.sums_x});
  if (!packed) return packed.errors();
  return CheckedConv{g, std::move(blocks), *packed, *parts};
}

Result<PackedConv> checked_packed(const StepSpec& spec, const EpilogueParts& parts, const PackedSizes& sizes) {
  const bool has_multiplier = parts.multiplier >= 0, has_table = parts.table >= 0;
  const std::size_t offset = has_multiplier ? 3 : 2, table = offset + (sizes.has_offset ? 1 : 0);
  const bool is_whole =
      is_packed_as(spec, 0, sizes.weight_type,
                   sizes.weight_bytes / static_cast<std::int64_t>(size_of(sizes.weight_type))) &&
      is_packed_as(spec, 1, DType::s32, sizes.lanes) &&
      (!has_multiplier || is_packed_as(spec, 2, DType::f32, sizes.lanes * (parts.rest >= 0 ? 2 : 1))) &&
      (!sizes.has_offset || is_packed_as(spec, offset, DType::s32, sizes.lanes)) &&
      (!has_table || is_packed_as(spec, table, spec.outputs[0].dtype, 256));
  if (!is_whole || !is_read_in_run(spec, kConvX) || !parts.is_read_in_run(spec)) return not_as_packed(spec);
  PackedConv packed{.weights = spec.packed[0].data, .bias = spec.packed[1].as<std::int32_t>()};
  if (has_multiplier) packed.multipliers = spec.packed[2].span<float>();
  if (sizes.has_offset) packed.w_offset = spec.packed[offset].as<std::int32_t>();
  if (has_table) packed.table = spec.packed[table].as<std::uint8_t>();
  return packed;
}

PlainForm plain_form(const CheckedConv& call, const TileTarget& target) {
  const EpilogueParts& parts = call.parts;
  const PackedConv& packed = call.packed;
  if (parts.round == nullptr || parts.round->lowest != 0 || parts.round->highest != 255) return PlainForm::saturated;
  const bool flips = packed.table != nullptr && flips_sign(packed.table);
  if ((packed.table != nullptr && !flips) ||
      !conv_fits_words(packed, call.blocks, target, call.geometry.k_dwords() * 4))
    return PlainForm::saturated;
  return zero_point_after(parts) == 0 && !flips ? PlainForm::bare : PlainForm::words;
}

std::unique_ptr<TileConstants> epilogue_constants(const EpilogueParts& parts, int lanes, const std::uint8_t* table) {
  auto constants = std::make_unique<TileConstants>();
  TileConstants& c = *constants;
  if (parts.clamp != nullptr) fill(c.lowest, parts.clamp->lowest), fill(c.highest, parts.clamp->highest);
  if (parts.round != nullptr) {
    fill(c.lowest, parts.round->lowest_real()), fill(c.highest, parts.round->highest_real());
    fill(c.lowest_bytes, parts.round->lowest), fill(c.highest_bytes, parts.round->highest);
    // An addition after rounding takes its operands without their shifts and adds its own at the end.
    fill(c.zero_point, parts.round->after - (parts.add_real != nullptr ? parts.add_real->value_shift : 0));
  }
  fill(c.zero_point_words, zero_point_after(parts));
  fill(c.residual_zero_point, parts.other_shift());
  if (parts.scale_and_add != nullptr) fill(c.residual_ratio, parts.scale_and_add->ratio);
  if (parts.add_scaled != nullptr) fill(c.residual_ratio, parts.add_scaled->ratio);
  if (const AddReal* add = parts.add_real) {
    fill(c.add_a_ratio, add->a_ratio), fill(c.add_b_ratio, add->b_ratio), fill(c.add_fixed, add->fixed);
    fill(c.add_lowest, parts.add_round->lowest_real()), fill(c.add_highest, parts.add_round->highest_real());
  }
  if (const AddInteger* add = parts.add_integer) {
    fill(c.add_a_multiplier, add->form.a_multiplier), fill(c.add_b_multiplier, add->form.b_multiplier);
    fill(c.add_bias, add->form.bias), fill(c.add_zero_point, add->form.zero_point);
    fill(c.add_integer_lowest, add->lowest), fill(c.add_integer_highest, add->highest);
  }
  if (parts.in_run != nullptr) fill(c.least_bias, -kMostRunBias), fill(c.most_bias, kMostRunBias);
  // After packing, 128-bit lane L holds dword L of vectors 0, 1, 2, 3.
  const int per_vector = lanes / 4;
  for (int i = 0; i < 16; ++i) c.pack_order[i] = static_cast<std::uint32_t>(4 * (i % per_vector) + i / per_vector) % 16;
  fill(c.even_bytes, 0x00ff00ff);
  fill(c.high_bit_words, 0x80);
  fill(c.shift_words, 8);
  for (int i = 0; i < 32; ++i) c.lane_masks[i] = i < 16 ? -1 : 0;
  if (table != nullptr) std::memcpy(c.table, table, sizeof c.table);
  fill(c.flip_bytes, table != nullptr && flips_sign(table) ? 0x80 : 0);
  return constants;
}

TileConfig epilogue_config(const StepSpec& spec, const EpilogueParts& parts, const TileTarget& target,
                           const PackedConv& packed) {
  TileConfig config{.target = target,
                    .out_channels = static_cast<std::int32_t>(spec.outputs[0].shape[3]),
                    .to = parts.to,
                    .addition = parts.addition(),
                    .adds_zero_point = zero_point_after(parts) != 0,
                    .rest_offset = parts.rest >= 0 ? static_cast<std::int32_t>(packed.multipliers.size_bytes() / 2) : 0,
                    .add_right_shift = parts.add_integer != nullptr ? parts.add_integer->form.right_shift : 0,
                    .table = table_step(target, packed.table)};
  if (parts.round != nullptr) {
    const IntegerRange range = range_of(parts.to);
    const bool packs = parts.add_real == nullptr && parts.add_integer == nullptr,
               saturates = packs && cannot_overflow(parts, packed.multipliers);
    // What is too low, too high or NaN becomes the lowest of 32 bits.
    const bool saturates_low = saturates || (packs && (is_8bit(parts.to) || zero_point_after(parts) == 0));
    config.clamps_low = !saturates_low || parts.round->lowest != range.lowest;
    config.clamps_high = !saturates || parts.round->highest != range.highest;
    if (target.is_compiled() && parts.add_real == nullptr && is_8bit(parts.to) && conv_are_finite(packed.multipliers))
      config.clamps_low = config.clamps_high = false;
  }
  if (parts.add_real != nullptr) {
    const IntegerRange range = range_of(parts.to);
    const bool saturates = cannot_overflow(*parts.add_real);
    config.adds_clamp_low = !saturates || parts.add_round->lowest != range.lowest;
    config.adds_clamp_high = !saturates || parts.add_round->highest != range.highest;
  }
  if (parts.in_run != nullptr) config.run_form = parts.in_run->form;
  if (parts.in_run != nullptr && parts.round == nullptr) {
    const ClampReal clamp = parts.clamp != nullptr ? *parts.clamp : ClampReal{};
    config.clamps_low = clamp.lowest > -std::numeric_limits<float>::infinity();
    config.clamps_high = clamp.highest < std::numeric_limits<float>::infinity();
  }
  if (parts.other >= 0) {
    config.residual_type = spec.inputs[static_cast<std::size_t>(parts.other)].dtype;
    config.subtracts_from_residual = parts.other_shift() != 0;
  }
  return config;
}

}  // namespace octavo
