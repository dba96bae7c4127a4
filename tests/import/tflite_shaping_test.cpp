// What TFLite's operators that join, cut, pad, resize and rearrange mean, by answers worked out by hand. Part of the
// tests of import/.
#include <gtest/gtest.h>

#include "import/one_operator.h"
#include "ops/conv/conv.h"

namespace octavo::testing {
namespace {

std::vector<float> ramp(int count) {
  std::vector<float> values;
  for (int i = 1; i <= count; ++i) values.push_back(static_cast<float>(i));
  return values;
}

TEST(TfliteJoining, ConcatSplitPackUnpack) {
  const Tensor a = floats({1, 2}, {1, 2}), b = floats({1, 2}, {3, 4});
  EXPECT_EQ(answer_of({.code = 2,
                       .inputs = {a, b},
                       .is_constant = {false, false},
                       .kind = tfl::BuiltinOptions::ConcatenationOptions,
                       .options = options_of(tfl::CreateConcatenationOptions, -1, std::int8_t{3})}),
            (Values{1, 2, 3, 4}));
  const auto parts = answers_of({.code = 49,
                                 .inputs = {s32s({}, {1}), floats({1, 4}, ramp(4))},
                                 .is_constant = {true, false},
                                 .kind = tfl::BuiltinOptions::SplitOptions,
                                 .options = options_of(tfl::CreateSplitOptions, 2),
                                 .outputs = 2});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(as_floats(parts[1]), (Values{3, 4}));
  const auto uneven = answers_of({.code = 102,
                                  .inputs = {floats({4}, ramp(4)), s32s({2}, {1, -1}), s32s({}, {0})},
                                  .is_constant = {false, true, true},
                                  .outputs = 2});
  ASSERT_EQ(uneven.size(), 2u);
  EXPECT_EQ(as_floats(uneven[1]), (Values{2, 3, 4}));
  const auto packed = answers_of({.code = 83,
                                  .inputs = {a, b},
                                  .is_constant = {false, false},
                                  .kind = tfl::BuiltinOptions::PackOptions,
                                  .options = options_of(tfl::CreatePackOptions, 2, 1)});
  EXPECT_EQ(packed[0].shape(), (Shape{1, 2, 2}));
  const auto unpacked = answers_of({.code = 88,
                                    .inputs = {floats({2, 2}, ramp(4))},
                                    .is_constant = {false},
                                    .kind = tfl::BuiltinOptions::UnpackOptions,
                                    .options = options_of(tfl::CreateUnpackOptions, 2, 1),
                                    .outputs = 2});
  ASSERT_EQ(unpacked.size(), 2u);
  EXPECT_EQ(as_floats(unpacked[1]), (Values{2, 4}));
  EXPECT_EQ(unpacked[1].shape(), Shape{2});
}

TEST(TfliteCutting, SliceAndStridedSlice) {
  const Tensor x = floats({2, 4}, ramp(8));
  EXPECT_EQ(
      answer_of({.code = 65, .inputs = {x, s32s({2}, {1, 1}), s32s({2}, {1, -1})}, .is_constant = {false, true, true}}),
      (Values{6, 7, 8}));
  const auto strided = [&](std::vector<std::int32_t> begin, std::vector<std::int32_t> end,
                           std::vector<std::int32_t> steps, int begin_mask, int end_mask, int shrink) {
    return answers_of(
        {.code = 45,
         .inputs = {x, s32s({2}, begin), s32s({2}, end), s32s({2}, steps)},
         .is_constant = {false, true, true, true},
         .kind = tfl::BuiltinOptions::StridedSliceOptions,
         .options = options_of(tfl::CreateStridedSliceOptions, begin_mask, end_mask, 0, 0, shrink, false)})[0];
  };
  EXPECT_EQ(as_floats(strided({0, 1}, {2, 4}, {1, 2}, 0, 0, 0)), (Values{2, 4, 6, 8}));
  EXPECT_EQ(as_floats(strided({0, 9}, {9, 9}, {1, 1}, 3, 3, 0)), ramp(8));
  EXPECT_EQ(as_floats(strided({0, -1}, {1, 0}, {1, -1}, 0, 2, 0)), (Values{4, 3, 2, 1}));
  const Tensor row = strided({-1, 0}, {0, 2}, {1, 1}, 0, 0, 1);
  EXPECT_EQ(as_floats(row), (Values{5, 6}));
  EXPECT_EQ(row.shape(), Shape{2});
}

TEST(TflitePadding, ZerosValuesAndMirrors) {
  const Tensor x = floats({3}, {1, 2, 3}), margins = s32s({1, 2}, {2, 1});
  EXPECT_EQ(answer_of({.code = 34, .inputs = {x, margins}, .is_constant = {false, true}}), (Values{0, 0, 1, 2, 3, 0}));
  EXPECT_EQ(answer_of({.code = 60, .inputs = {x, margins, floats({1}, {7})}, .is_constant = {false, true, true}}),
            (Values{7, 7, 1, 2, 3, 7}));
  const auto mirror = [&](std::int8_t mode) {
    return answer_of({.code = 100,
                      .inputs = {x, margins},
                      .is_constant = {false, true},
                      .kind = tfl::BuiltinOptions::MirrorPadOptions,
                      .options = options_of(tfl::CreateMirrorPadOptions, mode)});
  };
  EXPECT_EQ(mirror(0), (Values{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(mirror(1), (Values{2, 1, 1, 2, 3, 3}));
}

TEST(TflitePadding, QuantizedZerosAreTheZeroPoint) {
  TfliteBuilder builder;
  const int x = builder.input({.name = "x", .dtype = DType::s8, .shape = {2}, .scale = {0.5f}, .zero_point = {-7}});
  const int margins = builder.constant(s32s({1, 2}, {1, 1}));
  builder.add({.code = 34,
               .inputs = {x, margins},
               .outputs = {builder.output({.name = "y", .dtype = DType::s8, .scale = {0.5f}, .zero_point = {-7}})}});
  const auto y = answers(builder, {Tensor::of<std::int8_t>(Shape{2}, std::vector<std::int8_t>{3, 4})});
  EXPECT_EQ(to_int64s(y[0].view()), (std::vector<std::int64_t>{-7, 3, 4, -7}));
}

TEST(TfliteBlocks, DepthAndSpace) {
  const auto there = answers_of({.code = 26,
                                 .inputs = {floats({1, 2, 2, 1}, ramp(4))},
                                 .is_constant = {false},
                                 .kind = tfl::BuiltinOptions::SpaceToDepthOptions,
                                 .options = options_of(tfl::CreateSpaceToDepthOptions, 2)})[0];
  EXPECT_EQ(there.shape(), (Shape{1, 1, 1, 4}));
  EXPECT_EQ(as_floats(there), ramp(4));
  EXPECT_EQ(answer_of({.code = 5,
                       .inputs = {floats({1, 1, 2, 4}, ramp(8))},
                       .is_constant = {false},
                       .kind = tfl::BuiltinOptions::DepthToSpaceOptions,
                       .options = options_of(tfl::CreateDepthToSpaceOptions, 2)}),
            (Values{1, 2, 5, 6, 3, 4, 7, 8}));
}

TEST(TfliteBlocks, SpaceToBatchAndBack) {
  const auto parts =
      answers_of({.code = 38,
                  .inputs = {floats({1, 2, 2, 1}, ramp(4)), s32s({2}, {2, 2}), s32s({2, 2}, {0, 0, 0, 0})},
                  .is_constant = {false, true, true}})[0];
  EXPECT_EQ(parts.shape(), (Shape{4, 1, 1, 1}));
  EXPECT_EQ(as_floats(parts), ramp(4));
  EXPECT_EQ(answer_of({.code = 37,
                       .inputs = {floats({4, 1, 2, 1}, ramp(8)), s32s({2}, {2, 2}), s32s({2, 2}, {0, 0, 1, 1})},
                       .is_constant = {false, true, true}}),
            (Values{3, 2, 7, 6}));
}

// A convolution between the two is a dilated one.
TEST(TfliteBlocks, ConvolutionBetweenThemIsDilated) {
  TfliteBuilder builder;
  const int x = builder.input({.name = "x", .shape = {1, 4, 4, 1}});
  const int block = builder.constant(s32s({2}, {2, 2})), paddings = builder.constant(s32s({2, 2}, {2, 2, 2, 2}));
  const int crops = builder.constant(s32s({2, 2}, {0, 0, 0, 0}));
  const int w = builder.constant(floats({1, 3, 3, 1}, ramp(9)));
  const int parts = builder.tensor({.name = "parts"}), sums = builder.tensor({.name = "sums"});
  const int y = builder.output({.name = "y"});
  builder.add({.code = 38, .inputs = {x, block, paddings}, .outputs = {parts}})
      .add({.code = 3,
            .inputs = {parts, w},
            .outputs = {sums},
            .kind = tfl::BuiltinOptions::Conv2DOptions,
            .options = options_of(tfl::CreateConv2DOptions, std::int8_t{1}, 1, 1, std::int8_t{1}, 1, 1)})
      .add({.code = 37, .inputs = {sums, block, crops}, .outputs = {y}});
  const auto model = builder.import();
  ASSERT_TRUE(model.ok()) << to_string(model.errors());
  ASSERT_EQ(model->graph.node_count(), 2) << to_string(model->graph);
  const auto& conv = model->graph.node(model->graph.order()[0]).attrs.as<ConvAttrs>();
  EXPECT_EQ(conv.window.dilations, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(conv.window.pad_begin, (std::vector<Dim>{2, 2}));
  const auto answer = answers(builder, {floats({1, 4, 4, 1}, ramp(16))});
  ASSERT_EQ(answer[0].shape(), (Shape{1, 4, 4, 1}));
  // The first: 5 * 1 + 6 * 3 + 8 * 9 + 9 * 11.
  EXPECT_EQ(as_floats(answer[0])[0], 5 * 1 + 6 * 3 + 8 * 9 + 9 * 11);
}

TEST(TfliteResize, CornersAndCentres) {
  const Tensor x = floats({1, 1, 2, 1}, {0, 4}), size = s32s({2}, {1, 4});
  const auto bilinear = [&](bool aligned, bool half) {
    return answer_of({.code = 23,
                      .inputs = {x, size},
                      .is_constant = {false, true},
                      .kind = tfl::BuiltinOptions::ResizeBilinearOptions,
                      .options = options_of(tfl::CreateResizeBilinearOptions, 0, 0, aligned, half)});
  };
  EXPECT_EQ(bilinear(false, false), (Values{0, 2, 4, 4}));
  EXPECT_EQ(bilinear(false, true), (Values{0, 1, 3, 4}));
  EXPECT_EQ(bilinear(true, false)[3], 4.0f);
  const auto nearest = [&](bool aligned, bool half, const Tensor& to) {
    return answer_of({.code = 97,
                      .inputs = {floats({1, 1, 3, 1}, ramp(3)), to},
                      .is_constant = {false, true},
                      .kind = tfl::BuiltinOptions::ResizeNearestNeighborOptions,
                      .options = options_of(tfl::CreateResizeNearestNeighborOptions, aligned, half)});
  };
  EXPECT_EQ(nearest(false, false, s32s({2}, {1, 2})), (Values{1, 2}));
  EXPECT_EQ(nearest(false, true, s32s({2}, {1, 2})), (Values{1, 3}));
  EXPECT_EQ(nearest(true, false, s32s({2}, {1, 2})), (Values{1, 3}));
}

TEST(TfliteReductions, ArgMaxAndL2Norm) {
  const auto index = answers_of({.code = 56,
                                 .inputs = {floats({2, 3}, {1, 5, 5, 9, 2, 3}), s32s({1}, {-1})},
                                 .is_constant = {false, true},
                                 .to = DType::s32});
  EXPECT_EQ(to_int64s(index[0].view()), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(answer_of({.code = 11, .inputs = {floats({1, 2}, {3, 4})}, .is_constant = {false}}), (Values{0.6f, 0.8f}));
}

TEST(TfliteConv, TransposedAddsWhatEachPixelMakes) {
  const auto transposed = [&](std::int8_t padding, std::vector<std::int32_t> shape) {
    return answer_of({.code = 67,
                      .inputs = {s32s({4}, shape), floats({1, 1, 3, 1}, {1, 10, 100}), floats({1, 1, 2, 1}, {1, 2})},
                      .is_constant = {true, true, false},
                      .kind = tfl::BuiltinOptions::TransposeConvOptions,
                      .options = options_of(tfl::CreateTransposeConvOptions, padding, 2, 1, std::int8_t{0})});
  };
  EXPECT_EQ(transposed(1, {1, 1, 5, 1}), (Values{1, 10, 102, 20, 200}));
  EXPECT_EQ(transposed(0, {1, 1, 4, 1}), (Values{1, 10, 102, 20}));
}

// Integer weights beside floats: the row is quantized when it runs, or the weights are real numbers.
TEST(TfliteDynamicRange, BothReadings) {
  TfliteBuilder builder;
  const int x = builder.input({.name = "x", .shape = {2, 2}});
  const int w =
      builder.constant(Tensor::of<std::int8_t>(Shape{1, 2}, std::vector<std::int8_t>{100, -50}), {0.01f}, {0});
  const int bias = builder.constant(floats({1}, {0.5f}));
  builder.add(fully_connected({x, w, bias}, builder.output({.name = "y"})));
  const std::vector<Tensor> rows = {floats({2, 2}, {1, -1, 100, 30})};
  const auto dynamic = builder.import();
  ASSERT_TRUE(dynamic.ok()) << to_string(dynamic.errors());
  EXPECT_TRUE(dynamic->is_quantized);
  EXPECT_EQ(dynamic->dialect, "TFLite dynamic range, rounding tflite-xnnpack");
  const Values y = as_floats(answers(builder, rows)[0]);
  // Each row has a scale of its own: 2 / 255 and 100 / 255.
  EXPECT_NEAR(y[0], 2.0f, 0.01f);
  EXPECT_NEAR(y[1], 85.5f, 0.3f);
  const auto real = builder.import({.dequantizes_dynamic = true});
  ASSERT_TRUE(real.ok());
  EXPECT_FALSE(real->is_quantized);
  EXPECT_FLOAT_EQ(as_floats(answers(builder, rows, {.dequantizes_dynamic = true})[0])[1], 85.5f);
}

}  // namespace
}  // namespace octavo::testing
