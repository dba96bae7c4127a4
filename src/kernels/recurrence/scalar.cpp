// recurrence/ in portable C++. Part of kernels/.
#include "kernels/simd/scalar.h"

#include "kernels/recurrence/recurrence.h"
#include "ops/recurrence/cell.h"

namespace octavo {

void step_cell_scalar(const Cell& cell, const CellRows& rows) { step_cell<Scalar>(cell, rows); }

}  // namespace octavo
