// Products of two matrices of 8 bits that are known only in a run. Part of kernels/.
#ifndef OCTAVO_KERNELS_BYTE_PRODUCT_BYTE_PRODUCT_H_
#define OCTAVO_KERNELS_BYTE_PRODUCT_BYTE_PRODUCT_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> byte_product_codes();
std::span<const KernelChoice> byte_product_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_BYTE_PRODUCT_BYTE_PRODUCT_H_
