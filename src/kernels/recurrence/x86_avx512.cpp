// recurrence/ for AVX-512. Part of kernels/.
#include "kernels/recurrence/recurrence.h"
#include "kernels/simd/avx512.h"
#include "ops/recurrence/cell.h"

namespace octavo {

void step_cell_avx512(const Cell& cell, const CellRows& rows) { step_cell<Avx512>(cell, rows); }

}  // namespace octavo
