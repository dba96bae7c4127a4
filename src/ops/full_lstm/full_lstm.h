// full_lstm: an LSTM with all that cells may have beside what recurrence has: normalized gates, a projection, clipped
// states, weights of 8 bits beside floats. Part of ops/.
#ifndef OCTAVO_OPS_FULL_LSTM_FULL_LSTM_H_
#define OCTAVO_OPS_FULL_LSTM_FULL_LSTM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "base/run_scale.h"
#include "graph/op.h"
#include "ops/unary/unary.h"

namespace octavo {

struct FullLstmAttrs {
  bool is_backward = false;
  UnaryAttrs function;                               // of the candidate, and of the cell
  float cell_clip = 0.0f, projection_clip = 0.0f;    // to [-clip, clip]; 0: none
  DynamicForm form = DynamicForm::tflite_symmetric;  // of rows that meet weights of 8 bits
  // Of weights of 8 bits, by gate i, f, c, o.
  std::array<float, 4> w_scale{1.0f, 1.0f, 1.0f, 1.0f}, r_scale{1.0f, 1.0f, 1.0f, 1.0f};
  float projection_scale = 1.0f;

  bool operator==(const FullLstmAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"is_backward", &FullLstmAttrs::is_backward}, Field{"function", &FullLstmAttrs::function},
                      Field{"cell_clip", &FullLstmAttrs::cell_clip},
                      Field{"projection_clip", &FullLstmAttrs::projection_clip}, Field{"form", &FullLstmAttrs::form},
                      Field{"w_scale", &FullLstmAttrs::w_scale}, Field{"r_scale", &FullLstmAttrs::r_scale},
                      Field{"projection_scale", &FullLstmAttrs::projection_scale});
  }
};

enum FullLstmInput : std::size_t {
  kFullLstmX = 0,
  kFullLstmW = 1,
  kFullLstmR = 2,
  kFullLstmBias = 3,
  kFullLstmPeepholes = 4,
  kFullLstmNorms = 5,
  kFullLstmProjection = 6,
  kFullLstmProjectionBias = 7,
  kFullLstmH = 8,
  kFullLstmC = 9
};

// Step by step in f32, gates i, f, c, o:
//   s_g = x[t] w_g + h r_g (+ p_g * c, of i and f before, of o after the cell has changed), then + bias_g, or with
//   norms (s_g - mean) / deviation * norm_g + bias_g; s = sigmoid or `function` of it; without w_i: i = 1 - f
//   c = f * c + i * candidate, clipped; y = o * function(c); h = y, or y p + projection_bias, clipped
// Where weights are of 8 bits, x, h and y are made integers row by row, and exact sums become floats again.
// inputs: x [T, B, I] f32, w [4, H, I] and r [4, H, P], both f32 or s8, bias [4, H] f32; peepholes? [3, H]: i, f, o;
// norms? [4, H]; projection? [P, H] as w, and its bias? [P], without which P is H; first h? [B, P], c? [B, H], else 0.
// With three gates, f, c, o, all lists of gates are as long. Result: h of every step [T, B, P].
extern const OpSpec kFullLstm;

// Sizes and operands of a call in memory; those that are left out are null.
struct FullLstmCall {
  std::int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, outputs = 0, gates = 4;
  bool has_bytes = false;  // weights are s8
  const float *x = nullptr, *bias = nullptr, *peepholes = nullptr, *norms = nullptr, *projection_bias = nullptr,
              *h = nullptr, *c = nullptr;
  const std::byte *w = nullptr, *r = nullptr, *projection = nullptr;
  float* y = nullptr;

  static FullLstmCall sizes_of(const Shape& x, const Shape& w, const Shape& r, DType weights);
  // By input of the operator, null where it is left out.
  void take(std::size_t input, const std::byte* data);
  // Floats that one sequence needs while it runs.
  std::int64_t scratch_floats() const;
};
// One sequence of the batch.
void run_full_lstm(const FullLstmAttrs& attrs, const FullLstmCall& call, std::int64_t sequence, float* scratch);

}  // namespace octavo

#endif  // OCTAVO_OPS_FULL_LSTM_FULL_LSTM_H_
