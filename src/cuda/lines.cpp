// Operators of lines: softmax, layer_norm and reduce of f32, quantized_softmax, quantized_layer_norm. Part of cuda/.
#include "kernels/lines/lines.h"

#include "cuda/arguments.h"
#include "cuda/cuda.h"
#include "cuda/element_kernel.h"
#include "kernels/epilogue/parts.h"
#include "kernels/integer_norm/norm_epilogue.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/quantized_layer_norm/quantized_layer_norm.h"
#include "ops/quantized_softmax/quantized_softmax.h"
#include "ops/reduce/reduce.h"
#include "ops/softmax/softmax.h"

namespace octavo::cuda {
namespace {

constexpr std::int64_t kLinesOfBlock = 8;  // as in cuda/device/lines.h
constexpr int kLineThreads = 128;

// Eight lines a block, with room for two partial results of eight bytes for each thread.
template <class Arguments>
void place_lines(LaunchMaker<Arguments>& maker, std::int64_t lines) {
  constexpr int kSharedBytes = 2 * 8 * kLineThreads;
  maker.launch.grid = {std::max<std::int64_t>(1, (lines + kLinesOfBlock - 1) / kLinesOfBlock), 1, 1};
  maker.launch.threads = kLineThreads;
  maker.launch.shared_bytes = kSharedBytes;
}

// Lines of f32 along the middle of [outer, n, inner].
Result<std::unique_ptr<Step>> make_lines(LaunchMaker<LineArgs>& maker, std::string kernel, const StepSpec& spec) {
  maker.point(maker.arguments.x, Operand::input, 0);
  maker.point(maker.arguments.y, Operand::output, 0);
  maker.launch.kernel = std::move(kernel);
  place_lines(maker, maker.arguments.lines);
  return maker.make(spec);
}

std::string refuse_f32(const CallView& call) {
  for (const OperandType& input : call.inputs) {
    if (input.exists() && input.dtype != DType::f32) return "needs f32";
  }
  return elements_refusal(call.input(0).elements());
}

// ---- softmax ----

Result<std::unique_ptr<Step>> make_softmax(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<SoftmaxAttrs>();
  const Shape& x = *call.input(0).shape;
  const int axis = static_cast<int>(attrs.axis);
  LaunchMaker<LineArgs> maker;
  LineArgs& args = maker.arguments;
  args.n = x[axis];
  args.inner = std::max<std::int64_t>(1, x.elements(axis + 1, x.rank()));
  args.lines = args.n == 0 ? 0 : x.elements() / args.n;
  return make_lines(maker, attrs.kind == SoftmaxKind::log_softmax ? "log_softmax_f32" : "softmax_f32", spec);
}

// ---- layer_norm ----

std::string refuse_layer_norm(const CallView& call) {
  const Shape& x = *call.input(0).shape;
  const std::int64_t n = x.elements(static_cast<int>(call.attrs->as<LayerNormAttrs>().axis), x.rank());
  const bool has_other_bias = call.input(2).exists() && call.input(2).elements() != n;
  if (call.input(1).elements() != n || has_other_bias) return "needs a scale and a bias for each element of a line";
  return refuse_f32(call);
}

Result<std::unique_ptr<Step>> make_layer_norm(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<LayerNormAttrs>();
  const Shape& x = *call.input(0).shape;
  LaunchMaker<LineArgs> maker;
  LineArgs& args = maker.arguments;
  args.n = x.elements(static_cast<int>(attrs.axis), x.rank());
  args.lines = args.n == 0 ? 0 : x.elements() / args.n;
  args.epsilon = static_cast<double>(attrs.epsilon);
  maker.point(args.scale, Operand::input, 1);
  maker.point_if(call.input(2).exists(), args.bias, Operand::input, 2);
  return make_lines(maker, "layer_norm_f32", spec);
}

// ---- reduce ----

// Of x seen as [outer, n, inner]; nothing where what is reduced is not one run of axes.
std::optional<LineArgs> reduced_lines(const CallView& call) {
  const auto& axes = call.attrs->as<ReduceAttrs>().axes;
  const Shape& x = *call.input(0).shape;
  LineArgs args{.n = 1};
  std::int64_t outer = 1;
  bool is_within = false;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (x[axis] == 1) continue;
    const bool is_reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (is_reduced && args.inner != 1) return std::nullopt;
    if (is_reduced) args.n *= x[axis], is_within = true;
    else (is_within ? args.inner : outer) *= x[axis];
  }
  args.lines = outer * args.inner;
  args.inner = std::max<std::int64_t>(1, args.inner);
  args.kind = call.attrs->as<ReduceAttrs>().kind;
  return args;
}

std::string refuse_reduce(const CallView& call) {
  return reduced_lines(call) ? refuse_f32(call) : "needs reduced axes that are neighbours";
}

Result<std::unique_ptr<Step>> make_reduce(const CallView& call, const StepSpec& spec) {
  LaunchMaker<LineArgs> maker;
  maker.arguments = *reduced_lines(call);
  return make_lines(maker, "reduce_f32", spec);
}

// ---- quantized_softmax ----

constexpr std::int64_t kLongestSoftmax = 8192;  // exponentials in shared memory
constexpr int kSoftmaxThreads = 128;

std::string refuse_byte_softmax(const CallView& call) {
  const Shape& x = *call.input(0).shape;
  if (!call.attrs->as<QuantizedSoftmaxAttrs>().makes_exponentials()) return "needs exponentials in f32";
  if (x[x.rank() - 1] > kLongestSoftmax) return "needs lines of at most 8192 elements";
  return elements_refusal(x.elements());
}

Result<std::unique_ptr<Step>> make_byte_softmax(const CallView& call, const StepSpec& spec) {
  if (!is_packed_as(spec, 0, DType::f32, 256) || !is_read_in_run(spec, 0)) return not_as_packed(spec);
  const auto& attrs = call.attrs->as<QuantizedSoftmaxAttrs>();
  const Shape& x = *call.input(0).shape;
  const IntegerRange range = range_of(attrs.to);
  LaunchMaker<ByteSoftmaxArgs> maker;
  ByteSoftmaxArgs& args = maker.arguments;
  args.n = x[x.rank() - 1];
  args.lines = args.n == 0 ? 0 : x.elements() / args.n;
  args.is_signed = call.input(0).dtype == DType::s8 ? 1 : 0;
  args.is_onnx = attrs.profile == Profile::onnx ? 1 : 0;
  args.y_scale = attrs.y_scale, args.inverse = softmax_inverse_scale(attrs.y_scale);
  args.round.lowest_integer = static_cast<std::int32_t>(range.lowest) - attrs.zero_point;
  args.round.highest_integer = static_cast<std::int32_t>(range.highest) - attrs.zero_point;
  args.round.lowest = static_cast<float>(args.round.lowest_integer);
  args.round.highest = static_cast<float>(args.round.highest_integer);
  args.round.after = attrs.zero_point;
  maker.point(args.x, Operand::input, 0);
  maker.point(args.exponentials, Operand::packed, 0);
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = "byte_softmax";
  maker.launch.grid[0] = std::max<std::int64_t>(1, args.lines);
  maker.launch.threads = kSoftmaxThreads;
  maker.launch.shared_bytes = static_cast<int>(4 * (kSoftmaxThreads + args.n));
  return maker.make(spec);
}

// ---- quantized_layer_norm ----

std::string refuse_norm(const CallView& call) {
  const auto epilogue = NormEpilogue::of(call.attrs->as<QuantizedLayerNormAttrs>().epilogue);
  if (!epilogue) return "needs an epilogue of a scale and a shift, a rounding and a table";
  const Shape& x = *call.input(0).shape;
  for (const int operand : {epilogue->factor, epilogue->factor + 1}) {
    if (call.input(static_cast<std::size_t>(operand)).elements() != x[x.rank() - 1])
      return "needs a factor and a shift for each channel";
  }
  return elements_refusal(x.elements());
}

Result<std::unique_ptr<Step>> make_norm(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<QuantizedLayerNormAttrs>();
  const NormEpilogue epilogue = *NormEpilogue::of(attrs.epilogue);
  const Shape& x = *call.input(0).shape;
  const DType from = call.input(0).dtype, to = attrs.epilogue.to;
  LaunchMaker<NormArgs> maker;
  NormArgs& args = maker.arguments;
  args.line = {from == DType::s16  ? NormType::s16
               : from == DType::s8 ? NormType::s8
                                   : NormType::u8,
               attrs.x_zero_point, x[x.rank() - 1]};
  args.lines = args.line.n == 0 ? 0 : x.elements() / args.line.n;
  args.is_centred = attrs.is_centred ? 1 : 0, args.epsilon = attrs.epsilon;
  args.result.to = to == DType::f32 ? NormTo::f32 : to == DType::s16 ? NormTo::s16 : NormTo::bytes;
  if (epilogue.round != nullptr) args.result.round = row_round(*epilogue.round);
  maker.point(args.x, Operand::input, 0);
  maker.point(args.result.factor, Operand::input, epilogue.factor_input());
  maker.point(args.result.shift, Operand::input, epilogue.shift_input());
  maker.point_if(epilogue.table >= 0, args.result.table, Operand::input, static_cast<std::size_t>(epilogue.table));
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = args.line.n % 4 == 0 ? "norm_stored_4" : "norm_stored_1";
  place_lines(maker, args.lines);
  return maker.make(spec);
}

constexpr KernelChoice kLinesChoices[] = {
    element_kernel<refuse_layer_norm, make_layer_norm>("layer_norm_f32_cuda", "layer_norm"),
    element_kernel<refuse_norm, make_norm>("layer_norm_q16_cuda", "quantized_layer_norm"),
    {.code = {.name = "softmax_q8_cuda",
              .op = "quantized_softmax",
              .needs = Isa::cuda,
              .packs = true,
              .prepare = prepare_by<refuse_byte_softmax, make_byte_softmax>},
     .refusal = refusal_by<refuse_byte_softmax>,
     .cost = element_cost,
     .knows_speeds = true,
     .pack = pack_softmax_exponentials,
     .packed_layout = softmax_exponentials_layout},
    element_kernel<refuse_reduce, make_reduce>("reduce_f32_cuda", "reduce"),
    element_kernel<refuse_f32, make_softmax>("softmax_f32_cuda", "softmax"),
};
constexpr auto kLinesCodes = codes_of(kLinesChoices);

}  // namespace
}  // namespace octavo::cuda

std::span<const octavo::KernelCode> octavo::cuda_line_codes() { return cuda::kLinesCodes; }
std::span<const octavo::KernelChoice> octavo::cuda_line_choices() { return cuda::kLinesChoices; }
