// Element types. Part of the public API.
#ifndef OCTAVO_DTYPE_H_
#define OCTAVO_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace octavo {

// How the elements of a tensor are stored; quantized ones are integers, their scale is told apart. The numbers are part
// of the artifact format; never renumber.
enum class DType : std::uint8_t {
  boolean = 0,  // one byte, 0 or 1
  u8 = 1,
  s8 = 2,
  u16 = 3,
  s16 = 4,
  u32 = 5,
  s32 = 6,
  u64 = 7,
  s64 = 8,
  f16 = 9,
  bf16 = 10,
  f32 = 11,
  f64 = 12,
};
inline constexpr int kDTypeCount = 13;

// Bytes of an element.
constexpr std::size_t size_of(DType dtype) {
  constexpr std::size_t sizes[kDTypeCount] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};
  return sizes[static_cast<int>(dtype)];
}

// "u8", "f32", ...
constexpr std::string_view name_of(DType dtype) {
  constexpr std::string_view names[kDTypeCount] = {"bool", "u8",  "s8",  "u16",  "s16", "u32", "s32",
                                                   "u64",  "s64", "f16", "bf16", "f32", "f64"};
  return names[static_cast<int>(dtype)];
}

constexpr int count_of(DType) { return kDTypeCount; }

constexpr bool is_float(DType dtype) { return dtype >= DType::f16; }
constexpr bool is_integer(DType dtype) { return dtype >= DType::u8 && dtype <= DType::s64; }
constexpr bool is_8bit(DType dtype) { return dtype == DType::u8 || dtype == DType::s8; }

// Both ends included.
struct IntegerRange {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  bool operator==(const IntegerRange&) const = default;
};
// Smallest and largest value of an integer type of at most 32 bits, else {0, 0}.
constexpr IntegerRange range_of(DType dtype) {
  switch (dtype) {
    case DType::u8: return {0, 255};
    case DType::s8: return {-128, 127};
    case DType::u16: return {0, 65535};
    case DType::s16: return {-32768, 32767};
    case DType::u32: return {0, 4294967295};
    case DType::s32: return {-2147483648LL, 2147483647};
    default: return {0, 0};
  }
}

// The DType of a C++ type: dtype_of<float> is DType::f32.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::s8;
};
template <>
struct DTypeOf<std::uint16_t> {
  static constexpr DType value = DType::u16;
};
template <>
struct DTypeOf<std::int16_t> {
  static constexpr DType value = DType::s16;
};
template <>
struct DTypeOf<std::uint32_t> {
  static constexpr DType value = DType::u32;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::s32;
};
template <>
struct DTypeOf<std::uint64_t> {
  static constexpr DType value = DType::u64;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::s64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

// f16 and bf16 by bits; conversion to f32 is exact, from f32 rounds to nearest even.
float f16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_f16(float value);
float bf16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_bf16(float value);

}  // namespace octavo

#endif  // OCTAVO_DTYPE_H_
