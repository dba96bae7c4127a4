// What follows the sums of a convolution tile, direct or Winograd: its constants and its part of the tile's
// configuration; and what a step is made of, checked. Part of kernels/conv/.
#ifndef OCTAVO_KERNELS_CONV_EPILOGUE_H_
#define OCTAVO_KERNELS_CONV_EPILOGUE_H_

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/conv/conv_step.h"
#include "kernels/conv/tile.h"

namespace octavo {

// The packed tensors of a convolution, checked: weights, then bias s32, multiplier f32 (then the rests of the biases
// f32) and w_offset s32 per lane, then the table.
struct PackedConv {
  const std::byte* weights = nullptr;
  const std::int32_t* bias = nullptr;
  std::span<const float> multipliers;  // and as many rests of biases, where there are some
  const std::int32_t* w_offset = nullptr;
  const std::uint8_t* table = nullptr;

  // Null where there are none.
  const float* multipliers_from(std::int64_t lane) const {
    return multipliers.empty() ? nullptr : multipliers.data() + lane;
  }
};
struct PackedSizes {
  DType weight_type = DType::s8;
  std::int64_t weight_bytes = 0;
  std::int64_t lanes = 0;
  bool has_offset = false;
};
Result<PackedConv> checked_packed(const StepSpec& spec, const EpilogueParts& parts, const PackedSizes& sizes);
Error refused_conv(std::string reason);
// The parts of the attributes' epilogue, which the tiles emit.
Result<EpilogueParts> checked_parts(const StepSpec& spec);

// A direct convolution that a file asks for, all of it checked.
struct CheckedConv {
  ConvGeometry geometry;
  ChannelBlocks blocks;
  PackedConv packed;
  EpilogueParts parts;
};
Result<CheckedConv> checked_conv(const StepSpec& spec, const TileTarget& target);

// What hybrid_conv adds: scales and zero points of x that are known only in a run.
struct RunScaling {
  RunScales scales = RunScales::none;
  std::int64_t image_step = 0;  // from one image's scale to the next's; 0: one for all
};
// `spec` is that of a quantized_conv, but for the buffers that a run passes, which are those of hybrid_conv.
Result<std::unique_ptr<Step>> prepare_scaled_conv(const StepSpec& spec, const TileTarget& target, CheckedConv call,
                                                  const RunScaling& scaling);
// The same on AMX, where each pixel has a scale of its own.
Result<std::unique_ptr<Step>> prepare_scaled_amx(const StepSpec& spec, CheckedConv call);

// Target, output, residual, clamps and table; the loop over K is left to the caller.
TileConfig epilogue_config(const StepSpec& spec, const EpilogueParts& parts, const TileTarget& target,
                           const PackedConv& packed);
// The best that all tiles of a convolution may have, which those of aarch64 know.
PlainForm plain_form(const CheckedConv& call, const TileTarget& target);
std::unique_ptr<TileConstants> epilogue_constants(const EpilogueParts& parts, int lanes, const std::uint8_t* table);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CONV_EPILOGUE_H_
