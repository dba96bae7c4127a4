// TFLite readers: the older form of an LSTM, one step whose states are inputs and results. Part of import/.
#include "import/tflite/operators.h"
#include "import/tflite/recurrent.h"
#include "ops/recurrence/recurrence.h"

namespace octavo::tflite_import {
namespace {

// Inputs and results of the LSTM whose weights are joined.
enum BasicInput : int { kX = 0, kHidden = 1, kWeights = 2, kBias = 3, kCell = 4 };
enum BasicResult : int { kNextHidden = 0, kNextCell = 1, kJoined = 2, kSums = 3 };

// A line of 4 * hidden elements along the axis, of gates i, c, f, o, in a recurrence's order: i, o, f, c.
ValueId reordered(OperatorReader& in, ValueId x, std::int64_t hidden, const std::string& name) {
  std::vector<ValueId> parts;
  for (const std::int64_t gate : {0, 3, 2, 1})
    parts.push_back(slice(in, x, 0, {.start = gate * hidden, .size = hidden}, name + std::to_string(gate)));
  return concat(in, parts, 0, name);
}

}  // namespace

ValueId read_basic_lstm(OperatorReader& in, const LstmOptions& options) {
  constexpr int kTanh = 4, kResults = 4, kNone = 0;
  const ValueId x = in.value(kX), h = in.value(kHidden), w = in.value(kWeights), bias = in.value(kBias),
                c = in.value(kCell);
  if (in.failed()) return {};
  for (const ValueId value : {x, h, w, c}) in.require_rank(value, 2, 2);
  in.require_rank(bias, 1, 1);
  for (const int input : {kX, kHidden, kWeights, kBias, kCell}) {
    if (!in.failed() && in.tensor(input).dtype != DType::f32)
      in.unsupported("input " + std::to_string(input), std::string(octavo::name_of(in.tensor(input).dtype)), "f32");
  }
  if (options.function != kTanh && options.function != kNone)
    in.unsupported("fused activation function", std::to_string(options.function), "TANH");
  if (in.input_count() != 5 || in.output_count() != kResults)
    in.fail("", std::to_string(in.input_count()) + " inputs and " + std::to_string(in.output_count()) + " outputs",
            "5 inputs and 4 outputs");
  if (in.failed()) return {};
  const std::int64_t hidden = in.shape(h)[1].fixed(), size = in.shape(x)[1].fixed();
  if (!(in.shape(w) == OpenShape(Extents{4 * hidden, size + hidden})))
    return in.fail("input 2", "shape " + in.shape(w).to_string(),
                   std::to_string(4 * hidden) + "x" + std::to_string(size + hidden));
  const ValueId joined = concat(in, {x, h}, 1, "joined");
  in.output(kJoined, joined);
  in.output(kSums, matmul(in, joined, swap_axes(in, w, 0, 1, "weights.turned"), bias, "sums"));
  const ValueId turned = swap_axes(in, reordered(in, w, hidden, "w"), 0, 1, "wt");
  const ValueId of_x = slice(in, turned, 0, {.start = 0, .size = size}, "wx"),
                of_h = slice(in, turned, 0, {.start = size, .size = hidden}, "wh");
  const ValueId products =
      matmul(in, unsqueeze(in, x, Integers{0}, "step"), of_x, reordered(in, bias, hidden, "b"), "inputs");
  const UnaryAttrs gate{.kind = UnaryKind::sigmoid}, tanh{.kind = UnaryKind::tanh};
  const auto made = in.add_exactly(kRecurrence, RecurrenceAttrs{.gate = gate, .candidate = tanh, .output = tanh},
                                   {products, of_h, ValueId{}, h, c}, "states");
  if (in.failed()) return {};
  in.output(kNextCell, pick(in, made[1], 0, 1, "next_cell"));
  return pick(in, made[1], 0, 0, "next_hidden");
}

}  // namespace octavo::tflite_import
