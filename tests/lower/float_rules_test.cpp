// Rules for what computes in f32: batch norms, activations, clamps instead of pairs, fused convolutions.
#include <cmath>

#include "lower/graph_builder.h"
#include "lower/lower.h"
#include "lower/rules/activation_patterns.h"
#include "lower/rules/clamp_for_pair.h"
#include "lower/rules/fold_batch_norm.h"
#include "lower/rules/fold_constants.h"
#include "lower/rules/fuse_float_conv.h"
#include "lower/rules/layer_norm_pattern.h"
#include "lower/rules/pad_into_window.h"
#include "lower/rules/parallel_convs.h"
#include "lower/rules/scale_into_conv.h"
#include "lower/rules/scale_into_matmul.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/fused_conv/fused_conv.h"
#include "ops/matmul/matmul.h"
#include "ops/max_pool/max_pool.h"
#include "ops/pad/pad.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/reduce/reduce.h"
#include "ops/transpose/transpose.h"
#include "quantize/node_pattern.h"

namespace octavo {
namespace {

ValueId norm(GraphBuilder& b, ValueId x, std::int64_t channels, std::int64_t axis) {
  const ValueId variance = b.unary(UnaryKind::abs, b.random_constant(DType::f32, {channels}, 4));
  Graph& graph = b.graph;
  auto folded =
      evaluate_op(kUnary, UnaryAttrs{UnaryKind::abs},
                  std::vector<ConstTensorView>{graph.fact(graph.producer(variance)->inputs[0]).constant->view()});
  const ValueId positive = graph.add_constant("variance", folded->front());
  return b.add(kBatchNorm, BatchNormAttrs{1e-3f, axis},
               {x, b.random_constant(DType::f32, {channels}, 1), b.random_constant(DType::f32, {channels}, 2),
                b.random_constant(DType::f32, {channels}, 3), positive});
}

TEST(FoldBatchNorm, IntoConvolutionsOfBothLayouts) {
  for (Layout layout : {Layout::channels_first, Layout::channels_last}) {
    for (bool has_bias : {true, false}) {
      GraphBuilder b;
      const bool is_first = layout == Layout::channels_first;
      const ValueId x = b.input(DType::f32, is_first ? Shape{1, 3, 4, 5} : Shape{1, 4, 5, 3});
      const ValueId w = b.random_constant(DType::f32, is_first ? Shape{6, 3, 2, 2} : Shape{6, 2, 2, 3});
      const ValueId bias = has_bias ? b.random_constant(DType::f32, {6}) : ValueId{};
      b.output(norm(b, b.conv(x, w, {2, 2}, layout, bias), 6, is_first ? 1 : 3));
      b.graph.remove_unused();
      EXPECT_EQ(apply_closely(b.graph, fold_batch_norm), 1);
      EXPECT_EQ(b.graph.node_count(), 1);
    }
  }
}

TEST(FoldBatchNorm, RefusesAConvolutionThatOthersRead) {
  GraphBuilder b;
  const ValueId y = b.conv(b.input(DType::f32, {1, 3, 4, 5}), b.random_constant(DType::f32, {6, 3, 1, 1}), {1, 1},
                           Layout::channels_first);
  b.output(norm(b, y, 6, 1));
  b.output(y);
  b.graph.remove_unused();
  EXPECT_EQ(refusal(b.graph, fold_batch_norm), "the convolution before it has several readers");
  EXPECT_EQ(apply_closely(b.graph, batch_norm_to_conv), 1);
  EXPECT_EQ(count(b.graph, kConv), 2);
}

// Both branches read x: of 3x3 taps in `groups`, and of 1x1 in `fine`.
GraphBuilder two_branches(Layout layout, std::int64_t groups, std::int64_t fine, bool is_narrow_first) {
  GraphBuilder b;
  const bool is_first = layout == Layout::channels_first;
  const auto weights = [&](std::int64_t size, std::int64_t of) {
    const std::int64_t channels = 8 / of;
    return b.random_constant(DType::f32, is_first ? Shape{8, channels, size, size} : Shape{8, size, size, channels});
  };
  const ValueId x = b.input(DType::f32, is_first ? Shape{2, 8, 4, 5} : Shape{2, 4, 5, 8});
  const ValueId wide = b.conv(x, weights(3, groups), {3, 3}, layout, b.random_constant(DType::f32, {8}), groups, 1);
  const ValueId narrow = b.conv(x, weights(1, fine), {1, 1}, layout, {}, fine);
  b.output(is_narrow_first ? b.binary(BinaryKind::add, narrow, wide) : b.binary(BinaryKind::add, wide, narrow));
  return b;
}

TEST(ParallelConvs, AreOneOverTheWiderWindow) {
  for (Layout layout : {Layout::channels_first, Layout::channels_last}) {
    for (const auto& [groups, fine] : {std::pair{1, 1}, {1, 8}, {8, 8}, {2, 2}, {2, 4}, {4, 8}}) {
      for (bool is_narrow_first : {false, true}) {
        GraphBuilder b = two_branches(layout, groups, fine, is_narrow_first);
        EXPECT_EQ(apply_closely(b.graph, parallel_convs), 1);
        EXPECT_EQ(b.graph.node_count(), 1);
        EXPECT_EQ(first(b.graph, kConv).attrs.as<ConvAttrs>().groups, groups);
      }
    }
  }
  GraphBuilder coarse = two_branches(Layout::channels_first, 8, 1, false);
  EXPECT_EQ(refusal(coarse.graph, parallel_convs), "neither of the two windows holds the other");
}

TEST(ParallelConvs, MeetTapByTap) {
  struct Case {
    Window narrow, wide;
    bool fits;
  };
  const Case cases[] = {
      {{{1, 3}, {2, 1}, {1, 1}, {0, 1}, {0, 1}}, {{3, 3}, {2, 1}, {1, 1}, {1, 1}, {1, 1}}, true},
      {{{2, 2}, {1, 1}, {2, 2}, {0, 1}, {0, 1}}, {{3, 4}, {1, 1}, {2, 2}, {2, 3}, {0, 3}}, true},
      {{{2, 2}, {1, 1}, {1, 1}, {0, 0}, {1, 1}}, {{3, 3}, {1, 1}, {2, 2}, {2, 2}, {2, 2}}, false},
      {{{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}, {{2, 2}, {1, 1}, {2, 2}, {1, 1}, {1, 1}}, false},
      {{{1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}}, {{5, 5}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}, false},
  };
  for (const auto& [narrow, wide, fits] : cases) {
    GraphBuilder b;
    const ValueId x = b.input(DType::f32, {1, 3, 9, 9});
    const auto conv = [&](const Window& window) {
      const ValueId w = b.random_constant(DType::f32, {2, 3, window.kernel[0].fixed(), window.kernel[1].fixed()});
      return b.add(kConv, ConvAttrs{window, 1, Layout::channels_first}, {x, w});
    };
    b.output(b.binary(BinaryKind::add, conv(narrow), conv(wide)));
    EXPECT_EQ(apply_closely(b.graph, parallel_convs), fits ? 1 : 0);
  }
}

TEST(ParallelConvs, KeepTheNamesOfAll) {
  GraphBuilder b = two_branches(Layout::channels_first, 1, 1, true);
  const std::string wide = b.graph.node(b.graph.order()[0]).name, narrow = b.graph.node(b.graph.order()[1]).name;
  EXPECT_EQ(apply_closely(b.graph, parallel_convs), 1);
  const Node& sum = first(b.graph, kConv);
  EXPECT_EQ(sum.name, wide);
  EXPECT_TRUE(matches_node(wide, sum) && matches_node(narrow, sum)) << sum.origin;
  EXPECT_FALSE(matches_node(narrow + "x", sum));
}

TEST(ParallelConvs, LeaveWhatOthersReadAndOtherImages) {
  GraphBuilder b;
  const ValueId x = b.input(DType::f32, {1, 3, 4, 5}), other = b.input(DType::f32, {1, 3, 4, 5});
  const auto conv = [&](ValueId image) {
    return b.conv(image, b.random_constant(DType::f32, {2, 3, 1, 1}), {1, 1}, Layout::channels_first);
  };
  const ValueId shared = conv(x);
  b.output(shared);
  b.output(b.binary(BinaryKind::add, shared, conv(x)));
  b.output(b.binary(BinaryKind::add, conv(x), conv(other)));
  b.output(b.binary(BinaryKind::mul, conv(x), conv(x)));
  EXPECT_EQ(apply_closely(b.graph, parallel_convs), 0);
}

TEST(ScaleIntoConv, AddSubMulDiv) {
  for (BinaryKind kind : {BinaryKind::add, BinaryKind::sub, BinaryKind::mul, BinaryKind::div}) {
    for (bool conv_is_first : {true, false}) {
      if (kind == BinaryKind::div && !conv_is_first) continue;
      GraphBuilder b;
      const ValueId y = b.conv(b.input(DType::f32, {1, 3, 4, 5}), b.random_constant(DType::f32, {2, 3, 1, 1}), {1, 1},
                               Layout::channels_first, b.random_constant(DType::f32, {2}));
      const ValueId c = b.constant<float>({2, 1, 1}, {0.75f, -1.5f});
      b.output(conv_is_first ? b.binary(kind, y, c) : b.binary(kind, c, y));
      EXPECT_EQ(apply_closely(b.graph, scale_into_conv), 1);
      EXPECT_EQ(b.graph.node_count(), 1);
    }
  }
  GraphBuilder b;
  const ValueId y = b.conv(b.input(DType::f32, {1, 3, 4, 5}), b.random_constant(DType::f32, {2, 3, 1, 1}), {1, 1},
                           Layout::channels_first);
  b.output(b.binary(BinaryKind::add, y, b.random_constant(DType::f32, {4, 5})));
  EXPECT_EQ(refusal(b.graph, scale_into_conv), "");
}

TEST(ScaleIntoMatmul, ThroughBiasAndTranspose) {
  for (bool moves : {true, false}) {
    GraphBuilder b;
    ValueId y = b.add(kMatmul, NoAttrs{}, {b.input(DType::f32, {1, 4, 5, 3}), b.random_constant(DType::f32, {3, 2})});
    y = b.binary(BinaryKind::add, y, b.random_constant(DType::f32, {2}));
    if (moves) y = b.add(kTranspose, TransposeAttrs{{0, 3, 1, 2}}, {y});
    b.output(b.binary(BinaryKind::mul, b.constant<float>(moves ? Shape{2, 1, 1} : Shape{2}, {0.75f, -1.5f}), y));
    EXPECT_EQ(apply_closely(b.graph, scale_into_matmul), 1);
    EXPECT_EQ(b.graph.node_count(), moves ? 3 : 2);
  }
  GraphBuilder b;
  const ValueId y =
      b.add(kMatmul, NoAttrs{}, {b.input(DType::f32, {1, 4, 5, 3}), b.random_constant(DType::f32, {3, 2})});
  b.output(b.binary(BinaryKind::mul, y, b.random_constant(DType::f32, {5, 1})));
  EXPECT_EQ(refusal(b.graph, scale_into_matmul), "");
}

TEST(PadIntoWindow, ZerosAroundTheImageOnly) {
  GraphBuilder b;
  const ValueId x =
      b.add(kPad, PadAttrs{PadMode::constant, {0, 0, 1, 2}, {0, 0, 0, 1}}, {b.input(DType::f32, {1, 2, 3, 4})});
  b.output(b.conv(x, b.random_constant(DType::f32, {2, 2, 2, 2}), {2, 2}, Layout::channels_first));
  EXPECT_EQ(apply_exactly(b.graph, pad_into_window), 1);
  GraphBuilder c;
  const ValueId y =
      c.add(kPad, PadAttrs{PadMode::constant, {0, 1, 0, 0}, {0, 0, 0, 0}}, {c.input(DType::f32, {1, 2, 3, 4})});
  c.output(c.conv(y, c.random_constant(DType::f32, {2, 3, 2, 2}), {2, 2}, Layout::channels_first));
  EXPECT_EQ(refusal(c.graph, pad_into_window), "the padding before it crops or adds channels");
}

TEST(PadIntoWindow, TheLowestAroundAMaxPool) {
  const auto pooled = [](float value, std::int64_t before, Rounding rounding) {
    GraphBuilder b;
    const ValueId x = b.add(kPad, PadAttrs{PadMode::constant, {0, 0, before, 1}, {0, 0, 0, 1}},
                            {b.input(DType::f32, {1, 2, 5, 4}), b.scalar(value)});
    b.output(b.add(kMaxPool, MaxPoolAttrs{{{3, 3}, {2, 2}, {1, 1}, {0, 0}, {0, 0}}, rounding}, {x}));
    return b;
  };
  GraphBuilder b = pooled(-std::numeric_limits<float>::infinity(), 2, Rounding::floor);
  EXPECT_EQ(apply_exactly(b.graph, pad_into_window), 1);
  EXPECT_EQ(b.graph.node_count(), 1);
  const std::string outside = "a window could lie in the padding before it";
  const float lowest = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(refusal(pooled(lowest, 3, Rounding::floor).graph, pad_into_window), outside);
  EXPECT_EQ(refusal(pooled(lowest, 1, Rounding::ceil).graph, pad_into_window), outside);
  EXPECT_EQ(refusal(pooled(0.0f, 1, Rounding::floor).graph, pad_into_window), "the padding before it is not -inf");
}

// Positions through a small network: constants whose product is larger than they are.
TEST(FoldConstants, LargeResultsWithinABudget) {
  GraphBuilder b;
  const ValueId x = b.random_constant(DType::f32, {200, 2}), w = b.random_constant(DType::f32, {2, 300});
  const ValueId sums = b.unary(UnaryKind::neg, b.add(kMatmul, NoAttrs{}, {x, w}));
  b.output(b.binary(BinaryKind::add, sums, b.input(DType::f32, {200, 300})));
  Graph again = b.graph;
  EXPECT_EQ(refusal(b.graph, fold_constants), "its constant result is too large to store");
  FoldBudget budget;
  const auto rule = [&](const Graph& graph, const Node& node) {
    Match match = fold_large_constants(graph, node, budget);
    return std::holds_alternative<Patch>(match) ? match : fold_constants(graph, node);
  };
  EXPECT_EQ(apply_exactly(b.graph, rule), 2);
  EXPECT_EQ(b.graph.node_count(), 1);
  EXPECT_EQ(budget.macs, FoldBudget{}.macs - 200 * 2 * 300);
  budget.elements = 1000;
  EXPECT_EQ(refusal(again, rule), "its constant result is too large to store");
}

TEST(ActivationPatterns, WhatExportersWrite) {
  const auto expect = [](UnaryKind kind, const std::function<ValueId(GraphBuilder&, ValueId)>& write) {
    GraphBuilder b;
    b.output(write(b, b.input(DType::f32, {64})));
    apply_closely(b.graph, activation_patterns);
    ASSERT_EQ(b.graph.node_count(), 1) << to_string(b.graph);
    EXPECT_EQ(first(b.graph, kUnary).attrs.as<UnaryAttrs>().kind, kind);
  };
  const auto mul = [](GraphBuilder& b, ValueId x, ValueId y) { return b.binary(BinaryKind::mul, x, y); };
  const auto relu6 = [](GraphBuilder& b, ValueId x) {
    return b.unary(UnaryKind::clip, b.binary(BinaryKind::add, x, b.scalar(3.0f)), 0.0f, 6.0f);
  };
  expect(UnaryKind::silu, [&](GraphBuilder& b, ValueId x) { return mul(b, b.unary(UnaryKind::sigmoid, x), x); });
  expect(UnaryKind::hard_sigmoid,
         [&](GraphBuilder& b, ValueId x) { return b.binary(BinaryKind::div, relu6(b, x), b.scalar(6.0f)); });
  expect(UnaryKind::hard_swish,
         [&](GraphBuilder& b, ValueId x) { return mul(b, x, b.binary(BinaryKind::div, relu6(b, x), b.scalar(6.0f))); });
  expect(UnaryKind::hard_swish,
         [&](GraphBuilder& b, ValueId x) { return b.binary(BinaryKind::div, mul(b, x, relu6(b, x)), b.scalar(6.0f)); });
  expect(UnaryKind::hard_swish,
         [&](GraphBuilder& b, ValueId x) { return mul(b, x, b.unary(UnaryKind::hard_sigmoid, x, 1.0f / 6, 0.5f)); });
  const auto erf_gate = [](GraphBuilder& b, ValueId x) {
    return b.binary(BinaryKind::add, b.unary(UnaryKind::erf, b.binary(BinaryKind::div, x, b.scalar(1.41421356f))),
                    b.scalar(1.0f));
  };
  expect(UnaryKind::gelu,
         [&](GraphBuilder& b, ValueId x) { return mul(b, mul(b, x, erf_gate(b, x)), b.scalar(0.5f)); });
  expect(UnaryKind::gelu,
         [&](GraphBuilder& b, ValueId x) { return mul(b, mul(b, b.scalar(0.5f), x), erf_gate(b, x)); });
  expect(UnaryKind::gelu_tanh, [&](GraphBuilder& b, ValueId x) {
    const ValueId cube = b.binary(BinaryKind::pow, x, b.scalar(3.0f));
    const ValueId inner = b.binary(BinaryKind::add, x, mul(b, b.scalar(0.044715f), cube));
    const ValueId gate =
        b.binary(BinaryKind::add, b.unary(UnaryKind::tanh, mul(b, inner, b.scalar(0.79788456f))), b.scalar(1.0f));
    return mul(b, mul(b, b.scalar(0.5f), x), gate);
  });
  expect(UnaryKind::gelu_tanh, [&](GraphBuilder& b, ValueId x) {
    const ValueId square = mul(b, mul(b, b.scalar(0.044715f), x), x);
    const ValueId inner = mul(b, mul(b, x, b.scalar(0.79788456f)), b.binary(BinaryKind::add, b.scalar(1.0f), square));
    const ValueId gate = b.binary(BinaryKind::add, b.scalar(1.0f), b.unary(UnaryKind::tanh, inner));
    return mul(b, mul(b, b.scalar(0.5f), x), gate);
  });
  expect(UnaryKind::clip, [&](GraphBuilder& b, ValueId x) { return b.binary(BinaryKind::min, x, b.scalar(0.25f)); });
}

TEST(ActivationPatterns, NearMisses) {
  GraphBuilder b;
  const ValueId x = b.input(DType::f32, {8});
  b.output(b.binary(BinaryKind::mul, b.unary(UnaryKind::relu, x), b.unary(UnaryKind::sigmoid, x)));
  b.output(b.binary(BinaryKind::mul, x, b.unary(UnaryKind::hard_sigmoid, x, 0.2f, 0.5f)));
  EXPECT_EQ(refusal(b.graph, activation_patterns), "");
}

TEST(LayerNormPattern, WithScaleAndBias) {
  GraphBuilder b;
  const ValueId x = b.input(DType::f32, {3, 4, 6});
  const ReduceAttrs mean{ReduceKind::mean, {2}, true};
  const ValueId centred = b.binary(BinaryKind::sub, x, b.add(kReduce, mean, {x}));
  const ValueId variance = b.add(kReduce, mean, {b.binary(BinaryKind::pow, centred, b.scalar(2.0f))});
  const ValueId root = b.unary(UnaryKind::sqrt, b.binary(BinaryKind::add, variance, b.scalar(1e-5f)));
  const ValueId scaled =
      b.binary(BinaryKind::mul, b.binary(BinaryKind::div, centred, root), b.random_constant(DType::f32, {6}));
  b.output(b.binary(BinaryKind::add, scaled, b.random_constant(DType::f32, {6}, 2)));
  EXPECT_EQ(apply_closely(b.graph, layer_norm_pattern), 1);
  EXPECT_EQ(b.graph.node_count(), 1);
}

TEST(LayerNormPattern, ByTheReciprocalWithoutScale) {
  GraphBuilder b;
  const ValueId x = b.input(DType::f32, {3, 6});
  const ReduceAttrs mean{ReduceKind::mean, {1}, true};
  const ValueId centred = b.binary(BinaryKind::sub, x, b.add(kReduce, mean, {x}));
  const ValueId variance = b.add(kReduce, mean, {b.binary(BinaryKind::mul, centred, centred)});
  const ValueId root = b.unary(UnaryKind::sqrt, b.binary(BinaryKind::add, b.scalar(1e-3f), variance));
  b.output(b.binary(BinaryKind::mul, b.unary(UnaryKind::reciprocal, root), centred));
  EXPECT_EQ(apply_closely(b.graph, layer_norm_pattern), 1);
  EXPECT_EQ(b.graph.node_count(), 1);
}

TEST(ClampForPair, RangeOfTheTypeOrNothing) {
  GraphBuilder b;
  const ValueId x = b.input(DType::f32, {8});
  b.output(b.dequantize(b.quantize(x, 0.02f, 100), 0.02f, 100));
  EXPECT_EQ(rewrite(b.graph, "rule", clamp_for_pair).applied(), 1);
  const auto& clip = first(b.graph, kUnary).attrs.as<UnaryAttrs>();
  EXPECT_FLOAT_EQ(clip.alpha, -2.0f);
  EXPECT_FLOAT_EQ(clip.beta, 3.1f);
  GraphBuilder c;
  const ValueId gate = c.unary(UnaryKind::sigmoid, c.input(DType::f32, {8}));
  c.output(c.unary(UnaryKind::neg, c.dequantize(c.quantize(gate, 1.0f / 256, 0), 1.0f / 256, 0)));
  EXPECT_EQ(rewrite(c.graph, "rule", clamp_for_pair).applied(), 1);
  EXPECT_EQ(c.graph.node_count(), 2);
}

TEST(MergeClamps, InTheirOrder) {
  GraphBuilder b;
  b.output(b.unary(UnaryKind::relu, b.unary(UnaryKind::clip, b.input(DType::f32, {64}), -6.0f, -1.0f)));
  b.output(b.unary(UnaryKind::clip, b.unary(UnaryKind::relu, b.graph.inputs()[0]), -1.0f, 0.25f));
  EXPECT_EQ(apply_exactly(b.graph, merge_clamps), 2);
  EXPECT_EQ(b.graph.node_count(), 2);
}

TEST(FuseFloatConv, ResidualAndActivation) {
  GraphBuilder b;
  const ValueId x = b.input(DType::f32, {1, 4, 4, 2});
  const ValueId y = b.conv(x, b.random_constant(DType::f32, {2, 3, 3, 2}), {3, 3}, Layout::channels_last,
                           b.random_constant(DType::f32, {2}), 1, 1);
  b.output(b.unary(UnaryKind::silu, b.binary(BinaryKind::add, x, y)));
  EXPECT_EQ(apply_closely(b.graph, fuse_float_conv), 1);
  EXPECT_EQ(b.graph.node_count(), 1);
  EXPECT_EQ(first(b.graph, kFusedConv).attrs.as<FusedConvAttrs>().residual, ResidualPlace::before_activation);
  GraphBuilder c;
  c.output(c.conv(c.input(DType::f32, {1, 2, 4, 4}), c.random_constant(DType::f32, {2, 2, 1, 1}), {1, 1},
                  Layout::channels_first));
  EXPECT_EQ(refusal(c.graph, fuse_float_conv), "it has other than one or two spatial axes");
}

// As in Darknet and YOLO; what is added twice is added once inside, and a value of another shape stays outside.
TEST(FuseFloatConv, ActivationAndResidual) {
  GraphBuilder b;
  const ValueId x = b.input(DType::f32, {1, 4, 4, 2});
  const ValueId y = b.conv(x, b.random_constant(DType::f32, {2, 3, 3, 2}), {3, 3}, Layout::channels_last, {}, 1, 1);
  const ValueId sum = b.binary(BinaryKind::add, x, b.unary(UnaryKind::leaky_relu, y, 0.1f));
  b.output(b.binary(BinaryKind::add, sum, b.random_constant(DType::f32, {1, 4, 4, 2})));
  EXPECT_EQ(apply_closely(b.graph, fuse_float_conv), 1);
  EXPECT_EQ(b.graph.node_count(), 2);
  EXPECT_EQ(first(b.graph, kFusedConv).attrs.as<FusedConvAttrs>().residual, ResidualPlace::after_activation);
  GraphBuilder c;
  const ValueId conv = c.conv(c.input(DType::f32, {1, 4, 4, 2}), c.random_constant(DType::f32, {2, 3, 3, 2}), {3, 3},
                              Layout::channels_last, {}, 1, 1);
  c.output(c.binary(BinaryKind::add, c.unary(UnaryKind::relu, conv), c.input(DType::f32, {2})));
  EXPECT_EQ(apply_closely(c.graph, fuse_float_conv), 1);
  EXPECT_EQ(first(c.graph, kFusedConv).attrs.as<FusedConvAttrs>().residual, ResidualPlace::none);
}

// A convolution in f32 between nothing that is quantized, chosen or not.
TEST(KeptInF32, ConvolutionsAreFusedInAnInt8Model) {
  for (const bool is_chosen : {true, false}) {
    GraphBuilder b;
    const ValueId x = b.input(DType::f32, {1, 3, 6, 6});
    const ValueId conv = b.conv(x, b.random_constant(DType::f32, {4, 3, 3, 3}), {3, 3}, Layout::channels_first,
                                b.random_constant(DType::f32, {4}));
    b.output(b.unary(UnaryKind::relu, conv));
    const std::string name = b.graph.producer(conv)->name;
    const std::vector<Tensor> before = answers(b.graph);
    LowerOptions options;
    if (is_chosen) options.kept_in_f32 = {name};
    const auto report = lower(b.graph, options);
    ASSERT_TRUE(report) << to_string(report.errors());
    int fused = 0;
    for (const NodeId id : b.graph.order()) fused += b.graph.node(id).spec == &kFusedConv ? 1 : 0;
    EXPECT_EQ(fused, 1);
    EXPECT_TRUE(report->notes.empty());
    const std::vector<Tensor> after = answers(b.graph);
    for (std::int64_t i = 0; i < before[0].elements(); ++i)
      EXPECT_NEAR(before[0].as<float>()[i], after[0].as<float>()[i], 1e-4f);
  }
}

// Three quantized convolutions in a row, ReLU after the first; of what is kept in f32 the weights become f32, and pairs
// in between go.
TEST(KeptInF32, NodesOfAQuantizedGraph) {
  struct Case {
    std::vector<int> kept;  // convolutions; the first with its ReLU
    int fused, quantized, quantizes, dequantizes;
  };
  for (const Case& expected : {Case{{}, 0, 3, 1, 1}, Case{{0}, 1, 2, 1, 1}, Case{{1}, 1, 2, 2, 2},
                               Case{{0, 1}, 2, 1, 1, 1}, Case{{0, 1, 2}, 3, 0, 1, 1}}) {
    GraphBuilder b;
    LowerOptions options;
    const auto pair = [&](ValueId x, float scale) { return b.dequantize(b.quantize(x, scale, 128), scale, 128); };
    ValueId x = pair(b.input(DType::f32, {1, 4, 6, 6}), 0x1p-7f);
    for (int i = 0; i < 3; ++i) {
      x = b.conv(x, b.weights({4, 4, 3, 3}, static_cast<unsigned>(i) + 1), {3, 3}, Layout::channels_first, {}, 1, 1);
      const bool is_kept = std::find(expected.kept.begin(), expected.kept.end(), i) != expected.kept.end();
      if (is_kept) options.kept_in_f32.insert(b.graph.producer(x)->name);
      if (i == 0) x = b.unary(UnaryKind::relu, x);
      if (i == 0 && is_kept) options.kept_in_f32.insert(b.graph.producer(x)->name);
      x = pair(x, 0x1p-4f);
    }
    b.output(x);
    const std::vector<Tensor> before = answers(b.graph);
    const auto report = lower(b.graph, options);
    ASSERT_TRUE(report) << to_string(report.errors());
    EXPECT_EQ(count(b.graph, kFusedConv), expected.fused) << to_string(b.graph);
    EXPECT_EQ(count(b.graph, kQuantizedConv), expected.quantized) << to_string(b.graph);
    EXPECT_EQ(count(b.graph, kQuantize), expected.quantizes) << to_string(b.graph);
    EXPECT_EQ(count(b.graph, kDequantize), expected.dequantizes) << to_string(b.graph);
    const std::vector<Tensor> after = answers(b.graph);
    double signal = 0.0, noise = 0.0;
    for (std::int64_t i = 0; i < before[0].elements(); ++i) {
      const double wanted = before[0].as<float>()[i], error = after[0].as<float>()[i] - wanted;
      signal += wanted * wanted;
      noise += error * error;
    }
    EXPECT_LT(noise, 1e-3 * signal) << expected.kept.size();
    EXPECT_GT(signal, 1.0);
  }
}

}  // namespace
}  // namespace octavo
