// ONNX readers: matrix products. Part of import/.
#include "import/onnx/operators.h"
#include "import/onnx/parts.h"

namespace octavo::onnx_import {
namespace {

ValueId scaled(NodeReader& in, ValueId x, float factor, std::string_view suffix) {
  if (factor == 1.0f || !x.exists()) return x;
  return in.add(kBinary, BinaryAttrs{.kind = BinaryKind::mul},
                {x, in.scalar_like(x, factor, std::string(suffix) + "factor")}, suffix);
}

}  // namespace

ValueId transpose_matrix(NodeReader& in, ValueId x, std::string_view suffix) {
  const std::vector<std::int64_t> perm{1, 0};
  const Node* made_by = in.building().graph.producer_if(x, kDequantize);
  if (made_by == nullptr || !in.fact(made_by->inputs[0]).is_constant()) return in.transpose(x, perm, suffix);
  auto attrs = made_by->attrs.as<DequantizeAttrs>();
  if (attrs.block != 0) return in.transpose(x, perm, suffix);
  if (attrs.axis >= 0) attrs.axis = 1 - attrs.axis;
  std::vector<ValueId> inputs = made_by->inputs;
  inputs[0] = in.transpose(inputs[0], perm, std::string(suffix) + ".integers");
  return in.add(kDequantize, attrs, inputs, suffix);
}

ValueId add_gemm_product(NodeReader& in, ValueId a, ValueId b, std::string_view suffix) {
  const float alpha = in.attributes.number("alpha", 1.0f);
  const bool transposes_a = in.attributes.flag("transA", false), transposes_b = in.attributes.flag("transB", false);
  in.require_rank("A", a, 2, 2);
  in.require_rank("B", b, 2, 2);
  if (in.failed()) return {};
  if (transposes_a) a = transpose_matrix(in, a, "a_transposed");
  if (transposes_b) b = transpose_matrix(in, b, "b_transposed");
  if (alpha == 1.0f) return in.add(kMatmul, NoAttrs{}, {a, b}, suffix);
  return scaled(in, in.add(kMatmul, NoAttrs{}, {a, b}, "product"), alpha, suffix);
}

void read_gemm(NodeReader& in) {
  const ValueId a = in.value(0), b = in.value(1), c = in.optional(2);
  const float beta = in.attributes.number("beta", 1.0f);
  if (!c.exists() && in.opset() < 11) return in.fail("input 'C'", "none", "one");
  const bool adds = c.exists() && beta != 0.0f;
  const ValueId product = add_gemm_product(in, a, b, adds ? "matmul" : "");
  if (in.failed() || !adds) return in.output(0, product);
  const ValueId sum = in.add(kBinary, BinaryAttrs{.kind = BinaryKind::add}, {product, scaled(in, c, beta, "beta")});
  if (!in.failed() && in.shape(sum) != in.shape(product)) {
    return in.fail("input 'C'", "shape " + in.shape(c).to_string(),
                   "one that broadcasts to " + in.shape(product).to_string());
  }
  in.output(0, sum);
}

void read_matmul(NodeReader& in) {
  const ValueId a = in.value(0), b = in.value(1);
  in.output(0, in.add(kMatmul, NoAttrs{}, {a, b}));
}

void read_matmul_integer(NodeReader& in) {
  const ValueId a = in.value(0), b = in.value(1), a_zero_point = in.optional(2), b_zero_point = in.optional(3);
  in.output(0, in.add(kMatmulInteger, NoAttrs{},
                      {a, b, scalar_if_single(in, a_zero_point, "a_zero_point"),
                       scalar_if_single(in, b_zero_point, "b_zero_point")}));
}

}  // namespace octavo::onnx_import
