// matmul: shape rule and reference. Part of ops/.
#include "ops/matmul/matmul.h"

#include <cmath>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/float_conv.h"
#include "ops/one_image.h"
#include "ops/product.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_matmul(const Attrs&, InputFacts inputs) {
  const Fact& a = *inputs[0];
  const Fact& b = *inputs[1];
  const auto types = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::s32, DType::u32, DType::s64, DType::u64};
  if (auto problem = first_of({check_dtype("a", a, types), check_same_dtype("b", b, a.dtype)})) return *problem;
  auto product = Product::of(a.shape, b.shape);
  if (!product) return std::move(product).errors();
  return one_output(a.dtype, std::move(product->dims));
}

// Calls `store(element of y, a's row, b's column)` with element offsets.
template <class Store>
void for_each_element(const Product& product, const Store& store) {
  std::int64_t element = 0;
  for (const auto& [a0, b0] : product.offsets()) {
    for (std::int64_t m = 0; m < product.m; ++m) {
      for (std::int64_t n = 0; n < product.n; ++n) store(element++, a0 + m * product.k, b0 + n);
    }
  }
}

void multiply_f32(const Product& product, InputViews inputs, const TensorView& y) {
  const auto* a = inputs[0].as<float>();
  const auto* b = inputs[1].as<float>();
  for_each_element(product, [&](std::int64_t element, std::int64_t row, std::int64_t column) {
    float sum = 0.0f;
    for (std::int64_t k = 0; k < product.k; ++k) sum = std::fma(a[row + k], b[column + k * product.n], sum);
    y.as<float>()[element] = sum;
  });
}

void multiply_floats(const Product& product, InputViews inputs, const TensorView& y) {
  const std::vector<double> a = to_doubles(inputs[0]);
  const std::vector<double> b = to_doubles(inputs[1]);
  for_each_element(product, [&](std::int64_t element, std::int64_t row, std::int64_t column) {
    double sum = 0.0;
    for (std::int64_t k = 0; k < product.k; ++k)
      sum += a[static_cast<std::size_t>(row + k)] * b[static_cast<std::size_t>(column + k * product.n)];
    store_double(y, element, sum);
  });
}

template <class Unsigned>
void multiply_integers(const Product& product, InputViews inputs, const TensorView& y) {
  const auto* a = inputs[0].as<Unsigned>();
  const auto* b = inputs[1].as<Unsigned>();
  for_each_element(product, [&](std::int64_t element, std::int64_t row, std::int64_t column) {
    Unsigned sum = 0;
    for (std::int64_t k = 0; k < product.k; ++k) sum += a[row + k] * b[column + k * product.n];
    y.as<Unsigned>()[element] = sum;
  });
}

void reference_matmul(const Attrs&, InputViews inputs, OutputViews outputs) {
  const Product product = *Product::of(inputs[0].shape, inputs[1].shape);
  const DType dtype = inputs[0].dtype;
  if (dtype == DType::f32) multiply_f32(product, inputs, outputs[0]);
  else if (is_float(dtype)) multiply_floats(product, inputs, outputs[0]);
  else if (size_of(dtype) == 4) multiply_integers<std::uint32_t>(product, inputs, outputs[0]);
  else multiply_integers<std::uint64_t>(product, inputs, outputs[0]);
}

NodeRole role_of_matmul(const Attrs&, InputFacts inputs) {
  const Fact& b = *inputs[1];
  if (inputs[0]->is_constant()) return stays_floating("first factor is constant");
  if (b.is_constant() && b.shape.rank() != 2)
    return stays_floating("constant factor of rank " + std::to_string(b.shape.rank()));
  return {Role::product, {}};
}

}  // namespace

const OpSpec kMatmul = {
    .name = "matmul",
    .summary =
        "y[...,m,n] = sum over k of a[...,m,k] * b[...,k,n], numpy shapes; f32 by fused multiply-adds, other floats in "
        "f64, integers wrap",
    .inputs = {"a", "b"},
    .infer = infer_matmul,
    .reference = reference_matmul,
    .decode_attrs = decode_attrs_as<NoAttrs>,
    .for_one_image = product_for_one_image,
    .depth = depth_of_rows,
    .role = role_of_matmul,
    .weight_axis = 1,
    .read_from = "ONNX MatMul; TFLite FULLY_CONNECTED; ATen matmul",
    .integer_form = "quantized_matmul; quantized_conv with constant weights",
};

}  // namespace octavo
