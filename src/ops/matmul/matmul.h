// matmul: matrix product with numpy shapes. Part of ops/.
#ifndef OCTAVO_OPS_MATMUL_MATMUL_H_
#define OCTAVO_OPS_MATMUL_MATMUL_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

// y[...,m,n] = sum over k of a[...,m,k] * b[...,k,n]; rank 1 and batch broadcasting as numpy.matmul. Floats are summed
// in f64 and rounded once; integers are exact in their own type (wrapping).
extern const OpSpec kMatmul;

}  // namespace octavo

#endif  // OCTAVO_OPS_MATMUL_MATMUL_H_
