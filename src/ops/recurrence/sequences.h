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
  float* last = nullptr;                  // [1 or 2, batch, hidden]; the first states in between

  // One for the first states, one for each step, one for the last states.
  std::int64_t rounds() const { return steps + 2; }
};

// Some units of up to kCellRows sequences, and the weights of these units.
struct CellBlock {
  std::int64_t first_sequence = 0;
  int count = 0;
  std::int64_t first_unit = 0, units = 0;
  const float* w = nullptr;  // [hidden, gates, units], with these strides of the first two
  std::int64_t w_stride = 0, gate_stride = 0;
};

// Floats that a block of so many units needs.
inline std::int64_t block_scratch(std::int64_t units) { return kCellRows * kMostGates * units; }

// What a block does in a round; all blocks end a round before any begins the next. `scratch` has block_scratch()
// floats.
void run_block(const Cell& cell, const Sequences& all, const CellBlock& block, std::int64_t round, float* scratch,
               StepCell step);

}  // namespace octavo

#endif  // OCTAVO_OPS_RECURRENCE_SEQUENCES_H_
