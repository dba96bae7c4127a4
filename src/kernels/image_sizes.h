// ImageSizes: sizes and strides of image tensors with one to three spatial axes, in either layout. Part of kernels/.
#ifndef OCTAVO_KERNELS_IMAGE_SIZES_H_
#define OCTAVO_KERNELS_IMAGE_SIZES_H_

#include "base/shape.h"
#include "ops/window.h"

namespace octavo {

// Distances in elements between neighbours of an image tensor; missing spatial axes, in front, have size 1.
struct ImageStrides {
  std::int64_t image = 0, plane = 0, row = 0, column = 0, channel = 0;
};
struct ImageSizes {
  std::int64_t batch = 0, depth = 1, height = 1, width = 0, channels = 0;
  ImageStrides strides;

  static ImageSizes of(const Shape& shape, Layout layout) {
    const bool is_first = layout == Layout::channels_first;
    const int rank = shape.rank();
    ImageSizes s{
        .batch = shape[0], .width = shape[is_first ? rank - 1 : rank - 2], .channels = shape[is_first ? 1 : rank - 1]};
    if (rank >= 4) s.height = shape[is_first ? rank - 2 : rank - 3];
    if (rank >= 5) s.depth = shape[is_first ? rank - 3 : rank - 4];
    s.strides.channel = is_first ? s.depth * s.height * s.width : 1;
    s.strides.column = is_first ? 1 : s.channels;
    s.strides.row = s.width * s.strides.column;
    s.strides.plane = s.height * s.strides.row;
    s.strides.image = s.depth * s.height * s.width * s.channels;
    return s;
  }
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_IMAGE_SIZES_H_
