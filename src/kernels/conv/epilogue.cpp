// Epilogue constants, configuration, and the check of what was packed. Part of kernels/conv/.
#include "kernels/conv/epilogue.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/call.h"

namespace octavo {
namespace {

template <class T, std::size_t N, class V>
void fill(T (&lanes)[N], V value) {
  std::fill_n(lanes, N, static_cast<T>(value));
}

// Whether |(f32(acc) + rest) * multiplier + residual| stays below 2^31 for every acc, so that no conversion to s32 can
// overflow.
bool cannot_overflow(const QuantizedConvAttrs& attrs, std::span<const float> multipliers) {
  if (attrs.residual == Residual::before_rounding &&
      !(std::fabs(attrs.residual_ratio) <= 1e6f && std::abs(attrs.residual_zero_point) <= 255))
    return false;
  return std::all_of(multipliers.begin(), multipliers.end(), [](float m) { return std::fabs(m) <= 0.5f; });
}

// What packing adds: an addition in integers has its zero point in it.
std::int32_t zero_point_after(const QuantizedConvAttrs& attrs) {
  if (attrs.residual == Residual::after_rounding_integer) return 0;
  return adds_after_rounding(attrs.residual) ? attrs.add.shift : attrs.zero_point;
}

bool has_rest(const StepSpec& spec) {
  return spec.inputs.size() > kConvBiasRest && spec.inputs[kConvBiasRest].is_present;
}

TableStep table_step(const TileTarget& target) {
  if (target.step != MacStep::vnni512) return TableStep::scalar;
  return host_machine().isa.has(Isa::avx512vbmi) ? TableStep::bytes : TableStep::words;
}

// At least one element of the packed weights stands for each of w's, so that the blocks that w's shape claims take
// memory in proportion to the file.
bool may_be_packed(const StepSpec& spec) {
  return spec.packed.size() >= 2 && spec.packed[0].shape.elements() >= spec.inputs[kConvW].shape.elements();
}

}  // namespace

Result<CheckedConv> checked_conv(const StepSpec& spec, const TileTarget& target) {
  const auto& attrs = spec.attrs->as<QuantizedConvAttrs>();
  std::string reason = attrs_refusal(attrs);
  if (reason.empty()) reason = geometry_refusal(attrs, spec.inputs[kConvX].shape, spec.inputs[kConvW].shape);
  if (spec.inputs[kConvX].dtype != DType::u8) reason = "needs an input of type u8";
  if (!reason.empty())
    return Error{.kind = ErrorKind::invalid_input,
                 .where = "quantized_conv",
                 .found = "a call that this kernel refuses",
                 .hint = reason};
  if (!may_be_packed(spec)) return not_as_packed(spec);
  const bool has_offset = spec.inputs.size() > kConvOffset && spec.inputs[kConvOffset].is_present;
  const ConvGeometry g = geometry_of(
      attrs, {spec.inputs[kConvX].shape, spec.inputs[kConvW].shape, spec.outputs[0].shape, has_offset}, target);
  ChannelBlocks blocks = channel_blocks(g, target);
  auto packed = checked_packed(spec, {target.weight_type(), blocks.weight_bytes, blocks.lanes, g.sums_x});
  if (!packed) return packed.errors();
  return CheckedConv{g, std::move(blocks), *packed};
}

Result<PackedConv> checked_packed(const StepSpec& spec, const PackedSizes& sizes) {
  const bool has_multiplier = spec.attrs->as<QuantizedConvAttrs>().to != DType::s32;
  const bool has_table = spec.inputs.size() > kConvTable && spec.inputs[kConvTable].is_present;
  const std::size_t offset = has_multiplier ? 3 : 2, table = offset + (sizes.has_offset ? 1 : 0);
  const bool is_whole =
      is_packed_as(spec, 0, sizes.weight_type,
                   sizes.weight_bytes / static_cast<std::int64_t>(size_of(sizes.weight_type))) &&
      is_packed_as(spec, 1, DType::s32, sizes.lanes) &&
      (!has_multiplier || is_packed_as(spec, 2, DType::f32, sizes.lanes * (has_rest(spec) ? 2 : 1))) &&
      (!sizes.has_offset || is_packed_as(spec, offset, DType::s32, sizes.lanes)) &&
      (!has_table || is_packed_as(spec, table, spec.outputs[0].dtype, 256));
  if (!is_whole || !is_read_in_run(spec, kConvX) || !is_read_in_run(spec, kConvResidual)) return not_as_packed(spec);
  PackedConv packed{.weights = spec.packed[0].data, .bias = spec.packed[1].as<std::int32_t>()};
  if (has_multiplier) packed.multipliers = spec.packed[2].span<float>();
  if (sizes.has_offset) packed.w_offset = spec.packed[offset].as<std::int32_t>();
  if (has_table) packed.table = spec.packed[table].as<std::uint8_t>();
  return packed;
}

std::unique_ptr<TileConstants> epilogue_constants(const QuantizedConvAttrs& attrs, int lanes,
                                                  const std::uint8_t* table) {
  auto constants = std::make_unique<TileConstants>();
  TileConstants& c = *constants;
  fill(c.lowest, attrs.lowest - attrs.zero_point);
  fill(c.highest, attrs.highest - attrs.zero_point);
  // An addition after rounding takes its operands without its shift and adds it at the end.
  const bool adds_after = adds_after_rounding(attrs.residual);
  fill(c.zero_point, attrs.zero_point - attrs.add.shift);
  fill(c.zero_point_words, zero_point_after(attrs));
  fill(c.residual_zero_point, adds_after ? attrs.add.shift : attrs.residual_zero_point);
  fill(c.residual_ratio, attrs.residual_ratio);
  fill(c.add_a_ratio, attrs.add.a_ratio);
  fill(c.add_b_ratio, attrs.add.b_ratio);
  fill(c.add_fixed, attrs.add.fixed);
  fill(c.add_lowest, attrs.add_lowest);
  fill(c.add_highest, attrs.add_highest);
  fill(c.add_a_multiplier, attrs.integer_add.a_multiplier);
  fill(c.add_b_multiplier, attrs.integer_add.b_multiplier);
  fill(c.add_bias, attrs.integer_add.bias);
  fill(c.add_zero_point, attrs.integer_add.zero_point);
  fill(c.add_integer_lowest, attrs.add_lowest);
  fill(c.add_integer_highest, attrs.add_highest);
  // After packing, 128-bit lane L holds dword L of vectors 0, 1, 2, 3.
  const int per_vector = lanes / 4;
  for (int i = 0; i < 16; ++i) c.pack_order[i] = static_cast<std::uint32_t>(4 * (i % per_vector) + i / per_vector) % 16;
  fill(c.even_bytes, 0x00ff00ff);
  fill(c.high_bit_words, 0x80);
  fill(c.shift_words, 8);
  for (int i = 0; i < 32; ++i) c.lane_masks[i] = i < 16 ? -1 : 0;
  if (table != nullptr) std::memcpy(c.table, table, sizeof c.table);
  return constants;
}

TileConfig epilogue_config(const StepSpec& spec, const TileTarget& target, const PackedConv& packed) {
  const auto& attrs = spec.attrs->as<QuantizedConvAttrs>();
  const IntegerRange range = range_of(attrs.to);
  const bool adds_after = adds_after_rounding(attrs.residual);
  const bool saturates =
      !adds_after && attrs.residual != Residual::after_rounding_integer && cannot_overflow(attrs, packed.multipliers);
  TileConfig config{
      .target = target,
      .out_channels = static_cast<std::int32_t>(spec.outputs[0].shape[3]),
      .to = attrs.to,
      .residual = attrs.residual,
      .adds_zero_point = zero_point_after(attrs) != 0,
      .rest_offset = has_rest(spec) ? static_cast<std::int32_t>(packed.multipliers.size_bytes() / 2) : 0,
      .clamps_low = !saturates || attrs.lowest != range.lowest,
      .clamps_high = !saturates || attrs.highest != range.highest,
      .add_right_shift = attrs.residual == Residual::after_rounding_integer ? attrs.integer_add.right_shift : 0,
      .table = packed.table != nullptr ? table_step(target) : TableStep::none};
  if (attrs.residual != Residual::none) {
    config.residual_type = spec.inputs[kConvResidual].dtype;
    config.subtracts_from_residual = (adds_after ? attrs.add.shift : attrs.residual_zero_point) != 0;
  }
  return config;
}

}  // namespace octavo
