// Inputs of models, and pictures for them. Part of pictures/.
#include "pictures/input_spec.h"

#include <algorithm>

#include "base/requantize.h"

namespace octavo {
namespace {

using ToTensor = Result<Tensor> (*)(const Picture&, const Preprocess&, DType, const Shape&);

Result<Tensor> to_input(ToTensor to_tensor, const Picture& image, const Preprocess& preprocess,
                        const InputSpec& input) {
  const bool is_real = takes_real_values(input, preprocess);
  const Shape shape = shape_of_picture(input, image.width, image.height, preprocess);
  auto tensor = to_tensor(image, preprocess, is_real ? DType::f32 : input.dtype, shape);
  if (!tensor || !is_real) return tensor;
  return quantized(*tensor, *input.scale);
}

}  // namespace

bool InputSpec::has_open_axis() const {
  return std::any_of(open.begin(), open.end(), [](const auto& axis) { return axis.has_value(); });
}

std::string InputSpec::shape_text() const {
  std::string text;
  for (std::size_t axis = 0; axis < shape.dims().size(); ++axis)
    text += (axis == 0 ? "" : "x") + (is_open(axis) ? open[axis]->name : std::to_string(shape.dims()[axis]));
  return text.empty() ? shape.to_string() : text;
}

std::optional<Shape> shape_as(const InputSpec& input, const Shape& shape) {
  std::vector<std::int64_t> dims = shape.to_vector();
  const bool has_batch_to_add = shape.rank() + 1 == input.shape.rank();
  if (has_batch_to_add) dims.insert(dims.begin(), 1);
  if (dims.size() != input.shape.dims().size()) return std::nullopt;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (!input.is_open(axis) && dims[axis] != input.shape.dims()[axis]) return std::nullopt;
  }
  return Shape(dims);
}

bool takes_own_sizes(const InputSpec& input, const Preprocess& preprocess) {
  return input.has_open_axis() && preprocess.resize == 0 && !preprocess.crop;
}

Shape shape_of_picture(const InputSpec& input, int width, int height, const Preprocess& preprocess) {
  Shape known = input.shape;
  for (int axis = 0; axis < known.rank(); ++axis) {
    if (known[axis] == 0) known[axis] = 1;
  }
  const auto image = image_input_of(known, preprocess);
  if (!image || (!takes_own_sizes(input, preprocess) && !preprocess.crop)) return input.shape;
  const std::size_t first = input.shape.dims().size() - (image->layout == ImageLayout::nchw ? 2 : 3);
  Shape shape = input.shape;
  for (const auto& [axis, own] : {std::pair(first, height), std::pair(first + 1, width)}) {
    if (!input.is_open(axis)) continue;
    const OpenSize& size = *input.open[axis];
    const std::int64_t least = std::max(size.range.lowest, size.step);
    const std::int64_t taken = std::clamp(own / size.step * size.step, least, std::max(least, size.range.highest));
    shape[static_cast<int>(axis)] = preprocess.crop ? *preprocess.crop : taken;
  }
  return shape;
}

InputSpec input_spec(const v1::TensorInfo& info, std::int64_t batch) {
  std::vector<std::int64_t> dims = info.shape;
  if (!dims.empty() && dims[0] == batch) dims[0] = 1;
  InputSpec spec{.name = info.name, .dtype = info.dtype, .shape = Shape(dims)};
  if (is_8bit(info.dtype) && info.scale.size() == 1 && info.zero_point.size() == 1)
    spec.scale = TensorScale{info.dtype, info.scale[0], info.zero_point[0]};
  return spec;
}

Tensor quantized(const Tensor& values, const TensorScale& scale) {
  Tensor result(scale.type, values.shape());
  const bool is_signed = scale.type == DType::s8;
  const auto from = values.span<float>();
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::int32_t q =
        quantize_value(from[i], scale.scale, scale.zero_point, is_signed ? -128 : 0, is_signed ? 127 : 255);
    result.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(q);
  }
  return result;
}

bool takes_real_values(const InputSpec& input, const Preprocess& preprocess) {
  if (!input.scale) return false;
  const float highest =
      static_cast<float>((input.scale->type == DType::s8 ? 127 : 255) - input.scale->zero_point) * input.scale->scale;
  return !preprocess.keeps_pixels() || highest >= 128.0f;
}

Result<Tensor> image_to_input(const Picture& image, const Preprocess& preprocess, const InputSpec& input) {
  return to_input(image_to_tensor, image, preprocess, input);
}

Result<Tensor> pixels_to_input(const Picture& image, const Preprocess& preprocess, const InputSpec& input) {
  return to_input(pixels_to_tensor, image, preprocess, input);
}

}  // namespace octavo
