// recurrence: shape rule and reference. Part of ops/.
#include "ops/recurrence/recurrence.h"

#include <algorithm>
#include <cmath>

#include "base/lane.h"
#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/lstm.h"
#include "ops/recurrence/cell.h"

namespace octavo {
namespace {

// An input that is there only for some kinds.
Problem check_part_of(bool is_allowed, std::string_view what, const Fact* part, const OpenShape& shape) {
  if (part != nullptr && !is_allowed) return shape_error(std::string(what), "one", "none for this kind of cell");
  return check_part(what, part, DType::f32, shape);
}

Result<std::vector<Fact>> infer_recurrence(const Attrs& attrs, InputFacts inputs) {
  const auto& cell = attrs.as<RecurrenceAttrs>();
  const Fact &x = *inputs[kRecurrenceX], &w = *inputs[kRecurrenceW];
  if (auto problem =
          first_of({check_dtype("x", x, {DType::f32}), check_dtype("w", w, {DType::f32}), check_rank("x", x, 3, 3),
                    check_rank("w", w, 2, 2), check_cell_function("gate", cell.gate),
                    check_cell_function("candidate", cell.candidate), check_cell_function("output", cell.output)}))
    return *problem;
  if (!(cell.clip > 0.0f)) return shape_error("clip", std::to_string(cell.clip), "above 0");
  const std::int64_t gates = gates_of(cell.kind), hidden = w.shape[0];
  const Dim batch = x.shape[1];
  if (hidden < 1) return shape_error("w", "shape " + w.shape.to_string(), "at least one element");
  if (auto problem = first_of(
          {check_shape("w", w, {hidden, gates * hidden}), check_shape("x", x, {x.shape[0], batch, gates * hidden})}))
    return *problem;
  const bool is_lstm = cell.kind == RecurrenceKind::lstm;
  const bool adds_bias = cell.kind == RecurrenceKind::gru && cell.resets_after_product;
  const Fact *bias = fact_at(inputs, kRecurrenceBias), *lengths = fact_at(inputs, kRecurrenceLengths);
  if (adds_bias && bias == nullptr) return shape_error("bias", "none", "one of [" + std::to_string(hidden) + "]");
  if (auto problem =
          first_of({check_part_of(adds_bias, "bias", bias, {hidden}),
                    check_part("h", fact_at(inputs, kRecurrenceH), DType::f32, {batch, hidden}),
                    check_part_of(is_lstm, "c", fact_at(inputs, kRecurrenceC), {batch, hidden}),
                    check_part_of(is_lstm, "peepholes", fact_at(inputs, kRecurrencePeepholes), {3, hidden})}))
    return *problem;
  if (lengths != nullptr) {
    if (auto problem =
            first_of({check_dtype("lengths", *lengths, {DType::s32}), check_shape("lengths", *lengths, {batch})}))
      return *problem;
  }
  auto y = one_output(DType::f32, {x.shape[0], batch, hidden});
  auto last = one_output(DType::f32, {is_lstm ? 2 : 1, batch, hidden});
  if (!y) return y;
  if (!last) return last;
  return std::vector<Fact>{y->front(), last->front()};
}

void reference_recurrence(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& recurrence = attrs.as<RecurrenceAttrs>();
  const Shape& shape = inputs[kRecurrenceX].shape;
  const auto floats = [&](std::size_t input) {
    return has_view(inputs, input) ? inputs[input].as<float>() : static_cast<const float*>(nullptr);
  };
  Cell cell = cell_of(recurrence, inputs[kRecurrenceW].shape[0]);
  cell.bias = floats(kRecurrenceBias), cell.peepholes = floats(kRecurrencePeepholes);
  const Sequences all{
      .steps = shape[0],
      .batch = shape[1],
      .is_backward = recurrence.is_backward,
      .x = floats(kRecurrenceX),
      .h = floats(kRecurrenceH),
      .c = floats(kRecurrenceC),
      .lengths = has_view(inputs, kRecurrenceLengths) ? inputs[kRecurrenceLengths].as<std::int32_t>() : nullptr,
      .y = outputs[0].as<float>(),
      .last = outputs[1].as<float>()};
  std::vector<float> scratch(static_cast<std::size_t>(block_scratch(cell.hidden)));
  CellBlock block{.count = 1,
                  .units = cell.hidden,
                  .w = floats(kRecurrenceW),
                  .w_stride = gates_of(cell.kind) * cell.hidden,
                  .gate_stride = cell.hidden};
  for (std::int64_t round = 0; round < all.rounds(); ++round) {
    for (block.first_sequence = 0; block.first_sequence < all.batch; ++block.first_sequence)
      run_block(cell, all, block, round, scratch.data(), step_cell<Lane>);
  }
}

// Of each element of the first result.
std::int64_t depth_of_recurrence(const Attrs&, InputFacts inputs) { return inputs[kRecurrenceW]->shape[1]; }

}  // namespace

Cell cell_of(const RecurrenceAttrs& attrs, std::int64_t hidden) {
  const auto function = [](const UnaryAttrs& unary) { return CellFunction{unary.kind, {unary.alpha, unary.beta}}; };
  return {.kind = attrs.kind,
          .hidden = hidden,
          .gate = function(attrs.gate),
          .candidate = function(attrs.candidate),
          .output = function(attrs.output),
          .clip = attrs.clip,
          .resets_after_product = attrs.resets_after_product,
          .couples_gates = attrs.couples_gates};
}

const OpSpec kRecurrence = {
    .name = "recurrence",
    .summary =
        "an LSTM, a GRU or a simple recurrent layer in one direction, step by step in f32: sums of fused multiply-adds "
        "in the order of h's elements, activations as of unary; x is the product of all inputs",
    .inputs = {"x", "w", "bias?", "h?", "c?", "peepholes?", "lengths?"},
    .outputs = 2,
    .infer = infer_recurrence,
    .reference = reference_recurrence,
    .decode_attrs = decode_attrs_as<RecurrenceAttrs>,
    .depth = depth_of_recurrence,
    .read_from = "ONNX LSTM, GRU, RNN; TFLite UNIDIRECTIONAL_SEQUENCE_LSTM; ATen lstm, gru, rnn_tanh",
    .integer_form = "float, behind an integer product of its inputs",
};

template Attrs::Attrs(RecurrenceAttrs);

}  // namespace octavo
