// cast: another element type. Part of ops/.
#include "ops/cast/cast.h"

#include <cmath>
#include <limits>

#include "graph/attrs_of.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_cast(const Attrs& attrs, InputFacts inputs) {
  return std::vector<Fact>{{.dtype = attrs.as<CastAttrs>().to, .shape = inputs[0]->shape}};
}

// Towards zero, saturated; NaN gives 0.
template <class To>
To truncated(double x) {
  if (std::isnan(x)) return 0;
  if (x <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (x >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(x);
}

// An integer, sign-extended to 64 bits.
std::uint64_t integer_at(const ConstTensorView& x, std::int64_t i) {
  switch (x.dtype) {
    case DType::boolean: return x.as<std::uint8_t>()[i] != 0 ? 1 : 0;
    case DType::u8: return x.as<std::uint8_t>()[i];
    case DType::s8: return static_cast<std::uint64_t>(x.as<std::int8_t>()[i]);
    case DType::u16: return x.as<std::uint16_t>()[i];
    case DType::s16: return static_cast<std::uint64_t>(x.as<std::int16_t>()[i]);
    case DType::u32: return x.as<std::uint32_t>()[i];
    case DType::s32: return static_cast<std::uint64_t>(x.as<std::int32_t>()[i]);
    default: return x.as<std::uint64_t>()[i];
  }
}

template <class To>
To to_integer(const ConstTensorView& x, std::int64_t i) {
  if (is_float(x.dtype)) return truncated<To>(element_as_double(x, i));
  return static_cast<To>(integer_at(x, i));
}

template <class To>
To to_float(const ConstTensorView& x, std::int64_t i) {
  if (x.dtype == DType::u64) return static_cast<To>(x.as<std::uint64_t>()[i]);
  if (x.dtype == DType::s64) return static_cast<To>(x.as<std::int64_t>()[i]);
  return static_cast<To>(element_as_double(x, i));
}

void convert(const ConstTensorView& x, const TensorView& y, std::int64_t i) {
  switch (y.dtype) {
    case DType::boolean:
      y.as<std::uint8_t>()[i] = is_float(x.dtype) ? element_as_double(x, i) != 0.0 : integer_at(x, i) != 0;
      return;
    case DType::u8: y.as<std::uint8_t>()[i] = to_integer<std::uint8_t>(x, i); return;
    case DType::s8: y.as<std::int8_t>()[i] = to_integer<std::int8_t>(x, i); return;
    case DType::u16: y.as<std::uint16_t>()[i] = to_integer<std::uint16_t>(x, i); return;
    case DType::s16: y.as<std::int16_t>()[i] = to_integer<std::int16_t>(x, i); return;
    case DType::u32: y.as<std::uint32_t>()[i] = to_integer<std::uint32_t>(x, i); return;
    case DType::s32: y.as<std::int32_t>()[i] = to_integer<std::int32_t>(x, i); return;
    case DType::u64: y.as<std::uint64_t>()[i] = to_integer<std::uint64_t>(x, i); return;
    case DType::s64: y.as<std::int64_t>()[i] = to_integer<std::int64_t>(x, i); return;
    case DType::f16: y.as<std::uint16_t>()[i] = f32_to_f16(to_float<float>(x, i)); return;
    case DType::bf16: y.as<std::uint16_t>()[i] = f32_to_bf16(to_float<float>(x, i)); return;
    case DType::f32: y.as<float>()[i] = to_float<float>(x, i); return;
    case DType::f64: y.as<double>()[i] = to_float<double>(x, i); return;
  }
}

void reference_cast(const Attrs&, InputViews inputs, OutputViews outputs) {
  const std::int64_t count = inputs[0].shape.elements();
  for (std::int64_t i = 0; i < count; ++i) convert(inputs[0], outputs[0], i);
}

}  // namespace

const OpSpec kCast{
    .name = "cast",
    .summary = "x in another element type; floats to integers truncate and saturate, integers to integers wrap",
    .inputs = {"x"},
    .infer = infer_cast,
    .reference = reference_cast,
    .decode_attrs = decode_attrs_as<CastAttrs>,
    .for_one_image = same_for_one_image,
    .pointwise = pointwise_in<1>,
    .folds_at_import = true,
    .is_identity = identity_by_type,
    .reordered = reordered_as_is,
    .read_from = "ONNX Cast; TFLite CAST; ATen _to_copy",
    .integer_form = "table with one varying input",
};

template Attrs::Attrs(CastAttrs);

}  // namespace octavo
