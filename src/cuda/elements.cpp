// Operators of single elements: quantized_elementwise, table, reshape, quantize, transpose. Part of cuda/.
#include "cuda/cost.h"
#include "cuda/cuda.h"
#include "cuda/launch.h"
#include "cuda/strided.h"
#include "kernels/epilogue/step.h"
#include "ops/quantize/quantize.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"
#include "ops/transpose/transpose.h"

namespace octavo::cuda {
namespace {

constexpr std::int64_t kLanes = 4;

std::string refuse_size(const CallView& call) { return elements_refusal(call.output().elements()); }

double cost(const OpCall& call, const Machine& machine) { return memory_ns(view_of(call), machine); }

// ---- pairs ----

std::optional<StepEpilogue> epilogue_of(const CallView& call) {
  return StepEpilogue::of(call.attrs->as<QuantizedElementwiseAttrs>().epilogue, kElementwiseOperands, call);
}

std::optional<StridedArgs> pair_places(const CallView& call, const StepEpilogue& epilogue) {
  const Shape& other = *call.input(static_cast<std::size_t>(epilogue.other)).shape;
  return strided_args(broadcast_axes(*call.output().shape, *call.input(0).shape, other));
}

std::string refuse_pair(const CallView& call) {
  const auto epilogue = epilogue_of(call);
  if (!epilogue || epilogue->other < 0 || epilogue->rows.result != RowEpilogue::Result::bytes)
    return "needs two stored values and bytes as the result";
  if (!is_8bit(call.input(0).dtype)) return "needs stored values of 8 bits";
  if (!pair_places(call, *epilogue)) return "needs at most six axes that cannot be merged";
  return refuse_size(call);
}

Result<std::unique_ptr<Step>> make_pair(const CallView& call, const StepSpec& spec) {
  const StepEpilogue epilogue = *epilogue_of(call);
  const auto other = static_cast<std::size_t>(epilogue.other);
  LaunchMaker<PairArgs> maker;
  PairArgs& args = maker.arguments;
  args.at = *pair_places(call, epilogue);
  args.epilogue = epilogue.rows;
  args.x_is_signed = call.input(0).dtype == DType::s8 ? 1 : 0;
  args.other_is_signed = call.input(other).dtype == DType::s8 ? 1 : 0;
  maker.point(args.at.x, Operand::input, 0);
  maker.point(args.at.other, Operand::input, other);
  maker.point(args.at.y, Operand::output, 0);
  maker.point_if(epilogue.table >= 0, args.epilogue.table, Operand::input, static_cast<std::size_t>(epilogue.table));
  // Four neighbours of the last axis, in y and in both operands at multiples of four.
  const auto has_quads = [&](const std::int64_t* strides) {
    return strides[kMostAxes - 1] == 1 &&
           std::all_of(strides, strides + kMostAxes - 1, [](std::int64_t stride) { return stride % kLanes == 0; });
  };
  const bool is_by_quads =
      args.at.size[kMostAxes - 1] % kLanes == 0 && has_quads(args.at.x_stride) && has_quads(args.at.other_stride);
  maker.launch.kernel = is_by_quads ? "pairs_4" : "pairs_1";
  maker.for_threads(is_by_quads ? args.at.elements / kLanes : args.at.elements);
  return maker.make(spec);
}

// ---- bytes ----

std::unique_ptr<Step> make_bytes(LaunchMaker<BytesArgs>& maker, std::string kernel, const StepSpec& spec) {
  BytesArgs& args = maker.arguments;
  maker.point(args.x, Operand::input, 0);
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = std::move(kernel);
  maker.for_threads((args.elements + kLanes - 1) / kLanes);
  return maker.make(spec);
}

std::string refuse_table(const CallView& call) {
  const std::size_t entry = size_of(call.output().dtype);
  return entry == 1 || entry == 4 ? refuse_size(call) : "needs entries of 1 or 4 bytes";
}

Result<std::unique_ptr<Step>> make_table(const CallView& call, const StepSpec& spec) {
  LaunchMaker<BytesArgs> maker;
  maker.arguments.elements = call.output().elements();
  maker.point(maker.arguments.table, Operand::input, 1);
  return make_bytes(maker, size_of(call.output().dtype) == 1 ? "table_1" : "table_4", spec);
}

std::string refuse_copy(const CallView& call) {
  return elements_refusal(static_cast<std::int64_t>(call.output().bytes()));
}

Result<std::unique_ptr<Step>> make_copy(const CallView& call, const StepSpec& spec) {
  LaunchMaker<BytesArgs> maker;
  maker.arguments.elements = static_cast<std::int64_t>(call.output().bytes());
  return make_bytes(maker, "copy_bytes", spec);
}

// ---- quantize ----

std::string refuse_quantize(const CallView& call) {
  const auto& attrs = call.attrs->as<QuantizeAttrs>();
  if (is_fixed_point(attrs.profile)) return "rounds halves to even, not away from 0";
  if (call.input(0).dtype != DType::f32 || !is_8bit(call.output().dtype)) return "needs f32 and a result of 8 bits";
  if (call.input(1).dtype != DType::f32 || call.input(1).elements() != 1 || attrs.block != 0)
    return "needs one scale in f32";
  return refuse_size(call);
}

Result<std::unique_ptr<Step>> make_quantize(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<QuantizeAttrs>();
  const IntegerRange type = range_of(call.output().dtype);
  const bool is_narrow = attrs.lowest != 0 || attrs.highest != 0;
  LaunchMaker<QuantizeArgs> maker;
  QuantizeArgs& args = maker.arguments;
  args.elements = call.output().elements();
  args.lowest = is_narrow ? attrs.lowest : static_cast<std::int32_t>(type.lowest);
  args.highest = is_narrow ? attrs.highest : static_cast<std::int32_t>(type.highest);
  args.is_signed = call.output().dtype == DType::s8 ? 1 : 0;
  args.multiplies = multiplies_by_inverse(attrs.profile) ? 1 : 0;
  maker.point(args.x, Operand::input, 0);
  maker.point(args.scale, Operand::input, 1);
  maker.point_if(call.input(2).exists(), args.zero_point, Operand::input, 2);
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = "quantize_f32";
  maker.for_threads((args.elements + kLanes - 1) / kLanes);
  return maker.make(spec);
}

// ---- transpose ----

std::optional<StridedArgs> transposed_places(const CallView& call) {
  const auto& perm = call.attrs->as<TransposeAttrs>().perm;
  const std::vector<std::int64_t> strides = call.input(0).shape->strides();
  std::vector<StridedAxis> axes;
  for (std::size_t i = 0; i < perm.size(); ++i)
    axes.push_back({(*call.output().shape)[static_cast<int>(i)], strides[static_cast<std::size_t>(perm[i])]});
  return strided_args(axes);
}

std::string refuse_transpose(const CallView& call) {
  const std::size_t bytes = size_of(call.input(0).dtype);
  if (bytes != 1 && bytes != 4) return "needs elements of 1 or 4 bytes";
  if (!transposed_places(call)) return "needs at most six axes that cannot be merged";
  return refuse_size(call);
}

Result<std::unique_ptr<Step>> make_transpose(const CallView& call, const StepSpec& spec) {
  LaunchMaker<StridedArgs> maker;
  maker.arguments = *transposed_places(call);
  maker.point(maker.arguments.x, Operand::input, 0);
  maker.point(maker.arguments.y, Operand::output, 0);
  maker.launch.kernel = size_of(call.input(0).dtype) == 1 ? "transpose_1" : "transpose_4";
  maker.for_threads(maker.arguments.elements);
  return maker.make(spec);
}

template <Refuse refuse, auto make>
constexpr KernelChoice kernel(std::string_view name, std::string_view op) {
  return {.code = {.name = name, .op = op, .needs = Isa::cuda, .prepare = prepare_by<refuse, make>},
          .refusal = refusal_by<refuse>,
          .cost = cost,
          .knows_speeds = true};
}

constexpr KernelChoice kChoices[] = {
    kernel<refuse_pair, make_pair>("pairs_q8_cuda", "quantized_elementwise"),
    kernel<refuse_table, make_table>("table_cuda", "table"),
    kernel<refuse_copy, make_copy>("reshape_copy_cuda", "reshape"),
    kernel<refuse_quantize, make_quantize>("quantize_f32_cuda", "quantize"),
    kernel<refuse_transpose, make_transpose>("transpose_cuda", "transpose"),
};
constexpr auto kCodes = codes_of(kChoices);

}  // namespace
}  // namespace octavo::cuda

std::span<const octavo::KernelCode> octavo::cuda_element_codes() { return cuda::kCodes; }
std::span<const octavo::KernelChoice> octavo::cuda_element_choices() { return cuda::kChoices; }
