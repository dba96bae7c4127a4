// What binary means for two integers or booleans, for its reference and its kernel. Part of ops/.
#ifndef OCTAVO_OPS_BINARY_INTEGERS_H_
#define OCTAVO_OPS_BINARY_INTEGERS_H_

#include <cstdint>
#include <type_traits>

#include "ops/binary/binary.h"

namespace octavo {

// Of the kinds that give booleans; floats, too. NaN is not equal to and not less than anything.
template <class T>
bool compare(BinaryKind kind, T a, T b) {
  switch (kind) {
    case BinaryKind::equal: return a == b;
    case BinaryKind::greater: return a > b;
    case BinaryKind::greater_or_equal: return a >= b;
    case BinaryKind::less: return a < b;
    case BinaryKind::less_or_equal: return a <= b;
    case BinaryKind::logical_and: return a != 0 && b != 0;
    case BinaryKind::logical_or: return a != 0 || b != 0;
    default: return (a != 0) != (b != 0);
  }
}

// By squaring, wrapping. A negative exponent leaves 0 unless the base is 1 or -1.
template <class T>
T integer_power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == 1) return 1;
      if (base == -1) return exponent % 2 == 0 ? T{1} : T{-1};
      return 0;
    }
  }
  std::uint64_t power = 1;
  auto factor = static_cast<std::uint64_t>(base);
  for (auto left = static_cast<std::uint64_t>(exponent); left != 0; left >>= 1) {
    if ((left & 1) != 0) power *= factor;
    factor *= factor;
  }
  return static_cast<T>(power);
}

template <class T>
T integer_quotient(T a, T b) {
  if (b == 0) return 0;
  // The one quotient that overflows wraps.
  if (std::is_signed_v<T> && b == static_cast<T>(-1))
    return static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(a));
  return static_cast<T>(a / b);
}

// The remainder takes the divisor's sign.
template <class T>
T integer_remainder(T a, T b) {
  if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
  const auto rest = static_cast<T>(a % b);
  return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
}

template <class T>
T shifted_left(T a, T by) {
  const bool is_inside = by >= 0 && static_cast<std::uint64_t>(by) < 8 * sizeof(T);
  return is_inside ? static_cast<T>(static_cast<std::uint64_t>(a) << by) : T{0};
}

// Of signed integers the sign comes in.
template <class T>
T shifted_right(T a, T by) {
  const bool is_inside = by >= 0 && static_cast<std::uint64_t>(by) < 8 * sizeof(T);
  if (!is_inside) return a < 0 ? static_cast<T>(-1) : T{0};
  return static_cast<T>(a >> by);
}

template <class T>
T integer_binary(BinaryKind kind, T a, T b) {
  const auto ua = static_cast<std::uint64_t>(a);
  const auto ub = static_cast<std::uint64_t>(b);
  switch (kind) {
    case BinaryKind::add: return static_cast<T>(ua + ub);
    case BinaryKind::sub: return static_cast<T>(ua - ub);
    case BinaryKind::mul: return static_cast<T>(ua * ub);
    case BinaryKind::div: return integer_quotient(a, b);
    case BinaryKind::pow: return integer_power(a, b);
    case BinaryKind::min: return a < b ? a : b;
    case BinaryKind::max: return a > b ? a : b;
    case BinaryKind::mod: return integer_remainder(a, b);
    case BinaryKind::prelu: return a < 0 ? static_cast<T>(ua * ub) : a;
    case BinaryKind::shift_left: return shifted_left(a, b);
    case BinaryKind::shift_right: return shifted_right(a, b);
    case BinaryKind::bitwise_and: return static_cast<T>(ua & ub);
    case BinaryKind::bitwise_or: return static_cast<T>(ua | ub);
    case BinaryKind::bitwise_xor: return static_cast<T>(ua ^ ub);
    default: return a;
  }
}

}  // namespace octavo

#endif  // OCTAVO_OPS_BINARY_INTEGERS_H_
