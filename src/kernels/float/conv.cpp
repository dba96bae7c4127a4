// conv and fused_conv in f32: four neighbouring positions and a block of output channels at a time. Part of kernels/.
#include "ops/conv/conv.h"

#include <cmath>

#include "kernels/call.h"
#include "kernels/float/float.h"
#include "kernels/float/sums.h"
#include "kernels/image_sizes.h"
#include "ops/fused_conv/fused_conv.h"

namespace octavo {
namespace {

enum Input : std::size_t { kX = 0, kW = 1, kBias = 2, kResidual = 3 };

// What conv and fused_conv have in common.
struct ConvView {
  const Window* window;
  std::int64_t groups;
  Layout layout;
  UnaryAttrs activation;

  static ConvView of(const Attrs& attrs) {
    if (attrs.is<FusedConvAttrs>()) {
      const auto& conv = attrs.as<FusedConvAttrs>();
      return {&conv.window, conv.groups, Layout::channels_last, conv.activation};
    }
    const auto& conv = attrs.as<ConvAttrs>();
    return {&conv.window, conv.groups, conv.layout, {}};
  }
};

struct Params {
  ImageSizes x, y;
  std::int64_t groups = 1;
  std::int64_t kernel_height = 1, kernel_width = 1, stride_height = 1, stride_width = 1, dilation_height = 1,
               dilation_width = 1, pad_top = 0, pad_left = 0;
  UnaryAttrs activation;
  const float* weights = nullptr;  // [group][tap][ic][oc]
  const float* bias = nullptr;     // may be null
  bool has_residual = false;
  const SumFunctions* functions = nullptr;
};

constexpr std::int64_t kChannelBlock = 64;

// Up to kSumRows neighbouring positions of a row, and a block of the output channels of a group.
struct Block {
  std::int64_t image, oh, ow, positions, group, first, width;
};

void add_tap(const Params& p, const Block& block, std::int64_t kh, std::int64_t kw, const float* x, double* acc) {
  const std::int64_t ih = block.oh * p.stride_height + kh * p.dilation_height - p.pad_top;
  if (ih < 0 || ih >= p.x.height) return;
  const std::int64_t in_per_group = p.x.channels / p.groups, out_per_group = p.y.channels / p.groups;
  const std::int64_t tap = block.group * p.kernel_height * p.kernel_width + kh * p.kernel_width + kw;
  SumBlock sum{.a_step = p.x.strides.channel,
               .b = p.weights + tap * in_per_group * out_per_group + block.first,
               .b_stride = out_per_group,
               .depth = in_per_group,
               .width = block.width,
               .acc = acc,
               .acc_stride = kChannelBlock};
  const float* row =
      x + block.image * p.x.strides.image + block.group * in_per_group * p.x.strides.channel + ih * p.x.strides.row;
  int inside = 0;
  for (std::int64_t i = 0; i < block.positions; ++i) {
    const std::int64_t iw = (block.ow + i) * p.stride_width + kw * p.dilation_width - p.pad_left;
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

double activated(const UnaryAttrs& activation, double value) {
  switch (activation.kind) {
    case UnaryKind::identity: return value;
    case UnaryKind::relu: return value < 0.0 ? 0.0 : value;
    default: return evaluate_unary(activation, value);
  }
}

void store_block(const Params& p, const Block& block, const double* acc, const float* residual, float* y) {
  const std::int64_t oc = block.group * (p.y.channels / p.groups) + block.first;
  for (std::int64_t i = 0; i < block.positions; ++i) {
    const std::int64_t at = block.image * p.y.strides.image + block.oh * p.y.strides.row +
                            (block.ow + i) * p.y.strides.column + oc * p.y.strides.channel;
    for (std::int64_t j = 0; j < block.width; ++j) {
      double sum = acc[i * kChannelBlock + j];
      if (p.bias != nullptr) sum += static_cast<double>(p.bias[oc + j]);
      if (residual != nullptr) sum += static_cast<double>(residual[at + j * p.y.strides.channel]);
      y[at + j * p.y.strides.channel] = static_cast<float>(activated(p.activation, sum));
    }
  }
}

void run_block(const Params& p, const Block& block, const StepBuffers& buffers) {
  auto* acc = reinterpret_cast<double*>(buffers.scratch);
  std::fill_n(acc, kSumRows * kChannelBlock, 0.0);
  for (std::int64_t kh = 0; kh < p.kernel_height; ++kh) {
    for (std::int64_t kw = 0; kw < p.kernel_width; ++kw)
      add_tap(p, block, kh, kw, reinterpret_cast<const float*>(buffers.inputs[kX]), acc);
  }
  const float* residual = p.has_residual ? reinterpret_cast<const float*>(buffers.inputs[kResidual]) : nullptr;
  store_block(p, block, acc, residual, reinterpret_cast<float*>(buffers.outputs[0]));
}

void run(const Params& p, const StepBuffers& buffers, ItemRange rows) {
  const std::int64_t out_per_group = p.y.channels / p.groups;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    for (std::int64_t group = 0; group < p.groups; ++group) {
      for (std::int64_t first = 0; first < out_per_group; first += kChannelBlock) {
        for (std::int64_t ow = 0; ow < p.y.width; ow += kSumRows) {
          run_block(p,
                    {row / p.y.height, row % p.y.height, ow, std::min<std::int64_t>(kSumRows, p.y.width - ow), group,
                     first, std::min(kChannelBlock, out_per_group - first)},
                    buffers);
        }
      }
    }
  }
}

std::string refuse(const CallView& call) {
  if (call.input(kX).dtype != DType::f32) return "needs f32";
  const int rank = call.input(kX).shape->rank();
  return rank == 3 || rank == 4 ? "" : "needs one or two spatial axes";
}

std::string refusal(const OpCall& call) {
  for (std::size_t i : {kW, kBias}) {
    if (i < call.inputs.size() && call.inputs[i] != nullptr && !call.inputs[i]->is_constant())
      return "needs constant weights";
  }
  for (std::size_t i : {kX, kResidual}) {
    if (i < call.inputs.size() && call.inputs[i] != nullptr && call.inputs[i]->is_constant())
      return "needs a variable x and residual";
  }
  return refuse(view_of(call));
}

// Weights become [group][tap][ic][oc].
std::vector<Tensor> pack(const OpCall& call) {
  const ConvView conv = ConvView::of(*call.attrs);
  const Tensor& w = *call.inputs[kW]->constant;
  const ImageSizes kernel = ImageSizes::of(w.shape(), conv.layout);
  const std::int64_t out_per_group = kernel.batch / conv.groups, taps = kernel.height * kernel.width;
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
  return {std::move(packed), constant_or_empty(call, kBias)};
}

template <const SumFunctions& functions>
Result<std::unique_ptr<Step>> make(const CallView& call, const StepSpec& spec) {
  const ConvView conv = ConvView::of(*call.attrs);
  const bool has_bias = call.input(kBias).exists();
  Params p{.x = ImageSizes::of(*call.input(kX).shape, conv.layout),
           .y = ImageSizes::of(*call.output().shape, conv.layout),
           .groups = conv.groups,
           .activation = conv.activation,
           .has_residual = call.input(kResidual).exists(),
           .functions = &functions};
  if (!is_packed_as(spec, 0, DType::f32, call.input(kW).elements()) ||
      (has_bias && !is_packed_as(spec, 1, DType::f32, p.y.channels))) {
    return not_as_packed(spec);
  }
  if (!is_read_in_run(spec, kX) || !is_read_in_run(spec, kResidual)) return not_as_packed(spec);
  const Window& window = *conv.window;
  const std::size_t last = window.kernel.size() - 1;
  p.kernel_width = window.kernel[last], p.stride_width = window.strides[last],
  p.dilation_width = window.dilations[last], p.pad_left = window.pad_begin[last];
  if (last == 1) {
    p.kernel_height = window.kernel[0], p.stride_height = window.strides[0], p.dilation_height = window.dilations[0],
    p.pad_top = window.pad_begin[0];
  }
  p.weights = spec.packed[0].as<float>();
  if (has_bias) p.bias = spec.packed[1].as<float>();
  const std::int64_t rows = call.output().elements() == 0 ? 0 : p.y.batch * p.y.height;
  return make_step(std::move(p), rows, run, kSumRows * kChannelBlock * sizeof(double));
}

// Sums of a few channels are mostly overhead: a group's channels count as sixteen at least, and each tap of four
// positions costs a call. A position that stands alone shares its weights with none (squeeze-excite blocks, Cascade
// Lake, 2.5 GHz: 1.1 ns per product, 70 ns per sigmoid).
template <Isa isa>
double cost(const OpCall& call, const Machine&) {
  constexpr double per_mac = isa == Isa::scalar ? 1.0 : (isa == Isa::avx2 ? 0.5 : 0.3);
  constexpr double per_call = 25.0;
  const ConvView conv = ConvView::of(*call.attrs);
  const Shape& w = call.inputs[kW]->shape;
  const double channels = static_cast<double>(w[0]);
  const double out_per_group = std::max(1.0, channels / static_cast<double>(conv.groups));
  const double positions = static_cast<double>(call.outputs[0].shape.elements()) / std::max(1.0, channels);
  double taps = 1.0;
  for (std::int64_t size : conv.window->kernel) taps *= static_cast<double>(size);
  const double macs = static_cast<double>(call.outputs[0].shape.elements()) * static_cast<double>(w.elements()) /
                      std::max(1.0, channels);
  const double blocks =
      static_cast<double>(conv.groups) * std::ceil(out_per_group / static_cast<double>(kChannelBlock));
  const double alone = ImageSizes::of(call.outputs[0].shape, conv.layout).width < kSumRows ? 8.0 : 1.0;
  const bool is_simple = conv.activation.kind == UnaryKind::identity || conv.activation.kind == UnaryKind::relu;
  const double activations = is_simple ? 0.0 : 70.0 * static_cast<double>(call.outputs[0].shape.elements());
  return 500.0 + per_mac * alone * macs * std::max(1.0, 16.0 / out_per_group) +
         per_call * positions / kSumRows * taps * blocks + activations;
}

template <const SumFunctions& functions, Isa isa>
constexpr KernelChoice kernel(std::string_view name, std::string_view op) {
  return {.code = {.name = name, .op = op, .needs = isa, .packs = true, .prepare = prepare_by<refuse, make<functions>>},
          .refusal = refusal,
          .cost = cost<isa>,
          .pack = pack,
          .packed_layout = same_layout};
}

constexpr KernelChoice kChoices[] = {
    kernel<kSumsScalar, Isa::scalar>("float_conv_portable", "conv"),
    kernel<kSumsAvx2, Isa::avx2>("float_conv_avx2", "conv"),
    kernel<kSumsAvx512, Isa::avx512>("float_conv_avx512", "conv"),
    kernel<kSumsScalar, Isa::scalar>("float_fused_conv_portable", "fused_conv"),
    kernel<kSumsAvx2, Isa::avx2>("float_fused_conv_avx2", "fused_conv"),
    kernel<kSumsAvx512, Isa::avx512>("float_fused_conv_avx512", "fused_conv"),
};
constexpr auto kCodes = codes_of(kChoices);

}  // namespace

std::span<const KernelCode> float_conv_codes() { return kCodes; }
std::span<const KernelChoice> float_conv_choices() { return kChoices; }

}  // namespace octavo
