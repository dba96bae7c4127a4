// Depthwise convolution position by position: every window, channel multiplier, type and epilogue. Part of kernels/.
#include "kernels/depthwise/depthwise.h"

#include "kernels/compiled_for.h"
#include "kernels/depthwise/rows.h"
#include "kernels/depthwise/shape.h"
#include "kernels/weight_offsets.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
namespace {

enum ByteDepthwisePacked : std::size_t { kWeights = 0, kBias = 1, kMultiplier = 2, kTable = 3, kRest = 4 };

struct ByteDepthwiseParams {
  DepthwiseShape shape;
  const DepthwiseFunctions* functions;
  RowEpilogue epilogue;
  int other = -1;  // the input that is added, where there is one
  const std::int16_t* weights;
  const std::int32_t* bias;
  bool x_is_signed;
  std::size_t y_element_bytes;
  std::vector<std::uint8_t> padding;  // one position outside the image
};

std::int64_t byte_depthwise_taps_of(const DepthwiseShape& shape) { return shape.kernel_height * shape.kernel_width; }
std::int64_t pairs_of(const DepthwiseShape& shape) { return (byte_depthwise_taps_of(shape) + 1) / 2; }

// Scratch: a pointer per tap and one more, then the accumulators.
std::size_t acc_offset(const DepthwiseShape& shape) {
  return (static_cast<std::size_t>(byte_depthwise_taps_of(shape) + 1) * sizeof(void*) + kAlignment - 1) / kAlignment *
         kAlignment;
}

void byte_depthwise_find_taps(const ByteDepthwiseParams& params, const std::uint8_t* image, std::int64_t oh,
                              std::int64_t ow, const std::uint8_t** taps) {
  const DepthwiseShape& s = params.shape;
  for (std::int64_t kh = 0; kh < s.kernel_height; ++kh) {
    const std::int64_t ih = oh * s.stride_height + kh * s.dilation_height - s.pad_top;
    for (std::int64_t kw = 0; kw < s.kernel_width; ++kw) {
      const std::int64_t iw = ow * s.stride_width + kw * s.dilation_width - s.pad_left;
      const bool is_inside = ih >= 0 && ih < s.height && iw >= 0 && iw < s.width;
      *taps++ = is_inside ? image + (ih * s.width + iw) * s.in_channels : params.padding.data();
    }
  }
  *taps = params.padding.data();  // of the last pair where their number is odd
}

void run_byte_depthwise(const ByteDepthwiseParams& params, const StepBuffers& buffers, ItemRange rows) {
  const DepthwiseShape& s = params.shape;
  auto* taps = reinterpret_cast<const std::uint8_t**>(buffers.scratch);
  auto* acc = reinterpret_cast<std::int32_t*>(buffers.scratch + acc_offset(s));
  const auto* x = reinterpret_cast<const std::uint8_t*>(buffers.inputs[kConvX]);
  const std::uint8_t* residual =
      params.other < 0 ? nullptr
                       : reinterpret_cast<const std::uint8_t*>(buffers.inputs[static_cast<std::size_t>(params.other)]);
  const DepthwisePosition position{.taps = taps,
                                   .pairs = pairs_of(s),
                                   .channels = s.channels,
                                   .channel_multiplier = s.channels / s.in_channels,
                                   .x_is_signed = params.x_is_signed,
                                   .weights = params.weights,
                                   .bias = params.bias,
                                   .acc = acc};
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const std::uint8_t* image = x + row / s.out_height * s.height * s.width * s.in_channels;
    for (std::int64_t ow = 0; ow < s.out_width; ++ow) {
      byte_depthwise_find_taps(params, image, row % s.out_height, ow, taps);
      params.functions->accumulate(position);
      const std::int64_t first = (row * s.out_width + ow) * s.channels;
      params.functions->finish(params.epilogue, acc, s.channels, residual == nullptr ? nullptr : residual + first,
                               buffers.outputs[0] + static_cast<std::size_t>(first) * params.y_element_bytes);
    }
  }
}

std::string byte_depthwise_refusal(const OpCall& call) {
  if (const std::string reason = refuse_not_depthwise(view_of(call)); !reason.empty()) return reason;
  if (const std::string reason = refuse_variable_weights(call); !reason.empty()) return reason;
  return wide_offsets_refusal(call);
}

// Weights become [pair of taps][channel][2], each with its channel's offset.
std::vector<Tensor> pack_byte_depthwise(const OpCall& call) {
  const Tensor& w = *call.inputs[kConvW]->constant;
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  const std::int64_t channels = w.shape()[0];
  const std::int64_t taps = attrs.window.kernel[0] * attrs.window.kernel[1];
  const Tensor* offsets = weight_offsets(call);
  Tensor weights(DType::s16, Shape{(taps + 1) / 2, channels, 2});
  for (std::int64_t oc = 0; oc < channels; ++oc) {
    const std::int32_t offset = offsets == nullptr ? 0 : offsets->as<std::int32_t>()[oc];
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      weights.as<std::int16_t>()[(tap / 2 * channels + oc) * 2 + tap % 2] =
          static_cast<std::int16_t>(w.as<std::int8_t>()[oc * taps + tap] + offset);
    }
  }
  const EpilogueParts parts = *EpilogueParts::of(attrs.epilogue, kConvOperands);
  return {std::move(weights), *call.inputs[kConvBias]->constant, parts.constant(call, parts.multiplier),
          parts.constant(call, parts.table), parts.constant(call, parts.rest)};
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_byte_depthwise(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  const DepthwiseShape shape = DepthwiseShape::of(call);
  const EpilogueParts parts = *EpilogueParts::of(attrs.epilogue, kConvOperands);
  const bool has_multiplier = parts.multiplier >= 0, has_table = parts.table >= 0, has_rest = parts.rest >= 0;
  const bool is_whole = is_packed_as(spec, kWeights, DType::s16, pairs_of(shape) * shape.channels * 2) &&
                        is_packed_as(spec, kBias, DType::s32, shape.channels) &&
                        (!has_multiplier || is_packed_as(spec, kMultiplier, DType::f32, shape.channels)) &&
                        (!has_table || is_packed_as(spec, kTable, call.output().dtype, 256)) &&
                        (!has_rest || is_packed_as(spec, kRest, DType::f32, shape.channels));
  if (!is_whole || !is_read_in_run(spec, kConvX) || !parts.is_read_in_run(spec)) return not_as_packed(spec);
  ByteDepthwiseParams params{.shape = shape,
                             .functions = &CompiledFor<DepthwiseFunctions, isa>::table,
                             .epilogue = parts.for_rows(spec),
                             .other = parts.other,
                             .weights = spec.packed[kWeights].as<std::int16_t>(),
                             .bias = spec.packed[kBias].as<std::int32_t>(),
                             .x_is_signed = call.input(kConvX).dtype == DType::s8,
                             .y_element_bytes = size_of(call.output().dtype),
                             .padding = std::vector<std::uint8_t>(static_cast<std::size_t>(shape.in_channels),
                                                                  static_cast<std::uint8_t>(attrs.x_zero_point))};
  if (has_multiplier) params.epilogue.multiplier = spec.packed[kMultiplier].as<float>();
  if (has_rest) params.epilogue.rest = spec.packed[kRest].as<float>();
  if (has_table) params.epilogue.table = spec.packed[kTable].as<std::uint8_t>();
  const std::size_t scratch = acc_offset(shape) + static_cast<std::size_t>(shape.channels) * sizeof(std::int32_t);
  return make_step(std::move(params), shape.batch * shape.out_height, run_byte_depthwise, scratch);
}

// Nanoseconds, from measured times (windows of 1 to 9 taps, 2.5 GHz): a result costs as much as four
// taps, a position as sixty results.
template <Isa isa>
double byte_depthwise_cost(const OpCall& call, const Machine&) {
  constexpr double per_mac = by_width(isa, {1.0, 0.1, 0.08});
  const DepthwiseShape s = DepthwiseShape::of(view_of(call));
  const auto positions = static_cast<double>(s.batch * s.out_height * s.out_width);
  return 200.0 + per_mac * (s.macs() + positions * (4.0 * static_cast<double>(s.channels) + 250.0));
}

template <Isa isa>
constexpr KernelChoice byte_depthwise_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "quantized_conv",
                   .needs = isa,
                   .packs = true,
                   .prepare = prepare_on<isa, refuse_not_depthwise, make_byte_depthwise<isa>>()},
          .refusal = byte_depthwise_refusal,
          .cost = byte_depthwise_cost<isa>,
          .pack = pack_byte_depthwise,
          .packed_layout = same_layout};
}

constexpr KernelChoice kByteDepthwiseChoices[] = {
    byte_depthwise_kernel<Isa::scalar>("depthwise_q8s8_1x1_portable"),
    byte_depthwise_kernel<Isa::avx2>("depthwise_q8s8_1x8_avx2"),
    byte_depthwise_kernel<Isa::avx512>("depthwise_q8s8_1x16_avx512"),
    byte_depthwise_kernel<Isa::neon>("depthwise_q8s8_1x8_neon"),
};
constexpr auto kByteDepthwiseCodes = codes_of(kByteDepthwiseChoices);

}  // namespace

std::span<const KernelCode> depthwise_codes() { return kByteDepthwiseCodes; }
std::span<const KernelChoice> depthwise_choices() { return kByteDepthwiseChoices; }

}  // namespace octavo
