// Operators that move elements: bitcast, concat, expand, gather, pad, reshape, slice, transpose, where. Part of cuda/.
#include "cuda/cuda.h"
#include "cuda/element_kernel.h"
#include "cuda/strided.h"
#include "ops/concat/concat.h"
#include "ops/gather/gather.h"
#include "ops/pad/pad.h"
#include "ops/slice/slice.h"
#include "ops/transpose/transpose.h"

namespace octavo::cuda {
namespace {

constexpr const char* kTooManyAxes = "needs at most six axes that cannot be merged";

std::string refuse_element(DType type) {
  const std::size_t bytes = size_of(type);
  return bytes == 1 || bytes == 4 || bytes == 8 ? "" : "needs elements of 1, 4 or 8 bytes";
}

// A kernel's name with the bytes of what it moves at once.
std::string named(std::string_view kernel, std::size_t bytes) {
  return std::string(kernel) + "_" + std::to_string(bytes);
}

// ---- copies ----

std::string refuse_copy(const CallView& call) {
  return elements_refusal(static_cast<std::int64_t>(call.output().bytes()));
}

Result<std::unique_ptr<Step>> make_copy(const CallView& call, const StepSpec& spec) {
  constexpr std::int64_t kLanes = 4;
  LaunchMaker<BytesArgs> maker;
  maker.arguments.elements = static_cast<std::int64_t>(call.output().bytes());
  maker.point(maker.arguments.x, Operand::input, 0);
  maker.point(maker.arguments.y, Operand::output, 0);
  maker.launch.kernel = "copy_bytes";
  maker.for_threads((maker.arguments.elements + kLanes - 1) / kLanes);
  return maker.make(spec);
}

// ---- strided boxes ----

using Places = std::optional<StridedArgs> (*)(const CallView& call);

std::optional<StridedArgs> transposed_places(const CallView& call) {
  const auto& perm = call.attrs->as<TransposeAttrs>().perm;
  const std::vector<std::int64_t> strides = call.input(0).shape->strides();
  std::vector<StridedAxis> axes;
  for (std::size_t i = 0; i < perm.size(); ++i)
    axes.push_back({(*call.output().shape)[static_cast<int>(i)], strides[static_cast<std::size_t>(perm[i])]});
  return strided_args(axes);
}

std::optional<StridedArgs> sliced_places(const CallView& call) {
  const auto& attrs = call.attrs->as<SliceAttrs>();
  const std::vector<std::int64_t> strides = call.input(0).shape->strides();
  std::vector<StridedAxis> axes;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    axes.push_back({attrs.sizes[i], strides[i] * attrs.steps[i]});
    first += strides[i] * attrs.starts[i];
  }
  auto args = strided_args(axes);
  if (args) args->x_first = first;
  return args;
}

std::optional<StridedArgs> expanded_places(const CallView& call) {
  return strided_args(broadcast_axes(*call.output().shape, *call.input(0).shape, {}));
}

template <Places places>
std::string refuse_move(const CallView& call) {
  if (std::string reason = refuse_element(call.input(0).dtype); !reason.empty()) return reason;
  return places(call) ? refuse_size(call) : kTooManyAxes;
}

template <Places places>
Result<std::unique_ptr<Step>> make_move(const CallView& call, const StepSpec& spec) {
  LaunchMaker<StridedArgs> maker;
  maker.arguments = *places(call);
  maker.point(maker.arguments.x, Operand::input, 0);
  maker.point(maker.arguments.y, Operand::output, 0);
  maker.launch.kernel = named("move", size_of(call.input(0).dtype));
  maker.for_threads(maker.arguments.elements);
  return maker.make(spec);
}

template <Places places>
constexpr KernelChoice move_kernel(std::string_view name, std::string_view op) {
  return element_kernel<refuse_move<places>, make_move<places>>(name, op);
}

// ---- where ----

std::optional<StridedArgs> chosen_places(const CallView& call) {
  const Shape& y = *call.output().shape;
  return strided_args(broadcast_axes(y, *call.input(0).shape, *call.input(1).shape, *call.input(2).shape));
}

std::string refuse_where(const CallView& call) {
  if (std::string reason = refuse_element(call.output().dtype); !reason.empty()) return reason;
  return chosen_places(call) ? refuse_size(call) : kTooManyAxes;
}

Result<std::unique_ptr<Step>> make_where(const CallView& call, const StepSpec& spec) {
  LaunchMaker<StridedArgs> maker;
  maker.arguments = *chosen_places(call);
  maker.point(maker.arguments.x, Operand::input, 0);
  maker.point(maker.arguments.other, Operand::input, 1);
  maker.point(maker.arguments.third, Operand::input, 2);
  maker.point(maker.arguments.y, Operand::output, 0);
  maker.launch.kernel = named("choose", size_of(call.output().dtype));
  maker.for_threads(maker.arguments.elements);
  return maker.make(spec);
}

// ---- pad ----

std::string refuse_pad(const CallView& call) {
  if (std::string reason = refuse_element(call.output().dtype); !reason.empty()) return reason;
  return call.output().shape->rank() <= kMostAxes ? refuse_size(call) : "needs at most six axes";
}

Result<std::unique_ptr<Step>> make_pad(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<PadAttrs>();
  const Shape &x = *call.input(0).shape, &y = *call.output().shape;
  const std::vector<std::int64_t> strides = x.strides();
  LaunchMaker<PadArgs> maker;
  PadArgs& args = maker.arguments;
  args.elements = y.elements(), args.mode = attrs.mode;
  std::fill_n(args.size, kMostAxes, 1);
  std::fill_n(args.x_size, kMostAxes, 1);
  for (int axis = 0; axis < y.rank(); ++axis) {
    const int to = kMostAxes - y.rank() + axis;
    const auto i = static_cast<std::size_t>(axis);
    args.size[to] = y[axis], args.x_size[to] = x[axis];
    args.begin[to] = attrs.begin[i], args.x_stride[to] = strides[i];
  }
  maker.point(args.x, Operand::input, 0);
  maker.point_if(call.input(1).exists(), args.value, Operand::input, 1);
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = named("pad", size_of(call.output().dtype));
  maker.for_threads(args.elements);
  return maker.make(spec);
}

// ---- rows ----

constexpr std::int64_t kWord = 4;

// Of rows that all have a multiple of four bytes: four; else one.
std::size_t unit_of(const std::vector<std::int64_t>& row_bytes) {
  const auto is_whole = [](std::int64_t bytes) { return bytes % kWord == 0; };
  return std::all_of(row_bytes.begin(), row_bytes.end(), is_whole) ? kWord : 1;
}

std::vector<std::int64_t> concat_rows(const CallView& call) {
  const int axis = *normalize_axis(call.attrs->as<ConcatAttrs>().axis, call.output().shape->rank());
  std::vector<std::int64_t> rows;
  for (const OperandType& input : call.inputs)
    rows.push_back(input.shape->elements(axis, input.shape->rank()) * static_cast<std::int64_t>(size_of(input.dtype)));
  return rows;
}

std::string refuse_concat(const CallView& call) {
  return call.inputs.size() <= kMostParts ? refuse_copy(call) : "joins at most 16 tensors";
}

Result<std::unique_ptr<Step>> make_concat(const CallView& call, const StepSpec& spec) {
  const std::vector<std::int64_t> rows = concat_rows(call);
  const auto unit = static_cast<std::int64_t>(unit_of(rows));
  LaunchMaker<ConcatArgs> maker;
  ConcatArgs& args = maker.arguments;
  args.parts = static_cast<std::int64_t>(rows.size());
  args.elements = static_cast<std::int64_t>(call.output().bytes()) / unit;
  std::int64_t end = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    args.end[i] = end += rows[i] / unit;
    maker.point(args.part[i], Operand::input, i);
  }
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = named("concat", static_cast<std::size_t>(unit));
  maker.for_threads(args.elements);
  return maker.make(spec);
}

Result<std::unique_ptr<Step>> make_gather(const CallView& call, const StepSpec& spec) {
  const Shape& x = *call.input(0).shape;
  const int axis = *normalize_axis(call.attrs->as<GatherAttrs>().axis, x.rank());
  const std::int64_t row_bytes =
      x.elements(axis + 1, x.rank()) * static_cast<std::int64_t>(size_of(call.input(0).dtype));
  const auto unit = static_cast<std::int64_t>(unit_of({row_bytes}));
  LaunchMaker<GatherArgs> maker;
  GatherArgs& args = maker.arguments;
  args.elements = static_cast<std::int64_t>(call.output().bytes()) / unit;
  args.count = std::max<std::int64_t>(1, call.input(1).elements());
  args.row = std::max<std::int64_t>(1, row_bytes / unit);
  args.axis = x[axis];
  args.has_64_bits = call.input(1).dtype == DType::s64 ? 1 : 0;
  maker.point(args.x, Operand::input, 0);
  maker.point(args.indices, Operand::input, 1);
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = named("gather", static_cast<std::size_t>(unit));
  maker.for_threads(args.elements);
  return maker.make(spec);
}

constexpr KernelChoice kMovesChoices[] = {
    element_kernel<refuse_copy, make_copy>("bitcast_copy_cuda", "bitcast"),
    element_kernel<refuse_concat, make_concat>("concat_cuda", "concat"),
    move_kernel<expanded_places>("expand_cuda", "expand"),
    element_kernel<refuse_copy, make_gather>("gather_cuda", "gather"),
    element_kernel<refuse_pad, make_pad>("pad_cuda", "pad"),
    element_kernel<refuse_copy, make_copy>("reshape_copy_cuda", "reshape"),
    move_kernel<sliced_places>("slice_cuda", "slice"),
    move_kernel<transposed_places>("transpose_cuda", "transpose"),
    element_kernel<refuse_where, make_where>("where_cuda", "where"),
};
constexpr auto kMovesCodes = codes_of(kMovesChoices);

}  // namespace
}  // namespace octavo::cuda

std::span<const octavo::KernelCode> octavo::cuda_move_codes() { return cuda::kMovesCodes; }
std::span<const octavo::KernelChoice> octavo::cuda_move_choices() { return cuda::kMovesChoices; }
