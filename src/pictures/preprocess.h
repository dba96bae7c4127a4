// Preprocessing: how an image becomes an input tensor, as a SPEC in one line. Part of pictures/. docs/cli.md lists the
// names.
#ifndef OCTAVO_PICTURES_PREPROCESS_H_
#define OCTAVO_PICTURES_PREPROCESS_H_

#include <array>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/tensor.h"
#include "pictures/image.h"

namespace octavo {

enum class ColourOrder { rgb, bgr, grey };
enum class ImageLayout { nchw, nhwc };

// value = (pixel * scale - mean) / std, per channel in the order of the tensor; all in f32.
struct Preprocess {
  float scale = 1.0f;
  std::array<float, 3> mean{0.0f, 0.0f, 0.0f};
  std::array<float, 3> std{1.0f, 1.0f, 1.0f};
  ColourOrder order = ColourOrder::rgb;
  std::optional<ImageLayout> layout;  // none: seen from the shape of the input
  std::optional<int> resize;          // shorter side; none: 256/224 of the crop; 0: no resizing before the crop
  std::optional<int> crop;            // none: the size of the input

  bool operator==(const Preprocess&) const = default;
  // `raw`, whatever the size and layout: the values are the pixels themselves.
  bool keeps_pixels() const {
    return scale == 1.0f && mean == std::array{0.0f, 0.0f, 0.0f} && std == std::array{1.0f, 1.0f, 1.0f};
  }
};

// What is left to do where a model computes the values itself, of u8 [N, H, W, C] pictures: their size, and grey of one
// channel.
inline Preprocess without_values(const Preprocess& preprocess) {
  return {.layout = ImageLayout::nhwc, .resize = preprocess.resize, .crop = preprocess.crop};
}

// "torch", "tf", "tfq", "bgr", "raw", or fields such as
// "mean=0.5,0.5,0.5,std=0.5,scale=0.00392,order=bgr,layout=nhwc,resize=256,crop=224"; a name may be followed by fields
// that change it. Errors: usage, with what was found.
Result<Preprocess> parse_preprocess(std::string_view spec);

// What an input asks for. Errors (usage) where it is no image: rank 4, or 3 without batch, with 1 or 3 channels.
struct ImageInput {
  ImageLayout layout = ImageLayout::nchw;
  int channels = 3;
  int height = 0;
  int width = 0;
};
Result<ImageInput> image_input_of(const Shape& shape, const Preprocess& preprocess);

// Resizes the shorter side, crops the middle, then apply_pixels. `shape` has a batch of 1.
Result<Tensor> image_to_tensor(const Picture& image, const Preprocess& preprocess, DType dtype, const Shape& shape);
// For an image that already has the size of the input. Integer inputs are rounded to nearest even and saturated;
// `raw` pixels of an s8 input are moved by -128.
Result<Tensor> pixels_to_tensor(const Picture& image, const Preprocess& preprocess, DType dtype, const Shape& shape);

}  // namespace octavo

#endif  // OCTAVO_PICTURES_PREPROCESS_H_
