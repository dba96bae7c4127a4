// Rules of s16 values in TFLite's arithmetic: within a step of the floats they replace, and what they leave alone. The
// numbers themselves are held against LiteRT elsewhere (tests/import/litert_16x8). Part of the tests of lower/.
#include "lower/graph_builder.h"
#include "lower/rules/fixed_table.h"
#include "lower/rules/fuse_binary.h"
#include "lower/rules/fuse_resize.h"
#include "lower/rules/fuse_s16_conv.h"
#include "lower/rules/fuse_softmax.h"
#include "lower/rules/fuse_sum.h"
#include "ops/integer_resize/integer_resize.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"
#include "ops/quantized_pool/quantized_pool.h"
#include "ops/quantized_softmax/quantized_softmax.h"
#include "ops/reduce/reduce.h"
#include "ops/resize/resize.h"
#include "ops/s16_byte/s16_byte.h"
#include "ops/softmax/softmax.h"
#include "ops/table/table.h"

namespace octavo {
namespace {

ValueId quantize_s16(GraphBuilder& b, ValueId x, float scale, Profile profile, int zero = 0) {
  return b.add(kQuantize, QuantizeAttrs{.to = DType::s16, .profile = profile},
               {x, b.scalar(scale), b.zero_point(DType::s16, zero)});
}

struct ConvCase {
  Profile profile = Profile::tflite_wide;
  std::int64_t groups = 1;
  bool has_bias = true, has_relu = false;
  int x_zero = 0;
  std::int64_t bias = -300000;
};

// A multiplier of 15 bits may err by a 32768th of the result: results of up to 300 steps.
Graph conv_graph(const ConvCase& one) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::s16, {1, 6, 5, 4}), 0x1p-10f, one.x_zero);
  const ValueId w = b.weights(Shape{8, 3, 3, 4 / one.groups});
  std::vector<float> scales;
  for (int i = 0; i < 8; ++i) scales.push_back(i % 2 == 0 ? 0x1p-17f : 0x1p-18f);
  ValueId bias;
  if (one.has_bias) {
    const ValueId values = b.constant<std::int64_t>({8}, {0, 5, -700, 90000, one.bias, 255, 256, -256});
    bias = b.add(kDequantize, DequantizeAttrs{.axis = 0}, {values, b.constant<float>({8}, scales)});
  }
  ValueId y = b.conv(x, w, {3, 3}, Layout::channels_last, bias, one.groups, 1);
  if (one.has_relu) y = b.unary(UnaryKind::relu, y);
  b.output(quantize_s16(b, y, 0.01f, one.profile));
  return std::move(b.graph);
}

TEST(FuseS16Conv, BecomesTwoConvolutionsOfBytes) {
  for (const Profile profile : {Profile::tflite_wide, Profile::tflite_double, Profile::tflite_single,
                                Profile::tflite_optimized, Profile::tflite_real}) {
    for (const std::int64_t groups : {1, 4}) {
      for (const bool has : {false, true}) {
        const Graph after = apply_within(conv_graph({profile, groups, has, has}), fuse_s16_conv, 2.0);
        EXPECT_EQ(count(after, kS16Byte), 2);
        EXPECT_EQ(count(after, kQuantizedConv), 2);
        EXPECT_EQ(count(after, kQuantizedElementwise), 1);
        EXPECT_EQ(after.node_count(), 5);
      }
    }
  }
}

TEST(FuseS16Conv, LeavesOtherRoundingsZeroPointsAndLargeBiases) {
  EXPECT_EQ(refusal(conv_graph({.profile = Profile::onnx}), fuse_s16_conv),
            "sums of s16 values have no form of this rounding");
  EXPECT_EQ(refusal(conv_graph({.x_zero = 3}), fuse_s16_conv), "its s16 input has a zero point");
  EXPECT_EQ(refusal(conv_graph({.bias = std::int64_t{1} << 42}), fuse_s16_conv),
            "the bias of output channel 4 is too large");
}

Graph pair_graph(BinaryKind kind, Profile profile, DType other = DType::s16) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::s16, {3, 40}), 1e-3f, 0),
                y = b.dequantize(b.input(other, {40}), 2e-3f, 0);
  b.output(quantize_s16(b, b.binary(kind, x, y), kind == BinaryKind::mul ? 1e-2f : 2e-3f, profile));
  return std::move(b.graph);
}

TEST(FuseBinaryOfS16, InFixedPoint) {
  for (const BinaryKind kind : {BinaryKind::add, BinaryKind::sub, BinaryKind::mul}) {
    for (const Profile profile : {Profile::tflite_double, Profile::tflite_single})
      EXPECT_EQ(count(apply_within(pair_graph(kind, profile), fuse_binary), kQuantizedElementwise), 1);
  }
  EXPECT_EQ(refusal(pair_graph(BinaryKind::add, Profile::onnx), fuse_binary),
            "there is no integer form of add of two s16 values");
  EXPECT_EQ(refusal(pair_graph(BinaryKind::add, Profile::tflite_double, DType::s8), fuse_binary),
            "not all of its operands and its result are s16 without zero points");
}

Graph function_of_s16(UnaryKind kind, Profile profile, float y_scale, int zero = 0) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::s16, {2, 300}), 2e-4f, zero);
  b.output(quantize_s16(b, b.unary(kind, x, 0.25f), y_scale, profile));
  return std::move(b.graph);
}

TEST(FixedTableOfS16, OneFunctionBecomesATable) {
  struct Case {
    UnaryKind kind;
    float y_scale;
    double steps;
  };
  for (const Case& one :
       {Case{UnaryKind::relu, 3e-4f, 1}, Case{UnaryKind::leaky_relu, 3e-4f, 1}, Case{UnaryKind::abs, 3e-4f, 1},
        Case{UnaryKind::sigmoid, 0x1p-15f, 4}, Case{UnaryKind::tanh, 0x1p-15f, 12}, Case{UnaryKind::gelu, 2e-4f, 4},
        Case{UnaryKind::exp, 0.03f, 2}}) {
    SCOPED_TRACE(name_of(one.kind));
    for (const Profile profile : {Profile::tflite_double, Profile::tflite_optimized}) {
      const Graph after = apply_within(function_of_s16(one.kind, profile, one.y_scale), fixed_table, one.steps);
      EXPECT_EQ(count(after, kTable), 1);
      EXPECT_EQ(after.node_count(), 1);
    }
  }
  EXPECT_EQ(refusal(function_of_s16(UnaryKind::tanh, Profile::onnx, 0x1p-15f), fixed_table), "");
  EXPECT_EQ(refusal(function_of_s16(UnaryKind::exp, Profile::tflite_double, 0.03f, 5), fixed_table),
            "its function has no fixed-point form");
}

TEST(FixedTableOfS16, ThereAreSoManyAtMost) {
  GraphBuilder b;
  const ValueId x = b.input(DType::s16, {2});
  const ValueId table = b.random_constant(DType::s16, Shape{65536});
  for (int i = 0; i < 1024; ++i) b.output(b.add(kTable, NoAttrs{}, {x, table}));
  b.output(quantize_s16(b, b.unary(UnaryKind::exp, b.dequantize(x, 1e-4f, 0)), 0.01f, Profile::tflite_double));
  EXPECT_EQ(refusal(b.graph, fixed_table), "there are 1024 tables of s16 values already");
}

Graph mean_graph(Profile profile) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::s16, {2, 7, 5, 6}), 1e-3f, 0);
  const ReduceAttrs mean{.kind = ReduceKind::mean, .axes = {1, 2}, .keep_dims = true};
  b.output(quantize_s16(b, b.add(kReduce, mean, {x}), 2e-4f, profile));
  return std::move(b.graph);
}

TEST(FuseSumOfS16, BecomesTwoPoolsOfBytes) {
  const Graph after = apply_within(mean_graph(Profile::tflite_double), fuse_sum);
  EXPECT_EQ(count(after, kQuantizedPool), 2);
  EXPECT_EQ(count(after, kQuantizedElementwise), 1);
  EXPECT_EQ(refusal(mean_graph(Profile::tflite_xnnpack), fuse_sum), "sums of s16 values have no form of this rounding");
}

TEST(FuseSoftmaxOfS16, BecomesOneOperator) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::s16, {3, 20}), 2e-2f, 0);
  b.output(quantize_s16(b, b.add(kSoftmax, SoftmaxAttrs{.axis = 1}, {x}), 0x1p-15f, Profile::tflite_double));
  EXPECT_EQ(count(apply_within(std::move(b.graph), fuse_softmax, 40.0), kQuantizedSoftmax), 1);
}

TEST(FuseResizeOfS16, BecomesOneOperator) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::s16, {1, 4, 5, 3}), 1e-3f, 0);
  const ResizeAttrs attrs{.mode = ResizeMode::linear,
                          .coordinates = ResizeCoordinates::half_pixel,
                          .sizes = {1, 8, 10, 3},
                          .scales = {1.0f, 2.0f, 2.0f, 1.0f}};
  b.output(quantize_s16(b, b.add(kResize, attrs, {x}), 1e-3f, Profile::tflite_double));
  EXPECT_EQ(count(apply_within(std::move(b.graph), fuse_resize, 70.0), kIntegerResize), 1);
}

}  // namespace
}  // namespace octavo
