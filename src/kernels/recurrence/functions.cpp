// recurrence/ for one instruction set. Part of kernels/.
#include "kernels/recurrence/recurrence.h"
#include "kernels/simd/of_file.h"
#include "ops/recurrence/cell.h"

namespace octavo {

template <>
void step_cell_on<kIsa>(const Cell& cell, const CellRows& rows) {
  step_cell<Simd>(cell, rows);
}

}  // namespace octavo
