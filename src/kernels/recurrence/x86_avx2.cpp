// recurrence/ for AVX2. Part of kernels/.
#include "kernels/recurrence/recurrence.h"
#include "kernels/simd/avx2.h"
#include "ops/recurrence/cell.h"

namespace octavo {

void step_cell_avx2(const Cell& cell, const CellRows& rows) { step_cell<Avx2>(cell, rows); }

}  // namespace octavo
