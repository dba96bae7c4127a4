// Counts multiply-accumulates. Part of plan/.
#include "plan/macs.h"

#include <algorithm>
#include <array>
#include <limits>

namespace octavo {
namespace {

constexpr std::array<std::string_view, 6> kConvolutions = {"conv",       "conv_integer", "float_depthwise",
                                                           "fused_conv", "hybrid_conv",  "quantized_conv"};
constexpr std::array<std::string_view, 3> kProducts = {"matmul", "matmul_integer", "quantized_matmul"};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Products that each output element sums up.
std::int64_t depth_of(std::string_view op, const Shape& a, const Shape& w) {
  if (is_one_of(op, kConvolutions)) return w.rank() == 0 || w[0] == 0 ? 0 : w.elements() / w[0];
  if (is_one_of(op, kProducts)) return a.rank() == 0 ? 1 : a[a.rank() - 1];
  return 0;
}

std::int64_t saturating_product(std::int64_t depth, std::int64_t elements) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return depth > 0 && elements > most / depth ? most : elements * depth;
}

}  // namespace

std::int64_t macs_of(const OpCall& call) {
  if (call.inputs.size() < 2 || call.inputs[0] == nullptr || call.inputs[1] == nullptr || call.outputs.empty())
    return 0;
  return saturating_product(depth_of(call.spec->name, call.inputs[0]->shape, call.inputs[1]->shape),
                            call.outputs[0].shape.elements());
}

std::int64_t macs_of(const PlanStep& step) {
  if (step.inputs.size() < 2 || step.outputs.empty()) return 0;
  return saturating_product(depth_of(step.op, Shape(step.inputs[0].shape), Shape(step.inputs[1].shape)),
                            Shape(step.outputs[0].shape).elements());
}

}  // namespace octavo
