// max_pool, average_pool and quantized_pool.
#include <cmath>

#include "base/requantize.h"
#include "ops/average_pool/average_pool.h"
#include "ops/max_pool/max_pool.h"
#include "ops/quantized_pool/quantized_pool.h"
#include "ops_test.h"
#include "ort_vectors.h"

namespace octavo::ops_test {
namespace {

Window pool_square(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  return {{kernel, kernel}, {stride, stride}, {1, 1}, {pad, pad}, {pad, pad}};
}

TEST(MaxPool, PaddingNeverWins) {
  const Tensor x = Tensor::of<std::int8_t>({1, 1, 2, 2}, std::vector<std::int8_t>{-128, -5, -7, -128});
  const Tensor y = run(kMaxPool, MaxPoolAttrs{.window = pool_square(2, 1, 1)}, {x});
  EXPECT_EQ(values<std::int8_t>(y), (std::vector<std::int8_t>{-128, -5, -5, -7, -5, -5, -7, -7, -128}));
}

TEST(MaxPool, KeepsNanAndRoundsUp) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::of<float>({1, 1, 1, 3}, std::vector<float>{nan, 2.0f, 3.0f});
  const MaxPoolAttrs attrs{.window = {{1, 2}, {1, 2}, {1, 1}, {0, 0}, {0, 0}}, .rounding = Rounding::ceil};
  const Tensor y = run(kMaxPool, attrs, {x});
  ASSERT_EQ(y.shape(), (Shape{1, 1, 1, 2}));
  EXPECT_TRUE(std::isnan(y.as<float>()[0]));
  EXPECT_EQ(y.as<float>()[1], 3.0f);
}

TEST(MaxPool, RefusesWindowsThatCouldMissTheImage) {
  const Fact x = fact(DType::f32, {1, 1, 4, 4});
  EXPECT_FALSE(refuses(kMaxPool, MaxPoolAttrs{.window = pool_square(3, 1, 2)}, {x}));
  EXPECT_TRUE(refuses(kMaxPool, MaxPoolAttrs{.window = pool_square(3, 1, 3)}, {x}));
  EXPECT_TRUE(refuses(kMaxPool, MaxPoolAttrs{.window = {{2, 2}, {1, 1}, {5, 5}, {1, 1}, {1, 1}}}, {x}));
  EXPECT_TRUE(refuses(kMaxPool, MaxPoolAttrs{.window = pool_square(2, 1, 1)}, {fact(DType::f32, {1, 1, 0, 4})}));
  EXPECT_TRUE(refuses(kMaxPool, MaxPoolAttrs{.window = pool_square(2, 1, 0)}, {fact(DType::s64, {1, 1, 4, 4})}));
  // Windows whose positions cannot be counted.
  constexpr std::int64_t kHuge = std::int64_t{1} << 31;
  EXPECT_TRUE(refuses(kMaxPool, MaxPoolAttrs{.window = pool_square(kHuge, kHuge, kHuge - 1)}, {x}));
}

TEST(MaxPool, OfNoChannelsTakesNoTime) {
  const Tensor none(DType::u8, {1, 1 << 16, 1 << 16, 0});
  const MaxPoolAttrs attrs{.window = pool_square(2, 1, 0), .layout = Layout::channels_last};
  EXPECT_EQ(run(kMaxPool, attrs, {none}).shape(), (Shape{1, 65535, 65535, 0}));
}

TEST(AveragePool, CountsWhatItIsTold) {
  const Tensor x = Tensor::of<float>({1, 1, 2, 2}, std::vector<float>{1, 2, 3, 6});
  EXPECT_EQ(values<float>(run(kAveragePool, AveragePoolAttrs{.window = pool_square(2, 2, 1)}, {x})),
            (std::vector<float>{1, 2, 3, 6}));
  const AveragePoolAttrs padded{.window = pool_square(2, 2, 1), .count_include_pad = true};
  EXPECT_EQ(values<float>(run(kAveragePool, padded, {x})), (std::vector<float>{0.25f, 0.5f, 0.75f, 1.5f}));
}

TEST(AveragePool, DividesByThePaddedImageOnly) {
  const Tensor x = Tensor::of<float>({1, 1, 3}, std::vector<float>{1, 2, 4});
  const AveragePoolAttrs attrs{
      .window = {{2}, {2}, {1}, {0}, {0}}, .rounding = Rounding::ceil, .count_include_pad = true};
  EXPECT_EQ(values<float>(run(kAveragePool, attrs, {x})), (std::vector<float>{1.5f, 4.0f}));
}

// Averages as ONNX Runtime has them.
Epilogue average_epilogue(float y_scale, std::int32_t zero_point) {
  return {{Divide{y_scale}, Round{.before = zero_point}}, DType::u8};
}

TEST(QuantizedPool, IsWhatOnnxRuntimeComputes) {
  const Tensor x = Tensor::of({1, 5, 5, 3}, ort_vectors::kPoolX);
  QuantizedPoolAttrs attrs{.form = QuantizedPoolForm::real_average,
                           .window = pool_square(3, 2, 1),
                           .x_scale = 0.05f,
                           .x_zero_point = 100,
                           .epilogue = average_epilogue(0.05f, 7)};
  EXPECT_EQ(values<std::uint8_t>(run(kQuantizedPool, attrs, {x})), ort_vectors::kAverageY);
  attrs.window = pool_square(2, 2, 0);
  attrs.rounding = Rounding::ceil;
  attrs.count_include_pad = true;
  attrs.epilogue = average_epilogue(0.02f, 60);
  EXPECT_EQ(values<std::uint8_t>(run(kQuantizedPool, attrs, {x})), ort_vectors::kAveragePaddedY);
  const Affine share{global_average_multiplier(0.05f, 0.0125f, 25)};
  const QuantizedPoolAttrs global{
      .window = unit_window({5, 5}), .x_zero_point = 100, .epilogue = {{share, Round{.after = 100}}, DType::u8}};
  EXPECT_EQ(values<std::uint8_t>(run(kQuantizedPool, global, {x})), ort_vectors::kGlobalY);
}

// 10 / 4 and 14 / 4 with the zero point in the offset, which decides where halves go.
TEST(QuantizedPool, SumsRoundOnce) {
  const Tensor x = Tensor::of<std::int8_t>({1, 2, 2, 2}, std::vector<std::int8_t>{1, -1, 2, -2, 3, -3, 4, -8});
  const auto mean = [&](float offset) {
    const QuantizedPoolAttrs attrs{
        .window = unit_window({2, 2}),
        .epilogue = {{Affine{0.25f, offset}, Round{.lowest = -3, .highest = 127}}, DType::s8}};
    return values<std::int8_t>(run(kQuantizedPool, attrs, {x}));
  };
  EXPECT_EQ(mean(1.0f), (std::vector<std::int8_t>{4, -2}));
  EXPECT_EQ(mean(0.0f), (std::vector<std::int8_t>{2, -3}));
}

TEST(QuantizedPool, ShiftStoresRelabelledValues) {
  const Tensor x = Tensor::of<std::uint8_t>({1, 1, 2, 1}, std::vector<std::uint8_t>{0, 255});
  const QuantizedPoolAttrs attrs{.form = QuantizedPoolForm::real_average,
                                 .window = unit_window({1, 1}),
                                 .x_zero_point = 128,
                                 .epilogue = {{Divide{}, Round{.after = 128}}, DType::u8}};
  EXPECT_EQ(values<std::uint8_t>(run(kQuantizedPool, attrs, {x})), (std::vector<std::uint8_t>{0, 255}));
}

TEST(QuantizedPool, TableComesLast) {
  const Tensor x = Tensor::of<std::uint8_t>({1, 1, 2, 1}, std::vector<std::uint8_t>{10, 20});
  std::vector<std::int8_t> entries(256, 0);
  entries[15] = -3;
  const QuantizedPoolAttrs attrs{.form = QuantizedPoolForm::real_average,
                                 .window = unit_window({1, 2}),
                                 .epilogue = {{Divide{}, Round{}, Lookup{}}, DType::u8}};
  EXPECT_EQ(values<std::int8_t>(run(kQuantizedPool, attrs, {x, Tensor::of({256}, entries)})),
            (std::vector<std::int8_t>{-3}));
}

TEST(QuantizedPool, RefusesAttributesOutOfRange) {
  const Fact x = fact(DType::u8, {1, 4, 4, 3});
  const auto of = [](QuantizedPoolForm form, const Epilogue& epilogue) {
    return QuantizedPoolAttrs{.form = form, .window = pool_square(2, 1, 0), .epilogue = epilogue};
  };
  const auto is_refused = [&](const QuantizedPoolAttrs& attrs) { return refuses(kQuantizedPool, attrs, {x}); };
  using enum QuantizedPoolForm;
  const Epilogue rounded{{Round{}}, DType::u8}, average = average_epilogue(1.0f, 0);
  EXPECT_FALSE(is_refused(of(sum, rounded)));
  EXPECT_FALSE(is_refused(of(integer_average, rounded)));
  EXPECT_FALSE(is_refused(of(real_average, average)));
  EXPECT_TRUE(is_refused(of(sum, average)));
  EXPECT_TRUE(is_refused(of(real_average, average_epilogue(0.0f, 0))));
  EXPECT_TRUE(is_refused(of(sum, {{Round{.highest = 256}}, DType::u8})));
  EXPECT_TRUE(is_refused(of(sum, {{Round{.after = 256}}, DType::u8})));
  QuantizedPoolAttrs attrs = of(real_average, average);
  attrs.x_scale = 0.0f;
  EXPECT_TRUE(is_refused(attrs));
  attrs = of(sum, rounded);
  attrs.x_zero_point = 256;
  EXPECT_TRUE(is_refused(attrs));
  attrs = of(integer_average, rounded);
  attrs.window = {{2049, 1}, {1, 1}, {1, 1}, {2048, 0}, {2048, 0}};
  EXPECT_TRUE(is_refused(attrs));
  const QuantizedPoolAttrs table = of(sum, {{Round{}, Lookup{}}, DType::u8});
  EXPECT_FALSE(refuses(kQuantizedPool, table, {x, fact(DType::u8, {256})}));
  EXPECT_TRUE(refuses(kQuantizedPool, table, {x, fact(DType::f32, {256})}));
  EXPECT_TRUE(refuses(kQuantizedPool, table, {x, fact(DType::u8, {255})}));
}

}  // namespace
}  // namespace octavo::ops_test
