// pad: adds elements around a tensor; any type. Part of ops/.
#ifndef OCTAVO_OPS_PAD_PAD_H_
#define OCTAVO_OPS_PAD_PAD_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

// What the new elements are. Numbers are part of the artifact format.
enum class PadMode : std::uint8_t { constant = 0, reflect = 1, edge = 2, wrap = 3 };
constexpr int count_of(PadMode) { return 4; }
constexpr std::string_view name_of(PadMode value) {
  constexpr std::string_view names[] = {"constant", "reflect", "edge", "wrap"};
  return names[static_cast<int>(value)];
}

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
