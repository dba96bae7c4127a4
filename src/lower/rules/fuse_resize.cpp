// Bilinear interpolation of quantized images. Part of lower/.
#include "lower/rules/fuse_resize.h"

#include <algorithm>
#include <cmath>

#include "lower/quantized_value.h"
#include "ops/integer_resize/integer_resize.h"
#include "ops/resize/resize.h"

namespace octavo {
namespace {

// The pixels that an output pixel lies between, and the weight of the second.
struct ResizeTap {
  std::int64_t first = 0, second = 0;
  float weight = 0.0f;
};

// One axis: `size` pixels become `result`.
struct ResizeAxis {
  std::int64_t size, result;
  ResizeCoordinates coordinates;

  bool is_aligned() const { return coordinates == ResizeCoordinates::align_corners && result > 1; }
  std::int64_t steps() const { return is_aligned() ? size - 1 : size; }
  std::int64_t result_steps() const { return is_aligned() ? result - 1 : result; }
  bool has_half_pixels() const { return coordinates == ResizeCoordinates::half_pixel; }
  float scale() const { return static_cast<float>(steps()) / static_cast<float>(result_steps()); }
};

// TFLite's reference kernel for s8: positions in 1024ths of a pixel.
ResizeTap ten_bit_tap(const ResizeAxis& axis, std::int64_t i) {
  const std::int64_t scale = (1024 * axis.steps() + axis.result_steps() / 2) / axis.result_steps();
  const std::int64_t at = i * scale + (axis.has_half_pixels() ? scale / 2 - 512 : 0);
  const std::int64_t first = std::max<std::int64_t>(at / 1024, 0);
  return {first, std::min((at + 1023) / 1024, axis.size - 1), static_cast<float>(at - 1024 * first)};
}

// The same for u8: positions in f32.
ResizeTap real_tap(const ResizeAxis& axis, std::int64_t i) {
  const auto place = static_cast<float>(i);
  const float at = axis.has_half_pixels() ? (place + 0.5f) * axis.scale() - 0.5f : place * axis.scale();
  const auto first = std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(at)), 0);
  return {first, std::min(static_cast<std::int64_t>(std::ceil(at)), axis.size - 1), at - static_cast<float>(first)};
}

// XNNPACK: positions in f32 inside the image, weights rounded to 2048ths. What half pixels add is one number of the
// axis, so that rounding differs from that above.
ResizeTap eleven_bit_tap(const ResizeAxis& axis, std::int64_t i) {
  const float added = axis.has_half_pixels() ? 0.5f * axis.scale() - 0.5f : 0.0f;
  const float at = clamp_f32(static_cast<float>(i) * axis.scale() + added, 0.0f, static_cast<float>(axis.size - 1));
  const auto first = static_cast<std::int64_t>(at);
  return {first, std::min(first + 1, axis.size - 1), round_even((at - static_cast<float>(first)) * 2048.0f)};
}

ResizeTap tap_of(ResizeRounding rounding, const ResizeAxis& axis, std::int64_t i) {
  switch (rounding) {
    case ResizeRounding::ten_bits: return ten_bit_tap(axis, i);
    case ResizeRounding::eleven_bits: return eleven_bit_tap(axis, i);
    case ResizeRounding::real: break;
  }
  return real_tap(axis, i);
}

void add_taps(Patch& patch, const Node& node, ResizeRounding rounding, const ResizeAxis& axis,
              std::vector<ValueId>& inputs) {
  Tensor pixels(DType::s32, Shape{axis.result, 2});
  Tensor weights(DType::f32, Shape{axis.result});
  for (std::int64_t i = 0; i < axis.result; ++i) {
    const ResizeTap tap = tap_of(rounding, axis, i);
    pixels.as<std::int32_t>()[2 * i] = static_cast<std::int32_t>(tap.first);
    pixels.as<std::int32_t>()[2 * i + 1] = static_cast<std::int32_t>(tap.second);
    weights.as<float>()[i] = tap.weight;
  }
  const std::string name = node.name + (inputs.size() == 1 ? "/rows" : "/columns");
  inputs.push_back(patch.constant(name, std::move(pixels)));
  inputs.push_back(patch.constant(name + "/weights", std::move(weights)));
}

ResizeRounding rounding_of(const Quantized& end) {
  if (end.profile == Profile::tflite_xnnpack) return ResizeRounding::eleven_bits;
  return end.type.dtype == DType::u8 ? ResizeRounding::real : ResizeRounding::ten_bits;
}

bool has_tflite_form(const ResizeAttrs& resize, const OpenShape& x) {
  const bool is_known = resize.coordinates == ResizeCoordinates::half_pixel ||
                        resize.coordinates == ResizeCoordinates::align_corners ||
                        resize.coordinates == ResizeCoordinates::asymmetric;
  return resize.mode == ResizeMode::linear && !resize.antialias && is_known && x.rank() == 4 &&
         resize.sizes[0] == x[0] && resize.sizes[3] == x[3];
}

}  // namespace

Match fuse_resize(const Graph& graph, const Node& node) {
  if (node.spec != &kResize) return std::string();
  const auto x = dequantized(graph, node.inputs[0], Stored::bytes_or_s16);
  if (!x) return std::string("its input is not quantized");
  const auto followed = follow_to_quantize(graph, node.outputs[0], Stored::bytes_or_s16);
  if (const auto* reason = std::get_if<std::string>(&followed)) return *reason;
  const auto& end = std::get<Quantized>(followed);
  if (!is_of_tflite(end.profile)) return std::string();
  const auto& resize = node.attrs.as<ResizeAttrs>();
  const OpenShape& from = graph.fact(node.inputs[0]).shape;
  const IntegerRange range = range_of(end.type.dtype);
  if (x->type != end.type || end.lowest != range.lowest || end.highest != range.highest)
    return std::string("its result has another scale");
  if (x->type.dtype == DType::s16 && !is_fixed_point(end.profile))
    return std::string("s16 values have no form of this rounding");
  const auto is_open = [](const Dim& size) { return !size.is_number(); };
  if (std::any_of(from.begin() + 1, from.begin() + 3, is_open) ||
      std::any_of(resize.sizes.begin() + 1, resize.sizes.begin() + 3, is_open))
    return std::string("its sizes are open");  // its taps are constants
  constexpr std::int64_t kLargest = 1 << 20;   // positions in 1024ths are 32-bit numbers in the source
  if (!has_tflite_form(resize, from) || from[1] > kLargest || from[2] > kLargest)
    return std::string("it has no integer form");
  const ResizeRounding rounding = rounding_of(end);
  Patch patch(graph);
  std::vector<ValueId> inputs = {x->q};
  add_taps(patch, node, rounding, {from[1], resize.sizes[1], resize.coordinates}, inputs);
  add_taps(patch, node, rounding, {from[2], resize.sizes[2], resize.coordinates}, inputs);
  const ValueId y =
      patch.add(kIntegerResize, IntegerResizeAttrs{.rounding = rounding}, std::move(inputs), node.name, node.origin);
  patch.set_quant(y, end.type.params());
  patch.replace(end.y, y);
  return patch;
}

}  // namespace octavo
