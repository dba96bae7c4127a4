// dynamic_slice: shape rule and reference. Part of ops/.
#include "ops/dynamic_slice/dynamic_slice.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "graph/attrs_of.h"
#include "ops/check.h"

namespace octavo {
namespace {

constexpr int kMostAxes = Shape::kInlineRank;

Result<std::vector<Fact>> infer_dynamic_slice_slice(const Attrs& attrs, InputFacts inputs) {
  const auto& slice = attrs.as<DynamicSliceAttrs>();
  const Fact &x = *inputs[0], &starts = *inputs[1], &ends = *inputs[2];
  if (auto problem = check_rank("x", x, 1, kMostAxes)) return *problem;
  const auto count = static_cast<std::int64_t>(slice.axes.size());
  const OpenShape list({Dim(count)});
  if (auto problem = first_of({check_dtype("starts", starts, {DType::s64}), check_shape("starts", starts, list),
                               check_dtype("ends", ends, {DType::s64}), check_shape("ends", ends, list)}))
    return *problem;
  if (slice.steps.size() != slice.axes.size())
    return shape_error("steps", std::to_string(slice.steps.size()) + " steps", std::to_string(count));
  for (std::size_t i = 0; i < slice.axes.size(); ++i) {
    if (auto problem = check_range("axes", slice.axes[i], 0, std::int64_t{x.shape.rank()} - 1)) return *problem;
    if (std::count(slice.axes.begin(), slice.axes.end(), slice.axes[i]) > 1)
      return shape_error("axes", "axis " + std::to_string(slice.axes[i]) + " twice", "it once");
    if (slice.steps[i] == 0) return shape_error("steps", "0", "another number");
  }
  return std::vector<Fact>{{.dtype = x.dtype, .shape = x.shape},
                           {.dtype = DType::s64, .shape = OpenShape({Dim(x.shape.rank())})}};
}

// Which elements of an axis.
struct Taken {
  std::int64_t start = 0, step = 1, count = 0;
};

// Inside an axis of `size`, where only what is between is taken.
Taken taken(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
  const std::int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? size : size - 1;
  const auto inside = [&](std::int64_t at) { return std::clamp(at < 0 ? at + size : at, lowest, highest); };
  const std::int64_t from = inside(start), to = inside(end);
  // Steps of more than an axis take its first; as unsigned numbers all have a magnitude.
  const std::uint64_t stride = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  const std::int64_t way = step > 0 ? to - from : from - to;
  if (way <= 0) return {};
  const std::uint64_t count = (static_cast<std::uint64_t>(way) - 1) / stride + 1;
  return {from, count > 1 ? step : 0, static_cast<std::int64_t>(count)};
}

void dynamic_slice_reference_slice(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  slice_dynamically(attrs.as<DynamicSliceAttrs>(), inputs, outputs);
}

}  // namespace

void slice_dynamically(const DynamicSliceAttrs& attrs, InputViews inputs, OutputViews outputs) {
  const ConstTensorView& x = inputs[0];
  const int rank = x.shape.rank();
  std::array<Taken, kMostAxes> parts;
  for (int axis = 0; axis < rank; ++axis) parts[static_cast<std::size_t>(axis)] = {0, 1, x.shape[axis]};
  for (std::size_t i = 0; i < attrs.axes.size(); ++i)
    parts[static_cast<std::size_t>(attrs.axes[i])] =
        taken(x.shape[static_cast<int>(attrs.axes[i])], inputs[1].as<std::int64_t>()[i],
              inputs[2].as<std::int64_t>()[i], attrs.steps[i]);
  std::int64_t elements = 1;
  for (int axis = 0; axis < rank; ++axis) {
    elements *= parts[static_cast<std::size_t>(axis)].count;
    outputs[1].as<std::int64_t>()[axis] = parts[static_cast<std::size_t>(axis)].count;
  }
  const std::size_t bytes = size_of(x.dtype), total = outputs[0].bytes();
  const Taken& last = parts[static_cast<std::size_t>(rank - 1)];
  std::byte* to = outputs[0].data;
  for (std::int64_t line = 0; elements > 0 && line < elements / last.count; ++line) {
    std::int64_t rest = line, from = last.start, stride = x.shape[rank - 1];
    for (int axis = rank - 2; axis >= 0; --axis) {
      const Taken& part = parts[static_cast<std::size_t>(axis)];
      from += (part.start + rest % part.count * part.step) * stride;
      rest /= part.count;
      stride *= x.shape[axis];
    }
    for (std::int64_t i = 0; i < last.count; ++i, to += bytes)
      std::memcpy(to, x.data + static_cast<std::size_t>(from + i * last.step) * bytes, bytes);
  }
  if (const std::size_t left = total - static_cast<std::size_t>(elements) * bytes; left > 0) std::memset(to, 0, left);
}

const OpSpec kDynamicSlice{
    .name = "dynamic_slice",
    .summary = "a part of x whose starts and ends are computed, and its shape; the rest of the result is 0",
    .inputs = {"x", "starts", "ends"},
    .outputs = 2,
    .infer = infer_dynamic_slice_slice,
    .reference = dynamic_slice_reference_slice,
    .decode_attrs = decode_attrs_as<DynamicSliceAttrs>,
    .read_from = "ONNX Slice",
};

template Attrs::Attrs(DynamicSliceAttrs);

}  // namespace octavo
