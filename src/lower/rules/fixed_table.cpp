// Functions of one quantized value in fixed point. Part of lower/.
#include "lower/rules/fixed_table.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/fixed_point.h"
#include "lower/quantized_value.h"
#include "ops/table/table.h"
#include "ops/unary/unary.h"

namespace octavo {
namespace {

// Of x without its zero point, before the result's zero point and the clamp.
using Function = std::function<std::int32_t(std::int32_t)>;

Function rescaled(Profile profile, double factor) {
  return [profile, multiplier = FixedMultiplier::of(factor)](std::int32_t x) { return multiplier.apply(profile, x); };
}

// LiteRT's own kernel for conversions between u8 and s8, but in the last elements of a tensor, fewer than 16, where it
// is FixedMultiplier's: both roundings take halves up.
Function rescaled_between_types(double factor) {
  return [multiplier = FixedMultiplier::of(factor)](std::int32_t x) {
    const int left = std::max(multiplier.shift, 0), right = std::max(-multiplier.shift, 0);
    const std::int64_t high = rounding_high_product(wrapping_shift_left(x, left), multiplier.multiplier);
    return static_cast<std::int32_t>((high + ((std::int64_t{1} << right) >> 1)) >> right);
  };
}

Function leaky(Profile profile, float ratio, float slope) {
  const Function above = rescaled(profile, static_cast<double>(ratio));
  const Function below = rescaled(profile, std::fabs(static_cast<double>(slope)));
  return [=](std::int32_t x) { return x >= 0 ? above(x) : (slope < 0.0f ? -below(x) : below(x)); };
}

// LOGISTIC of the reference kernels: f32, exponential rounded once.
Function logistic(const QuantType& x, const QuantType& y) {
  return [x_scale = x.scale, inverse = 1.0f / y.scale](std::int32_t q) {
    const float power = static_cast<float>(math_exp(static_cast<double>(-(x_scale * static_cast<float>(q)))));
    return static_cast<std::int32_t>(round_away(clamp_f32(1.0f / (1.0f + power) * inverse, -65536.0f, 65536.0f)));
  };
}

// Nothing where there is no fixed-point form, or the source's own one is another.
Function function_of(const Node* unary, Profile profile, const QuantType& x, const QuantType& y) {
  const float ratio = x.scale / y.scale;
  if (unary == nullptr) {
    const double exact = static_cast<double>(x.scale) / static_cast<double>(y.scale);
    return profile == Profile::tflite_xnnpack ? rescaled_between_types(exact) : rescaled(profile, exact);
  }
  const auto& attrs = unary->attrs.as<UnaryAttrs>();
  if (clamp_bounds(*unary)) return rescaled(profile, static_cast<double>(ratio));
  if (attrs.kind == UnaryKind::sigmoid) return logistic(x, y);
  if (attrs.kind == UnaryKind::leaky_relu) return leaky(profile, ratio, x.scale * attrs.alpha / y.scale);
  if (attrs.kind == UnaryKind::hard_swish) {
    const FixedHardSwish form = FixedHardSwish::of(x.scale, y.scale);
    if (form.is_possible()) return [form](std::int32_t q) { return form.apply(q); };
  }
  return {};
}

// CONCATENATION of u8 values with another scale, in f32; files have no QUANTIZE there.
bool is_into_concat(const Graph& graph, const Node* unary, const QuantType& x, const Quantized& end) {
  const Node* reader = only_reader(graph, end.y);
  return unary == nullptr && x.dtype == DType::u8 && end.type.dtype == DType::u8 && reader != nullptr &&
         elements_of(*reader->spec, reader->attrs) == Elements::joined;
}
Function concatenated(const QuantType& x, const QuantType& y) {
  const float scale = x.scale * (1.0f / y.scale);
  const float bias = -static_cast<float>(x.zero_point) * scale;
  return [=](std::int32_t q) {
    const float real = static_cast<float>(q + x.zero_point) * scale + bias;
    return static_cast<std::int32_t>(round_away(clamp_f32(real, -65536.0f, 65536.0f)));
  };
}

// Conversions of one type, LEAKY_RELU and LOGISTIC are XNNPACK's.
bool is_for_xnnpack(const Node* unary, const QuantType& x, const QuantType& y) {
  if (unary == nullptr) return x.dtype != y.dtype;
  const UnaryKind kind = unary->attrs.as<UnaryAttrs>().kind;
  return kind != UnaryKind::leaky_relu && kind != UnaryKind::sigmoid;
}

// Entries for every byte of the type of x.
Tensor table_of(const Function& function, const QuantType& x, const Quantized& end) {
  Tensor table(end.type.dtype, Shape{256});
  const IntegerRange range = range_of(x.dtype);
  for (auto q = static_cast<std::int32_t>(range.lowest); q <= range.highest; ++q) {
    const std::int64_t y = std::int64_t{function(q - x.zero_point)} + end.type.zero_point;
    table.as<std::uint8_t>()[q & 0xff] =
        static_cast<std::uint8_t>(std::clamp<std::int64_t>(y, end.lowest, end.highest));
  }
  return table;
}

}  // namespace

Match fixed_table(const Graph& graph, const Node& node) {
  auto end = quantized_by(graph, node);
  if (!end || !is_of_tflite(end->profile)) return std::string();
  const Node* unary = graph.producer_if(end->x, kUnary);
  if (unary != nullptr && !graph.has_one_reader(end->x)) return std::string();
  const auto x = dequantized(graph, unary == nullptr ? end->x : unary->inputs[0]);
  if (!x || (unary == nullptr && x->type == end->type)) return std::string();
  const bool is_concat = is_into_concat(graph, unary, x->type, *end);
  if (end->profile == Profile::tflite_xnnpack && !is_concat && !is_for_xnnpack(unary, x->type, end->type))
    return std::string();
  const Function function =
      is_concat ? concatenated(x->type, end->type) : function_of(unary, end->profile, x->type, end->type);
  if (!function) return std::string("its function has no fixed-point form");
  if (const auto bounds = unary == nullptr ? std::nullopt : clamp_bounds(*unary)) {
    const std::int32_t lowest =
        quantize_value_away(bounds->lowest, end->type.scale, end->type.zero_point, end->lowest, end->highest);
    end->highest =
        quantize_value_away(bounds->highest, end->type.scale, end->type.zero_point, end->lowest, end->highest);
    end->lowest = std::min(lowest, end->highest);
  }
  const Node& named = unary == nullptr ? node : *unary;
  Patch patch(graph);
  const ValueId constant = patch.constant(named.name + "/table", table_of(function, x->type, *end));
  const ValueId y = patch.add(kTable, NoAttrs{}, {x->q, constant}, named.name, named.origin);
  patch.set_quant(y, end->type.params());
  patch.replace(end->y, y);
  return patch;
}

}  // namespace octavo
