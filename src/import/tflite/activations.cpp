// TFLite readers: functions of one element. Part of import/.
#include <algorithm>
#include <array>

#include "import/tflite/operators.h"
#include "ops/list.h"

namespace octavo::tflite_import {
namespace {

struct Unary {
  std::string_view type;
  UnaryAttrs attrs;
};

// Sorted by type.
constexpr std::array kUnaries = {
    Unary{"ABS", {.kind = UnaryKind::abs}},
    Unary{"CEIL", {.kind = UnaryKind::ceil}},
    Unary{"COS", {.kind = UnaryKind::cos}},
    Unary{"ELU", {.kind = UnaryKind::elu, .alpha = 1.0f}},
    Unary{"EXP", {.kind = UnaryKind::exp}},
    Unary{"FLOOR", {.kind = UnaryKind::floor}},
    Unary{"HARD_SWISH", {.kind = UnaryKind::hard_swish}},
    Unary{"LOG", {.kind = UnaryKind::log}},
    Unary{"LOGISTIC", {.kind = UnaryKind::sigmoid}},
    Unary{"NEG", {.kind = UnaryKind::neg}},
    Unary{"RELU", {.kind = UnaryKind::relu}},
    Unary{"RELU6", {.kind = UnaryKind::clip, .alpha = 0.0f, .beta = 6.0f}},
    Unary{"RELU_0_TO_1", {.kind = UnaryKind::clip, .alpha = 0.0f, .beta = 1.0f}},
    Unary{"RELU_N1_TO_1", {.kind = UnaryKind::clip, .alpha = -1.0f, .beta = 1.0f}},
    Unary{"ROUND", {.kind = UnaryKind::round}},
    Unary{"SIGN", {.kind = UnaryKind::sign}},
    Unary{"SIN", {.kind = UnaryKind::sin}},
    Unary{"SQRT", {.kind = UnaryKind::sqrt}},
    Unary{"TANH", {.kind = UnaryKind::tanh}},
};

}  // namespace

void read_unary(OperatorReader& in) {
  const auto entry = std::lower_bound(kUnaries.begin(), kUnaries.end(), in.type(),
                                      [](const Unary& unary, const std::string& type) { return unary.type < type; });
  const ValueId x = in.operand(0);
  in.output(0, in.add(kUnary, entry->attrs, {x}));
}

void read_leaky_relu(OperatorReader& in) {
  const float alpha = in.required_options<file::LeakyReluOptions>().alpha();
  const ValueId x = in.operand(0);
  in.output(0, in.add(kUnary, UnaryAttrs{.kind = UnaryKind::leaky_relu, .alpha = alpha}, {x}));
}

void read_prelu(OperatorReader& in) {
  const ValueId x = in.operand(0), slope = in.operand(1);
  in.output(0, in.add(kBinary, BinaryAttrs{.kind = BinaryKind::prelu}, {x, slope}));
}

}  // namespace octavo::tflite_import
