// Options of a custom operator, stored as a FlexBuffer. Part of import/.
#ifndef OCTAVO_IMPORT_TFLITE_FLEX_OPTIONS_H_
#define OCTAVO_IMPORT_TFLITE_FLEX_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::tflite_import {

// A map of the format. Every access checks the bytes that it reads: the library's own reader needs its verifier, which
// in Debian 12 accepts keys without an end.
class FlexOptions {
 public:
  // Nothing where the bytes are no map. They must outlive it.
  static std::optional<FlexOptions> parse(std::span<const std::uint8_t> bytes);

  // Nothing where there is no such key, or something else behind it.
  std::optional<double> number(std::string_view key) const;
  std::optional<std::vector<double>> numbers(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;

 private:
  // A value by its place: what is stored there by `parent_width` bytes is the value, or how far back it lies.
  struct Item {
    std::size_t at = 0;
    std::size_t parent_width = 1;
    int type = 0;
    std::size_t width = 1;
  };
  explicit FlexOptions(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::optional<std::uint64_t> read(std::size_t at, std::size_t width) const;
  std::optional<double> scalar(int type, std::size_t at, std::size_t width) const;
  std::optional<double> number(const Item& item) const;
  // Where an offset that is stored at a place leads.
  std::optional<std::size_t> target(std::size_t at, std::size_t width) const;
  std::optional<Item> item(std::size_t at, std::size_t width, std::size_t type_at) const;
  bool is_text(std::size_t at, std::string_view text) const;
  std::optional<Item> find(std::string_view key) const;

  std::span<const std::uint8_t> bytes_;
  std::size_t map_ = 0, width_ = 1, size_ = 0;  // its first value, the width of them, and how many they are
};

}  // namespace octavo::tflite_import

#endif  // OCTAVO_IMPORT_TFLITE_FLEX_OPTIONS_H_
