// One line of integers reduced, for the reference and for kernels. Part of ops/.
#ifndef OCTAVO_OPS_REDUCE_FOLD_INTEGERS_H_
#define OCTAVO_OPS_REDUCE_FOLD_INTEGERS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/reduce/kind.h"

namespace octavo {

constexpr bool is_extreme(ReduceKind kind) { return kind == ReduceKind::max || kind == ReduceKind::min; }

// Integers wrap in 64 bits and then in their own type; a mean truncates, and is 0 over nothing.
template <class T, class Get>
T fold_integers(ReduceKind kind, std::int64_t count, const Get& at) {
  using Limits = std::numeric_limits<T>;
  if (is_extreme(kind)) {
    T best = kind == ReduceKind::max ? Limits::lowest() : Limits::max();
    for (std::int64_t i = 0; i < count; ++i)
      best = kind == ReduceKind::max ? std::max(best, at(i)) : std::min(best, at(i));
    return best;
  }
  std::uint64_t result = kind == ReduceKind::prod ? 1 : 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const T value = at(i);
    const auto x = static_cast<std::uint64_t>(value);
    if (kind == ReduceKind::prod) result *= x;
    else if (kind == ReduceKind::l1) result += value < T{} ? 0 - x : x;
    else result += kind == ReduceKind::sum_square ? x * x : x;
  }
  if (kind != ReduceKind::mean || count == 0) return static_cast<T>(result);
  if constexpr (std::is_signed_v<T>) return static_cast<T>(static_cast<std::int64_t>(result) / count);
  else return static_cast<T>(result / static_cast<std::uint64_t>(count));
}

}  // namespace octavo

#endif  // OCTAVO_OPS_REDUCE_FOLD_INTEGERS_H_
