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

// y = exp(x - max) / sum(exp(x - max)), in double with our own exp, rounded once.
extern const OpSpec kSoftmax;

}  // namespace octavo

#endif  // OCTAVO_OPS_SOFTMAX_SOFTMAX_H_
