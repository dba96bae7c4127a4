// See in_tables.h. Part of ops/.
#include "ops/in_tables.h"

#include "ops/binary/binary.h"
#include "ops/unary/unary.h"

namespace octavo {

const OpSpec& spec_in_tables(const OpSpec& spec) {
  if (&spec == &kUnary) return kUnaryInTables;
  return &spec == &kBinary ? kBinaryInTables : spec;
}

}  // namespace octavo
