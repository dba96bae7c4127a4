// The kinds of recurrence, and one step of one as plain data. Part of ops/.
#ifndef OCTAVO_OPS_RECURRENCE_KIND_H_
#define OCTAVO_OPS_RECURRENCE_KIND_H_

#include <cstdint>
#include <limits>
#include <string_view>

#include "ops/unary/kind.h"

namespace octavo {

// Numbers are part of the artifact format.
enum class RecurrenceKind : std::uint8_t { simple = 0, gru = 1, lstm = 2 };
constexpr int count_of(RecurrenceKind) { return 3; }
constexpr std::string_view name_of(RecurrenceKind kind) {
  constexpr std::string_view names[] = {"simple", "gru", "lstm"};
  return names[static_cast<int>(kind)];
}
// Lines of `hidden` numbers that a step sums: simple h; gru z, r, h; lstm i, o, f, c.
constexpr std::int64_t gates_of(RecurrenceKind kind) {
  constexpr std::int64_t gates[] = {1, 3, 4};
  return gates[static_cast<int>(kind)];
}

inline constexpr float kNoClip = std::numeric_limits<float>::infinity();

struct CellFunction {
  UnaryKind kind = UnaryKind::identity;
  UnaryNumbers numbers;
};

// What is the same for all steps; see recurrence.h.
struct Cell {
  RecurrenceKind kind = RecurrenceKind::lstm;
  std::int64_t hidden = 0;
  CellFunction gate, candidate, output;
  float clip = kNoClip;
  bool resets_after_product = false, couples_gates = false;
  const float* w = nullptr;          // [hidden, gates * hidden]
  const float* bias = nullptr;       // [hidden]
  const float* peepholes = nullptr;  // [3, hidden], or null
};

// Sequences that are computed together, so that the weights are read once.
inline constexpr int kCellRows = 4;

// One step of `count` sequences.
struct CellRows {
  int count = 0;
  const float* x[kCellRows] = {};  // gates * hidden
  const float* h[kCellRows] = {};  // hidden; none is in h_next
  float* h_next[kCellRows] = {};
  float* c[kCellRows] = {};      // lstm: replaced
  float* gates[kCellRows] = {};  // scratch of gates * hidden
};

// sums[row][j] = from[row][j] + sum over k of h[row][k] * w[k][j], j below `width`.
struct CellSums {
  int rows = 0;
  const float* w = nullptr;
  std::int64_t w_stride = 0, depth = 0, width = 0;
  const float* from[kCellRows] = {};
  const float* h[kCellRows] = {};
  float* sums[kCellRows] = {};  // may be `from`, not `h`
};

using StepCell = void (*)(const Cell& cell, const CellRows& rows);

}  // namespace octavo

#endif  // OCTAVO_OPS_RECURRENCE_KIND_H_
