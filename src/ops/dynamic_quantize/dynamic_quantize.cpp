// dynamic_quantize: shape rule and reference. Part of ops/.
#include "ops/dynamic_quantize/dynamic_quantize.h"

#include "base/requantize.h"
#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_dynamic_quantize(const Attrs&, InputFacts inputs) {
  const Fact& x = *inputs[0];
  if (auto problem = check_dtype("x", x, {DType::f32})) return *problem;
  return std::vector<Fact>{{.dtype = DType::u8, .shape = x.shape},
                           {.dtype = DType::f32, .shape = Shape{}},
                           {.dtype = DType::u8, .shape = Shape{}}};
}

void reference_dynamic_quantize(const Attrs&, InputViews inputs, OutputViews outputs) {
  const auto x = inputs[0].span<float>();
  float lowest = 0.0f;
  float highest = 0.0f;
  for (float value : x) {
    lowest = value < lowest ? value : lowest;
    highest = value > highest ? value : highest;
  }
  const DynamicScale scale = DynamicScale::of(lowest, highest);
  auto* y = outputs[0].as<std::uint8_t>();
  for (float value : x) *y++ = static_cast<std::uint8_t>(quantize_value(value, scale.scale, scale.zero_point, 0, 255));
  *outputs[1].as<float>() = scale.scale;
  *outputs[2].as<std::uint8_t>() = static_cast<std::uint8_t>(scale.zero_point);
}

}  // namespace

const OpSpec kDynamicQuantize = {
    .name = "dynamic_quantize",
    .summary =
        "scale = (max(x, 0) - min(x, 0)) / 255, zero_point = rne(-min(x, 0) / scale), y = quantize(x, scale, "
        "zero_point), u8",
    .inputs = {"x"},
    .outputs = 3,
    .infer = infer_dynamic_quantize,
    .reference = reference_dynamic_quantize,
    .decode_attrs = decode_attrs_as<NoAttrs>,
    .elements = elements_are<Elements::converted>,
    .reordered = reordered_as_is,
    .read_from = "ONNX DynamicQuantizeLinear",
    .integer_form = "itself, before hybrid_conv",
};

}  // namespace octavo
