// Transposition of planes for Advanced SIMD. Part of kernels/.
#include "kernels/move/generic.h"

namespace octavo {

constexpr PlaneFunctions kPlaneNeon = plane_functions();

}  // namespace octavo
