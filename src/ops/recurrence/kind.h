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
  const float* bias = nullptr;       // [hidden]
  const float* peepholes = nullptr;  // [3, hidden], or null

  // A step of a gru that resets before its product needs r of all units, so it cannot be cut into blocks of units.
  bool has_blocks() const { return kind != RecurrenceKind::gru || resets_after_product; }
};

// Sequences that are computed together, so that the weights are read once.
inline constexpr int kCellRows = 4;
inline constexpr int kMostGates = 4;

// One step of some units of `count` sequences. Pointers are to the first of these units unless they say otherwise.
struct CellRows {
  int count = 0;
  std::int64_t first = 0, units = 0;  // [first, first + units) of hidden
  const float* w = nullptr;           // [hidden, gates, units], with these strides of the first two
  std::int64_t w_stride = 0, gate_stride = 0;
  const float* x[kCellRows] = {};  // [gates, units], the gates `hidden` apart
  const float* h[kCellRows] = {};  // of all units; none is in h_next
  float* h_next[kCellRows] = {};
  float* c[kCellRows] = {};  // lstm: replaced
  float* gates = nullptr;    // scratch of kCellRows * gates * units
};

// sums[row][gate][j] = from[row][gate][j] + sum over k of h[row][k] * w[k][gate][j], j below `units`.
struct CellSums {
  int rows = 0, gates = 0;
  std::int64_t units = 0, depth = 0;
  const float* w = nullptr;
  std::int64_t w_stride = 0, gate_stride = 0;
  const float* h[kCellRows] = {};
  const float* from[kCellRows][kMostGates] = {};
  float* sums[kCellRows][kMostGates] = {};  // may be `from`, not `h`
};

using StepCell = void (*)(const Cell& cell, const CellRows& rows);

}  // namespace octavo

#endif  // OCTAVO_OPS_RECURRENCE_KIND_H_
