// full_lstm: shape rule and reference. Part of ops/.
#include "ops/full_lstm/full_lstm.h"

#include <utility>
#include <vector>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/lstm.h"

namespace octavo {
namespace {

Problem check_clip(std::string_view what, float clip) {
  return clip >= 0.0f ? std::nullopt : Problem(shape_error(std::string(what), std::to_string(clip), "0 or more"));
}

Problem check_full_lstm_attrs(const FullLstmAttrs& attrs) {
  if (auto problem = check_cell_function("function", attrs.function)) return problem;
  for (const auto& list : {attrs.w_scale, attrs.r_scale}) {
    for (const float scale : list) {
      if (auto problem = check_scale("scale of weights", scale)) return problem;
    }
  }
  return first_of({check_scale("projection_scale", attrs.projection_scale), check_clip("cell_clip", attrs.cell_clip),
                   check_clip("projection_clip", attrs.projection_clip)});
}

Result<std::vector<Fact>> infer_full_lstm(const Attrs& attrs, InputFacts inputs) {
  if (auto problem = check_full_lstm_attrs(attrs.as<FullLstmAttrs>())) return *problem;
  const Fact &x = *inputs[kFullLstmX], &w = *inputs[kFullLstmW], &r = *inputs[kFullLstmR];
  if (auto problem = first_of({check_dtype("x", x, {DType::f32}), check_rank("x", x, 3, 3),
                               check_dtype("w", w, {DType::f32, DType::s8}), check_rank("w", w, 3, 3),
                               check_same_dtype("r", r, w.dtype), check_rank("r", r, 3, 3)}))
    return *problem;
  const Dim gates = w.shape[0], hidden = w.shape[1], outputs = r.shape[2], batch = x.shape[1];
  if (hidden < 1) return shape_error("w", "shape " + w.shape.to_string(), "at least one hidden element");
  const Fact *projection = fact_at(inputs, kFullLstmProjection), *bias = fact_at(inputs, kFullLstmProjectionBias);
  if (auto problem = check_lstm(w, r, projection, bias)) return *problem;
  if (auto problem =
          first_of({check_shape("w", w, {gates, hidden, x.shape[2]}), check_shape("r", r, {gates, hidden, outputs}),
                    check_part("bias", inputs[kFullLstmBias], DType::f32, {gates, hidden}),
                    check_part("peepholes", fact_at(inputs, kFullLstmPeepholes), DType::f32, {gates - 1, hidden}),
                    check_part("norms", fact_at(inputs, kFullLstmNorms), DType::f32, {gates, hidden}),
                    check_part("projection", projection, w.dtype, {outputs, hidden}),
                    check_part("projection_bias", bias, DType::f32, {outputs}),
                    check_part("h", fact_at(inputs, kFullLstmH), DType::f32, {batch, outputs}),
                    check_part("c", fact_at(inputs, kFullLstmC), DType::f32, {batch, hidden})}))
    return *problem;
  return one_output(DType::f32, {x.shape[0], batch, outputs});
}

void reference_full_lstm(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  FullLstmCall call = FullLstmCall::sizes_of(inputs[kFullLstmX].shape, inputs[kFullLstmW].shape,
                                             inputs[kFullLstmR].shape, inputs[kFullLstmW].dtype);
  for (std::size_t input = 0; input < inputs.size(); ++input)
    call.take(input, has_view(inputs, input) ? inputs[input].data : nullptr);
  call.y = outputs[0].as<float>();
  std::vector<float> scratch(static_cast<std::size_t>(call.scratch_floats()));
  for (std::int64_t b = 0; b < call.batch; ++b) run_full_lstm(attrs.as<FullLstmAttrs>(), call, b, scratch.data());
}

// Of each element of the result.
std::int64_t depth_of_full_lstm(const Attrs&, InputFacts inputs) {
  const OpenShape &w = inputs[kFullLstmW]->shape, &r = inputs[kFullLstmR]->shape;
  return (w[0] * (w[2] + r[2])).example();
}

}  // namespace

const OpSpec kFullLstm = {
    .name = "full_lstm",
    .summary =
        "an LSTM in one direction, step by step in f32, with or without normalized gates, a projection and clipped "
        "states; beside weights of 8 bits its rows become integers, each by its own range",
    .inputs = {"x", "w", "r", "bias", "peepholes?", "norms?", "projection?", "projection_bias?", "h?", "c?"},
    .infer = infer_full_lstm,
    .reference = reference_full_lstm,
    .decode_attrs = decode_attrs_as<FullLstmAttrs>,
    .depth = depth_of_full_lstm,
    .read_from = "TFLite UNIDIRECTIONAL_SEQUENCE_LSTM",
    .integer_form = "float",
};

template Attrs::Attrs(FullLstmAttrs);

}  // namespace octavo
