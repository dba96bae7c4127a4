// recurrence: LSTM, GRU and simple recurrent layers over time, one direction. Part of ops/.
#ifndef OCTAVO_OPS_RECURRENCE_RECURRENCE_H_
#define OCTAVO_OPS_RECURRENCE_RECURRENCE_H_

#include <cstdint>
#include <tuple>

#include "graph/op.h"
#include "ops/recurrence/kind.h"
#include "ops/recurrence/sequences.h"
#include "ops/unary/unary.h"

namespace octavo {

struct RecurrenceAttrs {
  RecurrenceKind kind = RecurrenceKind::lstm;
  bool is_backward = false;            // from the last step of each sequence to its first
  UnaryAttrs gate, candidate, output;  // f, g and h of the formulas; simple: candidate alone
  float clip = kNoClip;                // what f and g take is cut to [-clip, clip]
  bool resets_after_product = false;   // gru: r times the product with h, else the product with r times h
  bool couples_gates = false;          // lstm: f = 1 - i

  bool operator==(const RecurrenceAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"kind", &RecurrenceAttrs::kind}, Field{"is_backward", &RecurrenceAttrs::is_backward},
                      Field{"gate", &RecurrenceAttrs::gate}, Field{"candidate", &RecurrenceAttrs::candidate},
                      Field{"output", &RecurrenceAttrs::output}, Field{"clip", &RecurrenceAttrs::clip},
                      Field{"resets_after_product", &RecurrenceAttrs::resets_after_product},
                      Field{"couples_gates", &RecurrenceAttrs::couples_gates});
  }
};

enum RecurrenceInput : std::size_t {
  kRecurrenceX = 0,
  kRecurrenceW = 1,
  kRecurrenceBias = 2,
  kRecurrenceH = 3,
  kRecurrenceC = 4,
  kRecurrencePeepholes = 5,
  kRecurrenceLengths = 6
};
inline constexpr std::size_t kRecurrenceInputs = 7;

// In f32, step by step: s = x[t] + h w, added in order of h's elements by fused multiply-adds, and
//   simple: h = g(s)
//   gru:    z = f(s_z), r = f(s_r), n = g(x_h + (r * h) w_h), or g(x_h + r * (h w_h + bias)); h = z * h + (1 - z) * n
//   lstm:   i = f(s_i + p_i * c), f = f(s_f + p_f * c), c = f * c + i * g(s_c), o = f(s_o + p_o * c), h = o * h(c)
// inputs: x [T, B, gates * H], the product of each step's input and the biases; w [H, gates * H]; bias? [H] of a gru
// that resets after the product; first h? and c? [B, H], else 0; peepholes? [3, H]: p_i, p_o, p_f; lengths? [B] in s32,
// cut to [0, T], else T. Results: h of every step [T, B, H], 0 beyond a sequence's length, and the last h (lstm: and c)
// [1 or 2, B, H].
extern const OpSpec kRecurrence;

// Without weights.
Cell cell_of(const RecurrenceAttrs& attrs, std::int64_t hidden);

}  // namespace octavo

#endif  // OCTAVO_OPS_RECURRENCE_RECURRENCE_H_
