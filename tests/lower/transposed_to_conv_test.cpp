// Transposed convolutions as convolutions of their phases.
#include "lower/rules/transposed_to_conv.h"

#include "lower/graph_builder.h"
#include "lower/lower.h"
#include "lower/rules/fold_batch_norm.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/conv_transpose/conv_transpose.h"
#include "ops/fused_conv/fused_conv.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
namespace {

// Along one axis.
struct Spread {
  std::int64_t kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0, extra = 0;
};

ConvTransposeAttrs attrs_of(const std::vector<Spread>& axes, std::int64_t groups, Layout layout) {
  ConvTransposeAttrs attrs{.groups = groups, .layout = layout};
  for (const Spread& axis : axes) {
    attrs.window.kernel.emplace_back(axis.kernel);
    attrs.window.strides.push_back(axis.stride);
    attrs.window.dilations.push_back(axis.dilation);
    attrs.window.pad_begin.emplace_back(axis.begin);
    attrs.window.pad_end.emplace_back(axis.end);
    attrs.output_padding.emplace_back(axis.extra);
  }
  return attrs;
}

Shape image_shape(std::int64_t n, std::int64_t c, std::vector<std::int64_t> sizes, Layout layout) {
  sizes.insert(layout == Layout::channels_first ? sizes.begin() : sizes.end(), c);
  sizes.insert(sizes.begin(), n);
  return Shape(sizes);
}

Shape kernel_shape(std::int64_t oc, std::int64_t ic, const std::vector<Spread>& axes, Layout layout) {
  std::vector<std::int64_t> sizes;
  for (const Spread& axis : axes) sizes.push_back(axis.kernel);
  return image_shape(oc, ic, sizes, layout);
}

const std::vector<Spread> kSpreads = {
    {2, 2},          {3, 2, 1, 1, 1, 1}, {4, 2, 1, 1, 1},    {3, 1, 2, 1, 3}, {3, 1, 1, 4, 0}, {5, 3, 1, 2, 0, 2},
    {2, 3, 2, 0, 1}, {3, 2, 3, 5, 2},    {1, 3, 1, 0, 0, 1}, {3, 2, 1, 5, 0}, {7, 4, 1, 0, 6}, {2, 2, 1, 0, 0, 5},
    {6, 2, 1, 2, 2},
};

TEST(TransposedToConv, EveryStrideDilationAndPadding) {
  for (const Spread& spread : kSpreads) {
    for (const Layout layout : {Layout::channels_first, Layout::channels_last}) {
      GraphBuilder b;
      const std::vector<Spread> axes{spread};
      const ValueId x = b.input(DType::f32, image_shape(2, 3, {5}, layout));
      const ValueId w = b.random_constant(DType::f32, kernel_shape(4, 3, axes, layout));
      b.output(b.add(kConvTranspose, attrs_of(axes, 1, layout), {x, w, b.random_constant(DType::f32, {4}, 3)}));
      EXPECT_EQ(apply_exactly(b.graph, transposed_to_conv), 1) << spread.kernel << ' ' << spread.stride;
      EXPECT_EQ(count(b.graph, kConv), 1);
    }
  }
}

TEST(TransposedToConv, GroupsOverTwoAndThreeAxes) {
  const std::vector<std::vector<Spread>> kernels = {{{3, 2, 1, 1, 1, 1}, {2, 3}},
                                                    {{2, 2}, {3, 1, 2, 1, 1}, {4, 2, 1, 1, 1}}};
  for (const auto& axes : kernels) {
    for (const Layout layout : {Layout::channels_first, Layout::channels_last}) {
      for (const std::int64_t per_group : {1, 2}) {
        GraphBuilder b;
        const std::vector<std::int64_t> sizes(axes.size(), 3);
        const ValueId x = b.input(DType::f32, image_shape(2, 6, sizes, layout));
        const ValueId w = b.random_constant(DType::f32, kernel_shape(3 * per_group, 2, axes, layout));
        b.output(b.add(kConvTranspose, attrs_of(axes, 3, layout), {x, w}));
        EXPECT_EQ(apply_exactly(b.graph, transposed_to_conv), 1);
      }
    }
  }
}

TEST(TransposedToConv, TapsThatNoPhaseLacksMakeNoWork) {
  GraphBuilder b;
  const std::vector<Spread> axes{{4, 2, 1, 1, 1}, {2, 2}};
  const ValueId x = b.input(DType::f32, {1, 3, 3, 2});
  const ValueId w = b.random_constant(DType::f32, {3, 4, 2, 2});
  b.output(b.add(kConvTranspose, attrs_of(axes, 1, Layout::channels_last), {x, w}));
  EXPECT_EQ(apply_exactly(b.graph, transposed_to_conv), 1);
  EXPECT_EQ(first(b.graph, kConv).attrs.as<ConvAttrs>().window.kernel, (std::vector<Dim>{2, 1}));
}

TEST(TransposedToConv, RefusesWhatItCannotKnowOrStore) {
  GraphBuilder b;
  const std::vector<Spread> axes{{2, 2}, {2, 2}};
  b.output(b.add(kConvTranspose, attrs_of(axes, 1, Layout::channels_last),
                 {b.input(DType::f32, {1, 3, 3, 2}), b.input(DType::f32, {3, 2, 2, 2})}));
  EXPECT_EQ(refusal(b.graph, transposed_to_conv), "its weights are not constant");
  GraphBuilder c;
  const std::vector<Spread> far{{1, 1 << 20}};
  c.output(c.add(kConvTranspose, attrs_of(far, 1, Layout::channels_last),
                 {c.input(DType::f32, {1, 1, 2}), c.random_constant(DType::f32, {3, 1, 2})}));
  EXPECT_EQ(refusal(c.graph, transposed_to_conv), "its stride is much larger than its kernel");
  GraphBuilder d;  // with thousands of millions of phases
  constexpr std::int64_t kEndless = 1 << 30;
  const std::vector<Spread> endless{{1, kEndless, 1, kEndless - 3}};
  d.output(d.add(kConvTranspose, attrs_of(endless, 1, Layout::channels_last),
                 {d.input(DType::f32, {1, 2, 2}), d.random_constant(DType::f32, {3, 1, 2})}));
  EXPECT_EQ(refusal(d.graph, transposed_to_conv), "its stride is much larger than its kernel");
}

// Weights and bias in 8 and 32 bits with scales per channel, relu and quantize behind: one integer convolution.
TEST(TransposedToConv, IsOneIntegerConvolution) {
  for (const std::int64_t groups : {1, 2}) {
    for (const std::int64_t zero : {0, 3}) {
      GraphBuilder b;
      const std::vector<Spread> axes{{3, 2, 1, 1, 1, 1}, {4, 2, 1, 1, 1}};
      const ValueId x = b.dequantize(b.input(DType::u8, {1, 8, 4, 5}), 0x1p-4f, 120);
      ValueId w = b.weights({6, 8 / groups, 3, 4});
      if (zero != 0) w = b.dequantize(b.random_constant(DType::s8, {6, 8 / groups, 3, 4}), 0x1p-7f, 3);
      const ValueId scale = b.constant<float>({6}, {0x1p-11f, 0x1p-12f, 0x1p-11f, 0x1p-12f, 0x1p-11f, 0x1p-12f});
      const ValueId bias = b.add(kDequantize, DequantizeAttrs{.axis = 0},
                                 {b.constant<std::int32_t>({6}, {5, -900, 400, 77, -3, 1234}), scale});
      const ValueId y = b.add(kConvTranspose, attrs_of(axes, groups, Layout::channels_first),
                              zero == 0 ? std::vector{x, w, bias} : std::vector{x, w});
      b.output(b.quantize(b.unary(UnaryKind::relu, y), 0x1p-3f, 10));
      b.graph.remove_unused();
      const auto before = answers(b.graph);
      const auto report = lower(b.graph, {});
      ASSERT_TRUE(report.ok()) << to_string(report.errors());
      EXPECT_TRUE(report->islands.empty()) << to_string(b.graph);
      EXPECT_EQ(count(b.graph, kQuantizedConv), 1) << to_string(b.graph);
      EXPECT_EQ(answers(b.graph), before);
    }
  }
}

// A mask: one channel, whose scale is a list of one.
TEST(TransposedToConv, HasAScaleForEachPhaseOfTheOnlyChannel) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {1, 8, 4, 5}), 0x1p-4f, 120);
  const ValueId y =
      b.add(kConvTranspose, attrs_of({{2, 2}, {2, 2}}, 1, Layout::channels_first), {x, b.weights({1, 8, 2, 2})});
  b.output(b.quantize(y, 0x1p-3f, 10));
  b.graph.remove_unused();
  const auto before = answers(b.graph);
  ASSERT_TRUE(lower(b.graph, {}));
  EXPECT_EQ(count(b.graph, kQuantizedConv), 1) << to_string(b.graph);
  EXPECT_EQ(answers(b.graph), before);
}

TEST(TransposedToConv, TakesUpTheBatchNormAndTheActivationInFloats) {
  GraphBuilder b;
  const std::vector<Spread> axes{{2, 2}, {2, 2}};
  const ValueId x = b.input(DType::f32, {1, 8, 4, 5});
  const ValueId y = b.add(kConvTranspose, attrs_of(axes, 1, Layout::channels_first),
                          {x, b.random_constant(DType::f32, {4, 8, 2, 2})});
  const ValueId ones = b.constant<float>({4}, {1, 1, 1, 1});
  const ValueId norm =
      b.add(kBatchNorm, BatchNormAttrs{1e-3f, 1}, {y, b.random_constant(DType::f32, {4}), ones, ones, ones});
  b.output(b.unary(UnaryKind::relu, norm));
  EXPECT_EQ(apply_closely(b.graph, fold_batch_norm), 1);
  const auto before = answers(b.graph);
  ASSERT_TRUE(lower(b.graph, {.precision = Precision::fp32}).ok());
  EXPECT_EQ(first(b.graph, kFusedConv).attrs.as<FusedConvAttrs>().activation.kind, UnaryKind::relu)
      << to_string(b.graph);
  EXPECT_EQ(count(b.graph, kUnary), 0);
  const auto after = answers(b.graph);
  for (std::int64_t i = 0; i < before[0].elements(); ++i)
    EXPECT_NEAR(after[0].as<float>()[i], before[0].as<float>()[i], 1e-5f);
}

}  // namespace
}  // namespace octavo
