// quantized_conv with one input channel per group, position by position. Part of cuda/.
#include "cuda/arguments.h"
#include "cuda/conv_call.h"
#include "cuda/cost.h"
#include "cuda/cuda.h"
#include "cuda/launch.h"
#include "cuda/window.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo::cuda {
namespace {

enum DepthwisePacked : std::size_t { kDepthwiseWeights = 0, kDepthwiseOffsets = 1, kDepthwiseChannels = 2 };

std::int64_t taps_of(const CallView& call) {
  const Window& window = call.attrs->as<QuantizedConvAttrs>().window;
  return window.kernel[0] * window.kernel[1];
}
std::int64_t channels_of(const CallView& call) { return (*call.output().shape)[3]; }
std::int64_t per_input(const CallView& call) { return channels_of(call) / (*call.input(kConvX).shape)[3]; }
int lanes_of(const CallView& call) { return per_input(call) == 1 && channels_of(call) % 4 == 0 ? 4 : 1; }

std::string refuse_depthwise(const CallView& call) {
  if (std::string reason = refuse_conv(call); !reason.empty()) return reason;
  if (call.input(kConvX).dtype != DType::u8) return "needs an input of type u8";
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  if (attrs.groups != (*call.input(kConvX).shape)[3]) return "needs one input channel per group";
  return elements_refusal(call.output().elements());
}

std::string depthwise_refusal(const OpCall& call) {
  if (std::string reason = refuse_depthwise(view_of(call)); !reason.empty()) return reason;
  return refuse_variables(call);
}

// w [oc][tap] becomes [tap][oc].
std::vector<Tensor> pack_depthwise(const OpCall& call) {
  const CallView view = view_of(call);
  const std::int64_t taps = taps_of(view), channels = channels_of(view);
  const Tensor& w = *call.inputs[kConvW]->constant;
  Tensor weights(DType::s8, Shape{taps, channels});
  for (std::int64_t oc = 0; oc < channels; ++oc) {
    for (std::int64_t tap = 0; tap < taps; ++tap)
      weights.as<std::int8_t>()[tap * channels + oc] = w.as<std::int8_t>()[oc * taps + tap];
  }
  std::vector<Tensor> packed{std::move(weights), constant_or_empty(call, kConvOffset)};
  add_channel_constants(call, {1, channels, channels}, packed);
  return packed;
}

Result<std::unique_ptr<Step>> make_depthwise(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  const std::int64_t channels = channels_of(call);
  const bool has_offset = call.input(kConvOffset).exists();
  const ConvEpilogue epilogue(call, spec);
  if (!is_packed_as(spec, kDepthwiseWeights, DType::s8, taps_of(call) * channels) ||
      (has_offset && !is_packed_as(spec, kDepthwiseOffsets, DType::s32, channels)) ||
      !epilogue.is_packed(kDepthwiseChannels, channels))
    return not_as_packed(spec);
  LaunchMaker<DepthwiseArgs> maker;
  DepthwiseArgs& args = maker.arguments;
  args.window = window_args(attrs.window, *call.input(kConvX).shape, *call.output().shape);
  args.per_input = static_cast<std::int32_t>(per_input(call));
  args.x_zero_point = attrs.x_zero_point;
  args.threads = call.output().elements() / lanes_of(call);
  args.by_groups = Divisor::of(args.window.out_channels / lanes_of(call));
  maker.point(args.x, Operand::input, kConvX);
  maker.point(args.w, Operand::packed, kDepthwiseWeights);
  maker.point_if(has_offset, args.w_offset, Operand::packed, kDepthwiseOffsets);
  epilogue.place(maker, kDepthwiseChannels);
  maker.launch.kernel = lanes_of(call) == 4 ? "depthwise_4" : "depthwise_1";
  maker.for_threads(args.threads);
  return maker.make(spec);
}

// A thread reads, widens and multiplies byte by byte: of what tensor cores multiply, an H200 reached this share.
double depthwise_cost(const OpCall& call, const Machine& machine) {
  constexpr double kShare = 0.0033;
  const CallView view = view_of(call);
  const double macs =
      static_cast<double>(view.output().elements() * (taps_of(view) + 8)) * (lanes_of(view) == 4 ? 1.0 : 3.0);
  return memory_ns(view, machine) + macs / (machine.speeds.tile_gmacs * kShare * machine.cores);
}

constexpr KernelChoice kDepthwiseChoices[] = {{.code = {.name = "depthwise_u8s8_cuda",
                                                        .op = "quantized_conv",
                                                        .needs = Isa::cuda,
                                                        .packs = true,
                                                        .prepare = prepare_by<refuse_depthwise, make_depthwise>},
                                               .refusal = depthwise_refusal,
                                               .cost = depthwise_cost,
                                               .knows_speeds = true,
                                               .pack = pack_depthwise,
                                               .packed_layout = same_layout}};
constexpr auto kDepthwiseCodes = codes_of(kDepthwiseChoices);

}  // namespace
}  // namespace octavo::cuda

std::span<const octavo::KernelCode> octavo::cuda_depthwise_codes() { return cuda::kDepthwiseCodes; }
std::span<const octavo::KernelChoice> octavo::cuda_depthwise_choices() { return cuda::kDepthwiseChoices; }
