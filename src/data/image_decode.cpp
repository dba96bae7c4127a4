// Decoding: JPEG through libjpeg-turbo, PNG through libpng, BMP here. Part of data/.
#include "data/image_decode.h"

// jpeglib.h needs stdio.h before it.
// clang-format off
#include <cstddef>
#include <cstdio>
#include <jpeglib.h>
// clang-format on
#include <png.h>

#include <algorithm>
#include <cctype>
#include <csetjmp>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/file.h"

namespace octavo {
namespace {

Error image_error(const std::string& where, std::string found, std::string expected = "a JPEG, PNG or BMP image") {
  return {.kind = ErrorKind::invalid_input, .where = where, .found = std::move(found), .expected = std::move(expected)};
}

std::optional<Error> check_size(std::int64_t width, std::int64_t height, const std::string& where) {
  if (width > 0 && height > 0 && width <= kMaxPixels / height) return std::nullopt;
  return image_error(where, std::to_string(width) + "x" + std::to_string(height) + " pixels",
                     "at least 1 and at most 100 million");
}

Picture blank_image(std::int64_t width, std::int64_t height) {
  return {static_cast<int>(width), static_cast<int>(height),
          std::vector<std::uint8_t>(static_cast<std::size_t>(width * height * 3))};
}

// ---- JPEG ----

struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
};

void jpeg_failed(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->escape, 1);
}
void jpeg_silent(j_common_ptr) {}

// libjpeg returns by longjmp on errors, so this function owns nothing with a destructor. False: `errors.message` says
// why.
bool decode_jpeg_into(jpeg_decompress_struct& info, JpegErrors& errors, std::span<const std::byte> bytes,
                      Picture* image, std::int64_t* bad_size) {
  if (setjmp(errors.escape) != 0) return false;
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  if (static_cast<std::int64_t>(info.image_width) > kMaxPixels / std::max<std::int64_t>(1, info.image_height)) {
    bad_size[0] = info.image_width;
    bad_size[1] = info.image_height;
    return false;
  }
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  *image = blank_image(info.output_width, info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = image->rgb.data() + static_cast<std::size_t>(info.output_scanline) * info.output_width * 3;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  return true;
}

Result<Picture> decode_jpeg(std::span<const std::byte> bytes, const std::string& where) {
  jpeg_decompress_struct info{};
  JpegErrors errors{};
  info.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = &jpeg_failed;
  errors.manager.output_message = &jpeg_silent;
  Picture image;
  std::int64_t bad_size[2] = {0, 0};
  const bool is_done = decode_jpeg_into(info, errors, bytes, &image, bad_size);
  // A damaged file decodes with warnings, grey where data is missing: refused, or a truncated data set would go
  // unnoticed.
  const bool is_damaged = is_done && errors.manager.num_warnings > 0;
  if (is_damaged) errors.manager.format_message(reinterpret_cast<j_common_ptr>(&info), errors.message);
  jpeg_destroy_decompress(&info);
  if (bad_size[0] != 0) return *check_size(bad_size[0], bad_size[1], where);
  if (!is_done || is_damaged) return image_error(where, "a damaged JPEG (" + std::string(errors.message) + ")");
  return image;
}

// ---- PNG ----

Result<Picture> decode_png(std::span<const std::byte> bytes, const std::string& where) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) == 0) {
    return image_error(where, "a damaged PNG (" + std::string(png.message) + ")");
  }
  if (auto error = check_size(png.width, png.height, where)) {
    png_image_free(&png);
    return *error;
  }
  // RGBA first: asking libpng for RGB would blend over a background, where Pillow's convert("RGB") drops the alpha
  // channel.
  png.format = PNG_FORMAT_RGBA;
  std::vector<std::uint8_t> rgba(static_cast<std::size_t>(png.width) * png.height * 4);
  if (png_image_finish_read(&png, nullptr, rgba.data(), 0, nullptr) == 0) {
    const std::string message = png.message;
    png_image_free(&png);
    return image_error(where, "a damaged PNG (" + message + ")");
  }
  Picture image = blank_image(png.width, png.height);
  for (std::size_t i = 0; i < rgba.size() / 4; ++i) std::memcpy(&image.rgb[i * 3], &rgba[i * 4], 3);
  return image;
}

// ---- BMP ----

struct BmpReader {
  std::span<const std::byte> bytes;

  std::uint32_t number(std::size_t at, std::size_t size) const {
    std::uint32_t value = 0;
    if (at + size <= bytes.size()) std::memcpy(&value, bytes.data() + at, size);
    return value;
  }
};

Result<Picture> decode_bmp(std::span<const std::byte> bytes, const std::string& where) {
  const BmpReader in{bytes};
  const std::uint32_t header = in.number(14, 4);
  if (bytes.size() < 54 || header < 40)
    return image_error(where, "a truncated or very old BMP", "a BMP of Windows 3.0 or later");
  const std::int64_t width = static_cast<std::int32_t>(in.number(18, 4));
  const std::int64_t signed_height = static_cast<std::int32_t>(in.number(22, 4));  // negative: rows from the top
  const std::int64_t height = signed_height < 0 ? -signed_height : signed_height;
  const std::uint32_t bits = in.number(28, 2);
  const std::uint32_t compression = in.number(30, 4);
  if (auto error = check_size(width, height, where)) return *error;
  if (compression != 0 || (bits != 8 && bits != 24 && bits != 32)) {
    return image_error(where, "a BMP of " + std::to_string(bits) + " bits, compression " + std::to_string(compression),
                       "8, 24 or 32 bits, uncompressed");
  }
  const std::uint64_t row_bytes = (static_cast<std::uint64_t>(width) * bits + 31) / 32 * 4;
  const std::uint64_t data_at = in.number(10, 4);
  if (data_at + row_bytes * static_cast<std::uint64_t>(height) > bytes.size())
    return image_error(where, "a truncated BMP");
  const std::uint64_t palette_at = 14 + static_cast<std::uint64_t>(header);
  Picture image = blank_image(width, height);
  for (std::int64_t y = 0; y < height; ++y) {
    const std::uint64_t file_row = static_cast<std::uint64_t>(signed_height < 0 ? y : height - 1 - y);
    for (std::int64_t x = 0; x < width; ++x) {
      std::uint64_t at = data_at + file_row * row_bytes + static_cast<std::uint64_t>(x) * (bits / 8);
      if (bits == 8) at = palette_at + 4 * std::to_integer<std::uint64_t>(bytes[at]);
      std::uint8_t* pixel = &image.rgb[static_cast<std::size_t>((y * width + x) * 3)];
      for (std::size_t c = 0; c < 3; ++c) pixel[c] = static_cast<std::uint8_t>(in.number(at + 2 - c, 1));
    }
  }
  return image;
}

}  // namespace

Result<Picture> decode_image(std::span<const std::byte> bytes, const std::string& where) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\xff\xd8\xff")) return decode_jpeg(bytes, where);
  if (text.starts_with("\x89PNG\r\n\x1a\n")) return decode_png(bytes, where);
  if (text.starts_with("BM")) return decode_bmp(bytes, where);
  return image_error(where, text.empty() ? "an empty file" : "no image");
}

Result<Picture> read_image(const std::string& path) {
  const auto bytes = read_file(path);
  if (!bytes) return bytes.errors();
  return decode_image(*bytes, path);
}

bool is_image_name(const std::string& path) {
  std::string name = path;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.ends_with(".jpg") || name.ends_with(".jpeg") || name.ends_with(".png") || name.ends_with(".bmp");
}

}  // namespace octavo
