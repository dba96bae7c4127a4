// Kernels that move elements of one to eight bytes: copies, boxes and permuted axes, paddings, rows joined or picked.
// Part of cuda/device/.
#ifndef OCTAVO_CUDA_DEVICE_MOVES_H_
#define OCTAVO_CUDA_DEVICE_MOVES_H_

#include "cuda/device/strided.h"

namespace octavo::cuda {

template <class Block>
OCTAVO_DEVICE void copy(Block& block, const BytesArgs& p) {
  each_quad(block, p.elements, [&](std::int64_t first, int count) {
    Quad<std::uint8_t> x;
    load_quad<Block>(reinterpret_cast<const std::uint8_t*>(p.x) + first, count, count == kQuad, x);
    store_quad<Block>(p.y, first, x, count, count == kQuad);
  });
}

template <class T, class Block>
OCTAVO_DEVICE void move(Block& block, const StridedArgs& p) {
  each_thread(block, p.elements, [&](std::int64_t thread) {
    reinterpret_cast<T*>(p.y)[thread] = reinterpret_cast<const T*>(p.x)[places_of(p, thread).x];
  });
}

template <class T, class Block>
OCTAVO_DEVICE void pad(Block& block, const PadArgs& p) {
  each_thread(block, p.elements, [&](std::int64_t thread) {
    std::int64_t element = thread, from = 0;
    bool is_inside = true;
    unrolled<kMostAxes>([&](auto i) {
      constexpr int axis = kMostAxes - 1 - i;
      const std::int64_t at = padded_index(p.mode, element % p.size[axis] - p.begin[axis], p.x_size[axis]);
      element /= p.size[axis];
      is_inside = is_inside && at >= 0;
      from += at * p.x_stride[axis];
    });
    T value{};
    if (is_inside) value = reinterpret_cast<const T*>(p.x)[from];
    else if (p.value != nullptr) value = *reinterpret_cast<const T*>(p.value);
    reinterpret_cast<T*>(p.y)[thread] = value;
  });
}

template <class T, class Block>
OCTAVO_DEVICE void concat(Block& block, const ConcatArgs& p) {
  each_thread(block, p.elements, [&](std::int64_t thread) {
    const std::int64_t width = p.end[p.parts - 1], row = thread / width, at = thread % width;
    std::int64_t part = 0;
    while (at >= p.end[part]) ++part;
    const std::int64_t begin = part == 0 ? 0 : p.end[part - 1];
    const auto* from = reinterpret_cast<const T*>(p.part[part]);
    reinterpret_cast<T*>(p.y)[thread] = from[row * (p.end[part] - begin) + at - begin];
  });
}

template <class T, class Block>
OCTAVO_DEVICE void gather(Block& block, const GatherArgs& p) {
  each_thread(block, p.elements, [&](std::int64_t thread) {
    const std::int64_t unit = thread % p.row, pick = thread / p.row % p.count, outer = thread / p.row / p.count;
    std::int64_t index = p.has_64_bits != 0 ? reinterpret_cast<const std::int64_t*>(p.indices)[pick]
                                            : reinterpret_cast<const std::int32_t*>(p.indices)[pick];
    if (index < 0) index += p.axis;
    if (index < 0) index = 0;
    if (index >= p.axis) index = p.axis - 1;
    reinterpret_cast<T*>(p.y)[thread] = reinterpret_cast<const T*>(p.x)[(outer * p.axis + index) * p.row + unit];
  });
}

// x is the condition, other where it holds, third where it does not.
template <class T, class Block>
OCTAVO_DEVICE void choose(Block& block, const StridedArgs& p) {
  each_thread(block, p.elements, [&](std::int64_t thread) {
    const Places from = places_of(p, thread);
    const bool holds = p.x[from.x] != std::byte{0};
    reinterpret_cast<T*>(p.y)[thread] =
        holds ? reinterpret_cast<const T*>(p.other)[from.other] : reinterpret_cast<const T*>(p.third)[from.third];
  });
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_MOVES_H_
