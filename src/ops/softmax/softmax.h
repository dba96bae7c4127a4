// softmax: normalised exponentials along one axis. Part of ops/.
#ifndef OCTAVO_OPS_SOFTMAX_SOFTMAX_H_
#define OCTAVO_OPS_SOFTMAX_SOFTMAX_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

// Which form. Numbers are part of the artifact format.
enum class SoftmaxKind : std::uint8_t { softmax = 0, log_softmax = 1 };
constexpr int count_of(SoftmaxKind) { return 2; }
constexpr std::string_view name_of(SoftmaxKind value) {
  constexpr std::string_view names[] = {"softmax", "log_softmax"};
  return names[static_cast<int>(value)];
}

struct SoftmaxAttrs {
  SoftmaxKind kind = SoftmaxKind::softmax;
  std::int64_t axis = 0;  // not negative

  bool operator==(const SoftmaxAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"kind", &SoftmaxAttrs::kind}, Field{"axis", &SoftmaxAttrs::axis});
  }
};

// e = exp(x - max), s = sum(e): y = e / s or (x - max) - log(s). f32: in f32, exp and log of base/elementary.h, s by
// long_sum of base/partial_sums.h, rounded, y = e * (1 / s); max leaves NaN out and is never -0. So -infinity after a
// line changes nothing of it, and a line of nothing else is NaN. Other floats: in f64 in order, rounded once.
extern const OpSpec kSoftmax;

}  // namespace octavo

#endif  // OCTAVO_OPS_SOFTMAX_SOFTMAX_H_
