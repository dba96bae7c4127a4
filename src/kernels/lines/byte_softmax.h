// Softmax of bytes by a table of exponentials, over any Simd. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_LINES_BYTE_SOFTMAX_H_
#define OCTAVO_KERNELS_LINES_BYTE_SOFTMAX_H_

#include "base/requantize.h"
#include "kernels/epilogue/generic.h"
#include "kernels/lines/functions.h"

namespace octavo {
namespace {

// The exponentials of a line and, one after the other as the reference adds them, their sum. kFlip: 0x80 where x is s8.
template <std::uint8_t kFlip>
float find_exponentials(const ByteSoftmaxLines& s, const std::uint8_t* x) {
  constexpr std::int64_t kAtOnce = 8;
  std::uint8_t largest = 0;
  for (std::int64_t i = 0; i < s.n; ++i) {
    const auto value = static_cast<std::uint8_t>(x[i] ^ kFlip);
    largest = value > largest ? value : largest;
  }
  const float* const table = s.exponentials + 255 - largest;
  float* const to = s.line;
  float sum = 0.0f;
  std::int64_t i = 0;
  for (; i + kAtOnce <= s.n; i += kAtOnce) {
    // All are read before the first is written: as far as a compiler knows, the line may lie in the table.
    float values[kAtOnce];
    for (int k = 0; k < kAtOnce; ++k) values[k] = table[x[i + k] ^ kFlip];
    for (int k = 0; k < kAtOnce; ++k) to[i + k] = values[k];
    for (int k = 0; k < kAtOnce; ++k) sum += values[k];
  }
  for (; i < s.n; ++i) sum += to[i] = table[x[i] ^ kFlip];
  return sum;
}

// softmax_value and tflite_softmax_value of base/requantize.h.
template <class S>
constexpr typename S::S32 onnx_share(typename S::F32 exponential, typename S::F32 inverse_scale, typename S::F32 sum,
                                     const RowRound& round) {
  return rounded<S>(S::div(S::mul(exponential, inverse_scale), sum), round);
}
// tflite_softmax_factor
template <class S>
constexpr typename S::F32 tflite_factor(typename S::F32 sum, typename S::F32 y_scale) {
  return S::div(S::set(1.0f), S::mul(sum, y_scale));
}
template <class S>
constexpr typename S::S32 tflite_share(typename S::F32 exponential, typename S::F32 factor, const RowRound& round) {
  const typename S::F32 clamped = S::min(S::max(S::mul(exponential, factor), S::set(0.0f)), S::set(1024.0f));
  return rounded_integer<S>(S::round(S::floor(S::add(clamped, S::set(0.5f)))), round);
}

template <class S>
void finish_onnx(const ByteSoftmaxLines& s, float sum, std::uint8_t* y) {
  const float* const line = s.line;
  const RowRound round = s.round;
  for_lanes<S>(0, s.n, [=, inverse = softmax_inverse_scale(s.y_scale)]<class T>(std::int64_t i) {
    T::store_bytes(y + i, onnx_share<T>(T::load(line + i), T::set(inverse), T::set(sum), round));
  });
}
template <class S>
void finish_tflite(const ByteSoftmaxLines& s, float sum, std::uint8_t* y) {
  const float* const line = s.line;
  const RowRound round = s.round;
  for_lanes<S>(0, s.n, [=, factor = tflite_factor<Scalar>(sum, s.y_scale)]<class T>(std::int64_t i) {
    T::store_bytes(y + i, tflite_share<T>(T::load(line + i), T::set(factor), round));
  });
}

template <class S>
void byte_softmax_lines(const ByteSoftmaxLines& s) {
  const auto find = s.x_is_signed ? &find_exponentials<0x80> : &find_exponentials<0>;
  const auto finish = s.is_onnx ? &finish_onnx<S> : &finish_tflite<S>;
  for (std::int64_t line = 0; line < s.lines; ++line) finish(s, find(s, s.x + line * s.n), s.y + line * s.n);
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_LINES_BYTE_SOFTMAX_H_
