// Rules whose numbers are TFLite's: within a step of the floats they replace, and what they leave alone. The numbers
// themselves are held against LiteRT elsewhere (tests/conformance). And nodes that somebody keeps in f32.
#include <cmath>
#include <set>

#include "lower/graph_builder.h"
#include "lower/rules/fixed_table.h"
#include "lower/rules/fuse_l2_norm.h"
#include "lower/rules/fuse_product.h"
#include "lower/rules/fuse_resize.h"
#include "lower/rules/kept_in_float.h"
#include "ops/fixed_l2_norm/fixed_l2_norm.h"
#include "ops/integer_resize/integer_resize.h"
#include "ops/matmul/matmul.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"
#include "ops/reduce/reduce.h"
#include "ops/resize/resize.h"
#include "ops/table/table.h"

namespace octavo {
namespace {

constexpr Profile kProfiles[] = {Profile::tflite_xnnpack, Profile::tflite_double, Profile::tflite_single};

ValueId quantize_as(GraphBuilder& b, ValueId x, float scale, int zero, Profile profile, DType to = DType::s8) {
  return b.add(kQuantize, QuantizeAttrs{.to = to, .profile = profile}, {x, b.scalar(scale), b.zero_point(to, zero)});
}

Graph unary_graph(UnaryKind kind, float x_scale, float y_scale, Profile profile) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::s8, {2, 64}), x_scale, 3);
  b.output(quantize_as(b, b.unary(kind, x, 0.25f), y_scale, -10, profile));
  return std::move(b.graph);
}

TEST(FixedTable, OneFunctionBecomesATable) {
  for (const UnaryKind kind : {UnaryKind::relu, UnaryKind::leaky_relu, UnaryKind::hard_swish, UnaryKind::sigmoid}) {
    for (const Profile profile : {Profile::tflite_double, Profile::tflite_single}) {
      SCOPED_TRACE(name_of(kind));
      const Graph after = apply_within(unary_graph(kind, 0.05f, 0.03f, profile), fixed_table);
      EXPECT_EQ(count(after, kTable), 1);
      EXPECT_EQ(after.node_count(), 1);
    }
  }
}

TEST(FixedTable, LeavesOtherFunctionsAndRoundings) {
  EXPECT_EQ(refusal(unary_graph(UnaryKind::relu, 0.05f, 0.03f, Profile::onnx), fixed_table), "");
  EXPECT_EQ(refusal(unary_graph(UnaryKind::tanh, 0.05f, 0.03f, Profile::tflite_double), fixed_table),
            "its function has no fixed-point form");
}

Graph l2_norm_graph(float epsilon, float y_scale, Profile profile) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::s8, {2, 3, 8}), 0.05f, 3);
  const ValueId length = b.add(kReduce, ReduceAttrs{.kind = ReduceKind::l2, .axes = {2}}, {x});
  const ValueId bounded = b.binary(BinaryKind::max, length, b.scalar(epsilon));
  b.output(quantize_as(b, b.binary(BinaryKind::div, x, bounded), y_scale, 0, profile));
  return std::move(b.graph);
}

TEST(FuseL2Norm, BecomesOneOperator) {
  for (const Profile profile : {Profile::tflite_double, Profile::tflite_single}) {
    const Graph after = apply_within(l2_norm_graph(1e-6f, 0x1p-7f, profile), fuse_l2_norm);
    EXPECT_EQ(count(after, kFixedL2Norm), 1);
    EXPECT_EQ(after.node_count(), 1);
  }
}

TEST(FuseL2Norm, LeavesOtherUnitsRoundingsAndBounds) {
  EXPECT_EQ(refusal(l2_norm_graph(1e-6f, 0x1p-6f, Profile::tflite_double), fuse_l2_norm),
            "its result is not in units of 1/128");
  EXPECT_EQ(refusal(l2_norm_graph(1e-6f, 0x1p-7f, Profile::onnx), fuse_l2_norm),
            "there is no integer form of it for this rounding");
  EXPECT_EQ(refusal(l2_norm_graph(0.5f, 0x1p-7f, Profile::tflite_double), fuse_l2_norm), "");
}

Graph product_graph(bool has_bias, Profile profile) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::s8, {3, 16}), 0.05f, 3);
  const ValueId w = b.add(kDequantize, DequantizeAttrs{}, {b.random_constant(DType::s8, {16, 5}), b.scalar(0.02f)});
  ValueId y = b.add(kMatmul, NoAttrs{}, {x, w});
  if (has_bias) {
    const ValueId bias = b.constant<std::int32_t>({5}, {100, -2000, 30000, 0, 7});
    y = b.binary(BinaryKind::add, y, b.add(kDequantize, DequantizeAttrs{}, {bias, b.scalar(0.05f * 0.02f)}));
  }
  b.output(quantize_as(b, y, 0.9f, -7, profile));
  return std::move(b.graph);
}

TEST(FuseProduct, BecomesSumsAndOneRounding) {
  for (const bool has_bias : {false, true}) {
    const Graph after = apply_within(product_graph(has_bias, Profile::tflite_real), fuse_product);
    EXPECT_EQ(count(after, kQuantizedConv), 1);
    EXPECT_EQ(count(after, kQuantizedElementwise), 1);
    EXPECT_EQ(count(after, kMatmul), 0);
  }
}

TEST(FuseProduct, IsForOneProfileAlone) {
  for (const Profile profile : {Profile::onnx, Profile::tflite_xnnpack, Profile::tflite_double, Profile::tflite_single})
    EXPECT_EQ(refusal(product_graph(true, profile), fuse_product), "");
}

Graph resize_graph(ResizeMode mode, ResizeCoordinates coordinates, float y_scale, Profile profile) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::s8, {1, 4, 5, 3}), 0.05f, 3);
  const ResizeAttrs attrs{
      .mode = mode, .coordinates = coordinates, .sizes = {1, 8, 10, 3}, .scales = {1.0f, 2.0f, 2.0f, 1.0f}};
  b.output(quantize_as(b, b.add(kResize, attrs, {x}), y_scale, 3, profile));
  return std::move(b.graph);
}

TEST(FuseResize, BecomesOneOperator) {
  for (const Profile profile : kProfiles) {
    for (const auto coordinates : {ResizeCoordinates::half_pixel, ResizeCoordinates::align_corners}) {
      const Graph after = apply_within(resize_graph(ResizeMode::linear, coordinates, 0.05f, profile), fuse_resize);
      EXPECT_EQ(count(after, kIntegerResize), 1);
      EXPECT_EQ(after.node_count(), 1);
    }
  }
}

TEST(FuseResize, LeavesOtherScalesModesAndCoordinates) {
  const auto half = ResizeCoordinates::half_pixel;
  EXPECT_EQ(refusal(resize_graph(ResizeMode::linear, half, 0.06f, Profile::tflite_double), fuse_resize),
            "its result has another scale");
  EXPECT_EQ(refusal(resize_graph(ResizeMode::cubic, half, 0.05f, Profile::tflite_double), fuse_resize),
            "it has no integer form");
  EXPECT_EQ(refusal(resize_graph(ResizeMode::linear, half, 0.05f, Profile::onnx), fuse_resize), "");
}

// A convolution of values and weights that came quantized.
struct KeptConv {
  GraphBuilder b;
  ValueId x, pair, w;
  KeptConv() {
    x = b.input(DType::f32, {1, 5, 5, 2});
    pair = b.dequantize(b.quantize(x, 0x1p-8f, 128), 0x1p-8f, 128);
    w = b.weights({3, 2, 2, 2});
    b.output(b.conv(pair, w, {2, 2}, Layout::channels_last));
  }
};

TEST(KeptInFloat, PairsBecomeAClampAndWeightsFloats) {
  KeptConv kept;
  GraphBuilder plain;
  const ValueId x = plain.input(DType::f32, {1, 5, 5, 2});
  const ValueId clamped = plain.unary(UnaryKind::clip, x, -0.5f, 127.0f / 256.0f);
  plain.output(plain.conv(clamped, plain.weights({3, 2, 2, 2}), {2, 2}, Layout::channels_last));
  const std::set<std::string> names = {first(kept.b.graph, kConv).name};
  const PassReport report = rewrite(
      kept.b.graph, "rule", [&](const Graph& graph, const Node& node) { return keep_in_float(graph, node, names); });
  EXPECT_TRUE(report.failures.empty()) << to_string(report.failures);
  EXPECT_EQ(count(kept.b.graph, kDequantize) + count(kept.b.graph, kQuantize), 0) << to_string(kept.b.graph);
  EXPECT_EQ(answers(kept.b.graph), answers(plain.graph));
}

TEST(KeptInFloat, WhatOthersReadStaysAsItIs) {
  KeptConv kept;
  const std::set<std::string> names = {first(kept.b.graph, kConv).name};
  const Matcher rule = [&](const Graph& graph, const Node& node) { return keep_in_float(graph, node, names); };
  kept.b.output(kept.pair);
  kept.b.output(kept.w);
  EXPECT_EQ(refusal(kept.b.graph, rule), "");
  KeptConv other;
  EXPECT_EQ(refusal(other.b.graph,
                    [](const Graph& graph, const Node& node) { return keep_in_float(graph, node, {"another"}); }),
            "");
}

}  // namespace
}  // namespace octavo
