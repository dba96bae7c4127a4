// ATen readers: products of integers, and what torchao makes of them: rows that were quantized in the run, or by a
// constant scale, times weights of s8. Part of import/.
#include <algorithm>

#include "import/pt2/operators.h"
#include "ops/cast/cast.h"
#include "ops/dequantize/dequantize.h"
#include "ops/matmul_integer/matmul_integer.h"
#include "ops/quantize/quantize.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"

namespace octavo::pt2_import {
namespace {

ValueId read_int_mm(NodeReader& in) {
  const ValueId a = in.value("self"), b = in.value("mat2");
  in.require_rank(a, 2, 2);
  in.require_rank(b, 2, 2);
  in.building().is_quantized = true;
  return in.add(kMatmulInteger, NoAttrs{}, {a, b});
}

// Behind what shows the same elements: reshapes, and casts where these are asked for.
enum class Casts { stay, pass };
ValueId behind(NodeReader& in, ValueId wire, Casts casts) {
  for (;;) {
    const Node* node = in.built().graph.producer_if(wire, kReshape);
    if (node == nullptr && casts == Casts::pass) node = in.built().graph.producer_if(wire, kCast);
    if (node == nullptr) return wire;
    wire = node->inputs[0];
  }
}

const Node* product_binary_of(NodeReader& in, ValueId wire, BinaryKind kind) {
  const Node* node = in.built().graph.producer_if(wire, kBinary);
  return node != nullptr && node->attrs.as<BinaryAttrs>().kind == kind ? node : nullptr;
}

bool is_number(NodeReader& in, ValueId wire, double number) {
  return in.is_constant(wire) && in.shape(wire).elements() == 1 &&
         element_as_double(in.fact(wire).constant->view(), 0) == number;
}

// Bytes of the program, and what it added to them to make them u8.
struct Bytes {
  ValueId q;
  std::int64_t shift = 0;
};
Bytes bytes_of(NodeReader& in, ValueId operand) {
  const ValueId shown = behind(in, operand, Casts::pass);
  const Node* sum = in.dtype(operand) == DType::u8 ? product_binary_of(in, shown, BinaryKind::add) : nullptr;
  if (sum == nullptr || !is_number(in, sum->inputs[1], 128)) return {behind(in, operand, Casts::stay)};
  return {behind(in, sum->inputs[0], Casts::pass), 128};
}

// The wire is shift * (sums of the columns of w), not folded, since casts of bytes stay visible.
bool are_column_sums(NodeReader& in, ValueId wire, ValueId w, std::int64_t shift) {
  const Node* product = product_binary_of(in, wire, BinaryKind::mul);
  if (product == nullptr || !is_number(in, product->inputs[1], static_cast<double>(shift))) return false;
  const Node* sums = in.built().graph.producer_if(product->inputs[0], kReduce);
  return sums != nullptr && sums->attrs.as<ReduceAttrs>() == ReduceAttrs{.axes = {0}} &&
         behind(in, sums->inputs[0], Casts::pass) == w;
}

// q [M,K] times constant weights w [K,N], s8: the node whose exact sums the wire has.
struct Sums {
  ValueId q, w;
  Extents rows;  // the shape of q in the product
};
std::optional<Sums> sums_of(NodeReader& in, ValueId wire) {
  const Node* less = product_binary_of(in, wire, BinaryKind::sub);
  const Node* product = in.built().graph.producer_if(less != nullptr ? less->inputs[0] : wire, kMatmulInteger);
  if (product == nullptr || product->inputs.size() > 2) return std::nullopt;
  const ValueId w = product->inputs[1];
  const Bytes bytes = bytes_of(in, product->inputs[0]);
  if (!in.is_constant(w) || in.dtype(w) != DType::s8 || in.fact(w).constant->elements() == 0) return std::nullopt;
  if ((bytes.shift != 0) != (less != nullptr)) return std::nullopt;
  if (less != nullptr && !are_column_sums(in, less->inputs[1], w, bytes.shift)) return std::nullopt;
  return Sums{bytes.q, w, in.shape(product->inputs[0]).to_vector()};
}

// Whether the constant has one number, or one for each column of a matrix with so many.
bool is_by_column(NodeReader& in, ValueId constant, std::int64_t columns) {
  const OpenShape& shape = in.shape(constant);
  return is_one(shape.elements()) || (shape.elements() == columns && shape[shape.rank() - 1] == columns);
}

// What the bytes stand for, where they are all multiples of the scale.
std::optional<ValueId> real_rows(NodeReader& in, ValueId q, ValueId scale) {
  const ValueId shown = behind(in, scale, Casts::pass);
  for (const auto& [index, known] : in.building().run_quantized) {
    if (known.scale == shown && known.is_symmetric && behind(in, known.q, Casts::stay) == q) return real_of(in, known);
  }
  const Node* quantized = in.built().graph.producer_if(q, kQuantize);
  if (quantized == nullptr || !in.is_constant(scale) || quantized->attrs.as<QuantizeAttrs>().axis >= 0)
    return std::nullopt;
  const std::vector<float> given = to_floats(in.fact(scale).constant->view());
  const ValueId zero = quantized->inputs[2];
  const bool has_zero = zero.exists() && !is_number(in, zero, 0);
  const std::vector<float> own = to_floats(in.fact(quantized->inputs[1]).constant->view());
  if (has_zero || given != own) return std::nullopt;
  return dequantize(in, q, {quantized->inputs[1], zero, -1}, "rows");
}

constexpr Operator kProductTable[] = {
    {"aten._int_mm", "default", Aliasing::fresh, read_int_mm},
};

}  // namespace

const std::span<const Operator> kIntegerProducts = kProductTable;

std::optional<ValueId> product_of_scaled_sums(NodeReader& in, ValueId scaled, ValueId weight_scale) {
  if (in.failed()) return std::nullopt;
  if (in.is_constant(scaled)) std::swap(scaled, weight_scale);
  if (!in.is_constant(weight_scale) || in.dtype(weight_scale) != DType::f32) return std::nullopt;
  const Node* product = product_binary_of(in, behind(in, scaled, Casts::stay), BinaryKind::mul);
  if (product == nullptr || in.dtype(product->inputs[0]) != DType::f32) return std::nullopt;
  const auto sums = sums_of(in, behind(in, product->inputs[0], Casts::pass));
  if (!sums) return std::nullopt;
  const std::int64_t columns = in.shape(sums->w)[1].fixed();
  const OpenShape& factor = in.shape(product->inputs[1]);
  const std::vector<float> scales = to_floats(in.fact(weight_scale).constant->view());
  if (!is_by_column(in, weight_scale, columns) || (factor.rank() > 0 && !is_one(factor[factor.rank() - 1])) ||
      !is_same(in.shape(scaled).elements(), sums->rows[0] * columns) ||
      !std::all_of(scales.begin(), scales.end(), is_scale))
    return std::nullopt;
  const auto rows = real_rows(in, sums->q, product->inputs[1]);
  if (!rows) return std::nullopt;
  const Scales from = constant_scales(in, scales, Integers(scales.size(), 0), DType::s8, scales.size() == 1 ? -1 : 1,
                                      "argument 'other'");
  return matmul(in, in.reshape(*rows, sums->rows, "matrix"), dequantize(in, sums->w, from, "weights"));
}

}  // namespace octavo::pt2_import
