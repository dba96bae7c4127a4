// table: any function of an 8-bit value; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_TABLE_TABLE_H_
#define OCTAVO_OPS_TABLE_TABLE_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

// y[i] = table[x[i] as an unsigned byte]. inputs: x (u8 or s8), table [256] of u8, s8 or f32. The result has the type
// of the table. Also requantization (u8 to u8), relabelling (s8 to u8) and dequantization (8 bit to f32) of one tensor.
extern const OpSpec kTable;

}  // namespace octavo

#endif  // OCTAVO_OPS_TABLE_TABLE_H_
