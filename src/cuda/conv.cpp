// quantized_conv on tensor cores: tiles, and what is packed for them. Part of cuda/.
#include "cuda/conv_call.h"
#include "cuda/conv_tiles.h"
#include "cuda/cuda.h"
#include "cuda/window.h"
#include "kernels/conv/conv_step.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo::cuda {
namespace {

enum TileConvPacked : std::size_t {
  kWeights = 0,
  kPadding = 1,
  kChannels = 2,
  kOffsets = 6
};  // kChannels: four of them

constexpr std::int64_t kPaddingBytes = 16;

ConvSizes tile_conv_sizes_of(const CallView& call, const ConvTileShape& tile) {
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  return ConvSizes::of(attrs.window, attrs.groups, *call.input(kConvX).shape, *call.output().shape, tile);
}

template <const ConvTileShape& tile>
std::string refuse_tile_conv(const CallView& call) {
  if (std::string reason = refuse_conv(call); !reason.empty()) return reason;
  if (call.input(kConvX).dtype != DType::u8) return "needs an input of type u8";
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  if (attrs.groups > 1 && attrs.groups == (*call.input(kConvX).shape)[3])
    return "needs more than one input channel per group";
  if (call.input(kConvOffset).exists() && !takes_offset(tile)) return "needs weights without an offset";
  return conv_size_refusal(tile_conv_sizes_of(call, tile), tile);
}

template <const ConvTileShape& tile>
std::string tile_conv_refusal(const OpCall& call) {
  if (std::string reason = refuse_tile_conv<tile>(view_of(call)); !reason.empty()) return reason;
  return refuse_variables(call);
}

// Behind the others, in the places of biases. A row of x is as long as one of the weights: what stands behind its end
// are bytes of the padding, which biases make up for.
void add_offsets(const Tensor& w_offset, const ConvSizes& s, const QuantizedConvAttrs& attrs,
                 std::vector<Tensor>& packed) {
  Tensor offsets(DType::s32, packed[kChannels].shape());
  std::ranges::fill(offsets.span<std::int32_t>(), 0);
  for (std::int64_t oc = 0; oc < s.groups * s.group_out; ++oc) {
    const std::int64_t at = s.place_of(oc);
    const std::int32_t offset = w_offset.as<std::int32_t>()[oc];
    const std::int64_t behind = (s.padded_k - s.k) * attrs.x_zero_point * offset;
    std::int32_t& bias = packed[kChannels].as<std::int32_t>()[at];
    bias = static_cast<std::int32_t>(static_cast<std::uint32_t>(bias) - static_cast<std::uint32_t>(behind));
    offsets.as<std::int32_t>()[at] = offset;
  }
  packed.push_back(std::move(offsets));
}

template <const ConvTileShape& tile>
std::vector<Tensor> pack_tile_conv(const OpCall& call) {
  const ConvSizes s = tile_conv_sizes_of(view_of(call), tile);
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  Tensor padding(DType::u8, Shape{kPaddingBytes});
  for (std::uint8_t& byte : padding.span<std::uint8_t>()) byte = static_cast<std::uint8_t>(attrs.x_zero_point);
  std::vector<Tensor> packed{pack_conv_weights(*call.inputs[kConvW]->constant, s), std::move(padding)};
  add_channel_constants(call, {s.groups, s.group_out, s.padded_out}, packed);
  if (view_of(call).input(kConvOffset).exists()) add_offsets(*call.inputs[kConvOffset]->constant, s, attrs, packed);
  return packed;
}

template <const ConvTileShape& tile>
Result<std::unique_ptr<Step>> make_tile_conv(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  const ConvSizes s = tile_conv_sizes_of(call, tile);
  const ConvEpilogue epilogue(call, spec);
  if (!is_packed_as(spec, kWeights, DType::s8, s.channels() * s.padded_k) ||
      !is_packed_as(spec, kPadding, DType::u8, kPaddingBytes) || !epilogue.is_packed(kChannels, s.channels()))
    return not_as_packed(spec);
  const bool has_offset = call.input(kConvOffset).exists();
  if (has_offset && !is_packed_as(spec, kOffsets, DType::s32, s.channels())) return not_as_packed(spec);
  LaunchMaker<ConvArgs> maker;
  ConvArgs& args = maker.arguments;
  args.window = window_args(attrs.window, *call.input(kConvX).shape, *call.output().shape);
  place_conv(maker, s, tile);
  maker.point(args.x, Operand::input, kConvX);
  maker.point(args.w, Operand::packed, kWeights);
  maker.point(args.padding, Operand::packed, kPadding);
  maker.point_if(has_offset, args.w_offset, Operand::packed, kOffsets);
  epilogue.place(maker, kChannels);
  maker.launch.kernel = "conv" + conv_kernel_suffix(s, tile) + (has_offset ? "_offset" : "");
  return maker.make(spec);
}

template <const ConvTileShape& tile>
double tile_conv_cost(const OpCall& call, const Machine& machine) {
  const CallView view = view_of(call);
  return conv_ns(view, tile_conv_sizes_of(view, tile), tile, machine);
}

template <const ConvTileShape& tile>
constexpr KernelChoice tile_conv_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "quantized_conv",
                   .needs = Isa::cuda,
                   .packs = true,
                   .prepare = prepare_by<refuse_tile_conv<tile>, make_tile_conv<tile>>,
                   .in_place_input = residual_in_place},
          .refusal = tile_conv_refusal<tile>,
          .cost = tile_conv_cost<tile>,
          .knows_speeds = true,
          .pack = pack_tile_conv<tile>,
          .packed_layout = same_layout};
}

constexpr KernelChoice kTileConvChoices[] = {
    tile_conv_kernel<kTile128x128>("conv_u8s8_128x128_cuda"),
    tile_conv_kernel<kTile128x64>("conv_u8s8_128x64_cuda"),
    tile_conv_kernel<kTile64x64>("conv_u8s8_64x64_cuda"),
    tile_conv_kernel<kTile32x32>("conv_u8s8_32x32_cuda"),
};
constexpr auto kTileConvCodes = codes_of(kTileConvChoices);

}  // namespace
}  // namespace octavo::cuda

std::span<const octavo::KernelCode> octavo::cuda_conv_codes() { return cuda::kTileConvCodes; }
std::span<const octavo::KernelChoice> octavo::cuda_conv_choices() { return cuda::kTileConvChoices; }
