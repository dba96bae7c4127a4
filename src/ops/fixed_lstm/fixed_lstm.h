// fixed_lstm: an LSTM of 8-bit values whose cells and gates are 16-bit fixed-point numbers. Part of ops/.
#ifndef OCTAVO_OPS_FIXED_LSTM_FIXED_LSTM_H_
#define OCTAVO_OPS_FIXED_LSTM_FIXED_LSTM_H_

#include <array>
#include <cstdint>
#include <tuple>

#include "base/fixed_point.h"
#include "graph/op.h"

namespace octavo {

// In the order of weights and biases; the last one is left out where it is 1 - forget.
enum FixedGate : int { kForgetGate = 0, kCandidate = 1, kOutputGate = 2, kInputGate = 3 };

struct FixedLstmAttrs {
  std::array<FixedMultiplier, 4> of_x, of_h;  // by gate: from sums of products to units of 2^-12
  FixedMultiplier hidden;                     // from units of 2^-30 to those of the hidden values
  FixedMultiplier projection;                 // from sums of products to units of h
  std::int32_t x_zero_point = 0, hidden_zero_point = 0, h_zero_point = 0;
  std::int32_t cell_exponent = -11;                 // cells are in units of 2^cell_exponent
  std::int32_t cell_clip = 0, projection_clip = 0;  // to [-clip, clip]; 0: none

  bool operator==(const FixedLstmAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(
        Field{"of_x", &FixedLstmAttrs::of_x}, Field{"of_h", &FixedLstmAttrs::of_h},
        Field{"hidden", &FixedLstmAttrs::hidden}, Field{"projection", &FixedLstmAttrs::projection},
        Field{"x_zero_point", &FixedLstmAttrs::x_zero_point},
        Field{"hidden_zero_point", &FixedLstmAttrs::hidden_zero_point},
        Field{"h_zero_point", &FixedLstmAttrs::h_zero_point}, Field{"cell_exponent", &FixedLstmAttrs::cell_exponent},
        Field{"cell_clip", &FixedLstmAttrs::cell_clip}, Field{"projection_clip", &FixedLstmAttrs::projection_clip});
  }
};

enum FixedLstmInput : std::size_t {
  kFixedLstmX = 0,
  kFixedLstmW = 1,
  kFixedLstmR = 2,
  kFixedLstmBias = 3,
  kFixedLstmProjection = 4,
  kFixedLstmProjectionBias = 5,
  kFixedLstmH = 6,
  kFixedLstmC = 7
};

// Step by step, with the functions of base/fixed_point16.h, products of FixedMultiplier in profile tflite-double and
// every sum below saturated to 16 bits:
//   s_g = of_x(x'[t] w_g + bias_g) + of_h(h' r_g), x' and h' without their zero points
//   f = sigmoid(s_f), g = tanh(s_c), o = sigmoid(s_o), i = sigmoid(s_i) or 1 - f
//   c = f * c + i * g, clipped; y = hidden(o * tanh(c)) + hidden_zero_point, saturated to 8 bits
//   h = y, or projection(y' p + projection_bias) + h_zero_point, saturated to 8 bits and clipped
// inputs: x [T, B, I], w [gates, H, I], r [gates, H, P] of s8, 3 or 4 gates; bias [gates, H] in s32; projection? [P, H]
// in s8 and its bias? [P] in s32, without which P is H; first h? [B, P] in s8 and c? [B, H] in s16, else real zeros.
// Result: h of every step [T, B, P].
extern const OpSpec kFixedLstm;

// Sizes and operands of a call in memory; those that are left out are null.
struct FixedLstmCall {
  std::int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, outputs = 0, gates = 4;
  const std::int8_t *x = nullptr, *w = nullptr, *r = nullptr, *projection = nullptr, *h = nullptr;
  const std::int32_t *bias = nullptr, *projection_bias = nullptr;
  const std::int16_t* c = nullptr;
  std::int8_t* y = nullptr;

  static FixedLstmCall sizes_of(const Shape& x, const Shape& w, const Shape& r);
  // Bytes that one sequence needs while it runs.
  std::size_t scratch_bytes() const;
};
// One sequence of the batch.
void run_fixed_lstm(const FixedLstmAttrs& attrs, const FixedLstmCall& call, std::int64_t sequence, std::byte* scratch);

}  // namespace octavo

#endif  // OCTAVO_OPS_FIXED_LSTM_FIXED_LSTM_H_
