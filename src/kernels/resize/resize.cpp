// Nearest resize is a separable copy; linear resize of any axes is a sum of weighted runs of channels. Part of
// kernels/.
#include "kernels/resize/resize.h"

#include <array>
#include <cmath>

#include "kernels/move/separable.h"
#include "ops/resize/resize.h"
#include "ops/resize/taps.h"

namespace octavo {
namespace {

// ---- nearest ----

struct NearestParams {
  SeparableCopy copy;
  std::array<std::byte, 8> outside{};  // one element
};

void run_nearest(const NearestParams& params, const StepBuffers& buffers, ItemRange range) {
  params.copy.run(buffers.inputs[0], params.outside.data(), buffers.outputs[0], range);
}

std::string refuse_nearest(const CallView& call) {
  return call.attrs->as<ResizeAttrs>().mode == ResizeMode::nearest ? refuse_long_axes(call) : "computes nearest";
}

Result<std::unique_ptr<Step>> make_nearest(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<ResizeAttrs>();
  const Shape& x = *call.input(0).shape;
  const std::vector<std::int64_t> strides = x.strides();
  std::vector<CopyAxis> axes;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const AxisTaps taps = AxisTaps::of(attrs, x[axis], axis);
    std::vector<std::int64_t> index(static_cast<std::size_t>(attrs.sizes[static_cast<std::size_t>(axis)]));
    for (std::size_t i = 0; i < index.size(); ++i) {
      const auto position = static_cast<std::int64_t>(i);
      index[i] = taps.is_outside(position) ? -1 : taps.at(position).front().index;
    }
    axes.push_back(axis_of(index, strides[static_cast<std::size_t>(axis)]));
  }
  NearestParams params{SeparableCopy(std::move(axes), size_of(call.output().dtype))};
  store_double({.dtype = call.output().dtype, .shape = Shape{}, .data = params.outside.data()}, 0,
               attrs.extrapolation_value);
  const std::int64_t items = params.copy.items();
  return make_step(std::move(params), items, run_nearest);
}

// ---- linear ----

struct LinearAxis {
  AxisTaps taps;
  std::int64_t stride = 1;  // of x, in elements
  std::int64_t size = 1;    // of y
};

struct LinearParams {
  std::vector<LinearAxis> axes;  // all but the trailing ones that stay as they are
  std::int64_t inner = 1;        // elements of those
  float extrapolation = 0.0f;
  DType dtype = DType::f32;
  Chunks chunks;  // of positions on `axes`
};

// The taps of one output position, in row-major order.
struct WeightedTap {
  std::int64_t offset;
  float weight;
};
constexpr std::size_t kMaxTaps = std::size_t{1} << Shape::kInlineRank;
struct PositionTaps {
  std::array<WeightedTap, kMaxTaps> taps;
  std::size_t count = 0;
  bool is_outside = false;
};

// The weight is the product over the axes with two taps, from the innermost outwards.
void resize_find_taps(const LinearParams& params, std::int64_t position, PositionTaps& found) {
  std::array<std::int64_t, Shape::kInlineRank> index{};
  found.count = 1;
  found.taps[0] = {0, 1.0f};
  found.is_outside = false;
  for (std::size_t axis = params.axes.size(); axis-- > 0;) {
    index[axis] = position % params.axes[axis].size;
    position /= params.axes[axis].size;
  }
  // From the innermost axis outwards: each tap of an outer axis repeats the taps found so far.
  for (std::size_t axis = params.axes.size(); axis-- > 0;) {
    const LinearAxis& along = params.axes[axis];
    const auto taps = along.taps.at(index[axis]);
    found.is_outside = found.is_outside || along.taps.is_outside(index[axis]);
    const std::size_t inner = found.count;
    for (std::size_t t = taps.size(); t-- > 0;) {
      for (std::size_t i = 0; i < inner; ++i) {
        const WeightedTap& base = found.taps[i];
        const float weight = taps.size() > 1 ? base.weight * static_cast<float>(taps[t].weight) : base.weight;
        found.taps[t * inner + i] = {base.offset + taps[t].index * along.stride, weight};
      }
    }
    found.count = inner * taps.size();
  }
}

void store_value(float* y, float sum) { *y = sum; }
// Integers are truncated; weights are not negative and add up to about 1, so that only the ends need care.
void store_value(std::uint8_t* y, float sum) { *y = static_cast<std::uint8_t>(std::min(std::trunc(sum), 255.0f)); }
void store_value(std::int8_t* y, float sum) {
  *y = static_cast<std::int8_t>(std::clamp(std::trunc(sum), -128.0f, 127.0f));
}

template <class T>
void run_resize_position(const LinearParams& params, const PositionTaps& taps, const T* x, T* y) {
  constexpr std::int64_t kBlock = 64;
  for (std::int64_t first = 0; first < params.inner; first += kBlock) {
    const std::int64_t n = std::min(kBlock, params.inner - first);
    float sum[kBlock] = {};
    for (std::size_t t = 0; t < taps.count; ++t) {
      const T* from = x + taps.taps[t].offset + first;
      const float weight = taps.taps[t].weight;
      for (std::int64_t i = 0; i < n; ++i) sum[i] += weight * static_cast<float>(from[i]);
    }
    for (std::int64_t i = 0; i < n; ++i) store_value(y + first + i, sum[i]);
  }
}

template <class T>
void run_linear_as(const LinearParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange positions = params.chunks.units_of(range);
  PositionTaps taps;
  for (std::int64_t position = positions.begin; position < positions.end; ++position) {
    resize_find_taps(params, position, taps);
    T* y = reinterpret_cast<T*>(buffers.outputs[0]) + position * params.inner;
    if (!taps.is_outside) {
      run_resize_position(params, taps, reinterpret_cast<const T*>(buffers.inputs[0]), y);
      continue;
    }
    const TensorView view{.dtype = params.dtype, .shape = Shape{params.inner}, .data = reinterpret_cast<std::byte*>(y)};
    for (std::int64_t i = 0; i < params.inner; ++i) store_double(view, i, params.extrapolation);
  }
}

void run_linear(const LinearParams& params, const StepBuffers& buffers, ItemRange range) {
  switch (params.dtype) {
    case DType::u8: return run_linear_as<std::uint8_t>(params, buffers, range);
    case DType::s8: return run_linear_as<std::int8_t>(params, buffers, range);
    default: return run_linear_as<float>(params, buffers, range);
  }
}

std::string refuse_linear(const CallView& call) {
  const DType dtype = call.input(0).dtype;
  if (!is_plain_linear(call.attrs->as<ResizeAttrs>())) return "computes plain linear";
  if (dtype != DType::f32 && !is_8bit(dtype)) return "needs f32 or 8 bit";
  if (call.input(0).shape->rank() > Shape::kInlineRank) return "needs at most 8 axes";
  return refuse_long_axes(call);
}

bool resize_stays(const LinearAxis& axis, std::int64_t size) {
  if (axis.size != size) return false;
  for (std::int64_t i = 0; i < size; ++i) {
    if (axis.taps.at(i).size() != 1 || axis.taps.at(i)[0].index != i || axis.taps.is_outside(i)) return false;
  }
  return true;
}

Result<std::unique_ptr<Step>> make_linear(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<ResizeAttrs>();
  const Shape& x = *call.input(0).shape;
  const std::vector<std::int64_t> strides = x.strides();
  LinearParams params{.extrapolation = attrs.extrapolation_value, .dtype = call.input(0).dtype};
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    params.axes.push_back({AxisTaps::of(attrs, x[axis], axis), strides[i], attrs.sizes[i]});
  }
  while (!params.axes.empty() && resize_stays(params.axes.back(), x[static_cast<int>(params.axes.size()) - 1])) {
    params.inner *= params.axes.back().size;
    params.axes.pop_back();
  }
  std::int64_t positions = params.inner == 0 ? 0 : 1;
  for (const LinearAxis& axis : params.axes) positions *= axis.size;
  params.chunks = Chunks::of(positions, 4 * params.inner * static_cast<std::int64_t>(size_of(params.dtype)) + 32);
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_linear);
}

double cost_nearest(const OpCall& call, const Machine&) { return 100.0 + 0.3 * view_of(call).bytes(); }
double cost_linear(const OpCall& call, const Machine&) {
  return 100.0 + 3.0 * static_cast<double>(call.outputs[0].shape.elements());
}

constexpr KernelChoice kResizeChoices[] = {
    {.code = {.name = "resize_linear_portable", .op = "resize", .prepare = prepare_by<refuse_linear, make_linear>},
     .refusal = refusal_by<refuse_linear>,
     .cost = cost_linear},
    {.code = {.name = "resize_nearest_portable", .op = "resize", .prepare = prepare_by<refuse_nearest, make_nearest>},
     .refusal = refusal_by<refuse_nearest>,
     .cost = cost_nearest},
};
constexpr auto kResizeCodes = codes_of(kResizeChoices);

}  // namespace

std::string refuse_long_axes(const CallView& call) {
  for (std::int64_t size : *call.output().shape) {
    if (size > std::int64_t{1} << 24) return "needs axes of at most 2^24 indices";
  }
  return {};
}

std::span<const KernelCode> resize_codes() { return kResizeCodes; }
std::span<const KernelChoice> resize_choices() { return kResizeChoices; }

}  // namespace octavo
