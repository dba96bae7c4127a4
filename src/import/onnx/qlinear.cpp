// ONNX readers: QLinear* operators: dequantize -> operator -> quantize, with the types of the file. Part of import/.
#include "import/onnx/operators.h"
#include "import/onnx/parts.h"

namespace octavo::onnx_import {
namespace {

// A quantized tensor at inputs `first`, `first` + 1 and `first` + 2: data, scale, zero point.
struct Operand {
  ValueId data;
  Quantization quantization;
  DType type = DType::u8;
};

Operand read_operand(NodeReader& in, int first, std::string_view name) {
  const ValueId data = in.value(first);
  return {data, read_quantization(in, first + 1, first + 2, name), in.dtype(data)};
}

ValueId real(NodeReader& in, const Operand& operand, std::int64_t axis, std::string_view suffix) {
  return add_dequantize(in, operand.data, operand.quantization, axis, suffix);
}

void require_per_tensor(NodeReader& in, const Quantization& quantization, std::string_view name) {
  if (in.failed() || quantization.is_per_tensor) return;
  in.unsupported("scale of '" + std::string(name) + "'", "shape " + in.shape(quantization.scale).to_string(),
                 "one number");
}

// Unary operators: x and y take inputs 0 to 4.
struct OneInput {
  ValueId x;
  Quantization to;
  DType type = DType::u8;
};

OneInput read_one_input(NodeReader& in) {
  const Operand x = read_operand(in, 0, "x");
  const Quantization to = read_quantization(in, 3, 4, "y");
  require_per_tensor(in, x.quantization, "x");
  require_per_tensor(in, to, "y");
  return {real(in, x, -1, "x"), to, x.type};
}

void finish(NodeReader& in, const OneInput& read, ValueId y) {
  in.output(0, add_quantize(in, y, read.to, read.type, -1, ""));
}

// The s32 bias of a convolution or product: its scale is the product of theirs.
ValueId real_bias(NodeReader& in, ValueId bias, ValueId x_scale, ValueId w_scale, std::int64_t axis) {
  if (!bias.exists()) return bias;
  if (in.dtype(bias) != DType::s32) {
    in.fail("bias", "elements of type " + std::string(octavo::name_of(in.dtype(bias))), "s32");
    return {};
  }
  const ValueId scale = in.add(kBinary, BinaryAttrs{.kind = BinaryKind::mul}, {x_scale, w_scale}, "bias_scale");
  return add_dequantize(in, bias, {.scale = scale, .zero_point = {}, .is_per_tensor = in.rank(scale) == 0}, axis,
                        "bias");
}

Layout read_layout(NodeReader& in) {
  return in.attributes.flag("channels_last", false) ? Layout::channels_last : Layout::channels_first;
}

}  // namespace

void read_qlinear_conv(NodeReader& in) {
  const Operand x = read_operand(in, 0, "x"), w = read_operand(in, 3, "w");
  const Quantization to = read_quantization(in, 6, 7, "y");
  require_per_tensor(in, x.quantization, "x");
  require_per_tensor(in, to, "y");
  const ValueId bias = real_bias(in, in.optional(8), x.quantization.scale, w.quantization.scale, 0);
  const ValueId real_x = real(in, x, -1, "x"), real_w = real(in, w, 0, "w");
  const ValueId y = add_conv(in, real_x, real_w, bias, "conv");
  in.output(0, add_quantize(in, y, to, x.type, -1, ""));
}

void read_qlinear_matmul(NodeReader& in) {
  const Operand a = read_operand(in, 0, "a"), b = read_operand(in, 3, "b");
  const Quantization to = read_quantization(in, 6, 7, "y");
  if (in.failed()) return;
  // Scales that are not one number: per row of a and y, per column of b.
  const ValueId y = in.add(kMatmul, NoAttrs{},
                           {real(in, a, in.rank(a.data) - 2, "a"), real(in, b, in.rank(b.data) - 1, "b")}, "matmul");
  in.output(0, add_quantize(in, in.cast(y, DType::f32, "wide"), to, a.type, in.rank(y) - 2, ""));
}

void read_qgemm(NodeReader& in) {
  const Operand a = read_operand(in, 0, "a"), b = read_operand(in, 3, "b");
  require_per_tensor(in, a.quantization, "a");
  const ValueId c = in.optional(6);
  const bool transposes_b = in.attributes.flag("transB", false);
  if (in.failed()) return;
  const bool has_quantized_result = in.has(7);
  const bool is_plain = !has_quantized_result && !c.exists();
  const ValueId real_a = real(in, a, -1, "a"), real_b = real(in, b, transposes_b ? 0 : 1, "b");
  ValueId y = add_gemm_product(in, real_a, real_b, is_plain ? "" : "matmul");
  if (c.exists()) {
    const float alpha = in.attributes.number("alpha", 1.0f);
    ValueId a_scale = a.quantization.scale;
    if (alpha != 1.0f)
      a_scale = in.add(kBinary, BinaryAttrs{.kind = BinaryKind::mul},
                       {a_scale, in.scalar_like(a_scale, alpha, "alpha")}, "a_factor");
    const ValueId bias = real_bias(in, c, a_scale, b.quantization.scale, in.rank(c) - 1);
    y = in.add(kBinary, BinaryAttrs{.kind = BinaryKind::add}, {y, bias}, has_quantized_result ? "sum" : "");
  }
  if (!has_quantized_result) return in.output(0, y);
  const Quantization to = read_quantization(in, 7, 8, "y");
  require_per_tensor(in, to, "y");
  in.output(0, add_quantize(in, y, to, a.type, -1, ""));
}

void read_qlinear_binary(NodeReader& in) {
  const Operand a = read_operand(in, 0, "a"), b = read_operand(in, 3, "b");
  const Quantization to = read_quantization(in, 6, 7, "y");
  require_per_tensor(in, a.quantization, "a");
  require_per_tensor(in, b.quantization, "b");
  require_per_tensor(in, to, "y");
  const bool adds = in.op() == "QLinearAdd";
  const BinaryAttrs attrs{.kind = adds ? BinaryKind::add : BinaryKind::mul};
  const ValueId y = in.add(kBinary, attrs, {real(in, a, -1, "a"), real(in, b, -1, "b")}, adds ? "add" : "mul");
  in.output(0, add_quantize(in, y, to, a.type, -1, ""));
}

void read_qlinear_unary(NodeReader& in) {
  const OneInput read = read_one_input(in);
  const bool is_sigmoid = in.op() == "QLinearSigmoid";
  UnaryAttrs attrs{.kind = is_sigmoid ? UnaryKind::sigmoid : UnaryKind::leaky_relu};
  if (!is_sigmoid) attrs.alpha = in.attributes.number("alpha", 0.01f);
  finish(in, read, in.add(kUnary, attrs, {read.x}, is_sigmoid ? "sigmoid" : "leaky_relu"));
}

void read_qlinear_average_pool(NodeReader& in) {
  const OneInput read = read_one_input(in);
  finish(in, read, add_average_pool(in, read.x, read_layout(in), "average_pool"));
}

void read_qlinear_global_average_pool(NodeReader& in) {
  const OneInput read = read_one_input(in);
  finish(in, read, add_global_pool(in, ReduceKind::mean, read_layout(in), read.x, "mean"));
}

void read_qlinear_softmax(NodeReader& in) {
  const OneInput read = read_one_input(in);
  const std::int64_t opset = in.attributes.integer("opset", 13);
  const SoftmaxExtent extent = opset < 13 ? SoftmaxExtent::all_from_axis : SoftmaxExtent::one_axis;
  finish(in, read, add_softmax(in, SoftmaxKind::softmax, extent, read.x, in.attributes.integer("axis", -1), "softmax"));
}

void read_qlinear_concat(NodeReader& in) {
  const Quantization to = read_quantization(in, 0, 1, "y");
  require_per_tensor(in, to, "y");
  if ((in.input_count() - 2) % 3 != 0)
    return in.fail("", std::to_string(in.input_count()) + " inputs", "two and three per tensor");
  std::vector<ValueId> xs;
  DType type = DType::u8;
  for (int i = 2; i < in.input_count(); i += 3) {
    const std::string name = "x" + std::to_string((i - 2) / 3);
    const Operand x = read_operand(in, i, name);
    require_per_tensor(in, x.quantization, name);
    xs.push_back(real(in, x, -1, name));
    if (i == 2) type = x.type;
  }
  if (in.failed()) return;
  const std::int64_t axis = in.axis("attribute 'axis'", in.attributes.integer("axis", 1), in.rank(xs.front()));
  in.output(0, add_quantize(in, in.add(kConcat, ConcatAttrs{.axis = axis}, xs, "concat"), to, type, -1, ""));
}

}  // namespace octavo::onnx_import
