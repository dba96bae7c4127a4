// Which elements a thread has, and where the operands of one of them lie. Part of cuda/device/.
#ifndef OCTAVO_CUDA_DEVICE_STRIDED_H_
#define OCTAVO_CUDA_DEVICE_STRIDED_H_

#include "cuda/arguments.h"
#include "cuda/device/quad.h"
#include "cuda/device/taps.h"

namespace octavo::cuda {

// Where the operands of an element of y lie.
struct Places {
  std::int64_t x = 0, other = 0, third = 0;
};
OCTAVO_DEVICE Places places_of(const StridedArgs& p, std::int64_t element) {
  Places places{.x = p.x_first};
  unrolled<kMostAxes>([&](auto i) {
    constexpr int axis = kMostAxes - 1 - i;  // axes end at the last one
    const Division at = divided(element, p.size[axis], p.by_size[axis]);
    element = at.quotient;
    places.x += at.rest * p.x_stride[axis];
    places.other += at.rest * p.other_stride[axis];
    places.third += at.rest * p.third_stride[axis];
  });
  return places;
}

// Threads of four elements each, the last perhaps of fewer.
template <class Block, class F>
OCTAVO_DEVICE void each_quad(Block& block, std::int64_t elements, const F& f) {
  each_thread(block, (elements + kQuad - 1) / kQuad, [&](std::int64_t thread) {
    const std::int64_t first = thread * kQuad, left = elements - first;
    f(first, static_cast<int>(left < kQuad ? left : kQuad));
  });
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_STRIDED_H_
