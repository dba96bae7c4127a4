// ATen readers: functions of one or two elements, changes of the element type, sizes, and operators that change nothing
// in inference. Part of import/.
#include <algorithm>

#include "import/pt2/operators.h"
#include "import/rare_verbs.h"
#include "ops/where/where.h"

namespace octavo::pt2_import {
namespace {

using B = BinaryKind;
using U = UnaryKind;

// ---- one element ----

template <U kind>
ValueId read_unary(NodeReader& in) {
  return in.unary({.kind = kind}, in.value("self"));
}

ValueId read_is_inf(NodeReader& in) {
  return in.unary({.kind = U::is_inf, .alpha = 1.0f, .beta = 1.0f}, in.value("self"));
}

ValueId read_bitwise_not(NodeReader& in) {
  const ValueId x = in.value("self");
  return in.unary({.kind = in.dtype(x) == DType::boolean ? U::logical_not : U::bitwise_not}, x);
}

ValueId read_elu(NodeReader& in) {
  if (in.number("scale", 1.0) != 1.0 || in.number("input_scale", 1.0) != 1.0)
    in.unsupported("argument 'scale'", "an ELU with scales", "scales of 1");
  return in.unary({.kind = U::elu, .alpha = in.real("alpha", 1.0f)}, in.value("self"));
}

ValueId read_gelu(NodeReader& in) {
  return gelu(in, in.value("self"), in.text("approximate", "none"), "argument 'approximate'");
}

ValueId read_hard_sigmoid(NodeReader& in) {
  return in.unary({.kind = U::hard_sigmoid, .alpha = 1.0f / 6.0f, .beta = 0.5f}, in.value("self"));
}

ValueId read_leaky_relu(NodeReader& in) {
  return in.unary({.kind = U::leaky_relu, .alpha = in.real("negative_slope", 0.01f)}, in.value("self"));
}

ValueId read_selu(NodeReader& in) {
  return in.unary({.kind = U::selu, .alpha = 1.67326319217681884765625f, .beta = 1.05070102214813232421875f},
                  in.value("self"));
}

ValueId read_softplus(NodeReader& in) {
  if (in.number("beta", 1.0) != 1.0) in.unsupported("argument 'beta'", "a number other than 1", "1");
  in.ignore("threshold");  // where the function is its argument to f32 precision
  return in.unary({.kind = U::softplus}, in.value("self"));
}

ValueId read_rsqrt(NodeReader& in) {
  return in.unary({.kind = U::reciprocal}, in.unary({.kind = U::sqrt}, in.value("self"), "root"));
}

ValueId read_clamp(NodeReader& in) {
  return clip(in, in.value("self"), in.real("min", -kUnbounded), in.real("max", kUnbounded));
}

// Between tensors, of which one may be left out.
ValueId read_clamp_tensor(NodeReader& in) {
  ValueId x = in.value("self");
  for (const auto& [name, kind] : {std::pair{"min", B::max}, std::pair{"max", B::min}}) {
    if (!in.has(name)) continue;
    const ValueId bound = in.value(name);
    if (in.failed()) return {};
    if (in.dtype(bound) != in.dtype(x))
      return in.unsupported(in.place_of(bound), std::string(octavo::name_of(in.dtype(bound))), "the type of 'self'");
    x = in.binary(kind, x, bound, name);
  }
  return x;
}

ValueId read_hardtanh(NodeReader& in) {
  return clip(in, in.value("self"), in.real("min_val", -1.0f), in.real("max_val", 1.0f));
}

ValueId read_relu6(NodeReader& in) { return clip(in, in.value("self"), 0.0f, 6.0f); }

// ---- two elements ----

// The type that both integers fit; a float and an integer meet in the float.
DType common_type(DType a, DType b) {
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  if (size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? a : b;
  return a == b || is_float(a) ? a : DType::s16;  // u8 and s8
}

// A scalar tensor of another type does not widen the result: it takes part in the other operand's type.
ValueId in_type_of(NodeReader& in, ValueId scalar, ValueId other, std::string_view suffix) {
  const bool is_scalar = scalar.exists() && in.rank(scalar) == 0 && in.rank(other) > 0;
  const bool keeps_kind = is_float(in.dtype(other)) || is_integer(in.dtype(scalar));
  return is_scalar && keeps_kind ? in.cast(scalar, in.dtype(other), suffix) : scalar;
}

// A tensor beside a number that its type has no place for: integers beside a fraction, truths beside an integer.
ValueId beside(NodeReader& in, ValueId x, std::string_view number) {
  if (in.failed()) return {};
  if (in.is_real(number) && !is_float(in.dtype(x))) return in.cast(x, DType::f32, "real");
  return in.is_whole(number) && in.dtype(x) == DType::boolean ? in.cast(x, DType::s64, "whole") : x;
}

enum class Order { as_written, reversed };

template <B kind, Order order = Order::as_written>
ValueId read_binary(NodeReader& in) {
  const std::string_view second = kind == B::pow ? "exponent" : "other";
  // Either may be a number, the first one in programs that wrote "1 - x".
  const bool is_number_first = !in.is_tensor("self") && in.is_tensor(second);
  ValueId a = is_number_first ? ValueId{} : beside(in, in.value("self"), second);
  ValueId b = is_number_first ? beside(in, in.value(second), "self") : in.value_or_number(second, a);
  if (is_number_first) a = in.value_or_number("self", b);
  const double alpha = in.number("alpha", 1.0);
  if (in.failed()) return {};
  a = in_type_of(in, a, b, "self");
  b = in_type_of(in, b, a, "other");
  DType common = common_type(in.dtype(a), in.dtype(b));
  if (kind == B::div && !is_float(common)) common = DType::f32;  // of integers, too
  a = in.cast(a, common, "self");
  b = in.cast(b, common, "other");
  if (kind == B::mul) {
    if (const auto real = dequantize_of_product(in, a, b)) return *real;
    if (const auto product = product_of_scaled_sums(in, a, b)) return *product;
  }
  ValueId& scaled_operand = order == Order::reversed ? a : b;
  if (order == Order::reversed) std::swap(a, b);
  scaled_operand = scaled(in, scaled_operand, alpha, "scaled");
  return in.binary(kind, a, b);
}

ValueId read_atan2(NodeReader& in) {
  const ValueId y = in.value("self"), x = in.value("other");
  if (!in.failed() && (!is_float(in.dtype(y)) || in.dtype(x) != in.dtype(y)))
    return in.unsupported("argument 'other'", type_text(in.fact(x)), "floats of one type");
  return angle(in, y, x);
}

// A quotient of floats, rounded down.
ValueId read_floor_div(NodeReader& in) {
  const ValueId x = in.value("self");
  const std::string mode = in.text("rounding_mode", "");
  if (mode != "" && mode != "floor")
    return in.unsupported("argument 'rounding_mode'", "'" + mode + "'", "'floor', or none");
  if (mode == "floor" && !in.failed() && !is_float(in.dtype(x)))
    return in.unsupported("argument 'self'", std::string(octavo::name_of(in.dtype(x))), "floats, to round down");
  const ValueId quotient = read_binary<B::div>(in);
  return mode == "floor" ? in.unary({.kind = U::floor}, quotient, "floor") : quotient;
}

ValueId read_not_equal(NodeReader& in) { return in.unary({.kind = U::logical_not}, read_binary<B::equal>(in)); }

// Of integers, or of booleans.
template <B of_bits, B of_booleans>
ValueId read_bitwise(NodeReader& in) {
  const bool is_boolean = in.dtype(in.value("self")) == DType::boolean;
  return is_boolean ? read_binary<of_booleans>(in) : read_binary<of_bits>(in);
}

// The remainder with the sign of the dividend.
ValueId read_fmod(NodeReader& in) {
  const ValueId a = in.value("self");
  if (!in.failed() && !is_float(in.dtype(a)))
    return in.unsupported("argument 'self'", std::string(octavo::name_of(in.dtype(a))), "floats");
  return read_binary<B::mod>(in);
}

ValueId read_where(NodeReader& in) {
  const ValueId condition = in.value("condition");
  // Either may be a number.
  ValueId a = in.is_tensor("self") ? in.value("self") : ValueId{};
  ValueId b = in.value_or_number("other", a);
  if (!a.exists()) a = in.value_or_number("self", b);
  if (in.failed()) return {};
  a = in_type_of(in, a, b, "self");
  b = in_type_of(in, b, a, "other");
  return in.add(kWhere, NoAttrs{}, {condition, a, b});
}

// One slope for all channels (axis 1), or one each.
ValueId read_prelu(NodeReader& in) {
  const ValueId x = in.value("self"), slope = in.value("weight");
  in.require_rank(slope, 0, 1);
  if (in.failed()) return {};
  Extents dims(static_cast<std::size_t>(std::max(in.rank(x) - 1, 1)), 1);
  dims[0] = in.shape(slope).elements();
  return in.binary(B::prelu, x, in.reshape(slope, dims, "slope"));
}

// ---- types ----

ValueId read_cast(NodeReader& in) {
  const ValueId x = in.value(in.has("a") ? "a" : "self");
  for (const char* name : {"layout", "device", "pin_memory", "non_blocking", "copy", "memory_format"}) in.ignore(name);
  const DType to = in.element_type("dtype", in.dtype(x));
  if (in.failed()) return {};
  const auto quantized = quantize_of_cast(in, x, to);
  return quantized ? *quantized : in.cast(x, to);
}

ValueId read_type_as(NodeReader& in) {
  const ValueId x = in.value("self");
  return in.cast(x, in.dtype(in.value("other")));
}

// ---- nothing ----

ValueId read_identity(NodeReader& in) {
  in.ignore("memory_format");  // layouts are our own decision
  return in.value("self");
}

ValueId read_dropout(NodeReader& in) {
  if (in.flag("train") && in.number("p", 0.5) != 0.0)
    in.unsupported("argument 'train'", "true", "false; export the model in evaluation mode");
  in.ignore("p");
  return in.value(in.has("input") ? "input" : "self");
}

// Assertions on sizes and types: ours are checked by other means, and a check that fails was made for other sizes.
ValueId read_check(NodeReader& in) {
  for (const char* name : {"self", "assert_msg", "a", "size", "stride", "dtype", "device", "layout", "b"})
    in.ignore(name);
  return in.output_size(0);
}

// ---- numbers that depend on sizes: numbers, or open extents ----

ValueId read_size(NodeReader& in) {
  const ValueId x = in.value("self");
  const std::int64_t axis = in.axis(in.integer("dim"), in.rank(x));
  return in.failed() ? ValueId{} : in.output_size(in.shape(x)[static_cast<int>(axis)]);
}

ValueId read_count(NodeReader& in) {
  const ValueId x = in.value("self");
  return in.failed() ? ValueId{} : in.output_size(in.shape(x).elements());
}

ValueId read_size_arithmetic(NodeReader& in) {
  const std::string_view name = in.overload();
  const Dim a = in.extent("a"), b = in.extent("b");
  // Sizes are not negative, and what is made of them stays a size.
  if ((name == "floordiv" || name == "mod") && (b <= 0 || a < 0))
    return in.fail("argument 'b'", to_string(a) + " and " + to_string(b), "sizes");
  std::int64_t unused = 0;
  const std::int64_t x = a.example(), y = b.example();
  const bool is_beyond = name == "add"   ? __builtin_add_overflow(x, y, &unused)
                         : name == "sub" ? __builtin_sub_overflow(x, y, &unused)
                                         : name == "mul" && __builtin_mul_overflow(x, y, &unused);
  if (is_beyond) return in.fail("", to_string(a) + " and " + to_string(b), "a result of 64 bits");
  if (name == "add") return in.output_size(a + b);
  if (name == "sub") return in.output_size(a - b);
  if (name == "mul") return in.output_size(a * b);
  return in.output_size(name == "mod" ? a % b : a / b);
}

constexpr std::string_view kScalarOrTensor = "Scalar Tensor";

constexpr Operator kElementwiseTable[] = {
    {"_operator", "add floordiv mod mul sub", kFresh, read_size_arithmetic},
    {"_operator", "eq ge gt le lt ne", kFresh, read_check},
    {"aten.__and__", kScalarOrTensor, kFresh, read_bitwise<B::bitwise_and, B::logical_and>},
    {"aten.__or__", kScalarOrTensor, kFresh, read_bitwise<B::bitwise_or, B::logical_or>},
    {"aten.__xor__", kScalarOrTensor, kFresh, read_bitwise<B::bitwise_xor, B::logical_xor>},
    {"aten._assert_scalar", "default", kFresh, read_check},
    {"aten._assert_tensor_metadata", "default", kFresh, read_check},
    {"aten._to_copy", "default", kFresh, read_cast},
    {"aten.abs", "default", kFresh, read_unary<U::abs>},
    {"aten.acos", "default", kFresh, read_unary<U::acos>},
    {"aten.acosh", "default", kFresh, read_unary<U::acosh>},
    {"aten.add", kScalarOrTensor, kFresh, read_binary<B::add>},
    {"aten.alias", "default", kSame, read_identity},
    {"aten.asin", "default", kFresh, read_unary<U::asin>},
    {"aten.asinh", "default", kFresh, read_unary<U::asinh>},
    {"aten.atan", "default", kFresh, read_unary<U::atan>},
    {"aten.atan2", "default", kFresh, read_atan2},
    {"aten.atanh", "default", kFresh, read_unary<U::atanh>},
    {"aten.bitwise_and", kScalarOrTensor, kFresh, read_bitwise<B::bitwise_and, B::logical_and>},
    {"aten.bitwise_not", "default", kFresh, read_bitwise_not},
    {"aten.bitwise_or", kScalarOrTensor, kFresh, read_bitwise<B::bitwise_or, B::logical_or>},
    {"aten.bitwise_xor", kScalarOrTensor, kFresh, read_bitwise<B::bitwise_xor, B::logical_xor>},
    {"aten.ceil", "default", kFresh, read_unary<U::ceil>},
    {"aten.clamp", "Tensor", kFresh, read_clamp_tensor},
    {"aten.clamp", "default", kFresh, read_clamp},
    {"aten.clamp_max", "default", kFresh, read_clamp},
    {"aten.clamp_min", "default", kFresh, read_clamp},
    {"aten.clone", "default", kFresh, read_identity},
    {"aten.contiguous", "default", kSame, read_identity},
    {"aten.cos", "default", kFresh, read_unary<U::cos>},
    {"aten.cosh", "default", kFresh, read_unary<U::cosh>},
    {"aten.detach", "default", kSame, read_identity},
    {"aten.div", kScalarOrTensor, kFresh, read_binary<B::div>},
    {"aten.div", "Scalar_mode Tensor_mode", kFresh, read_floor_div},
    {"aten.dropout", "default", kSame, read_dropout},
    {"aten.elu", "default", kFresh, read_elu},
    {"aten.eq", kScalarOrTensor, kFresh, read_binary<B::equal>},
    {"aten.erf", "default", kFresh, read_unary<U::erf>},
    {"aten.exp", "default", kFresh, read_unary<U::exp>},
    {"aten.feature_dropout", "default", kSame, read_dropout},
    {"aten.floor", "default", kFresh, read_unary<U::floor>},
    {"aten.fmod", kScalarOrTensor, kFresh, read_fmod},
    {"aten.ge", kScalarOrTensor, kFresh, read_binary<B::greater_or_equal>},
    {"aten.gelu", "default", kFresh, read_gelu},
    {"aten.gt", kScalarOrTensor, kFresh, read_binary<B::greater>},
    {"aten.hardsigmoid", "default", kFresh, read_hard_sigmoid},
    {"aten.hardswish", "default", kFresh, read_unary<U::hard_swish>},
    {"aten.hardtanh", "default", kFresh, read_hardtanh},
    {"aten.isinf", "default", kFresh, read_is_inf},
    {"aten.isnan", "default", kFresh, read_unary<U::is_nan>},
    {"aten.le", kScalarOrTensor, kFresh, read_binary<B::less_or_equal>},
    {"aten.leaky_relu", "default", kFresh, read_leaky_relu},
    {"aten.lift_fresh_copy", "default", kFresh, read_identity},
    {"aten.log", "default", kFresh, read_unary<U::log>},
    {"aten.logical_and", "default", kFresh, read_binary<B::logical_and>},
    {"aten.logical_not", "default", kFresh, read_unary<U::logical_not>},
    {"aten.logical_or", "default", kFresh, read_binary<B::logical_or>},
    {"aten.logical_xor", "default", kFresh, read_binary<B::logical_xor>},
    {"aten.lt", kScalarOrTensor, kFresh, read_binary<B::less>},
    {"aten.max", "other", kFresh, read_binary<B::max>},
    {"aten.maximum", "default", kFresh, read_binary<B::max>},
    {"aten.min", "other", kFresh, read_binary<B::min>},
    {"aten.minimum", "default", kFresh, read_binary<B::min>},
    {"aten.mish", "default", kFresh, read_unary<U::mish>},
    {"aten.mul", kScalarOrTensor, kFresh, read_binary<B::mul>},
    {"aten.ne", kScalarOrTensor, kFresh, read_not_equal},
    {"aten.neg", "default", kFresh, read_unary<U::neg>},
    {"aten.pow", "Scalar Tensor_Scalar Tensor_Tensor", kFresh, read_binary<B::pow>},
    {"aten.prelu", "default", kFresh, read_prelu},
    {"aten.reciprocal", "default", kFresh, read_unary<U::reciprocal>},
    {"aten.relu", "default", kFresh, read_unary<U::relu>},
    {"aten.relu6", "default", kFresh, read_relu6},
    {"aten.round", "default", kFresh, read_unary<U::round>},
    {"aten.rsqrt", "default", kFresh, read_rsqrt},
    {"aten.rsub", kScalarOrTensor, kFresh, read_binary<B::sub, Order::reversed>},
    {"aten.selu", "default", kFresh, read_selu},
    {"aten.sigmoid", "default", kFresh, read_unary<U::sigmoid>},
    {"aten.sign", "default", kFresh, read_unary<U::sign>},
    {"aten.silu", "default", kFresh, read_unary<U::silu>},
    {"aten.sin", "default", kFresh, read_unary<U::sin>},
    {"aten.sinh", "default", kFresh, read_unary<U::sinh>},
    {"aten.softplus", "default", kFresh, read_softplus},
    {"aten.sqrt", "default", kFresh, read_unary<U::sqrt>},
    {"aten.sub", kScalarOrTensor, kFresh, read_binary<B::sub>},
    {"aten.sym_numel", "default", kFresh, read_count},
    {"aten.sym_size", "int", kFresh, read_size},
    {"aten.tan", "default", kFresh, read_unary<U::tan>},
    {"aten.tanh", "default", kFresh, read_unary<U::tanh>},
    {"aten.to", "device dtype dtype_layout", kView, read_cast},
    {"aten.type_as", "default", kView, read_type_as},
    {"aten.where", "ScalarOther ScalarSelf self", kFresh, read_where},
    {"prims.convert_element_type", "default", kFresh, read_cast},
};

}  // namespace

const std::span<const Operator> kElementwise = kElementwiseTable;

}  // namespace octavo::pt2_import
