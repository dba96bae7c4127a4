// quantized_conv: every result type, residual form and the table, with extreme values.
#include "ops/quantized_conv/quantized_conv.h"

#include "ops_test.h"

namespace octavo::ops_test {
namespace {

Window square(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  return {{kernel, kernel}, {stride, stride}, {1, 1}, {pad, pad}, {pad, pad}};
}

Tensor floats(const std::vector<float>& values) {
  return Tensor::of({static_cast<std::int64_t>(values.size())}, values);
}
Tensor ints(const std::vector<std::int32_t>& values) {
  return Tensor::of({static_cast<std::int64_t>(values.size())}, values);
}

// One pixel, one channel: the accumulator is bias + x * w.
struct OnePixel {
  Tensor x = Tensor::of<std::uint8_t>({1, 1, 1, 1}, std::vector<std::uint8_t>{255});
  Tensor w = Tensor::of<std::int8_t>({1, 1, 1, 1}, std::vector<std::int8_t>{-128});
};

// An input that is left out: a view without data.
std::vector<std::byte> run_views(const Attrs& attrs, const std::vector<ConstTensorView>& views) {
  auto outputs = evaluate_op(kQuantizedConv, attrs, views);
  EXPECT_TRUE(outputs.ok()) << (outputs.ok() ? "" : to_string(outputs.errors()));
  if (!outputs.ok()) return {};
  return {outputs->front().data(), outputs->front().data() + outputs->front().bytes()};
}

TEST(QuantizedConv, AccumulatesExtremes) {
  const OnePixel p;
  const Tensor y =
      run(kQuantizedConv, QuantizedConvAttrs{.window = square(1, 1, 0), .to = DType::s32}, {p.x, p.w, ints({-7})});
  EXPECT_EQ(values<std::int32_t>(y), (std::vector<std::int32_t>{-32647}));
}

TEST(QuantizedConv, PaddingReadsTheZeroPoint) {
  const Tensor x = Tensor::of<std::int8_t>({1, 1, 1, 2}, std::vector<std::int8_t>{1, 2});
  Tensor w(DType::s8, {1, 3, 3, 2});
  for (std::int8_t& value : w.span<std::int8_t>()) value = 1;
  const Tensor y =
      run(kQuantizedConv, QuantizedConvAttrs{.window = square(3, 1, 1), .x_zero_point = -10, .to = DType::s32},
          {x, w, ints({0})});
  EXPECT_EQ(values<std::int32_t>(y), (std::vector<std::int32_t>{3 - 8 * 20}));
}

TEST(QuantizedConv, RoundsHalfToEvenAndClamps) {
  const Tensor x = Tensor::of<std::uint8_t>({1, 1, 4, 1}, std::vector<std::uint8_t>{1, 3, 5, 255});
  const Tensor w = Tensor::of<std::int8_t>({1, 1, 1, 1}, std::vector<std::int8_t>{1});
  const QuantizedConvAttrs attrs{.window = square(1, 1, 0), .zero_point = 1, .lowest = 1, .highest = 100};
  EXPECT_EQ(values<std::uint8_t>(run(kQuantizedConv, attrs, {x, w, ints({0}), floats({0.5f})})),
            (std::vector<std::uint8_t>{1, 3, 3, 100}));
}

TEST(QuantizedConv, FloatResultIsTheScaledAccumulator) {
  const OnePixel p;
  const Tensor y = run(kQuantizedConv, QuantizedConvAttrs{.window = square(1, 1, 0), .to = DType::f32},
                       {p.x, p.w, ints({0}), floats({0.1f})});
  EXPECT_EQ(values<float>(y), (std::vector<float>{-32640.0f * 0.1f}));
}

// A tie of the whole units that the rest of the bias decides, either way.
TEST(QuantizedConv, RestOfTheBiasIsAddedBeforeRounding) {
  const OnePixel p;
  const Tensor bias = ints({32641}), multiplier = floats({0.5f});  // 32641 - 255 * 128 = 1
  for (const auto& [rest, expected] : {std::pair(0.0f, 0), std::pair(0.25f, 1), std::pair(-0.25f, 0)}) {
    const Tensor rests = floats({rest});
    const std::vector<ConstTensorView> views{p.x.view(), p.w.view(), bias.view(), multiplier.view(),
                                             {},         {},         {},          rests.view()};
    EXPECT_EQ(run_views(QuantizedConvAttrs{.window = square(1, 1, 0)}, views),
              std::vector<std::byte>{static_cast<std::byte>(expected)})
        << rest;
  }
  const Tensor rests = floats({0.25f}), two = floats({0.25f, 0.5f});
  const std::vector<ConstTensorView> real{p.x.view(), p.w.view(), bias.view(), multiplier.view(),
                                          {},         {},         {},          rests.view()};
  const std::vector<std::byte> bytes = run_views(QuantizedConvAttrs{.window = square(1, 1, 0), .to = DType::f32}, real);
  ASSERT_EQ(bytes.size(), sizeof(float));
  EXPECT_EQ(*reinterpret_cast<const float*>(bytes.data()), 0.625f);
  const std::vector<ConstTensorView> wrong{p.x.view(), p.w.view(), bias.view(), multiplier.view(),
                                           {},         {},         {},          two.view()};
  EXPECT_FALSE(evaluate_op(kQuantizedConv, QuantizedConvAttrs{.window = square(1, 1, 0)}, wrong).ok());
}

TEST(QuantizedConv, GroupsReadTheirOwnChannels) {
  const Tensor x = Tensor::of<std::uint8_t>({1, 1, 1, 4}, std::vector<std::uint8_t>{1, 10, 100, 200});
  const Tensor w = Tensor::of<std::int8_t>({4, 1, 1, 1}, std::vector<std::int8_t>{1, 2, 3, 4});
  const Tensor depthwise =
      run(kQuantizedConv, QuantizedConvAttrs{.window = square(1, 1, 0), .groups = 4, .to = DType::s32},
          {x, w, ints({0, 0, 0, 0})});
  EXPECT_EQ(values<std::int32_t>(depthwise), (std::vector<std::int32_t>{1, 20, 300, 800}));
  const Tensor two = Tensor::of<std::int8_t>({2, 1, 1, 2}, std::vector<std::int8_t>{1, 2, 3, 4});
  const Tensor grouped =
      run(kQuantizedConv, QuantizedConvAttrs{.window = square(1, 1, 0), .groups = 2, .to = DType::s32},
          {x, two, ints({0, 0})});
  EXPECT_EQ(values<std::int32_t>(grouped), (std::vector<std::int32_t>{21, 1100}));
}

TEST(QuantizedConv, WeightsHaveAnOffsetPerChannel) {
  const Tensor x = Tensor::of<std::uint8_t>({1, 2, 1, 1}, std::vector<std::uint8_t>{2, 3});
  const Tensor w = Tensor::of<std::int8_t>({2, 2, 1, 1}, std::vector<std::int8_t>{127, -128, 5, 6});
  const Window window{{2, 1}, {1, 1}, {1, 1}, {1, 0}, {0, 0}};
  const QuantizedConvAttrs attrs{.window = window, .x_zero_point = 7, .to = DType::s32};
  const Tensor bias = ints({10, 0}), offset = ints({128, -1});
  const ConstTensorView none;
  const auto outputs =
      evaluate_op(kQuantizedConv, attrs,
                  std::vector<ConstTensorView>{x.view(), w.view(), bias.view(), none, none, none, offset.view()});
  ASSERT_TRUE(outputs.ok()) << to_string(outputs.errors());
  const Tensor& y = outputs->front();
  // The padding reads the zero point, 7, and meets the offset, too.
  EXPECT_EQ(values<std::int32_t>(y),
            (std::vector<std::int32_t>{10 + 7 * 255 + 2 * 0, 7 * 4 + 2 * 5, 10 + 2 * 255 + 3 * 0, 2 * 4 + 3 * 5}));
}

TEST(QuantizedConv, ResidualBeforeRoundingIsRoundedOnce) {
  const Tensor x = Tensor::of<std::uint8_t>({1, 1, 1, 1}, std::vector<std::uint8_t>{1});
  const Tensor w = Tensor::of<std::int8_t>({1, 1, 1, 1}, std::vector<std::int8_t>{1});
  const Tensor residual = Tensor::of<std::int8_t>({1, 1, 1, 1}, std::vector<std::int8_t>{3});
  // 1 * 0.25 + (3 - 1) * 0.125 = 0.5 -> 0; + 5.
  const QuantizedConvAttrs attrs{.window = square(1, 1, 0),
                                 .zero_point = 5,
                                 .residual = Residual::before_rounding,
                                 .residual_zero_point = 1,
                                 .residual_ratio = 0.125f};
  EXPECT_EQ(values<std::uint8_t>(run(kQuantizedConv, attrs, {x, w, ints({0}), floats({0.25f}), residual})),
            (std::vector<std::uint8_t>{5}));
}

TEST(QuantizedConv, ResidualAfterRoundingKeepsTheOrderOfOperands) {
  const Tensor x = Tensor::of<std::uint8_t>({1, 1, 1, 1}, std::vector<std::uint8_t>{7});
  const Tensor w = Tensor::of<std::int8_t>({1, 1, 1, 1}, std::vector<std::int8_t>{1});
  const Tensor residual = Tensor::of<std::uint8_t>({1, 1, 1, 1}, std::vector<std::uint8_t>{20});
  QuantizedConvAttrs attrs{.window = square(1, 1, 0),
                           .residual = Residual::after_rounding_conv_first,
                           .add = AddForm::of(1.0f, 0, 0.5f, 0, 1.0f, 0)};
  EXPECT_EQ(values<std::uint8_t>(run(kQuantizedConv, attrs, {x, w, ints({0}), floats({1.0f}), residual})),
            (std::vector<std::uint8_t>{17}));
  attrs.residual = Residual::after_rounding_conv_second;
  EXPECT_EQ(values<std::uint8_t>(run(kQuantizedConv, attrs, {x, w, ints({0}), floats({1.0f}), residual})),
            (std::vector<std::uint8_t>{24}));
}

TEST(QuantizedConv, TableIsReadByTheByte) {
  const OnePixel p;
  std::vector<std::uint8_t> entries(256, 0);
  entries[0x80] = 42;  // the byte of -128
  const Tensor table = Tensor::of({256}, entries);
  const QuantizedConvAttrs attrs{.window = square(1, 1, 0), .to = DType::s8, .lowest = -128, .highest = 127};
  const Tensor bias = ints({0});
  const Tensor multiplier = floats({1.0f});
  const auto y =
      run_views(attrs, {p.x.view(), p.w.view(), bias.view(), multiplier.view(), ConstTensorView{}, table.view()});
  EXPECT_EQ(y, std::vector<std::byte>{std::byte{42}});
}

TEST(QuantizedConv, RefusesWhatDoesNotFit) {
  const Fact x = fact(DType::u8, {1, 4, 4, 8});
  const Fact w = fact(DType::s8, {6, 1, 1, 8});
  const Fact bias = fact(DType::s32, {6});
  const Fact multiplier = fact(DType::f32, {6});
  const auto attrs = [](auto change) {
    QuantizedConvAttrs conv{.window = square(1, 1, 0)};
    change(conv);
    return Attrs(conv);
  };
  const auto same = attrs([](auto&) {});
  EXPECT_FALSE(refuses(kQuantizedConv, same, {x, w, bias, multiplier}));
  EXPECT_TRUE(refuses(kQuantizedConv, same, {x, w, bias}));
  EXPECT_TRUE(refuses(kQuantizedConv, same, {fact(DType::f32, {1, 4, 4, 8}), w, bias, multiplier}));
  EXPECT_TRUE(
      refuses(kQuantizedConv, same, {fact(DType::u8, {1, 4, 8}), fact(DType::s8, {6, 1, 8}), bias, multiplier}));
  EXPECT_TRUE(refuses(kQuantizedConv, same, {x, fact(DType::u8, {6, 1, 1, 8}), bias, multiplier}));
  EXPECT_TRUE(refuses(kQuantizedConv, same, {x, fact(DType::s8, {6, 1, 1, 7}), bias, multiplier}));
  EXPECT_TRUE(refuses(kQuantizedConv, same, {x, w, fact(DType::s32, {5}), multiplier}));
  EXPECT_TRUE(refuses(kQuantizedConv, same, {x, w, bias, fact(DType::f32, {1})}));
  EXPECT_TRUE(refuses(kQuantizedConv, same, {x, w, bias, multiplier, fact(DType::u8, {1, 4, 4, 6})}));
  const std::vector<Fact> facts{x, w, bias, multiplier};
  EXPECT_TRUE(refuses(kQuantizedConv, attrs([](auto& c) { c.x_zero_point = -1; }), facts));
  EXPECT_TRUE(refuses(kQuantizedConv, attrs([](auto& c) { c.zero_point = 256; }), facts));
  EXPECT_TRUE(refuses(kQuantizedConv, attrs([](auto& c) { c.lowest = 300; }), facts));
  EXPECT_TRUE(refuses(kQuantizedConv, attrs([](auto& c) { c.groups = 3; }), facts));
  EXPECT_TRUE(refuses(kQuantizedConv, attrs([](auto& c) { c.to = DType::s16; }), facts));
  EXPECT_TRUE(refuses(kQuantizedConv, attrs([](auto& c) { c.to = DType::s32; }), facts));
  EXPECT_TRUE(refuses(kQuantizedConv, attrs([](auto& c) { c.profile = Profile::tflite_single; }), facts));
  EXPECT_TRUE(refuses(kQuantizedConv, attrs([](auto& c) { c.residual = Residual::before_rounding; }), facts));
  const auto residual = attrs([](auto& c) { c.residual = Residual::after_rounding_conv_first; });
  EXPECT_FALSE(refuses(kQuantizedConv, residual, {x, w, bias, multiplier, fact(DType::s8, {1, 4, 4, 6})}));
  EXPECT_TRUE(refuses(kQuantizedConv, residual, {x, w, bias, multiplier, fact(DType::s8, {1, 4, 4, 8})}));
  const auto infinite = attrs([](auto& c) {
    c.residual = Residual::after_rounding_conv_first;
    c.add.a_ratio = std::numeric_limits<float>::infinity();
  });
  EXPECT_TRUE(refuses(kQuantizedConv, infinite, {x, w, bias, multiplier, fact(DType::s8, {1, 4, 4, 6})}));
}

}  // namespace
}  // namespace octavo::ops_test
