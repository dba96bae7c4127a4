// matmul_integer: exact matrix product of 8-bit values to s32 (ONNX MatMulInteger). Part of ops/.
#ifndef OCTAVO_OPS_MATMUL_INTEGER_MATMUL_INTEGER_H_
#define OCTAVO_OPS_MATMUL_INTEGER_MATMUL_INTEGER_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

// y = (a - a_zp) x (b - b_zp), s32, numpy matmul shapes. inputs: a, b, a_zp? (scalar or per row), b_zp? (scalar or per
// column). u8 or s8.
extern const OpSpec kMatmulInteger;

}  // namespace octavo

#endif  // OCTAVO_OPS_MATMUL_INTEGER_MATMUL_INTEGER_H_
