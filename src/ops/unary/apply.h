// unary of f32 in place: what operators that end in one call. Part of ops/.
#ifndef OCTAVO_OPS_UNARY_APPLY_H_
#define OCTAVO_OPS_UNARY_APPLY_H_

#include <span>

#include "ops/unary/unary.h"

namespace octavo {

// Each value becomes the function of it that unary is of f32; for functions that give floats.
void apply_unary_f32(const UnaryAttrs& attrs, std::span<float> values);

}  // namespace octavo

#endif  // OCTAVO_OPS_UNARY_APPLY_H_
