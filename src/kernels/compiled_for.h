// Where the functions of a family are that are compiled for one instruction set. Part of kernels/.
#ifndef OCTAVO_KERNELS_COMPILED_FOR_H_
#define OCTAVO_KERNELS_COMPILED_FOR_H_

#include "base/machine.h"

namespace octavo {

// `Functions`: a family's table of functions. Each is defined where it is compiled: in the family's functions.cpp for
// the sets that families.inc names, in a file of its own where a set has code of its own.
template <class Functions, Isa isa>
struct CompiledFor {
  static const Functions table;
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_COMPILED_FOR_H_
