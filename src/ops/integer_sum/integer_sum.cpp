// integer_sum: shape rule and reference. Part of ops/.
#include "ops/integer_sum/integer_sum.h"

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/integers.h"
#include "ops/one_image.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_integer_sum(const Attrs& attrs, InputFacts inputs) {
  const auto& sum = attrs.as<IntegerSumAttrs>();
  const Fact& x = *inputs[0];
  if (auto problem = first_of({check_dtype("x", x, {DType::u8, DType::s8}), check_rank("x", x, 3, 3)})) return *problem;
  const IntegerRange range = range_of(x.dtype);
  constexpr std::int64_t kMostTerms = 1 << 22;
  if (auto problem = first_of({check_range("x_zero_point", sum.x_zero_point, range.lowest, range.highest),
                               check_range("x, axis 1", x.shape[1], 0, kMostTerms)})) {
    return *problem;
  }
  return one_output(DType::s32, {x.shape[0], x.shape[2]});
}

void reference_integer_sum(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto zero_point = attrs.as<IntegerSumAttrs>().x_zero_point;
  const ConstTensorView& x = inputs[0];
  const std::int64_t outer = x.shape[0], terms = x.shape[1], inner = x.shape[2];
  auto* y = outputs[0].as<std::int32_t>();
  std::fill_n(y, outer * inner, static_cast<std::int32_t>(-terms * zero_point));
  for (std::int64_t row = 0; row < outer * terms; ++row) {
    for (std::int64_t i = 0; i < inner; ++i) y[row / terms * inner + i] += load_8bit(x.data, x.dtype, row * inner + i);
  }
}

}  // namespace

const OpSpec kIntegerSum = {
    .name = "integer_sum",
    .summary = "y[o, i] = sum over k of x[o, k, i] - x_zero_point in s32",
    .inputs = {"x"},
    .infer = infer_integer_sum,
    .reference = reference_integer_sum,
    .decode_attrs = decode_attrs_as<IntegerSumAttrs>,
    .for_one_image = same_for_one_image,
    .is_integer = true,
};

template Attrs::Attrs(IntegerSumAttrs);

}  // namespace octavo
