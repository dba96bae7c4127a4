// ONNX readers: convolutions. Part of import/.
#include <array>
#include <limits>

#include "import/onnx/operators.h"
#include "import/onnx/parts.h"
#include "import/onnx/windows.h"
#include "ops/list.h"

namespace octavo::onnx_import {
namespace {

// What Conv, QLinearConv and ConvInteger have in common.
struct Common {
  Window window;
  std::int64_t groups = 1;
};

Common read_common(NodeReader& in, ValueId x, ValueId w) {
  in.require_rank("X", x, 3, kMaxRank);
  in.require_rank("W", w, in.rank(x), in.rank(x));
  if (in.failed()) return {};
  const auto kernel = read_kernel(in, in.shape(w).dims().subspan(2));
  const auto window = read_window(in, kernel, in.shape(x).dims().subspan(2));
  return {window.window, in.attributes.integer("group", 1)};
}

// An activation that com.microsoft.FusedConv names, and how many numbers it takes.
struct Activation {
  std::string_view name;
  UnaryKind kind;
  std::size_t parameters;
};
constexpr std::array kActivations = {
    Activation{"Clip", UnaryKind::clip, 2},
    Activation{"HardSigmoid", UnaryKind::hard_sigmoid, 2},
    Activation{"LeakyRelu", UnaryKind::leaky_relu, 1},
    Activation{"Relu", UnaryKind::relu, 0},
    Activation{"Sigmoid", UnaryKind::sigmoid, 0},
    Activation{"Tanh", UnaryKind::tanh, 0},
};

ValueId activate(NodeReader& in, ValueId x) {
  const std::string name = in.attributes.text("activation", "");
  const std::vector<float> parameters = in.attributes.numbers("activation_params");
  for (const Activation& activation : kActivations) {
    if (activation.name != name) continue;
    if (parameters.size() != activation.parameters) {
      in.fail("attribute 'activation_params'", std::to_string(parameters.size()) + " numbers",
              std::to_string(activation.parameters));
      return {};
    }
    const UnaryAttrs attrs{activation.kind, parameters.empty() ? 0.0f : parameters[0],
                           parameters.size() < 2 ? 0.0f : parameters[1]};
    return in.add(kUnary, attrs, {x});
  }
  in.unsupported("attribute 'activation'", "'" + name + "'", "Clip, HardSigmoid, LeakyRelu, Relu, Sigmoid or Tanh");
  return {};
}

}  // namespace

ValueId add_conv(NodeReader& in, ValueId x, ValueId w, ValueId bias, std::string_view suffix) {
  const Common common = read_common(in, x, w);
  return in.add(kConv, ConvAttrs{.window = common.window, .groups = common.groups}, {x, w, bias}, suffix);
}

void read_conv(NodeReader& in) {
  const ValueId x = in.value(0), w = in.value(1), bias = in.optional(2);
  in.output(0, add_conv(in, x, w, bias, ""));
}

void read_fused_conv(NodeReader& in) {
  const ValueId x = in.value(0), w = in.value(1), bias = in.optional(2), residual = in.optional(3);
  ValueId y = add_conv(in, x, w, bias, "conv");
  if (residual.exists()) y = in.add(kBinary, BinaryAttrs{.kind = BinaryKind::add}, {y, residual}, "sum");
  in.output(0, activate(in, y));
}

void read_conv_integer(NodeReader& in) {
  const ValueId x = in.value(0), w = in.value(1), x_zero_point = in.optional(2), w_zero_point = in.optional(3);
  const Common common = read_common(in, x, w);
  in.output(0, in.add(kConvInteger, ConvIntegerAttrs{.window = common.window, .groups = common.groups},
                      {x, w, scalar_if_single(in, x_zero_point, "x_zero_point"),
                       scalar_if_single(in, w_zero_point, "w_zero_point")}));
}

}  // namespace octavo::onnx_import
