// cumsum: running sums or products along an axis. Part of ops/.
#ifndef OCTAVO_OPS_CUMSUM_CUMSUM_H_
#define OCTAVO_OPS_CUMSUM_CUMSUM_H_

#include <cstdint>
#include <string_view>
#include <tuple>

#include "graph/op.h"

namespace octavo {

// Numbers are part of the artifact format.
enum class CumsumKind : std::uint8_t { sum = 0, product = 1 };
constexpr int count_of(CumsumKind) { return 2; }
constexpr std::string_view name_of(CumsumKind value) {
  constexpr std::string_view names[] = {"sum", "product"};
  return names[static_cast<int>(value)];
}

struct CumsumAttrs {
  std::int64_t axis = 0;   // not negative
  bool exclusive = false;  // without the element itself: the first sum is 0, the first product 1
  bool reverse = false;    // from the end of the axis
  CumsumKind kind = CumsumKind::sum;

  bool operator==(const CumsumAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"axis", &CumsumAttrs::axis}, Field{"exclusive", &CumsumAttrs::exclusive},
                      Field{"reverse", &CumsumAttrs::reverse}, Field{"kind", &CumsumAttrs::kind});
  }
};

// y[i] = sum or product of x[0..i] along the axis. Floats in f64, each result rounded once; integers of 32 and 64 bits
// wrap. The result has the type of x. inputs: x.
extern const OpSpec kCumsum;

}  // namespace octavo

#endif  // OCTAVO_OPS_CUMSUM_CUMSUM_H_
