// Kernels of the operator table. Part of kernels/.
#ifndef OCTAVO_KERNELS_TABLE_TABLE_H_
#define OCTAVO_KERNELS_TABLE_TABLE_H_

#include <span>

#include "kernels/kernel.h"

namespace octavo {

std::span<const Kernel> table_kernels();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_TABLE_TABLE_H_
