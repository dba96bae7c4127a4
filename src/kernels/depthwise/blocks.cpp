// Blocks of channels, and weights as strips take them. Part of kernels/.
#include "kernels/depthwise/blocks.h"

#include <algorithm>
#include <array>

#include "kernels/weight_offsets.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo::strips {
namespace {

// Blocks that cover the channels. The last one may overlap the one before it: both are then one unit of work, so that
// no two threads write the same bytes.
struct BlockUnit {
  std::array<Block, 2> blocks;
  int count = 1;
};

std::vector<BlockUnit> units_of(std::int64_t channels, int widest) {
  std::vector<BlockUnit> units;
  std::int64_t done = 0;
  // A block costs nearly the same at every width, so a remainder of more than 16 takes one wide overlapping block.
  while (widest == 0 && channels - done >= 64) {
    units.push_back({{Block{done, 0}}, 1});
    done += 64;
  }
  while (done < channels) {
    const std::int64_t rest = channels - done;
    const int kind = std::max(widest, rest > 32 && channels >= 64 ? 0 : (rest > 16 && channels >= 32 ? 1 : 2));
    const std::int64_t size = kVnniBlocks[kind];
    const Block block{std::min(done, channels - size), kind};
    if (block.first < done) {
      units.back().blocks[1] = block;
      units.back().count = 2;
    } else {
      units.push_back({{block}, 1});
    }
    done = block.first + size;
  }
  return units;
}

// The first of two parts is the smaller half: from -256 to 254 both are bytes.
constexpr std::int32_t kLeastWeight = -256, kGreatestWeight = 254;
std::int8_t part_of(std::int32_t weight, std::int64_t part, const Grouping& grouping) {
  const std::int32_t half = weight >> 1;
  return static_cast<std::int8_t>(grouping.parts == 1 ? weight : part == 0 ? half : weight - half);
}

}  // namespace

Grouping Grouping::of(const CallView& call) {
  const DepthwiseShape s = DepthwiseShape::of(call);
  const std::int64_t groups = (s.kernel_height + 3) / 4;
  return {groups, s.dilation_height > 1 ? 1 : (4 * groups - s.kernel_height) / s.stride_height + 1,
          call.input(kConvOffset).exists() ? 2 : 1};
}

std::int64_t row_weight_bytes(const DepthwiseShape& shape, const Grouping& grouping, const Block& block) {
  return grouping.groups * shape.kernel_width * grouping.parts * 4 * block.size();
}

Placement place(const DepthwiseShape& shape, const Grouping& grouping, const VnniSet& set) {
  Placement placement;
  for (const BlockUnit& unit : units_of(shape.channels, set.widest)) {
    auto& placed = placement.units.emplace_back();
    for (int i = 0; i < unit.count; ++i) {
      const Block& block = unit.blocks[static_cast<std::size_t>(i)];
      placed.push_back({block, placement.weight_bytes, placement.channels});
      placement.weight_bytes += grouping.rows * row_weight_bytes(shape, grouping, block);
      placement.channels += block.size();
    }
  }
  return placement;
}

Weights::Weights(const OpCall& call)
    : values_(call.inputs[kConvW]->constant->as<std::int8_t>()),
      offsets_(weight_offsets(call) == nullptr ? nullptr : weight_offsets(call)->as<std::int32_t>()),
      channels_(call.inputs[kConvW]->constant->shape()[0]),
      taps_(call.inputs[kConvW]->constant->elements() / channels_) {}

std::string Weights::refusal() const {
  for (std::int64_t i = 0; offsets_ != nullptr && i < channels_ * taps_; ++i) {
    const std::int32_t weight = at(i / taps_, i % taps_);
    if (weight < kLeastWeight || weight > kGreatestWeight)
      return "needs weights that with their offsets are sums of two bytes";
  }
  return {};
}

void Weights::pack_row(const DepthwiseShape& shape, const Grouping& grouping, const Block& block, std::int64_t r,
                       std::int8_t* to) const {
  for (std::int64_t g = 0; g < grouping.groups; ++g) {
    for (std::int64_t column = 0; column < shape.kernel_width * grouping.parts; ++column) {
      const std::int64_t kw = column / grouping.parts, part = column % grouping.parts;
      for (std::int64_t i = 0; i < 4 * block.size(); ++i) {
        const std::int64_t accumulator = i / 4;
        const std::int64_t channel =
            block.first + vnni_channel(accumulator / (block.size() / 4), accumulator % (block.size() / 4));
        // Input row j of the strip meets kernel row j - r * stride.
        const std::int64_t kh = 4 * g + i % 4 - r * shape.stride_height;
        const bool is_tap = kh >= 0 && kh < shape.kernel_height;
        *to++ = is_tap ? part_of(at(channel, kh * shape.kernel_width + kw), part, grouping) : std::int8_t{0};
      }
    }
  }
}

std::int32_t Weights::corrected_bias(std::int64_t channel, std::int32_t bias, bool x_is_signed,
                                     const VnniSet& set) const {
  if (x_is_signed == set.takes_signed) return bias;
  std::int32_t sum = 0;
  for (std::int64_t tap = 0; tap < taps_; ++tap) sum += at(channel, tap);
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(bias) -
                                   static_cast<std::uint32_t>((x_is_signed ? 128 : -128) * sum));
}

}  // namespace octavo::strips
