// The kernel "reference": runs any operator's scalar reference as one step. Part of kernels/.
#ifndef OCTAVO_KERNELS_REFERENCE_REFERENCE_H_
#define OCTAVO_KERNELS_REFERENCE_REFERENCE_H_

#include <span>
#include <string_view>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> reference_codes();
std::span<const KernelChoice> reference_choices();

// Whether this kernel is an operator's scalar reference: "reference", which has to be allowed, or slices of it
// (kernels/sliced), which stand in without that for operators that have no kernel of their own yet.
bool is_reference_code(std::string_view kernel);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_REFERENCE_REFERENCE_H_
