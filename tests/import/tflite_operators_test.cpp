// What TFLite's operators on images and floats mean, by answers worked out by hand. Part of the tests of import/.
#include <gtest/gtest.h>

#include "import/one_operator.h"

namespace octavo::testing {
namespace {

constexpr std::int8_t kSame = 0, kValid = 1;
constexpr std::int8_t kRelu = 1, kReluN1To1 = 2, kRelu6 = 3;

const Tensor kTfliteOperatorsRamp = floats({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});

TEST(TfliteConv, SamePutsTheRestAtTheEnd) {
  const Tensor w = floats({1, 2, 2, 1}, {1, 1, 1, 1});
  const auto conv = [&](std::int8_t padding, int stride, std::int8_t activation) {
    return answer_of({.code = 3,
                      .inputs = {kTfliteOperatorsRamp},
                      .constants = {w, floats({1}, {-20})},
                      .kind = tfl::BuiltinOptions::Conv2DOptions,
                      .options = options_of(tfl::CreateConv2DOptions, padding, stride, stride, activation, 1, 1)});
  };
  EXPECT_EQ(conv(kSame, 1, 0), (Values{-8, -4, -11, 4, 8, -5, -5, -3, -11}));
  EXPECT_EQ(conv(kSame, 2, 0), (Values{-8, -11, -5, -11}));
  EXPECT_EQ(conv(kValid, 1, 0), (Values{-8, -4, 4, 8}));
  EXPECT_EQ(conv(kValid, 1, kRelu), (Values{0, 0, 4, 8}));
  EXPECT_EQ(conv(kValid, 1, kRelu6), (Values{0, 0, 4, 6}));
  EXPECT_EQ(conv(kValid, 1, kReluN1To1), (Values{-1, -1, 1, 1}));
}

TEST(TfliteConv, DilationAndGroups) {
  EXPECT_EQ(answer_of({.code = 3,
                       .inputs = {kTfliteOperatorsRamp},
                       .constants = {floats({1, 2, 2, 1}, {1, 10, 100, 1000})},
                       .kind = tfl::BuiltinOptions::Conv2DOptions,
                       .options = options_of(tfl::CreateConv2DOptions, kValid, 1, 1, std::int8_t{0}, 2, 2)}),
            Values{1 + 30 + 700 + 9000});
  // Two groups: the filters have half of the channels.
  EXPECT_EQ(answer_of({.code = 3,
                       .inputs = {floats({1, 1, 1, 4}, {1, 2, 3, 4})},
                       .constants = {floats({2, 1, 1, 2}, {1, 10, 100, 1000})},
                       .kind = tfl::BuiltinOptions::Conv2DOptions,
                       .options = options_of(tfl::CreateConv2DOptions, kValid, 1, 1, std::int8_t{0}, 1, 1)}),
            (Values{21, 4300}));
}

TEST(TfliteConv, DepthwiseHasItsChannelsLast) {
  // Two results per channel: the filters' last axis counts channel by channel.
  EXPECT_EQ(
      answer_of({.code = 4,
                 .inputs = {floats({1, 1, 2, 2}, {1, 2, 3, 4})},
                 .constants = {floats({1, 1, 2, 4}, {1, 10, 100, 1000, 2, 20, 200, 2000})},
                 .kind = tfl::BuiltinOptions::DepthwiseConv2DOptions,
                 .options = options_of(tfl::CreateDepthwiseConv2DOptions, kValid, 1, 1, 2, std::int8_t{0}, 1, 1)}),
      (Values{1 + 6, 10 + 60, 200 + 800, 2000 + 8000}));
}

TEST(TfliteFullyConnected, FlattensOrKeepsItsAxes) {
  const auto dense = [&](bool keeps) {
    const auto y = answers_of(
        {.code = 9,
         .inputs = {floats({2, 1, 2}, {1, 2, 3, 4})},
         .constants = {floats({3, 2}, {1, 0, 0, 1, 1, 1}), floats({3}, {10, 20, 30})},
         .kind = tfl::BuiltinOptions::FullyConnectedOptions,
         .options = options_of(tfl::CreateFullyConnectedOptions, std::int8_t{0}, std::int8_t{0}, keeps, false)});
    EXPECT_EQ(as_floats(y[0]), (Values{11, 22, 33, 13, 24, 37}));
    return y[0].shape();
  };
  EXPECT_EQ(dense(false), (Shape{2, 3}));
  EXPECT_EQ(dense(true), (Shape{2, 1, 3}));
}

TEST(TflitePool, PaddingDoesNotCount) {
  const auto pool = [&](int code, std::int8_t padding) {
    return answer_of({.code = code,
                      .inputs = {kTfliteOperatorsRamp},
                      .kind = tfl::BuiltinOptions::Pool2DOptions,
                      .options = options_of(tfl::CreatePool2DOptions, padding, 2, 2, 2, 2, std::int8_t{0})});
  };
  EXPECT_EQ(pool(1, kSame), (Values{3, 4.5f, 7.5f, 9}));
  EXPECT_EQ(pool(1, kValid), Values{3});
  EXPECT_EQ(pool(17, kSame), (Values{5, 6, 8, 9}));
}

TEST(TfliteArithmetic, BroadcastsThenActivates) {
  const Tensor a = floats({2, 2}, {1, -2, 3, 40}), b = floats({2}, {1, 2});
  const auto binary = [&](int code, tfl::BuiltinOptions kind, TfliteOptions options) {
    return answer_of({.code = code, .inputs = {a}, .constants = {b}, .kind = kind, .options = std::move(options)});
  };
  EXPECT_EQ(binary(0, tfl::BuiltinOptions::AddOptions, options_of(tfl::CreateAddOptions, kRelu6)),
            (Values{2, 0, 4, 6}));
  EXPECT_EQ(binary(41, tfl::BuiltinOptions::SubOptions, options_of(tfl::CreateSubOptions, std::int8_t{0})),
            (Values{0, -4, 2, 38}));
  EXPECT_EQ(binary(18, tfl::BuiltinOptions::MulOptions, options_of(tfl::CreateMulOptions, kRelu)),
            (Values{1, 0, 3, 80}));
  EXPECT_EQ(binary(42, tfl::BuiltinOptions::DivOptions, options_of(tfl::CreateDivOptions, std::int8_t{0})),
            (Values{1, -1, 3, 20}));
  EXPECT_EQ(binary(55, tfl::BuiltinOptions::NONE, {}), (Values{1, 2, 3, 40}));
  EXPECT_EQ(binary(57, tfl::BuiltinOptions::NONE, {}), (Values{1, -2, 1, 2}));
}

TEST(TfliteActivations, EachFunction) {
  const Tensor x = floats({4}, {-4, -0.5f, 0.5f, 9});
  const auto unary = [&](int code) { return answer_of({.code = code, .inputs = {x}}); };
  EXPECT_EQ(unary(19), (Values{0, 0, 0.5f, 9}));
  EXPECT_EQ(unary(20), (Values{-1, -0.5f, 0.5f, 1}));
  EXPECT_EQ(unary(21), (Values{0, 0, 0.5f, 6}));
  EXPECT_EQ(unary(117)[3], 9.0f);
  EXPECT_EQ(unary(117)[0], 0.0f);
  EXPECT_FLOAT_EQ(unary(14)[2], 0.62245933f);
  EXPECT_FLOAT_EQ(unary(28)[1], -0.46211716f);
  EXPECT_EQ(unary(101), (Values{4, 0.5f, 0.5f, 9}));
  EXPECT_EQ(answer_of({.code = 98,
                       .inputs = {x},
                       .kind = tfl::BuiltinOptions::LeakyReluOptions,
                       .options = options_of(tfl::CreateLeakyReluOptions, 0.25f)}),
            (Values{-1, -0.125f, 0.5f, 9}));
  EXPECT_EQ(answer_of({.code = 54, .inputs = {x}, .constants = {floats({4}, {2, 4, 8, 16})}}),
            (Values{-8, -2, 0.5f, 9}));
}

TEST(TfliteActivations, GeluInBothForms) {
  const auto gelu = [&](bool is_approximate) {
    return answer_of({.code = 150,
                      .inputs = {floats({2}, {0, 1})},
                      .kind = tfl::BuiltinOptions::GeluOptions,
                      .options = options_of(tfl::CreateGeluOptions, is_approximate)});
  };
  EXPECT_EQ(gelu(false)[0], 0.0f);
  EXPECT_FLOAT_EQ(gelu(false)[1], 0.84134474f);
  EXPECT_FLOAT_EQ(gelu(true)[1], 0.841192f);
}

TEST(TfliteBatchMatmul, TurnsEitherOperand) {
  const auto product = [&](Shape a, Shape b, bool turns_a, bool turns_b) {
    return answers_of({.code = 126,
                       .inputs = {floats(std::move(a), {1, 2, 3, 4}), floats(std::move(b), {1, 10, 100, 1000})},
                       .kind = tfl::BuiltinOptions::BatchMatMulOptions,
                       .options = options_of(tfl::CreateBatchMatMulOptions, turns_a, turns_b, false)})[0];
  };
  EXPECT_EQ(as_floats(product({2, 2}, {2, 2}, false, false)), (Values{201, 2010, 403, 4030}));
  EXPECT_EQ(as_floats(product({2, 2}, {2, 2}, true, false)), (Values{301, 3010, 402, 4020}));
  EXPECT_EQ(as_floats(product({2, 2}, {2, 2}, false, true)), (Values{21, 2100, 43, 4300}));
  // One matrix of the batch after the other; sizes of 1 broadcast.
  EXPECT_EQ(as_floats(product({2, 1, 2}, {2, 2, 1}, false, false)), (Values{21, 4300}));
  const Tensor rows = product({1, 1, 4}, {2, 1, 2}, true, false);
  EXPECT_EQ(rows.shape(), (Shape{2, 4, 2}));
  EXPECT_EQ(as_floats(rows)[9], 1000.0f);
  EXPECT_EQ(as_floats(rows)[15], 4000.0f);
}

TEST(TfliteReductions, AxesAndSoftmax) {
  const auto reduce = [&](int code, bool keeps, const std::vector<std::int32_t>& axes) {
    return answers_of({.code = code,
                       .inputs = {kTfliteOperatorsRamp},
                       .constants = {s32s({static_cast<std::int64_t>(axes.size())}, axes)},
                       .kind = tfl::BuiltinOptions::ReducerOptions,
                       .options = options_of(tfl::CreateReducerOptions, keeps)})[0];
  };
  EXPECT_EQ(as_floats(reduce(40, false, {1, 2})), Values{5});
  EXPECT_EQ(reduce(40, false, {1, 2}).shape(), (Shape{1, 1}));
  EXPECT_EQ(reduce(40, true, {1, 2}).shape(), (Shape{1, 1, 1, 1}));
  EXPECT_EQ(as_floats(reduce(74, false, {-2})), (Values{6, 15, 24}));
  EXPECT_EQ(as_floats(reduce(82, false, {1, 1})), (Values{7, 8, 9}));
  const Values y = answer_of({.code = 25,
                              .inputs = {floats({1, 2}, {0, 2})},
                              .kind = tfl::BuiltinOptions::SoftmaxOptions,
                              .options = options_of(tfl::CreateSoftmaxOptions, 0.5f)});
  EXPECT_FLOAT_EQ(y[1], 0.7310586f);
}

TEST(TfliteShaping, ShapesThatFollow) {
  const auto shape_after = [&](const OneOperator& op) { return answers_of(op)[0].shape(); };
  EXPECT_EQ(shape_after({.code = 22, .inputs = {kTfliteOperatorsRamp}, .constants = {s32s({2}, {-1, 3})}}),
            (Shape{3, 3}));
  EXPECT_EQ(shape_after({.code = 43, .inputs = {kTfliteOperatorsRamp}}), (Shape{3, 3}));
  EXPECT_EQ(shape_after({.code = 70, .inputs = {kTfliteOperatorsRamp}, .constants = {s32s({}, {-1})}}),
            (Shape{1, 3, 3, 1, 1}));
  EXPECT_EQ(as_floats(answers_of(
                {.code = 39, .inputs = {floats({2, 2}, {1, 2, 3, 4})}, .constants = {s32s({2}, {1, 0})}})[0]),
            (Values{1, 3, 2, 4}));
  const Tensor shape = answers_of({.code = 77, .inputs = {kTfliteOperatorsRamp}, .to = DType::s32})[0];
  EXPECT_EQ(to_int64s(shape.view()), (std::vector<std::int64_t>{1, 3, 3, 1}));
}

// A shape that was written for one sample means one sample.
TEST(TfliteShaping, ReshapeFollowsTheBatch) {
  TfliteBuilder builder;
  const int x = builder.input({.name = "x", .shape = {1, 2, 2}});
  const int shape = builder.constant(s32s({2}, {1, 4}));
  builder.add({.code = 22, .inputs = {x, shape}, .outputs = {builder.output({.name = "y", .shape = {1, 4}})}});
  const auto y = answers(builder, {floats({3, 2, 2}, Values(12, 1))}, {.batch = 3});
  ASSERT_EQ(y.size(), 1u);
  EXPECT_EQ(y[0].shape(), (Shape{3, 4}));
}

}  // namespace
}  // namespace octavo::testing
