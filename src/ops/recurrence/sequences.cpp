// Which step of which sequence is computed when. Part of ops/.
#include "ops/recurrence/sequences.h"

#include <algorithm>
#include <utility>

namespace octavo {
namespace {

struct Sequence {
  std::int64_t index = 0;  // in the batch
  std::int64_t length = 0;
  const float* h = nullptr;  // of the step before
  float* last_h = nullptr;
  float* last_c = nullptr;
};

// With its first state, which lies where the last one will be.
Sequence begun(const Cell& cell, const Sequences& all, std::int64_t index) {
  const std::int64_t at = index * cell.hidden;
  Sequence sequence{.index = index, .length = all.steps, .last_h = all.last + at};
  if (all.lengths != nullptr) sequence.length = std::clamp<std::int64_t>(all.lengths[index], 0, all.steps);
  const auto fill = [&](const float* given, float* to) {
    if (given != nullptr) std::copy_n(given + at, cell.hidden, to);
    else std::fill_n(to, cell.hidden, 0.0f);
  };
  fill(all.h, sequence.last_h);
  sequence.h = sequence.last_h;
  if (cell.kind != RecurrenceKind::lstm) return sequence;
  sequence.last_c = all.last + all.batch * cell.hidden + at;
  fill(all.c, sequence.last_c);
  return sequence;
}

}  // namespace

void run_sequences(const Cell& cell, const Sequences& all, std::int64_t first, int count, float* scratch,
                   StepCell step) {
  const std::int64_t width = gates_of(cell.kind) * cell.hidden;
  Sequence sequences[kCellRows];
  for (int i = 0; i < count; ++i) sequences[i] = begun(cell, all, first + i);
  for (std::int64_t s = 0; s < all.steps; ++s) {
    CellRows rows;
    for (int i = 0; i < count; ++i) {
      Sequence& sequence = sequences[i];
      const bool is_over = s >= sequence.length;
      const std::int64_t t = all.is_backward && !is_over ? sequence.length - 1 - s : s;
      const std::int64_t row = t * all.batch + sequence.index;
      float* const y = all.y + row * cell.hidden;
      if (is_over) {
        std::fill_n(y, cell.hidden, 0.0f);
        continue;
      }
      rows.x[rows.count] = all.x + row * width;
      rows.h[rows.count] = std::exchange(sequence.h, y);
      rows.h_next[rows.count] = y;
      rows.c[rows.count] = sequence.last_c;
      rows.gates[rows.count] = scratch + rows.count * width;
      ++rows.count;
    }
    if (rows.count > 0) step(cell, rows);
  }
  for (int i = 0; i < count; ++i) {
    if (sequences[i].h != sequences[i].last_h) std::copy_n(sequences[i].h, cell.hidden, sequences[i].last_h);
  }
}

}  // namespace octavo
