// hybrid_conv, float_depthwise and row_quantize against hand-computed values, and what infer refuses.
#include "ops/hybrid_conv/hybrid_conv.h"

#include <cmath>
#include <optional>

#include "ops/float_depthwise/float_depthwise.h"
#include "ops/row_quantize/row_quantize.h"
#include "ops_test.h"

namespace octavo::ops_test {
namespace {

Tensor hybrid_conv_floats(Shape shape, const std::vector<float>& values) {
  return Tensor::of<float>(std::move(shape), values);
}
Tensor hybrid_conv_bytes(Shape shape, const std::vector<std::uint8_t>& values) {
  return Tensor::of<std::uint8_t>(std::move(shape), values);
}
Tensor weights(Shape shape, const std::vector<std::int8_t>& values) {
  return Tensor::of<std::int8_t>(std::move(shape), values);
}

const Epilogue kOnnx{{ScaleInRun{RunForm::onnx}}, DType::f32};

std::vector<float> run_with(const HybridConvAttrs& attrs, const Tensor& x, const Tensor& w, const Tensor& zero,
                            const std::optional<Tensor>& offset, const std::vector<Tensor>& operands) {
  std::vector<ConstTensorView> views{x.view(), w.view(), zero.view(), offset ? offset->view() : ConstTensorView{}};
  for (const Tensor& operand : operands) views.push_back(operand.view());
  const auto y = evaluate_op(kHybridConv, attrs, views);
  EXPECT_TRUE(y.ok()) << to_string(y.errors());
  return values<float>(y->front());
}

std::vector<Tensor> quantized(DynamicForm form, std::int64_t axis, const Tensor& x) {
  const std::vector<ConstTensorView> views{x.view()};
  return *evaluate_op(kRowQuantize, RowQuantizeAttrs{form, axis}, views);
}

// A line of three pixels with two channels, two output channels, a window of two pixels with one of padding before.
TEST(HybridConv, SubtractsItsZeroPointAndLeavesThePaddingOut) {
  const Tensor x = hybrid_conv_bytes({1, 1, 3, 2}, {10, 11, 12, 13, 14, 15});
  const Tensor w = weights({2, 1, 2, 2}, {1, 2, 3, 4, -1, -2, -3, -4});
  const HybridConvAttrs attrs{.window = {{1, 2}, {1, 1}, {1, 1}, {0, 1}, {0, 0}}, .epilogue = kOnnx};
  const auto answers = [&](const HybridConvAttrs& conv) {
    return run_with(conv, x, w, hybrid_conv_bytes({}, {10}), std::nullopt,
                    {hybrid_conv_floats({}, {0.5f}), hybrid_conv_floats({2}, {2.0f, 4.0f}),
                     hybrid_conv_floats({2}, {100.0f, 0.0f})});
  };
  // x - 10: 0 1 2 3 4 5. The first pixel sees padding under the first tap.
  EXPECT_EQ(answers(attrs), (std::vector<float>{104, -8, 120, -40, 140, -80}));
  HybridConvAttrs clamped = attrs;
  clamped.epilogue.stages.emplace_back(ClampReal{0.0f, 120.0f});
  EXPECT_EQ(answers(clamped), (std::vector<float>{104, 0, 120, 0, 120, 0}));
}

TEST(HybridConv, ScalesPerImagePerPixelAndOffsets) {
  const Tensor w = weights({1, 1, 1, 1}, {100});
  const HybridConvAttrs attrs{.window = unit_window({1, 1}), .epilogue = kOnnx};
  const Tensor x = hybrid_conv_bytes({2, 1, 2, 1}, {1, 2, 3, 255});
  const auto at = [&](const Tensor& scale, const Tensor& zero) {
    return run_with(attrs, x, w, zero, Tensor::of<std::int32_t>({1}, std::vector<std::int32_t>{28}),
                    {scale, hybrid_conv_floats({1}, {1.0f}), hybrid_conv_floats({1}, {0.0f})});
  };
  EXPECT_EQ(at(hybrid_conv_floats({2}, {1.0f, 0.5f}), hybrid_conv_bytes({2}, {0, 255})),
            (std::vector<float>{128, 256, -126 * 128, 0}));
  EXPECT_EQ(at(hybrid_conv_floats({2, 1, 2}, {1, 2, 3, 4}), hybrid_conv_bytes({2, 1, 2}, {0, 1, 2, 3})),
            (std::vector<float>{128, 256, 384, 252 * 128 * 4}));
}

// Numbers for which each form rounds differently.
TEST(HybridConv, FormsRoundWhereTheySay) {
  const std::int32_t acc = 16777215;
  const auto sum = static_cast<float>(acc);
  const float x_scale = 0.1f, w_scale = 0.3f, bias = -0.7f;
  EXPECT_EQ(ScaleInRun{RunForm::xnnpack}.apply(acc, x_scale, w_scale, bias), std::fma(sum * x_scale, w_scale, bias));
  EXPECT_EQ(ScaleInRun{RunForm::onnx}.apply(acc, x_scale, w_scale, bias), sum * (w_scale * x_scale) + bias);
  EXPECT_EQ(ScaleInRun{RunForm::tflite}.apply(acc, x_scale, w_scale, bias), sum * w_scale * x_scale + bias);
  EXPECT_EQ(ScaleInRun{RunForm::onnx_integer}.apply(acc, x_scale, w_scale, bias), (sum - 24.0f) * (w_scale * x_scale));
}

TEST(HybridConv, IntegerBiasesAreBounded) {
  constexpr auto bias = integer_run_bias;
  EXPECT_EQ(bias(-0.7f, 1.0f), -1);
  EXPECT_EQ(bias(0.7f, 1.0f), 0);
  EXPECT_EQ(bias(-0.7f, 0.0f), -(1 << 30));
  EXPECT_EQ(bias(0.7f, 0.0f), 1 << 30);
  EXPECT_EQ(bias(0.0f, 0.0f), -(1 << 30));
}

TEST(HybridConv, RefusesScalesThatFitNothing) {
  const Fact x = fact(DType::u8, {2, 4, 4, 3}), w = fact(DType::s8, {5, 1, 1, 3}), channels = fact(DType::f32, {5});
  const Fact offset = fact(DType::s32, {5});
  const HybridConvAttrs pointwise{.window = unit_window({1, 1}), .epilogue = kOnnx};
  const auto is_refused = [&](const HybridConvAttrs& attrs, const Fact& weights, const Shape& scale, const Shape& zero,
                              const Fact& w_scale) {
    return refuses(kHybridConv, attrs,
                   {x, weights, fact(DType::u8, zero), offset, fact(DType::f32, scale), w_scale, channels});
  };
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{2}, Shape{2, 4, 4}})
    EXPECT_FALSE(is_refused(pointwise, w, shape, shape, channels));
  for (const Shape& shape : {Shape{3}, Shape{4, 4}, Shape{0}})
    EXPECT_TRUE(is_refused(pointwise, w, shape, shape, channels));
  HybridConvAttrs square{.window = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, .epilogue = kOnnx};
  const Fact kernel = fact(DType::s8, {5, 3, 3, 3});
  EXPECT_TRUE(is_refused(square, kernel, {2, 4, 4}, {2, 4, 4}, channels));
  EXPECT_FALSE(is_refused(square, kernel, {2}, {2}, channels));
  EXPECT_TRUE(is_refused(square, kernel, {2}, {1}, channels));
  EXPECT_TRUE(is_refused(square, kernel, {2}, {2}, fact(DType::f32, {4})));
  HybridConvAttrs turned = square;
  turned.epilogue.stages.emplace_back(ClampReal{1.0f, 0.0f});
  EXPECT_TRUE(is_refused(turned, kernel, {2}, {2}, channels));
  square.epilogue = {{Scale{}}, DType::f32};
  EXPECT_TRUE(refuses(kHybridConv, square, {x, kernel, fact(DType::u8, {2}), offset, channels}));
}

TEST(RowQuantize, RowsHaveScalesOfTheirOwn) {
  const auto rows = quantized(DynamicForm::onnx, 1, hybrid_conv_floats({2, 2}, {0.0f, 255.0f, -51.0f, 0.0f}));
  EXPECT_EQ(values<float>(rows[1]), (std::vector<float>{1.0f, 0.2f}));
  EXPECT_EQ(values<std::uint8_t>(rows[2]), (std::vector<std::uint8_t>{0, 255}));
  EXPECT_EQ(values<std::uint8_t>(rows[0]), (std::vector<std::uint8_t>{0, 255, 0, 255}));
  EXPECT_TRUE(refuses(kRowQuantize, RowQuantizeAttrs{.axis = 3}, {fact(DType::f32, {2, 2})}));
}

// The forms of LiteRT: the zero point is that of the end with the smaller error; a range of nothing is all zero point.
TEST(RowQuantize, FormsOfLiteRt) {
  const Tensor x = hybrid_conv_floats({4}, {-1.0f, 0.0f, 2.0f, 0.5f});
  for (DynamicForm form : {DynamicForm::xnnpack, DynamicForm::tflite}) {
    const auto q = quantized(form, 0, x);
    EXPECT_EQ(values<std::uint8_t>(q[2]), (std::vector<std::uint8_t>{85}));
    EXPECT_EQ(values<std::uint8_t>(q[0]), (std::vector<std::uint8_t>{0, 85, 255, 127}));
    const auto nothing = quantized(form, 0, hybrid_conv_floats({1}, {0.0f}));
    EXPECT_EQ(nothing[1].as<float>()[0], 1.0f);
    EXPECT_EQ(nothing[0].as<std::uint8_t>()[0], nothing[2].as<std::uint8_t>()[0]);
  }
  EXPECT_EQ(quantized(DynamicForm::xnnpack, 0, x)[1].as<float>()[0], 1.0f / (255.0f / 3.0f));
  EXPECT_EQ(quantized(DynamicForm::tflite, 0, x)[1].as<float>()[0], 3.0f / 255.0f);
}

// Of PyTorch: rne of the lowest value decides the zero point; or the nearer end, as in XNNPACK; or both ends alike.
TEST(RowQuantize, FormsOfPyTorch) {
  const Tensor x = hybrid_conv_floats({4}, {-1.0f, 0.0f, 2.0f, 0.5f});
  for (DynamicForm form : {DynamicForm::pt2e, DynamicForm::pt2e_token}) {
    const auto q = quantized(form, 0, x);
    EXPECT_EQ(q[1].as<float>()[0], 3.0f / 255.0f);
    EXPECT_EQ(values<std::uint8_t>(q[2]), (std::vector<std::uint8_t>{85}));
    EXPECT_EQ(values<std::uint8_t>(q[0]), (std::vector<std::uint8_t>{0, 85, 255, 127}));
  }
  const auto both = quantized(DynamicForm::pt2e_symmetric, 0, x);
  EXPECT_EQ(both[1].as<float>()[0], 2.0f / 127.5f);
  EXPECT_EQ(values<std::uint8_t>(both[0]), (std::vector<std::uint8_t>{64, 128, 255, 160}));
  const Tensor nothing = hybrid_conv_floats({1}, {0.0f});
  const std::vector<ConstTensorView> views{nothing.view()};
  const RowQuantizeAttrs least{.form = DynamicForm::pt2e, .least_scale = 0.25f};
  EXPECT_EQ((*evaluate_op(kRowQuantize, least, views))[1].as<float>()[0], 0.25f);
  EXPECT_TRUE(refuses(kRowQuantize, RowQuantizeAttrs{.least_scale = -1.0f}, {fact(DType::f32, {2, 2})}));
}

TEST(FloatDepthwise, AddsTapsColumnByColumn) {
  // The order decides: 1e8 and -1e8 in one column cancel before 1 is added.
  const Tensor x = hybrid_conv_floats({1, 2, 2, 1}, {1e8f, 1.0f, -1e8f, 1.0f});
  const Tensor w = hybrid_conv_floats({1, 2, 2, 1}, {1.0f, 1.0f, 1.0f, 1.0f});
  const FloatDepthwiseAttrs attrs{.window = unit_window({2, 2})};
  EXPECT_EQ(values<float>(run(kFloatDepthwise, attrs, {x, w})), (std::vector<float>{2.0f}));
  EXPECT_EQ(depthwise_tap_order(unit_window({2, 13}))[1], 1);
  EXPECT_EQ(depthwise_tap_order(unit_window({5, 5}))[1], 5);
  EXPECT_EQ(depthwise_tap_order(unit_window({2, 2, 2})), (std::vector<std::int64_t>{0, 2, 1, 3, 4, 6, 5, 7}));
}

TEST(FloatDepthwise, GoesOverThreeAxes) {
  const Tensor x = hybrid_conv_floats({1, 3, 1, 2, 1}, {1, 2, 3, 4, 5, 6});
  const Tensor w = hybrid_conv_floats({1, 2, 1, 1, 1}, {10, 1});
  const FloatDepthwiseAttrs attrs{.window = {{2, 1, 1}, {2, 1, 1}, {1, 1, 1}, {1, 0, 0}, {0, 0, 0}}};
  EXPECT_EQ(values<float>(run(kFloatDepthwise, attrs, {x, w})), (std::vector<float>{1, 2, 35, 46}));
}

TEST(FloatDepthwise, LeavesThePaddingOutAndClamps) {
  const Tensor x = hybrid_conv_floats({1, 1, 3, 2}, {1, 10, 2, 20, 3, 30});
  const Tensor w = hybrid_conv_floats({2, 1, 2, 1}, {1, 2, -1, -1});
  FloatDepthwiseAttrs attrs{.window = {{1, 2}, {1, 1}, {1, 1}, {0, 1}, {0, 0}}};
  const std::vector<Tensor> inputs = {x, w, hybrid_conv_floats({2}, {0.5f, 0.0f})};
  EXPECT_EQ(values<float>(run(kFloatDepthwise, attrs, inputs)), (std::vector<float>{2.5f, -10, 5.5f, -30, 8.5f, -50}));
  attrs.lowest = -20.0f, attrs.highest = 6.0f;
  EXPECT_EQ(values<float>(run(kFloatDepthwise, attrs, inputs)), (std::vector<float>{2.5f, -10, 5.5f, -20, 6, -20}));
  EXPECT_TRUE(refuses(kFloatDepthwise, attrs, {fact(DType::f32, {1, 1, 3, 2}), fact(DType::f32, {4, 1, 2, 1})}));
}

}  // namespace
}  // namespace octavo::ops_test
