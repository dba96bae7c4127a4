// conv_transpose in f32 by rows of the result, over one to three axes: of what lowering makes no convolution. Part of
// kernels/.
#include <algorithm>
#include <array>

#include "kernels/call.h"
#include "kernels/plain/plain.h"
#include "ops/conv_transpose/conv_transpose.h"
#include "ops/image.h"

namespace octavo {
namespace {

enum TransposedConvInput : std::size_t { kTransposedX = 0, kTransposedW = 1, kTransposedBias = 2 };

constexpr std::size_t kTransposedConvAxes = 3;

// One spatial axis; missing ones, in front, have size 1.
struct TransposedConvAxis {
  std::int64_t size = 1, result = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
  std::int64_t x_stride = 0, w_stride = 0, y_stride = 0;  // elements

  // The pixel that tap k of a position comes from; -1: none.
  std::int64_t pixel_of(std::int64_t position, std::int64_t k) const {
    const std::int64_t at = position + pad - k * dilation;
    return at < 0 || at % stride != 0 || at / stride >= size ? -1 : at / stride;
  }
};

struct TransposedConvParams {
  std::array<TransposedConvAxis, kTransposedConvAxes> axes;
  std::int64_t channels = 0, depth = 0;  // of the result, and those of x that each sums
  std::int64_t per_group = 1;            // channels of the result
  std::int64_t x_image = 0, x_channel = 0, w_result = 0, w_channel = 0, y_image = 0, y_channel = 0;
  bool has_bias = false;
};

// x and w at the first channels of the group and of the output channel.
double transposed_conv_sum_of(const TransposedConvParams& p, const std::array<std::int64_t, kTransposedConvAxes>& at,
                              const float* x, const float* w) {
  double sum = 0.0;
  for (std::int64_t k0 = 0; k0 < p.axes[0].kernel; ++k0) {
    const std::int64_t i0 = p.axes[0].pixel_of(at[0], k0);
    for (std::int64_t k1 = 0; i0 >= 0 && k1 < p.axes[1].kernel; ++k1) {
      const std::int64_t i1 = p.axes[1].pixel_of(at[1], k1);
      for (std::int64_t k2 = 0; i1 >= 0 && k2 < p.axes[2].kernel; ++k2) {
        const std::int64_t i2 = p.axes[2].pixel_of(at[2], k2);
        if (i2 < 0) continue;
        const float* from = x + i0 * p.axes[0].x_stride + i1 * p.axes[1].x_stride + i2 * p.axes[2].x_stride;
        const float* by = w + k0 * p.axes[0].w_stride + k1 * p.axes[1].w_stride + k2 * p.axes[2].w_stride;
        for (std::int64_t ic = 0; ic < p.depth; ++ic)
          sum += static_cast<double>(from[ic * p.x_channel]) * static_cast<double>(by[ic * p.w_channel]);
      }
    }
  }
  return sum;
}

void run_transposed_conv(const TransposedConvParams& p, const StepBuffers& buffers, ItemRange rows) {
  const auto* x = reinterpret_cast<const float*>(buffers.inputs[kTransposedX]);
  const auto* w = reinterpret_cast<const float*>(buffers.inputs[kTransposedW]);
  const auto* bias = p.has_bias ? reinterpret_cast<const float*>(buffers.inputs[kTransposedBias]) : nullptr;
  auto* y = reinterpret_cast<float*>(buffers.outputs[0]);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const std::int64_t line = row / p.axes[1].result, image = line / p.axes[0].result;
    std::array<std::int64_t, kTransposedConvAxes> at{line % p.axes[0].result, row % p.axes[1].result, 0};
    float* to = y + image * p.y_image + at[0] * p.axes[0].y_stride + at[1] * p.axes[1].y_stride;
    for (; at[2] < p.axes[2].result; ++at[2], to += p.axes[2].y_stride) {
      for (std::int64_t oc = 0; oc < p.channels; ++oc) {
        const float* group = x + image * p.x_image + oc / p.per_group * p.depth * p.x_channel;
        const double sum = transposed_conv_sum_of(p, at, group, w + oc * p.w_result);
        to[oc * p.y_channel] = static_cast<float>(sum + (bias == nullptr ? 0.0 : static_cast<double>(bias[oc])));
      }
    }
  }
}

std::string refuse_transposed_conv(const CallView& call) {
  if (call.input(kTransposedX).dtype != DType::f32) return "needs f32";
  const auto spatial = static_cast<std::size_t>(call.input(kTransposedX).shape->rank()) - 2;
  return spatial <= kTransposedConvAxes ? "" : "needs at most three spatial axes";
}

Result<std::unique_ptr<Step>> make_transposed_conv(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<ConvTransposeAttrs>();
  const Image x = Image::of(*call.input(kTransposedX).shape, attrs.layout),
              w = Image::of(*call.input(kTransposedW).shape, attrs.layout);
  const Image y = Image::of(*call.output().shape, attrs.layout);
  TransposedConvParams p{.channels = y.channels,
                         .depth = w.channels,
                         .per_group = std::max<std::int64_t>(1, y.channels / attrs.groups),
                         .x_image = x.batch_stride,
                         .x_channel = x.channel_stride,
                         .w_result = w.batch_stride,
                         .w_channel = w.channel_stride,
                         .y_image = y.batch_stride,
                         .y_channel = y.channel_stride,
                         .has_bias = call.input(kTransposedBias).exists()};
  for (std::size_t i = 0; i < x.sizes.size(); ++i) {
    p.axes[i + kTransposedConvAxes - x.sizes.size()] = {.size = x.sizes[i],
                                                        .result = y.sizes[i],
                                                        .kernel = w.sizes[i],
                                                        .stride = attrs.window.strides[i],
                                                        .dilation = attrs.window.dilations[i],
                                                        .pad = attrs.window.pad_begin[i],
                                                        .x_stride = x.strides[i],
                                                        .w_stride = w.strides[i],
                                                        .y_stride = y.strides[i]};
  }
  const std::int64_t rows = call.output().elements() == 0 ? 0 : y.batch * p.axes[0].result * p.axes[1].result;
  return make_step(std::move(p), rows, run_transposed_conv);
}

double transposed_conv_cost(const OpCall& call, const Machine&) {
  const Shape& w = call.inputs[kTransposedW]->shape;
  return 500.0 + 1.0 * static_cast<double>(call.outputs[0].shape.elements()) * static_cast<double>(w.elements()) /
                     std::max(1.0, static_cast<double>(w[0]));
}

constexpr KernelChoice kTransposedConvChoices[] = {
    {.code = {.name = "plain_conv_transpose_f32_portable",
              .op = "conv_transpose",
              .prepare = prepare_by<refuse_transposed_conv, make_transposed_conv>},
     .refusal = refusal_by<refuse_transposed_conv>,
     .cost = transposed_conv_cost},
};
constexpr auto kTransposedConvCodes = codes_of(kTransposedConvChoices);

}  // namespace

std::span<const KernelCode> plain_transposed_codes() { return kTransposedConvCodes; }
std::span<const KernelChoice> plain_transposed_choices() { return kTransposedConvChoices; }

}  // namespace octavo
