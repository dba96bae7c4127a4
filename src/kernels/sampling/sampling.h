// Kernels of grid_sample and roi_align. Part of kernels/.
#ifndef OCTAVO_KERNELS_SAMPLING_SAMPLING_H_
#define OCTAVO_KERNELS_SAMPLING_SAMPLING_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> grid_sample_codes();
std::span<const KernelChoice> grid_sample_choices();
std::span<const KernelCode> roi_align_codes();
std::span<const KernelChoice> roi_align_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_SAMPLING_SAMPLING_H_
