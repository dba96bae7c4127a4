// Images: RGB in memory, resized and cropped as Pillow does it. Part of pictures/.
#ifndef OCTAVO_PICTURES_IMAGE_H_
#define OCTAVO_PICTURES_IMAGE_H_

#include <cstdint>
#include <vector>

namespace octavo {

// Rows from the top, three bytes (R, G, B) per pixel, no padding.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb;

  bool operator==(const Picture&) const = default;
};

// Pillow's Image.resize(BILINEAR): a triangle filter as wide as the reduction, 22-bit weights, rounded to 8 bits
// after the horizontal and again after the vertical pass. Same bytes as Pillow. Sizes are at least 1.
Picture resize_bilinear(const Picture& image, int width, int height);

// The shorter side becomes `side`, the longer one keeps the ratio (rounded down).
Picture resize_shorter_side(const Picture& image, int side);

// The middle (an odd pixel more is cut at the right and the bottom); where the image is smaller, black is added around
// it.
Picture crop_centre(const Picture& image, int width, int height);

}  // namespace octavo

#endif  // OCTAVO_PICTURES_IMAGE_H_
