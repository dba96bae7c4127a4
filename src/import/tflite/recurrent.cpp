// TFLite readers: recurrent layers of floats. Part of import/.
#include "import/tflite/operators.h"
#include "ops/recurrence/recurrence.h"

namespace octavo::tflite_import {
namespace {

// Inputs of a sequence of an LSTM, by position; weights and biases are those of the gates i, f, c, o.
enum LstmInput : int {
  kX = 0,
  kWeights = 1,
  kRecurrent = 5,
  kPeepholes = 9,
  kBias = 12,
  kProjection = 16,
  kHidden = 18,
  kCell = 19,
  kNorms = 20,
  kInputs = 24
};
// The order in which a recurrence takes gates: i, o, f, c.
constexpr int kGates[] = {0, 3, 1, 2};

UnaryAttrs cell_function(OperatorReader& in, int function) {
  constexpr int kRelu = 1, kTanh = 4, kSigmoid = 6;
  if (function == kRelu) return {.kind = UnaryKind::relu};
  if (function == kTanh) return {.kind = UnaryKind::tanh};
  if (function == kSigmoid) return {.kind = UnaryKind::sigmoid};
  in.unsupported("fused activation function", std::to_string(function), "RELU, TANH or SIGMOID");
  return {};
}

// One tensor of all gates, in a recurrence's order.
ValueId of_gates(OperatorReader& in, int first, const std::string& name) {
  std::vector<ValueId> parts;
  for (const int gate : kGates) parts.push_back(in.value(first + gate));
  return concat(in, parts, 0, name);
}

void refuse_variants(OperatorReader& in, const file::UnidirectionalSequenceLSTMOptions& given) {
  const auto refuse = [&](int first, int count, const std::string& what) {
    for (int i = first; i < first + count && !in.failed(); ++i) {
      if (in.has(i)) in.unsupported("input " + std::to_string(i), what, "none");
    }
  };
  if (!in.has(kWeights) && !in.failed())
    in.unsupported("input 1", "none: an input gate that is 1 - f", "a gate of its own");
  refuse(kPeepholes, 3, "peepholes");
  refuse(kProjection, 2, "a projection");
  refuse(kNorms, 4, "normalized gates");
  if (given.cell_clip() != 0.0f) in.unsupported("option 'cell_clip'", std::to_string(given.cell_clip()), "0");
}

// A state that the operator keeps is zeros when a run begins; nothing stands for zeros.
ValueId first_state(OperatorReader& in, int input) {
  return !in.has(input) || in.tensor(input).is_variable ? ValueId{} : in.value(input);
}

ValueId read_sequence_lstm(OperatorReader& in) {
  const auto& given = in.required_options<file::UnidirectionalSequenceLSTMOptions>();
  const ValueId input = in.placed(in.value(kX), "input 'x'");
  in.require_rank(input, 3, 3);
  refuse_variants(in, given);
  const UnaryAttrs function = cell_function(in, given.fused_activation_function());
  if (in.failed()) return {};
  if (in.tensor(kWeights).dtype != DType::f32 || in.dtype(input) != DType::f32)
    return in.unsupported("weights", std::string(octavo::name_of(in.tensor(kWeights).dtype)), "f32 beside f32");
  const ValueId x = given.time_major() ? input : swap_axes(in, input, 0, 1, "time_first");
  const ValueId w = swap_axes(in, of_gates(in, kWeights, "w"), 0, 1, "wt");
  const ValueId r = swap_axes(in, of_gates(in, kRecurrent, "r"), 0, 1, "rt");
  const ValueId products = matmul(in, x, w, of_gates(in, kBias, "bias"), "inputs");
  std::vector<ValueId> inputs{products, r, {}, first_state(in, kHidden), first_state(in, kCell)};
  while (!inputs.back().exists()) inputs.pop_back();
  if (in.failed()) return {};
  const RecurrenceAttrs attrs{.gate = {.kind = UnaryKind::sigmoid}, .candidate = function, .output = function};
  const auto made = in.add_exactly(kRecurrence, attrs, std::move(inputs), "states");
  return given.time_major() || in.failed() ? made[0] : swap_axes(in, made[0], 0, 1, "batch_first");
}

constexpr OperatorEntry kTable[] = {
    {"UNIDIRECTIONAL_SEQUENCE_LSTM", kCell + 1, kInputs, 1, Operands::real, read_sequence_lstm},
};

}  // namespace

const std::span<const OperatorEntry> kRecurrentLayers = kTable;

}  // namespace octavo::tflite_import
