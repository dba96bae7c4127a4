// quantized_conv on tensor cores: tiles, what is packed for them, and what they cost. Part of cuda/.
#include "cuda/arguments.h"
#include "cuda/conv_call.h"
#include "cuda/cost.h"
#include "cuda/cuda.h"
#include "cuda/launch.h"
#include "cuda/window.h"
#include "kernels/conv/conv_step.h"

namespace octavo::cuda {
namespace {

enum Packed : std::size_t { kWeights = 0, kPadding = 1, kChannels = 2, kOffsets = 6 };  // kChannels: four of them

// A ConvTile of cuda/device/conv.h.
struct Tile {
  std::int64_t rows, columns;
  double share;  // of the tensor cores' peak that its loop over K is predicted to reach: scripts/cuda_kernels.py
};
constexpr Tile kTile128x128{128, 128, 0.55}, kTile128x64{128, 64, 0.45}, kTile64x64{64, 64, 0.35},
    kTile32x32{32, 32, 0.15};

constexpr std::int64_t kStep = 64;   // bytes of K
constexpr std::int64_t kStages = 3;  // in shared memory
constexpr std::int64_t kThreads = 128;
constexpr std::int64_t kPaddingBytes = 16;

constexpr std::int64_t whole(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

struct Sizes {
  std::int64_t pixels, groups, group_in, group_out, k, padded_k, padded_out;
};
Sizes sizes_of(const CallView& call, const Tile& tile) {
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  const Shape& y = *call.output().shape;
  Sizes s{.pixels = y[0] * y[1] * y[2],
          .groups = attrs.groups,
          .group_in = (*call.input(kConvX).shape)[3] / attrs.groups,
          .group_out = y[3] / attrs.groups};
  s.k = s.group_in * attrs.window.kernel[0] * attrs.window.kernel[1];
  s.padded_k = whole(s.k, kStep);
  s.padded_out = whole(s.group_out, tile.columns);
  return s;
}

std::array<std::int64_t, 3> grid_of(const Sizes& s, const Tile& tile) {
  return {whole(s.pixels, tile.rows) / tile.rows, s.padded_out / tile.columns, s.groups};
}

// Bytes of x that are neighbours in memory, and aligned.
int copied_at_once(std::int64_t group_in) { return group_in % 16 == 0 ? 16 : group_in % 4 == 0 ? 4 : 1; }

// Others have no registers left for sums of rows.
bool takes_offset(const Tile& tile) { return tile.rows <= 64; }

template <const Tile& tile>
std::string refuse(const CallView& call) {
  if (std::string reason = refuse_conv(call); !reason.empty()) return reason;
  if (call.input(kConvX).dtype != DType::u8) return "needs an input of type u8";
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  if (attrs.groups > 1 && attrs.groups == (*call.input(kConvX).shape)[3])
    return "needs more than one input channel per group";
  if (call.input(kConvOffset).exists() && !takes_offset(tile)) return "needs weights without an offset";
  const Sizes s = sizes_of(call, tile);
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 31;
  if (s.k > kMostBytes / s.padded_out / s.groups) return "needs less than 2 GiB of weights";
  return grid_refusal(grid_of(s, tile));
}

template <const Tile& tile>
std::string refusal(const OpCall& call) {
  if (std::string reason = refuse<tile>(view_of(call)); !reason.empty()) return reason;
  return refuse_variables(call);
}

// Rows of K, zeros behind them, rows of zeros behind those of a group.
Tensor pack_weights(const Tensor& w, const Sizes& s) {
  Tensor packed(DType::s8, Shape{s.groups * s.padded_out, s.padded_k});
  for (std::int64_t oc = 0; oc < s.groups * s.group_out; ++oc) {
    const std::int64_t row = oc / s.group_out * s.padded_out + oc % s.group_out;
    std::copy_n(w.as<std::int8_t>() + oc * s.k, s.k, packed.as<std::int8_t>() + row * s.padded_k);
  }
  return packed;
}

// Behind the others, in the places of biases. A row of x is as long as one of the weights: what stands behind its end
// are bytes of the padding, which biases make up for.
void add_offsets(const Tensor& w_offset, const Sizes& s, const QuantizedConvAttrs& attrs, std::vector<Tensor>& packed) {
  Tensor offsets(DType::s32, packed[kChannels].shape());
  std::ranges::fill(offsets.span<std::int32_t>(), 0);
  for (std::int64_t oc = 0; oc < s.groups * s.group_out; ++oc) {
    const std::int64_t at = oc / s.group_out * s.padded_out + oc % s.group_out;
    const std::int32_t offset = w_offset.as<std::int32_t>()[oc];
    const std::int64_t behind = (s.padded_k - s.k) * attrs.x_zero_point * offset;
    std::int32_t& bias = packed[kChannels].as<std::int32_t>()[at];
    bias = static_cast<std::int32_t>(static_cast<std::uint32_t>(bias) - static_cast<std::uint32_t>(behind));
    offsets.as<std::int32_t>()[at] = offset;
  }
  packed.push_back(std::move(offsets));
}

template <const Tile& tile>
std::vector<Tensor> pack(const OpCall& call) {
  const Sizes s = sizes_of(view_of(call), tile);
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  Tensor padding(DType::u8, Shape{kPaddingBytes});
  for (std::uint8_t& byte : padding.span<std::uint8_t>()) byte = static_cast<std::uint8_t>(attrs.x_zero_point);
  std::vector<Tensor> packed{pack_weights(*call.inputs[kConvW]->constant, s), std::move(padding)};
  add_channel_constants(call, {s.groups, s.group_out, s.padded_out}, packed);
  if (view_of(call).input(kConvOffset).exists()) add_offsets(*call.inputs[kConvOffset]->constant, s, attrs, packed);
  return packed;
}

template <const Tile& tile>
Result<std::unique_ptr<Step>> make(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  const Sizes s = sizes_of(call, tile);
  const ConvEpilogue epilogue(call, spec);
  if (!is_packed_as(spec, kWeights, DType::s8, s.groups * s.padded_out * s.padded_k) ||
      !is_packed_as(spec, kPadding, DType::u8, kPaddingBytes) ||
      !epilogue.is_packed(kChannels, s.groups * s.padded_out))
    return not_as_packed(spec);
  const bool has_offset = call.input(kConvOffset).exists();
  if (has_offset && !is_packed_as(spec, kOffsets, DType::s32, s.groups * s.padded_out)) return not_as_packed(spec);
  LaunchMaker<ConvArgs> maker;
  ConvArgs& args = maker.arguments;
  args.window = window_args(attrs.window, *call.input(kConvX).shape, *call.output().shape);
  args.pixels = s.pixels;
  args.group_in = static_cast<std::int32_t>(s.group_in), args.group_out = static_cast<std::int32_t>(s.group_out);
  args.padded_out = static_cast<std::int32_t>(s.padded_out), args.padded_k = static_cast<std::int32_t>(s.padded_k);
  maker.point(args.x, Operand::input, kConvX);
  maker.point(args.w, Operand::packed, kWeights);
  maker.point(args.padding, Operand::packed, kPadding);
  maker.point_if(has_offset, args.w_offset, Operand::packed, kOffsets);
  epilogue.place(maker, kChannels);
  maker.launch.kernel = "conv_" + std::to_string(tile.rows) + "x" + std::to_string(tile.columns) + "_" +
                        std::to_string(copied_at_once(s.group_in)) + (has_offset ? "_offset" : "");
  maker.launch.grid = grid_of(s, tile);
  maker.launch.threads = kThreads;
  const std::int64_t stages = kStages * (tile.rows + tile.columns) * kStep;
  const std::int64_t sums = tile.rows / 2 * (tile.columns + 4) * 4;
  maker.launch.shared_bytes = static_cast<int>(std::max(stages, sums));
  return maker.make(spec);
}

template <const Tile& tile>
double cost(const OpCall& call, const Machine& machine) {
  const CallView view = view_of(call);
  const Sizes s = sizes_of(view, tile);
  const std::array<std::int64_t, 3> grid = grid_of(s, tile);
  // What is left of the share where x is copied by smaller pieces: scripts/cuda_kernels.py.
  const double gathering = copied_at_once(s.group_in) == 1 ? 0.2 : copied_at_once(s.group_in) == 4 ? 0.55 : 1.0;
  const BlockWork work{.blocks = static_cast<double>(grid[0] * grid[1] * grid[2]),
                       .block_macs = static_cast<double>(tile.rows * tile.columns * s.padded_k),
                       .share = tile.share * gathering,
                       .steps = static_cast<double>(s.padded_k / kStep) / (kStages - 1)};
  return std::max(machine.speeds.barrier_ns + blocks_ns(work, machine), memory_ns(view, machine));
}

template <const Tile& tile>
constexpr KernelChoice kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "quantized_conv",
                   .needs = Isa::cuda,
                   .packs = true,
                   .prepare = prepare_by<refuse<tile>, make<tile>>,
                   .in_place_input = residual_in_place},
          .refusal = refusal<tile>,
          .cost = cost<tile>,
          .knows_speeds = true,
          .pack = pack<tile>,
          .packed_layout = same_layout};
}

constexpr KernelChoice kChoices[] = {
    kernel<kTile128x128>("conv_u8s8_128x128_cuda"),
    kernel<kTile128x64>("conv_u8s8_128x64_cuda"),
    kernel<kTile64x64>("conv_u8s8_64x64_cuda"),
    kernel<kTile32x32>("conv_u8s8_32x32_cuda"),
};
constexpr auto kCodes = codes_of(kChoices);

}  // namespace
}  // namespace octavo::cuda

std::span<const octavo::KernelCode> octavo::cuda_conv_codes() { return cuda::kCodes; }
std::span<const octavo::KernelChoice> octavo::cuda_conv_choices() { return cuda::kChoices; }
