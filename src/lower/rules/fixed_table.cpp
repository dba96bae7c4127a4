// Functions of one quantized value in fixed point. Part of lower/.
#include "lower/rules/fixed_table.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "base/fixed_point.h"
#include "base/fixed_point16.h"
#include "base/interpolated.h"
#include "base/math.h"
#include "lower/quantized_value.h"
#include "lower/s16_tables.h"
#include "ops/concat/concat.h"
#include "ops/reshape/reshape.h"
#include "ops/slice/slice.h"
#include "ops/table/table.h"
#include "ops/unary/unary.h"

namespace octavo {
namespace {

// Of x without its zero point, before the result's zero point and the clamp.
using Function = std::function<std::int32_t(std::int32_t)>;

Function rescaled(Profile profile, double factor) {
  return [profile, multiplier = FixedMultiplier::of(factor)](std::int32_t x) { return multiplier.apply(profile, x); };
}

Function leaky(Profile profile, float ratio, float slope) {
  const Function above = rescaled(profile, static_cast<double>(ratio));
  const Function below = rescaled(profile, std::fabs(static_cast<double>(slope)));
  return [=](std::int32_t x) { return x >= 0 ? above(x) : (slope < 0.0f ? -below(x) : below(x)); };
}

std::int32_t rounded_away(float x) { return static_cast<std::int32_t>(round_away(clamp_f32(x, -65536.0f, 65536.0f))); }

// LOGISTIC of the reference kernels: f32, exponential rounded once.
Function logistic(const QuantType& x, const QuantType& y) {
  return [x_scale = x.scale, inverse = 1.0f / y.scale](std::int32_t q) {
    const float power = static_cast<float>(math_exp(static_cast<double>(-(x_scale * static_cast<float>(q)))));
    return rounded_away(1.0f / (1.0f + power) * inverse);
  };
}

// Of one element in f32, rounded once: EXP, GELU, LOG.
Function looked_up(const UnaryAttrs& attrs, const QuantType& x, const QuantType& y) {
  return [attrs, x_scale = x.scale, inverse = 1.0f / y.scale](std::int32_t q) {
    const auto real = static_cast<double>(x_scale * static_cast<float>(q));
    if (attrs.kind == UnaryKind::log && real <= 0.0) return -65536;
    return rounded_away(static_cast<float>(evaluate_unary(attrs, real)) * inverse);
  };
}

// SQRT: f32, and what is behind the point is cut off. LiteRT refuses values below 0.
Function square_root(const QuantType& x, const QuantType& y) {
  return [x_scale = x.scale, y_scale = y.scale](std::int32_t q) {
    const float root = std::sqrt(std::max(static_cast<float>(q), 0.0f) * x_scale);
    return static_cast<std::int32_t>(clamp_f32(root / y_scale, 0.0f, 65536.0f));
  };
}

// RSQRT, the root in fixed point. LiteRT refuses values below 0, and takes 0 for the smallest one.
Function inverse_square_root(Profile profile, const QuantType& x, const QuantType& y) {
  const FixedMultiplier factor = FixedMultiplier::of(1.0 / static_cast<double>(std::sqrt(x.scale) * y.scale));
  return [profile, factor](std::int32_t q) {
    constexpr std::int32_t kBits = 20;
    if (q <= 0) return 65536;
    FixedMultiplier inverse = fixed_inverse_sqrt(q), result = factor;
    inverse.shift += kBits, result.shift -= kBits;
    return result.apply(profile, inverse.apply(profile, 1));
  };
}

// NEG of s8 and s16: of the stored value itself, whatever the scales; the lowest one stays what it is.
Function negated(const QuantType& x, const QuantType& y) {
  return [x_zero = x.zero_point, y_zero = y.zero_point, lowest = range_of(x.dtype).lowest](std::int32_t q) {
    const std::int32_t stored = q + x_zero;
    return (stored == lowest ? stored : -stored) - y_zero;
  };
}

// ---- of s16 ----

// f in f32, interpolated: EXP, GELU, LOG, RSQRT.
Function interpolated(const QuantType& x, const QuantType& y, const std::function<float(float)>& f) {
  const auto table = std::make_shared<InterpolatedTable>(
      InterpolatedTable::of<float>(x.scale * -32768.0f, x.scale * 32767.0f, y.scale, f));
  return [table](std::int32_t q) { return std::int32_t{table->at(static_cast<std::int16_t>(q))}; };
}

float in_f32(double (*f)(double), float x) { return static_cast<float>(f(static_cast<double>(x))); }

float gelu_f32(float x) { return 0.5f * x * in_f32(math_erfc, x * -0.70710678118654752440f); }
float gelu_tanh_f32(float x) {
  constexpr float kSqrt2OverPi = 0.79788456080286535588f;
  return 0.5f * x * (1.0f + in_f32(math_tanh, kSqrt2OverPi * (x + 0.044715f * x * x * x)));
}

// From 0 down LOG is the lowest value, RSQRT the highest.
float log_f32(float x, float lowest) { return x <= 0.0f ? lowest : in_f32(math_log, x); }
float inverse_root_f32(float x, float highest) { return x <= 0.0f ? highest : 1.0f / std::sqrt(x); }

// LiteRT's optimised kernels take powers of two by other ones.
Function sigmoid_of_s16(Profile profile, const QuantType& x) {
  int exponent = 0;
  if (profile == Profile::tflite_optimized && is_near_power_of_two(x.scale, exponent) && exponent == -12)
    return [](std::int32_t q) { return std::int32_t{fixed_sigmoid16(static_cast<std::int16_t>(q))}; };
  return [form = InterpolatedSigmoid::of_sigmoid(x.scale)](std::int32_t q) {
    return std::int32_t{form.sigmoid(static_cast<std::int16_t>(q))};
  };
}
Function tanh_of_s16(Profile profile, const QuantType& x) {
  int exponent = 0;
  const bool is_power = is_near_power_of_two(x.scale, exponent) && (exponent == -12 || exponent == -11);
  if (profile == Profile::tflite_optimized && is_power)
    return [factor = exponent == -11 ? 2 : 1](std::int32_t q) {
      return std::int32_t{fixed_tanh16(static_cast<std::int16_t>(std::clamp(q * factor, -32768, 32767)), 3)};
    };
  return [form = InterpolatedSigmoid::of_tanh(x.scale)](std::int32_t q) {
    return std::int32_t{form.tanh(static_cast<std::int16_t>(q))};
  };
}

// Functions that LiteRT computes of s16 otherwise than of bytes; nothing for others.
Function s16_function_of(const UnaryAttrs& attrs, Profile profile, const QuantType& x, const QuantType& y) {
  switch (attrs.kind) {
    case UnaryKind::exp: return interpolated(x, y, [](float v) { return in_f32(math_exp, v); });
    case UnaryKind::gelu: return interpolated(x, y, gelu_f32);
    case UnaryKind::gelu_tanh: return interpolated(x, y, gelu_tanh_f32);
    case UnaryKind::log:
      return interpolated(x, y, [lowest = y.scale * -32768.0f](float v) { return log_f32(v, lowest); });
    case UnaryKind::sigmoid: return sigmoid_of_s16(profile, x);
    case UnaryKind::tanh: return tanh_of_s16(profile, x);
    default: return {};
  }
}

// CONCATENATION of u8 values with another scale, in f32.
Function joined(const QuantType& x, const QuantType& y) {
  const float scale = x.scale * (1.0f / y.scale);
  const float bias = -static_cast<float>(x.zero_point) * scale;
  return [=](std::int32_t q) { return rounded_away(static_cast<float>(q + x.zero_point) * scale + bias); };
}

// What stands between dequantize and quantize: nothing, one function, or the two of an inverse square root.
struct FixedTableSource {
  const Node* unary = nullptr;
  bool is_inverse_root = false;
  Dequantized x;
};
std::optional<FixedTableSource> fixed_table_source(const Graph& graph, const Quantized& end) {
  const Node* unary = graph.producer_if(end.x, kUnary);
  if (unary == nullptr) {
    const auto x = quantized_operand(graph, end.x, Stored::bytes_or_s16);
    return x ? std::optional(FixedTableSource{nullptr, false, *x}) : std::nullopt;
  }
  if (!graph.has_one_reader(end.x)) return std::nullopt;
  const Node* root = graph.producer_if(unary->inputs[0], kUnary);
  const bool is_inverse_root = unary->attrs.as<UnaryAttrs>().kind == UnaryKind::reciprocal && root != nullptr &&
                               root->attrs.as<UnaryAttrs>().kind == UnaryKind::sqrt;
  const ValueId operand = is_inverse_root ? root->inputs[0] : unary->inputs[0];
  const auto x = quantized_operand(graph, operand, Stored::bytes_or_s16);
  return x ? std::optional(FixedTableSource{unary, is_inverse_root, *x}) : std::nullopt;
}

// Nothing where there is no fixed-point form, or the source's own one is another.
Function function_of(const FixedTableSource& source, Profile profile, const QuantType& y) {
  const QuantType& x = source.x.type;
  const float ratio = x.scale / y.scale;
  if (source.unary == nullptr) {
    if (profile == Profile::tflite_joined) return joined(x, y);
    return rescaled(profile, static_cast<double>(x.scale) / static_cast<double>(y.scale));
  }
  if (!is_fixed_point(profile)) return {};
  const bool is_s16 = x.dtype == DType::s16;
  if (is_s16 && (y.dtype != DType::s16 || x.zero_point != 0 || y.zero_point != 0)) return {};
  if (source.is_inverse_root && is_s16)
    return interpolated(x, y, [highest = 32767.0f * y.scale](float v) { return inverse_root_f32(v, highest); });
  if (source.is_inverse_root) return inverse_square_root(profile, x, y);
  const auto& attrs = source.unary->attrs.as<UnaryAttrs>();
  if (Function own = is_s16 ? s16_function_of(attrs, profile, x, y) : Function()) return own;
  if (clamp_bounds(*source.unary)) return rescaled(profile, static_cast<double>(ratio));
  switch (attrs.kind) {
    case UnaryKind::abs:
      return [scaled = rescaled(profile, static_cast<double>(ratio))](std::int32_t q) { return scaled(std::abs(q)); };
    case UnaryKind::exp:
    case UnaryKind::gelu:
    case UnaryKind::gelu_tanh:
    case UnaryKind::log: return looked_up(attrs, x, y);
    case UnaryKind::hard_swish: {
      if (is_s16) return {};
      const FixedHardSwish form = FixedHardSwish::of(x.scale, y.scale);
      if (!form.is_possible()) return {};
      return [form](std::int32_t q) { return form.apply(q); };
    }
    case UnaryKind::leaky_relu: return leaky(profile, ratio, x.scale * attrs.alpha / y.scale);
    case UnaryKind::neg: return x.dtype == DType::u8 ? Function() : negated(x, y);
    case UnaryKind::sigmoid: return logistic(x, y);
    case UnaryKind::sqrt: return square_root(x, y);
    default: return {};
  }
}

// Entries for every value of the type of x.
Tensor table_of(const Function& function, const QuantType& x, const Quantized& end) {
  const std::int64_t entries = table_entries(x.dtype);
  Tensor table(end.type.dtype, Shape{entries});
  const IntegerRange range = range_of(x.dtype);
  for (auto q = static_cast<std::int32_t>(range.lowest); q <= range.highest; ++q) {
    const std::int64_t y = std::int64_t{function(q - x.zero_point)} + end.type.zero_point;
    const std::int64_t stored = std::clamp<std::int64_t>(y, end.lowest, end.highest), at = q & (entries - 1);
    if (end.type.dtype == DType::s16) table.as<std::int16_t>()[at] = static_cast<std::int16_t>(stored);
    else table.as<std::uint8_t>()[at] = static_cast<std::uint8_t>(stored);
  }
  return table;
}

ValueId looked_up_in(Patch& patch, const Node& named, ValueId x, Tensor table, std::string_view suffix) {
  const ValueId constant = patch.constant(named.name + std::string(suffix) + "/table", std::move(table));
  return patch.add(kTable, NoAttrs{}, {x, constant}, named.name + std::string(suffix), named.origin);
}

// LiteRT's optimised conversion takes so many elements at a time, and those that are left as the reference kernel does.
constexpr std::int64_t kTogether = 16;

// The table of those that are left, where some are and it is another one.
std::optional<Tensor> table_of_rest(const Graph& graph, const FixedTableSource& source, const Quantized& end,
                                    const Tensor& table) {
  const Dim elements = graph.fact(end.y).shape.elements();
  if (source.unary != nullptr || end.profile != Profile::tflite_optimized || !elements.is_number() ||
      elements % kTogether == 0)
    return std::nullopt;
  Tensor rest = table_of(function_of(source, Profile::tflite_double, end.type), source.x.type, end);
  return rest == table ? std::nullopt : std::optional(std::move(rest));
}

ValueId in_two_parts(Patch& patch, const Node& named, const FixedTableSource& source, const Quantized& end,
                     Tensor table, Tensor rest) {
  const std::vector<Dim> dims = patch.fact(end.y).shape.to_vector();
  const std::int64_t elements = patch.fact(end.y).shape.elements().fixed(), whole = elements - elements % kTogether;
  const auto shaped = [&](ValueId x, std::vector<Dim> shape, std::string_view suffix) {
    return patch.add(kReshape, ReshapeAttrs{std::move(shape)}, {x}, named.name + std::string(suffix), named.origin);
  };
  const auto part = [&](ValueId x, std::int64_t start, std::int64_t size, std::string_view suffix) {
    return patch.add(kSlice, SliceAttrs{{start}, {1}, {size}}, {x}, named.name + std::string(suffix), named.origin);
  };
  if (whole == 0) return looked_up_in(patch, named, source.x.q, std::move(rest), "");
  const ValueId flat = shaped(source.x.q, {elements}, "/flat");
  const ValueId first =
      looked_up_in(patch, named, part(flat, 0, whole, "/whole"), std::move(table), "/whole_looked_up");
  const ValueId last =
      looked_up_in(patch, named, part(flat, whole, elements - whole, "/rest"), std::move(rest), "/rest_looked_up");
  for (const ValueId y : {first, last}) patch.set_quant(y, end.type.params());
  const ValueId joined = patch.add(kConcat, ConcatAttrs{0}, {first, last}, named.name + "/joined", named.origin);
  patch.set_quant(joined, end.type.params());
  return shaped(joined, dims, "");
}

}  // namespace

Match fixed_table(const Graph& graph, const Node& node) {
  auto end = quantized_by(graph, node, Stored::bytes_or_s16);
  if (!end || !(is_fixed_point(end->profile) || end->profile == Profile::tflite_joined)) return std::string();
  const auto source = fixed_table_source(graph, *end);
  if (!source || (source->unary == nullptr && source->x.type == end->type)) return std::string();
  const bool is_s16 = source->x.type.dtype == DType::s16;
  if (is_s16 && source->unary == nullptr && is_8bit(end->type.dtype)) return std::string();  // fuse_fixed_rescale
  if (std::string refusal = is_s16 ? s16_table_refusal(graph) : std::string(); !refusal.empty()) return refusal;
  const Function function = function_of(*source, end->profile, end->type);
  if (!function) return std::string("its function has no fixed-point form");
  if (const auto bounds = source->unary == nullptr ? std::nullopt : clamp_bounds(*source->unary)) {
    const std::int32_t lowest =
        quantize_value_away(bounds->lowest, end->type.scale, end->type.zero_point, end->lowest, end->highest);
    end->highest =
        quantize_value_away(bounds->highest, end->type.scale, end->type.zero_point, end->lowest, end->highest);
    end->lowest = std::min(lowest, end->highest);
  }
  const Node& named = source->unary == nullptr ? node : *source->unary;
  Patch patch(graph);
  Tensor table = table_of(function, source->x.type, *end);
  auto rest = table_of_rest(graph, *source, *end, table);
  const ValueId y = rest ? in_two_parts(patch, named, *source, *end, std::move(table), *std::move(rest))
                         : looked_up_in(patch, named, source->x.q, std::move(table), "");
  patch.set_quant(y, end->type.params());
  patch.replace(end->y, y);
  return patch;
}

}  // namespace octavo
