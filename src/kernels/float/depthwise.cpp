// float_depthwise by lines of the result: the pixels whose columns all lie within the image together, the others one by
// one. Part of kernels/.
#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/float/float.h"
#include "kernels/float/sums.h"
#include "kernels/image_sizes.h"
#include "ops/float_depthwise/float_depthwise.h"

namespace octavo {
namespace {

enum FloatDepthwiseInput : std::size_t { kDepthwiseX = 0, kDepthwiseW = 1, kDepthwiseBias = 2 };

// Along one axis of the image.
struct FloatDepthwiseAxis {
  std::int64_t size = 0, results = 0, stride = 1, dilation = 1, pad = 0;

  std::int64_t at(std::int64_t result, std::int64_t tap) const { return result * stride - pad + tap * dilation; }
  bool is_inside(std::int64_t position) const { return position >= 0 && position < size; }
};

struct TapPosition {
  std::int64_t plane = 0, row = 0, column = 0;
};

struct FloatDepthwiseParams {
  FloatDepthwiseAxis planes, rows, columns;  // one plane where an image has two axes
  std::int64_t channels = 0;
  std::int64_t first_inner = 0, inner_end = 0;  // columns of the result all of whose taps lie within a line
  std::vector<TapPosition> taps;
  const float* weights = nullptr;  // [tap][channel]
  const float* bias = nullptr;     // [channel]
  float lowest = 0.0f, highest = 0.0f;
  const SumFunctions* functions = nullptr;
};

// The taps of pixels from (od, oh, ow) on that lie within the image, as offsets from the pixel where the first one's
// tap 0 would be.
std::int64_t list_taps(const FloatDepthwiseParams& p, std::int64_t od, std::int64_t oh, std::int64_t ow,
                       TapOffsets* list) {
  std::int64_t count = 0;
  for (std::size_t t = 0; t < p.taps.size(); ++t) {
    const TapPosition tap = p.taps[t];
    const std::int64_t plane = p.planes.at(od, tap.plane), row = p.rows.at(oh, tap.row),
                       column = p.columns.at(ow, tap.column);
    if (!p.planes.is_inside(plane) || !p.rows.is_inside(row) || !p.columns.is_inside(column)) continue;
    list[count++] = {((plane * p.rows.size + row) * p.columns.size + column) * p.channels,
                     static_cast<std::int64_t>(t) * p.channels};
  }
  return count;
}

void run_line(const FloatDepthwiseParams& p, std::int64_t line, const StepBuffers& buffers) {
  auto* taps = reinterpret_cast<TapOffsets*>(buffers.scratch);
  const std::int64_t oh = line % p.rows.results, plane = line / p.rows.results;
  const std::int64_t od = plane % p.planes.results, image = plane / p.planes.results;
  DepthwisePixels d{.x = reinterpret_cast<const float*>(buffers.inputs[kDepthwiseX]) +
                         image * p.planes.size * p.rows.size * p.columns.size * p.channels,
                    .x_step = p.columns.stride * p.channels,
                    .w = p.weights,
                    .bias = p.bias,
                    .taps = taps,
                    .channels = p.channels,
                    .lowest = p.lowest,
                    .highest = p.highest};
  float* y = reinterpret_cast<float*>(buffers.outputs[0]) + line * p.columns.results * p.channels;
  for (std::int64_t ow = 0; ow < p.columns.results; ow += d.pixels) {
    const bool is_inner = ow >= p.first_inner && ow < p.inner_end;
    d.pixels = is_inner ? p.inner_end - ow : 1;
    d.tap_count = list_taps(p, od, oh, ow, taps);
    d.y = y + ow * p.channels;
    p.functions->depthwise(d);
  }
}

void run_float_depthwise(const FloatDepthwiseParams& p, const StepBuffers& buffers, ItemRange lines) {
  for (std::int64_t line = lines.begin; line < lines.end; ++line) run_line(p, line, buffers);
}

std::string refuse_float_depthwise(const CallView&) { return {}; }

std::string float_depthwise_refusal(const OpCall& call) {
  for (std::size_t i : {kDepthwiseW, kDepthwiseBias}) {
    if (i < call.inputs.size() && call.inputs[i] != nullptr && !call.inputs[i]->is_constant())
      return "needs constant weights";
  }
  return call.inputs[kDepthwiseX]->is_constant() ? "needs a variable x" : "";
}

// Weights as [tap][channel], the taps in their order; a bias of 0 where there is none.
std::vector<Tensor> pack_float_depthwise(const OpCall& call) {
  const Tensor& w = *call.inputs[kDepthwiseW]->constant;
  const Window& window = call.attrs->as<FloatDepthwiseAttrs>().window;
  const std::vector<std::int64_t> order = depthwise_tap_order(window);
  const std::int64_t channels = w.shape()[0];
  Tensor packed(DType::f32, Shape{w.elements()}), bias(DType::f32, Shape{channels});
  float* to = packed.as<float>();
  for (const std::int64_t tap : order) {
    for (std::int64_t c = 0; c < channels; ++c) *to++ = w.as<float>()[c * std::ssize(order) + tap];
  }
  if (call.inputs.size() > kDepthwiseBias && call.inputs[kDepthwiseBias] != nullptr) {
    std::copy_n(call.inputs[kDepthwiseBias]->constant->as<float>(), channels, bias.as<float>());
  }
  std::vector<Tensor> result;
  result.push_back(std::move(packed));
  result.push_back(std::move(bias));
  return result;
}

// Axis i of three, of which the first is missing where the window has two.
FloatDepthwiseAxis float_depthwise_axis_of(const Window& window, std::size_t i, std::int64_t size,
                                           std::int64_t results) {
  const std::size_t missing = 3 - window.kernel.size();
  if (i < missing) return {.size = 1, .results = 1};
  return {.size = size,
          .results = results,
          .stride = window.strides[i - missing],
          .dilation = window.dilations[i - missing],
          .pad = window.pad_begin[i - missing]};
}

std::vector<TapPosition> float_depthwise_taps_of(const Window& window) {
  const std::int64_t columns = window.kernel.back(), rows = *(window.kernel.end() - 2);
  std::vector<TapPosition> taps;
  for (const std::int64_t tap : depthwise_tap_order(window))
    taps.push_back({tap / (rows * columns), tap / columns % rows, tap % columns});
  return taps;
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_float_depthwise(const CallView& call, const StepSpec& spec) {
  const auto& attrs = spec.attrs->as<FloatDepthwiseAttrs>();
  const ImageSizes x = ImageSizes::of(*call.input(kDepthwiseX).shape, Layout::channels_last),
                   y = ImageSizes::of(*call.output().shape, Layout::channels_last);
  if (!is_packed_as(spec, 0, DType::f32, call.input(kDepthwiseW).elements()) ||
      !is_packed_as(spec, 1, DType::f32, x.channels) || !is_read_in_run(spec, kDepthwiseX)) {
    return not_as_packed(spec);
  }
  FloatDepthwiseParams p{.planes = float_depthwise_axis_of(attrs.window, 0, x.depth, y.depth),
                         .rows = float_depthwise_axis_of(attrs.window, 1, x.height, y.height),
                         .columns = float_depthwise_axis_of(attrs.window, 2, x.width, y.width),
                         .channels = x.channels,
                         .weights = spec.packed[0].as<float>(),
                         .bias = spec.packed[1].as<float>(),
                         .lowest = attrs.lowest,
                         .highest = attrs.highest,
                         .functions = &CompiledFor<SumFunctions, isa>::table};
  const std::int64_t lines = call.output().elements() == 0 ? 0 : y.batch * y.depth * y.height;
  if (lines > 0) p.taps = float_depthwise_taps_of(attrs.window);
  const std::int64_t extent = attrs.window.extent(attrs.window.rank() - 1);
  const auto is_inner = [&](std::int64_t ow) {
    return p.columns.at(ow, 0) >= 0 && p.columns.at(ow, 0) + extent <= p.columns.size;
  };
  while (p.first_inner < y.width && !is_inner(p.first_inner)) ++p.first_inner;
  p.inner_end = p.first_inner;
  while (p.inner_end < y.width && is_inner(p.inner_end)) ++p.inner_end;
  const std::size_t scratch = p.taps.size() * sizeof(TapOffsets);
  return make_step(std::move(p), lines, run_float_depthwise, scratch);
}

template <Isa isa>
double float_depthwise_cost(const OpCall& call, const Machine&) {
  constexpr double per_mac = by_width(isa, {1.5, 0.08, 0.05});
  const Shape& w = call.inputs[kDepthwiseW]->shape;
  return 200.0 + per_mac * static_cast<double>(call.outputs[0].shape.elements()) * static_cast<double>(w.elements()) /
                     std::max(1.0, static_cast<double>(w[0]));
}

template <Isa isa>
constexpr KernelChoice float_depthwise_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "float_depthwise",
                   .needs = isa,
                   .packs = true,
                   .prepare = prepare_on<isa, refuse_float_depthwise, make_float_depthwise<isa>>()},
          .refusal = float_depthwise_refusal,
          .cost = float_depthwise_cost<isa>,
          .pack = pack_float_depthwise,
          .packed_layout = same_layout};
}

constexpr KernelChoice kFloatDepthwiseChoices[] = {
    float_depthwise_kernel<Isa::scalar>("float_depthwise_portable"),
    float_depthwise_kernel<Isa::avx2>("float_depthwise_avx2"),
    float_depthwise_kernel<Isa::avx512>("float_depthwise_avx512"),
    float_depthwise_kernel<Isa::neon>("float_depthwise_neon"),
};
constexpr auto kFloatDepthwiseCodes = codes_of(kFloatDepthwiseChoices);

}  // namespace

std::span<const KernelCode> float_depthwise_codes() { return kFloatDepthwiseCodes; }
std::span<const KernelChoice> float_depthwise_choices() { return kFloatDepthwiseChoices; }

}  // namespace octavo
