// Transposition of planes for portable C++. Part of kernels/.
#include "kernels/move/generic.h"

namespace octavo {

constexpr PlaneFunctions kPlaneScalar = plane_functions();

}  // namespace octavo
