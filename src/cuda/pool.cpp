// max_pool, average_pool and quantized_pool of NHWC images. Part of cuda/.
#include "cuda/cost.h"
#include "cuda/cuda.h"
#include "cuda/launch.h"
#include "cuda/window.h"
#include "kernels/epilogue/step.h"
#include "ops/average_pool/average_pool.h"
#include "ops/max_pool/max_pool.h"
#include "ops/quantized_pool/quantized_pool.h"

namespace octavo::cuda {
namespace {

std::string refuse_window(const CallView& call, const Window& window) {
  if (std::string reason = elements_refusal(call.output().elements()); !reason.empty()) return reason;
  return window_refusal(window, *call.input(0).shape, *call.output().shape);
}

std::string refuse_max(const CallView& call) {
  const auto& attrs = call.attrs->as<MaxPoolAttrs>();
  if (call.input(0).dtype != DType::u8 && call.input(0).dtype != DType::f32) return "needs u8 or f32";
  if (attrs.layout != Layout::channels_last) return "needs channels_last";
  return refuse_window(call, attrs.window);
}

Result<std::unique_ptr<Step>> make_max(const CallView& call, const StepSpec& spec) {
  LaunchMaker<PoolArgs> maker;
  PoolArgs& args = maker.arguments;
  args.window = window_args(call.attrs->as<MaxPoolAttrs>().window, *call.input(0).shape, *call.output().shape);
  const bool in_chunks = call.input(0).dtype == DType::u8 && args.window.channels % 16 == 0;
  const std::int64_t channels = in_chunks ? 16 : 1;  // of a thread
  args.threads = call.output().elements() / channels;
  args.by_groups = Divisor::of(args.window.channels / channels);
  maker.point(args.x, Operand::input, 0);
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = in_chunks                          ? "max_pool_u8_16"
                        : call.input(0).dtype == DType::u8 ? "max_pool_u8"
                                                           : "max_pool_f32";
  maker.for_threads(args.threads);
  return maker.make(spec);
}

std::string refuse_average(const CallView& call) {
  const auto& attrs = call.attrs->as<AveragePoolAttrs>();
  if (call.input(0).dtype != DType::f32) return "needs f32";
  if (attrs.layout != Layout::channels_last) return "needs channels_last";
  return refuse_window(call, attrs.window);
}

Result<std::unique_ptr<Step>> make_average(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<AveragePoolAttrs>();
  LaunchMaker<PoolArgs> maker;
  PoolArgs& args = maker.arguments;
  args.window = window_args(attrs.window, *call.input(0).shape, *call.output().shape);
  args.threads = call.output().elements();
  args.by_groups = Divisor::of(args.window.channels);
  args.pads = attrs.count_include_pad ? 1 : 0;
  const std::vector<std::int64_t> pad_end = fixed(attrs.window.pad_end);
  args.padded_height = args.window.height + static_cast<std::int32_t>(pad_end[0]);
  args.padded_width = args.window.width + static_cast<std::int32_t>(pad_end[1]);
  maker.point(args.x, Operand::input, 0);
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = "float_pool";
  maker.for_threads(args.threads);
  return maker.make(spec);
}

std::string refuse_pool_quantized(const CallView& call) {
  if (call.output().dtype == DType::f32) return "needs bytes or sums as its result";
  if (std::string reason = step_epilogue_refusal<QuantizedPoolAttrs, kPoolOperands>(call); !reason.empty())
    return reason;
  return refuse_window(call, call.attrs->as<QuantizedPoolAttrs>().window);
}

// Windows that a thread would be long about, whose sums may be added up in any order.
bool is_wide(const CallView& call) {
  constexpr std::int64_t kManyTaps = 16;
  const auto& attrs = call.attrs->as<QuantizedPoolAttrs>();
  return attrs.form != QuantizedPoolForm::real_average && (*call.output().shape)[3] % 4 == 0 &&
         attrs.window.kernel[0] * attrs.window.kernel[1] >= kManyTaps;
}

std::int64_t blocks_of_channels(std::int64_t channels) {
  return (channels + kWidePoolChannels - 1) / kWidePoolChannels;
}

Result<std::unique_ptr<Step>> make_pool_quantized(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<QuantizedPoolAttrs>();
  const StepEpilogue epilogue = *StepEpilogue::of(attrs.epilogue, kPoolOperands, call);
  LaunchMaker<PoolArgs> maker;
  PoolArgs& args = maker.arguments;
  args.window = window_args(attrs.window, *call.input(0).shape, *call.output().shape);
  args.epilogue = epilogue.rows;
  args.threads = call.output().elements();
  args.by_groups = Divisor::of(args.window.channels);
  args.x_zero_point = attrs.x_zero_point, args.x_scale = attrs.x_scale;
  args.is_signed = call.input(0).dtype == DType::s8 ? 1 : 0;
  if (attrs.count_include_pad) args.count = args.window.kernel_h * args.window.kernel_w;
  maker.point(args.x, Operand::input, 0);
  maker.point(args.y, Operand::output, 0);
  epilogue.for_operands(args.epilogue, [&](int input, const auto& member) {
    maker.point_if(input >= 0, member, Operand::input, static_cast<std::size_t>(input));
  });
  constexpr std::string_view kernels[] = {"sum_pool", "average_pool", "mean_pool"};
  maker.launch.kernel = kernels[static_cast<std::size_t>(attrs.form)];
  maker.for_threads(args.threads);
  if (is_wide(call)) {
    const std::int64_t pixels = args.threads / args.window.channels;
    maker.launch.kernel += "_wide";
    maker.launch.grid = {pixels * blocks_of_channels(args.window.channels), 1, 1};
    maker.launch.shared_bytes = maker.launch.threads * 5 * static_cast<int>(sizeof(std::int32_t));
  }
  return maker.make(spec);
}

// A thread reads its taps one after the other, and waits for each.
double cost_of(const CallView& view, const Window& window, const Machine& machine) {
  constexpr double kTapNs = 30.0, kThreadsAtOnce = 2048.0;
  const double taps = static_cast<double>(window.kernel[0] * window.kernel[1]);
  const double turns = static_cast<double>(view.output().elements()) / (kThreadsAtOnce * machine.cores);
  return memory_ns(view, machine) + taps * kTapNs * std::max(1.0, turns);
}

template <class WindowAttrs>
double pool_cost(const OpCall& call, const Machine& machine) {
  return cost_of(view_of(call), call.attrs->as<WindowAttrs>().window, machine);
}

template <class WindowAttrs, Refuse refuse, auto make>
constexpr KernelChoice pool_kernel(std::string_view name, std::string_view op) {
  return {.code = {.name = name, .op = op, .needs = Isa::cuda, .prepare = prepare_by<refuse, make>},
          .refusal = refusal_by<refuse>,
          .cost = pool_cost<WindowAttrs>,
          .knows_speeds = true};
}

constexpr KernelChoice kPoolChoices[] = {
    pool_kernel<AveragePoolAttrs, refuse_average, make_average>("average_pool_f32_cuda", "average_pool"),
    pool_kernel<MaxPoolAttrs, refuse_max, make_max>("max_pool_cuda", "max_pool"),
    pool_kernel<QuantizedPoolAttrs, refuse_pool_quantized, make_pool_quantized>("pool_q8_cuda", "quantized_pool"),
};
constexpr auto kPoolCodes = codes_of(kPoolChoices);

}  // namespace
}  // namespace octavo::cuda

std::span<const octavo::KernelCode> octavo::cuda_pool_codes() { return cuda::kPoolCodes; }
std::span<const octavo::KernelChoice> octavo::cuda_pool_choices() { return cuda::kPoolChoices; }
