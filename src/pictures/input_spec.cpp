// Inputs of models, and pictures for them. Part of pictures/.
#include "pictures/input_spec.h"

#include "base/requantize.h"

namespace octavo {
namespace {

using ToTensor = Result<Tensor> (*)(const Picture&, const Preprocess&, DType, const Shape&);

Result<Tensor> to_input(ToTensor to_tensor, const Picture& image, const Preprocess& preprocess,
                        const InputSpec& input) {
  const bool is_real = takes_real_values(input, preprocess);
  auto tensor = to_tensor(image, preprocess, is_real ? DType::f32 : input.dtype, input.shape);
  if (!tensor || !is_real) return tensor;
  return quantized(*tensor, *input.scale);
}

}  // namespace

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
