// Image files, decoded to RGB. Part of data/.
#ifndef OCTAVO_DATA_IMAGE_DECODE_H_
#define OCTAVO_DATA_IMAGE_DECODE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "pictures/image.h"

namespace octavo {

// Images with more pixels are refused before memory is taken.
inline constexpr std::int64_t kMaxPixels = 100'000'000;

// JPEG (any colour space libjpeg converts to RGB), PNG (any depth; transparency is dropped) or BMP (8, 24 or 32 bits,
// uncompressed), by content.
Result<Picture> decode_image(std::span<const std::byte> bytes, const std::string& where);
Result<Picture> read_image(const std::string& path);
// By the end of its name: .jpg, .jpeg, .png or .bmp, in any case.
bool is_image_name(const std::string& path);

}  // namespace octavo

#endif  // OCTAVO_DATA_IMAGE_DECODE_H_
