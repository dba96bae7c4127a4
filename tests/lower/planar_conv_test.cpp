// Convolutions over three axes as convolutions over two.
#include "lower/planar_conv.h"

#include "lower/graph_builder.h"
#include "lower/lower.h"
#include "ops/fused_conv/fused_conv.h"
#include "ops/planar.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"

namespace octavo {
namespace {

struct Volume {
  std::vector<std::int64_t> kernel, strides, dilations, pads;

  Window window() const {
    Window w{.strides = strides, .dilations = dilations};
    for (std::size_t i = 0; i < 3; ++i) {
      w.kernel.emplace_back(kernel[i]);
      w.pad_begin.emplace_back(pads[i]);
      w.pad_end.emplace_back(i == 0 && pads[i] > 0 ? pads[i] - 1 : pads[i]);
    }
    return w;
  }
};

// Over planes, over the first axis (with padding and stride), over all three, with everything that a window has.
const std::vector<Volume> kVolumes = {
    {{1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}}, {{1, 1, 1}, {2, 2, 2}, {1, 1, 1}, {0, 0, 0}},
    {{3, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 0, 0}}, {{3, 1, 1}, {2, 1, 1}, {2, 1, 1}, {2, 0, 0}},
    {{3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, {{2, 3, 1}, {2, 1, 2}, {3, 1, 1}, {2, 0, 0}},
    {{4, 1, 2}, {3, 2, 1}, {1, 1, 2}, {3, 0, 1}},
};

TEST(PlanarConv, GivesTheBytesOfThreeAxes) {
  for (const Volume& volume : kVolumes) {
    for (const DType dtype : {DType::u8, DType::s8}) {
      GraphBuilder b;
      const Window window = volume.window();
      const ValueId x = b.dequantize(b.input(dtype, {2, 4, 5, 6, 6}), 0x1p-4f, dtype == DType::u8 ? 120 : -7);
      const ValueId w = b.weights({8, 4, volume.kernel[0], volume.kernel[1], volume.kernel[2]});
      const ValueId y = b.add(kConv, ConvAttrs{window, 1, Layout::channels_first}, {x, w});
      b.output(b.quantize(b.unary(UnaryKind::relu, y), 0x1p-3f, 10));
      const auto before = answers(b.graph);
      const auto report = lower(b.graph, {});
      ASSERT_TRUE(report.ok()) << to_string(report.errors());
      EXPECT_TRUE(report->islands.empty()) << to_string(b.graph);
      EXPECT_EQ(count(b.graph, kQuantizedConv), 1) << to_string(b.graph);
      EXPECT_EQ(answers(b.graph), before) << to_string(b.graph);
    }
  }
}

TEST(PlanarConv, AddsWhatIsBesideIt) {
  for (const std::int64_t frames : {1, 3}) {
    GraphBuilder b;
    const ValueId x = b.dequantize(b.input(DType::u8, {1, 4, 5, 6, 6}), 0x1p-4f, 120);
    const ValueId w = b.weights({4, 4, frames, 3, 3});
    Window window = unit_window({frames, 3, 3});
    window.pad_begin = window.pad_end = {frames / 2, 1, 1};
    const ValueId y = b.add(kConv, ConvAttrs{window, 1, Layout::channels_first}, {x, w});
    b.output(b.quantize(b.unary(UnaryKind::relu, b.binary(BinaryKind::add, y, x)), 0x1p-3f, 10));
    const auto before = answers(b.graph);
    ASSERT_TRUE(lower(b.graph, {}).ok());
    EXPECT_EQ(count(b.graph, kQuantizedConv), 1) << to_string(b.graph);
    EXPECT_EQ(count(b.graph, kQuantizedElementwise), 0) << to_string(b.graph);
    EXPECT_EQ(answers(b.graph), before);
  }
}

TEST(PlanarConv, FloatsTakeResidualAndActivationAlong) {
  for (const Volume& volume : kVolumes) {
    GraphBuilder b;
    const ValueId x = b.input(DType::f32, {2, 4, 5, 6, 6});
    const ValueId w = b.random_constant(DType::f32, {8, 4, volume.kernel[0], volume.kernel[1], volume.kernel[2]});
    const ValueId bias = b.random_constant(DType::f32, {8}, 3);
    const ValueId y = b.add(kConv, ConvAttrs{volume.window(), 1, Layout::channels_first}, {x, w, bias});
    const ValueId other = b.input(DType::f32, Shape(b.graph.fact(y).shape));
    b.output(b.unary(UnaryKind::relu, b.binary(BinaryKind::add, y, other)));
    const auto before = answers(b.graph);
    ASSERT_TRUE(lower(b.graph, {.precision = Precision::fp32}).ok());
    EXPECT_NE(first(b.graph, kFusedConv).attrs.as<FusedConvAttrs>().residual, ResidualPlace::none)
        << to_string(b.graph);
    EXPECT_EQ(count(b.graph, kConv) + count(b.graph, kUnary) + count(b.graph, kBinary), 0) << to_string(b.graph);
    const auto after = answers(b.graph);
    ASSERT_EQ(after[0].shape(), before[0].shape());
    for (std::int64_t i = 0; i < before[0].elements(); ++i)
      ASSERT_NEAR(after[0].as<float>()[i], before[0].as<float>()[i], 1e-5f);
  }
}

// Groups over planes alone are groups of images; over all three axes there is no such form.
TEST(PlanarConv, GroupsNeedAnAxisOfTheirOwn) {
  EXPECT_TRUE(is_planar(unit_window({1, 3, 3}), 4));
  EXPECT_TRUE(is_planar(unit_window({3, 1, 1}), 4));
  EXPECT_FALSE(is_planar(unit_window({3, 3, 3}), 4));
  EXPECT_FALSE(is_planar(unit_window({33, 3, 3}), 1));
  EXPECT_FALSE(is_planar(unit_window({3, 3}), 1));
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {1, 4, 5, 6, 6}), 0x1p-4f, 120);
  const ValueId y = b.conv(x, b.weights({4, 2, 3, 3, 3}), {3, 3, 3}, Layout::channels_first, {}, 2);
  b.output(b.quantize(y, 0x1p-3f, 10));
  const auto before = answers(b.graph);
  const auto report = lower(b.graph, {});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(count(b.graph, kQuantizedConv), 0);
  ASSERT_FALSE(report->islands.empty());
  EXPECT_EQ(answers(b.graph), before);
}

}  // namespace
}  // namespace octavo
