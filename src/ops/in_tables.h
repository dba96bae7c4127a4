// Operators as tables of all 8-bit values have them: as exact as we can, since a table costs its time once. Part of
// ops/.
#ifndef OCTAVO_OPS_IN_TABLES_H_
#define OCTAVO_OPS_IN_TABLES_H_

#include "graph/op.h"

namespace octavo {

// In no file and no plan.
extern const OpSpec kUnaryInTables;   // floats by evaluate_unary, rounded once; the sigmoid of f32 by math_sigmoid_f32
extern const OpSpec kBinaryInTables;  // powers by math_pow, rounded once

// What stands for the operator in a table: itself, where nothing else is said above.
const OpSpec& spec_in_tables(const OpSpec& spec);

}  // namespace octavo

#endif  // OCTAVO_OPS_IN_TABLES_H_
