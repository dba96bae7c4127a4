// Which step of which sequence is computed when, for the reference and the kernels of recurrence. Part of ops/.
#ifndef OCTAVO_OPS_RECURRENCE_SEQUENCES_H_
#define OCTAVO_OPS_RECURRENCE_SEQUENCES_H_

#include <cstdint>

#include "ops/recurrence/kind.h"

namespace octavo {

// Inputs and results of a recurrence in memory; those that are left out are null.
struct Sequences {
  std::int64_t steps = 0, batch = 0;
  bool is_backward = false;
  const float* x = nullptr;  // [steps, batch, gates * hidden]
  const float* h = nullptr;  // [batch, hidden]
  const float* c = nullptr;
  const std::int32_t* lengths = nullptr;  // [batch]
  float* y = nullptr;                     // [steps, batch, hidden]
  float* last = nullptr;                  // [1 or 2, batch, hidden]
};

// Of up to kCellRows sequences at a time.
inline std::int64_t sequence_scratch(const Cell& cell) { return kCellRows * gates_of(cell.kind) * cell.hidden; }

// Sequences [first, first + count), count up to kCellRows. `scratch` has sequence_scratch() floats.
void run_sequences(const Cell& cell, const Sequences& all, std::int64_t first, int count, float* scratch,
                   StepCell step);

}  // namespace octavo

#endif  // OCTAVO_OPS_RECURRENCE_SEQUENCES_H_
