// One element of cast, for processors and devices. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_PLAIN_CONVERTED_H_
#define OCTAVO_KERNELS_PLAIN_CONVERTED_H_

#include <cstdint>
#include <limits>
#include <type_traits>

namespace octavo {
namespace {

// Stored as a byte, 0 or not.
struct Truth {};

template <class T>
using StoredAs = std::conditional_t<std::is_same_v<T, Truth>, std::uint8_t, T>;

template <class From, class To>
constexpr StoredAs<To> converted(StoredAs<From> x) {
  if constexpr (std::is_same_v<To, Truth>) {
    return x != 0 ? 1 : 0;
  } else if constexpr (std::is_same_v<From, Truth>) {
    return static_cast<To>(x != 0 ? 1 : 0);
  } else if constexpr (std::is_same_v<From, float> && !std::is_same_v<To, float>) {
    // Towards zero, saturated, 0 of NaN; both bounds are exact in f64.
    constexpr double kLowest = std::numeric_limits<To>::min(), kHighest = std::numeric_limits<To>::max();
    double value = x == x ? static_cast<double>(x) : 0.0;
    value = value < kLowest ? kLowest : value;
    value = value > kHighest ? kHighest : value;
    return static_cast<To>(static_cast<std::int32_t>(value));
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_PLAIN_CONVERTED_H_
