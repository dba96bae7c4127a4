// det: determinants of square matrices. Part of ops/.
#ifndef OCTAVO_OPS_DET_DET_H_
#define OCTAVO_OPS_DET_DET_H_

#include <cstdint>

#include "graph/op.h"

namespace octavo {

// y = determinant of the last two axes of x, which are equal; floats, by elimination in f64 with the largest pivot of a
// column, the first of equals; rounded once. The determinant of a matrix without elements is 1. No attributes. inputs:
// x.
extern const OpSpec kDet;

// Of n x n numbers, which it overwrites.
double determinant(double* matrix, std::int64_t n);

}  // namespace octavo

#endif  // OCTAVO_OPS_DET_DET_H_
