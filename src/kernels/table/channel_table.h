// Kernels of the operator channel_table. Part of kernels/.
#ifndef OCTAVO_KERNELS_TABLE_CHANNEL_TABLE_H_
#define OCTAVO_KERNELS_TABLE_CHANNEL_TABLE_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> channel_table_codes();
std::span<const KernelChoice> channel_table_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_TABLE_CHANNEL_TABLE_H_
