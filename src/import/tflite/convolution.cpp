// TFLite readers: convolutions and products with a matrix. Part of import/.
#include <algorithm>
#include <optional>

#include "base/fields.h"
#include "import/tflite/computed_by.h"
#include "import/tflite/operators.h"
#include "ops/hybrid_conv/hybrid_conv.h"
#include "ops/row_quantize/row_quantize.h"

namespace octavo::tflite_import {
namespace {

// Weights in Octavo's order [OC, KH, KW, C / groups], dequantized, and the
// scales that a bias of integers has.
struct Weights {
  ValueId value;
  std::vector<float> scale;  // one, or one per output channel; empty: floats
  ValueId stored;            // integers, where the file has them
};

// Integer weights beside float activations: the format quantizes each image or row when it runs.
bool is_dynamic(OperatorReader& in) {
  return !in.failed() && in.tensor(0).dtype == DType::f32 && is_8bit(in.tensor(1).dtype);
}

// Integers times scales, as f32.
ValueId real_weights(OperatorReader& in, ValueId value, const QuantParams& quant) {
  const Fact& fact = in.fact(value);
  if (!fact.is_constant() || fact.shape.elements() > in.building().fold_budget)
    return in.dequantized(value, quant, "weights");
  in.building().fold_budget -= fact.shape.elements();
  Tensor real(DType::f32, fact.shape);
  const Shape& shape = real.shape();
  const std::int64_t inner = quant.axis < 0 ? 1 : shape.elements(quant.axis + 1, shape.rank());
  for (std::int64_t i = 0; i < real.elements(); ++i) {
    const std::size_t c = quant.axis < 0 ? 0 : static_cast<std::size_t>(i / inner % shape[quant.axis]);
    const auto q = static_cast<std::int32_t>(element_as_double(fact.constant->view(), i));
    real.as<float>()[i] = dequantize_value(q, quant.scale[c], quant.zero_point[c]);
  }
  return in.constant(std::move(real), "weights");
}

// In fixed point the reference kernels multiply the scales of s8 convolutions in f64, one per channel, even where the
// file has one for all; those of u8 ones, and of FULLY_CONNECTED with one scale, in f32. Convolutions of s16 are in
// fixed point in all profiles.
bool needs_scale_per_channel(OperatorReader& in, const QuantParams& quant) {
  const bool is_fixed = is_fixed_point(in.building().profile) || in.output_tensor(0).dtype == DType::s16;
  return quant.axis < 0 && is_fixed && in.tensor(1).dtype == DType::s8 && in.type() != "FULLY_CONNECTED";
}

// `value` is the tensor of input 1 after its axes were moved; scales lie along
// axis `from` of the file's tensor, `to` of the moved one.
Weights weights_of(OperatorReader& in, ValueId value, int from, int to) {
  const FileTensor& file = in.tensor(1);
  if (in.failed() || !is_8bit(file.dtype)) return {value, {}, {}};
  if (!file.quant)
    return {
        in.fail("weights '" + file.name + "'", std::string(octavo::name_of(file.dtype)) + " without scales", "scales")};
  QuantParams quant = *file.quant;
  if (quant.axis >= 0 && quant.axis != from)
    return {in.unsupported("weights '" + file.name + "'", "scales along axis " + std::to_string(quant.axis),
                           "along axis " + std::to_string(from))};
  if (quant.axis >= 0) quant.axis = to;
  if (needs_scale_per_channel(in, quant)) {
    const auto channels = static_cast<std::size_t>(in.shape(value)[to]);
    quant = {std::vector<float>(channels, quant.scale[0]), std::vector<std::int32_t>(channels, quant.zero_point[0]),
             to};
  }
  if (is_dynamic(in) && in.built().options.dequantizes_dynamic) return {real_weights(in, value, quant), {}, {}};
  return {in.dequantized(value, quant, "weights"), quant.scale, value};
}

// Of inputs.
struct Positions {
  int x = 0, bias = 2;
};

// The bias as a real vector. Integers are in units of x_scale * w_scale,
// whatever scale the file gives them.
ValueId convolution_bias_of(OperatorReader& in, const Weights& weights, std::int64_t channels, Positions at = {}) {
  if (!in.has(at.bias)) return {};
  const ValueId stored = in.stored(at.bias);
  if (in.failed()) return {};
  if (in.shape(stored).elements() != channels)
    return in.fail("bias", "shape " + in.shape(stored).to_string(), std::to_string(channels) + " values");
  const ValueId vector = in.reshape(stored, {channels}, "bias_vector");
  if (in.dtype(stored) == DType::f32) return vector;
  const auto& x = in.tensor(at.x).quant;
  const bool is_sum = in.dtype(stored) == DType::s32 || in.dtype(stored) == DType::s64;
  if (!is_sum || weights.scale.empty() || !x || x->axis >= 0)
    return in.unsupported("bias", std::string(octavo::name_of(in.dtype(stored))),
                          "f32, or s32 (s64) beside inputs of 8 (16) bits and 8-bit weights");
  QuantParams quant{.axis = weights.scale.size() > 1 ? 0 : -1};
  for (float scale : weights.scale) quant.scale.push_back(x->scale[0] * scale);
  quant.zero_point.assign(quant.scale.size(), 0);
  return in.dequantized(vector, quant, "bias");
}

// A convolution of the parts that SPACE_TO_BATCH_ND made, for BATCH_TO_SPACE_ND
// to find.
void remember_dilated(OperatorReader& in, const Window& window, DilatedConv conv) {
  const auto space = in.building().spaces.find(in.tensor_index(0));
  if (space == in.building().spaces.end() || in.failed() || window != unit_window(window.kernel)) return;
  conv.space = space->second;
  conv.x = in.operand_of(conv.space.image);
  if (conv.x.exists()) in.building().dilated[in.output_index(0)] = conv;
}

// Values per output channel: one that stands for all is repeated.
template <class T>
ValueId per_channel(OperatorReader& in, const std::vector<T>& given, std::int64_t channels, std::string_view suffix) {
  std::vector<T> values(static_cast<std::size_t>(channels), given[0]);
  if (given.size() > 1) values = given;
  return in.constant(Tensor::of<T>(Shape{channels}, values), suffix);
}

// Integer weights [OC, KH, KW, C / groups] as hybrid_conv takes them: s8, and what every weight of a channel lacks.
struct HybridWeights {
  ValueId value, scale, offset;
};

HybridWeights hybrid_weights(OperatorReader& in, ValueId stored) {
  if (in.failed()) return {};
  const QuantParams& quant = *in.tensor(1).quant;
  const Fact fact = in.fact(stored);  // adding constants moves the facts
  const std::int64_t channels = fact.shape[0];
  if (!fact.is_constant()) {
    in.unsupported("weights", "integers known only in a run, beside float activations", "constants");
    return {};
  }
  if (quant.scale.size() != 1 && quant.scale.size() != static_cast<std::size_t>(channels)) {
    in.fail("weights", std::to_string(quant.scale.size()) + " scales", "one, or one per output channel");
    return {};
  }
  HybridWeights made{.value = stored, .scale = per_channel(in, quant.scale, channels, "scales")};
  const bool is_unsigned = fact.dtype == DType::u8;
  std::vector<std::int32_t> offsets = quant.zero_point;
  for (std::int32_t& offset : offsets) offset = (is_unsigned ? 128 : 0) - offset;
  if (is_unsigned) {
    Tensor relabelled(DType::s8, fact.shape);
    for (std::int64_t i = 0; i < relabelled.elements(); ++i) {
      relabelled.as<std::int8_t>()[i] = static_cast<std::int8_t>(fact.constant->as<std::uint8_t>()[i] - 128);
    }
    made.value = in.constant(std::move(relabelled), "relabelled");
  }
  if (std::any_of(offsets.begin(), offsets.end(), [](std::int32_t offset) { return offset != 0; })) {
    made.offset = per_channel(in, offsets, channels, "offsets");
  }
  return made;
}

// The formulas of LiteRT: of XNNPACK, which quantizes each pixel where that is all a result depends on, or of its own
// kernels.
struct HybridRule {
  DynamicForm quantize;
  RunForm result;
};

HybridRule hybrid_rule(OperatorReader& in) {
  const bool is_conv = in.type() == "CONV_2D", is_depthwise = in.type() == "DEPTHWISE_CONV_2D";
  if (in.building().profile != Profile::tflite_xnnpack) {
    // One scale for all weights of a convolution, or a product that does not ask for more.
    const auto* product = in.options<file::FullyConnectedOptions>();
    const bool is_symmetric =
        is_conv ? in.tensor(1).quant->axis < 0 : product != nullptr && !product->asymmetric_quantize_inputs();
    if (is_symmetric) return {DynamicForm::tflite_symmetric, RunForm::onnx};
    return {DynamicForm::tflite, is_conv ? RunForm::tflite : RunForm::onnx};
  }
  return is_depthwise ? HybridRule{DynamicForm::tflite, RunForm::tflite}
                      : HybridRule{DynamicForm::xnnpack, RunForm::xnnpack};
}

// What the format's fused functions clamp to; nothing for one that is no clamp.
std::optional<ClampReal> bounds_of(int activation) {
  constexpr int kNone = 0, kRelu = 1, kReluN1To1 = 2, kRelu6 = 3;
  switch (activation) {
    case kNone: return ClampReal{};
    case kRelu: return ClampReal{.lowest = 0.0f};
    case kReluN1To1: return ClampReal{-1.0f, 1.0f};
    case kRelu6: return ClampReal{0.0f, 6.0f};
    default: return std::nullopt;
  }
}

// row_quantize(x), the exact sum of integers, times both scales, with a bias of floats and activated. x [N,H,W,C].
ValueId hybrid_conv(OperatorReader& in, ValueId x, const HybridWeights& weights, ValueId bias, HybridConvAttrs attrs,
                    int activation) {
  if (in.failed()) return {};
  const HybridRule rule = hybrid_rule(in);
  const bool is_per_pixel = rule.quantize == DynamicForm::xnnpack && attrs.is_pointwise();
  const auto bounds = bounds_of(activation);
  attrs.epilogue = {{ScaleInRun{rule.result}}, DType::f32};
  if (bounds && *bounds != ClampReal{}) attrs.epilogue.stages.emplace_back(*bounds);
  const auto q = in.add_exactly(kRowQuantize, RowQuantizeAttrs{.form = rule.quantize, .axis = is_per_pixel ? 3 : 1},
                                {x}, "quantized");
  if (in.failed()) return {};
  ++in.building().dynamic;
  if (!bias.exists()) bias = in.constant(Tensor(DType::f32, in.shape(weights.scale)), "no_bias");
  const ValueId y = in.add(kHybridConv, attrs, {q[0], weights.value, q[2], weights.offset, q[1], weights.scale, bias},
                           bounds ? "" : "sum");
  return bounds ? y : in.activation(y, activation);
}

// `args.w` are the weights as the file stores them, already in Octavo's order.
ValueId add_conv(OperatorReader& in, ConvArgs args, const Weights& weights, int activation) {
  args.w = in.placed(weights.value, "weights");
  args.layout = Layout::channels_last;
  const std::int64_t channels = in.shape(args.w).rank() > 0 ? in.shape(args.w)[0].fixed() : 0;
  if (is_dynamic(in) && !in.built().options.dequantizes_dynamic) {
    const HybridConvAttrs hybrid{.window = conv_window(in, args), .groups = args.groups};
    const ValueId bias = convolution_bias_of(in, {}, channels);
    return hybrid_conv(in, args.x, hybrid_weights(in, weights.stored), bias, hybrid, activation);
  }
  args.bias = convolution_bias_of(in, weights, channels);
  const Profile profile = computed_by(in, in.profile());
  remember_dilated(in, conv_window(in, args), {args.x, args.w, args.bias, args.groups, {}, activation, profile});
  return in.activation(conv(in, args), activation);
}

// The real image and the weights as the file stores them, of rank 4.
ConvArgs read_conv_args(OperatorReader& in) {
  const ConvArgs args{.x = in.placed(in.value(0), "input 'x'"), .w = in.placed(in.stored(1), "input 'weights'")};
  in.require_rank(args.x, 4, 4);
  in.require_rank(args.w, 4, 4);
  return args;
}

template <class Options>
WindowArgs read_window(OperatorReader& in, const Options& given) {
  return window_args(in, given.padding(), {given.stride_h(), given.stride_w()},
                     {given.dilation_h_factor(), given.dilation_w_factor()});
}

ValueId read_conv(OperatorReader& in) {
  const auto& given = in.required_options<file::Conv2DOptions>();
  ConvArgs args = read_conv_args(in);
  args.window = read_window(in, given);
  if (in.failed()) return {};
  const std::int64_t channels = in.shape(args.x)[3], inner = in.shape(args.w)[3];
  if (inner == 0 || channels % inner != 0)
    return in.fail("weights", "shape " + in.shape(args.w).to_string(),
                   "channels that divide " + std::to_string(channels));
  args.groups = channels / inner;
  return add_conv(in, args, weights_of(in, args.w, 0, 0), given.fused_activation_function());
}

ValueId read_depthwise_conv(OperatorReader& in) {
  const auto& given = in.required_options<file::DepthwiseConv2DOptions>();
  ConvArgs args = read_conv_args(in);
  args.window = read_window(in, given);
  if (in.failed()) return {};
  if (in.shape(args.w)[0] != 1) return in.fail("weights", "shape " + in.shape(args.w).to_string(), "1xHxWxC");
  args.groups = in.shape(args.x)[3];
  const ValueId filters = transpose(in, args.w, Integers{3, 1, 2, 0}, "filters");
  return add_conv(in, args, weights_of(in, filters, 3, 0), given.fused_activation_function());
}

struct ProductSizes {
  Dim rows;
  std::int64_t columns, inner;
  Extents dims;  // of the result
};

// A product with a matrix of integers: the convolution of an image of one pixel per row.
ValueId add_hybrid_product(OperatorReader& in, ValueId x, const ProductSizes& sizes, int activation) {
  const Weights weights = weights_of(in, in.stored(1), 0, 0);
  const ValueId filters = in.reshape(weights.stored, {sizes.columns, 1, 1, sizes.inner}, "filters");
  const ValueId pixels = in.reshape(x, {sizes.rows, 1, 1, sizes.inner}, "pixels");
  const HybridConvAttrs attrs{.window = unit_window({1, 1})};
  const HybridWeights integers = hybrid_weights(in, filters);
  const ValueId y = hybrid_conv(in, pixels, integers, convolution_bias_of(in, {}, sizes.columns), attrs, activation);
  return in.reshape(y, sizes.dims, "shaped");
}

ValueId read_fully_connected(OperatorReader& in) {
  const auto& given = in.required_options<file::FullyConnectedOptions>();
  const ValueId x = in.placed(in.value(0), "input 'x'"), w = in.placed(in.stored(1), "input 'weights'");
  if (given.weights_format() != 0) in.unsupported("weights format", std::to_string(given.weights_format()), "0");
  in.require_rank(w, 2, 2);
  in.require_rank(x, 1, kMaxRank);
  if (in.failed()) return {};
  const std::int64_t columns = in.shape(w)[0], inner = in.shape(w)[1];
  const Dim elements = in.shape(x).elements();
  const OpenShape& from = in.shape(x);
  const bool keeps_axes = given.keep_num_dims();
  if (inner == 0 || elements % inner != 0 || (keeps_axes && from[from.rank() - 1] != inner))
    return in.fail("x", "shape " + from.to_string(), "rows of " + std::to_string(inner));
  Extents dims = keeps_axes ? from.to_vector() : Extents{elements / inner, columns};
  dims.back() = columns;
  const int activation = given.fused_activation_function();
  if (is_dynamic(in) && !in.built().options.dequantizes_dynamic)
    return add_hybrid_product(in, x, {elements / inner, columns, inner, dims}, activation);
  const Weights weights = weights_of(in, transpose(in, w, Integers{1, 0}, "matrix"), 0, 1);
  const ValueId rows = in.reshape(x, {elements / inner, inner}, "flat");
  const ValueId bias = convolution_bias_of(in, weights, columns);
  return in.reshape(in.activation(matmul(in, rows, weights.value, bias), activation), dims, "shaped");
}

ValueId read_transpose_conv(OperatorReader& in) {
  const auto& given = in.required_options<file::TransposeConvOptions>();
  const Numbers sizes = in.constant_integers(0, "output shape");
  const ValueId w = in.placed(in.stored(1), "input 'weights'"), x = in.placed(in.value(2), "input 'x'");
  in.require_rank(x, 4, 4);
  in.require_rank(w, 4, 4);
  if (in.failed()) return {};
  const Shape filters = in.shape(w);
  if (sizes.size() != 4 || sizes[1] < 1 || sizes[2] < 1)
    return in.fail(sizes.place, print(sizes.values), "four numbers from 1 on");
  const Weights weights = weights_of(in, w, 0, 0);
  ConvTransposeArgs args{.x = x,
                         .w = weights.value,
                         .bias = convolution_bias_of(in, weights, filters[0], {2, 3}),
                         .window = window_args(in, given.padding(), {given.stride_h(), given.stride_w()}),
                         .layout = Layout::channels_last};
  end_at(in, args, sizes);
  return in.activation(conv_transpose(in, args), given.fused_activation_function());
}

constexpr OperatorEntry kConvolutionTable[] = {
    {"CONV_2D", 2, 3, 1, kReal, read_conv},
    {"DEPTHWISE_CONV_2D", 2, 3, 1, kReal, read_depthwise_conv},
    {"FULLY_CONNECTED", 2, 3, 1, kReal, read_fully_connected},
    {"TRANSPOSE_CONV", 3, 4, 1, kReal, read_transpose_conv},
};

}  // namespace

const std::span<const OperatorEntry> kConvolutions = kConvolutionTable;

void end_at(OperatorReader& in, ConvTransposeArgs& args, const Numbers& sizes) {
  if (in.failed()) return;
  if (args.window.padding != Padding::valid) {
    args.sizes = Numbers(Extents(sizes.begin() + 1, sizes.end() - 1), sizes.place);
    return;
  }
  const std::size_t axes = sizes.size() - 2;
  Extents pads(2 * axes, 0), extra(axes, 0);
  for (std::size_t i = 0; i < axes; ++i) {
    const int axis = static_cast<int>(1 + i);
    const std::int64_t taps = in.shape(args.w)[axis].fixed() - 1;
    const std::int64_t dilation = args.window.dilations.empty() ? 1 : args.window.dilations[i].fixed();
    const Dim rest = (in.shape(args.x)[axis] - 1) * args.window.strides[i] + taps * dilation + 1 -
                     sizes[static_cast<std::size_t>(axis)];
    pads[axes + i] = larger(0, rest), extra[i] = larger(0, 0 - rest);
  }
  args.window.padding = Padding::given;
  args.window.pads = pads, args.output_padding = extra;
}

}  // namespace octavo::tflite_import
