// A reader of FlexBuffers, as far as options of operators need them. Part of import/.
#include "import/tflite/flex_options.h"

#include <bit>

namespace octavo::tflite_import {
namespace {

// Types of values, by the numbers of the format.
constexpr int kInt = 1, kUint = 2, kFloat = 3, kKey = 4, kString = 5, kIndirect = 5, kMap = 9, kVector = 10,
              kTyped = 10, kFixed = 16, kLastFixed = 24, kBool = 26, kVectorOfBool = 36;

bool is_scalar(int type) { return (type >= kInt && type <= kFloat) || type == kBool; }

}  // namespace

std::optional<std::uint64_t> FlexOptions::read(std::size_t at, std::size_t width) const {
  if (at > bytes_.size() || width > bytes_.size() - at) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = width; i > 0; --i) value = value << 8 | bytes_[at + i - 1];
  return value;
}

std::optional<std::size_t> FlexOptions::target(std::size_t at, std::size_t width) const {
  const auto offset = read(at, width);
  if (!offset || *offset > at) return std::nullopt;
  return at - static_cast<std::size_t>(*offset);
}

std::optional<FlexOptions::Item> FlexOptions::item(std::size_t at, std::size_t width, std::size_t type_at) const {
  const auto packed = read(type_at, 1);
  if (!packed) return std::nullopt;
  return Item{at, width, static_cast<int>(*packed >> 2), std::size_t{1} << (*packed & 3)};
}

// The last byte is the width of the root, the one before it its type; the root lies before both.
std::optional<FlexOptions> FlexOptions::parse(std::span<const std::uint8_t> bytes) {
  FlexOptions made(bytes);
  if (bytes.size() < 3) return std::nullopt;
  const std::size_t width = bytes.back();
  if ((width != 1 && width != 2 && width != 4 && width != 8) || bytes.size() - 2 < width) return std::nullopt;
  const auto root = made.item(bytes.size() - 2 - width, width, bytes.size() - 2);
  if (!root || root->type != kMap) return std::nullopt;
  const auto map = made.target(root->at, root->parent_width);
  // Before the values lie the keys, their width, and how many they are.
  if (!map || *map < 3 * root->width) return std::nullopt;
  const auto size = made.read(*map - root->width, root->width);
  if (!size || *size > bytes.size()) return std::nullopt;
  made.map_ = *map, made.width_ = root->width, made.size_ = static_cast<std::size_t>(*size);
  return made;
}

bool FlexOptions::is_text(std::size_t at, std::string_view text) const {
  if (text.size() >= bytes_.size() - at) return false;
  return std::string_view(reinterpret_cast<const char*>(bytes_.data()) + at, text.size()) == text &&
         bytes_[at + text.size()] == 0;
}

std::optional<FlexOptions::Item> FlexOptions::find(std::string_view key) const {
  const auto keys = target(map_ - 3 * width_, width_);
  const auto key_width = read(map_ - 2 * width_, width_);
  if (!keys || !key_width || *key_width < 1 || *key_width > 8) return std::nullopt;
  for (std::size_t i = 0; i < size_; ++i) {
    const auto name = target(*keys + i * *key_width, *key_width);
    if (name && is_text(*name, key)) return item(map_ + i * width_, width_, map_ + size_ * width_ + i);
  }
  return std::nullopt;
}

std::optional<double> FlexOptions::scalar(int type, std::size_t at, std::size_t width) const {
  const auto bits = read(at, width);
  if (!bits) return std::nullopt;
  if (type == kUint || type == kBool) return static_cast<double>(*bits);
  if (type == kInt) {
    const auto unused = static_cast<unsigned>(64 - 8 * width);
    return static_cast<double>(static_cast<std::int64_t>(*bits << unused) >> unused);
  }
  if (width == 4) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(*bits)));
  if (width == 8) return std::bit_cast<double>(*bits);
  return std::nullopt;
}

std::optional<double> FlexOptions::number(const Item& item) const {
  if (is_scalar(item.type)) return scalar(item.type, item.at, item.parent_width);
  const int direct = item.type - kIndirect;
  if (direct < kInt || direct > kFloat) return std::nullopt;
  const auto at = target(item.at, item.parent_width);
  return at ? scalar(direct, *at, item.width) : std::nullopt;
}

std::optional<double> FlexOptions::number(std::string_view key) const {
  const auto found = find(key);
  return found ? number(*found) : std::nullopt;
}

std::optional<std::vector<double>> FlexOptions::numbers(std::string_view key) const {
  const auto found = find(key);
  if (!found) return std::nullopt;
  const auto first = target(found->at, found->parent_width);
  const int type = found->type;
  const bool is_fixed = type >= kFixed && type <= kLastFixed, has_types = type == kVector;
  const bool is_typed = (type > kTyped && type <= kTyped + kFloat) || type == kVectorOfBool;
  if (!first || !(is_fixed || has_types || is_typed) || (!is_fixed && *first < found->width)) return std::nullopt;
  const auto size = is_fixed ? static_cast<std::uint64_t>((type - kFixed) / 3 + 2)
                             : read(*first - found->width, found->width).value_or(bytes_.size() + 1);
  if (size > bytes_.size()) return std::nullopt;
  std::vector<double> values;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t at = *first + i * found->width;
    const int element = is_fixed ? (type - kFixed) % 3 + kInt : type == kVectorOfBool ? kBool : type - kTyped;
    const auto own = has_types ? item(at, found->width, *first + size * found->width + i) : std::nullopt;
    if (has_types && !own) return std::nullopt;
    const auto value = has_types ? number(*own) : scalar(element, at, found->width);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::optional<std::string> FlexOptions::text(std::string_view key) const {
  const auto found = find(key);
  if (!found || (found->type != kKey && found->type != kString)) return std::nullopt;
  const auto at = target(found->at, found->parent_width);
  if (!at) return std::nullopt;
  std::string made;
  for (std::size_t i = *at; i < bytes_.size() && bytes_[i] != 0; ++i) made += static_cast<char>(bytes_[i]);
  return made;
}

}  // namespace octavo::tflite_import
