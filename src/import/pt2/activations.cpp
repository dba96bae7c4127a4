// ATen readers: functions of one element. Part of import/.
#include <algorithm>
#include <array>
#include <limits>

#include "import/pt2/operators.h"
#include "import/pt2/parts.h"
#include "ops/list.h"

namespace octavo::pt2_import {
namespace {

// How an argument is called and what it is where left out; no name: `fallback` it is.
struct Parameter {
  std::string_view name;
  float fallback = 0.0f;
};

struct Unary {
  std::string_view name;
  UnaryKind kind;
  Parameter alpha, beta;
};

// Sorted by name.
constexpr std::array kUnaries = {
    Unary{"abs", UnaryKind::abs, {}, {}},
    Unary{"ceil", UnaryKind::ceil, {}, {}},
    Unary{"cos", UnaryKind::cos, {}, {}},
    Unary{"elu", UnaryKind::elu, {"alpha", 1.0f}, {}},
    Unary{"erf", UnaryKind::erf, {}, {}},
    Unary{"exp", UnaryKind::exp, {}, {}},
    Unary{"floor", UnaryKind::floor, {}, {}},
    Unary{"hardsigmoid", UnaryKind::hard_sigmoid, {"", 1.0f / 6.0f}, {"", 0.5f}},
    Unary{"hardswish", UnaryKind::hard_swish, {}, {}},
    Unary{"leaky_relu", UnaryKind::leaky_relu, {"negative_slope", 0.01f}, {}},
    Unary{"log", UnaryKind::log, {}, {}},
    Unary{"logical_not", UnaryKind::logical_not, {}, {}},
    Unary{"mish", UnaryKind::mish, {}, {}},
    Unary{"neg", UnaryKind::neg, {}, {}},
    Unary{"reciprocal", UnaryKind::reciprocal, {}, {}},
    Unary{"relu", UnaryKind::relu, {}, {}},
    Unary{"round", UnaryKind::round, {}, {}},
    Unary{"selu", UnaryKind::selu, {"", 1.67326319217681884765625f}, {"", 1.05070102214813232421875f}},
    Unary{"sigmoid", UnaryKind::sigmoid, {}, {}},
    Unary{"silu", UnaryKind::silu, {}, {}},
    Unary{"sin", UnaryKind::sin, {}, {}},
    Unary{"sqrt", UnaryKind::sqrt, {}, {}},
    Unary{"tanh", UnaryKind::tanh, {}, {}},
};

float read_parameter(NodeReader& in, const Parameter& parameter) {
  if (parameter.name.empty()) return parameter.fallback;
  return static_cast<float>(in.number(parameter.name, static_cast<double>(parameter.fallback)));
}

void clip(NodeReader& in, ValueId x, double lowest, double highest) {
  const UnaryAttrs attrs{UnaryKind::clip, static_cast<float>(lowest), static_cast<float>(highest)};
  in.output(0, in.add(kUnary, attrs, {x}));
}

}  // namespace

std::string base_name(const std::string& target) {
  const std::size_t begin = target.find('.') + 1;
  std::string name = target.substr(begin, target.find('.', begin) - begin);
  if (name.size() > 1 && name.back() == '_') name.pop_back();
  return name;
}

void read_unary(NodeReader& in) {
  const std::string name = base_name(in.target());
  const auto entry =
      std::lower_bound(kUnaries.begin(), kUnaries.end(), name,
                       [](const Unary& unary, const std::string& wanted) { return unary.name < wanted; });
  const ValueId x = in.value("self");
  const UnaryAttrs attrs{
      .kind = entry->kind, .alpha = read_parameter(in, entry->alpha), .beta = read_parameter(in, entry->beta)};
  if (entry->kind == UnaryKind::elu && (in.number("scale", 1.0) != 1.0 || in.number("input_scale", 1.0) != 1.0)) {
    in.unsupported("argument 'scale'", "an ELU with scales", "scales of 1");
  }
  in.output(0, in.add(kUnary, attrs, {x}));
}

void read_gelu(NodeReader& in) {
  const ValueId x = in.value("self");
  const std::string form = in.text("approximate", "none");
  if (form != "none" && form != "tanh") in.fail("argument 'approximate'", "'" + form + "'", "'none' or 'tanh'");
  in.output(0, in.add(kUnary, UnaryAttrs{.kind = form == "tanh" ? UnaryKind::gelu_tanh : UnaryKind::gelu}, {x}));
}

void read_softplus(NodeReader& in) {
  const ValueId x = in.value("self");
  if (in.number("beta", 1.0) != 1.0) in.unsupported("argument 'beta'", "a number other than 1", "1");
  in.ignore("threshold");  // where the function is its argument to f32 precision
  in.output(0, in.add(kUnary, UnaryAttrs{.kind = UnaryKind::softplus}, {x}));
}

void read_hardtanh(NodeReader& in) {
  const bool is_relu6 = base_name(in.target()) == "relu6";
  const ValueId x = in.value("self");
  clip(in, x, in.number("min_val", is_relu6 ? 0.0 : -1.0), in.number("max_val", is_relu6 ? 6.0 : 1.0));
}

void read_clamp(NodeReader& in) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const ValueId x = in.value("self");
  clip(in, x, in.number("min", -kInfinity), in.number("max", kInfinity));
}

}  // namespace octavo::pt2_import
