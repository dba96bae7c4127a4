// ONNX readers: QuantizeLinear, DequantizeLinear, and the parameters of every quantized operator. Part of import/.
#include <cmath>

#include "base/fields.h"
#include "import/onnx/operators.h"
#include "import/onnx/parts.h"
#include "import/onnx/types.h"

namespace octavo::onnx_import {
namespace {

// Scales known at compile time are finite and positive; zero and NaN would poison every formula.
void check_scale(NodeReader& in, ValueId scale, const std::string& what) {
  if (!is_float(in.dtype(scale)))
    return in.fail(what, "elements of type " + std::string(octavo::name_of(in.dtype(scale))), "floats");
  if (!in.fact(scale).is_constant()) return;
  for (float value : to_floats(in.fact(scale).constant->view())) {
    if (!std::isfinite(value) || value <= 0.0f)
      return in.fail(what, "the scale " + print(value), "a finite number above 0");
  }
}

// An attribute that holds an element type; `fallback` where absent or 0.
DType read_type(NodeReader& in, std::string_view name, DType fallback) {
  const auto type = static_cast<int>(in.attributes.integer(name, 0));
  if (type == 0) return fallback;
  const auto known = dtype_of_onnx(type);
  if (!known)
    in.unsupported("attribute '" + std::string(name) + "'", onnx_type_name(type), "a type of 8, 16 or 32 bits");
  return known.value_or(fallback);
}

// The dialect's name tells what most activations are.
void count_activation(NodeReader& in, ValueId x, DType type) {
  if (!in.failed() && !in.fact(x).is_constant()) ++in.building().activation_types[type];
}

// Where the scales lie. Nothing to know of a single scale, whose axis may be out of range.
struct Placement {
  std::int64_t axis = -1;
  std::int64_t block = 0;
};

Placement read_placement(NodeReader& in, ValueId x, const Quantization& quantization) {
  const std::int64_t axis = in.attributes.integer("axis", 1);
  const std::int64_t block = in.opset() >= 21 ? in.attributes.integer("block_size", 0) : 0;
  if (in.failed() || (quantization.is_per_tensor && block == 0)) return {};
  if (block < 0) in.fail("attribute 'block_size'", std::to_string(block), "at least 0");
  return {in.axis("attribute 'axis'", axis, in.rank(x)), block};
}

}  // namespace

ValueId scalar_if_single(NodeReader& in, ValueId x, std::string_view suffix) {
  if (!x.exists() || in.shape(x).elements() != 1) return x;
  return in.reshape(x, {}, suffix);
}

Quantization read_quantization(NodeReader& in, int scale, int zero_point, std::string_view name) {
  const std::string what = "input " + std::to_string(scale) + " (scale of '" + std::string(name) + "')";
  const ValueId given = in.value(scale), given_zero = in.optional(zero_point);
  if (in.failed()) return {};
  check_scale(in, given, what);
  const std::string zero_what = "input " + std::to_string(zero_point) + " (zero point of '" + std::string(name) + "')";
  if (given_zero.exists() && !is_integer(in.dtype(given_zero))) {
    in.fail(zero_what, "elements of type " + std::string(octavo::name_of(in.dtype(given_zero))), "integers");
  }
  if (given_zero.exists() && in.shape(given_zero).elements() != in.shape(given).elements()) {
    in.fail(zero_what, "shape " + in.shape(given_zero).to_string(),
            "that of the scale, " + in.shape(given).to_string());
  }
  if (in.failed()) return {};
  const bool is_per_tensor = in.shape(given).elements() == 1;
  const std::string suffix(name);
  return {scalar_if_single(in, given, suffix + "_scale"), scalar_if_single(in, given_zero, suffix + "_zero_point"),
          is_per_tensor};
}

ValueId add_dequantize(NodeReader& in, ValueId x, const Quantization& from, std::int64_t axis,
                       std::string_view suffix) {
  const DequantizeAttrs attrs{.to = DType::f32, .axis = from.is_per_tensor ? -1 : axis};
  return in.add(kDequantize, attrs, {x, from.scale, from.zero_point}, suffix);
}

ValueId add_quantize(NodeReader& in, ValueId x, const Quantization& to, DType type, std::int64_t axis,
                     std::string_view suffix) {
  const DType into = to.zero_point.exists() ? in.dtype(to.zero_point) : type;
  count_activation(in, x, into);
  const QuantizeAttrs attrs{.to = into, .axis = to.is_per_tensor ? -1 : axis, .profile = Profile::onnx};
  return in.add_exactly(kQuantize, attrs, {x, to.scale, to.zero_point}, suffix).front();
}

void read_dequantize(NodeReader& in) {
  const ValueId x = in.value(0);
  const Quantization from = read_quantization(in, 1, 2, "x");
  const Placement placement = read_placement(in, x, from);
  const DType to = in.opset() >= 23 ? read_type(in, "output_dtype", in.dtype(from.scale)) : in.dtype(from.scale);
  if (in.failed()) return;
  // The product of an integer of 16 bits and a 16-bit float is exact in f32, so that rounding it afterwards is all that
  // the file asks for.
  const DequantizeAttrs attrs{.to = DType::f32, .axis = placement.axis, .block = placement.block};
  const ValueId y =
      in.add_exactly(kDequantize, attrs, {x, in.cast(from.scale, DType::f32, "scale"), from.zero_point}).front();
  in.output(0, in.rounded(y, to));
}

void read_quantize(NodeReader& in) {
  const ValueId x = in.value(0);
  Quantization to = read_quantization(in, 1, 2, "y");
  const Placement placement = read_placement(in, x, to);
  in.attributes.ignore("saturate");  // only concerns 8-bit floats
  const DType zero_type = to.zero_point.exists() ? in.dtype(to.zero_point) : DType::u8;
  const DType type = in.opset() >= 21 ? read_type(in, "output_dtype", zero_type) : zero_type;
  const DType precision = in.opset() >= 23 ? read_type(in, "precision", in.dtype(to.scale)) : in.dtype(to.scale);
  if (in.failed()) return;
  if (to.zero_point.exists() && type != zero_type) {
    return in.fail("attribute 'output_dtype'", std::string(octavo::name_of(type)),
                   std::string(octavo::name_of(zero_type)) + ", the type of the zero point");
  }
  if (precision != DType::f32 && precision != DType::f16) {
    return in.unsupported("division", "in type " + std::string(octavo::name_of(precision)), "in f32 or f16");
  }
  to.scale = in.cast(to.scale, precision, "scale");
  const ValueId real = in.dtype(x) == DType::bf16 ? in.cast(x, DType::f32, "x") : x;
  const QuantizeAttrs attrs{.to = type, .axis = placement.axis, .block = placement.block, .profile = Profile::onnx};
  count_activation(in, x, type);
  in.output(0, in.add_exactly(kQuantize, attrs, {real, to.scale, to.zero_point}).front());
}

void read_dynamic_quantize(NodeReader& in) {
  const ValueId x = in.value(0);
  const auto outputs = in.add_exactly(kDynamicQuantize, NoAttrs{}, {x});
  for (int i = 0; i < 3; ++i) in.output(i, outputs[static_cast<std::size_t>(i)]);
  count_activation(in, x, DType::u8);
}

}  // namespace octavo::onnx_import
