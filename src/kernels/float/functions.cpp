// float/ for one instruction set. Part of kernels/.
#include "kernels/float/generic.h"
#include "kernels/simd/of_file.h"

namespace octavo {
namespace {

// Of the vectors of f64 that sums are in.
constexpr int kAccumulatorBytes = kIsa == Isa::avx512 ? 64 : (kIsa == Isa::avx2 ? 32 : 16);

}  // namespace

template <>
constinit const SumFunctions CompiledFor<SumFunctions, kIsa>::table = sum_functions<kAccumulatorBytes, Simd>();

}  // namespace octavo
