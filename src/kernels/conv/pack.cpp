// Weights and per-channel constants in the order in which tiles read them. Part of kernels/conv/.
#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/conv/conv_step.h"
#include "kernels/weight_offsets.h"
#include "ops/epilogue.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
namespace {

// Where element k of a run lies for one vector and lane, in elements from the start of the run: groups of `group`
// elements of every lane, the last one perhaps shorter, and in them dwords.
struct RunLayout {
  std::int64_t dword_elements;
  std::int64_t lane;
  std::int64_t run;  // elements of a lane
  std::int64_t group = 4;
  std::array<std::int64_t, 4> element_offset = {0, 1, 2, 3};
  std::int64_t lane_elements = 0;  // of a group; 0: all

  bool keeps_neighbours() const { return element_offset == std::array<std::int64_t, 4>{0, 1, 2, 3}; }
  std::int64_t at(std::int64_t k) const {
    const std::int64_t first = k - k % group, elements = std::min(group, run - first);
    const std::int64_t own = lane * (lane_elements > 0 ? lane_elements : elements);
    return first / 4 * dword_elements + own + (k - first) / 4 * 4 + element_offset[static_cast<std::size_t>(k % 4)];
  }
};

RunLayout run_layout(const ConvGeometry& g, const TileTarget& target, int vectors, std::int64_t lane) {
  RunLayout layout{static_cast<std::int64_t>(vectors) * target.lanes * 4, lane, 4 * g.run_dwords()};
  if (target.is_avx2()) {
    const std::int64_t odd = layout.dword_elements / 2;
    layout.element_offset = {0, odd, 1, odd + 1};
    layout.lane_elements = 2;
  }
  // What a multiply takes of a channel lies together: 16 bytes of K and what is left, or 8.
  if (target.step == MacStep::neon_bytes || target.step == MacStep::neon_pairs) layout.group = 16;
  if (target.step == MacStep::neon_mmla) layout.group = 8;
  return layout;
}

// One output channel of a block: every row and tap of its K.
template <class T>
void pack_channel(const ConvGeometry& g, const TileTarget& target, const ChannelBlock& block, int lane,
                  const std::int8_t* w, std::int32_t offset, T* packed) {
  const RunLayout layout = run_layout(g, target, block.vectors, lane);
  const std::int64_t run_elements = g.run_dwords() * layout.dword_elements;
  const std::int64_t source_in = g.group_in / g.merged;
  const std::int64_t channel = block.first + lane;
  // Where the channel's own group lies within the merged one.
  const std::int64_t group_start = channel / (g.group_out / g.merged) % g.merged * source_in;
  const std::int64_t taps = g.kernel_h * g.kernel_w;
  const std::int8_t* from = w + channel * taps * source_in;
  for (std::int64_t tap = 0; tap < taps; ++tap, from += source_in) {
    // All taps of a row are one run, or each is its own.
    const std::int64_t run = g.taps == 1 ? tap / g.kernel_w : tap;
    const std::int64_t k = group_start + (g.taps == 1 ? tap % g.kernel_w * g.group_in : 0);
    T* to = packed + run * run_elements;
    std::int64_t i = 0;
    // Most often four elements are neighbours here and there: a new size of a model waits for this.
    if (sizeof(T) == 1 && offset == 0 && k % 4 == 0 && layout.keeps_neighbours()) {
      for (; i + 4 <= source_in; i += 4) std::memcpy(to + layout.at(k + i), from + i, 4);
    }
    for (; i < source_in; ++i) to[layout.at(k + i)] = static_cast<T>(from[i] + offset);
  }
}

// The vector that sums x: a weight of 1 wherever the channels of the block have one.
template <class T>
void pack_ones(const ConvGeometry& g, const TileTarget& target, const ChannelBlock& block, T* packed) {
  for (int lane = 0; lane < target.lanes; ++lane) {
    const RunLayout layout = run_layout(g, target, block.vectors, (block.vectors - 1) * target.lanes + lane);
    for (std::int64_t run = 0; run < g.kernel_h * g.taps; ++run) {
      T* to = packed + run * g.run_dwords() * layout.dword_elements;
      for (std::int64_t k = 0; k < g.run_bytes; ++k) to[layout.at(k)] = 1;
    }
  }
}

// Wider weights have their channel's offset in them.
template <class T>
Tensor pack_conv_weights(const ConvGeometry& g, const TileTarget& target, const ChannelBlocks& blocks, const Tensor& w,
                         const Tensor* offsets) {
  Tensor packed(dtype_of<T>, Shape{blocks.weight_bytes / static_cast<std::int64_t>(sizeof(T))});
  for (const ChannelBlock& block : blocks.blocks) {
    T* to = reinterpret_cast<T*>(packed.data() + block.weights);
    for (int lane = 0; lane < block.channels; ++lane) {
      const std::int32_t offset = offsets == nullptr || g.sums_x ? 0 : offsets->as<std::int32_t>()[block.first + lane];
      pack_channel(g, target, block, lane, w.as<std::int8_t>(), offset, to);
    }
    if (g.sums_x) pack_ones(g, target, block, to);
  }
  return packed;
}

template <class T>
Tensor pack_conv_lanes(const ChannelBlocks& blocks, const Tensor& values) {
  Tensor packed(dtype_of<T>, Shape{blocks.lanes});
  for (const ChannelBlock& block : blocks.blocks)
    std::copy_n(values.as<T>() + block.first, block.channels, packed.as<T>() + block.lane);
  return packed;
}

// w + 128, wherever a tile reads a weight.
Tensor raised(const Tensor& weights) {
  Tensor packed(DType::u8, weights.shape());
  std::transform(weights.as<std::uint8_t>(), weights.as<std::uint8_t>() + weights.elements(), packed.as<std::uint8_t>(),
                 [](std::uint8_t w) { return static_cast<std::uint8_t>(w ^ 0x80); });
  return packed;
}

// 128 times the sum of the weights, for x that is read as x - 128; of the vector that sums x, too.
void add_flipped(const ConvGeometry& g, const TileTarget& target, const ChannelBlocks& blocks, const Tensor& w,
                 Tensor& packed) {
  const std::int64_t taps = w.elements() / w.shape()[0];
  auto* bias = packed.as<std::int32_t>();
  const auto add = [](std::int32_t& to, std::uint32_t sum) {
    to = static_cast<std::int32_t>(static_cast<std::uint32_t>(to) + 128u * sum);
  };
  for (const ChannelBlock& block : blocks.blocks) {
    for (int lane = 0; lane < block.channels; ++lane) {
      const std::int8_t* weights = w.as<std::int8_t>() + (block.first + lane) * taps;
      std::uint32_t sum = 0;
      for (std::int64_t i = 0; i < taps; ++i) sum += static_cast<std::uint32_t>(weights[i]);
      add(bias[block.lane + lane], sum);
    }
    const std::int64_t lanes = block.vectors * std::int64_t{target.lanes};
    const auto ones = static_cast<std::uint32_t>(g.kernel_h * g.taps * g.run_bytes);
    for (std::int64_t lane = lanes - target.lanes; g.sums_x && lane < lanes; ++lane) add(bias[block.lane + lane], ones);
  }
}

// The multipliers of all lanes, and after them the rests of their biases where there are some.
Tensor pack_multipliers(const ChannelBlocks& blocks, const Tensor& multiplier, const Tensor* rest) {
  Tensor packed = pack_conv_lanes<float>(blocks, multiplier);
  if (rest == nullptr) return packed;
  const Tensor rests = pack_conv_lanes<float>(blocks, *rest);
  Tensor both(DType::f32, Shape{2 * blocks.lanes});
  std::copy_n(packed.as<float>(), blocks.lanes, both.as<float>());
  std::copy_n(rests.as<float>(), blocks.lanes, both.as<float>() + blocks.lanes);
  return both;
}

}  // namespace

ConvGeometry geometry_of(const OpCall& call, const TileTarget& target) {
  return geometry_of(
      call.attrs->as<QuantizedConvAttrs>(),
      {call.inputs[kConvX]->shape, call.inputs[kConvW]->shape, call.outputs[0].shape, weight_offsets(call) != nullptr},
      target);
}

std::vector<std::int64_t> packed_conv_layout(const OpCall& call, const TileTarget& target) {
  const ConvGeometry g = geometry_of(call, target);
  return {g.merged,    g.groups,    g.group_in, g.group_out, g.taps, g.run_bytes, g.step_dwords, std::int64_t{g.sums_x},
          g.tap_bytes, g.k_dwords()};
}

std::vector<Tensor> pack_conv(const OpCall& call, const TileTarget& target) {
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  const auto constant = [&](int input) -> const Tensor& {
    return *call.inputs[static_cast<std::size_t>(input)]->constant;
  };
  const Tensor& w = constant(kConvW);
  const Tensor* offsets = weight_offsets(call);
  const ConvGeometry g = geometry_of(call, target);
  const ChannelBlocks blocks = channel_blocks(g, target);
  const auto weights =
      target.weight_type() == DType::s16 ? pack_conv_weights<std::int16_t> : pack_conv_weights<std::int8_t>;
  std::vector<Tensor> packed{weights(g, target, blocks, w, offsets),
                             pack_conv_lanes<std::int32_t>(blocks, constant(kConvBias))};
  if (target.raises_weights()) packed[0] = raised(packed[0]);
  const bool is_hybrid = attrs.epilogue.find<ScaleInRun>() != nullptr;  // tiles know of x - 128 where zero points come
  if (target.flips_x() && !is_hybrid) add_flipped(g, target, blocks, w, packed[1]);
  const EpilogueParts parts = *EpilogueParts::of(attrs.epilogue, kConvOperands);
  if (parts.multiplier >= 0)
    packed.push_back(
        pack_multipliers(blocks, constant(parts.multiplier), parts.rest >= 0 ? &constant(parts.rest) : nullptr));
  if (g.sums_x) packed.push_back(pack_conv_lanes<std::int32_t>(blocks, *offsets));
  if (parts.table >= 0) packed.push_back(constant(parts.table));
  return packed;
}

}  // namespace octavo
