// pad: adds elements around a tensor; any type. Part of ops/.
#ifndef OCTAVO_OPS_PAD_PAD_H_
#define OCTAVO_OPS_PAD_PAD_H_

#include <tuple>
#include <vector>

#include "graph/op.h"
#include "ops/pad/mode.h"

namespace octavo {

struct PadAttrs {
  PadMode mode = PadMode::constant;
  std::vector<Dim> begin;  // one per axis; negative crops
  std::vector<Dim> end;

  bool operator==(const PadAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"mode", &PadAttrs::mode}, Field{"begin", &PadAttrs::begin}, Field{"end", &PadAttrs::end});
  }
};

// inputs: x, value? (scalar of the type of x; 0 where left out).
extern const OpSpec kPad;

}  // namespace octavo

#endif  // OCTAVO_OPS_PAD_PAD_H_
