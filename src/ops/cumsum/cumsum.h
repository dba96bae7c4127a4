// cumsum: running sums along an axis. Part of ops/.
#ifndef OCTAVO_OPS_CUMSUM_CUMSUM_H_
#define OCTAVO_OPS_CUMSUM_CUMSUM_H_

#include <cstdint>
#include <tuple>

#include "graph/op.h"

namespace octavo {

struct CumsumAttrs {
  std::int64_t axis = 0;   // not negative
  bool exclusive = false;  // without the element itself: the first sum is 0
  bool reverse = false;    // from the end of the axis

  bool operator==(const CumsumAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"axis", &CumsumAttrs::axis}, Field{"exclusive", &CumsumAttrs::exclusive},
                      Field{"reverse", &CumsumAttrs::reverse});
  }
};

// y[i] = sum of x[0..i] along the axis. Floats are summed in f64, each sum rounded once; integers of 32 and 64 bits
// wrap. The result has the type of x. inputs: x.
extern const OpSpec kCumsum;

}  // namespace octavo

#endif  // OCTAVO_OPS_CUMSUM_CUMSUM_H_
