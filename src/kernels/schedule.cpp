// Numbers as bytes and as text. Part of kernels/.
#include "kernels/schedule.h"

#include <charconv>
#include <limits>

namespace octavo {
namespace {

constexpr std::size_t kScheduleBytes = 4;

}  // namespace

std::vector<std::byte> encode_schedule(std::span<const std::int64_t> numbers) {
  std::vector<std::byte> bytes;
  for (const std::int64_t number : numbers) {
    for (std::size_t i = 0; i < kScheduleBytes; ++i) bytes.push_back(static_cast<std::byte>(number >> (8 * i)));
  }
  return bytes;
}

std::optional<std::vector<std::int64_t>> decode_schedule(std::span<const std::byte> bytes, std::size_t count) {
  if (bytes.size() != count * kScheduleBytes) return std::nullopt;
  std::vector<std::int64_t> numbers(count);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    numbers[i / kScheduleBytes] |= std::to_integer<std::int64_t>(bytes[i]) << (8 * (i % kScheduleBytes));
  for (const std::int64_t number : numbers) {
    if (number > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  }
  return numbers;
}

std::string schedule_text(const KernelCode& code, std::span<const std::byte> schedule) {
  const auto numbers = decode_schedule(schedule, code.knobs.size());
  std::string text;
  for (std::size_t i = 0; numbers && i < numbers->size(); ++i)
    text += (i == 0 ? "" : " ") + std::string(code.knobs[i]) + "=" + std::to_string((*numbers)[i]);
  return text;
}

std::optional<std::vector<std::byte>> parse_schedule(const KernelCode& code, std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (const std::string_view knob : code.knobs) {
    if (!numbers.empty() && !text.starts_with(' ')) return std::nullopt;
    if (!numbers.empty()) text.remove_prefix(1);
    if (!text.starts_with(knob) || !text.substr(knob.size()).starts_with('=')) return std::nullopt;
    text.remove_prefix(knob.size() + 1);
    std::int32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0) return std::nullopt;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  if (!text.empty() || numbers.empty()) return std::nullopt;
  return encode_schedule(numbers);
}

}  // namespace octavo
