// max_pool: shape rule and reference. Part of ops/.
#include "ops/max_pool/max_pool.h"

#include <cmath>

#include "graph/attrs_of.h"
#include "ops/image.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_max_pool(const Attrs& attrs, InputFacts inputs) {
  const auto& pool = attrs.as<MaxPoolAttrs>();
  const Fact& x = *inputs[0];
  const auto types = {DType::u8,  DType::s8,  DType::u16,  DType::s16, DType::u32,
                      DType::s32, DType::f16, DType::bf16, DType::f32, DType::f64};
  if (auto problem = first_of({check_dtype("x", x, types), check_rank("x", x, 3, 64)})) return *problem;
  auto dims = pool_dims(pool.window, x.shape, pool.layout, pool.rounding);
  if (!dims) return std::move(dims).errors();
  return one_output(x.dtype, *std::move(dims), x.quant);
}

template <class T>
bool is_larger(T value, T best) {
  if constexpr (std::is_floating_point_v<T>) return value > best || std::isnan(value);
  return value > best;
}

// One type whose elements compare as they are.
template <class T>
void pool_as(const MaxPoolAttrs& pool, const ConstTensorView& x, const TensorView& y) {
  const Image image = Image::of(x.shape, pool.layout);
  const Image result = Image::of(y.shape, pool.layout);
  TapLister lister(pool.window, image, result.sizes, TapLister::Outside::leave_out);
  for (std::int64_t position = 0; position < result.positions(); ++position) {
    const std::vector<Tap>& taps = lister.at(position);
    const std::int64_t offset = result.offset(position);
    for (std::int64_t n = 0; n < result.batch; ++n) {
      for (std::int64_t c = 0; c < result.channels; ++c) {
        const T* from = x.as<T>() + n * image.batch_stride + c * image.channel_stride;
        T best = from[taps.front().image];
        for (const Tap& tap : taps) {
          if (is_larger(from[tap.image], best)) best = from[tap.image];
        }
        y.as<T>()[n * result.batch_stride + c * result.channel_stride + offset] = best;
      }
    }
  }
}

// Through f32, for the 16-bit floats.
void pool_halves(const MaxPoolAttrs& pool, const ConstTensorView& x, const TensorView& y) {
  const Tensor wide = Tensor::of<float>(x.shape, to_floats(x));
  Tensor result(DType::f32, y.shape);
  pool_as<float>(pool, wide.view(), result.view());
  for (std::int64_t i = 0; i < result.elements(); ++i) store_double(y, i, result.as<float>()[i]);
}

void reference_max_pool(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  if (outputs[0].shape.elements() == 0) return;
  const auto& pool = attrs.as<MaxPoolAttrs>();
  switch (inputs[0].dtype) {
    case DType::u8: return pool_as<std::uint8_t>(pool, inputs[0], outputs[0]);
    case DType::s8: return pool_as<std::int8_t>(pool, inputs[0], outputs[0]);
    case DType::u16: return pool_as<std::uint16_t>(pool, inputs[0], outputs[0]);
    case DType::s16: return pool_as<std::int16_t>(pool, inputs[0], outputs[0]);
    case DType::u32: return pool_as<std::uint32_t>(pool, inputs[0], outputs[0]);
    case DType::s32: return pool_as<std::int32_t>(pool, inputs[0], outputs[0]);
    case DType::f32: return pool_as<float>(pool, inputs[0], outputs[0]);
    case DType::f64: return pool_as<double>(pool, inputs[0], outputs[0]);
    default: return pool_halves(pool, inputs[0], outputs[0]);
  }
}

}  // namespace

const OpSpec kMaxPool = {
    .name = "max_pool",
    .summary = "y = largest x under the window; padding never wins, a NaN always does",
    .inputs = {"x"},
    .infer = infer_max_pool,
    .reference = reference_max_pool,
    .decode_attrs = decode_attrs_as<MaxPoolAttrs>,
    .for_one_image = same_for_one_image,
    .elements = elements_are<Elements::selected>,
    .is_identity = identity_by_window<MaxPoolAttrs>,
    .channels_last = image_channels_last<MaxPoolAttrs>,
    .role = role_is<Role::moving>,
    .read_from = "ONNX MaxPool; TFLite MAX_POOL_2D; ATen max_pool2d",
    .integer_form = "itself",
};

template Attrs::Attrs(MaxPoolAttrs);

}  // namespace octavo
