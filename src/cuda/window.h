// Windows over NHWC images as kernels on a device are told of them. Part of cuda/.
#ifndef OCTAVO_CUDA_WINDOW_H_
#define OCTAVO_CUDA_WINDOW_H_

#include <string>

#include "base/shape.h"
#include "cuda/arguments.h"
#include "ops/window.h"

namespace octavo::cuda {

// Why it cannot be told to them: two spatial axes, each number of a size; empty where it can.
std::string window_refusal(const Window& window, const Shape& x, const Shape& y);
// x [N,H,W,C], y [N,OH,OW,OC]
WindowArgs window_args(const Window& window, const Shape& x, const Shape& y);

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_WINDOW_H_
