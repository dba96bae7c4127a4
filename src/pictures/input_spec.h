// An input of a model, and what pictures become for it. Part of pictures/.
#ifndef OCTAVO_PICTURES_INPUT_SPEC_H_
#define OCTAVO_PICTURES_INPUT_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/sizes.h"
#include "octavo/tensor.h"
#include "pictures/preprocess.h"
#include "quantize/quantize.h"

namespace octavo {

// The first dimension of `shape` is the batch, 1 here.
struct InputSpec {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;                                      // open extents at an example, 0 where nobody has one
  std::optional<TensorScale> scale = std::nullopt;  // of an 8-bit input: what its values stand for, where known
  std::vector<std::optional<OpenSize>> open = {};   // by axis, where samples may have several; empty: no axis is

  bool is_open(std::size_t axis) const { return axis < open.size() && open[axis].has_value(); }
  bool has_open_axis() const;
  // "1x3xHxW"
  std::string shape_text() const;
  bool operator==(const InputSpec&) const = default;
};

// What such a tensor is as the input: the shape itself, or with a batch of 1 in front. Nothing where extents that are
// not open differ.
std::optional<Shape> shape_as(const InputSpec& input, const Shape& shape);

// Whether pictures of several sizes become tensors of several shapes: height or width are open, and SPEC says
// `resize=0` and no crop.
bool takes_own_sizes(const InputSpec& input, const Preprocess& preprocess);

// What a picture becomes for the input: where height and width are open they are those that SPEC crops to, or the
// picture's own (takes_own_sizes), rounded down to the step of the size and within its range.
Shape shape_of_picture(const InputSpec& input, int width, int height, const Preprocess& preprocess);

// The input of a plan for samples that come one by one.
InputSpec input_spec(const v1::TensorInfo& info, std::int64_t batch);

// f32 values as the 8-bit ones of that scale (the formula of QuantizeLinear).
Tensor quantized(const Tensor& values, const TensorScale& scale);

// Whether what becomes of an image are the real values that the input's stored ones stand for. Pixels themselves are
// such only where the input's range reaches as far as theirs; a network of TensorFlow's of [-1, 1) takes them for
// stored values.
bool takes_real_values(const InputSpec& input, const Preprocess& preprocess);

// image_to_tensor and pixels_to_tensor, real values quantized with the input's scale.
Result<Tensor> image_to_input(const Picture& image, const Preprocess& preprocess, const InputSpec& input);
Result<Tensor> pixels_to_input(const Picture& image, const Preprocess& preprocess, const InputSpec& input);

}  // namespace octavo

#endif  // OCTAVO_PICTURES_INPUT_SPEC_H_
