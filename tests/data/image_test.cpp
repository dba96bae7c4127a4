// Images: decoding and resizing give Pillow's bytes; broken files are refused. Part of tests/analyze/.
#include <gtest/gtest.h>

#include "base/file.h"
#include "data/image_decode.h"
#include "data/npy.h"

namespace octavo {
namespace {

std::string data(const std::string& name) { return std::string(OCTAVO_SOURCE_DIR) + "/tests/data/images/" + name; }

Picture expected(const std::string& name) {
  const auto tensor = read_npy(data("expected_" + name + ".npy"));
  if (!tensor) return {};
  const auto pixels = tensor->span<std::uint8_t>();
  return {static_cast<int>(tensor->shape()[1]), static_cast<int>(tensor->shape()[0]), {pixels.begin(), pixels.end()}};
}

TEST(Picture, DecodesLikePillow) {
  const std::pair<const char*, const char*> files[] = {{"photo.jpg", "photo_jpg"},     {"photo.png", "photo_png"},
                                                       {"photo.bmp", "photo_bmp"},     {"grey.jpg", "grey_jpg"},
                                                       {"palette.png", "palette_png"}, {"alpha.png", "alpha_png"}};
  for (const auto& [file, answer] : files) {
    const auto image = read_image(data(file));
    ASSERT_TRUE(image) << to_string(image.errors());
    EXPECT_EQ(image->width, 37) << file;
    EXPECT_EQ(image->height, 29) << file;
    EXPECT_TRUE(*image == expected(answer)) << file;
  }
}

TEST(Picture, ResizesLikePillow) {
  const auto image = read_image(data("photo.png"));
  ASSERT_TRUE(image);
  for (const auto& [width, height] : {std::pair{16, 12}, {37, 29}, {80, 61}, {5, 29}, {37, 3}}) {
    const Picture resized = resize_bilinear(*image, width, height);
    EXPECT_TRUE(resized == expected("resized_" + std::to_string(width) + "x" + std::to_string(height)))
        << width << "x" << height;
  }
}

TEST(Picture, ShorterSideKeepsTheRatio) {
  const Picture wide{37, 29, std::vector<std::uint8_t>(37 * 29 * 3, 9)};
  EXPECT_EQ(resize_shorter_side(wide, 58).width, 74);
  EXPECT_EQ(resize_shorter_side(wide, 58).height, 58);
  EXPECT_EQ(resize_shorter_side(wide, 10).width, 12);  // 12.76, rounded down
  const Picture thin{1, 400, std::vector<std::uint8_t>(400 * 3, 9)};
  EXPECT_EQ(resize_shorter_side(thin, 2).height, 800);
}

TEST(Picture, CropsTheMiddle) {
  Picture image{5, 3, {}};
  for (int i = 0; i < 15; ++i) image.rgb.insert(image.rgb.end(), 3, static_cast<std::uint8_t>(i));
  const Picture middle = crop_centre(image, 3, 1);
  EXPECT_EQ(middle.rgb, (std::vector<std::uint8_t>{6, 6, 6, 7, 7, 7, 8, 8, 8}));
  const Picture padded = crop_centre(image, 1, 5);
  EXPECT_EQ(padded.rgb, (std::vector<std::uint8_t>{0, 0, 0, 2, 2, 2, 7, 7, 7, 12, 12, 12, 0, 0, 0}));
}

TEST(Picture, EveryTruncationIsRefused) {
  for (const char* name : {"photo.jpg", "photo.png", "photo.bmp"}) {
    const auto bytes = read_file(data(name));
    ASSERT_TRUE(bytes);
    for (std::size_t size = 0; size < bytes->size() - 8; size += size < 100 ? 1 : 97) {
      const auto image = decode_image(std::span(*bytes).first(size), name);
      ASSERT_FALSE(image) << name << " cut to " << size;
      EXPECT_EQ(image.errors()[0].kind, ErrorKind::invalid_input);
      EXPECT_EQ(image.errors()[0].where, name);
    }
  }
}

TEST(Picture, HugeDimensionsTakeNoMemory) {
  auto bmp = *read_file(data("photo.bmp"));
  bmp[18] = bmp[19] = bmp[20] = std::byte{0xff};  // 16 million wide
  bmp[22] = bmp[23] = bmp[24] = std::byte{0xff};
  EXPECT_FALSE(decode_image(bmp, "huge.bmp"));
  auto png = *read_file(data("photo.png"));
  png[16] = png[20] = std::byte{0x7f};  // also breaks the checksum, which may be what is reported
  EXPECT_FALSE(decode_image(png, "huge.png"));
}

}  // namespace
}  // namespace octavo
