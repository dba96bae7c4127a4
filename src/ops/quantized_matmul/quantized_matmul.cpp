// quantized_matmul: shape rule and reference. Part of ops/.
#include "ops/quantized_matmul/quantized_matmul.h"

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/integers.h"
#include "ops/one_image.h"
#include "ops/product.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_quantized_matmul(const Attrs& attrs, InputFacts inputs) {
  const auto& matmul = attrs.as<QuantizedMatmulAttrs>();
  const Fact& a = *inputs[0];
  const Fact& b = *inputs[1];
  if (auto problem =
          first_of({check_dtype("a", a, {DType::u8, DType::s8}), check_dtype("b", b, {DType::u8, DType::s8})}))
    return *problem;
  const IntegerRange a_range = range_of(a.dtype);
  const IntegerRange b_range = range_of(b.dtype);
  const auto problem = first_of({check_range("a_zero_point", matmul.a_zero_point, a_range.lowest, a_range.highest),
                                 check_range("b_zero_point", matmul.b_zero_point, b_range.lowest, b_range.highest)});
  if (problem) return *problem;
  auto product = Product::of(a.shape, b.shape);
  if (!product) return std::move(product).errors();
  if (!checked_elements(product->dims)) return one_output(matmul.epilogue.to, std::move(product->dims));
  const auto type = infer_epilogue(matmul.epilogue, EpilogueInput::sum, operands_from(inputs, kMatmulOperands),
                                   OpenShape(product->dims));
  if (!type) return type.errors();
  return one_output(*type, std::move(product->dims));
}

void reference_quantized_matmul(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& matmul = attrs.as<QuantizedMatmulAttrs>();
  const Product product = *Product::of(inputs[0].shape, inputs[1].shape);
  const std::vector<std::int32_t> a = minus_zero_point(inputs[0], {matmul.a_zero_point});
  const std::vector<std::int32_t> b = minus_zero_point(inputs[1], {matmul.b_zero_point});
  const EpilogueReference epilogue(matmul.epilogue, operands_from(inputs, kMatmulOperands), outputs[0]);
  std::int64_t element = 0;
  for (const auto& [a0, b0] : product.offsets()) {
    for (std::int64_t m = 0; m < product.m; ++m) {
      for (std::int64_t n = 0; n < product.n; ++n, ++element) {
        const auto acc = wrapping_dot({a, a0 + m * product.k}, {b, b0 + n, product.n}, product.k);
        epilogue.store(element, static_cast<std::int32_t>(acc));
      }
    }
  }
}

Attrs relabelled_matmul(const Attrs& attrs, const std::vector<bool>& is_relabelled) {
  auto changed = attrs.as<QuantizedMatmulAttrs>();
  if (is_relabelled[0]) changed.a_zero_point += kSignShift;
  if (is_relabelled[1]) changed.b_zero_point += kSignShift;
  return changed;
}

}  // namespace

const OpSpec kQuantizedMatmul = {
    .name = "quantized_matmul",
    .summary = "y = epilogue(sum over k of (a - a_zero_point) * (b - b_zero_point)); numpy shapes",
    .inputs = {"a", "b", "epilogue*"},
    .infer = infer_quantized_matmul,
    .reference = reference_quantized_matmul,
    .decode_attrs = decode_attrs_as<QuantizedMatmulAttrs>,
    .for_one_image = product_for_one_image,
    .is_integer = true,
    .epilogue = &kEndsInEpilogue<QuantizedMatmulAttrs, kMatmulOperands>,
    .relabelled = relabelled_matmul,
    .depth = depth_of_rows,
};

template Attrs::Attrs(QuantizedMatmulAttrs);

}  // namespace octavo
