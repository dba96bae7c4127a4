// argmax_pool: shape rule and reference. Part of ops/.
#include "ops/argmax_pool/argmax_pool.h"

#include <cmath>

#include "graph/attrs_of.h"
#include "ops/image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_argmax_pool(const Attrs& attrs, InputFacts inputs) {
  const auto& pool = attrs.as<ArgmaxPoolAttrs>();
  const Fact& x = *inputs[0];
  const auto types = {DType::u8, DType::s8, DType::f32, DType::f64};
  if (auto problem = first_of({check_dtype("x", x, types), check_rank("x", x, 3, 64)})) return *problem;
  auto dims = pool_dims(pool.window, x.shape, Layout::channels_first, pool.rounding);
  if (!dims) return std::move(dims).errors();
  return one_output(DType::s64, *std::move(dims));
}

// The number of a position of the image where its first axis is the innermost one.
std::int64_t column_major(std::int64_t position, const Image& image) {
  std::int64_t number = 0;
  for (std::size_t axis = image.sizes.size(); axis-- > 0;) {
    std::int64_t before = 1;
    for (std::size_t i = 0; i < axis; ++i) before *= image.sizes[i];
    number += position % image.sizes[axis] * before;
    position /= image.sizes[axis];
  }
  return number;
}

void reference_argmax_pool(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  if (outputs[0].shape.elements() == 0) return;
  const auto& pool = attrs.as<ArgmaxPoolAttrs>();
  const Image image = Image::of(inputs[0].shape, Layout::channels_first);
  const Image result = Image::of(outputs[0].shape, Layout::channels_first);
  TapLister lister(pool.window, image, result.sizes, TapLister::Outside::leave_out);
  for (std::int64_t position = 0; position < result.positions(); ++position) {
    const std::vector<Tap>& taps = lister.at(position);
    for (std::int64_t plane = 0; plane < result.batch * result.channels; ++plane) {
      const std::int64_t first = plane * image.channel_stride;
      std::int64_t best = taps.front().image;
      for (const Tap& tap : taps) {
        const double value = element_as_double(inputs[0], first + tap.image);
        if (value > element_as_double(inputs[0], first + best) || std::isnan(value)) best = tap.image;
      }
      outputs[0].as<std::int64_t>()[plane * result.channel_stride + position] =
          first + (pool.is_column_major ? column_major(best, image) : best);
    }
  }
}

}  // namespace

const OpSpec kArgmaxPool{
    .name = "argmax_pool",
    .summary = "y = where the largest x under the window lies, as the number of an element of all of x",
    .inputs = {"x"},
    .infer = infer_argmax_pool,
    .reference = reference_argmax_pool,
    .decode_attrs = decode_attrs_as<ArgmaxPoolAttrs>,
    .elements = elements_are<Elements::ranked>,
    .read_from = "ONNX MaxPool",
    .integer_form = "itself",
};

template Attrs::Attrs(ArgmaxPoolAttrs);

}  // namespace octavo
