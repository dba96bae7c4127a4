// fixed_lstm: shape rule and reference. Part of ops/.
#include "ops/fixed_lstm/fixed_lstm.h"

#include <algorithm>
#include <vector>

#include "base/fixed_point16.h"
#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/lstm.h"

namespace octavo {
namespace {

constexpr Profile kProfile = Profile::tflite_double;
constexpr std::int32_t kOne = 32767;

std::int16_t saturated16(std::int64_t x) {
  return static_cast<std::int16_t>(std::clamp<std::int64_t>(x, -32768, 32767));
}
std::int8_t saturated8(std::int64_t x) { return static_cast<std::int8_t>(std::clamp<std::int64_t>(x, -128, 127)); }

// start + sum of (x - zero_point) * w; wraps where it leaves 32 bits.
std::int32_t fixed_lstm_dot(const std::int8_t* x, std::int32_t zero_point, const std::int8_t* w, std::int64_t n,
                            std::int32_t start) {
  auto sum = static_cast<std::uint32_t>(start);
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<std::uint32_t>((x[i] - zero_point) * w[i]);
  return static_cast<std::int32_t>(sum);
}

std::int32_t times(const FixedMultiplier& factor, std::int32_t x) { return factor.apply(kProfile, x); }

template <class T>
T clipped(T x, std::int32_t clip) {
  return clip > 0 ? static_cast<T>(std::clamp<std::int32_t>(x, -clip, clip)) : x;
}

// What one step reads and changes of a sequence.
struct FixedLstmState {
  const std::int8_t* x = nullptr;
  const std::int8_t* h = nullptr;
  std::int8_t* y = nullptr;      // the next h, which is elsewhere
  std::int16_t* c = nullptr;     // hidden
  std::int8_t* inner = nullptr;  // hidden: before the projection
};

std::int16_t sum_of_gate(const FixedLstmAttrs& attrs, const FixedLstmCall& call, const FixedLstmState& s, int gate,
                         std::int64_t j) {
  const std::int64_t line = gate * call.hidden + j;
  const auto at = static_cast<std::size_t>(gate);
  const std::int32_t of_x =
      fixed_lstm_dot(s.x, attrs.x_zero_point, call.w + line * call.inputs, call.inputs, call.bias[line]);
  const std::int32_t of_h = fixed_lstm_dot(s.h, attrs.h_zero_point, call.r + line * call.outputs, call.outputs, 0);
  const std::int16_t first = saturated16(times(attrs.of_x[at], of_x));
  return saturated16(std::int64_t{times(attrs.of_h[at], of_h)} + first);
}

// Element j of the cell, and of what the layer gives before a projection.
void step_element(const FixedLstmAttrs& attrs, const FixedLstmCall& call, const FixedLstmState& s, std::int64_t j) {
  const auto sum = [&](int gate) { return sum_of_gate(attrs, call, s, gate, j); };
  const std::int32_t f = fixed_sigmoid16(sum(kForgetGate)), g = fixed_tanh16(sum(kCandidate), 3);
  const std::int32_t i = call.gates == 4 ? fixed_sigmoid16(sum(kInputGate)) : kOne - f;
  const std::int32_t kept = rounding_divide(f * s.c[j], 15);
  const auto added = static_cast<std::int16_t>(rounding_divide(i * g, 30 + attrs.cell_exponent));
  s.c[j] = clipped(saturated16(kept + added), attrs.cell_clip);
  const std::int32_t o = fixed_sigmoid16(sum(kOutputGate));
  const std::int32_t y = o * fixed_tanh16(s.c[j], 15 + attrs.cell_exponent);
  s.inner[j] = saturated8(std::int64_t{times(attrs.hidden, y)} + attrs.hidden_zero_point);
}

void step(const FixedLstmAttrs& attrs, const FixedLstmCall& call, const FixedLstmState& s) {
  for (std::int64_t j = 0; j < call.hidden; ++j) step_element(attrs, call, s, j);
  if (call.projection == nullptr) {
    std::copy_n(s.inner, call.hidden, s.y);
    return;
  }
  for (std::int64_t p = 0; p < call.outputs; ++p) {
    const std::int32_t bias = call.projection_bias == nullptr ? 0 : call.projection_bias[p];
    const std::int32_t sum =
        fixed_lstm_dot(s.inner, attrs.hidden_zero_point, call.projection + p * call.hidden, call.hidden, bias);
    s.y[p] =
        clipped(saturated8(std::int64_t{times(attrs.projection, sum)} + attrs.h_zero_point), attrs.projection_clip);
  }
}

Problem check_fixed_lstm_attrs(const FixedLstmAttrs& attrs) {
  for (const auto& list : {attrs.of_x, attrs.of_h}) {
    for (const FixedMultiplier& factor : list) {
      if (!factor.is_valid()) return shape_error("factor of a gate", "one beyond 31 bits", "a fixed-point number");
    }
  }
  if (!attrs.hidden.is_valid() || !attrs.projection.is_valid())
    return shape_error("factor", "one beyond 31 bits", "a fixed-point number");
  return first_of({check_range("x_zero_point", attrs.x_zero_point, -128, 127),
                   check_range("hidden_zero_point", attrs.hidden_zero_point, -128, 128),
                   check_range("h_zero_point", attrs.h_zero_point, -128, 127),
                   check_range("cell_exponent", attrs.cell_exponent, -15, kMostTanhBits - 15),
                   check_range("cell_clip", attrs.cell_clip, 0, 32767),
                   check_range("projection_clip", attrs.projection_clip, 0, 127)});
}

Result<std::vector<Fact>> infer_fixed_lstm(const Attrs& attrs, InputFacts inputs) {
  const auto& lstm = attrs.as<FixedLstmAttrs>();
  if (auto problem = check_fixed_lstm_attrs(lstm)) return *problem;
  const Fact &x = *inputs[kFixedLstmX], &w = *inputs[kFixedLstmW], &r = *inputs[kFixedLstmR];
  for (const auto& [name, fact] : {std::pair("x", &x), std::pair("w", &w), std::pair("r", &r)}) {
    if (auto problem = first_of({check_dtype(name, *fact, {DType::s8}), check_rank(name, *fact, 3, 3)}))
      return *problem;
  }
  const Dim gates = w.shape[0], hidden = w.shape[1], outputs = r.shape[2], batch = x.shape[1];
  const Fact *projection = fact_at(inputs, kFixedLstmProjection), *bias = fact_at(inputs, kFixedLstmProjectionBias);
  if (auto problem = check_lstm(w, r, projection, bias)) return *problem;
  if (auto problem =
          first_of({check_shape("w", w, {gates, hidden, x.shape[2]}), check_shape("r", r, {gates, hidden, outputs}),
                    check_part("bias", inputs[kFixedLstmBias], DType::s32, {gates, hidden}),
                    check_part("projection", projection, DType::s8, {outputs, hidden}),
                    check_part("projection_bias", bias, DType::s32, {outputs}),
                    check_part("h", fact_at(inputs, kFixedLstmH), DType::s8, {batch, outputs}),
                    check_part("c", fact_at(inputs, kFixedLstmC), DType::s16, {batch, hidden})}))
    return *problem;
  return one_output(DType::s8, {x.shape[0], batch, outputs});
}

void reference_fixed_lstm(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto at = [&]<class T>(std::size_t input, T) {
    return has_view(inputs, input) ? inputs[input].as<T>() : static_cast<const T*>(nullptr);
  };
  FixedLstmCall call =
      FixedLstmCall::sizes_of(inputs[kFixedLstmX].shape, inputs[kFixedLstmW].shape, inputs[kFixedLstmR].shape);
  call.x = at(kFixedLstmX, std::int8_t{}), call.w = at(kFixedLstmW, std::int8_t{});
  call.r = at(kFixedLstmR, std::int8_t{}), call.bias = at(kFixedLstmBias, std::int32_t{});
  call.projection = at(kFixedLstmProjection, std::int8_t{});
  call.projection_bias = at(kFixedLstmProjectionBias, std::int32_t{});
  call.h = at(kFixedLstmH, std::int8_t{}), call.c = at(kFixedLstmC, std::int16_t{});
  call.y = outputs[0].as<std::int8_t>();
  std::vector<std::byte> scratch(call.scratch_bytes());
  for (std::int64_t b = 0; b < call.batch; ++b) run_fixed_lstm(attrs.as<FixedLstmAttrs>(), call, b, scratch.data());
}

// Of each element of the result.
std::int64_t depth_of_fixed_lstm(const Attrs&, InputFacts inputs) {
  const OpenShape &w = inputs[kFixedLstmW]->shape, &r = inputs[kFixedLstmR]->shape;
  return (w[0] * (w[2] + r[2])).example();
}

}  // namespace

FixedLstmCall FixedLstmCall::sizes_of(const Shape& x, const Shape& w, const Shape& r) {
  return {.steps = x[0], .batch = x[1], .inputs = x[2], .hidden = w[1], .outputs = r[2], .gates = w[0]};
}

// Cells, the first h, and what goes into a projection.
std::size_t FixedLstmCall::scratch_bytes() const { return static_cast<std::size_t>(3 * hidden + outputs); }

void run_fixed_lstm(const FixedLstmAttrs& attrs, const FixedLstmCall& call, std::int64_t sequence, std::byte* scratch) {
  FixedLstmState s{.c = reinterpret_cast<std::int16_t*>(scratch),
                   .inner = reinterpret_cast<std::int8_t*>(scratch + 2 * call.hidden)};
  std::int8_t* const first = s.inner + call.hidden;
  if (call.c != nullptr) std::copy_n(call.c + sequence * call.hidden, call.hidden, s.c);
  else std::fill_n(s.c, call.hidden, std::int16_t{0});
  if (call.h != nullptr) std::copy_n(call.h + sequence * call.outputs, call.outputs, first);
  else std::fill_n(first, call.outputs, static_cast<std::int8_t>(attrs.h_zero_point));
  s.h = first;
  for (std::int64_t t = 0; t < call.steps; ++t) {
    const std::int64_t row = t * call.batch + sequence;
    s.x = call.x + row * call.inputs;
    s.y = call.y + row * call.outputs;
    step(attrs, call, s);
    s.h = s.y;
  }
}

const OpSpec kFixedLstm = {
    .name = "fixed_lstm",
    .summary =
        "an LSTM of 8-bit values, step by step, with gates and cells of 16 bits in fixed point (fixed_sigmoid16, "
        "fixed_tanh16), with or without a projection",
    .inputs = {"x", "w", "r", "bias", "projection?", "projection_bias?", "h?", "c?"},
    .infer = infer_fixed_lstm,
    .reference = reference_fixed_lstm,
    .decode_attrs = decode_attrs_as<FixedLstmAttrs>,
    .is_integer = true,
    .depth = depth_of_fixed_lstm,
    .read_from = "TFLite UNIDIRECTIONAL_SEQUENCE_LSTM",
    .integer_form = "itself",
};

template Attrs::Attrs(FixedLstmAttrs);

}  // namespace octavo
