// Activations as oneDNN's post-operations. Part of kernels/onednn.
#ifndef OCTAVO_KERNELS_ONEDNN_POST_OPS_H_
#define OCTAVO_KERNELS_ONEDNN_POST_OPS_H_

#include <oneapi/dnnl/dnnl.hpp>

#include "ops/unary/unary.h"

namespace octavo::onednn {

// Appends the function; false where oneDNN has none for it.
bool append_activation(dnnl::post_ops& post_ops, const UnaryAttrs& activation);

}  // namespace octavo::onednn

#endif  // OCTAVO_KERNELS_ONEDNN_POST_OPS_H_
