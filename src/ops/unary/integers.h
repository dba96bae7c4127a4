// What unary means for an integer or a boolean, for its reference and its kernel. Part of ops/.
#ifndef OCTAVO_OPS_UNARY_INTEGERS_H_
#define OCTAVO_OPS_UNARY_INTEGERS_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/unary/unary.h"

namespace octavo {

// A bound of clip as the integer nearest to it that T holds.
template <class T>
T to_bound(double bound) {
  // The type's own largest value may not be an f64; values from there on saturate.
  if (bound <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (bound >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(bound);
}

template <class T>
T integer_unary(const UnaryAttrs& attrs, T x) {
  constexpr T zero{0};
  // Negation wraps, as the type's arithmetic does.
  const auto negated = static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(x));
  switch (attrs.kind) {
    case UnaryKind::relu: return x < zero ? zero : x;
    case UnaryKind::neg: return negated;
    case UnaryKind::abs: return x < zero ? negated : x;
    case UnaryKind::sign: return static_cast<T>((x > zero ? 1 : 0) - (x < zero ? 1 : 0));
    case UnaryKind::clip: {
      const T lowest = to_bound<T>(std::ceil(static_cast<double>(attrs.alpha)));
      const T highest = to_bound<T>(std::floor(static_cast<double>(attrs.beta)));
      const T raised = x < lowest ? lowest : x;
      return raised > highest ? highest : raised;
    }
    case UnaryKind::bitwise_not: return static_cast<T>(~static_cast<std::uint64_t>(x));
    default: return x;
  }
}

// Of a boolean: itself, or the other one. Any byte but 0 is true.
inline std::uint8_t boolean_unary(const UnaryAttrs& attrs, std::uint8_t x) {
  return (x != 0) != (attrs.kind == UnaryKind::logical_not) ? 1 : 0;
}

}  // namespace octavo

#endif  // OCTAVO_OPS_UNARY_INTEGERS_H_
