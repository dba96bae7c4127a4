// softmax: shape rule and reference. Part of ops/.
#include "ops/softmax/softmax.h"

#include <limits>

#include "base/elementary.h"
#include "base/math.h"
#include "base/partial_sums.h"
#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_softmax(const Attrs& attrs, InputFacts inputs) {
  const auto& softmax = attrs.as<SoftmaxAttrs>();
  const Fact& x = *inputs[0];
  const auto problem = first_of({check_dtype("x", x, {DType::f32, DType::f16, DType::bf16, DType::f64}),
                                 check_range("axis", softmax.axis, 0, std::int64_t{x.shape.rank()} - 1)});
  if (problem) return *problem;
  return one_output(x.dtype, x.shape.to_vector());
}

// One line along the axis: `first` is its first element, `stride` the distance of its elements.
struct Line {
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t count = 0;
};

void softmax_line(SoftmaxKind kind, const ConstTensorView& x, const TensorView& y, const Line& line) {
  const auto at = [&](std::int64_t i) { return element_as_double(x, line.first + i * line.stride); };
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < line.count; ++i) largest = at(i) > largest ? at(i) : largest;
  double sum = 0.0;
  for (std::int64_t i = 0; i < line.count; ++i) sum += math_exp(at(i) - largest);
  const double log_sum = kind == SoftmaxKind::log_softmax ? math_log(sum) : 0.0;
  for (std::int64_t i = 0; i < line.count; ++i) {
    const double shifted = at(i) - largest;
    store_double(y, line.first + i * line.stride,
                 kind == SoftmaxKind::log_softmax ? shifted - log_sum : math_exp(shifted) / sum);
  }
}

// f32: see softmax.h.
void softmax_line_f32(SoftmaxKind kind, const float* x, float* y, const Line& line) {
  const auto place = [&](std::int64_t i) { return line.first + i * line.stride; };
  float largest = -std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < line.count; ++i) largest = x[place(i)] > largest ? x[place(i)] : largest;
  largest += 0.0f;  // never -0
  const auto sum = static_cast<float>(
      long_sum(line.count, [&](std::int64_t i) { return exp_weight_f32<Lane>(x[place(i)] - largest); }));
  const float factor = 1.0f / sum, log_sum = log_f32<Lane>(sum);
  for (std::int64_t i = 0; i < line.count; ++i) {
    const float shifted = x[place(i)] - largest;
    y[place(i)] = kind == SoftmaxKind::log_softmax ? shifted - log_sum : exp_weight_f32<Lane>(shifted) * factor;
  }
}

void reference_softmax(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& softmax = attrs.as<SoftmaxAttrs>();
  const Shape& shape = inputs[0].shape;
  if (shape.elements() == 0) return;
  const int axis = static_cast<int>(softmax.axis);
  const std::int64_t inner = shape.elements(axis + 1, shape.rank());
  const std::int64_t outer = shape.elements(0, axis);
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i) {
      const Line line{o * shape[axis] * inner + i, inner, shape[axis]};
      if (inputs[0].dtype == DType::f32)
        softmax_line_f32(softmax.kind, inputs[0].as<float>(), outputs[0].as<float>(), line);
      else softmax_line(softmax.kind, inputs[0], outputs[0], line);
    }
  }
}

}  // namespace

const OpSpec kSoftmax = {
    .name = "softmax",
    .summary =
        "y = exp(x - max) / sum(exp(x - max)) along one axis, or its logarithm; f32 in f32 with our own exp and log",
    .inputs = {"x"},
    .infer = infer_softmax,
    .reference = reference_softmax,
    .decode_attrs = decode_attrs_as<SoftmaxAttrs>,
    .for_one_image = same_for_one_image_along_axis<SoftmaxAttrs>,
    .reordered = reordered_along_axis<SoftmaxAttrs>,
    .read_from = "ONNX Softmax; TFLite SOFTMAX; ATen softmax",
    .integer_form = "quantized_softmax",
};

template Attrs::Attrs(SoftmaxAttrs);

}  // namespace octavo
