// ATen readers: matrix products. Part of import/.
#include "import/pt2/operators.h"
#include "ops/list.h"

namespace octavo::pt2_import {
namespace {

ValueId times(NodeReader& in, ValueId x, double factor, std::string_view suffix) {
  if (factor == 1.0 || in.failed()) return x;
  return in.add(kBinary, BinaryAttrs{.kind = BinaryKind::mul}, {x, in.scalar_like(x, factor, "factor")}, suffix);
}

}  // namespace

// y = x · wᵀ + bias. A transposed dequantized constant stays a dequantized constant in lowering.
void read_linear(NodeReader& in) {
  const ValueId x = in.value("input"), w = in.value("weight"), bias = in.optional("bias");
  in.require_rank("weight", w, 2, 2);
  if (in.failed()) return;
  const ValueId turned = in.transpose(w, {1, 0}, "weight");
  const ValueId product = in.add(kMatmul, NoAttrs{}, {x, turned}, bias.exists() ? "matmul" : "");
  in.output(0, bias.exists() ? in.add(kBinary, BinaryAttrs{.kind = BinaryKind::add}, {product, bias}) : product);
}

// beta · self + alpha · mat1 · mat2
void read_addmm(NodeReader& in) {
  const ValueId bias = in.value("self"), a = in.value("mat1"), b = in.value("mat2");
  const double beta = in.number("beta", 1.0), alpha = in.number("alpha", 1.0);
  in.require_rank("mat1", a, 2, 2);
  in.require_rank("mat2", b, 2, 2);
  const ValueId product = times(in, in.add(kMatmul, NoAttrs{}, {a, b}, "matmul"), alpha, "scaled");
  if (beta == 0.0) return in.output(0, product);
  in.output(0, in.add(kBinary, BinaryAttrs{.kind = BinaryKind::add}, {product, times(in, bias, beta, "bias")}));
}

void read_matmul(NodeReader& in) {
  const ValueId a = in.value("self"), b = in.value(in.has("mat2") ? "mat2" : "other");
  in.output(0, in.add(kMatmul, NoAttrs{}, {a, b}));
}

}  // namespace octavo::pt2_import
