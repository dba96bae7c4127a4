// lrn: shape rule and reference. Part of ops/.
#include "ops/lrn/lrn.h"

#include <algorithm>
#include <cmath>

#include "base/elementary_pow.h"
#include "base/math.h"
#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_lrn(const Attrs& attrs, InputFacts inputs) {
  const auto& lrn = attrs.as<LrnAttrs>();
  const Fact& x = *inputs[0];
  const auto problem =
      first_of({check_dtype("x", x, {DType::f32, DType::f16, DType::bf16, DType::f64}),
                check_range("axis", lrn.axis, 0, std::int64_t{x.shape.rank()} - 1),
                check_range("size", lrn.size, 1, std::int64_t{1} << 31), check_finite("alpha", lrn.alpha),
                check_finite("beta", lrn.beta), check_finite("bias", lrn.bias)});
  if (problem) return *problem;
  return one_output(x.dtype, x.shape.to_vector());
}

// f32: see lrn.h.
float lrn_f32(const LrnAttrs& lrn, float x, double squares) {
  const double factor = static_cast<double>(lrn.alpha) / static_cast<double>(lrn.size);
  const auto base = static_cast<float>(static_cast<double>(lrn.bias) + factor * squares);
  return x / pow_f32<Lane>(base, lrn.beta);
}

void reference_lrn(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& lrn = attrs.as<LrnAttrs>();
  const Shape& shape = inputs[0].shape;
  const int axis = static_cast<int>(lrn.axis);
  const std::int64_t inner = shape.elements(axis + 1, shape.rank());
  const std::int64_t channels = shape[axis];
  const std::int64_t before = (lrn.size - 1) / 2;
  const std::int64_t count = shape.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t c = i / inner % channels;
    const std::int64_t first = std::max<std::int64_t>(0, c - before);
    const std::int64_t last = std::min(channels - 1, c + (lrn.size - 1 - before));
    double squares = 0.0;
    for (std::int64_t k = first; k <= last; ++k) {
      const double value = element_as_double(inputs[0], i + (k - c) * inner);
      squares += value * value;
    }
    if (inputs[0].dtype == DType::f32) {
      outputs[0].as<float>()[i] = lrn_f32(lrn, inputs[0].as<float>()[i], squares);
      continue;
    }
    const double base =
        static_cast<double>(lrn.bias) + static_cast<double>(lrn.alpha) / static_cast<double>(lrn.size) * squares;
    store_double(outputs[0], i, element_as_double(inputs[0], i) / math_pow(base, lrn.beta));
  }
}

}  // namespace

const OpSpec kLrn = {
    .name = "lrn",
    .summary = "y = x / (bias + alpha/size * sum of squares over `size` neighbouring channels)^beta; the sum in f64",
    .inputs = {"x"},
    .infer = infer_lrn,
    .reference = reference_lrn,
    .decode_attrs = decode_attrs_as<LrnAttrs>,
    .for_one_image = same_for_one_image,
    .reordered = reordered_along_axis<LrnAttrs>,
    .read_from = "ONNX LRN; TFLite LOCAL_RESPONSE_NORMALIZATION",
};

template Attrs::Attrs(LrnAttrs);

}  // namespace octavo
