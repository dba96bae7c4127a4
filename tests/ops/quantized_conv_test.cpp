// quantized_conv: every result type, residual form and the table, with extreme values.
#include "ops/quantized_conv/quantized_conv.h"

#include "ops_test.h"

namespace octavo::ops_test {
namespace {

Window quantized_conv_square(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  return {{kernel, kernel}, {stride, stride}, {1, 1}, {pad, pad}, {pad, pad}};
}

Tensor quantized_conv_floats(const std::vector<float>& values) {
  return Tensor::of({static_cast<std::int64_t>(values.size())}, values);
}
Tensor quantized_conv_ints(const std::vector<std::int32_t>& values) {
  return Tensor::of({static_cast<std::int64_t>(values.size())}, values);
}

// One pixel, one channel: the accumulator is bias + x * w.
struct OnePixel {
  Tensor x = Tensor::of<std::uint8_t>({1, 1, 1, 1}, std::vector<std::uint8_t>{255});
  Tensor w = Tensor::of<std::int8_t>({1, 1, 1, 1}, std::vector<std::int8_t>{-128});
};

// x, w, bias and the operands of the epilogue; no offset.
template <class T>
std::vector<T> convolved(const QuantizedConvAttrs& attrs, const std::vector<Tensor>& own,
                         const std::vector<Tensor>& operands = {}) {
  std::vector<ConstTensorView> views;
  for (const Tensor& tensor : own) views.push_back(tensor.view());
  views.resize(kConvOperands);
  for (const Tensor& tensor : operands) views.push_back(tensor.view());
  const auto outputs = evaluate_op(kQuantizedConv, attrs, views);
  EXPECT_TRUE(outputs.ok()) << (outputs.ok() ? "" : to_string(outputs.errors()));
  return outputs.ok() ? values<T>(outputs->front()) : std::vector<T>();
}

const Epilogue kSums{.to = DType::s32};
const Epilogue kBytes = requantized(DType::u8, 0, 0, 255);

TEST(QuantizedConv, AccumulatesExtremes) {
  const OnePixel p;
  const QuantizedConvAttrs attrs{.window = quantized_conv_square(1, 1, 0), .epilogue = kSums};
  EXPECT_EQ(convolved<std::int32_t>(attrs, {p.x, p.w, quantized_conv_ints({-7})}), (std::vector<std::int32_t>{-32647}));
}

TEST(QuantizedConv, PaddingReadsTheZeroPoint) {
  const Tensor x = Tensor::of<std::int8_t>({1, 1, 1, 2}, std::vector<std::int8_t>{1, 2});
  Tensor w(DType::s8, {1, 3, 3, 2});
  for (std::int8_t& value : w.span<std::int8_t>()) value = 1;
  const QuantizedConvAttrs attrs{.window = quantized_conv_square(3, 1, 1), .x_zero_point = -10, .epilogue = kSums};
  EXPECT_EQ(convolved<std::int32_t>(attrs, {x, w, quantized_conv_ints({0})}), (std::vector<std::int32_t>{3 - 8 * 20}));
}

TEST(QuantizedConv, RoundsHalfToEvenAndClamps) {
  const Tensor x = Tensor::of<std::uint8_t>({1, 1, 4, 1}, std::vector<std::uint8_t>{1, 3, 5, 255});
  const Tensor w = Tensor::of<std::int8_t>({1, 1, 1, 1}, std::vector<std::int8_t>{1});
  const QuantizedConvAttrs attrs{.window = quantized_conv_square(1, 1, 0),
                                 .epilogue = requantized(DType::u8, 1, 1, 100)};
  EXPECT_EQ(convolved<std::uint8_t>(attrs, {x, w, quantized_conv_ints({0})}, {quantized_conv_floats({0.5f})}),
            (std::vector<std::uint8_t>{1, 3, 3, 100}));
}

TEST(QuantizedConv, FloatResultIsTheScaledAccumulator) {
  const OnePixel p;
  const QuantizedConvAttrs attrs{.window = quantized_conv_square(1, 1, 0), .epilogue = {{Scale{}}, DType::f32}};
  EXPECT_EQ(convolved<float>(attrs, {p.x, p.w, quantized_conv_ints({0})}, {quantized_conv_floats({0.1f})}),
            (std::vector<float>{-32640.0f * 0.1f}));
}

// A tie of the whole units that the rest of the bias decides, either way.
TEST(QuantizedConv, RestOfTheBiasIsAddedBeforeRounding) {
  const OnePixel p;
  const std::vector<Tensor> own = {p.x, p.w, quantized_conv_ints({32641})};  // 32641 - 255 * 128 = 1
  const QuantizedConvAttrs attrs{.window = quantized_conv_square(1, 1, 0),
                                 .epilogue = {{AddRest{}, Scale{}, Round{}}, DType::u8}};
  for (const auto& [rest, expected] : {std::pair(0.0f, 0), std::pair(0.25f, 1), std::pair(-0.25f, 0)}) {
    EXPECT_EQ(convolved<std::uint8_t>(attrs, own, {quantized_conv_floats({rest}), quantized_conv_floats({0.5f})}),
              std::vector<std::uint8_t>{static_cast<std::uint8_t>(expected)})
        << rest;
  }
  const QuantizedConvAttrs real{.window = quantized_conv_square(1, 1, 0),
                                .epilogue = {{AddRest{}, Scale{}}, DType::f32}};
  EXPECT_EQ(convolved<float>(real, own, {quantized_conv_floats({0.25f}), quantized_conv_floats({0.5f})}),
            std::vector<float>{0.625f});
}

TEST(QuantizedConv, GroupsReadTheirOwnChannels) {
  const Tensor x = Tensor::of<std::uint8_t>({1, 1, 1, 4}, std::vector<std::uint8_t>{1, 10, 100, 200});
  const Tensor w = Tensor::of<std::int8_t>({4, 1, 1, 1}, std::vector<std::int8_t>{1, 2, 3, 4});
  EXPECT_EQ(convolved<std::int32_t>({.window = quantized_conv_square(1, 1, 0), .groups = 4, .epilogue = kSums},
                                    {x, w, quantized_conv_ints({0, 0, 0, 0})}),
            (std::vector<std::int32_t>{1, 20, 300, 800}));
  const Tensor two = Tensor::of<std::int8_t>({2, 1, 1, 2}, std::vector<std::int8_t>{1, 2, 3, 4});
  EXPECT_EQ(convolved<std::int32_t>({.window = quantized_conv_square(1, 1, 0), .groups = 2, .epilogue = kSums},
                                    {x, two, quantized_conv_ints({0, 0})}),
            (std::vector<std::int32_t>{21, 1100}));
}

TEST(QuantizedConv, WeightsHaveAnOffsetPerChannel) {
  const Tensor x = Tensor::of<std::uint8_t>({1, 2, 1, 1}, std::vector<std::uint8_t>{2, 3});
  const Tensor w = Tensor::of<std::int8_t>({2, 2, 1, 1}, std::vector<std::int8_t>{127, -128, 5, 6});
  const Window window{{2, 1}, {1, 1}, {1, 1}, {1, 0}, {0, 0}};
  const QuantizedConvAttrs attrs{.window = window, .x_zero_point = 7, .epilogue = kSums};
  const Tensor bias = quantized_conv_ints({10, 0}), offset = quantized_conv_ints({128, -1});
  const auto outputs =
      evaluate_op(kQuantizedConv, attrs, std::vector<ConstTensorView>{x.view(), w.view(), bias.view(), offset.view()});
  ASSERT_TRUE(outputs.ok()) << to_string(outputs.errors());
  const Tensor& y = outputs->front();
  // The padding reads the zero point, 7, and meets the offset, too.
  EXPECT_EQ(values<std::int32_t>(y),
            (std::vector<std::int32_t>{10 + 7 * 255 + 2 * 0, 7 * 4 + 2 * 5, 10 + 2 * 255 + 3 * 0, 2 * 4 + 3 * 5}));
}

TEST(QuantizedConv, TableIsReadByTheByte) {
  const OnePixel p;
  std::vector<std::uint8_t> entries(256, 0);
  entries[0x80] = 42;  // the byte of -128
  const Tensor table = Tensor::of({256}, entries);
  QuantizedConvAttrs attrs{.window = quantized_conv_square(1, 1, 0), .epilogue = requantized(DType::s8, 0, -128, 127)};
  attrs.epilogue.stages.emplace_back(Lookup{});
  EXPECT_EQ(
      convolved<std::uint8_t>(attrs, {p.x, p.w, quantized_conv_ints({0})}, {quantized_conv_floats({1.0f}), table}),
      std::vector<std::uint8_t>{42});
}

TEST(QuantizedConv, RefusesWhatDoesNotFit) {
  const Fact x = fact(DType::u8, {1, 4, 4, 8});
  const Fact w = fact(DType::s8, {6, 1, 1, 8});
  const Fact bias = fact(DType::s32, {6});
  const Fact offset = fact(DType::s32, {6}), multiplier = fact(DType::f32, {6});
  const QuantizedConvAttrs attrs{.window = quantized_conv_square(1, 1, 0), .epilogue = kBytes};
  const auto is_refused = [&](const Fact& image, const Fact& weights, const Fact& biases, const Fact& offsets) {
    return refuses(kQuantizedConv, attrs, {image, weights, biases, offsets, multiplier});
  };
  EXPECT_FALSE(is_refused(x, w, bias, offset));
  EXPECT_TRUE(is_refused(fact(DType::f32, {1, 4, 4, 8}), w, bias, offset));
  EXPECT_TRUE(is_refused(fact(DType::u8, {1, 4, 8}), fact(DType::s8, {6, 1, 8}), bias, offset));
  EXPECT_TRUE(is_refused(x, fact(DType::u8, {6, 1, 1, 8}), bias, offset));
  EXPECT_TRUE(is_refused(x, fact(DType::s8, {6, 1, 1, 7}), bias, offset));
  EXPECT_TRUE(is_refused(x, w, fact(DType::s32, {5}), offset));
  EXPECT_TRUE(is_refused(x, w, bias, fact(DType::s32, {1})));
  EXPECT_TRUE(refuses(kQuantizedConv, attrs, {x, w, bias, offset}));
  const std::vector<Fact> facts{x, w, bias, offset, multiplier};
  QuantizedConvAttrs other = attrs;
  other.x_zero_point = -1;
  EXPECT_TRUE(refuses(kQuantizedConv, other, facts));
  other = attrs;
  other.groups = 3;
  EXPECT_TRUE(refuses(kQuantizedConv, other, facts));
  other = attrs;
  other.epilogue.to = DType::u16;
  EXPECT_TRUE(refuses(kQuantizedConv, other, facts));
}

}  // namespace
}  // namespace octavo::ops_test
