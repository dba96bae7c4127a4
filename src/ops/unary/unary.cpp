// unary: functions of one element. Part of ops/.
#include "ops/unary/unary.h"

#include <cmath>
#include <limits>

#include "base/math.h"
#include "graph/attrs_of.h"
#include "ops/in_tables.h"
#include "ops/one_image.h"
#include "ops/traits.h"
#include "ops/unary/apply.h"
#include "ops/unary/f32.h"
#include "ops/unary/integers.h"

namespace octavo {
namespace {

double clamp_unit(double x) { return x < 0.0 ? 0.0 : (x > 1.0 ? 1.0 : x); }

double sign_of(double x) { return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : x); }

// x · Φ(x); erfc keeps the digits of small results.
double gelu(double x) { return 0.5 * x * math_erfc(x * -0.70710678118654752440); }

// x/2 · (1 + tanh(u)) = x · sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3).
double gelu_tanh(double x) { return x * math_sigmoid(2.0 * 0.79788456080286535588 * (x + 0.044715 * (x * x * x))); }

double clip(double x, double lowest, double highest) {
  const double raised = x < lowest ? lowest : x;
  return raised > highest ? highest : raised;
}

double shrink(double x, double edge, double bias) {
  if (x < -edge) return x + bias;
  return x > edge ? x - bias : 0.0;
}

bool takes_integers(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::identity:
    case UnaryKind::relu:
    case UnaryKind::neg:
    case UnaryKind::abs:
    case UnaryKind::sign:
    case UnaryKind::clip:
    case UnaryKind::bitwise_not: return true;
    default: return false;
  }
}

bool unary_takes(UnaryKind kind, DType dtype) {
  if (dtype == DType::boolean) return kind == UnaryKind::identity || kind == UnaryKind::logical_not;
  if (is_integer(dtype)) return takes_integers(kind);
  return kind != UnaryKind::logical_not && kind != UnaryKind::bitwise_not;
}

Result<std::vector<Fact>> infer_unary(const Attrs& attrs, InputFacts inputs) {
  const auto& unary = attrs.as<UnaryAttrs>();
  const Fact& x = *inputs[0];
  const std::string op(name_of(unary.kind));
  if (!unary_takes(unary.kind, x.dtype))
    return shape_error(op, std::string(name_of(x.dtype)) + " input", "another element type");
  if (std::isnan(unary.alpha) || std::isnan(unary.beta)) return shape_error(op, "NaN in its attributes", "numbers");
  return std::vector<Fact>{{.dtype = is_test(unary.kind) ? DType::boolean : x.dtype, .shape = x.shape}};
}

template <class T>
void apply_integer(const UnaryAttrs& attrs, const ConstTensorView& x, const TensorView& y) {
  const std::int64_t count = x.shape.elements();
  for (std::int64_t i = 0; i < count; ++i) y.as<T>()[i] = integer_unary<T>(attrs, x.as<T>()[i]);
}

void apply_boolean(const UnaryAttrs& attrs, const ConstTensorView& x, const TensorView& y) {
  const std::int64_t count = x.shape.elements();
  for (std::int64_t i = 0; i < count; ++i) y.as<std::uint8_t>()[i] = boolean_unary(attrs, x.as<std::uint8_t>()[i]);
}

void apply_f32(const UnaryAttrs& attrs, const float* x, float* y, std::int64_t n) {
  static constexpr UnaryLines lines = unary_lines<Lane>();
  lines.of[static_cast<int>(attrs.kind)](x, y, n, {attrs.alpha, attrs.beta});
}

void apply_in_f64(const UnaryAttrs& attrs, const ConstTensorView& x, const TensorView& y) {
  const std::int64_t count = x.shape.elements();
  for (std::int64_t i = 0; i < count; ++i) store_double(y, i, evaluate_unary(attrs, element_as_double(x, i)));
}

void reference_unary(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& unary = attrs.as<UnaryAttrs>();
  const ConstTensorView& x = inputs[0];
  const TensorView& y = outputs[0];
  switch (x.dtype) {
    case DType::boolean: return apply_boolean(unary, x, y);
    case DType::u8: return apply_integer<std::uint8_t>(unary, x, y);
    case DType::s8: return apply_integer<std::int8_t>(unary, x, y);
    case DType::u16: return apply_integer<std::uint16_t>(unary, x, y);
    case DType::s16: return apply_integer<std::int16_t>(unary, x, y);
    case DType::u32: return apply_integer<std::uint32_t>(unary, x, y);
    case DType::s32: return apply_integer<std::int32_t>(unary, x, y);
    case DType::u64: return apply_integer<std::uint64_t>(unary, x, y);
    case DType::s64: return apply_integer<std::int64_t>(unary, x, y);
    case DType::f32:
      if (!is_test(unary.kind)) return apply_f32(unary, x.as<float>(), y.as<float>(), x.shape.elements());
      [[fallthrough]];
    default: return apply_in_f64(unary, x, y);
  }
}

// Floats in f64, rounded once; the sigmoid as ONNX Runtime's.
void unary_reference_in_tables(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& unary = attrs.as<UnaryAttrs>();
  const bool is_in_f64 = is_float(inputs[0].dtype) && unary.kind != UnaryKind::sigmoid;
  if (!is_in_f64) return reference_unary(attrs, inputs, outputs);
  apply_in_f64(unary, inputs[0], outputs[0]);
}

bool is_identity_unary(const Attrs& attrs, InputFacts) { return attrs.as<UnaryAttrs>().kind == UnaryKind::identity; }

NodeRole role_of_unary(const Attrs& attrs, InputFacts) {
  const UnaryKind kind = attrs.as<UnaryAttrs>().kind;
  // A table needs a bounded result; these have poles inside the range of an activation.
  if (kind == UnaryKind::reciprocal || kind == UnaryKind::log || kind == UnaryKind::tan || kind == UnaryKind::atanh)
    return stays_floating("no table of " + std::string(name_of(kind)) + ", which is unbounded");
  return {Role::pointwise, {}};
}

}  // namespace

void apply_unary_f32(const UnaryAttrs& attrs, std::span<float> values) {
  apply_f32(attrs, values.data(), values.data(), std::ssize(values));
}

double evaluate_unary(const UnaryAttrs& attrs, double x) {
  const double alpha = attrs.alpha;
  const double beta = attrs.beta;
  switch (attrs.kind) {
    case UnaryKind::identity: return x;
    case UnaryKind::relu: return x < 0.0 ? 0.0 : x;
    case UnaryKind::sigmoid: return math_sigmoid(x);
    case UnaryKind::tanh: return math_tanh(x);
    case UnaryKind::exp: return math_exp(x);
    case UnaryKind::log: return math_log(x);
    case UnaryKind::sqrt: return std::sqrt(x);
    case UnaryKind::reciprocal: return 1.0 / x;
    case UnaryKind::neg: return -x;
    case UnaryKind::abs: return std::fabs(x);
    case UnaryKind::floor: return std::floor(x);
    case UnaryKind::ceil: return std::ceil(x);
    case UnaryKind::round: return std::nearbyint(x);
    case UnaryKind::sign: return sign_of(x);
    case UnaryKind::erf: return math_erf(x);
    case UnaryKind::gelu: return gelu(x);
    case UnaryKind::gelu_tanh: return gelu_tanh(x);
    case UnaryKind::softplus: return math_softplus(x);
    case UnaryKind::softsign: return x / (1.0 + std::fabs(x));
    case UnaryKind::mish: return x * math_tanh(math_softplus(x));
    case UnaryKind::silu: return x * math_sigmoid(x);
    case UnaryKind::hard_sigmoid: return clamp_unit(alpha * x + beta);
    case UnaryKind::hard_swish: return x * clamp_unit(x / 6.0 + 0.5);
    case UnaryKind::leaky_relu: return x < 0.0 ? alpha * x : x;
    case UnaryKind::elu: return x < 0.0 ? alpha * math_expm1(x) : x;
    case UnaryKind::selu: return beta * (x < 0.0 ? alpha * math_expm1(x) : x);
    case UnaryKind::celu: return x < 0.0 ? alpha * math_expm1(x / alpha) : x;
    case UnaryKind::thresholded_relu: return x > alpha ? x : 0.0;
    case UnaryKind::clip: return clip(x, alpha, beta);
    case UnaryKind::logical_not: return x == 0.0 ? 1.0 : 0.0;
    case UnaryKind::sin: return math_sin(x);
    case UnaryKind::cos: return math_cos(x);
    case UnaryKind::is_nan: return std::isnan(x) ? 1.0 : 0.0;
    case UnaryKind::is_inf: return std::isinf(x) && (x < 0.0 ? alpha : beta) != 0.0 ? 1.0 : 0.0;
    case UnaryKind::tan: return math_tan(x);
    case UnaryKind::asin: return math_asin(x);
    case UnaryKind::acos: return math_acos(x);
    case UnaryKind::atan: return math_atan(x);
    case UnaryKind::sinh: return math_sinh(x);
    case UnaryKind::cosh: return math_cosh(x);
    case UnaryKind::asinh: return math_asinh(x);
    case UnaryKind::acosh: return math_acosh(x);
    case UnaryKind::atanh: return math_atanh(x);
    case UnaryKind::bitwise_not: return x;
    case UnaryKind::shrink: return shrink(x, alpha, beta);
  }
  return x;
}

const OpSpec kUnary{
    .name = "unary",
    .summary = "y = f(x), element by element; f32 in f32 (docs/numerics.md), in tables from f64",
    .inputs = {"x"},
    .infer = infer_unary,
    .reference = reference_unary,
    .decode_attrs = decode_attrs_as<UnaryAttrs>,
    .for_one_image = same_for_one_image,
    .pointwise = pointwise_in<1>,
    .folds_at_import = true,
    .is_identity = is_identity_unary,
    .reordered = reordered_as_is,
    .role = role_of_unary,
    .read_from = "ONNX Relu; TFLite RELU; ATen relu",
    .integer_form = "table; clamps into the operator before",
};

const OpSpec kUnaryInTables{
    .name = "unary_in_tables",
    .summary = "unary, floats from f64 rounded once",
    .inputs = {"x"},
    .infer = infer_unary,
    .reference = unary_reference_in_tables,
};

template Attrs::Attrs(UnaryAttrs);

}  // namespace octavo
