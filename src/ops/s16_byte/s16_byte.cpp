// s16_byte: shape rule and reference. Part of ops/.
#include "ops/s16_byte/s16_byte.h"

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_s16_byte(const Attrs&, InputFacts inputs) {
  const Fact& x = *inputs[0];
  if (auto problem = check_dtype("x", x, {DType::s16})) return *problem;
  return one_output(DType::u8, x.shape.to_vector());
}

void reference_s16_byte(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const std::int64_t count = outputs[0].shape.elements();
  const auto* x = inputs[0].as<std::uint16_t>();
  auto* y = outputs[0].as<std::uint8_t>();
  if (attrs.as<S16ByteAttrs>().which == S16Byte::lower) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<std::uint8_t>(x[i] & 0xff);
  } else {
    for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<std::uint8_t>((x[i] >> 8) ^ 0x80);
  }
}

}  // namespace

const OpSpec kS16Byte = {
    .name = "s16_byte",
    .summary = "the upper byte of s16 values, plus 128, or the lower one: x = 256 (upper - 128) + lower",
    .inputs = {"x"},
    .infer = infer_s16_byte,
    .reference = reference_s16_byte,
    .decode_attrs = decode_attrs_as<S16ByteAttrs>,
    .for_one_image = same_for_one_image,
    .elements = elements_are<Elements::converted>,
    .is_integer = true,
    .reordered = reordered_as_is,
};

template Attrs::Attrs(S16ByteAttrs);

}  // namespace octavo
