// The reductions. Nothing else, so that per-ISA files may include it. Part of ops/.
#ifndef OCTAVO_OPS_REDUCE_KIND_H_
#define OCTAVO_OPS_REDUCE_KIND_H_

#include <cstdint>
#include <string_view>

namespace octavo {

// Which reduction. Numbers are part of the artifact format.
enum class ReduceKind : std::uint8_t {
  sum = 0,
  mean = 1,
  max = 2,
  min = 3,
  prod = 4,
  l1 = 5,
  l2 = 6,
  sum_square = 7,
  log_sum = 8,
  log_sum_exp = 9
};
constexpr int count_of(ReduceKind) { return 10; }
constexpr std::string_view name_of(ReduceKind value) {
  constexpr std::string_view names[] = {"sum", "mean", "max",        "min",     "prod",
                                        "l1",  "l2",   "sum_square", "log_sum", "log_sum_exp"};
  return names[static_cast<int>(value)];
}

}  // namespace octavo

#endif  // OCTAVO_OPS_REDUCE_KIND_H_
