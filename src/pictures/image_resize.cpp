// Resizing and cropping as Pillow and torchvision do. Part of pictures/.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "pictures/image.h"

namespace octavo {
namespace {

constexpr int kWeightBits = 22;  // 32 - 8 bits of a pixel - 2 spare

// For each output position: the first input position and the weights from there on.
struct Taps {
  std::size_t width = 0;  // weights per output position
  std::vector<int> first;
  std::vector<int> count;
  std::vector<std::int32_t> weights;
};

double triangle(double x) {
  const double distance = std::fabs(x);
  return distance < 1.0 ? 1.0 - distance : 0.0;
}

Taps make_taps(int in_size, int out_size) {
  const double scale = static_cast<double>(in_size) / out_size;
  const double support = std::max(scale, 1.0);
  Taps taps;
  taps.width = static_cast<std::size_t>(std::ceil(support)) * 2 + 1;
  taps.weights.resize(taps.width * static_cast<std::size_t>(out_size));
  std::vector<double> exact(taps.width);
  for (int out = 0; out < out_size; ++out) {
    const double centre = (out + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(centre - support + 0.5));
    const int count = std::min(in_size, static_cast<int>(centre + support + 0.5)) - first;
    double sum = 0.0;
    for (int i = 0; i < count; ++i)
      sum += exact[static_cast<std::size_t>(i)] = triangle((i + first - centre + 0.5) * (1.0 / support));
    std::int32_t* weights = &taps.weights[static_cast<std::size_t>(out) * taps.width];
    for (int i = 0; i < count; ++i)
      weights[i] = static_cast<std::int32_t>(0.5 + exact[static_cast<std::size_t>(i)] / sum * (1 << kWeightBits));
    taps.first.push_back(first);
    taps.count.push_back(count);
  }
  return taps;
}

std::uint8_t round_weighted(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

Picture resize_width(const Picture& image, int width) {
  if (width == image.width) return image;
  const Taps taps = make_taps(image.width, width);
  Picture result{
      width, image.height,
      std::vector<std::uint8_t>(static_cast<std::size_t>(width) * static_cast<std::size_t>(image.height) * 3)};
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* from = &image.rgb[static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) * 3];
    std::uint8_t* to = &result.rgb[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) * 3];
    for (std::size_t x = 0; x < static_cast<std::size_t>(width); ++x) {
      const std::uint8_t* pixels = from + taps.first[x] * 3;
      for (int c = 0; c < 3; ++c) {
        std::int32_t sum = 1 << (kWeightBits - 1);
        for (int i = 0; i < taps.count[x]; ++i)
          sum += pixels[i * 3 + c] * taps.weights[x * taps.width + static_cast<std::size_t>(i)];
        to[x * 3 + static_cast<std::size_t>(c)] = round_weighted(sum);
      }
    }
  }
  return result;
}

Picture resize_height(const Picture& image, int height) {
  if (height == image.height) return image;
  const Taps taps = make_taps(image.height, height);
  const std::size_t row = static_cast<std::size_t>(image.width) * 3;
  Picture result{image.width, height, std::vector<std::uint8_t>(row * static_cast<std::size_t>(height))};
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    const std::uint8_t* from = &image.rgb[static_cast<std::size_t>(taps.first[y]) * row];
    for (std::size_t x = 0; x < row; ++x) {
      std::int32_t sum = 1 << (kWeightBits - 1);
      for (int i = 0; i < taps.count[y]; ++i) {
        sum += from[static_cast<std::size_t>(i) * row + x] * taps.weights[y * taps.width + static_cast<std::size_t>(i)];
      }
      result.rgb[y * row + x] = round_weighted(sum);
    }
  }
  return result;
}

}  // namespace

Picture resize_bilinear(const Picture& image, int width, int height) {
  return resize_height(resize_width(image, width), height);
}

Picture resize_shorter_side(const Picture& image, int side) {
  const auto longer = [&](int length, int shorter) {
    return std::max(1, static_cast<int>(static_cast<std::int64_t>(length) * side / shorter));
  };
  if (image.width <= image.height) return resize_bilinear(image, side, longer(image.height, image.width));
  return resize_bilinear(image, longer(image.width, image.height), side);
}

Picture crop_centre(const Picture& image, int width, int height) {
  // An odd pixel stays on the right and at the bottom; negative where the image is smaller.
  const auto offset = [](int inner, int outer) { return (inner - outer) >> 1; };
  const int left = offset(image.width, width);
  const int top = offset(image.height, height);
  Picture result{width, height,
                 std::vector<std::uint8_t>(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3)};
  const int first = std::max(0, -left);
  const int last = std::min(width, image.width - left);
  for (int y = 0; y < height; ++y) {
    const int from = y + top;
    if (from < 0 || from >= image.height || first >= last) continue;
    const std::size_t source = (static_cast<std::size_t>(from) * static_cast<std::size_t>(image.width) +
                                static_cast<std::size_t>(first + left)) *
                               3;
    const std::size_t target =
        (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(first)) * 3;
    std::memcpy(&result.rgb[target], &image.rgb[source], static_cast<std::size_t>(last - first) * 3);
  }
  return result;
}

}  // namespace octavo
