// depthwise/ position by position for portable C++. Part of kernels/.
#include "kernels/simd/scalar.h"

#include "kernels/compiled_for.h"
#include "kernels/depthwise/generic.h"

namespace octavo {
namespace {

std::int64_t nothing_wide(const DepthwisePosition&) { return 0; }

}  // namespace

template <>
constinit const DepthwiseFunctions CompiledFor<DepthwiseFunctions, Isa::scalar>::table =
    depthwise_functions<Scalar, nothing_wide>();

}  // namespace octavo
