// Operators of single stored values: quantized_elementwise, table, quantize, dequantize. Part of cuda/.
#include "cuda/cuda.h"
#include "cuda/element_kernel.h"
#include "cuda/strided.h"
#include "kernels/epilogue/step.h"
#include "ops/dequantize/dequantize.h"
#include "ops/quantize/quantize.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"

namespace octavo::cuda {
namespace {

constexpr std::int64_t kElementLanes = 4;

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
  if (epilogue->rows.formula == Formula::fixed_div) return "has no quotients in fixed point";
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
    return strides[kMostAxes - 1] == 1 && std::all_of(strides, strides + kMostAxes - 1,
                                                      [](std::int64_t stride) { return stride % kElementLanes == 0; });
  };
  const bool is_by_quads = args.at.size[kMostAxes - 1] % kElementLanes == 0 && has_quads(args.at.x_stride) &&
                           has_quads(args.at.other_stride);
  maker.launch.kernel = is_by_quads ? "pairs_4" : "pairs_1";
  maker.for_threads(is_by_quads ? args.at.elements / kElementLanes : args.at.elements);
  return maker.make(spec);
}

// ---- sums ----

std::optional<StridedArgs> sum_places(const CallView& call, const StepEpilogue& epilogue) {
  const Shape none;
  const Shape& factor = epilogue.factor < 0 ? none : *call.input(static_cast<std::size_t>(epilogue.factor)).shape;
  return strided_args(broadcast_axes(*call.output().shape, *call.input(0).shape, factor));
}

std::string refuse_sums(const CallView& call) {
  const auto epilogue = epilogue_of(call);
  if (!epilogue || epilogue->other >= 0) return "needs sums, and an epilogue of one scale, a rounding and a table";
  if (is_8bit(call.input(0).dtype)) return "needs sums of 16 or 32 bits";
  if (!sum_places(call, *epilogue)) return "needs at most six axes that cannot be merged";
  return refuse_size(call);
}

Result<std::unique_ptr<Step>> make_sums(const CallView& call, const StepSpec& spec) {
  const StepEpilogue epilogue = *epilogue_of(call);
  LaunchMaker<SumArgs> maker;
  SumArgs& args = maker.arguments;
  args.at = *sum_places(call, epilogue);
  args.epilogue = epilogue.rows;
  args.is_wide = call.input(0).dtype == DType::s32 ? 1 : 0;
  maker.point(args.at.x, Operand::input, 0);
  maker.point(args.at.y, Operand::output, 0);
  epilogue.for_operands(args.epilogue, [&](int input, const auto& member) {
    maker.point_if(input >= 0, member, Operand::input, static_cast<std::size_t>(input));
  });
  maker.launch.kernel = "sums";
  maker.for_threads(args.at.elements);
  return maker.make(spec);
}

// ---- table ----

std::string refuse_table(const CallView& call) {
  const std::size_t entry = size_of(call.output().dtype);
  if (!is_8bit(call.input(0).dtype)) return "looks bytes up";
  return entry == 1 || entry == 4 ? refuse_size(call) : "needs entries of 1 or 4 bytes";
}

Result<std::unique_ptr<Step>> make_table(const CallView& call, const StepSpec& spec) {
  LaunchMaker<BytesArgs> maker;
  BytesArgs& args = maker.arguments;
  args.elements = call.output().elements();
  maker.point(args.x, Operand::input, 0);
  maker.point(args.table, Operand::input, 1);
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = size_of(call.output().dtype) == 1 ? "table_1" : "table_4";
  maker.for_threads((args.elements + kElementLanes - 1) / kElementLanes);
  return maker.make(spec);
}

// ---- quantize, dequantize ----

std::optional<StoredType> stored_type(DType type) {
  switch (type) {
    case DType::u8: return StoredType::u8;
    case DType::s8: return StoredType::s8;
    case DType::s16: return StoredType::s16;
    default: return std::nullopt;
  }
}

// Of what is real, what is stored, and the scales' axis.
template <class Arguments>
void place_scales(LaunchMaker<Arguments>& maker, const CallView& call, DType stored, std::int64_t axis) {
  const Shape& x = *call.input(0).shape;
  Arguments& args = maker.arguments;
  args.elements = x.elements();
  args.type = *stored_type(stored);
  if (axis >= 0 && call.input(1).elements() != 1) {
    args.channels = x[static_cast<int>(axis)];
    args.inner = x.elements(static_cast<int>(axis) + 1, x.rank());
  }
  maker.point(args.x, Operand::input, 0);
  maker.point(args.scale, Operand::input, 1);
  maker.point_if(call.input(2).exists(), args.zero_point, Operand::input, 2);
  maker.point(args.y, Operand::output, 0);
}

std::string refuse_types(const CallView& call, DType real, DType stored, std::int64_t block) {
  if (real != DType::f32 || !stored_type(stored)) return "needs f32 on one side and 8 bits or s16 on the other";
  if (call.input(1).dtype != DType::f32 || block != 0) return "needs scales in f32, not of blocks";
  return refuse_size(call);
}

std::string refuse_quantize(const CallView& call) {
  return refuse_types(call, call.input(0).dtype, call.output().dtype, call.attrs->as<QuantizeAttrs>().block);
}

Result<std::unique_ptr<Step>> make_elements_quantize(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<QuantizeAttrs>();
  const IntegerRange type = range_of(call.output().dtype);
  const bool is_narrow = attrs.lowest != 0 || attrs.highest != 0;
  LaunchMaker<QuantizeArgs> maker;
  QuantizeArgs& args = maker.arguments;
  args.lowest = is_narrow ? attrs.lowest : static_cast<std::int32_t>(type.lowest);
  args.highest = is_narrow ? attrs.highest : static_cast<std::int32_t>(type.highest);
  args.multiplies = multiplies_by_inverse(attrs.profile) ? 1 : 0;
  args.rounds_away = rounds_away(attrs.profile) ? 1 : 0;
  place_scales(maker, call, call.output().dtype, attrs.axis);
  maker.launch.kernel = "quantize_f32";
  maker.for_threads((args.elements + kElementLanes - 1) / kElementLanes);
  return maker.make(spec);
}

std::string refuse_dequantize(const CallView& call) {
  return refuse_types(call, call.output().dtype, call.input(0).dtype, call.attrs->as<DequantizeAttrs>().block);
}

Result<std::unique_ptr<Step>> make_dequantize(const CallView& call, const StepSpec& spec) {
  LaunchMaker<DequantizeArgs> maker;
  place_scales(maker, call, call.input(0).dtype, call.attrs->as<DequantizeAttrs>().axis);
  maker.launch.kernel = "dequantize_f32";
  maker.for_threads(maker.arguments.elements);
  return maker.make(spec);
}

constexpr KernelChoice kElementsChoices[] = {
    element_kernel<refuse_dequantize, make_dequantize>("dequantize_f32_cuda", "dequantize"),
    element_kernel<refuse_pair, make_pair>("pairs_q8_cuda", "quantized_elementwise"),
    element_kernel<refuse_quantize, make_elements_quantize>("quantize_f32_cuda", "quantize"),
    element_kernel<refuse_sums, make_sums>("sums_q8_cuda", "quantized_elementwise"),
    element_kernel<refuse_table, make_table>("table_cuda", "table"),
};
constexpr auto kElementsCodes = codes_of(kElementsChoices);

}  // namespace
}  // namespace octavo::cuda

std::span<const octavo::KernelCode> octavo::cuda_element_codes() { return cuda::kElementsCodes; }
std::span<const octavo::KernelChoice> octavo::cuda_element_choices() { return cuda::kElementsChoices; }
