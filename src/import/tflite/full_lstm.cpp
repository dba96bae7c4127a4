// TFLite readers: LSTMs with normalized gates, projections, clips or weights of 8 bits beside floats. Part of import/.
#include "ops/full_lstm/full_lstm.h"

#include "import/tflite/operators.h"
#include "import/tflite/recurrent.h"

namespace octavo::tflite_import {
namespace {

// Weights of 8 bits stay so, unless the file is read as one of floats.
bool has_bytes(OperatorReader& in, const LstmAt& at) {
  return in.tensor(at.weights + 1).dtype == DType::s8 && !in.built().options.dequantizes_dynamic;
}

// Of weights of 8 bits, which are as stored then; 1 of floats.
float weight_scale(OperatorReader& in, int input, bool is_bytes) {
  return is_bytes ? scale_without_zero(in, input, DType::s8) : 1.0f;
}

// [gates, ...] of the inputs from `first` on, of which one may be left out.
ValueId full_lstm_joined(OperatorReader& in, int first, int count, bool is_stored, const std::string& name) {
  std::vector<ValueId> lines;
  for (int i = first; i < first + count; ++i) {
    const ValueId line = is_stored ? in.stored(i) : in.value(i);
    lines.push_back(unsqueeze(in, line, Integers{0}, name + std::to_string(i)));
  }
  return concat(in, lines, 0, name);
}

}  // namespace

bool needs_full_lstm(OperatorReader& in, const LstmAt& at, const LstmOptions& options) {
  return has_bytes(in, at) || in.has(at.projection) || options.cell_clip > 0.0f ||
         (at.norms >= 0 && in.has(at.norms + 1));
}

ValueId add_full_lstm(OperatorReader& in, const LstmAt& at, ValueId x, const LstmOptions& options,
                      const LstmDirection& direction) {
  if (in.failed()) return {};
  const bool is_bytes = has_bytes(in, at);
  const int skipped = has_input_gate(in, at) ? 0 : 1, gates = 4 - skipped;
  FullLstmAttrs attrs{.is_backward = direction.is_backward,
                      .function = cell_function(in, options.function),
                      .cell_clip = std::max(options.cell_clip, 0.0f),
                      .projection_clip = std::max(options.projection_clip, 0.0f),
                      .form = options.is_asymmetric ? DynamicForm::tflite : DynamicForm::tflite_symmetric};
  for (int gate = skipped; gate < 4; ++gate) {
    attrs.w_scale[static_cast<std::size_t>(gate)] = weight_scale(in, at.weights + gate, is_bytes);
    attrs.r_scale[static_cast<std::size_t>(gate)] = weight_scale(in, at.recurrent + gate, is_bytes);
  }
  const bool projects = in.has(at.projection);
  if (projects) attrs.projection_scale = weight_scale(in, at.projection, is_bytes);
  const auto lists = [&](int first, const std::string& name) {
    return full_lstm_joined(in, first + skipped, gates, is_bytes, direction.name + name);
  };
  const bool has_peepholes = in.has(at.peepholes + 2), has_norms = at.norms >= 0 && in.has(at.norms + 1);
  std::vector<ValueId> inputs{
      x,
      lists(at.weights, "w"),
      lists(at.recurrent, "r"),
      full_lstm_joined(in, at.bias + skipped, gates, false, direction.name + "bias"),
      has_peepholes ? full_lstm_joined(in, at.peepholes + skipped, gates - 1, false, direction.name + "peepholes")
                    : ValueId{},
      has_norms ? full_lstm_joined(in, at.norms + skipped, gates, false, direction.name + "norms") : ValueId{},
      !projects  ? ValueId{}
      : is_bytes ? in.stored(at.projection)
                 : in.value(at.projection),
      in.has(at.projection + 1) ? in.value(at.projection + 1) : ValueId{},
      first_state(in, at.hidden),
      first_state(in, at.cell)};
  if (in.failed()) return {};
  while (!inputs.back().exists()) inputs.pop_back();
  if (is_bytes) ++in.building().dynamic;
  return in.add(kFullLstm, attrs, std::move(inputs), direction.name + "states");
}

}  // namespace octavo::tflite_import
