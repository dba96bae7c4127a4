// argmax: index of the largest or smallest value along an axis. Part of ops/.
#ifndef OCTAVO_OPS_ARGMAX_ARGMAX_H_
#define OCTAVO_OPS_ARGMAX_ARGMAX_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

// Which extreme. Numbers are part of the artifact format.
enum class ArgKind : std::uint8_t { max = 0, min = 1 };
constexpr int count_of(ArgKind) { return 2; }
constexpr std::string_view name_of(ArgKind value) {
  constexpr std::string_view names[] = {"max", "min"};
  return names[static_cast<int>(value)];
}

struct ArgmaxAttrs {
  ArgKind kind = ArgKind::max;
  std::int64_t axis = 0;
  bool keep_dims = true;
  bool select_last = false;  // among equals

  bool operator==(const ArgmaxAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"kind", &ArgmaxAttrs::kind}, Field{"axis", &ArgmaxAttrs::axis},
                      Field{"keep_dims", &ArgmaxAttrs::keep_dims}, Field{"select_last", &ArgmaxAttrs::select_last});
  }
};

// s64 result. inputs: x.
extern const OpSpec kArgmax;

}  // namespace octavo

#endif  // OCTAVO_OPS_ARGMAX_ARGMAX_H_
