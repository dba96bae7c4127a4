// An input of a model, and what pictures become for it. Part of pictures/.
#ifndef OCTAVO_PICTURES_INPUT_SPEC_H_
#define OCTAVO_PICTURES_INPUT_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>

#include "octavo/tensor.h"
#include "pictures/preprocess.h"
#include "quantize/quantize.h"

namespace octavo {

// The first dimension of `shape` is the batch, 1 here.
struct InputSpec {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::optional<TensorScale> scale = std::nullopt;  // of an 8-bit input: what its values stand for, where known

  bool operator==(const InputSpec&) const = default;
};

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
