// Counts multiply-accumulates. Part of plan/.
#include "plan/macs.h"

#include <algorithm>
#include <array>
#include <limits>

namespace octavo {
namespace {

constexpr std::array<std::string_view, 4> kConvolutions = {"conv", "conv_integer", "fused_conv", "quantized_conv"};
constexpr std::array<std::string_view, 3> kProducts = {"matmul", "matmul_integer", "quantized_matmul"};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) { return std::find(names.begin(), names.end(), name) != names.end(); }

// Products that each output element sums up.
std::int64_t depth_of(const OpCall& call) {
  if (call.inputs.size() < 2 || call.inputs[0] == nullptr || call.inputs[1] == nullptr) return 0;
  const Shape& a = call.inputs[0]->shape;
  const Shape& w = call.inputs[1]->shape;
  if (is_one_of(call.spec->name, kConvolutions)) return w.rank() == 0 || w[0] == 0 ? 0 : w.elements() / w[0];
  if (is_one_of(call.spec->name, kProducts)) return a.rank() == 0 ? 1 : a[a.rank() - 1];
  return 0;
}

}  // namespace

std::int64_t macs_of(const OpCall& call) {
  const std::int64_t depth = depth_of(call);
  if (depth == 0 || call.outputs.empty()) return 0;
  const std::int64_t elements = call.outputs[0].shape.elements();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return elements > most / depth ? most : elements * depth;
}

}  // namespace octavo
