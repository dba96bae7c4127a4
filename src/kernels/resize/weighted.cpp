// resize by weighted sums in f64: cubic, antialiased, without what is outside, and linear in f64. One axis after the
// other, from the innermost one outwards, as the reference adds up; rows that several results need are kept. Part of
// kernels/.
#include "kernels/resize/weighted.h"

#include "kernels/cache_line.h"
#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/resize/resize.h"
#include "ops/resize/resize.h"
#include "ops/resize/taps.h"

namespace octavo {
namespace {

// An axis from the first one that changes to the last one. A row is what all axes behind it give for one of its source
// indices, in f64.
struct WeightedResizeAxis {
  std::vector<std::int64_t> first{0}, index;  // as TapTable
  std::vector<double> weight;
  std::int64_t size = 1;                         // of the result
  std::int64_t x_bytes = 0;                      // between neighbours of x
  std::int64_t row = 1;                          // elements of a row
  std::int64_t kept = 1;                         // rows in the scratch: that of index i is number i % kept
  std::size_t rows_offset = 0, tags_offset = 0;  // in the scratch; a tag is the index whose row it is, or -1

  TapTable taps() const { return {first.data(), index.data(), weight.data(), size}; }
};

struct WeightedResizeParams {
  std::vector<WeightedResizeAxis> axes;
  std::int64_t inner = 1;          // elements of the axes behind them, which stay
  std::int64_t x_outer_bytes = 0;  // of the axes from the first one on
  // Which positions of the first axis get the extrapolation value, and which ones of the others; empty: none.
  std::vector<std::uint8_t> is_outside, row_outside;
  float extrapolation = 0.0f;
  DType dtype = DType::f32;
  const WeightedFunctions* functions = nullptr;
  decltype(WeightedFunctions::along_f32) along = nullptr;
  Chunks chunks;  // of positions on the axes in front and on the first one
};

double* weighted_resize_rows_of(const WeightedResizeAxis& axis, std::byte* scratch) {
  return reinterpret_cast<double*>(scratch + axis.rows_offset);
}
std::int64_t* tags_of(const WeightedResizeAxis& axis, std::byte* scratch) {
  return reinterpret_cast<std::int64_t*>(scratch + axis.tags_offset);
}
void forget_rows(const WeightedResizeAxis& axis, std::byte* scratch) {
  std::fill_n(tags_of(axis, scratch), axis.kept, -1);
}

void add_up_position(const WeightedResizeParams& params, std::size_t level, const std::byte* x, std::int64_t position,
                     double* to, std::byte* scratch);

// All positions of the axes from `level` on.
void add_up(const WeightedResizeParams& params, std::size_t level, const std::byte* x, double* to, std::byte* scratch) {
  const WeightedResizeAxis& axis = params.axes[level];
  if (level + 1 == params.axes.size()) return params.along(axis.taps(), params.inner, x, to);
  forget_rows(axis, scratch);
  for (std::int64_t position = 0; position < axis.size; ++position)
    add_up_position(params, level, x, position, to + position * axis.row, scratch);
}

void add_up_position(const WeightedResizeParams& params, std::size_t level, const std::byte* x, std::int64_t position,
                     double* to, std::byte* scratch) {
  const WeightedResizeAxis& axis = params.axes[level];
  const auto at = static_cast<std::size_t>(position);
  std::fill_n(to, axis.row, 0.0);
  for (auto t = static_cast<std::size_t>(axis.first[at]); t < static_cast<std::size_t>(axis.first[at + 1]); ++t) {
    const std::int64_t index = axis.index[t], slot = index % axis.kept;
    double* row = weighted_resize_rows_of(axis, scratch) + slot * axis.row;
    std::int64_t& tag = tags_of(axis, scratch)[slot];
    if (tag != index) add_up(params, level + 1, x + index * axis.x_bytes, row, scratch);
    tag = index;
    params.functions->add(axis.weight[t], row, to, axis.row);
  }
}

// The row of a position of the first axis.
void weighted_resize_store(const WeightedResizeParams& params, const double* sums, std::int64_t position,
                           std::byte* to) {
  const std::int64_t n = params.axes[0].row;
  const TensorView y{.dtype = params.dtype, .shape = Shape{n}, .data = to};
  if (params.dtype == DType::f32) params.functions->store_f32(sums, y.as<float>(), n);
  for (std::int64_t i = 0; i < n && params.dtype != DType::f32; ++i) store_double(y, i, sums[i]);
  if (params.is_outside.empty()) return;
  const bool is_outside = params.is_outside[static_cast<std::size_t>(position)] != 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (is_outside || params.row_outside[static_cast<std::size_t>(i / params.inner)] != 0)
      store_double(y, i, params.extrapolation);
  }
}

void run_weighted_resize(const WeightedResizeParams& params, const StepBuffers& buffers, ItemRange range) {
  const WeightedResizeAxis& axis = params.axes[0];
  const ItemRange positions = params.chunks.units_of(range);
  const std::int64_t row_bytes = axis.row * static_cast<std::int64_t>(size_of(params.dtype));
  auto* sums = reinterpret_cast<double*>(buffers.scratch);
  for (std::int64_t unit = positions.begin; unit < positions.end; ++unit) {
    const std::int64_t outer = unit / axis.size, position = unit % axis.size;
    if (unit == positions.begin || position == 0) forget_rows(axis, buffers.scratch);
    add_up_position(params, 0, buffers.inputs[0] + outer * params.x_outer_bytes, position, sums, buffers.scratch);
    weighted_resize_store(params, sums, position, buffers.outputs[0] + unit * row_bytes);
  }
}

// ---- making ----

bool weighted_resize_stays(const AxisTaps& taps, std::int64_t size, std::int64_t result) {
  for (std::int64_t i = 0; i < result; ++i) {
    if (taps.at(i).size() != 1 || taps.at(i)[0].index != i || taps.is_outside(i)) return false;
  }
  return size == result;
}

WeightedResizeAxis weighted_resize_axis_of(const AxisTaps& taps, std::int64_t result) {
  WeightedResizeAxis axis{.size = result};
  for (std::int64_t i = 0; i < result; ++i) {
    for (const ResizeTap& tap : taps.at(i)) {
      axis.index.push_back(tap.index);
      axis.weight.push_back(tap.weight);
    }
    axis.first.push_back(static_cast<std::int64_t>(axis.index.size()));
  }
  return axis;
}

std::int64_t most_taps(const WeightedResizeAxis& axis) {
  std::int64_t most = 1;
  for (std::size_t i = 0; i + 1 < axis.first.size(); ++i) most = std::max(most, axis.first[i + 1] - axis.first[i]);
  return most;
}

// Rows and tags of all axes but the last one, behind the sums; returns the bytes in all.
std::size_t lay_out_scratch(std::vector<WeightedResizeAxis>& axes) {
  constexpr std::int64_t kKeptBytes = std::int64_t{1} << 19;  // of an axis, unless one row needs more
  const auto up = [](std::int64_t bytes) { return static_cast<std::size_t>(whole_lines(bytes)); };
  std::size_t offset = up(axes[0].row * 8);
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) {
    WeightedResizeAxis& axis = axes[i];
    axis.kept = std::clamp<std::int64_t>(kKeptBytes / std::max<std::int64_t>(8 * axis.row, 8), 1, most_taps(axis));
    axis.rows_offset = offset;
    axis.tags_offset = offset + up(axis.kept * axis.row * 8);
    offset = axis.tags_offset + up(axis.kept * 8);
  }
  return offset;
}

decltype(WeightedFunctions::along_f32) along_of(const WeightedFunctions& functions, DType dtype) {
  switch (dtype) {
    case DType::f64: return functions.along_f64;
    case DType::s8: return functions.along_s8;
    case DType::u8: return functions.along_u8;
    default: return functions.along_f32;
  }
}

// Which positions of the first axis get the extrapolation value, and which of a row.
void find_outside(const std::vector<AxisTaps>& taps, WeightedResizeParams& params) {
  for (std::int64_t i = 0; i < params.axes[0].size; ++i) params.is_outside.push_back(taps[0].is_outside(i) ? 1 : 0);
  params.row_outside.push_back(0);
  for (std::size_t axis = 1; axis < taps.size(); ++axis) {
    std::vector<std::uint8_t> longer;
    for (const std::uint8_t before : params.row_outside) {
      for (std::int64_t i = 0; i < params.axes[axis].size; ++i)
        longer.push_back(before != 0 || taps[axis].is_outside(i) ? 1 : 0);
    }
    params.row_outside = std::move(longer);
  }
}

Result<std::unique_ptr<Step>> make_weighted_resize_by(const WeightedFunctions& functions, const CallView& call) {
  const auto& attrs = call.attrs->as<ResizeAttrs>();
  const Shape& x = *call.input(0).shape;
  const Shape& y = *call.output().shape;
  const DType dtype = call.input(0).dtype;
  WeightedResizeParams params{.extrapolation = attrs.extrapolation_value,
                              .dtype = dtype,
                              .functions = &functions,
                              .along = along_of(functions, dtype)};
  std::vector<AxisTaps> taps;
  for (int axis = 0; axis < x.rank(); ++axis) taps.push_back(AxisTaps::of(attrs, x[axis], axis));
  int begin = 0, end = x.rank();
  const auto is_same = [&](int axis) {
    return weighted_resize_stays(taps[static_cast<std::size_t>(axis)], x[axis], y[axis]);
  };
  while (end > 1 && is_same(end - 1)) --end;
  while (begin < end - 1 && is_same(begin)) ++begin;
  // A row is more than one element where there is an axis in front.
  if (begin == end - 1 && begin > 0) --begin;
  taps.erase(taps.begin() + end, taps.end());
  taps.erase(taps.begin(), taps.begin() + begin);
  for (int axis = begin; axis < end; ++axis) {
    params.axes.push_back(weighted_resize_axis_of(taps[static_cast<std::size_t>(axis - begin)], y[axis]));
    params.axes.back().x_bytes = x.elements(axis + 1, x.rank()) * static_cast<std::int64_t>(size_of(dtype));
  }
  if (params.axes.size() == 1) {  // there are two at least
    taps.insert(taps.begin(), AxisTaps::of({.sizes = {1}, .scales = {1.0f}}, 1, 0));
    params.axes.insert(params.axes.begin(), weighted_resize_axis_of(taps[0], 1));
  }
  params.inner = y.elements(end, y.rank());
  for (std::size_t i = params.axes.size() - 1, n = 0; n < params.axes.size(); ++n, --i)
    params.axes[i].row = i + 1 == params.axes.size() ? params.inner : params.axes[i + 1].row * params.axes[i + 1].size;
  if (attrs.coordinates == ResizeCoordinates::tf_crop_and_resize) find_outside(taps, params);
  params.x_outer_bytes = x.elements(begin, x.rank()) * static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t positions = y.elements() == 0 ? 0 : y.elements(0, begin) * params.axes[0].size;
  params.chunks = Chunks::of(positions, 32 * params.axes[0].row);
  const std::size_t scratch = lay_out_scratch(params.axes);
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_weighted_resize, scratch);
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_weighted_resize(const CallView& call, const StepSpec&) {
  return make_weighted_resize_by(CompiledFor<WeightedFunctions, isa>::table, call);
}

std::string refuse_weighted_resize(const CallView& call) {
  const auto& attrs = call.attrs->as<ResizeAttrs>();
  const DType dtype = call.input(0).dtype;
  if (attrs.mode == ResizeMode::nearest) return "computes no nearest";
  if (dtype != DType::f32 && dtype != DType::f64 && !is_8bit(dtype)) return "needs f32, f64 or 8 bit";
  if (is_plain_linear(attrs) && dtype != DType::f64) return "computes no plain linear in f32";
  return call.input(0).shape->rank() == 0 ? "needs an axis" : refuse_long_axes(call);
}

// Picoseconds per tap and element of the result.
template <int kPicoseconds>
double weighted_resize_cost(const OpCall& call, const Machine&) {
  const auto& attrs = call.attrs->as<ResizeAttrs>();
  double taps = 0.0;
  for (int axis = 0; axis < call.inputs[0]->shape.rank(); ++axis) {
    const std::int64_t from = call.inputs[0]->shape[axis], to = call.outputs[0].shape[axis];
    const double shrink =
        attrs.antialias && to > 0 ? std::max(1.0, static_cast<double>(from) / static_cast<double>(to)) : 1.0;
    if (from != to) taps += (attrs.mode == ResizeMode::cubic ? 4.0 : 2.0) * shrink;
  }
  return 300.0 + 1e-3 * kPicoseconds * taps * static_cast<double>(call.outputs[0].shape.elements());
}

template <Isa isa, int kPicoseconds>
constexpr KernelChoice weighted_resize_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "resize",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_weighted_resize, make_weighted_resize<isa>>()},
          .refusal = refusal_by<refuse_weighted_resize>,
          .cost = weighted_resize_cost<kPicoseconds>};
}

constexpr KernelChoice kWeightedResizeChoices[] = {
    weighted_resize_kernel<Isa::scalar, 600>("resize_weighted_portable"),
    weighted_resize_kernel<Isa::avx2, 350>("resize_weighted_avx2"),
    weighted_resize_kernel<Isa::avx512, 300>("resize_weighted_avx512"),
    weighted_resize_kernel<Isa::neon, 700>("resize_weighted_neon"),
};
constexpr auto kWeightedResizeCodes = codes_of(kWeightedResizeChoices);

}  // namespace

std::span<const KernelCode> resize_weighted_codes() { return kWeightedResizeCodes; }
std::span<const KernelChoice> resize_weighted_choices() { return kWeightedResizeChoices; }

}  // namespace octavo
