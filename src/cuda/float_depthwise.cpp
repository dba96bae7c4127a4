// float_depthwise of images: a chain of multiply-adds for each element, in the order of LiteRT's kernels. Part of
// cuda/.
#include "ops/float_depthwise/float_depthwise.h"

#include <algorithm>

#include "cuda/cost.h"
#include "cuda/cuda.h"
#include "cuda/launch.h"
#include "cuda/window.h"

namespace octavo::cuda {
namespace {

enum Input : std::size_t { kFloatDepthwiseX = 0, kFloatDepthwiseW = 1, kFloatDepthwiseBias = 2 };
enum FloatDepthwisePacked : std::size_t {
  kFloatDepthwiseTaps = 0,
  kFloatDepthwiseWeights = 1,
  kFloatDepthwiseBiases = 2
};

std::string refuse_float_depthwise(const CallView& call) {
  if (std::string reason = elements_refusal(call.output().elements()); !reason.empty()) return reason;
  return window_refusal(call.attrs->as<FloatDepthwiseAttrs>().window, *call.input(kFloatDepthwiseX).shape,
                        *call.output().shape);
}

std::string float_depthwise_refusal(const OpCall& call) {
  for (const std::size_t i : {kFloatDepthwiseW, kFloatDepthwiseBias}) {
    if (i < call.inputs.size() && call.inputs[i] != nullptr && !call.inputs[i]->is_constant())
      return "needs constant weights";
  }
  return call.inputs[kFloatDepthwiseX]->is_constant() ? "needs a variable x" : refuse_float_depthwise(view_of(call));
}

// w [channel][tap] becomes [tap in the order of chains][channel].
std::vector<Tensor> pack_float_depthwise(const OpCall& call) {
  const std::vector<std::int64_t> order = depthwise_tap_order(call.attrs->as<FloatDepthwiseAttrs>().window);
  const Tensor& w = *call.inputs[kFloatDepthwiseW]->constant;
  const std::int64_t taps = std::ssize(order), channels = w.shape()[0];
  Tensor numbers(DType::s32, Shape{taps}), weights(DType::f32, Shape{taps, channels}), biases(DType::f32, {channels});
  for (std::int64_t i = 0; i < taps; ++i) {
    const std::int64_t tap = order[static_cast<std::size_t>(i)];
    numbers.as<std::int32_t>()[i] = static_cast<std::int32_t>(tap);
    for (std::int64_t c = 0; c < channels; ++c) weights.as<float>()[i * channels + c] = w.as<float>()[c * taps + tap];
  }
  const bool has_bias = view_of(call).input(kFloatDepthwiseBias).exists();
  if (has_bias) std::copy_n(call.inputs[kFloatDepthwiseBias]->constant->as<float>(), channels, biases.as<float>());
  else std::fill_n(biases.as<float>(), channels, 0.0f);
  std::vector<Tensor> packed;
  packed.push_back(std::move(numbers));
  packed.push_back(std::move(weights));
  packed.push_back(std::move(biases));
  return packed;
}

Result<std::unique_ptr<Step>> make_float_depthwise(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<FloatDepthwiseAttrs>();
  const std::vector<std::int64_t> kernel = fixed(attrs.window.kernel);
  const std::int64_t taps = kernel[0] * kernel[1], channels = (*call.output().shape)[3];
  if (!is_packed_as(spec, kFloatDepthwiseTaps, DType::s32, taps) ||
      !is_packed_as(spec, kFloatDepthwiseWeights, DType::f32, taps * channels) ||
      !is_packed_as(spec, kFloatDepthwiseBiases, DType::f32, channels) || !is_read_in_run(spec, kFloatDepthwiseX) ||
      !std::ranges::all_of(spec.packed[kFloatDepthwiseTaps].span<std::int32_t>(),
                           [&](int tap) { return tap >= 0 && tap < taps; }))
    return not_as_packed(spec);
  LaunchMaker<FloatDepthwiseArgs> maker;
  FloatDepthwiseArgs& args = maker.arguments;
  args.window = window_args(attrs.window, *call.input(kFloatDepthwiseX).shape, *call.output().shape);
  args.threads = call.output().elements();
  args.lowest = attrs.lowest, args.highest = attrs.highest;
  maker.point(args.x, Operand::input, kFloatDepthwiseX);
  maker.point(args.taps, Operand::packed, kFloatDepthwiseTaps);
  maker.point(args.w, Operand::packed, kFloatDepthwiseWeights);
  maker.point(args.bias, Operand::packed, kFloatDepthwiseBiases);
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = "float_depthwise";
  maker.for_threads(args.threads);
  return maker.make(spec);
}

double float_depthwise_cost(const OpCall& call, const Machine& machine) {
  constexpr double kLanes = 128.0, kShare = 0.1;  // multiply-adds of a multiprocessor at once, and what is reached
  const CallView view = view_of(call);
  const std::vector<std::int64_t> kernel = fixed(call.attrs->as<FloatDepthwiseAttrs>().window.kernel);
  const double macs = static_cast<double>(view.output().elements() * kernel[0] * kernel[1]);
  return memory_ns(view, machine) + macs / (kLanes * kShare * machine.speeds.gigahertz * std::max(1, machine.cores));
}

constexpr KernelChoice kFloatDepthwiseChoices[] = {
    {.code = {.name = "float_depthwise_cuda",
              .op = "float_depthwise",
              .needs = Isa::cuda,
              .packs = true,
              .prepare = prepare_by<refuse_float_depthwise, make_float_depthwise>},
     .refusal = float_depthwise_refusal,
     .cost = float_depthwise_cost,
     .knows_speeds = true,
     .pack = pack_float_depthwise,
     .packed_layout = same_layout}};
constexpr auto kFloatDepthwiseCodes = codes_of(kFloatDepthwiseChoices);

}  // namespace
}  // namespace octavo::cuda

std::span<const octavo::KernelCode> octavo::cuda_float_depthwise_codes() { return cuda::kFloatDepthwiseCodes; }
std::span<const octavo::KernelChoice> octavo::cuda_float_depthwise_choices() { return cuda::kFloatDepthwiseChoices; }
