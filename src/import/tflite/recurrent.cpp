// TFLite readers: recurrent layers of floats. Part of import/.
#include "import/tflite/recurrent.h"

#include "import/tflite/operators.h"
#include "ops/recurrence/recurrence.h"

namespace octavo::tflite_import {
namespace {

using B = BinaryKind;

constexpr LstmAt kOneWay{
    .weights = 1, .recurrent = 5, .peepholes = 9, .bias = 12, .projection = 16, .hidden = 18, .cell = 19, .norms = 20};
constexpr LstmAt kForward{
    .weights = 1, .recurrent = 5, .peepholes = 9, .bias = 12, .projection = 16, .hidden = 35, .cell = 36};
constexpr LstmAt kBackward{
    .weights = 18, .recurrent = 22, .peepholes = 26, .bias = 29, .projection = 33, .hidden = 37, .cell = 38};
constexpr int kInputs = 24, kFewestInputs = 20;
constexpr int kAuxiliary = 39, kTwoWayInputs = 48;

// One tensor of all gates, in a recurrence's order: i, o, f, c. Without an input gate, i = 1 - f, which is f of the
// negative sum.
ValueId recurrent_of_gates(OperatorReader& in, int first, bool has_input, const std::string& name) {
  const ValueId f = in.value(first + 1);
  const ValueId i = has_input ? in.value(first) : in.unary({.kind = UnaryKind::neg}, f, name + ".negative");
  return concat(in, {i, in.value(first + 3), f, in.value(first + 2)}, 0, name);
}

// A matrix the other way round.
ValueId turned(OperatorReader& in, ValueId matrix, const std::string& name) {
  in.require_rank(matrix, 2, 2);
  return swap_axes(in, matrix, 0, 1, name);
}

// p of i, o and f; nothing where there are none.
ValueId peepholes_of(OperatorReader& in, const LstmAt& at, bool has_input, const std::string& name) {
  if (!in.has(at.peepholes + 2)) return {};
  const ValueId f = in.value(at.peepholes + 1);
  const ValueId i =
      has_input ? in.value(at.peepholes) : in.unary({.kind = UnaryKind::neg}, f, name + "peepholes.negative");
  std::vector<ValueId> lines{i, in.value(at.peepholes + 2), f};
  for (std::size_t line = 0; line < lines.size(); ++line)
    lines[line] = unsqueeze(in, lines[line], Integers{0}, name + "peephole" + std::to_string(line));
  return concat(in, lines, 0, name + "peepholes");
}

void recurrent_require_floats(OperatorReader& in, ValueId x, int weights) {
  if (in.failed()) return;
  const bool is_read_as_floats = in.built().options.dequantizes_dynamic && is_8bit(in.tensor(weights).dtype);
  if ((in.tensor(weights).dtype != DType::f32 && !is_read_as_floats) || in.dtype(x) != DType::f32)
    in.unsupported("weights", std::string(octavo::name_of(in.tensor(weights).dtype)), "f32 beside f32");
}

// h of every step [T, B, P] of one direction, x [T, B, I].
ValueId add_lstm(OperatorReader& in, const LstmAt& at, ValueId x, const LstmOptions& options,
                 const LstmDirection& direction) {
  if (needs_full_lstm(in, at, options)) return add_full_lstm(in, at, x, options, direction);
  recurrent_require_floats(in, x, at.weights + 1);
  const std::string& name = direction.name;
  const UnaryAttrs function = cell_function(in, options.function);
  if (in.failed()) return {};
  const bool has_input = has_input_gate(in, at);
  const ValueId w = turned(in, recurrent_of_gates(in, at.weights, has_input, name + "w"), name + "wt");
  const ValueId r = turned(in, recurrent_of_gates(in, at.recurrent, has_input, name + "r"), name + "rt");
  const ValueId products = matmul(in, x, w, recurrent_of_gates(in, at.bias, has_input, name + "bias"), name + "inputs");
  std::vector<ValueId> inputs{
      products, r, {}, first_state(in, at.hidden), first_state(in, at.cell), peepholes_of(in, at, has_input, name)};
  if (in.failed()) return {};
  while (!inputs.back().exists()) inputs.pop_back();
  const RecurrenceAttrs attrs{.is_backward = direction.is_backward,
                              .gate = {.kind = UnaryKind::sigmoid},
                              .candidate = function,
                              .output = function};
  return in.add_exactly(kRecurrence, attrs, std::move(inputs), name + "states")[0];
}

// The form without floats, whose operands are as stored.
bool is_of_integers(OperatorReader& in) { return in.tensor(0).dtype == DType::s8; }

// x [T, B, I] from the order of the file.
ValueId time_first(OperatorReader& in, int input, bool is_time_major, const std::string& name) {
  const ValueId x =
      in.placed(is_of_integers(in) ? in.stored(input) : in.value(input), "input " + std::to_string(input));
  in.require_rank(x, 3, 3);
  return is_time_major || in.failed() ? x : swap_axes(in, x, 0, 1, name);
}

ValueId in_order(OperatorReader& in, ValueId made, bool is_time_major, const std::string& name) {
  return is_time_major || in.failed() ? made : swap_axes(in, made, 0, 1, name);
}

// Of one direction alone, floats or integers.
ValueId one_way(OperatorReader& in, ValueId x, const LstmOptions& options) {
  return is_of_integers(in) ? add_integer_lstm(in, kOneWay, x, options) : add_lstm(in, kOneWay, x, options, {});
}

ValueId read_sequence_lstm(OperatorReader& in) {
  const auto& given = in.required_options<file::UnidirectionalSequenceLSTMOptions>();
  const LstmOptions options{given.fused_activation_function(), given.cell_clip(), given.proj_clip(),
                            given.asymmetric_quantize_inputs()};
  const ValueId x = time_first(in, 0, given.time_major(), "time_first");
  return in_order(in, one_way(in, x, options), given.time_major(), "batch_first");
}

// What both directions give, along the last axis or as a result each.
ValueId both(OperatorReader& in, ValueId forward, ValueId backward, bool is_merged) {
  if (is_merged) return concat(in, {forward, backward}, 2, "merged");
  in.output(1, backward);
  return forward;
}

bool has_results(OperatorReader& in, bool is_merged) {
  const int expected = is_merged ? 1 : 2;
  if (in.output_count() != expected)
    in.fail("", std::to_string(in.output_count()) + " outputs", std::to_string(expected));
  return !in.failed();
}

ValueId read_two_way_lstm(OperatorReader& in) {
  const auto& given = in.required_options<file::BidirectionalSequenceLSTMOptions>();
  const LstmOptions options{given.fused_activation_function(), given.cell_clip(), given.proj_clip(),
                            given.asymmetric_quantize_inputs()};
  if (!has_results(in, given.merge_outputs())) return {};
  refuse(in, kAuxiliary + 1, 8, "weights of an auxiliary input");
  const ValueId x = time_first(in, 0, given.time_major(), "time_first");
  // A second input is that of the other direction.
  const ValueId y = in.has(kAuxiliary) ? time_first(in, kAuxiliary, given.time_major(), "auxiliary.time_first") : x;
  const auto made = [&](const LstmAt& at, ValueId from, const std::string& name) {
    const LstmDirection direction{at.weights != kForward.weights, name + "."};
    return in_order(in, add_lstm(in, at, from, options, direction), given.time_major(), name);
  };
  const ValueId forward = made(kForward, x, "forward"), backward = made(kBackward, y, "backward");
  return both(in, forward, backward, given.merge_outputs());
}

// One step, x [B, I]; the older form joins all weights: gates i, c, f, o, columns of x before those of h.
ValueId read_lstm(OperatorReader& in) {
  const auto& given = in.required_options<file::LSTMOptions>();
  const LstmOptions options{given.fused_activation_function(), given.cell_clip(), given.proj_clip(),
                            given.asymmetric_quantize_inputs()};
  constexpr int kFull = 0;
  if (given.kernel_type() != kFull) return read_basic_lstm(in, options);
  if (in.input_count() < kFewestInputs || in.output_count() != 1)
    return in.fail("",
                   std::to_string(in.input_count()) + " inputs and " + std::to_string(in.output_count()) + " outputs",
                   "20 or 24 inputs and 1 output");
  const ValueId x = in.placed(is_of_integers(in) ? in.stored(0) : in.value(0), "input 0");
  in.require_rank(x, 2, 2);
  const ValueId step = unsqueeze(in, x, Integers{0}, "step");
  return squeeze(in, one_way(in, step, options), Numbers(Integers{0}));
}

// ---- simple layers ----

struct RnnAt {
  int weights = 1, recurrent = 2, bias = 3, hidden = 4;
};

// h of every step [T, B, H]: h = f(x w + h r + bias).
ValueId add_rnn(OperatorReader& in, const RnnAt& at, ValueId x, int function, const std::string& name,
                bool is_backward = false) {
  recurrent_require_floats(in, x, at.weights);
  const UnaryAttrs candidate = cell_function(in, function);
  const ValueId w = turned(in, in.value(at.weights), name + "wt");
  const ValueId r = turned(in, in.value(at.recurrent), name + "rt");
  std::vector<ValueId> inputs{matmul(in, x, w, in.value(at.bias), name + "inputs"), r, {}, first_state(in, at.hidden)};
  if (in.failed()) return {};
  while (!inputs.back().exists()) inputs.pop_back();
  const RecurrenceAttrs attrs{.kind = RecurrenceKind::simple, .is_backward = is_backward, .candidate = candidate};
  return in.add_exactly(kRecurrence, attrs, std::move(inputs), name + "states")[0];
}

ValueId read_rnn(OperatorReader& in) {
  const int function = in.required_options<file::RNNOptions>().fused_activation_function();
  const ValueId x = in.placed(in.value(0), "input 0");
  in.require_rank(x, 2, 2);
  const ValueId made = add_rnn(in, {}, unsqueeze(in, x, Integers{0}, "step"), function, "");
  return squeeze(in, made, Numbers(Integers{0}));
}

ValueId read_sequence_rnn(OperatorReader& in) {
  const auto& given = in.required_options<file::SequenceRNNOptions>();
  const ValueId x = time_first(in, 0, given.time_major(), "time_first");
  return in_order(in, add_rnn(in, {}, x, given.fused_activation_function(), ""), given.time_major(), "batch_first");
}

ValueId read_two_way_rnn(OperatorReader& in) {
  const auto& given = in.required_options<file::BidirectionalSequenceRNNOptions>();
  if (!has_results(in, given.merge_outputs())) return {};
  constexpr int kSecond = 9;
  constexpr RnnAt kOther{.weights = 5, .recurrent = 6, .bias = 7, .hidden = 8};
  refuse(in, kSecond + 1, 2, "weights of an auxiliary input");
  const ValueId x = time_first(in, 0, given.time_major(), "time_first");
  const ValueId y = in.has(kSecond) ? time_first(in, kSecond, given.time_major(), "auxiliary.time_first") : x;
  const auto made = [&](const RnnAt& at, ValueId from, const std::string& name, bool is_backward) {
    return in_order(in, add_rnn(in, at, from, given.fused_activation_function(), name + ".", is_backward),
                    given.time_major(), name);
  };
  const ValueId forward = made({}, x, "forward", false), backward = made(kOther, y, "backward", true);
  return both(in, forward, backward, given.merge_outputs());
}

constexpr OperatorEntry kRecurrentTable[] = {
    {"BIDIRECTIONAL_SEQUENCE_LSTM", kAuxiliary, kTwoWayInputs, kAnyNumber, kReal, read_two_way_lstm},
    {"BIDIRECTIONAL_SEQUENCE_RNN", 9, 12, kAnyNumber, kReal, read_two_way_rnn},
    {"LSTM", 5, kInputs, kAnyNumber, kReal, read_lstm},
    {"RNN", 5, 5, 1, kReal, read_rnn},
    {"SVDF", 5, 5, 1, Operands::stored, read_svdf},
    {"UNIDIRECTIONAL_SEQUENCE_LSTM", kFewestInputs, kInputs, 1, kReal, read_sequence_lstm},
    {"UNIDIRECTIONAL_SEQUENCE_RNN", 5, 5, 1, kReal, read_sequence_rnn},
};

}  // namespace

const std::span<const OperatorEntry> kRecurrentLayers = kRecurrentTable;

bool has_input_gate(OperatorReader& in, const LstmAt& at) {
  if (in.has(at.weights)) return true;
  for (const int part : {at.recurrent, at.peepholes, at.bias, at.norms}) {
    if (part >= 0 && in.has(part) && !in.failed())
      in.fail("input " + std::to_string(part), "a part of the input gate, which has no weights", "none, or all parts");
  }
  return false;
}

UnaryAttrs cell_function(OperatorReader& in, int function) {
  constexpr int kNone = 0, kRelu = 1, kReluN1To1 = 2, kRelu6 = 3, kTanh = 4;
  switch (function) {
    case kNone: return {.kind = UnaryKind::identity};
    case kRelu: return {.kind = UnaryKind::relu};
    case kReluN1To1: return {.kind = UnaryKind::clip, .alpha = -1.0f, .beta = 1.0f};
    case kRelu6: return {.kind = UnaryKind::clip, .alpha = 0.0f, .beta = 6.0f};
    case kTanh: return {.kind = UnaryKind::tanh};
    default: break;
  }
  in.unsupported("fused activation function", std::to_string(function), "none, RELU, RELU_N1_TO_1, RELU6 or TANH");
  return {};
}

ValueId first_state(OperatorReader& in, int input) {
  return !in.has(input) || in.tensor(input).is_variable ? ValueId{} : in.value(input);
}

void refuse(OperatorReader& in, int first, int count, const std::string& what) {
  for (int i = first; first >= 0 && i < first + count && !in.failed(); ++i) {
    if (in.has(i)) in.unsupported("input " + std::to_string(i), what, "none");
  }
}

OneScale scale_of(OperatorReader& in, const FileTensor& tensor, DType type, const std::string& place) {
  if (in.failed()) return {};
  if (tensor.dtype == type && tensor.quant && tensor.quant->axis < 0)
    return {tensor.quant->scale[0], tensor.quant->zero_point[0]};
  in.unsupported(place, std::string(octavo::name_of(tensor.dtype)) + (tensor.quant ? "" : " without a scale"),
                 std::string(octavo::name_of(type)) + " with one scale");
  return {};
}

OneScale scale_of_input(OperatorReader& in, int input, DType type) {
  return scale_of(in, in.tensor(input), type, "input " + std::to_string(input));
}

float scale_without_zero(OperatorReader& in, int input, DType type) {
  const OneScale found = scale_of_input(in, input, type);
  if (found.zero_point != 0)
    in.unsupported("input " + std::to_string(input), "the zero point " + std::to_string(found.zero_point), "0");
  return found.scale;
}

}  // namespace octavo::tflite_import
