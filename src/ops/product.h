// Matrix products with numpy shapes: what matmul, matmul_integer and quantized_matmul share. Part of ops/.
#ifndef OCTAVO_OPS_PRODUCT_H_
#define OCTAVO_OPS_PRODUCT_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/op.h"

namespace octavo {

// y[..., m, n] = a[..., m, k] x b[..., k, n]; a of rank 1 is a row, b of rank 1 a column, and that axis is absent in y.
struct Product {
  Dim m = 1, k = 1, n = 1;
  std::vector<Dim> dims;       // of y
  OpenShape batch;             // leading axes of y, broadcast
  OpenShape a_batch, b_batch;  // leading axes of a and b

  // Errors name what disagrees.
  static Result<Product> of(const OpenShape& a, const OpenShape& b);
  // For each matrix of the batch the element offsets of its a and b. Only where the result is known to fit in memory.
  std::vector<std::pair<std::int64_t, std::int64_t>> offsets() const;
};

}  // namespace octavo

#endif  // OCTAVO_OPS_PRODUCT_H_
