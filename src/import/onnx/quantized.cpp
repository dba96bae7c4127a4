// ONNX readers: QuantizeLinear, DequantizeLinear, and QLinear* operators: dequantize -> operator -> quantize, with the
// types of the file. Part of import/.

#include "base/fields.h"
#include "import/onnx/operators.h"
#include "ops/dynamic_quantize/dynamic_quantize.h"
#include "ops/matmul_integer/matmul_integer.h"
#include "ops/where/where.h"

namespace octavo::onnx_import {
namespace {

// ---- scales and zero points ----

// Scales known at compile time are finite and positive; zero and NaN would poison every formula.
void check_scale(NodeReader& in, ValueId scale, const std::string& what) {
  if (!is_float(in.dtype(scale))) {
    in.fail(what, "elements of type " + std::string(octavo::name_of(in.dtype(scale))), "floats");
  } else if (in.is_constant(scale)) {
    for (const float value : to_floats(in.fact(scale).constant->view())) {
      if (!is_scale(value) && !in.failed()) in.fail(what, "the scale " + print(value), "a finite number above 0");
    }
  }
}

// Those at two inputs, checked; `axis` is where they lie, if they are not one for all. The zero point may be left out.
Scales read_quantized_scales(NodeReader& in, int scale, int zero_point, const std::string& name,
                             std::int64_t axis = -1) {
  const std::string what = "input " + std::to_string(scale) + " (scale of '" + name + "')";
  const std::string zero_what = "input " + std::to_string(zero_point) + " (zero point of '" + name + "')";
  const ValueId given = in.value(scale), zero = in.optional(zero_point);
  if (in.failed()) return {};
  check_scale(in, given, what);
  if (zero.exists() && !is_integer(in.dtype(zero)))
    in.fail(zero_what, "elements of type " + std::string(octavo::name_of(in.dtype(zero))), "integers");
  if (zero.exists() && in.shape(zero).elements() != in.shape(given).elements())
    in.fail(zero_what, "shape " + in.shape(zero).to_string(), "that of the scale, " + in.shape(given).to_string());
  if (in.failed()) return {};
  const bool is_single = in.shape(given).elements() == 1;
  return {scalar_if_single(in, given, name + "_scale"), scalar_if_single(in, zero, name + "_zero_point"),
          is_single ? -1 : axis};
}

Scales read_single_scale(NodeReader& in, int scale, int zero_point, const std::string& name) {
  const Scales scales = read_quantized_scales(in, scale, zero_point, name);
  if (!in.failed() && in.shape(scales.scale).elements() != 1)
    in.unsupported("scale of '" + name + "'", "shape " + in.shape(scales.scale).to_string(), "one number");
  return scales;
}

// Where the scales of x lie. Nothing to know of a single scale, whose axis may be out of range.
void read_placement(NodeReader& in, ValueId x, Scales& scales) {
  const Number axis = in.integer("axis", 1);
  const std::int64_t block = in.opset() >= 21 ? std::int64_t{in.integer("block_size", 0)} : 0;
  if (in.failed() || (in.shape(scales.scale).elements() == 1 && block == 0)) return;
  if (block < 0) in.fail("attribute 'block_size'", std::to_string(block), "at least 0");
  scales.axis = in.axis(axis, in.rank(x));
  scales.block = block;
}

DType zero_type(NodeReader& in, const Scales& scales, DType fallback) {
  return scales.zero_point.exists() ? in.dtype(scales.zero_point) : fallback;
}

// ---- operators of their own ----

ValueId read_dequantize(NodeReader& in) {
  const ValueId x = in.value(0);
  Scales from = read_quantized_scales(in, 1, 2, "x");
  read_placement(in, x, from);
  const DType own = in.dtype(from.scale);
  const DType to = in.opset() >= 23 ? in.element_type("output_dtype", own).value_or(own) : own;
  if (in.failed()) return {};
  // The product of an integer of 16 bits and a 16-bit float is exact in f32, so that rounding it afterwards is all that
  // the file asks for.
  from.scale = in.cast(from.scale, DType::f32, "scale");
  return in.rounded(dequantize(in, x, from), to);
}

ValueId read_quantize(NodeReader& in) {
  const ValueId x = in.value(0);
  Scales to = read_quantized_scales(in, 1, 2, "y");
  read_placement(in, x, to);
  in.ignore("saturate");  // only concerns 8-bit floats
  const DType own = zero_type(in, to, DType::u8), own_precision = in.dtype(to.scale);
  const DType type = in.opset() >= 21 ? in.element_type("output_dtype", own).value_or(own) : own;
  const DType precision =
      in.opset() >= 23 ? in.element_type("precision", own_precision).value_or(own_precision) : own_precision;
  if (in.failed()) return {};
  if (to.zero_point.exists() && type != own)
    return in.fail("attribute 'output_dtype'", std::string(octavo::name_of(type)),
                   std::string(octavo::name_of(own)) + ", the type of the zero point");
  if (precision != DType::f32 && precision != DType::f16)
    return in.unsupported("division", "in type " + std::string(octavo::name_of(precision)), "in f32 or f16");
  to.scale = in.cast(to.scale, precision, "scale");
  return quantize(in, in.dtype(x) == DType::bf16 ? in.cast(x, DType::f32, "x") : x, to, type);
}

ValueId read_dynamic_quantize(NodeReader& in) {
  const ValueId x = in.value(0);
  const auto outputs = in.add_exactly(kDynamicQuantize, NoAttrs{}, {x});
  for (int i = 1; i < 3; ++i) in.output(i, outputs[static_cast<std::size_t>(i)]);
  if (!in.failed() && !in.is_constant(x)) ++in.built().activation_types[DType::u8];
  return outputs[0];
}

// ---- products of integers in f32 ----

// f32(sum of (a - a_zero) * (b - b_zero)) * (a_scale * b_scale) + bias, if any; b is input 1.
ValueId real_product(NodeReader& in, ValueId a, const Scales& a_scales, const Scales& b_scales, ValueId bias,
                     std::string_view suffix = {}) {
  if (in.failed()) return {};
  const ValueId sum =
      in.add(kMatmulInteger, NoAttrs{}, {a, in.value(1), a_scales.zero_point, b_scales.zero_point}, "matmul");
  const ValueId scale = in.binary(BinaryKind::mul, a_scales.scale, b_scales.scale, "scale");
  const ValueId real = in.cast(sum, DType::f32, "wide");
  const ValueId y = in.binary(BinaryKind::mul, real, scale, bias.exists() ? "scaled" : suffix);
  return bias.exists() ? in.binary(BinaryKind::add, y, bias, suffix) : y;
}

ValueId read_matmul_integer_to_float(NodeReader& in) {
  return product_of_integers(in, {.bias = 6, .a_scale = 2, .b_scale = 3, .a_zero_point = 4, .b_zero_point = 5}, "");
}

ValueId read_dynamic_quantize_matmul(NodeReader& in) {
  const Scales b_scales = read_quantized_scales(in, 2, 3, "b");
  const auto a = in.add_exactly(kDynamicQuantize, NoAttrs{}, {in.value(0)}, "a");
  if (in.failed()) return {};
  ++in.built().activation_types[DType::u8];
  return real_product(in, a[0], {a[1], a[2]}, b_scales, in.optional(4));
}

// ---- QLinear* ----

// A quantized tensor at inputs `first`, `first` + 1 and `first` + 2: data, scale, zero point.
struct QuantizedOperand {
  ValueId data;
  Scales scales;
};

QuantizedOperand read_operand(NodeReader& in, int first, const std::string& name) {
  const ValueId data = in.value(first);
  return {data, read_single_scale(in, first + 1, first + 2, name)};
}

ValueId read_real(NodeReader& in, int first, const std::string& name) {
  const QuantizedOperand operand = read_operand(in, first, name);
  return dequantize(in, operand.data, operand.scales, name);
}

// The result in the type of its zero point, or of input `like` where that is left out.
ValueId quantized(NodeReader& in, ValueId y, const Scales& to, int like) {
  return quantize(in, y, to, zero_type(in, to, in.dtype(in.value(like))));
}

// The s32 bias of a convolution or product: its scale is the product of theirs.
ValueId real_bias(NodeReader& in, ValueId bias, ValueId x_scale, ValueId w_scale, std::int64_t axis) {
  if (!bias.exists()) return bias;
  if (in.dtype(bias) != DType::s32)
    return in.fail("bias", "elements of type " + std::string(octavo::name_of(in.dtype(bias))), "s32");
  const ValueId scale = in.binary(BinaryKind::mul, x_scale, w_scale, "bias_scale");
  return dequantize(in, bias, {.scale = scale, .zero_point = {}, .axis = in.rank(scale) == 0 ? -1 : axis}, "bias");
}

Layout read_layout(NodeReader& in) { return in.flag("channels_last") ? Layout::channels_last : Layout::channels_first; }

// Weights come channels first, whatever x has.
ValueId channels_moved_last(NodeReader& in, ValueId w, std::string_view suffix) {
  if (in.failed()) return {};
  Integers perm{0};
  for (int i = 2; i < in.rank(w); ++i) perm.push_back(i);
  perm.push_back(1);
  in.require_rank(w, 3, kMaxRank);
  return in.failed() ? ValueId{} : transpose(in, w, perm, suffix);
}

ValueId read_qlinear_conv(NodeReader& in) {
  const QuantizedOperand x = read_operand(in, 0, "x");
  const ValueId w = in.value(3);
  const Scales w_scales = read_quantized_scales(in, 4, 5, "w", 0), to = read_single_scale(in, 6, 7, "y");
  const ValueId bias = real_bias(in, in.optional(8), x.scales.scale, w_scales.scale, 0);
  const ValueId real_x = in.placed(dequantize(in, x.data, x.scales, "x"), "input 'x'");
  const Layout layout = in.is_microsoft() ? read_layout(in) : Layout::channels_first;
  const ValueId stored = layout == Layout::channels_last ? channels_moved_last(in, w, "w.channels_last") : w;
  const ValueId real_w = in.placed(dequantize(in, stored, w_scales, "w"), "input 'w'");
  ConvArgs args = read_conv_args(in, real_x, real_w, bias);
  args.layout = layout;
  return quantized(in, conv(in, args, "conv"), to, 0);
}

ValueId read_qlinear_matmul(NodeReader& in) {
  // Scales that are not one number: per row of a and y, per column of b.
  const ValueId a = in.value(0), b = in.value(3);
  const Scales a_scales = read_quantized_scales(in, 1, 2, "a", in.rank(a) - 2);
  const Scales b_scales = read_quantized_scales(in, 4, 5, "b", in.rank(b) - 1);
  Scales to = read_quantized_scales(in, 6, 7, "y", 0);
  const ValueId real_a = dequantize(in, a, a_scales, "a");
  const ValueId y = in.cast(matmul(in, real_a, dequantize(in, b, b_scales, "b"), {}, "matmul"), DType::f32, "wide");
  if (to.axis == 0) to.axis = in.rank(y) - 2;
  return quantized(in, y, to, 0);
}

ValueId read_qgemm(NodeReader& in) {
  const QuantizedOperand a = read_operand(in, 0, "a");
  const ValueId b = in.value(3), c = in.optional(6);
  const Scales b_scales = read_quantized_scales(in, 4, 5, "b", in.flag("transB") ? 0 : 1);
  const bool has_quantized_result = in.has(7);
  const ValueId real_a = dequantize(in, a.data, a.scales, "a"), real_b = dequantize(in, b, b_scales, "b");
  ValueId y = gemm_product(in, real_a, real_b, has_quantized_result || c.exists() ? "matmul" : "");
  if (c.exists()) {
    const ValueId a_scale = scaled(in, a.scales.scale, in.number("alpha", 1.0f), "a_factor");
    const ValueId bias = real_bias(in, c, a_scale, b_scales.scale, in.rank(c) - 1);
    y = in.binary(BinaryKind::add, y, bias, has_quantized_result ? "sum" : "");
  }
  return has_quantized_result ? quantized(in, y, read_single_scale(in, 7, 8, "y"), 0) : y;
}

template <BinaryKind kind>
ValueId read_qlinear_binary(NodeReader& in) {
  const QuantizedOperand a = read_operand(in, 0, "a"), b = read_operand(in, 3, "b");
  const Scales to = read_single_scale(in, 6, 7, "y");
  const ValueId real_a = dequantize(in, a.data, a.scales, "a"), real_b = dequantize(in, b.data, b.scales, "b");
  return quantized(in, in.binary(kind, real_a, real_b, kind == BinaryKind::add ? "add" : "mul"), to, 0);
}

// Operators of one tensor, with scale and zero point of the result at inputs 3 and 4.
template <class Make>
ValueId one_input(NodeReader& in, Make make) {
  const QuantizedOperand x = read_operand(in, 0, "x");
  const Scales to = read_single_scale(in, 3, 4, "y");
  return quantized(in, make(in.placed(dequantize(in, x.data, x.scales, "x"), "input 'x'")), to, 0);
}

ValueId read_qlinear_sigmoid(NodeReader& in) {
  return one_input(in, [&](ValueId x) { return in.unary({.kind = UnaryKind::sigmoid}, x, "sigmoid"); });
}

ValueId read_qlinear_leaky_relu(NodeReader& in) {
  const UnaryAttrs attrs{.kind = UnaryKind::leaky_relu, .alpha = in.number("alpha", 0.01f)};
  return one_input(in, [&](ValueId x) { return in.unary(attrs, x, "leaky_relu"); });
}

ValueId read_qlinear_average_pool(NodeReader& in) {
  return one_input(in,
                   [&](ValueId x) { return average_pool(in, read_pool_args(in, x, read_layout(in)), "average_pool"); });
}

ValueId read_qlinear_global_average_pool(NodeReader& in) {
  return one_input(in, [&](ValueId x) { return global_pool(in, x, ReduceKind::mean, read_layout(in), "mean"); });
}

ValueId read_qlinear_softmax(NodeReader& in) {
  const bool is_new = in.integer("opset", 13) >= 13;
  return one_input(in, [&](ValueId x) {
    return softmax_of(in, x, is_new, in.integer("axis", -1), SoftmaxKind::softmax, "softmax");
  });
}

ValueId read_qlinear_concat(NodeReader& in) {
  const Scales to = read_single_scale(in, 0, 1, "y");
  if ((in.input_count() - 2) % 3 != 0)
    return in.fail("", std::to_string(in.input_count()) + " inputs", "two and three per tensor");
  std::vector<ValueId> xs;
  for (int i = 2; i < in.input_count(); i += 3) xs.push_back(read_real(in, i, "x" + std::to_string((i - 2) / 3)));
  return quantized(in, concat(in, xs, in.integer("axis", 1), "concat"), to, 2);
}

ValueId read_qlinear_where(NodeReader& in) {
  const ValueId condition = in.value(0), x = read_real(in, 1, "x"), y = read_real(in, 4, "y");
  return quantized(in, in.add(kWhere, NoAttrs{}, {condition, x, y}, "where"), read_single_scale(in, 7, 8, "z"), 1);
}

constexpr Operator kQuantizedTable[] = {
    {"DequantizeLinear", 10, 2, 3, read_dequantize},
    {"DynamicQuantizeLinear", 11, 1, 1, read_dynamic_quantize},
    {"QLinearConv", 10, 8, 9, read_qlinear_conv},
    {"QLinearMatMul", 10, 8, 8, read_qlinear_matmul},
    {"QuantizeLinear", 10, 2, 3, read_quantize},
    {"com.microsoft.DequantizeLinear", 1, 2, 3, read_dequantize},
    {"com.microsoft.DynamicQuantizeMatMul", 1, 3, 5, read_dynamic_quantize_matmul},
    {"com.microsoft.MatMulIntegerToFloat", 1, 4, 7, read_matmul_integer_to_float},
    {"com.microsoft.QGemm", 1, 6, 9, read_qgemm},
    {"com.microsoft.QLinearAdd", 1, 7, 8, read_qlinear_binary<BinaryKind::add>},
    {"com.microsoft.QLinearAveragePool", 1, 4, 5, read_qlinear_average_pool},
    {"com.microsoft.QLinearConcat", 1, 5, kAnyNumber, read_qlinear_concat},
    {"com.microsoft.QLinearGlobalAveragePool", 1, 4, 5, read_qlinear_global_average_pool},
    {"com.microsoft.QLinearConv", 1, 8, 9, read_qlinear_conv},
    {"com.microsoft.QLinearLeakyRelu", 1, 4, 5, read_qlinear_leaky_relu},
    {"com.microsoft.QLinearMul", 1, 7, 8, read_qlinear_binary<BinaryKind::mul>},
    {"com.microsoft.QLinearSigmoid", 1, 4, 5, read_qlinear_sigmoid},
    {"com.microsoft.QLinearSoftmax", 1, 5, 5, read_qlinear_softmax},
    {"com.microsoft.QLinearWhere", 1, 8, 9, read_qlinear_where},
    {"com.microsoft.QuantizeLinear", 1, 2, 3, read_quantize},
};

}  // namespace

const std::span<const Operator> kQuantized = kQuantizedTable;

ValueId dequantized_input(NodeReader& in, int index, int scale, int zero_point, const std::string& name) {
  const Scales scales = read_single_scale(in, scale, zero_point, name);
  return dequantize(in, in.value(index), scales, name);
}

ValueId product_of_integers(NodeReader& in, const IntegerInputs& at, std::string_view suffix) {
  const Scales a_scales = read_single_scale(in, at.a_scale, at.a_zero_point, "a");
  const Scales b_scales = read_quantized_scales(in, at.b_scale, at.b_zero_point, "b");
  return real_product(in, in.value(0), a_scales, b_scales, in.optional(at.bias), suffix);
}

ValueId scalar_if_single(NodeReader& in, ValueId x, std::string_view suffix) {
  return x.exists() && in.shape(x).elements() == 1 ? in.reshape(x, {}, suffix) : x;
}

}  // namespace octavo::onnx_import
