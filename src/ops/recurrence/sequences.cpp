// Which step of which sequence is computed when. Part of ops/.
#include "ops/recurrence/sequences.h"

#include <algorithm>

namespace octavo {
namespace {

std::int64_t length_of(const Sequences& all, std::int64_t sequence) {
  return all.lengths == nullptr ? all.steps : std::clamp<std::int64_t>(all.lengths[sequence], 0, all.steps);
}

// Of the step of a sequence of so many steps, in [steps, batch].
std::int64_t sequence_row_of(const Sequences& all, std::int64_t sequence, std::int64_t length, std::int64_t step) {
  return (all.is_backward ? length - 1 - step : step) * all.batch + sequence;
}

// The first states lie where the last ones will be.
void begin(const Cell& cell, const Sequences& all, const CellBlock& block) {
  const auto fill = [&](const float* given, float* states) {
    for (int i = 0; i < block.count; ++i) {
      const std::int64_t at = (block.first_sequence + i) * cell.hidden + block.first_unit;
      if (given != nullptr) std::copy_n(given + at, block.units, states + at);
      else std::fill_n(states + at, block.units, 0.0f);
    }
  };
  fill(all.h, all.last);
  if (cell.kind == RecurrenceKind::lstm) fill(all.c, all.last + all.batch * cell.hidden);
}

void end(const Cell& cell, const Sequences& all, const CellBlock& block) {
  for (int i = 0; i < block.count; ++i) {
    const std::int64_t sequence = block.first_sequence + i, length = length_of(all, sequence);
    if (length == 0) continue;
    const float* h = all.y + sequence_row_of(all, sequence, length, length - 1) * cell.hidden + block.first_unit;
    std::copy_n(h, block.units, all.last + sequence * cell.hidden + block.first_unit);
  }
}

}  // namespace

void run_block(const Cell& cell, const Sequences& all, const CellBlock& block, std::int64_t round, float* scratch,
               StepCell step) {
  if (round == 0) return begin(cell, all, block);
  if (round == all.steps + 1) return end(cell, all, block);
  const std::int64_t width = gates_of(cell.kind) * cell.hidden, s = round - 1;
  CellRows rows{.first = block.first_unit,
                .units = block.units,
                .w = block.w,
                .w_stride = block.w_stride,
                .gate_stride = block.gate_stride,
                .gates = scratch};
  for (int i = 0; i < block.count; ++i) {
    const std::int64_t sequence = block.first_sequence + i, length = length_of(all, sequence);
    const std::int64_t at = sequence * cell.hidden;
    if (s >= length) {
      std::fill_n(all.y + (s * all.batch + sequence) * cell.hidden + block.first_unit, block.units, 0.0f);
      continue;
    }
    const std::int64_t row = sequence_row_of(all, sequence, length, s);
    rows.x[rows.count] = all.x + row * width + block.first_unit;
    rows.h[rows.count] = s == 0 ? all.last + at : all.y + sequence_row_of(all, sequence, length, s - 1) * cell.hidden;
    rows.h_next[rows.count] = all.y + row * cell.hidden + block.first_unit;
    if (cell.kind == RecurrenceKind::lstm)
      rows.c[rows.count] = all.last + all.batch * cell.hidden + at + block.first_unit;
    ++rows.count;
  }
  if (rows.count > 0) step(cell, rows);
}

}  // namespace octavo
