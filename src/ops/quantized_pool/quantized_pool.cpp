// quantized_pool: shape rule and reference. Part of ops/.
#include "ops/quantized_pool/quantized_pool.h"

#include <algorithm>

#include "base/requantize.h"
#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/image.h"
#include "ops/integers.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Problem check_quantized_pool_attrs(const QuantizedPoolAttrs& pool, DType x) {
  const IntegerRange range = range_of(x);
  const auto is_large = [](std::int64_t size) { return size > 2048; };
  if (pool.form == QuantizedPoolForm::integer_average &&
      std::any_of(pool.window.kernel.begin(), pool.window.kernel.end(), is_large)) {
    return shape_error("window", print(pool.window.kernel), "at most 2048 elements along each axis");
  }
  return first_of({check_range("x_zero_point", pool.x_zero_point, range.lowest, range.highest),
                   check_scale("x_scale", pool.x_scale)});
}

Result<std::vector<Fact>> infer_quantized_pool(const Attrs& attrs, InputFacts inputs) {
  const auto& pool = attrs.as<QuantizedPoolAttrs>();
  const Fact& x = *inputs[0];
  if (auto problem = first_of({check_dtype("x", x, {DType::u8, DType::s8}), check_rank("x", x, 4, 4)})) return *problem;
  if (auto problem = check_quantized_pool_attrs(pool, x.dtype)) return *problem;
  auto dims = pool_dims(pool.window, x.shape, Layout::channels_last, pool.rounding);
  if (!dims) return std::move(dims).errors();
  if (!checked_elements(*dims)) return one_output(pool.epilogue.to, *std::move(dims));
  const bool is_real = pool.form == QuantizedPoolForm::real_average;
  const auto type = infer_epilogue(pool.epilogue, is_real ? EpilogueInput::real : EpilogueInput::sum,
                                   operands_from(inputs, kPoolOperands), OpenShape(*dims));
  if (!type) return type.errors();
  return one_output(*type, *std::move(dims));
}

// Where one window reads: elements relative to the image's channel 0, and the number that divides.
struct Cover {
  const std::vector<Tap>& taps;
  std::int64_t count = 0;
};

std::int32_t exact_sum(const QuantizedPoolAttrs& pool, const ConstTensorView& x, std::int64_t first,
                       const Cover& cover) {
  std::uint32_t sum = 0;  // wraps where it leaves 32 bits
  for (const Tap& tap : cover.taps)
    sum += static_cast<std::uint32_t>(load_8bit(x.data, x.dtype, first + tap.image) - pool.x_zero_point);
  return static_cast<std::int32_t>(sum);
}

float real_average(const QuantizedPoolAttrs& pool, const ConstTensorView& x, std::int64_t first, const Cover& cover) {
  float sum = 0.0f;
  for (const Tap& tap : cover.taps)
    sum = average_pool_add(sum, load_8bit(x.data, x.dtype, first + tap.image) - pool.x_zero_point, pool.x_scale);
  return sum / static_cast<float>(cover.count);
}

void reference_quantized_pool(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  if (outputs[0].shape.elements() == 0) return;
  const auto& pool = attrs.as<QuantizedPoolAttrs>();
  const ConstTensorView& x = inputs[0];
  const Image image = Image::of(x.shape, Layout::channels_last);
  const Image result = Image::of(outputs[0].shape, Layout::channels_last);
  const EpilogueReference epilogue(pool.epilogue, operands_from(inputs, kPoolOperands), outputs[0]);
  TapLister lister(pool.window, image, result.sizes, TapLister::Outside::leave_out);
  for (std::int64_t position = 0; position < result.positions(); ++position) {
    const std::vector<Tap>& taps = lister.at(position);
    const auto inside = static_cast<std::int64_t>(taps.size());
    const Cover cover{taps, pool.count_include_pad ? (pool.window.kernel[0] * pool.window.kernel[1]).fixed() : inside};
    for (std::int64_t n = 0; n < result.batch; ++n) {
      for (std::int64_t c = 0; c < result.channels; ++c) {
        const std::int64_t first = n * image.batch_stride + c;
        const std::int64_t element = (n * result.positions() + position) * result.channels + c;
        if (pool.form == QuantizedPoolForm::real_average) {
          epilogue.store_real(element, real_average(pool, x, first, cover));
          continue;
        }
        const std::int32_t sum = exact_sum(pool, x, first, cover);
        const bool is_sum = pool.form == QuantizedPoolForm::sum;
        epilogue.store(element, is_sum ? sum : integer_average(sum, static_cast<std::int32_t>(cover.count)));
      }
    }
  }
}

}  // namespace

const OpSpec kQuantizedPool = {
    .name = "quantized_pool",
    .summary = "y = epilogue(sum, integer_average() or f32 mean of what is under the window)",
    .inputs = {"x", "epilogue*"},
    .infer = infer_quantized_pool,
    .reference = reference_quantized_pool,
    .decode_attrs = decode_attrs_as<QuantizedPoolAttrs>,
    .for_one_image = same_for_one_image,
    .is_integer = true,
    .epilogue = &kEndsInEpilogue<QuantizedPoolAttrs, kPoolOperands>,
    .relabelled = relabelled_x<QuantizedPoolAttrs>,
};

template Attrs::Attrs(QuantizedPoolAttrs);

}  // namespace octavo
