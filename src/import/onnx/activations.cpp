// ONNX readers: functions of one element. Part of import/.
#include <algorithm>
#include <array>
#include <limits>

#include "import/onnx/operators.h"
#include "ops/list.h"

namespace octavo::onnx_import {
namespace {

// How an attribute is called in the file and what it is where left out; no name: the function has none.
struct Parameter {
  std::string_view name;
  float fallback = 0.0f;
};

struct Unary {
  std::string_view op;
  UnaryKind kind;
  Parameter alpha, beta;
};

// Sorted by name.
constexpr std::array kUnaries = {
    Unary{"Abs", UnaryKind::abs, {}, {}},
    Unary{"Ceil", UnaryKind::ceil, {}, {}},
    Unary{"Celu", UnaryKind::celu, {"alpha", 1.0f}, {}},
    Unary{"Cos", UnaryKind::cos, {}, {}},
    Unary{"Elu", UnaryKind::elu, {"alpha", 1.0f}, {}},
    Unary{"Erf", UnaryKind::erf, {}, {}},
    Unary{"Exp", UnaryKind::exp, {}, {}},
    Unary{"Floor", UnaryKind::floor, {}, {}},
    Unary{"HardSigmoid", UnaryKind::hard_sigmoid, {"alpha", 0.2f}, {"beta", 0.5f}},
    Unary{"HardSwish", UnaryKind::hard_swish, {}, {}},
    Unary{"IsNaN", UnaryKind::is_nan, {}, {}},
    Unary{"LeakyRelu", UnaryKind::leaky_relu, {"alpha", 0.01f}, {}},
    Unary{"Log", UnaryKind::log, {}, {}},
    Unary{"Mish", UnaryKind::mish, {}, {}},
    Unary{"Neg", UnaryKind::neg, {}, {}},
    Unary{"Not", UnaryKind::logical_not, {}, {}},
    Unary{"Reciprocal", UnaryKind::reciprocal, {}, {}},
    Unary{"Relu", UnaryKind::relu, {}, {}},
    Unary{"Round", UnaryKind::round, {}, {}},
    Unary{"Selu", UnaryKind::selu, {"alpha", 1.67326319217681884765625f}, {"gamma", 1.05070102214813232421875f}},
    Unary{"Sigmoid", UnaryKind::sigmoid, {}, {}},
    Unary{"Sign", UnaryKind::sign, {}, {}},
    Unary{"Sin", UnaryKind::sin, {}, {}},
    Unary{"Softplus", UnaryKind::softplus, {}, {}},
    Unary{"Softsign", UnaryKind::softsign, {}, {}},
    Unary{"Sqrt", UnaryKind::sqrt, {}, {}},
    Unary{"Tanh", UnaryKind::tanh, {}, {}},
    Unary{"ThresholdedRelu", UnaryKind::thresholded_relu, {"alpha", 1.0f}, {}},
};

float read_parameter(NodeReader& in, const Parameter& parameter) {
  return parameter.name.empty() ? 0.0f : in.attributes.number(parameter.name, parameter.fallback);
}

// A bound of Clip: an input, or from opset 6 to 10 an attribute. Nothing where there is none.
ValueId read_bound(NodeReader& in, ValueId x, int index, std::string_view name) {
  if (in.opset() < 11) {
    if (!in.attributes.has(name)) return {};
    const float bound = in.attributes.number(name, 0.0f);
    return in.failed() ? ValueId{} : in.scalar_like(x, bound, name);
  }
  const ValueId bound = in.optional(index);
  if (!bound.exists()) return {};
  if (in.shape(bound).elements() != 1)
    in.fail("input '" + std::string(name) + "'", "shape " + in.shape(bound).to_string(), "a scalar");
  if (in.dtype(bound) != in.dtype(x)) {
    in.fail("input '" + std::string(name) + "'", std::string(octavo::name_of(in.dtype(bound))),
            std::string(octavo::name_of(in.dtype(x))));
  }
  return in.reshape(bound, {}, name);
}

bool fits_f32(DType dtype) {
  return (is_float(dtype) && dtype != DType::f64) || is_8bit(dtype) || dtype == DType::u16 || dtype == DType::s16;
}

}  // namespace

void read_unary(NodeReader& in) {
  const auto entry = std::lower_bound(kUnaries.begin(), kUnaries.end(), in.op(),
                                      [](const Unary& unary, const std::string& op) { return unary.op < op; });
  const ValueId x = in.value(0);
  const UnaryAttrs attrs{
      .kind = entry->kind, .alpha = read_parameter(in, entry->alpha), .beta = read_parameter(in, entry->beta)};
  in.attributes.ignore("consumed_inputs");
  in.output(0, in.add(kUnary, attrs, {x}));
}

void read_gelu(NodeReader& in) {
  const ValueId x = in.value(0);
  const std::string form = in.is_microsoft() ? "none" : in.attributes.text("approximate", "none");
  if (form != "none" && form != "tanh") in.fail("attribute 'approximate'", "'" + form + "'", "'none' or 'tanh'");
  in.output(0, in.add(kUnary, UnaryAttrs{.kind = form == "tanh" ? UnaryKind::gelu_tanh : UnaryKind::gelu}, {x}));
}

void read_clip(NodeReader& in) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const ValueId x = in.value(0);
  const ValueId lowest = read_bound(in, x, 1, "min");
  const ValueId highest = read_bound(in, x, 2, "max");
  if (in.failed()) return;
  const auto is_known = [&](ValueId bound) { return !bound.exists() || in.fact(bound).is_constant(); };
  if (fits_f32(in.dtype(x)) && is_known(lowest) && is_known(highest)) {
    const auto number = [&](ValueId bound, float fallback) {
      return bound.exists() ? to_floats(in.fact(bound).constant->view())[0] : fallback;
    };
    const UnaryAttrs attrs{
        .kind = UnaryKind::clip, .alpha = number(lowest, -kInfinity), .beta = number(highest, kInfinity)};
    return in.output(0, in.add(kUnary, attrs, {x}));
  }
  ValueId y = x;
  if (lowest.exists())
    y = in.add(kBinary, BinaryAttrs{.kind = BinaryKind::max}, {y, lowest}, highest.exists() ? "raised" : "");
  if (highest.exists()) y = in.add(kBinary, BinaryAttrs{.kind = BinaryKind::min}, {y, highest});
  in.output(0, y);
}

}  // namespace octavo::onnx_import
