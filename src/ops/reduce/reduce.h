// reduce: sums, means, extremes over axes. Part of ops/.
#ifndef OCTAVO_OPS_REDUCE_REDUCE_H_
#define OCTAVO_OPS_REDUCE_REDUCE_H_

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "graph/op.h"
#include "ops/reduce/kind.h"

namespace octavo {

struct ReduceAttrs {
  ReduceKind kind = ReduceKind::sum;
  std::vector<std::int64_t> axes;  // sorted, not negative, unique; empty: nothing is reduced
  bool keep_dims = true;

  bool operator==(const ReduceAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"kind", &ReduceAttrs::kind}, Field{"axes", &ReduceAttrs::axes},
                      Field{"keep_dims", &ReduceAttrs::keep_dims});
  }
};

// The elements of a result are numbered in row-major order. f32: extremes, and sums and products in f64, in 16 partial
// ones joined as base/partial_sums.h says, rounded to f32, then the logarithm in f32 (base/elementary.h); log_sum_exp:
// exp(x - largest) in f32. Other floats are accumulated in f64 in order and rounded once.
extern const OpSpec kReduce;

// y[i] = the elements x[first + elements[0]], x[first + elements[1]], ... reduced: the scalar code of one result.
struct ReduceLine {
  ReduceKind kind;
  const ConstTensorView& x;
  std::int64_t first;
  std::span<const std::int64_t> elements;
};
void reduce_line(const ReduceLine& line, const TensorView& y, std::int64_t i);

}  // namespace octavo

#endif  // OCTAVO_OPS_REDUCE_REDUCE_H_
