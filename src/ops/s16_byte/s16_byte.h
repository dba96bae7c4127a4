// s16_byte: one of the two bytes of s16 values, for operators that compute with bytes; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_S16_BYTE_S16_BYTE_H_
#define OCTAVO_OPS_S16_BYTE_S16_BYTE_H_

#include <cstdint>
#include <string_view>
#include <tuple>

#include "base/fields.h"
#include "graph/op.h"

namespace octavo {

enum class S16Byte : std::uint8_t { upper = 0, lower = 1 };
constexpr int count_of(S16Byte) { return 2; }
constexpr std::string_view name_of(S16Byte which) { return which == S16Byte::upper ? "upper" : "lower"; }

struct S16ByteAttrs {
  S16Byte which = S16Byte::upper;

  bool operator==(const S16ByteAttrs&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"which", &S16ByteAttrs::which}); }
};

// What is stored where the byte is 0.
constexpr std::int32_t zero_of(S16Byte which) { return which == S16Byte::upper ? 128 : 0; }

// x = 256 (upper - 128) + lower, both u8: upper = floor(x / 256) + 128, lower = x mod 256. A sum over x is 256 times
// that over `upper` with the zero point 128, and that over `lower`. inputs: x (s16).
extern const OpSpec kS16Byte;

}  // namespace octavo

#endif  // OCTAVO_OPS_S16_BYTE_S16_BYTE_H_
