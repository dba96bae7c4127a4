// The instruction set that a family's functions.cpp is being compiled for, one of those that families.inc names. Part
// of kernels/.
#ifndef OCTAVO_KERNELS_ISA_OF_FILE_H_
#define OCTAVO_KERNELS_ISA_OF_FILE_H_

#include "kernels/compiled_for.h"

namespace octavo {
namespace {

constexpr Isa kIsa = Isa::OCTAVO_ISA;  // the build defines it (cmake/octavo.cmake)

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_ISA_OF_FILE_H_
