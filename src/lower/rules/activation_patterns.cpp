// Activation functions that exporters write as several nodes. Part of lower/.
#include "lower/rules/activation_patterns.h"

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "lower/quantized_value.h"
#include "ops/binary/binary.h"
#include "ops/unary/unary.h"

namespace octavo {
namespace {

bool is_near(double value, double wanted) { return std::abs(value - wanted) <= 1e-5 * std::abs(wanted); }

const Node* unary_of(const Graph& graph, ValueId wire, UnaryKind kind) {
  const Node* node = graph.producer_if(wire, kUnary);
  return node != nullptr && node->attrs.as<UnaryAttrs>().kind == kind ? node : nullptr;
}

// x of x + constant.
std::optional<ValueId> plus(const Graph& graph, ValueId wire, double constant) {
  const Node* node = graph.producer_if(wire, kBinary);
  if (node == nullptr || node->attrs.as<BinaryAttrs>().kind != BinaryKind::add) return std::nullopt;
  for (std::size_t side = 0; side < 2; ++side) {
    const auto value = scalar_constant(graph, node->inputs[1 - side]);
    if (value && is_near(*value, constant)) return node->inputs[side];
  }
  return std::nullopt;
}

// wire = x * factor.
struct ActivationScaled {
  ValueId x;
  double factor = 1.0;
};
std::optional<ActivationScaled> activation_scaled(const Graph& graph, ValueId wire) {
  const Node* node = graph.producer_if(wire, kBinary);
  if (node == nullptr) return std::nullopt;
  const BinaryKind kind = node->attrs.as<BinaryAttrs>().kind;
  const auto second = scalar_constant(graph, node->inputs[1]);
  if (kind == BinaryKind::mul && second) return ActivationScaled{node->inputs[0], *second};
  if (kind == BinaryKind::div && second && *second != 0.0f) return ActivationScaled{node->inputs[0], 1.0 / *second};
  const auto first = scalar_constant(graph, node->inputs[0]);
  if (kind == BinaryKind::mul && first) return ActivationScaled{node->inputs[1], *first};
  return std::nullopt;
}

// The wire itself and what it is a multiple of.
std::vector<ActivationScaled> multiples(const Graph& graph, ValueId wire) {
  std::vector<ActivationScaled> found = {{wire, 1.0}};
  while (found.size() < 3) {
    const auto inner = activation_scaled(graph, found.back().x);
    if (!inner) break;
    found.push_back({inner->x, found.back().factor * inner->factor});
  }
  return found;
}

// wire = constant * x.
bool is_multiple_of(const Graph& graph, ValueId wire, ValueId x, double constant) {
  for (const ActivationScaled& candidate : multiples(graph, wire)) {
    if (candidate.x == x && is_near(candidate.factor, constant)) return true;
  }
  return false;
}

// clip(x + 3, 0, 6).
bool is_relu6_of_shifted(const Graph& graph, ValueId wire, ValueId x) {
  const Node* clip = unary_of(graph, wire, UnaryKind::clip);
  if (clip == nullptr) return false;
  const auto& attrs = clip->attrs.as<UnaryAttrs>();
  return attrs.alpha == 0.0f && attrs.beta == 6.0f && plus(graph, clip->inputs[0], 3.0) == x;
}

// x^3.
bool is_cube_of(const Graph& graph, ValueId wire, ValueId x) {
  const Node* node = graph.producer_if(wire, kBinary);
  if (node == nullptr) return false;
  const BinaryKind kind = node->attrs.as<BinaryAttrs>().kind;
  if (kind == BinaryKind::pow) return node->inputs[0] == x && scalar_constant(graph, node->inputs[1]) == 3.0f;
  if (kind != BinaryKind::mul) return false;
  for (std::size_t side = 0; side < 2; ++side) {
    const Node* square = graph.producer_if(node->inputs[side], kBinary);
    const bool is_square = square != nullptr && square->attrs.as<BinaryAttrs>().kind == BinaryKind::mul &&
                           square->inputs[0] == x && square->inputs[1] == x;
    if (is_square && node->inputs[1 - side] == x) return true;
  }
  return false;
}

// c * x^2 with c = 0.044715, in any order.
bool is_small_square_of(const Graph& graph, ValueId wire, ValueId x) {
  for (const ActivationScaled& outer : multiples(graph, wire)) {
    const Node* product = graph.producer_if(outer.x, kBinary);
    if (product == nullptr) continue;
    const BinaryKind kind = product->attrs.as<BinaryAttrs>().kind;
    if (kind == BinaryKind::pow && product->inputs[0] == x && scalar_constant(graph, product->inputs[1]) == 2.0f &&
        is_near(outer.factor, 0.044715))
      return true;
    if (kind != BinaryKind::mul) continue;
    for (std::size_t side = 0; side < 2; ++side) {
      if (product->inputs[side] != x) continue;
      if (is_multiple_of(graph, product->inputs[1 - side], x, 0.044715 / outer.factor)) return true;
    }
  }
  return false;
}

// The same with x drawn out: sqrt(2/pi) * x * (1 + 0.044715 x^2).
bool is_factored_gelu_argument(const Graph& graph, ValueId wire, ValueId x) {
  for (const ActivationScaled& outer : multiples(graph, wire)) {
    const Node* product = graph.producer_if(outer.x, kBinary);
    if (product == nullptr || product->attrs.as<BinaryAttrs>().kind != BinaryKind::mul) continue;
    for (std::size_t side = 0; side < 2; ++side) {
      const auto square = plus(graph, product->inputs[1 - side], 1.0);
      if (square && is_multiple_of(graph, product->inputs[side], x, 0.7978845608 / outer.factor) &&
          is_small_square_of(graph, *square, x))
        return true;
    }
  }
  return false;
}

// tanh's argument in the approximation of gelu: sqrt(2/pi) * (x + 0.044715 x^3).
bool is_gelu_argument(const Graph& graph, ValueId wire, ValueId x) {
  for (const ActivationScaled& outer : multiples(graph, wire)) {
    const Node* sum = graph.producer_if(outer.x, kBinary);
    if (!is_near(outer.factor, 0.7978845608) || sum == nullptr || sum->attrs.as<BinaryAttrs>().kind != BinaryKind::add)
      continue;
    for (std::size_t side = 0; side < 2; ++side) {
      if (sum->inputs[side] != x) continue;
      for (const ActivationScaled& inner : multiples(graph, sum->inputs[1 - side])) {
        if (is_near(inner.factor, 0.044715) && is_cube_of(graph, inner.x, x)) return true;
      }
    }
  }
  return false;
}

// The activation that factor * x * gate is, if any.
std::optional<UnaryAttrs> gated(const Graph& graph, ValueId x, ValueId gate, double factor) {
  if (const Node* sigmoid = unary_of(graph, gate, UnaryKind::sigmoid); sigmoid != nullptr) {
    if (sigmoid->inputs[0] == x && is_near(factor, 1.0)) return UnaryAttrs{UnaryKind::silu};
  }
  if (const Node* hard = unary_of(graph, gate, UnaryKind::hard_sigmoid); hard != nullptr) {
    const auto& attrs = hard->attrs.as<UnaryAttrs>();
    const bool is_standard = is_near(attrs.alpha, 1.0 / 6.0) && is_near(attrs.beta, 0.5);
    if (hard->inputs[0] == x && is_standard && is_near(factor, 1.0)) return UnaryAttrs{UnaryKind::hard_swish};
  }
  if (is_near(factor, 1.0 / 6.0) && is_relu6_of_shifted(graph, gate, x)) return UnaryAttrs{UnaryKind::hard_swish};
  const auto before_one = is_near(factor, 0.5) ? plus(graph, gate, 1.0) : std::nullopt;
  if (!before_one) return std::nullopt;
  if (const Node* erf = unary_of(graph, *before_one, UnaryKind::erf); erf != nullptr) {
    if (is_multiple_of(graph, erf->inputs[0], x, 0.7071067812)) return UnaryAttrs{UnaryKind::gelu};
  }
  if (const Node* tanh = unary_of(graph, *before_one, UnaryKind::tanh); tanh != nullptr) {
    if (is_gelu_argument(graph, tanh->inputs[0], x) || is_factored_gelu_argument(graph, tanh->inputs[0], x))
      return UnaryAttrs{UnaryKind::gelu_tanh};
  }
  return std::nullopt;
}

// x where the multiple is clip(x + 3, 0, 6) / 6.
std::optional<ValueId> hard_sigmoid_argument(const Graph& graph, const ActivationScaled& whole) {
  const Node* clip = is_near(whole.factor, 1.0 / 6.0) ? unary_of(graph, whole.x, UnaryKind::clip) : nullptr;
  const auto x = clip == nullptr ? std::nullopt : plus(graph, clip->inputs[0], 3.0);
  return x && is_relu6_of_shifted(graph, whole.x, *x) ? x : std::nullopt;
}

Match replaced(const Graph& graph, const Node& node, ValueId x, const UnaryAttrs& attrs) {
  if (!graph.fact(x).same_type(graph.fact(node.outputs[0]))) return std::string();
  Patch patch(graph);
  patch.replace(node.outputs[0], patch.add(kUnary, attrs, {x}, node.name, node.origin));
  return patch;
}

// min(x, c) and max(x, c).
Match bound_to_clip(const Graph& graph, const Node& node, BinaryKind kind) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (std::size_t side = 0; side < 2; ++side) {
    const auto bound = scalar_constant(graph, node.inputs[1 - side]);
    if (!bound || graph.fact(node.inputs[side]).dtype != DType::f32) continue;
    const bool is_lower = kind == BinaryKind::max;
    return replaced(graph, node, node.inputs[side],
                    {UnaryKind::clip, is_lower ? *bound : -kInfinity, is_lower ? kInfinity : *bound});
  }
  return std::string();
}

}  // namespace

Match activation_patterns(const Graph& graph, const Node& node) {
  if (node.spec != &kBinary) return std::string();
  const BinaryKind kind = node.attrs.as<BinaryAttrs>().kind;
  if (kind == BinaryKind::min || kind == BinaryKind::max) return bound_to_clip(graph, node, kind);
  if (kind != BinaryKind::mul && kind != BinaryKind::div) return std::string();
  for (const ActivationScaled& whole : multiples(graph, node.outputs[0])) {
    if (const auto x = hard_sigmoid_argument(graph, whole))
      return replaced(graph, node, *x, {UnaryKind::hard_sigmoid, 1.0f / 6.0f, 0.5f});
    const Node* product = graph.producer_if(whole.x, kBinary);
    if (product == nullptr || product->attrs.as<BinaryAttrs>().kind != BinaryKind::mul) continue;
    for (const ActivationScaled& a : multiples(graph, product->inputs[0])) {
      for (const ActivationScaled& b : multiples(graph, product->inputs[1])) {
        const double factor = whole.factor * a.factor * b.factor;
        if (const auto attrs = gated(graph, a.x, b.x, factor)) return replaced(graph, node, a.x, *attrs);
        if (const auto attrs = gated(graph, b.x, a.x, factor)) return replaced(graph, node, b.x, *attrs);
      }
    }
  }
  return std::string();
}

}  // namespace octavo
