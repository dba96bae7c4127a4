// TFLite readers: the LSTM of 8-bit values with 16-bit cells. Part of import/.
#include <cmath>

#include "import/tflite/operators.h"
#include "import/tflite/recurrent.h"
#include "ops/fixed_lstm/fixed_lstm.h"

namespace octavo::tflite_import {
namespace {

// Of the file's gates i, f, c, o, by FixedGate.
constexpr int kGateInFile[] = {1, 2, 3, 0};
constexpr int kHiddenIntermediate = 4, kIntermediates = 5;

// [gates, ...] of weights or biases.
ValueId integer_lstm_of_gates(OperatorReader& in, int first, std::size_t gates, const std::string& name) {
  std::vector<ValueId> lines;
  for (std::size_t gate = 0; gate < gates; ++gate)
    lines.push_back(unsqueeze(in, in.stored(first + kGateInFile[gate]), Integers{0}, name + std::to_string(gate)));
  return concat(in, lines, 0, name);
}

FixedMultiplier factor(float scale) { return FixedMultiplier::of(static_cast<double>(scale)); }

// A bound in units of `scale`; 0 is none.
std::int32_t clip_of(float clip, float scale, float most) {
  return clip > 0.0f ? static_cast<std::int32_t>(std::min(clip / scale, most)) : 0;
}

FixedLstmAttrs read_attrs(OperatorReader& in, const LstmAt& at, const LstmOptions& options, std::size_t gates) {
  constexpr float kGateScale = 0x1p-12f;
  const OneScale x = scale_of_input(in, 0, DType::s8), h = scale_of_input(in, at.hidden, DType::s8);
  const float cell = scale_without_zero(in, at.cell, DType::s16);
  FixedLstmAttrs attrs{.x_zero_point = x.zero_point, .h_zero_point = h.zero_point};
  for (std::size_t gate = 0; gate < gates; ++gate) {
    attrs.of_x[gate] = factor(scale_without_zero(in, at.weights + kGateInFile[gate], DType::s8) * x.scale / kGateScale);
    attrs.of_h[gate] =
        factor(scale_without_zero(in, at.recurrent + kGateInFile[gate], DType::s8) * h.scale / kGateScale);
  }
  if (in.failed()) return attrs;
  const OneScale hidden = scale_of(in, in.intermediate(kHiddenIntermediate), DType::s8,
                                   "intermediate " + std::to_string(kHiddenIntermediate));
  attrs.hidden = factor(static_cast<float>(0x1p-15 / static_cast<double>(hidden.scale) * 0x1p-15));
  // LiteRT takes the zero point away from what goes into a projection, and adds it there: seen where values saturate.
  attrs.hidden_zero_point = in.has(at.projection) ? -hidden.zero_point : hidden.zero_point;
  if (in.has(at.projection))
    attrs.projection = factor(scale_without_zero(in, at.projection, DType::s8) * hidden.scale / h.scale);
  int exponent = 0;
  const bool is_power = std::frexp(cell, &exponent) == 0.5f;
  attrs.cell_exponent = exponent - 1;
  if (!in.failed() && (!is_power || exponent - 1 < -15 || exponent - 1 > -9))
    in.unsupported("input " + std::to_string(at.cell), "the scale " + std::to_string(cell), "2^-15 to 2^-9");
  attrs.cell_clip = clip_of(options.cell_clip, cell, 32767.0f);
  attrs.projection_clip = clip_of(options.projection_clip, h.scale, 127.0f);
  return attrs;
}

}  // namespace

ValueId add_integer_lstm(OperatorReader& in, const LstmAt& at, ValueId x, const LstmOptions& options) {
  constexpr int kTanh = 4;
  if (in.failed()) return {};
  refuse(in, at.peepholes, 3, "peepholes in integers");
  refuse(in, at.norms, 4, "normalized gates in integers");
  if (options.function != kTanh)
    in.unsupported("fused activation function", std::to_string(options.function), "TANH (4)");
  if (in.intermediate_count() != kIntermediates)
    in.unsupported("intermediates", std::to_string(in.intermediate_count()), "5: the form with 16-bit cells");
  const std::size_t gates = has_input_gate(in, at) ? 4 : 3;
  const FixedLstmAttrs attrs = read_attrs(in, at, options, gates);
  const auto part = [&](int input) { return in.has(input) ? in.stored(input) : ValueId{}; };
  const auto state = [&](int input) { return in.tensor(input).is_variable ? ValueId{} : part(input); };
  std::vector<ValueId> inputs{x,
                              integer_lstm_of_gates(in, at.weights, gates, "w"),
                              integer_lstm_of_gates(in, at.recurrent, gates, "r"),
                              integer_lstm_of_gates(in, at.bias, gates, "bias"),
                              part(at.projection),
                              part(at.projection + 1),
                              state(at.hidden),
                              state(at.cell)};
  if (in.failed()) return {};
  while (!inputs.back().exists()) inputs.pop_back();
  return in.add(kFixedLstm, attrs, std::move(inputs), "states");
}

}  // namespace octavo::tflite_import
