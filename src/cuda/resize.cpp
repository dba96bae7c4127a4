// resize of two axes next to each other, and integer_resize. Part of cuda/.
#include "ops/resize/resize.h"

#include <algorithm>
#include <functional>

#include "cuda/arguments.h"
#include "cuda/cuda.h"
#include "cuda/element_kernel.h"
#include "ops/integer_resize/integer_resize.h"
#include "ops/resize/taps.h"

namespace octavo::cuda {
namespace {

// The two axes that may change; `line` alone where there is one.
struct Axes {
  int rows = -1, line = -1;
};

bool stays(const CallView& call, int axis) {
  const auto& attrs = call.attrs->as<ResizeAttrs>();
  // Equal sizes may still be moved by a scale of the file.
  return (*call.input(0).shape)[axis] == (*call.output().shape)[axis] &&
         attrs.scales[static_cast<std::size_t>(axis)] == 1.0f;
}

std::optional<Axes> changed_axes(const CallView& call) {
  int begin = 0, end = call.input(0).shape->rank();
  while (end > 0 && stays(call, end - 1)) --end;
  while (begin < end && stays(call, begin)) ++begin;
  if (end - begin < 1 || end - begin > 2) return std::nullopt;
  return Axes{end - begin == 2 ? begin : -1, end - 1};
}

// ---- packing ----

// Of rows, then of the line: TapsArgs.
enum ResizePacked : std::size_t { kResizeFirst = 0, kResizeIndex = 1, kResizeWeight = 2, kResizeTensors = 3 };

std::int64_t size_along(const Shape& shape, int axis) { return axis < 0 ? 1 : shape[axis]; }

// taps_at(position) of `size` ones.
template <class TapsAt>
void pack_positions(std::int64_t size, const TapsAt& taps_at, std::vector<Tensor>& packed) {
  std::vector<std::int32_t> first{0}, index;
  std::vector<double> weight;
  for (std::int64_t i = 0; i < size; ++i) {
    for (const ResizeTap& tap : taps_at(i)) {
      index.push_back(static_cast<std::int32_t>(tap.index));
      weight.push_back(tap.weight);
    }
    first.push_back(static_cast<std::int32_t>(index.size()));
  }
  packed.push_back(Tensor::of({std::ssize(first)}, first));
  packed.push_back(Tensor::of({std::ssize(index)}, index));
  packed.push_back(Tensor::of({std::ssize(weight)}, weight));
}

void pack_axis(const CallView& call, int axis, std::vector<Tensor>& packed) {
  const ResizeTap one;
  if (axis < 0)
    return pack_positions(
        1, [&](std::int64_t) { return std::span(&one, 1); }, packed);
  const AxisTaps taps = AxisTaps::of(call.attrs->as<ResizeAttrs>(), (*call.input(0).shape)[axis], axis);
  pack_positions((*call.output().shape)[axis], [&](std::int64_t i) { return taps.at(i); }, packed);
}

std::vector<Tensor> pack_resize(const OpCall& call) {
  const CallView view = view_of(call);
  const Axes axes = *changed_axes(view);
  std::vector<Tensor> packed;
  pack_axis(view, axes.rows, packed);
  pack_axis(view, axes.line, packed);
  return packed;
}

// Taps for every position, of elements that x has.
bool is_packed_axis(const StepSpec& spec, std::size_t at, std::int64_t x_size, std::int64_t size) {
  if (!is_packed_as(spec, at + kResizeFirst, DType::s32, size + 1)) return false;
  const auto first = spec.packed[at + kResizeFirst].span<std::int32_t>();
  const std::int64_t taps = first.back();
  const bool has_taps = std::ranges::adjacent_find(first, std::greater_equal<>()) == first.end();
  if (first.front() != 0 || !has_taps || !is_packed_as(spec, at + kResizeIndex, DType::s32, taps) ||
      !is_packed_as(spec, at + kResizeWeight, DType::f64, taps))
    return false;
  return std::ranges::all_of(spec.packed[at + kResizeIndex].span<std::int32_t>(),
                             [&](std::int64_t index) { return index >= 0 && index < x_size; });
}

// ---- resize ----

std::optional<StoredType> byte_type(DType type) {
  if (type == DType::u8) return StoredType::u8;
  return type == DType::s8 ? std::optional(StoredType::s8) : std::nullopt;
}

// Which of the kernels, by what moves or is added up.
std::string kernel_of(const ResizeAttrs& attrs, DType type) {
  if (attrs.mode == ResizeMode::nearest) return "resize_nearest_" + std::to_string(size_of(type));
  if (!is_plain_linear(attrs)) return "resize_weighted_f32";
  return type == DType::f32 ? "resize_linear_f32" : "resize_linear_q8";
}

std::string refuse_resize(const CallView& call) {
  const auto& attrs = call.attrs->as<ResizeAttrs>();
  const DType type = call.input(0).dtype;
  const std::size_t bytes = size_of(type);
  if (attrs.coordinates == ResizeCoordinates::tf_crop_and_resize) return "computes nothing outside of x";
  if (attrs.mode == ResizeMode::nearest && bytes != 1 && bytes != 4 && bytes != 8)
    return "needs elements of 1, 4 or 8 bytes";
  if (attrs.mode != ResizeMode::nearest && type != DType::f32 && !(is_plain_linear(attrs) && byte_type(type)))
    return "needs f32, or plain linear bytes";
  const auto axes = changed_axes(call);
  if (!axes) return "needs one or two axes next to each other that change";
  constexpr std::int64_t kLongest = 1 << 16;
  for (const int axis : {axes->rows, axes->line}) {
    if (size_along(*call.input(0).shape, axis) > kLongest || size_along(*call.output().shape, axis) > kLongest)
      return "needs axes of at most 2^16 indices";
  }
  return call.output().elements() == 0 ? "needs a result" : refuse_size(call);
}

std::string resize_refusal(const OpCall& call) {
  return call.inputs[0]->is_constant() ? "needs a variable x" : refuse_resize(view_of(call));
}

void place_axis(LaunchMaker<ResizeArgs>& maker, TapsArgs& axis, std::size_t at) {
  maker.point(axis.first, Operand::packed, at + kResizeFirst);
  maker.point(axis.index, Operand::packed, at + kResizeIndex);
  maker.point(axis.weight, Operand::packed, at + kResizeWeight);
}

Result<std::unique_ptr<Step>> make_resize(const CallView& call, const StepSpec& spec) {
  const Shape &x = *call.input(0).shape, &y = *call.output().shape;
  const Axes axes = *changed_axes(call);
  LaunchMaker<ResizeArgs> maker;
  ResizeArgs& args = maker.arguments;
  args.rows.x_size = size_along(x, axes.rows), args.rows.size = size_along(y, axes.rows);
  args.columns.x_size = x[axes.line], args.columns.size = y[axes.line];
  if (!is_packed_axis(spec, 0, args.rows.x_size, args.rows.size) ||
      !is_packed_axis(spec, kResizeTensors, args.columns.x_size, args.columns.size) || !is_read_in_run(spec, 0))
    return not_as_packed(spec);
  args.elements = y.elements();
  args.inner = y.elements(axes.line + 1, y.rank());
  args.type = byte_type(call.input(0).dtype).value_or(StoredType::u8);
  maker.point(args.x, Operand::input, 0);
  maker.point(args.y, Operand::output, 0);
  place_axis(maker, args.rows, 0);
  place_axis(maker, args.columns, kResizeTensors);
  maker.launch.kernel = kernel_of(call.attrs->as<ResizeAttrs>(), call.input(0).dtype);
  maker.for_threads(args.elements);
  return maker.make(spec);
}

// ---- integer_resize ----

std::string refuse_integer_resize(const CallView& call) {
  return is_8bit(call.input(0).dtype) ? refuse_size(call) : "needs bytes";
}

Result<std::unique_ptr<Step>> make_resize_integer(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<IntegerResizeAttrs>();
  const Shape &x = *call.input(0).shape, &y = *call.output().shape;
  LaunchMaker<IntegerResizeArgs> maker;
  IntegerResizeArgs& args = maker.arguments;
  args.elements = y.elements();
  args.from_height = x[1], args.from_width = x[2], args.height = y[1], args.width = y[2], args.channels = y[3];
  args.shift = attrs.shift, args.rounding = attrs.rounding;
  args.is_signed = call.input(0).dtype == DType::s8 ? 1 : 0;
  maker.point(args.x, Operand::input, 0);
  maker.point(args.rows, Operand::input, 1);
  maker.point(args.row_weights, Operand::input, 2);
  maker.point(args.columns, Operand::input, 3);
  maker.point(args.column_weights, Operand::input, 4);
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = "integer_resize";
  maker.for_threads(args.elements);
  return maker.make(spec);
}

constexpr KernelChoice kResizeChoices[] = {
    element_kernel<refuse_integer_resize, make_resize_integer>("integer_resize_cuda", "integer_resize"),
    {.code = {.name = "resize_cuda",
              .op = "resize",
              .needs = Isa::cuda,
              .packs = true,
              .prepare = prepare_by<refuse_resize, make_resize>},
     .refusal = resize_refusal,
     .cost = element_cost,
     .knows_speeds = true,
     .pack = pack_resize},
};
constexpr auto kResizeCodes = codes_of(kResizeChoices);

}  // namespace
}  // namespace octavo::cuda

std::span<const octavo::KernelCode> octavo::cuda_resize_codes() { return cuda::kResizeCodes; }
std::span<const octavo::KernelChoice> octavo::cuda_resize_choices() { return cuda::kResizeChoices; }
