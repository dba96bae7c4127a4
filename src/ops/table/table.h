// table: any function of an 8-bit or s16 value; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_TABLE_TABLE_H_
#define OCTAVO_OPS_TABLE_TABLE_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

// y[i] = table[x[i] as an unsigned number of as many bits]. inputs: x (u8, s8 or s16), table of u8, s8, s16 or f32 with
// an entry for each value of x's type: [256], [65536] for s16. The result has the type of the table. Also
// requantization (u8 to u8), relabelling (s8 to u8) and dequantization (8 bit to f32) of one tensor.
extern const OpSpec kTable;

constexpr std::int64_t table_entries(DType x) { return x == DType::s16 ? 65536 : 256; }

}  // namespace octavo

#endif  // OCTAVO_OPS_TABLE_TABLE_H_
