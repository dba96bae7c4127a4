// ImageSizes: sizes and strides of image tensors with one or two spatial axes, in either layout. Part of kernels/.
#ifndef OCTAVO_KERNELS_IMAGE_SIZES_H_
#define OCTAVO_KERNELS_IMAGE_SIZES_H_

#include "base/shape.h"
#include "ops/window.h"

namespace octavo {

// Distances in elements between neighbours of an image tensor; one spatial axis is a height of 1.
struct ImageStrides {
  std::int64_t image = 0, row = 0, column = 0, channel = 0;
};
struct ImageSizes {
  std::int64_t batch = 0, height = 1, width = 0, channels = 0;
  ImageStrides strides;

  static ImageSizes of(const Shape& shape, Layout layout) {
    const bool is_first = layout == Layout::channels_first;
    const int rank = shape.rank();
    ImageSizes s{
        .batch = shape[0], .width = shape[is_first ? rank - 1 : rank - 2], .channels = shape[is_first ? 1 : rank - 1]};
    if (rank == 4) s.height = shape[is_first ? 2 : 1];
    s.strides.channel = is_first ? s.height * s.width : 1;
    s.strides.column = is_first ? 1 : s.channels;
    s.strides.row = s.width * s.strides.column;
    s.strides.image = s.height * s.width * s.channels;
    return s;
  }
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_IMAGE_SIZES_H_
