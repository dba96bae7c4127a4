// What pad adds, as plain data and as a formula, so that code of devices may include it. Part of ops/.
#ifndef OCTAVO_OPS_PAD_MODE_H_
#define OCTAVO_OPS_PAD_MODE_H_

#include <cstdint>
#include <string_view>

namespace octavo {

// What the new elements are. Numbers are part of the artifact format.
enum class PadMode : std::uint8_t { constant = 0, reflect = 1, edge = 2, wrap = 3 };
constexpr int count_of(PadMode) { return 4; }
constexpr std::string_view name_of(PadMode value) {
  constexpr std::string_view names[] = {"constant", "reflect", "edge", "wrap"};
  return names[static_cast<int>(value)];
}

// The index in [0, size) that stands for one outside, or a negative number where it is filled.
constexpr std::int64_t padded_index(PadMode mode, std::int64_t index, std::int64_t size) {
  if (index >= 0 && index < size) return index;
  if (size == 0 || mode == PadMode::constant) return -1;
  if (mode == PadMode::edge) return index < 0 ? 0 : size - 1;
  if (size == 1) return 0;
  const std::int64_t period = mode == PadMode::wrap ? size : 2 * (size - 1);
  const std::int64_t at = (index % period + period) % period;
  return at < size ? at : period - at;
}

}  // namespace octavo

#endif  // OCTAVO_OPS_PAD_MODE_H_
