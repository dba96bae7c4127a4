// ONNX readers: functions of one, two or more elements, broadcast. Part of import/.

#include "import/onnx/operators.h"
#include "ops/where/where.h"

namespace octavo::onnx_import {
namespace {

using B = BinaryKind;
using U = UnaryKind;

template <U kind>
ValueId read_unary(NodeReader& in) {
  in.ignore("consumed_inputs");
  return in.unary({.kind = kind}, in.value(0));
}

// With the attribute 'alpha', which is a thousandth of `fallback` where left out.
template <U kind, int fallback>
ValueId read_with_alpha(NodeReader& in) {
  in.ignore("consumed_inputs");
  return in.unary({.kind = kind, .alpha = in.number("alpha", static_cast<float>(fallback) / 1000.0f)}, in.value(0));
}

ValueId read_hard_sigmoid(NodeReader& in) {
  in.ignore("consumed_inputs");
  return in.unary({.kind = U::hard_sigmoid, .alpha = in.number("alpha", 0.2f), .beta = in.number("beta", 0.5f)},
                  in.value(0));
}

ValueId read_selu(NodeReader& in) {
  in.ignore("consumed_inputs");
  const float alpha = in.number("alpha", 1.67326319217681884765625f);
  return in.unary({.kind = U::selu, .alpha = alpha, .beta = in.number("gamma", 1.05070102214813232421875f)},
                  in.value(0));
}

ValueId read_is_inf(NodeReader& in) {
  return in.unary({.kind = U::is_inf,
                   .alpha = in.flag("detect_negative", true) ? 1.0f : 0.0f,
                   .beta = in.flag("detect_positive", true) ? 1.0f : 0.0f},
                  in.value(0));
}

ValueId read_shrink(NodeReader& in) {
  return in.unary({.kind = U::shrink, .alpha = in.number("lambd", 0.5f), .beta = in.number("bias", 0.0f)}, in.value(0));
}

ValueId read_gelu(NodeReader& in) {
  return gelu(in, in.value(0), in.is_microsoft() ? "none" : in.text("approximate", "none"), "attribute 'approximate'");
}

// A bound of Clip: an input, or from opset 6 to 10 an attribute. Nothing where there is none.
ValueId read_bound(NodeReader& in, ValueId x, int index, std::string_view name) {
  if (in.opset() < 11) {
    if (!in.has(name)) return {};
    const float bound = in.number(name, 0.0f);
    return in.failed() ? ValueId{} : in.scalar_like(x, bound, name);
  }
  const ValueId bound = in.optional(index, name);
  if (!bound.exists()) return {};
  if (in.shape(bound).elements() != 1)
    in.fail(quoted("input", name), "shape " + in.shape(bound).to_string(), "a scalar");
  if (in.dtype(bound) != in.dtype(x)) {
    in.fail(quoted("input", name), std::string(octavo::name_of(in.dtype(bound))),
            std::string(octavo::name_of(in.dtype(x))));
  }
  return in.reshape(bound, {}, name);
}

bool fits_f32(DType dtype) {
  return (is_float(dtype) && dtype != DType::f64) || is_8bit(dtype) || dtype == DType::u16 || dtype == DType::s16;
}

ValueId read_clip(NodeReader& in) {
  const ValueId x = in.value(0);
  const ValueId lowest = read_bound(in, x, 1, "min");
  const ValueId highest = read_bound(in, x, 2, "max");
  if (in.failed()) return {};
  const auto is_known = [&](ValueId bound) { return !bound.exists() || in.is_constant(bound); };
  if (fits_f32(in.dtype(x)) && is_known(lowest) && is_known(highest)) {
    const auto number = [&](ValueId bound, float fallback) {
      return bound.exists() ? to_floats(in.fact(bound).constant->view())[0] : fallback;
    };
    return clip(in, x, number(lowest, -kUnbounded), number(highest, kUnbounded));
  }
  const ValueId raised = lowest.exists() ? in.binary(B::max, x, lowest, highest.exists() ? "raised" : "") : x;
  return highest.exists() ? in.binary(B::min, raised, highest) : raised;
}

template <B kind>
ValueId read_binary(NodeReader& in) {
  const ValueId a = in.value(0);
  return in.binary(kind, a, in.value(1));
}

// ((x0 f x1) f x2) ...
template <B kind>
ValueId read_chain(NodeReader& in) {
  ValueId result = in.value(0);
  for (int i = 1; i < in.input_count(); ++i)
    result = in.binary(kind, result, in.value(i), i + 1 < in.input_count() ? std::to_string(i) : "");
  return result;
}

ValueId read_mean(NodeReader& in) {
  const ValueId sum = read_chain<B::add>(in);
  if (in.failed() || in.input_count() == 1) return sum;
  return in.binary(B::div, sum, in.scalar_like(sum, in.input_count(), "count"));
}

// Of floats, with the sign of the divisor: what fmod leaves, and the divisor where their signs differ. A zero keeps the
// dividend's sign.
ValueId floored_rest(NodeReader& in, ValueId a, ValueId b) {
  const ValueId rest = in.binary(B::mod, a, b, "rest"), zero = in.scalar_like(a, 0, "zero");
  const ValueId signs_differ = in.binary(B::logical_xor, in.binary(B::less, rest, zero, "rest_is_negative"),
                                         in.binary(B::less, b, zero, "divisor_is_negative"), "signs_differ");
  const ValueId is_whole = in.binary(B::equal, rest, zero, "is_whole");
  const ValueId stays =
      in.binary(B::logical_or, is_whole, in.unary({.kind = U::logical_not}, signs_differ, "alike"), "stays");
  return in.add(kWhere, NoAttrs{}, {stays, rest, in.binary(B::add, rest, b, "moved")});
}

ValueId read_mod(NodeReader& in) {
  const ValueId a = in.value(0), b = in.value(1);
  const bool is_c_like = in.flag("fmod");
  if (in.failed()) return {};
  if (is_float(in.dtype(a)) && !is_c_like) {
    if (in.opset() < 28) return in.fail("attribute 'fmod'", "0 for floats", "1");
    return floored_rest(in, a, b);
  }
  if (is_float(in.dtype(a)) || !is_c_like) return in.binary(B::mod, a, b);
  // The remainder with the sign of the dividend: a - trunc(a / b) * b.
  return in.binary(B::sub, a, in.binary(B::mul, in.binary(B::div, a, b, "quotient"), b, "whole"));
}

ValueId read_bit_shift(NodeReader& in) {
  const std::string direction = in.text("direction", "");
  const ValueId a = in.value(0), b = in.value(1);
  if (direction == "LEFT") return in.binary(B::shift_left, a, b);
  if (direction == "RIGHT") return in.binary(B::shift_right, a, b);
  return in.fail("attribute 'direction'", "'" + direction + "'", "'LEFT' or 'RIGHT'");
}

ValueId read_pow(NodeReader& in) {
  ValueId base = in.value(0), exponent = in.value(1);
  if (in.failed()) return {};
  const DType type = in.dtype(base);
  // The result has the type of the base; an integer base with a float exponent is raised in floats.
  const bool is_mixed = is_integer(type) && is_float(in.dtype(exponent));
  const DType inner = is_mixed ? in.dtype(exponent) : type;
  base = in.cast(base, inner, "base");
  exponent = in.cast(exponent, inner, "exponent");
  return in.cast(in.binary(B::pow, base, exponent, is_mixed ? "power" : ""), type);
}

ValueId read_prelu(NodeReader& in) {
  const ValueId x = in.value(0), slope = in.value(1);
  const ValueId y = in.binary(B::prelu, x, slope);
  if (in.failed() || in.shape(y) == in.shape(x)) return y;
  return in.fail("input 'slope'", "shape " + in.shape(slope).to_string(),
                 "one that broadcasts to " + in.shape(x).to_string());
}

// gelu(x + bias); in tanh's approximation the bias may be left out.
ValueId read_bias_gelu(NodeReader& in) {
  const ValueId x = in.value(0, "A");
  return in.unary({.kind = U::gelu}, in.binary(B::add, x, in.value(1, "B"), "biased"));
}
ValueId read_fast_gelu(NodeReader& in) {
  const ValueId x = in.value(0, "X"), bias = in.optional(1, "bias");
  return in.unary({.kind = U::gelu_tanh}, bias.exists() ? in.binary(B::add, x, bias, "biased") : x);
}

// x * sigmoid(alpha * x)
ValueId gated(NodeReader& in, ValueId x, float alpha, std::string_view suffix = "") {
  if (alpha == 1.0f) return in.unary({.kind = U::silu}, x, suffix);
  return in.binary(B::mul, x, in.unary({.kind = U::sigmoid}, scaled(in, x, alpha, "scaled"), "gate"), suffix);
}
ValueId read_swiglu(NodeReader& in) {
  const ValueId gate = in.value(0), x = in.value(1);
  if (!in.failed() && in.shape(gate) != in.shape(x))
    return in.fail("input 'B'", "shape " + in.shape(x).to_string(), in.shape(gate).to_string());
  return in.binary(B::mul, gated(in, gate, in.number("alpha", 1.0f), "gated"), x);
}
ValueId read_swish(NodeReader& in) { return gated(in, in.value(0), in.number("alpha", 1.0f)); }
ValueId read_quick_gelu(NodeReader& in) { return gated(in, in.value(0, "X"), in.number("alpha", 1.702f)); }

ValueId read_where(NodeReader& in) { return in.add(kWhere, NoAttrs{}, in.values()); }

ValueId read_cast(NodeReader& in) {
  const ValueId x = in.value(0);
  in.ignore("saturate"), in.ignore("round_mode");  // only concern 8-bit floats
  const auto to = in.element_type("to", std::nullopt);
  return to ? in.cast(x, *to) : ValueId{};
}

ValueId read_cast_like(NodeReader& in) {
  const ValueId x = in.value(0);
  in.ignore("saturate"), in.ignore("round_mode");
  return in.cast(x, in.dtype(in.value(1)));
}

ValueId read_identity(NodeReader& in) { return in.value(0); }

constexpr Operator kElementwiseTable[] = {
    {"Abs", 1, 1, 1, read_unary<U::abs>},
    {"Acos", 7, 1, 1, read_unary<U::acos>},
    {"Acosh", 9, 1, 1, read_unary<U::acosh>},
    {"Add", 7, 2, 2, read_binary<B::add>},
    {"And", 7, 2, 2, read_binary<B::logical_and>},
    {"Asin", 7, 1, 1, read_unary<U::asin>},
    {"Asinh", 9, 1, 1, read_unary<U::asinh>},
    {"Atan", 7, 1, 1, read_unary<U::atan>},
    {"Atanh", 9, 1, 1, read_unary<U::atanh>},
    {"BitShift", 11, 2, 2, read_bit_shift},
    {"BitwiseAnd", 18, 2, 2, read_binary<B::bitwise_and>},
    {"BitwiseNot", 18, 1, 1, read_unary<U::bitwise_not>},
    {"BitwiseOr", 18, 2, 2, read_binary<B::bitwise_or>},
    {"BitwiseXor", 18, 2, 2, read_binary<B::bitwise_xor>},
    {"Cast", 6, 1, 1, read_cast},
    {"CastLike", 15, 2, 2, read_cast_like},
    {"Ceil", 1, 1, 1, read_unary<U::ceil>},
    {"Celu", 1, 1, 1, read_with_alpha<U::celu, 1000>},
    {"Clip", 1, 1, 3, read_clip},
    {"Cos", 1, 1, 1, read_unary<U::cos>},
    {"Cosh", 9, 1, 1, read_unary<U::cosh>},
    {"Div", 7, 2, 2, read_binary<B::div>},
    {"Elu", 1, 1, 1, read_with_alpha<U::elu, 1000>},
    {"Equal", 7, 2, 2, read_binary<B::equal>},
    {"Erf", 1, 1, 1, read_unary<U::erf>},
    {"Exp", 1, 1, 1, read_unary<U::exp>},
    {"Floor", 1, 1, 1, read_unary<U::floor>},
    {"Gelu", 20, 1, 1, read_gelu},
    {"Greater", 7, 2, 2, read_binary<B::greater>},
    {"GreaterOrEqual", 12, 2, 2, read_binary<B::greater_or_equal>},
    {"HardSigmoid", 1, 1, 1, read_hard_sigmoid},
    {"HardSwish", 1, 1, 1, read_unary<U::hard_swish>},
    {"Identity", 1, 1, 1, read_identity},
    {"IsInf", 10, 1, 1, read_is_inf},
    {"IsNaN", 1, 1, 1, read_unary<U::is_nan>},
    {"LeakyRelu", 1, 1, 1, read_with_alpha<U::leaky_relu, 10>},
    {"Less", 7, 2, 2, read_binary<B::less>},
    {"LessOrEqual", 12, 2, 2, read_binary<B::less_or_equal>},
    {"Log", 1, 1, 1, read_unary<U::log>},
    {"Max", 6, 1, kAnyNumber, read_chain<B::max>},
    {"Mean", 6, 1, kAnyNumber, read_mean},
    {"Min", 6, 1, kAnyNumber, read_chain<B::min>},
    {"Mish", 1, 1, 1, read_unary<U::mish>},
    {"Mod", 10, 2, 2, read_mod},
    {"Mul", 7, 2, 2, read_binary<B::mul>},
    {"Neg", 1, 1, 1, read_unary<U::neg>},
    {"Not", 1, 1, 1, read_unary<U::logical_not>},
    {"Or", 7, 2, 2, read_binary<B::logical_or>},
    {"PRelu", 7, 2, 2, read_prelu},
    {"Pow", 7, 2, 2, read_pow},
    {"Reciprocal", 1, 1, 1, read_unary<U::reciprocal>},
    {"Relu", 1, 1, 1, read_unary<U::relu>},
    {"Round", 1, 1, 1, read_unary<U::round>},
    {"Selu", 1, 1, 1, read_selu},
    {"Shrink", 9, 1, 1, read_shrink},
    {"Sigmoid", 1, 1, 1, read_unary<U::sigmoid>},
    {"Sign", 1, 1, 1, read_unary<U::sign>},
    {"Sin", 1, 1, 1, read_unary<U::sin>},
    {"Sinh", 9, 1, 1, read_unary<U::sinh>},
    {"Softplus", 1, 1, 1, read_unary<U::softplus>},
    {"Softsign", 1, 1, 1, read_unary<U::softsign>},
    {"Sqrt", 1, 1, 1, read_unary<U::sqrt>},
    {"Sub", 7, 2, 2, read_binary<B::sub>},
    {"Sum", 6, 1, kAnyNumber, read_chain<B::add>},
    {"SwiGLU", 28, 2, 2, read_swiglu},
    {"Swish", 24, 1, 1, read_swish},
    {"Tan", 7, 1, 1, read_unary<U::tan>},
    {"Tanh", 1, 1, 1, read_unary<U::tanh>},
    {"ThresholdedRelu", 1, 1, 1, read_with_alpha<U::thresholded_relu, 1000>},
    {"Where", 9, 3, 3, read_where},
    {"Xor", 7, 2, 2, read_binary<B::logical_xor>},
    {"com.microsoft.BiasGelu", 1, 2, 2, read_bias_gelu},
    {"com.microsoft.FastGelu", 1, 1, 2, read_fast_gelu},
    {"com.microsoft.Gelu", 1, 1, 1, read_gelu},
    {"com.microsoft.QuickGelu", 1, 1, 1, read_quick_gelu},
};

}  // namespace

const std::span<const Operator> kElementwise = kElementwiseTable;

}  // namespace octavo::onnx_import
