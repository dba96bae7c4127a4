// hybrid_conv by the tiles of quantized_conv: scales and zero points of x are read in the run. Part of cuda/.
//   sum (x - zero) * (w + offset) = sum x * (w + offset) - zero * sum (w + offset): what the zero point is multiplied
//   by stands where quantized_conv has its bias. Rows of x are as long as those of the weights, and what stands behind
//   their end are zero points, too.
#include "ops/hybrid_conv/hybrid_conv.h"

#include "cuda/conv_tiles.h"
#include "cuda/cuda.h"
#include "cuda/window.h"
#include "kernels/epilogue/parts.h"

namespace octavo::cuda {
namespace {

enum HybridConvPacked : std::size_t {
  kHybridWeights,
  kHybridFactors,
  kHybridOffsets,
  kHybridMultipliers,
  kHybridBiases,
  kHybridTable
};

ConvSizes hybrid_conv_sizes_of(const CallView& call, const ConvTileShape& tile) {
  const auto& attrs = call.attrs->as<HybridConvAttrs>();
  return ConvSizes::of(attrs.window, attrs.groups, *call.input(kHybridX).shape, *call.output().shape, tile);
}

std::optional<EpilogueParts> parts_of(const CallView& call) {
  return EpilogueParts::of(call.attrs->as<HybridConvAttrs>().epilogue, kHybridXScale);
}

template <const ConvTileShape& tile>
std::string refuse_hybrid_conv(const CallView& call) {
  const auto parts = parts_of(call);
  if (!parts) return "needs an epilogue of a scale, an addition and a clamp or rounding";
  if (parts->other >= 0 && *call.input(static_cast<std::size_t>(parts->other)).shape != *call.output().shape)
    return "needs an addition of the same shape";
  const auto& attrs = call.attrs->as<HybridConvAttrs>();
  if (std::string reason = window_refusal(attrs.window, *call.input(kHybridX).shape, *call.output().shape);
      !reason.empty())
    return reason;
  if (call.input(kHybridOffset).exists() && !takes_offset(tile)) return "needs weights without an offset";
  return conv_size_refusal(hybrid_conv_sizes_of(call, tile), tile);
}

template <const ConvTileShape& tile>
std::string hybrid_conv_refusal(const OpCall& call) {
  if (std::string reason = refuse_hybrid_conv<tile>(view_of(call)); !reason.empty()) return reason;
  for (const std::size_t i : {kHybridW, kHybridOffset}) {
    if (call.inputs[i] != nullptr && !call.inputs[i]->is_constant()) return "needs constant weights";
  }
  if (call.inputs[kHybridX]->is_constant() || call.inputs[kHybridXZero]->is_constant())
    return "needs inputs known only in a run";
  return epilogue_refusal(call, call.attrs->as<HybridConvAttrs>().epilogue, kHybridXScale);
}

// ---- packing ----

// Each channel's, or zeros, in the places that tiles read.
template <class T, class Value>
Tensor by_channel(const ConvSizes& s, const Value& value) {
  Tensor packed(dtype_of<T>, Shape{s.channels()});
  std::ranges::fill(packed.span<T>(), T{0});
  for (std::int64_t oc = 0; oc < s.groups * s.group_out; ++oc) packed.as<T>()[s.place_of(oc)] = value(oc);
  return packed;
}

// -(sum of w, and its offset for each byte of a row).
std::int32_t zero_point_factor(const ConvSizes& s, const std::int8_t* w, std::int32_t offset) {
  std::uint32_t sum = static_cast<std::uint32_t>(offset) * static_cast<std::uint32_t>(s.padded_k);
  for (std::int64_t i = 0; i < s.k; ++i) sum += static_cast<std::uint32_t>(w[i]);
  return static_cast<std::int32_t>(0u - sum);
}

template <const ConvTileShape& tile>
std::vector<Tensor> pack_hybrid_conv(const OpCall& call) {
  const CallView view = view_of(call);
  const ConvSizes s = hybrid_conv_sizes_of(view, tile);
  const EpilogueParts parts = *parts_of(view);
  const Tensor& w = *call.inputs[kHybridW]->constant;
  const Tensor* offset = view.input(kHybridOffset).exists() ? call.inputs[kHybridOffset]->constant.get() : nullptr;
  const auto offset_of = [&](std::int64_t oc) { return offset == nullptr ? 0 : offset->as<std::int32_t>()[oc]; };
  const auto real_of = [&](int input) {
    const float* values = call.inputs[static_cast<std::size_t>(input)]->constant->as<float>();
    return by_channel<float>(s, [&](std::int64_t oc) { return values[oc]; });
  };
  std::vector<Tensor> packed;
  packed.push_back(pack_conv_weights(w, s));
  packed.push_back(by_channel<std::int32_t>(
      s, [&](std::int64_t oc) { return zero_point_factor(s, w.as<std::int8_t>() + oc * s.k, offset_of(oc)); }));
  packed.push_back(offset == nullptr ? constant_or_empty(call, kHybridOffset) : by_channel<std::int32_t>(s, offset_of));
  packed.push_back(real_of(parts.multiplier));
  packed.push_back(real_of(parts.rest));
  packed.push_back(parts.constant(call, parts.table));
  return packed;
}

bool are_packed(const StepSpec& spec, const ConvSizes& s, const EpilogueParts& parts, bool has_offset) {
  return is_packed_as(spec, kHybridWeights, DType::s8, s.channels() * s.padded_k) &&
         is_packed_as(spec, kHybridFactors, DType::s32, s.channels()) &&
         (!has_offset || is_packed_as(spec, kHybridOffsets, DType::s32, s.channels())) &&
         is_packed_as(spec, kHybridMultipliers, DType::f32, s.channels()) &&
         is_packed_as(spec, kHybridBiases, DType::f32, s.channels()) &&
         (parts.table < 0 || is_packed_as(spec, kHybridTable, parts.to, 256)) && is_read_in_run(spec, kHybridX) &&
         is_read_in_run(spec, kHybridXZero) && parts.is_read_in_run(spec);
}

// ---- running ----

RunScaleArgs run_args(const CallView& call, const ConvSizes& s, const EpilogueParts& parts) {
  const ClampReal clamp = parts.clamp == nullptr ? ClampReal{} : *parts.clamp;
  return {.pixels = s.pixels / call.input(kHybridXZero).elements(),
          .lowest = clamp.lowest,
          .highest = clamp.highest,
          .form = parts.in_run->form};
}

template <const ConvTileShape& tile>
Result<std::unique_ptr<Step>> make_hybrid_conv(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<HybridConvAttrs>();
  const ConvSizes s = hybrid_conv_sizes_of(call, tile);
  const EpilogueParts parts = *parts_of(call);
  const bool has_offset = call.input(kHybridOffset).exists();
  if (!are_packed(spec, s, parts, has_offset)) return not_as_packed(spec);
  LaunchMaker<ConvArgs> maker;
  ConvArgs& args = maker.arguments;
  args.window = window_args(attrs.window, *call.input(kHybridX).shape, *call.output().shape);
  args.epilogue = parts.for_rows(spec);
  args.run = run_args(call, s, parts);
  place_conv(maker, s, tile);
  maker.point(args.x, Operand::input, kHybridX);
  maker.point(args.w, Operand::packed, kHybridWeights);
  maker.point(args.bias, Operand::packed, kHybridFactors);
  maker.point_if(has_offset, args.w_offset, Operand::packed, kHybridOffsets);
  maker.point(args.epilogue.multiplier, Operand::packed, kHybridMultipliers);
  maker.point(args.epilogue.rest, Operand::packed, kHybridBiases);
  maker.point_if(parts.table >= 0, args.epilogue.table, Operand::packed, kHybridTable);
  maker.point_if(parts.other >= 0, args.other, Operand::input, static_cast<std::size_t>(parts.other));
  maker.point(args.run.scale, Operand::input, kHybridXScale);
  maker.point(args.run.zero_point, Operand::input, kHybridXZero);
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = "conv_run" + conv_kernel_suffix(s, tile);
  return maker.make(spec);
}

template <const ConvTileShape& tile>
double hybrid_conv_cost(const OpCall& call, const Machine& machine) {
  const CallView view = view_of(call);
  return conv_ns(view, hybrid_conv_sizes_of(view, tile), tile, machine);
}

template <const ConvTileShape& tile>
constexpr KernelChoice hybrid_conv_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "hybrid_conv",
                   .needs = Isa::cuda,
                   .packs = true,
                   .prepare = prepare_by<refuse_hybrid_conv<tile>, make_hybrid_conv<tile>>},
          .refusal = hybrid_conv_refusal<tile>,
          .cost = hybrid_conv_cost<tile>,
          .knows_speeds = true,
          .pack = pack_hybrid_conv<tile>,
          .packed_layout = same_layout};
}

constexpr KernelChoice kHybridConvChoices[] = {
    hybrid_conv_kernel<kTile128x64>("hybrid_conv_u8s8_128x64_cuda"),
    hybrid_conv_kernel<kTile64x64>("hybrid_conv_u8s8_64x64_cuda"),
    hybrid_conv_kernel<kTile32x32>("hybrid_conv_u8s8_32x32_cuda"),
};
constexpr auto kHybridConvCodes = codes_of(kHybridConvChoices);

}  // namespace
}  // namespace octavo::cuda

std::span<const octavo::KernelCode> octavo::cuda_hybrid_conv_codes() { return cuda::kHybridConvCodes; }
std::span<const octavo::KernelChoice> octavo::cuda_hybrid_conv_choices() { return cuda::kHybridConvChoices; }
