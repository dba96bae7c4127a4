// Transposition of planes for AVX2. Part of kernels/.
#include "kernels/move/generic.h"

namespace octavo {

constexpr PlaneFunctions kPlaneAvx2 = plane_functions();

}  // namespace octavo
