// Preprocessing SPECs: names, fields, refusals, values. Part of tests/pictures/.
#include "pictures/preprocess.h"

#include <gtest/gtest.h>

namespace octavo {
namespace {

Picture two_by_two() { return {2, 2, {0, 10, 20, 30, 40, 50, 60, 70, 80, 255, 128, 1}}; }

std::vector<float> values(const Tensor& tensor) { return to_floats(tensor.view()); }

TEST(Preprocess, NamesMeanWhatTheyDoElsewhere) {
  const auto torch = pixels_to_tensor(two_by_two(), *parse_preprocess("torch"), DType::f32, Shape{1, 3, 2, 2});
  ASSERT_TRUE(torch);
  EXPECT_NEAR(values(*torch)[0], (0.0 - 0.485) / 0.229, 1e-6);
  EXPECT_NEAR(values(*torch)[3], (1.0 - 0.485) / 0.229, 1e-6);
  EXPECT_NEAR(values(*torch)[4], (10.0 / 255 - 0.456) / 0.224, 1e-6);
  const auto tf = pixels_to_tensor(two_by_two(), *parse_preprocess("tf"), DType::f32, Shape{1, 2, 2, 3});
  ASSERT_TRUE(tf);
  EXPECT_NEAR(values(*tf)[9], 255 / 127.5 - 1, 1e-6);  // nhwc: the last pixel's red
  const auto tfq = pixels_to_tensor(two_by_two(), *parse_preprocess("tfq"), DType::f32, Shape{1, 3, 2, 2});
  ASSERT_TRUE(tfq);
  EXPECT_NEAR(values(*tfq)[3], (255 - 127) * 0.00784313678741455, 1e-6);
  const auto bgr = pixels_to_tensor(two_by_two(), *parse_preprocess("bgr"), DType::f32, Shape{1, 3, 2, 2});
  ASSERT_TRUE(bgr);
  EXPECT_NEAR(values(*bgr)[0], 20 - 103.939, 1e-4);
  EXPECT_NEAR(values(*bgr)[8], 0 - 123.68, 1e-4);
}

TEST(Preprocess, FieldsChangeNames) {
  const auto spec = parse_preprocess("torch,resize=232,crop=224,order=bgr,layout=nhwc,mean=1,2,3,std=4,scale=0.5");
  ASSERT_TRUE(spec) << to_string(spec.errors());
  EXPECT_EQ(spec->resize, 232);
  EXPECT_EQ(spec->crop, 224);
  EXPECT_EQ(spec->order, ColourOrder::bgr);
  EXPECT_EQ(spec->layout, ImageLayout::nhwc);
  EXPECT_EQ(spec->mean, (std::array<float, 3>{1, 2, 3}));
  EXPECT_EQ(spec->std, (std::array<float, 3>{4, 4, 4}));
  EXPECT_EQ(spec->scale, 0.5f);
}

TEST(Preprocess, BadSpecsAreUsageErrors) {
  for (const char* spec :
       {"", "imagenet", "torch,tf", "mean=1,2", "mean=a", "std=0", "scale=0", "scale=nan", "resize=-1", "resize=1e9",
        "crop=0", "order=cmyk", "layout=chw", "gamma=2", "mean=", "torch,,x"}) {
    const auto result = parse_preprocess(spec);
    ASSERT_FALSE(result) << spec;
    EXPECT_EQ(result.errors()[0].kind, ErrorKind::usage) << spec;
  }
}

TEST(Preprocess, IntegerInputsTakeRawPixels) {
  const auto u8 = pixels_to_tensor(two_by_two(), *parse_preprocess("raw"), DType::u8, Shape{1, 2, 2, 3});
  ASSERT_TRUE(u8);
  EXPECT_EQ(u8->as<std::uint8_t>()[9], 255);
  const auto s8 = pixels_to_tensor(two_by_two(), *parse_preprocess("raw"), DType::s8, Shape{1, 2, 2, 3});
  ASSERT_TRUE(s8);
  EXPECT_EQ(s8->as<std::int8_t>()[0], -128);
  EXPECT_EQ(s8->as<std::int8_t>()[9], 127);
}

TEST(Preprocess, GreyInputsTakePillowsLuminance) {
  const auto grey = pixels_to_tensor(two_by_two(), *parse_preprocess("raw"), DType::f32, Shape{1, 1, 2, 2});
  ASSERT_TRUE(grey);
  EXPECT_EQ(values(*grey), (std::vector<float>{8, 38, 68, 151}));  // Pillow's convert("L")
}

TEST(Preprocess, InputsThatAreNoImagesAreRefused) {
  for (const Shape& shape : {Shape{1, 10}, Shape{1, 5, 7, 9}, Shape{}, Shape{1, 3, 0, 4}}) {
    EXPECT_FALSE(image_to_tensor(two_by_two(), *parse_preprocess("raw"), DType::f32, shape)) << shape.to_string();
  }
  EXPECT_FALSE(image_to_tensor(two_by_two(), *parse_preprocess("raw,crop=9"), DType::f32, Shape{1, 3, 8, 8}));
}

}  // namespace
}  // namespace octavo
