// Fields: a struct lists its members once; printing, encoding and decoding follow from the list. Part of base/.
//
//   struct PoolAttrs {
//     std::vector<std::int64_t> kernel;
//     bool count_include_pad = false;
//     bool operator==(const PoolAttrs&) const = default;
//     static constexpr auto fields() {
//       return std::tuple(Field{"kernel", &PoolAttrs::kernel}, Field{"count_include_pad",
//       &PoolAttrs::count_include_pad});
//     }
//   };
//
// Members may be bool, integers, float, double, enums of 8 bits (with a `name_of` for printing), std::string,
// std::vector, std::array and std::optional of these, and structs that themselves have fields().
// Encoding is little-endian and has no padding; decoding never reads past the end and bounds every length by what is
// left.
#ifndef OCTAVO_BASE_FIELDS_H_
#define OCTAVO_BASE_FIELDS_H_

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/dim.h"

namespace octavo {

static_assert(std::endian::native == std::endian::little,
              "the artifact format is the memory format of little-endian machines");

template <class Struct, class Member>
struct Field {
  std::string_view name;
  Member Struct::*member;
};

template <class T>
concept HasFields = requires {
  T::fields();
};

using Bytes = std::vector<std::byte>;

namespace fields_detail {

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsArray : std::false_type {};
template <class T, std::size_t N>
struct IsArray<std::array<T, N>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
std::string number_to_string(T value) {
  char buffer[48];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

}  // namespace fields_detail

// ---- encode ----

template <class T>
void encode(const T& value, Bytes& out);

namespace fields_detail {

inline void append(Bytes& out, const void* data, std::size_t size) {
  const std::size_t end = out.size();
  out.resize(end + size);
  if (size != 0) std::memcpy(out.data() + end, data, size);
}

}  // namespace fields_detail

template <class T>
void encode(const T& value, Bytes& out) {
  namespace detail = fields_detail;
  if constexpr (std::is_same_v<T, bool>) {
    out.push_back(std::byte{static_cast<unsigned char>(value ? 1 : 0)});
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    detail::append(out, &value, sizeof value);
  } else if constexpr (std::is_same_v<T, Dim>) {
    encode(encoded(value), out);
  } else if constexpr (std::is_same_v<T, std::string>) {
    encode(static_cast<std::uint64_t>(value.size()), out);
    detail::append(out, value.data(), value.size());
  } else if constexpr (detail::IsVector<T>::value) {
    encode(static_cast<std::uint64_t>(value.size()), out);
    for (const auto& item : value) encode<typename T::value_type>(item, out);
  } else if constexpr (detail::IsArray<T>::value) {
    for (const auto& item : value) encode(item, out);
  } else if constexpr (detail::IsOptional<T>::value) {
    encode(value.has_value(), out);
    if (value) encode(*value, out);
  } else {
    static_assert(HasFields<T>, "give the struct a fields() list");
    std::apply([&](const auto&... field) { (encode(value.*(field.member), out), ...); }, T::fields());
  }
}

// ---- decode ----

// Reads from bytes that may be hostile: once `ok` is false every further read fails.
struct ByteReader {
  std::span<const std::byte> rest;
  bool ok = true;

  bool take(void* to, std::size_t size) {
    if (!ok || rest.size() < size) return ok = false;
    if (size != 0) std::memcpy(to, rest.data(), size);
    rest = rest.subspan(size);
    return true;
  }
};

template <class T>
bool decode(ByteReader& in, T& value) {
  namespace detail = fields_detail;
  if constexpr (std::is_same_v<T, bool>) {
    unsigned char byte = 0;
    if (!in.take(&byte, 1) || byte > 1) return in.ok = false;
    value = byte == 1;
  } else if constexpr (std::is_same_v<T, std::byte>) {
    in.take(&value, 1);
  } else if constexpr (std::is_enum_v<T>) {
    static_assert(sizeof(T) == 1, "enums in files have 8 bits");
    unsigned char byte = 0;
    // Every such enum E declares a count as `constexpr int count_of(E)`.
    if (!in.take(&byte, 1) || byte >= count_of(T{})) return in.ok = false;
    value = static_cast<T>(byte);
  } else if constexpr (std::is_arithmetic_v<T>) {
    in.take(&value, sizeof value);
  } else if constexpr (std::is_same_v<T, Dim>) {
    std::int64_t number = 0;
    in.take(&number, sizeof number);
    value = number;
  } else if constexpr (std::is_same_v<T, std::string>) {
    std::uint64_t size = 0;
    if (!decode(in, size) || size > in.rest.size()) return in.ok = false;
    value.resize(size);
    in.take(value.data(), size);
  } else if constexpr (detail::IsVector<T>::value) {
    std::uint64_t size = 0;
    // Each item takes at least one byte, so a length beyond what is left is a lie; memory stays proportional to the
    // file, that for items to come at most eight times what is left of it.
    using Item = typename T::value_type;
    if (!decode(in, size) || size > in.rest.size()) return in.ok = false;
    value.clear();
    if constexpr ((std::is_arithmetic_v<Item> || std::is_same_v<Item, std::byte>)&&!std::is_same_v<Item, bool>) {
      if (size > in.rest.size() / sizeof(Item)) return in.ok = false;
      value.resize(size);
      in.take(value.data(), size * sizeof(Item));
    } else {
      value.reserve(std::min<std::uint64_t>(size, in.rest.size() * 8 / sizeof(Item) + 1));
      for (std::uint64_t i = 0; i < size && in.ok; ++i) {
        Item item{};
        decode(in, item);
        value.push_back(std::move(item));
      }
    }
  } else if constexpr (detail::IsArray<T>::value) {
    for (auto& item : value) decode(in, item);
  } else if constexpr (detail::IsOptional<T>::value) {
    bool has_value = false;
    if (!decode(in, has_value)) return false;
    if (has_value) decode(in, value.emplace());
    else value.reset();
  } else {
    static_assert(HasFields<T>, "give the struct a fields() list");
    std::apply([&](const auto&... field) { (decode(in, value.*(field.member)), ...); }, T::fields());
  }
  return in.ok;
}

// Decodes a whole buffer: nothing may be left over.
template <class T>
std::optional<T> decode_all(std::span<const std::byte> bytes) {
  ByteReader in{bytes};
  T value{};
  if (!decode(in, value) || !in.rest.empty()) return std::nullopt;
  return value;
}

template <class T>
Bytes encode(const T& value) {
  Bytes out;
  encode(value, out);
  return out;
}

// ---- extents ----

// Every open extent as what stands for it among `dims`: a number, or an expression of another table.
template <class T>
void replace_extents(T& value, std::span<const Dim> dims) {
  namespace detail = fields_detail;
  if constexpr (std::is_same_v<T, Dim>) {
    value = value.at(dims);
  } else if constexpr (detail::IsVector<T>::value || detail::IsArray<T>::value) {
    if constexpr (!std::is_same_v<T, std::vector<bool>>) {
      for (auto& item : value) replace_extents(item, dims);
    }
  } else if constexpr (detail::IsOptional<T>::value) {
    if (value) replace_extents(*value, dims);
  } else if constexpr (HasFields<T>) {
    std::apply([&](const auto&... field) { (replace_extents(value.*(field.member), dims), ...); }, T::fields());
  }
}

// ---- print ----

// "kernel=[3,3] count_include_pad=true"; members equal to their default are left out at the top level.
template <class T>
std::string print(const T& value) {
  namespace detail = fields_detail;
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(name_of(value));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return detail::number_to_string(value);
  } else if constexpr (std::is_same_v<T, Dim>) {
    return to_string(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return '"' + value + '"';
  } else if constexpr (detail::IsVector<T>::value || detail::IsArray<T>::value) {
    std::string text = "[";
    for (const auto& item : value) text += (text.size() > 1 ? "," : "") + print<typename T::value_type>(item);
    return text + "]";
  } else if constexpr (detail::IsOptional<T>::value) {
    return value ? print(*value) : "none";
  } else {
    static_assert(HasFields<T>, "give the struct a fields() list");
    const T defaults{};
    std::string text;
    const auto one = [&](const auto& field) {
      if (value.*(field.member) == defaults.*(field.member)) return;
      text += (text.empty() ? "" : " ") + std::string(field.name) + "=" + print(value.*(field.member));
    };
    std::apply([&](const auto&... field) { (one(field), ...); }, T::fields());
    return "{" + text + "}";
  }
}

// ---- structure ----

// Like print, but without what changes no loop: floats and s32 (scales, zero points, bounds). Empty where nothing is
// left.
template <class T>
std::string print_structure(const T& value) {
  namespace detail = fields_detail;
  if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, std::int32_t>) {
    return {};
  } else if constexpr (detail::IsOptional<T>::value) {
    return value ? print_structure(*value) : std::string();
  } else if constexpr (detail::IsVector<T>::value || detail::IsArray<T>::value) {
    using Item = typename T::value_type;
    if constexpr (std::is_floating_point_v<Item> || std::is_same_v<Item, std::int32_t>) return {};
    else return print(value);
  } else if constexpr (HasFields<T>) {
    std::string text;
    const auto add = [&](std::string_view name, const std::string& member) {
      if (!member.empty()) text += (text.empty() ? "" : " ") + std::string(name) + "=" + member;
    };
    std::apply([&](const auto&... field) { (add(field.name, print_structure(value.*(field.member))), ...); },
               T::fields());
    return text;
  } else {
    return print(value);
  }
}

}  // namespace octavo

#if defined(__clang__)
namespace octavo {
// Clang 16 does not deduce the arguments of an aggregate by itself.
template <class Struct, class Member>
Field(std::string_view, Member Struct::*) -> Field<Struct, Member>;

}  // namespace octavo
#endif

#endif  // OCTAVO_BASE_FIELDS_H_
