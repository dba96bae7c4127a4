// Elementary functions as oneDNN has them. Part of onednn/.
#ifndef OCTAVO_ONEDNN_POST_OPS_H_
#define OCTAVO_ONEDNN_POST_OPS_H_

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

#include "ops/unary/unary.h"

namespace octavo::onednn {

struct EltwiseFunction {
  dnnl::algorithm algorithm;
  float alpha = 0.0f, beta = 0.0f;
};

// Nothing where oneDNN has none, or only as a chain of several.
std::optional<EltwiseFunction> function_of(const UnaryAttrs& unary);

// Appends the function; false where oneDNN has none for it.
bool append_activation(dnnl::post_ops& post_ops, const UnaryAttrs& activation);

}  // namespace octavo::onednn

#endif  // OCTAVO_ONEDNN_POST_OPS_H_
