// matmul_integer: shape rule and reference. Part of ops/.
#include "ops/matmul_integer/matmul_integer.h"

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/integers.h"
#include "ops/one_image.h"
#include "ops/product.h"
#include "ops/traits.h"

namespace octavo {
namespace {

// One element, one per row or column ([M] or [N]), or with the leading axes of the matrix itself ([...,M,1] or
// [...,1,N]).
Problem check_matmul_integer_zero_points(std::string_view what, const Fact& zero, const Fact& matrix,
                                         int reduced_axis) {
  if (auto problem = check_same_dtype(what, zero, matrix.dtype)) return problem;
  if (!check_scalar(what, zero)) return std::nullopt;
  const int rank = matrix.shape.rank();
  if (rank >= 2) {
    const int kept = reduced_axis == -1 ? rank - 2 : rank - 1;
    if (zero.shape == OpenShape{matrix.shape[kept]}) return std::nullopt;
    OpenShape whole = matrix.shape;
    whole[rank + reduced_axis] = 1;
    if (zero.shape == whole) return std::nullopt;
  }
  return shape_error(std::string(what), "shape " + zero.shape.to_string(),
                     "one element, or one per row of a or column of b");
}

Result<std::vector<Fact>> infer_matmul_integer(const Attrs&, InputFacts inputs) {
  const Fact& a = *inputs[0];
  const Fact& b = *inputs[1];
  if (auto problem =
          first_of({check_dtype("a", a, {DType::u8, DType::s8}), check_dtype("b", b, {DType::u8, DType::s8})}))
    return *problem;
  auto product = Product::of(a.shape, b.shape);
  if (!product) return std::move(product).errors();
  if (const Fact* zero = fact_at(inputs, 2)) {
    if (auto problem = check_matmul_integer_zero_points("a_zp", *zero, a, -1)) return *problem;
  }
  if (const Fact* zero = fact_at(inputs, 3)) {
    if (auto problem = check_matmul_integer_zero_points("b_zp", *zero, b, -2)) return *problem;
  }
  return one_output(DType::s32, std::move(product->dims));
}

// Subtracts a zero point per row (a) from the matrices of a tensor.
std::vector<std::int32_t> rows_minus_zero_point(const ConstTensorView& a, InputViews inputs) {
  std::vector<std::int32_t> values = to_s32s(a);
  if (!has_view(inputs, 2)) return values;
  const std::vector<std::int32_t> zeros = to_s32s(inputs[2]);
  const std::size_t row = static_cast<std::size_t>(a.shape[a.shape.rank() - 1]);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= zeros[i / row % zeros.size()];
  return values;
}

// Subtracts a zero point per column (b) from the matrices of a tensor.
std::vector<std::int32_t> columns_minus_zero_point(const ConstTensorView& b, InputViews inputs) {
  std::vector<std::int32_t> values = to_s32s(b);
  if (!has_view(inputs, 3)) return values;
  const std::vector<std::int32_t> zeros = to_s32s(inputs[3]);
  const int rank = b.shape.rank();
  const std::size_t columns = rank == 1 ? 1 : static_cast<std::size_t>(b.shape[rank - 1]);
  const std::size_t rows = static_cast<std::size_t>(b.shape[rank == 1 ? 0 : rank - 2]);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] -= zeros[(i / (rows * columns) * columns + i % columns) % zeros.size()];
  return values;
}

void reference_matmul_integer(const Attrs&, InputViews inputs, OutputViews outputs) {
  const Product product = *Product::of(inputs[0].shape, inputs[1].shape);
  const std::vector<std::int32_t> a = rows_minus_zero_point(inputs[0], inputs);
  const std::vector<std::int32_t> b = columns_minus_zero_point(inputs[1], inputs);
  auto* y = outputs[0].as<std::int32_t>();
  for (const auto& [a0, b0] : product.offsets()) {
    for (std::int64_t m = 0; m < product.m; ++m) {
      for (std::int64_t n = 0; n < product.n; ++n) {
        *y++ = static_cast<std::int32_t>(wrapping_dot({a, a0 + m * product.k}, {b, b0 + n, product.n}, product.k));
      }
    }
  }
}

}  // namespace

const OpSpec kMatmulInteger = {
    .name = "matmul_integer",
    .summary = "y = (a - a_zp) x (b - b_zp), exact in s32, numpy shapes",
    .inputs = {"a", "b", "a_zp?", "b_zp?"},
    .infer = infer_matmul_integer,
    .reference = reference_matmul_integer,
    .decode_attrs = decode_attrs_as<NoAttrs>,
    .for_one_image = product_for_one_image,
    .is_integer = true,
    .depth = depth_of_rows,
    .read_from = "ONNX MatMulInteger; TFLite SVDF; ATen _int_mm",
    .integer_form = "hybrid_conv",
};

}  // namespace octavo
