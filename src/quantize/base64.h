// Bytes as text (RFC 4648) for JSON files. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_BASE64_H_
#define OCTAVO_QUANTIZE_BASE64_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octavo {

std::string to_base64(std::span<const std::byte> bytes);
// Nothing where the text is no base64 with its padding.
std::optional<std::vector<std::byte>> from_base64(std::string_view text);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_BASE64_H_
