// average_pool: shape rule and reference. Part of ops/.
#include "ops/average_pool/average_pool.h"

#include "graph/attrs_of.h"
#include "ops/image.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_average_pool(const Attrs& attrs, InputFacts inputs) {
  const auto& pool = attrs.as<AveragePoolAttrs>();
  const Fact& x = *inputs[0];
  if (auto problem =
          first_of({check_dtype("x", x, {DType::f32, DType::f16, DType::bf16, DType::f64}), check_rank("x", x, 3, 64)}))
    return *problem;
  auto dims = pool_dims(pool.window, x.shape, pool.layout, pool.rounding);
  if (!dims) return std::move(dims).errors();
  return one_output(x.dtype, *std::move(dims));
}

void reference_average_pool(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  if (outputs[0].shape.elements() == 0) return;
  const auto& pool = attrs.as<AveragePoolAttrs>();
  const Image image = Image::of(inputs[0].shape, pool.layout);
  const Image result = Image::of(outputs[0].shape, pool.layout);
  TapLister lister(pool.window, image, result.sizes, TapLister::Outside::leave_out);
  for (std::int64_t position = 0; position < result.positions(); ++position) {
    const std::vector<Tap>& taps = lister.at(position);
    const auto count = pool.count_include_pad ? lister.inside_padded() : static_cast<std::int64_t>(taps.size());
    const double factor = 1.0 / static_cast<double>(count);
    const std::int64_t offset = result.offset(position);
    for (std::int64_t n = 0; n < result.batch; ++n) {
      for (std::int64_t c = 0; c < result.channels; ++c) {
        const std::int64_t from = n * image.batch_stride + c * image.channel_stride;
        double sum = 0.0;
        for (const Tap& tap : taps) sum += element_as_double(inputs[0], from + tap.image);
        store_double(outputs[0], n * result.batch_stride + c * result.channel_stride + offset, sum * factor);
      }
    }
  }
}

}  // namespace

const OpSpec kAveragePool = {
    .name = "average_pool",
    .summary = "y = mean of x under the window; floats: summed in f64, times f64(1 / count), rounded once",
    .inputs = {"x"},
    .infer = infer_average_pool,
    .reference = reference_average_pool,
    .decode_attrs = decode_attrs_as<AveragePoolAttrs>,
    .for_one_image = same_for_one_image,
    .is_identity = identity_by_window<AveragePoolAttrs>,
    .channels_last = image_channels_last<AveragePoolAttrs>,
    .role = role_is<Role::kernel>,
    .read_from = "ONNX AveragePool; TFLite AVERAGE_POOL_2D; ATen avg_pool2d",
    .integer_form = "quantized_pool",
};

template Attrs::Attrs(AveragePoolAttrs);

}  // namespace octavo
