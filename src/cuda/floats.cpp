// binary and unary of f32, comparisons, cast. Part of cuda/.
#include "cuda/cuda.h"
#include "cuda/element_kernel.h"
#include "cuda/strided.h"
#include "cuda/unary_launch.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/unary/unary.h"

namespace octavo::cuda {

Launch unary_launch(const UnaryAttrs& function, std::int64_t elements, Operand x) {
  LaunchMaker<UnaryArgs> maker;
  UnaryArgs& args = maker.arguments;
  args.elements = elements;
  args.numbers = {function.alpha, function.beta};
  args.kind = function.kind;
  maker.point(args.x, x, 0);
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = "unary_f32";
  maker.for_threads(elements);
  return maker.finish();
}

namespace {

// ---- binary ----

bool is_comparison(BinaryKind kind) { return kind >= BinaryKind::equal && kind <= BinaryKind::less_or_equal; }

std::optional<StridedArgs> binary_places(const CallView& call) {
  return strided_args(broadcast_axes(*call.output().shape, *call.input(0).shape, *call.input(1).shape));
}

std::string refuse_binary(const CallView& call) {
  const BinaryKind kind = call.attrs->as<BinaryAttrs>().kind;
  if (call.input(0).dtype != DType::f32) return "needs f32";
  if (!is_comparison(kind) && (kind > BinaryKind::prelu || kind == BinaryKind::mod))
    return "computes add, sub, mul, div, pow, min, max, prelu and comparisons";
  return binary_places(call) ? refuse_size(call) : "needs at most six axes that cannot be merged";
}

Result<std::unique_ptr<Step>> make_binary(const CallView& call, const StepSpec& spec) {
  LaunchMaker<BinaryArgs> maker;
  BinaryArgs& args = maker.arguments;
  args.at = *binary_places(call);
  args.kind = call.attrs->as<BinaryAttrs>().kind;
  maker.point(args.at.x, Operand::input, 0);
  maker.point(args.at.other, Operand::input, 1);
  maker.point(args.at.y, Operand::output, 0);
  maker.launch.kernel = is_comparison(args.kind) ? "compare_f32" : "binary_f32";
  maker.for_threads(args.at.elements);
  return maker.make(spec);
}

// ---- unary ----

std::string refuse_unary(const CallView& call) {
  const UnaryKind kind = call.attrs->as<UnaryAttrs>().kind;
  if (call.input(0).dtype != DType::f32 || is_test(kind)) return "needs f32 and a function that gives f32";
  return is_angular(kind) ? "computes no angles" : refuse_size(call);
}

Result<std::unique_ptr<Step>> make_unary(const CallView& call, const StepSpec& spec) {
  return make_launch_step(unary_launch(call.attrs->as<UnaryAttrs>(), call.output().elements(), Operand::input), spec);
}

// ---- cast ----

std::optional<CastType> cast_type(DType type) {
  switch (type) {
    case DType::boolean: return CastType::boolean;
    case DType::u8: return CastType::u8;
    case DType::s8: return CastType::s8;
    case DType::s32: return CastType::s32;
    case DType::s64: return CastType::s64;
    case DType::f32: return CastType::f32;
    default: return std::nullopt;
  }
}

std::string refuse_cast(const CallView& call) {
  const DType from = call.input(0).dtype, to = call.output().dtype;
  if (!cast_type(from) || !cast_type(to) || (from == DType::f32 && to == DType::s64))
    return "needs bytes, s32, s64 or f32, and no s64 from f32";
  return refuse_size(call);
}

Result<std::unique_ptr<Step>> make_cast(const CallView& call, const StepSpec& spec) {
  LaunchMaker<CastArgs> maker;
  CastArgs& args = maker.arguments;
  args.elements = call.output().elements();
  args.from = *cast_type(call.input(0).dtype), args.to = *cast_type(call.output().dtype);
  maker.point(args.x, Operand::input, 0);
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = "cast";
  maker.for_threads(args.elements);
  return maker.make(spec);
}

constexpr KernelChoice kFloatsChoices[] = {
    element_kernel<refuse_binary, make_binary>("binary_f32_cuda", "binary"),
    element_kernel<refuse_cast, make_cast>("cast_cuda", "cast"),
    element_kernel<refuse_unary, make_unary>("unary_f32_cuda", "unary"),
};
constexpr auto kFloatsCodes = codes_of(kFloatsChoices);

}  // namespace
}  // namespace octavo::cuda

std::span<const octavo::KernelCode> octavo::cuda_float_codes() { return cuda::kFloatsCodes; }
std::span<const octavo::KernelChoice> octavo::cuda_float_choices() { return cuda::kFloatsChoices; }
