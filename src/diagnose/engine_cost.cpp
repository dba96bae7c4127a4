// The measured rates. Part of diagnose/.
#include "diagnose/engine_cost.h"

#include <algorithm>
#include <cmath>

#include "diagnose/census.h"

namespace octavo::diagnose {
namespace {

// Least times of nodes in the profiles of ONNX Runtime 1.32.0, one thread of an Intel Xeon with AVX-512 VNNI,
// 2026-11-26: convolutions 3x3 of 128 channels at 28x28 and of 64 at 56x56, depthwise ones of 128 at 28x28, products
// 128x768x768, passes over 64x56x56.
constexpr EngineRates kOrt{
    .packed_float = {.conv = 87.0, .depthwise = 29.0, .matmul = 70.0},
    .loose_float = {.conv = 54.0, .depthwise = 3.3, .matmul = 60.0},
    .integer = {.conv = 330.0, .depthwise = 18.8, .matmul = 260.0},
    .signed_slow = {.conv = 1.2, .depthwise = 8.3, .matmul = 13.5},
    .unsigned_slow = {.conv = 75.0, .depthwise = 8.4, .matmul = 77.0},
    .dynamic = {.conv = 60.0, .depthwise = 8.0, .matmul = 260.0},
    .signed_shallow = 13.5,
    .signed_deep = 1.2,
    .quantize_ns = 0.27,
    .dequantize_ns = 0.17,
    .weight_ns = 0.54,
    .pass_ns = 0.29,
    .float_pass_ns = 0.5,
    .mean_ns = 1.1,
    .node_us = 4.0,
    .source = "ONNX Runtime 1.32.0, one thread of an Intel Xeon with AVX-512 VNNI",
};

// Of others none was measured by node: the arithmetic of the same machine. What rests on it is `likely`, not `known`.
constexpr EngineRates kOthers{
    .packed_float = {.conv = 80.0, .depthwise = 20.0, .matmul = 70.0},
    .loose_float = {.conv = 60.0, .depthwise = 10.0, .matmul = 60.0},
    .integer = {.conv = 250.0, .depthwise = 25.0, .matmul = 200.0},
    .signed_slow = {.conv = 250.0, .depthwise = 25.0, .matmul = 200.0},
    .unsigned_slow = {.conv = 250.0, .depthwise = 25.0, .matmul = 200.0},
    .dynamic = {.conv = 120.0, .depthwise = 15.0, .matmul = 150.0},
    .quantize_ns = 0.3,
    .dequantize_ns = 0.2,
    .weight_ns = 0.5,
    .pass_ns = 0.3,
    .float_pass_ns = 0.5,
    .mean_ns = 0.5,
    .node_us = 2.0,
    .source = "not measured: by the arithmetic of an Intel Xeon with AVX-512 VNNI, one thread",
};

const EngineRates::Products& rates_in(const EngineRates& rates, Form form) {
  switch (form) {
    case Form::packed_float: return rates.packed_float;
    case Form::loose_float: return rates.loose_float;
    case Form::integer: return rates.integer;
    case Form::signed_slow: return rates.signed_slow;
    case Form::unsigned_slow: return rates.unsigned_slow;
    case Form::dynamic: return rates.dynamic;
  }
  return rates.packed_float;
}

}  // namespace

const EngineRates& rates_of(Engine engine) { return engine == Engine::ort ? kOrt : kOthers; }

double product_ms(const FileView& view, const ViewNode& node, const EngineRates& rates, Form form) {
  const auto macs = static_cast<double>(sight::macs_of(view, node));
  if (macs <= 0.0) return 0.0;
  const auto& of_form = rates_in(rates, form);
  double rate = node.kind == Kind::depthwise_conv ? of_form.depthwise
                : node.kind == Kind::matmul       ? of_form.matmul
                                                  : of_form.conv;
  if (form == Form::signed_slow && rates.signed_deep > 0.0 && node.kind != Kind::depthwise_conv) {
    constexpr double kShallow = 128.0, kDeep = 1152.0;
    const double depth = std::clamp(static_cast<double>(sight::depth_of(view, node)), kShallow, kDeep);
    const double place = std::log(depth / kShallow) / std::log(kDeep / kShallow);
    rate = rates.signed_shallow * std::pow(rates.signed_deep / rates.signed_shallow, place);
  }
  return macs / rate * 1e-6 + rates.node_us * 1e-3;
}

double pass_ms(std::int64_t elements, double ns_per_element, const EngineRates& rates) {
  return static_cast<double>(elements) * ns_per_element * 1e-6 + rates.node_us * 1e-3;
}

}  // namespace octavo::diagnose
