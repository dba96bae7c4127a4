// TFLite readers: convolutions and products with a matrix. Part of import/.
#include "import/tflite/operators.h"
#include "import/tflite/parts.h"
#include "ops/list.h"

namespace octavo::tflite_import {
namespace {

// Weights in Octavo's order [OC, KH, KW, C / groups], dequantized, and the scales that a bias of integers has.
struct Weights {
  ValueId value;
  std::vector<float> scale;  // one, or one per output channel; empty: floats
};

// `value` is the tensor of input 1 after its axes were moved; scales lie along axis `from` of the file's tensor, `to` of the moved one.
Weights weights_of(OperatorReader& in, ValueId value, int from, int to) {
  const FileTensor& file = in.tensor(1);
  if (in.failed() || !is_8bit(file.dtype)) return {value, {}};
  if (!file.quant) {
    in.fail("weights '" + file.name + "'", std::string(name_of(file.dtype)) + " without scales", "scales");
    return {};
  }
  QuantParams quant = *file.quant;
  if (quant.axis >= 0 && quant.axis != from) {
    in.unsupported("weights '" + file.name + "'", "scales along axis " + std::to_string(quant.axis), "along axis " + std::to_string(from));
    return {};
  }
  if (quant.axis >= 0) quant.axis = to;
  if (in.dtype(in.operand(0)) == DType::f32 && !is_8bit(in.tensor(0).dtype)) ++in.building().dynamic;
  return {in.dequantize(value, quant, "weights"), quant.scale};
}

// The bias as a real vector. Integers are in units of x_scale * w_scale, whatever scale the file gives them.
ValueId bias_of(OperatorReader& in, const Weights& weights, std::int64_t channels) {
  if (!in.has(2)) return {};
  const ValueId stored = in.stored(2);
  if (in.failed()) return {};
  if (in.shape(stored).elements() != channels) {
    in.fail("bias", "shape " + in.shape(stored).to_string(), std::to_string(channels) + " values");
    return {};
  }
  const ValueId vector = in.reshape(stored, {channels}, "bias_vector");
  if (in.dtype(stored) == DType::f32) return vector;
  const auto& x = in.tensor(0).quant;
  if (in.dtype(stored) != DType::s32 || weights.scale.empty() || !x || x->axis >= 0) {
    in.unsupported("bias", std::string(name_of(in.dtype(stored))), "f32, or s32 beside 8-bit inputs and weights");
    return {};
  }
  QuantParams quant{.axis = weights.scale.size() > 1 ? 0 : -1};
  for (float scale : weights.scale) quant.scale.push_back(x->scale[0] * scale);
  quant.zero_point.assign(quant.scale.size(), 0);
  return in.dequantize(vector, quant, "bias");
}

struct ConvOptions {
  int padding = 0;
  Pair stride, dilation;
  int activation = 0;
};

void add_conv(OperatorReader& in, ValueId x, const Weights& weights, std::int64_t groups, const ConvOptions& options) {
  if (in.failed()) return;
  const Shape& w = in.shape(weights.value);
  const Window window = read_window(in, in.shape(x), {w[1], w[2]}, {options.padding, options.stride, options.dilation});
  const ConvAttrs attrs{.window = window, .groups = groups, .layout = Layout::channels_last};
  const ValueId bias = bias_of(in, weights, w[0]);
  in.output(0, in.activation(in.add(kConv, attrs, {x, weights.value, bias}), options.activation));
}

}  // namespace

void read_conv(OperatorReader& in) {
  const auto& given = in.required_options<file::Conv2DOptions>();
  const ValueId x = in.operand(0), w = in.stored(1);
  in.require_rank("x", x, 4, 4);
  in.require_rank("weights", w, 4, 4);
  if (in.failed()) return;
  const std::int64_t channels = in.shape(x)[3], inner = in.shape(w)[3];
  if (inner == 0 || channels % inner != 0)
    return in.fail("weights", "shape " + in.shape(w).to_string(), "channels that divide " + std::to_string(channels));
  add_conv(in, x, weights_of(in, w, 0, 0), channels / inner,
           {given.padding(),
            {given.stride_h(), given.stride_w()},
            {given.dilation_h_factor(), given.dilation_w_factor()},
            given.fused_activation_function()});
}

void read_depthwise_conv(OperatorReader& in) {
  const auto& given = in.required_options<file::DepthwiseConv2DOptions>();
  const ValueId x = in.operand(0), w = in.stored(1);
  in.require_rank("x", x, 4, 4);
  in.require_rank("weights", w, 4, 4);
  if (in.failed()) return;
  if (in.shape(w)[0] != 1) return in.fail("weights", "shape " + in.shape(w).to_string(), "1xHxWxC");
  const ValueId filters = in.transpose(w, {3, 1, 2, 0}, "filters");
  add_conv(in, x, weights_of(in, filters, 3, 0), in.shape(x)[3],
           {given.padding(),
            {given.stride_h(), given.stride_w()},
            {given.dilation_h_factor(), given.dilation_w_factor()},
            given.fused_activation_function()});
}

void read_fully_connected(OperatorReader& in) {
  const auto& given = in.required_options<file::FullyConnectedOptions>();
  const ValueId x = in.operand(0), w = in.stored(1);
  if (given.weights_format() != 0) in.unsupported("weights format", std::to_string(given.weights_format()), "0");
  in.require_rank("weights", w, 2, 2);
  in.require_rank("x", x, 1, kMaxRank);
  if (in.failed()) return;
  const std::int64_t columns = in.shape(w)[0], inner = in.shape(w)[1], elements = in.shape(x).elements();
  const Shape& from = in.shape(x);
  const bool keeps_axes = given.keep_num_dims();
  if (inner == 0 || elements % inner != 0 || (keeps_axes && from[from.rank() - 1] != inner)) {
    return in.fail("x", "shape " + from.to_string(), "rows of " + std::to_string(inner));
  }
  std::vector<std::int64_t> dims = keeps_axes ? from.to_vector() : std::vector<std::int64_t>{elements / inner, columns};
  dims.back() = columns;
  const Weights weights = weights_of(in, in.transpose(w, {1, 0}, "matrix"), 0, 1);
  const ValueId bias = bias_of(in, weights, columns);
  ValueId y = in.add(kMatmul, NoAttrs{}, {in.reshape(x, {elements / inner, inner}, "rows"), weights.value}, bias.exists() ? "product" : "");
  if (bias.exists()) y = in.add(kBinary, BinaryAttrs{.kind = BinaryKind::add}, {y, bias});
  in.output(0, in.reshape(in.activation(y, given.fused_activation_function()), dims, "shaped"));
}

}  // namespace octavo::tflite_import
