// What the functions of lines/ that are compiled for each instruction set compute. Part of kernels/.
#ifndef OCTAVO_KERNELS_LINES_FUNCTIONS_H_
#define OCTAVO_KERNELS_LINES_FUNCTIONS_H_

#include <cstdint>

#include "kernels/epilogue/rows.h"
#include "ops/reduce/kind.h"

namespace octavo {

// `lines` lines of n adjacent elements, each by itself.
struct Lines {
  const float* x = nullptr;
  float* y = nullptr;  // lines of n (reduce: 1) elements; may be x
  std::int64_t lines = 0, n = 0;
};

// `width` lines next to each other, of n elements that are `stride` apart.
struct Columns {
  const float* x = nullptr;
  float* y = nullptr;  // strides as x; reduce: width elements
  std::int64_t n = 0, stride = 0, width = 0;
};

// y = (x - mean) * factor * scale + bias, as layer_norm says.
struct LayerNormLines {
  Lines lines;
  const float* scale = nullptr;  // n each
  const float* bias = nullptr;   // may be null
  double epsilon = 0.0;
};

// y = x / (bias + factor * sum of squares from `before` elements before to `after` elements after it)^beta, as lrn
// says.
struct LrnWindow {
  std::int64_t before = 0, after = 0;
  double factor = 0.0, bias = 0.0;
  float beta = 0.0f;
};
struct LrnLines {
  Lines lines;  // y is not x
  LrnWindow window;
  float* padded = nullptr;  // scratch of before + n + after
};
struct LrnColumns {
  Columns columns;  // y is not x
  LrnWindow window;
};

// y = softmax_value or tflite_softmax_value of table[255 - (largest - x)] and the sum of these.
struct ByteSoftmaxLines {
  const std::uint8_t* x = nullptr;
  std::uint8_t* y = nullptr;  // may be x
  std::int64_t lines = 0, n = 0;
  bool x_is_signed = false;
  const float* exponentials = nullptr;  // 256
  bool is_onnx = true;
  float y_scale = 1.0f;
  RowRound round;
  float* line = nullptr;  // scratch of n
};

struct ReduceFunctions {
  void (*lines)(const Lines&) = nullptr;
  void (*columns)(const Columns&) = nullptr;
};

struct LineFunctions {
  void (*softmax_lines)(const Lines&);
  void (*softmax_columns)(const Columns&);
  void (*log_softmax_lines)(const Lines&);
  void (*log_softmax_columns)(const Columns&);
  void (*byte_softmax_lines)(const ByteSoftmaxLines&);
  void (*layer_norm)(const LayerNormLines&);
  void (*lrn_lines)(const LrnLines&);
  void (*lrn_columns)(const LrnColumns&);
  ReduceFunctions reduce[count_of(ReduceKind{})];  // by the number of the kind
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_LINES_FUNCTIONS_H_
