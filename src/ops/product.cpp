// Matrix products with numpy shapes. Part of ops/.
#include "ops/product.h"

#include <algorithm>
#include <string>

namespace octavo {
namespace {

OpenShape product_leading(const OpenShape& shape) {
  const auto dims = shape.dims();
  return OpenShape(dims.first(dims.size() - static_cast<std::size_t>(std::min(2, shape.rank()))));
}

// Row-major number, in a batch that broadcasts to `whole`, of the matrix that meets matrix `number` of the whole.
std::int64_t source_matrix(const Shape& batch, const Shape& whole, std::int64_t number) {
  std::int64_t result = 0;
  std::int64_t stride = 1;
  for (int back = 1; back <= whole.rank(); ++back) {
    const std::int64_t size = whole[whole.rank() - back];
    const std::int64_t at = number % size;
    number /= size;
    if (back > batch.rank()) continue;
    const std::int64_t own = batch[batch.rank() - back];
    result += (own == 1 ? 0 : at) * stride;
    stride *= own;
  }
  return result;
}

}  // namespace

Result<Product> Product::of(const OpenShape& a, const OpenShape& b) {
  if (a.rank() < 1) return shape_error("a", "a scalar", "rank 1 or more");
  if (b.rank() < 1) return shape_error("b", "a scalar", "rank 1 or more");
  Product product;
  product.k = a[a.rank() - 1];
  const Dim rows = b.rank() == 1 ? b[0] : b[b.rank() - 2];
  if (rows != product.k)
    return shape_error("b", to_string(rows) + " rows (shape " + b.to_string() + ")",
                       to_string(product.k) + " (a is " + a.to_string() + ")");
  product.a_batch = product_leading(a);
  product.b_batch = product_leading(b);
  auto batch = broadcast(product.a_batch, product.b_batch);
  if (!batch) return shape_error("b", "shape " + b.to_string(), "leading axes that broadcast with " + a.to_string());
  product.batch = *std::move(batch);
  product.dims = product.batch.to_vector();
  if (a.rank() > 1) product.dims.push_back(product.m = a[a.rank() - 2]);
  if (b.rank() > 1) product.dims.push_back(product.n = b[b.rank() - 1]);
  return product;
}

std::vector<std::pair<std::int64_t, std::int64_t>> Product::offsets() const {
  std::vector<std::pair<std::int64_t, std::int64_t>> result;
  if (m == 0 || n == 0) return result;
  for (std::int64_t i = 0; i < batch.elements(); ++i) {
    result.emplace_back(source_matrix(a_batch, batch, i) * m * k, source_matrix(b_batch, batch, i) * k * n);
  }
  return result;
}

}  // namespace octavo
