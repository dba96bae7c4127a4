// conv in f32: four neighbouring positions and a block of output channels at a time. Part of kernels/.
#include "ops/conv/conv.h"

#include <array>
#include <cmath>

#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/float/float.h"
#include "kernels/float/sums.h"
#include "kernels/image_sizes.h"

namespace octavo {
namespace {

enum FloatConvInput : std::size_t { kFloatConvX = 0, kFloatConvW = 1, kFloatConvBias = 2 };

constexpr std::size_t kFloatConvAxes = 3;  // missing ones, in front, have size 1

struct FloatConvParams {
  ImageSizes x, y;
  std::int64_t groups = 1;
  // Of depth, height and width.
  std::array<std::int64_t, kFloatConvAxes> kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, pad{0, 0, 0};
  const float* weights = nullptr;  // packed, [group][tap][ic][oc]; null where they are computed
  const float* bias = nullptr;     // packed; null: none, or computed
  ImageSizes w;                    // of weights that are computed
  bool has_computed_bias = false;
  const SumFunctions* functions = nullptr;
};

constexpr std::int64_t kChannelBlock = 64;
constexpr std::size_t kSumsBytes = kSumRows * kChannelBlock * sizeof(double);  // at the start of the scratch

// A block of the output channels of a group, and where its weights and bias are.
struct Channels {
  std::int64_t group, first, width;
  const float* weights = nullptr;  // of its first tap, [ic][oc]
  std::int64_t tap_stride = 0, row_stride = 0;
  const float* bias = nullptr;  // may be null
};

// A row of the result: position [od, oh] of an image.
struct Row {
  std::int64_t image, od, oh;
};

// Up to kSumRows neighbouring positions of it.
struct Block {
  Row row;
  std::int64_t ow, positions;
};

void add_tap(const FloatConvParams& p, const Channels& channels, const Block& block,
             const std::array<std::int64_t, kFloatConvAxes>& tap, const float* x, double* acc) {
  const std::int64_t id = block.row.od * p.stride[0] + tap[0] * p.dilation[0] - p.pad[0];
  const std::int64_t ih = block.row.oh * p.stride[1] + tap[1] * p.dilation[1] - p.pad[1];
  if (id < 0 || id >= p.x.depth || ih < 0 || ih >= p.x.height) return;
  const std::int64_t in_per_group = p.x.channels / p.groups;
  SumBlock sum{.a_step = p.x.strides.channel,
               .b = channels.weights + ((tap[0] * p.kernel[1] + tap[1]) * p.kernel[2] + tap[2]) * channels.tap_stride,
               .b_stride = channels.row_stride,
               .depth = in_per_group,
               .width = channels.width,
               .acc = acc,
               .acc_stride = kChannelBlock};
  const float* row = x + block.row.image * p.x.strides.image + channels.group * in_per_group * p.x.strides.channel +
                     id * p.x.strides.plane + ih * p.x.strides.row;
  int inside = 0;
  for (std::int64_t i = 0; i < block.positions; ++i) {
    const std::int64_t iw = (block.ow + i) * p.stride[2] + tap[2] * p.dilation[2] - p.pad[2];
    const bool is_inside = iw >= 0 && iw < p.x.width;
    sum.a[i] = is_inside ? row + iw * p.x.strides.column : nullptr;
    inside += is_inside ? 1 : 0;
  }
  if (inside == kSumRows) {
    sum.rows = kSumRows;
    p.functions->accumulate(sum);
    return;
  }
  for (std::int64_t i = 0; i < block.positions; ++i) {
    if (sum.a[i] == nullptr) continue;
    SumBlock one = sum;
    one.a[0] = sum.a[i];
    one.acc = acc + i * kChannelBlock;
    p.functions->accumulate(one);
  }
}

void store_block(const FloatConvParams& p, const Channels& channels, const Block& block, const double* acc, float* y) {
  const std::int64_t oc = channels.group * (p.y.channels / p.groups) + channels.first;
  const ImageStrides& strides = p.y.strides;
  for (std::int64_t i = 0; i < block.positions; ++i) {
    const std::int64_t at = block.row.image * strides.image + block.row.od * strides.plane +
                            block.row.oh * strides.row + (block.ow + i) * strides.column + oc * strides.channel;
    for (std::int64_t j = 0; j < channels.width; ++j) {
      double sum = acc[i * kChannelBlock + j];
      if (channels.bias != nullptr) sum += static_cast<double>(channels.bias[j]);
      y[at + j * strides.channel] = static_cast<float>(sum);
    }
  }
}

void run_float_conv_row(const FloatConvParams& p, const Channels& channels, const Row& row,
                        const StepBuffers& buffers) {
  auto* acc = reinterpret_cast<double*>(buffers.scratch);
  const auto* x = reinterpret_cast<const float*>(buffers.inputs[kFloatConvX]);
  for (std::int64_t ow = 0; ow < p.y.width; ow += kSumRows) {
    const Block block{row, ow, std::min<std::int64_t>(kSumRows, p.y.width - ow)};
    std::fill_n(acc, kSumRows * kChannelBlock, 0.0);
    std::array<std::int64_t, kFloatConvAxes> tap{};
    for (tap[0] = 0; tap[0] < p.kernel[0]; ++tap[0]) {
      for (tap[1] = 0; tap[1] < p.kernel[1]; ++tap[1]) {
        for (tap[2] = 0; tap[2] < p.kernel[2]; ++tap[2]) add_tap(p, channels, block, tap, x, acc);
      }
    }
    store_block(p, channels, block, acc, reinterpret_cast<float*>(buffers.outputs[0]));
  }
}

Row row_at(const FloatConvParams& p, std::int64_t row) {
  return {row / (p.y.depth * p.y.height), row / p.y.height % p.y.depth, row % p.y.height};
}

void run_float_conv(const FloatConvParams& p, const StepBuffers& buffers, ItemRange rows) {
  const std::int64_t out_per_group = p.y.channels / p.groups, in_per_group = p.x.channels / p.groups;
  const std::int64_t taps = p.kernel[0] * p.kernel[1] * p.kernel[2];
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    for (std::int64_t group = 0; group < p.groups; ++group) {
      for (std::int64_t first = 0; first < out_per_group; first += kChannelBlock) {
        const std::int64_t oc = group * out_per_group + first;
        const Channels channels{.group = group,
                                .first = first,
                                .width = std::min(kChannelBlock, out_per_group - first),
                                .weights = p.weights + group * taps * in_per_group * out_per_group + first,
                                .tap_stride = in_per_group * out_per_group,
                                .row_stride = out_per_group,
                                .bias = p.bias == nullptr ? nullptr : p.bias + oc};
        run_float_conv_row(p, channels, row_at(p, row), buffers);
      }
    }
  }
}

// ---- weights that are computed: an item is a block of channels, whose weights it packs, in one image ----

std::int64_t blocks_of_group(const FloatConvParams& p) {
  return (p.y.channels / p.groups + kChannelBlock - 1) / kChannelBlock;
}

void run_float_conv_computed(const FloatConvParams& p, const StepBuffers& buffers, ItemRange items) {
  const std::int64_t out_per_group = p.y.channels / p.groups, blocks = blocks_of_group(p);
  const std::int64_t taps = p.kernel[0] * p.kernel[1] * p.kernel[2], rows = p.y.depth * p.y.height;
  auto* packed = reinterpret_cast<float*>(buffers.scratch + kSumsBytes);
  for (std::int64_t item = items.begin; item < items.end; ++item) {
    const std::int64_t image = item / (p.groups * blocks), group = item / blocks % p.groups;
    const std::int64_t first = item % blocks * kChannelBlock, oc = group * out_per_group + first;
    const std::int64_t width = std::min(kChannelBlock, out_per_group - first);
    const float* w = reinterpret_cast<const float*>(buffers.inputs[kFloatConvW]) + oc * p.w.strides.image;
    float* to = packed;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t ic = 0; ic < p.w.channels; ++ic) {
        for (std::int64_t j = 0; j < width; ++j)
          *to++ = w[j * p.w.strides.image + tap * p.w.strides.column + ic * p.w.strides.channel];
      }
    }
    const auto* bias =
        p.has_computed_bias ? reinterpret_cast<const float*>(buffers.inputs[kFloatConvBias]) + oc : nullptr;
    const Channels channels{.group = group,
                            .first = first,
                            .width = width,
                            .weights = packed,
                            .tap_stride = p.w.channels * width,
                            .row_stride = width,
                            .bias = bias};
    for (std::int64_t row = 0; row < rows; ++row)
      run_float_conv_row(p, channels, row_at(p, image * rows + row), buffers);
  }
}

std::string refuse_float_conv(const CallView& call) {
  if (call.input(kFloatConvX).dtype != DType::f32) return "needs f32";
  const int rank = call.input(kFloatConvX).shape->rank();
  return rank >= 3 && rank <= 5 ? "" : "needs one to three spatial axes";
}

std::string float_conv_refusal(const OpCall& call) {
  for (std::size_t i : {kFloatConvW, kFloatConvBias}) {
    if (i < call.inputs.size() && call.inputs[i] != nullptr && !call.inputs[i]->is_constant())
      return "needs constant weights";
  }
  if (call.inputs[kFloatConvX]->is_constant()) return "needs a variable x";
  return refuse_float_conv(view_of(call));
}

// Weights become [group][tap][ic][oc].
std::vector<Tensor> pack_float_conv(const OpCall& call) {
  const auto& conv = call.attrs->as<ConvAttrs>();
  const Tensor& w = *call.inputs[kFloatConvW]->constant;
  const ImageSizes kernel = ImageSizes::of(w.shape(), conv.layout);
  const std::int64_t out_per_group = kernel.batch / conv.groups, taps = kernel.depth * kernel.height * kernel.width;
  Tensor packed(DType::f32, Shape{w.elements()});
  float* to = packed.as<float>();
  for (std::int64_t group = 0; group < conv.groups; ++group) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t ic = 0; ic < kernel.channels; ++ic) {
        for (std::int64_t oc = 0; oc < out_per_group; ++oc) {
          *to++ = w.as<float>()[(group * out_per_group + oc) * kernel.strides.image + tap * kernel.strides.column +
                                ic * kernel.strides.channel];
        }
      }
    }
  }
  return {std::move(packed), constant_or_empty(call, kFloatConvBias)};
}

// All but weights and bias.
FloatConvParams float_conv_params_of(const CallView& call, const SumFunctions& functions) {
  const auto& conv = call.attrs->as<ConvAttrs>();
  FloatConvParams p{.x = ImageSizes::of(*call.input(kFloatConvX).shape, conv.layout),
                    .y = ImageSizes::of(*call.output().shape, conv.layout),
                    .groups = conv.groups,
                    .functions = &functions};
  const Window& window = conv.window;
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    const std::size_t axis = kFloatConvAxes - window.kernel.size() + i;
    p.kernel[axis] = window.kernel[i], p.stride[axis] = window.strides[i];
    p.dilation[axis] = window.dilations[i], p.pad[axis] = window.pad_begin[i];
  }
  return p;
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_float_conv(const CallView& call, const StepSpec& spec) {
  const bool has_bias = call.input(kFloatConvBias).exists();
  FloatConvParams p = float_conv_params_of(call, CompiledFor<SumFunctions, isa>::table);
  if (!is_packed_as(spec, 0, DType::f32, call.input(kFloatConvW).elements()) ||
      (has_bias && !is_packed_as(spec, 1, DType::f32, p.y.channels))) {
    return not_as_packed(spec);
  }
  if (!is_read_in_run(spec, kFloatConvX)) return not_as_packed(spec);
  p.weights = spec.packed[0].as<float>();
  if (has_bias) p.bias = spec.packed[1].as<float>();
  const std::int64_t rows = call.output().elements() == 0 ? 0 : p.y.batch * p.y.depth * p.y.height;
  return make_step(std::move(p), rows, run_float_conv, kSumsBytes);
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_float_conv_computed(const CallView& call, const StepSpec&) {
  FloatConvParams p = float_conv_params_of(call, CompiledFor<SumFunctions, isa>::table);
  p.w = ImageSizes::of(*call.input(kFloatConvW).shape, call.attrs->as<ConvAttrs>().layout);
  p.has_computed_bias = call.input(kFloatConvBias).exists();
  const std::int64_t items = call.output().elements() == 0 ? 0 : p.y.batch * p.groups * blocks_of_group(p);
  const std::int64_t width = std::min(kChannelBlock, std::max<std::int64_t>(1, p.y.channels / p.groups));
  const std::int64_t taps = p.kernel[0] * p.kernel[1] * p.kernel[2];
  const auto packed = static_cast<std::size_t>(taps * p.w.channels * width) * sizeof(float);
  return make_step(std::move(p), items, run_float_conv_computed, kSumsBytes + packed);
}

// Sums of a few channels are mostly overhead: a group's channels count as sixteen at least, and each tap of four
// positions costs a call. A position that stands alone shares its weights with none (squeeze-excite blocks, Cascade
// Lake, 2.5 GHz: 1.1 ns per product).
template <Isa isa>
double float_conv_cost(const OpCall& call, const Machine&) {
  constexpr double per_mac = by_width(isa, {1.0, 0.5, 0.3});
  constexpr double per_call = 25.0;
  const auto& conv = call.attrs->as<ConvAttrs>();
  const Shape& w = call.inputs[kFloatConvW]->shape;
  const double channels = static_cast<double>(w[0]);
  const double out_per_group = std::max(1.0, channels / static_cast<double>(conv.groups));
  const double positions = static_cast<double>(call.outputs[0].shape.elements()) / std::max(1.0, channels);
  double taps = 1.0;
  for (std::int64_t size : conv.window.kernel) taps *= static_cast<double>(size);
  const double macs = static_cast<double>(call.outputs[0].shape.elements()) * static_cast<double>(w.elements()) /
                      std::max(1.0, channels);
  const double blocks =
      static_cast<double>(conv.groups) * std::ceil(out_per_group / static_cast<double>(kChannelBlock));
  const double alone = ImageSizes::of(call.outputs[0].shape, conv.layout).width < kSumRows ? 8.0 : 1.0;
  return 500.0 + per_mac * alone * macs * std::max(1.0, 16.0 / out_per_group) +
         per_call * positions / kSumRows * taps * blocks;
}

template <Isa isa>
constexpr KernelChoice float_conv_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "conv",
                   .needs = isa,
                   .packs = true,
                   .prepare = prepare_on<isa, refuse_float_conv, make_float_conv<isa>>()},
          .refusal = float_conv_refusal,
          .cost = float_conv_cost<isa>,
          .pack = pack_float_conv,
          .packed_layout = same_layout};
}

// Weights are packed in every run.
template <Isa isa>
double float_conv_cost_computed(const OpCall& call, const Machine& machine) {
  return 1.1 * float_conv_cost<isa>(call, machine) +
         2.0 * static_cast<double>(call.inputs[kFloatConvW]->shape.elements());
}

template <Isa isa>
constexpr KernelChoice float_conv_computed_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "conv",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_float_conv, make_float_conv_computed<isa>>()},
          .refusal = refusal_by<refuse_float_conv>,
          .cost = float_conv_cost_computed<isa>};
}

constexpr KernelChoice kFloatConvChoices[] = {
    float_conv_computed_kernel<Isa::scalar>("float_conv_computed_portable"),
    float_conv_computed_kernel<Isa::avx2>("float_conv_computed_avx2"),
    float_conv_computed_kernel<Isa::avx512>("float_conv_computed_avx512"),
    float_conv_computed_kernel<Isa::neon>("float_conv_computed_neon"),
    float_conv_kernel<Isa::scalar>("float_conv_portable"),
    float_conv_kernel<Isa::avx2>("float_conv_avx2"),
    float_conv_kernel<Isa::avx512>("float_conv_avx512"),
    float_conv_kernel<Isa::neon>("float_conv_neon"),
};
constexpr auto kFloatConvCodes = codes_of(kFloatConvChoices);

}  // namespace

std::span<const KernelCode> float_conv_codes() { return kFloatConvCodes; }
std::span<const KernelChoice> float_conv_choices() { return kFloatConvChoices; }

}  // namespace octavo
