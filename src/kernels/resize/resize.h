// Kernels of resize: nearest for any type, linear for f32 and 8 bit in f32, everything else in f64. Part of kernels/.
#ifndef OCTAVO_KERNELS_RESIZE_RESIZE_H_
#define OCTAVO_KERNELS_RESIZE_RESIZE_H_

#include <span>

#include "kernels/call.h"
#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> integer_resize_codes();
std::span<const KernelChoice> integer_resize_choices();
std::span<const KernelCode> resize_codes();
std::span<const KernelChoice> resize_choices();
std::span<const KernelCode> resize_linear_codes();
std::span<const KernelChoice> resize_linear_choices();
std::span<const KernelCode> resize_weighted_codes();
std::span<const KernelChoice> resize_weighted_choices();

// Positions are listed per axis, so that axes of the result may not be too long.
std::string refuse_long_axes(const CallView& call);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_RESIZE_RESIZE_H_
