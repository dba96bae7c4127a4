// reduce: sums, means, extremes over axes. Part of ops/.
#ifndef OCTAVO_OPS_REDUCE_REDUCE_H_
#define OCTAVO_OPS_REDUCE_REDUCE_H_

#include <cstdint>
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

}  // namespace octavo

#endif  // OCTAVO_OPS_REDUCE_REDUCE_H_
