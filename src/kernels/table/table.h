// Kernels of the operators table and, of bytes, gather. Part of kernels/.
#ifndef OCTAVO_KERNELS_TABLE_TABLE_H_
#define OCTAVO_KERNELS_TABLE_TABLE_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> gather_bytes_codes();
std::span<const KernelChoice> gather_bytes_choices();
std::span<const KernelCode> table_codes();
std::span<const KernelChoice> table_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_TABLE_TABLE_H_
