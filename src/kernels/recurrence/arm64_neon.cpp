// recurrence/ for Advanced SIMD. Part of kernels/.
#include "kernels/recurrence/recurrence.h"
#include "kernels/simd/neon.h"
#include "ops/recurrence/cell.h"

namespace octavo {

void step_cell_neon(const Cell& cell, const CellRows& rows) { step_cell<Neon>(cell, rows); }

}  // namespace octavo
