// What each ONNX operator means, by answers worked out by hand. Part of the tests of import/.
#include <gtest/gtest.h>

#include "graph/graph.h"
#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

using Ints = std::vector<std::int64_t>;
using Values = std::vector<float>;
using I = std::int64_t;

const Tensor kOperatorsRamp = floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});

TEST(ImportConv, PadsStridesAndBias) {
  const auto y = answers_of("Conv", 11, {kOperatorsRamp}, {floats({1, 1, 2, 2}, {1, 1, 1, 1}), floats({1}, {100})},
                            {{"pads", Ints{1, 1, 0, 0}}, {"strides", Ints{2, 2}}});
  EXPECT_EQ(as_floats(y[0]), (Values{101, 105, 111, 128}));
}

TEST(ImportConv, SameUpperPutsTheRestAtTheEnd) {
  const Tensor w = floats({1, 1, 2, 2}, {1, 1, 1, 1});
  EXPECT_EQ(as_floats(answers_of("Conv", 11, {kOperatorsRamp}, {w}, {{"auto_pad", std::string("SAME_UPPER")}})[0]),
            (Values{12, 16, 9, 24, 28, 15, 15, 17, 9}));
  EXPECT_EQ(as_floats(answers_of("Conv", 11, {kOperatorsRamp}, {w}, {{"auto_pad", std::string("SAME_LOWER")}})[0]),
            (Values{1, 3, 5, 5, 12, 16, 11, 24, 28}));
}

TEST(ImportConv, FusedConvAddsThenActivates) {
  const auto y = answers_of("FusedConv", 1, {floats({1, 1, 1, 2}, {1, -5})},
                            {floats({1, 1, 1, 1}, {2}), floats({1}, {1}), floats({1, 1, 1, 2}, {10, 1})},
                            {{"activation", std::string("Relu")}}, 1, "com.microsoft");
  EXPECT_EQ(as_floats(y[0]), (Values{13, 0}));
}

TEST(ImportPool, CeilModeAndPadCounting) {
  EXPECT_EQ(as_floats(answers_of("MaxPool", 12, {kOperatorsRamp}, {},
                                 {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"ceil_mode", I{1}}})[0]),
            (Values{5, 6, 8, 9}));
  const std::vector<NamedAttribute> padded{
      {"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 0}}, {"strides", Ints{2, 2}}};
  EXPECT_EQ(as_floats(answers_of("AveragePool", 11, {kOperatorsRamp}, {}, padded)[0]), (Values{1, 2.5f, 5.5f, 7}));
  auto counted = padded;
  counted.push_back({"count_include_pad", I{1}});
  EXPECT_EQ(as_floats(answers_of("AveragePool", 11, {kOperatorsRamp}, {}, counted)[0]),
            (Values{0.25f, 1.25f, 2.75f, 7}));
  EXPECT_EQ(as_floats(answers_of("GlobalAveragePool", 11, {kOperatorsRamp}, {})[0]), Values{5});
  EXPECT_EQ(as_floats(answers_of("GlobalMaxPool", 11, {kOperatorsRamp}, {})[0]), Values{9});
}

TEST(ImportGemm, TransposesAndFactors) {
  const auto y = answers_of("Gemm", 13, {floats({2, 1}, {1, 2})}, {floats({2, 2}, {1, 2, 3, 4}), floats({2}, {10, 20})},
                            {{"transA", I{1}}, {"transB", I{1}}, {"alpha", 2.0f}, {"beta", 0.5f}});
  EXPECT_EQ(as_floats(y[0]), (Values{2 * 5 + 5, 2 * 11 + 10}));
}

TEST(ImportClip, AttributesThenInputs) {
  const Tensor x = floats({3}, {-2, 0.5f, 9});
  EXPECT_EQ(as_floats(answers_of("Clip", 7, {x}, {}, {{"min", 0.0f}, {"max", 6.0f}})[0]), (Values{0, 0.5f, 6}));
  EXPECT_EQ(as_floats(answers_of("Clip", 7, {x}, {}, {{"max", 6.0f}})[0]), (Values{-2, 0.5f, 6}));
  EXPECT_EQ(as_floats(answers_of("Clip", 13, {x}, {floats({}, {0}), floats({}, {6})})[0]), (Values{0, 0.5f, 6}));
}

TEST(ImportUnary, AttributesReachTheFunction) {
  EXPECT_EQ(as_floats(answers_of("LeakyRelu", 16, {floats({2}, {-4, 2})}, {}, {{"alpha", 0.25f}})[0]), (Values{-1, 2}));
  EXPECT_EQ(
      as_floats(answers_of("HardSigmoid", 6 + 1, {floats({3}, {-9, 0, 9})}, {}, {{"alpha", 0.5f}, {"beta", 0.25f}})[0]),
      (Values{0, 0.25f, 1}));
  EXPECT_EQ(as_floats(answers_of("PRelu", 16, {floats({1, 2}, {-4, -4})}, {floats({2}, {0.5f, 2})})[0]),
            (Values{-2, -8}));
}

TEST(ImportArithmetic, VariadicMeanModAndPow) {
  const Tensor a = floats({2}, {1, 2}), b = floats({2}, {4, 8}), c = floats({1}, {7});
  EXPECT_EQ(as_floats(answers_of("Sum", 13, {a, b, c}, {})[0]), (Values{12, 17}));
  EXPECT_EQ(as_floats(answers_of("Mean", 13, {a, b, c}, {})[0]), (Values{4, 17.0f / 3}));
  EXPECT_EQ(as_floats(answers_of("Max", 13, {a, b, c}, {})[0]), (Values{7, 8}));
  EXPECT_EQ(as_floats(answers_of("Mod", 13, {integers({3}, {-7, 7, 5})}, {integers({3}, {3, -3, 3})})[0]),
            (Values{2, -2, 2}));
  EXPECT_EQ(
      as_floats(answers_of("Mod", 13, {integers({3}, {-7, 7, 5})}, {integers({3}, {3, -3, 3})}, {{"fmod", I{1}}})[0]),
      (Values{-1, 1, 2}));
  EXPECT_EQ(as_floats(answers_of("Pow", 13, {integers({2}, {2, 3})}, {floats({}, {2})})[0]), (Values{4, 9}));
}

TEST(ImportReduce, AxesAsAttributeAndInput) {
  const Tensor x = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(as_floats(answers_of("ReduceSum", 11, {x}, {}, {{"axes", Ints{-1}}, {"keepdims", I{0}}})[0]),
            (Values{3, 7}));
  EXPECT_EQ(as_floats(answers_of("ReduceSum", 13, {x}, {integers({1}, {0})})[0]), (Values{4, 6}));
  EXPECT_EQ(as_floats(answers_of("ReduceMean", 18, {x}, {})[0]), Values{2.5f});
  EXPECT_EQ(as_floats(answers_of("ReduceMean", 18, {x}, {}, {{"noop_with_empty_axes", I{1}}})[0]),
            (Values{1, 2, 3, 4}));
}

TEST(ImportSoftmax, OldVersionsTakeAllAxesFromTheGivenOne) {
  const Tensor zeros = floats({1, 2, 2}, {0, 0, 0, 0});
  EXPECT_EQ(as_floats(answers_of("Softmax", 12, {zeros}, {})[0]), (Values{0.25f, 0.25f, 0.25f, 0.25f}));
  EXPECT_EQ(as_floats(answers_of("Softmax", 13, {zeros}, {})[0]), (Values{0.5f, 0.5f, 0.5f, 0.5f}));
}

TEST(ImportShapes, ReshapeZeroAndMinusOne) {
  const auto y = answers_of("Reshape", 13, {floats({2, 3, 2}, Values(12, 1))}, {integers({2}, {0, -1})});
  EXPECT_EQ(y[0].shape(), Shape({2, 6}));
  EXPECT_EQ(answers_of("Flatten", 13, {floats({2, 3, 2}, Values(12, 1))}, {}, {{"axis", I{-1}}})[0].shape(),
            Shape({6, 2}));
  EXPECT_EQ(answers_of("Squeeze", 11, {floats({1, 2, 1}, {1, 2})}, {})[0].shape(), Shape({2}));
  EXPECT_EQ(answers_of("Squeeze", 13, {floats({1, 2, 1}, {1, 2})}, {integers({1}, {-1})})[0].shape(), Shape({1, 2}));
  EXPECT_EQ(answers_of("Unsqueeze", 11, {floats({2}, {1, 2})}, {}, {{"axes", Ints{0, 2}}})[0].shape(),
            Shape({1, 2, 1}));
  EXPECT_EQ(answers_of("Transpose", 13, {floats({2, 3, 1}, Values(6, 1))}, {})[0].shape(), Shape({1, 3, 2}));
}

TEST(ImportShapes, TileExpandAndBlocks) {
  EXPECT_EQ(as_floats(answers_of("Tile", 13, {floats({1, 2}, {1, 2})}, {integers({2}, {2, 2})})[0]),
            (Values{1, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(answers_of("Expand", 13, {floats({2, 1}, {1, 2})}, {integers({3}, {2, 1, 3})})[0].shape(),
            Shape({2, 2, 3}));
  const Tensor x = floats({1, 4, 1, 1}, {1, 2, 3, 4});
  EXPECT_EQ(as_floats(answers_of("DepthToSpace", 13, {x}, {}, {{"blocksize", I{2}}})[0]), (Values{1, 2, 3, 4}));
  const Tensor deep = floats({1, 8, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(as_floats(answers_of("DepthToSpace", 13, {deep}, {}, {{"blocksize", I{2}}})[0]),
            (Values{1, 3, 5, 7, 2, 4, 6, 8}));
  EXPECT_EQ(
      as_floats(answers_of("DepthToSpace", 13, {deep}, {}, {{"blocksize", I{2}}, {"mode", std::string("CRD")}})[0]),
      (Values{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(
      as_floats(answers_of("SpaceToDepth", 13, {floats({1, 1, 2, 2}, {1, 2, 3, 4})}, {}, {{"blocksize", I{2}}})[0]),
      (Values{1, 2, 3, 4}));
}

TEST(ImportSlice, NegativeStepsAndCutEnds) {
  const Tensor x = floats({5}, {0, 1, 2, 3, 4});
  const auto slice = [&](I start, I end, I step) {
    return as_floats(
        answers_of("Slice", 13, {x},
                   {integers({1}, {start}), integers({1}, {end}), integers({1}, {0}), integers({1}, {step})})[0]);
  };
  EXPECT_EQ(slice(1, 1000, 2), (Values{1, 3}));
  EXPECT_EQ(slice(-1, -1000, -2), (Values{4, 2, 0}));
  EXPECT_EQ(slice(3, 1, 1), Values{});
  EXPECT_EQ(slice(INT64_MIN, INT64_MAX, 1), (Values{0, 1, 2, 3, 4}));
  EXPECT_EQ(slice(INT64_MAX, INT64_MIN, INT64_MIN), Values{4});
  EXPECT_EQ(as_floats(answers_of("Slice", 9, {x}, {}, {{"starts", Ints{1}}, {"ends", Ints{-1}}})[0]),
            (Values{1, 2, 3}));
}

TEST(ImportSplit, EqualGivenAndWithARest) {
  const Tensor x = floats({5}, {0, 1, 2, 3, 4});
  auto y = answers_of("Split", 13, {x}, {integers({2}, {2, 3})}, {}, 2);
  EXPECT_EQ(as_floats(y[0]), (Values{0, 1}));
  EXPECT_EQ(as_floats(y[1]), (Values{2, 3, 4}));
  y = answers_of("Split", 18, {x}, {}, {{"num_outputs", I{2}}}, 2);
  EXPECT_EQ(as_floats(y[0]), (Values{0, 1, 2}));
  EXPECT_EQ(as_floats(y[1]), (Values{3, 4}));
  y = answers_of("Split", 11, {floats({1, 4}, {1, 2, 3, 4})}, {}, {{"axis", I{1}}}, 2);
  EXPECT_EQ(as_floats(y[1]), (Values{3, 4}));
}

TEST(ImportPad, AttributeAndInputForms) {
  const Tensor x = floats({2}, {1, 2});
  EXPECT_EQ(as_floats(answers_of("Pad", 10, {x}, {}, {{"pads", Ints{1, 2}}, {"value", 9.0f}})[0]),
            (Values{9, 1, 2, 9, 9}));
  EXPECT_EQ(as_floats(answers_of("Pad", 13, {x}, {integers({2}, {1, 0}), floats({}, {7})})[0]), (Values{7, 1, 2}));
  EXPECT_EQ(as_floats(answers_of("Pad", 13, {x}, {integers({2}, {2, 0})}, {{"mode", std::string("edge")}})[0]),
            (Values{1, 1, 1, 2}));
}

TEST(ImportResize, VersionsDifferInTheirCoordinates) {
  const Tensor x = floats({1, 1, 1, 2}, {0, 4});
  const Tensor scales = floats({4}, {1, 1, 1, 2});
  EXPECT_EQ(as_floats(answers_of("Upsample", 9, {x}, {scales}, {{"mode", std::string("linear")}})[0]),
            (Values{0, 2, 4, 4}));
  EXPECT_EQ(as_floats(answers_of("Upsample", 7, {x}, {}, {{"scales", Values{1, 1, 1, 2}}})[0]), (Values{0, 0, 4, 4}));
  const auto modern = answers_of("Resize", 13, {x}, {floats({0}, {}), scales}, {{"mode", std::string("linear")}});
  EXPECT_EQ(as_floats(modern[0]), (Values{0, 1, 3, 4}));
  const auto sized = answers_of("Resize", 13, {x}, {floats({0}, {}), floats({0}, {}), integers({4}, {1, 1, 2, 2})});
  EXPECT_EQ(as_floats(sized[0]), (Values{0, 4, 0, 4}));
}

TEST(ImportNormalization, BatchLayerAndDropout) {
  const auto y = answers_of("BatchNormalization", 15, {floats({1, 2, 1}, {3, 5})},
                            {floats({2}, {2, 1}), floats({2}, {1, 0}), floats({2}, {1, 1}), floats({2}, {4, 16})},
                            {{"epsilon", 0.0f}});
  EXPECT_EQ(as_floats(y[0]), (Values{3, 1}));
  const auto normal =
      answers_of("LayerNormalization", 17, {floats({1, 2}, {1, 3})}, {floats({2}, {1, 2})}, {{"epsilon", 0.0f}}, 3);
  EXPECT_EQ(as_floats(normal[0]), (Values{-1, 2}));
  EXPECT_EQ(as_floats(normal[1]), Values{2});
  EXPECT_EQ(as_floats(normal[2]), Values{1});
  const auto dropped = answers_of("Dropout", 13, {floats({2}, {1, 2})}, {}, {}, 2);
  EXPECT_EQ(as_floats(dropped[0]), (Values{1, 2}));
  EXPECT_EQ(as_floats(dropped[1]), (Values{1, 1}));
}

TEST(ImportShapeArithmetic, IsFoldedAway) {
  ModelBuilder builder(18);
  builder.input("x", DType::f32, {-1, 3, 4})
      .initializer("zero", integers({1}, {0}))
      .initializer("rest", integers({1}, {-1}))
      .output("y");
  builder.node({"Shape", {"x"}, {"shape"}})
      .node({"Gather", {"shape", "zero"}, {"batch"}})
      .node({"Concat", {"batch", "rest"}, {"target"}, {{"axis", I{0}}}});
  builder.node({"Reshape", {"x", "target"}, {"y"}});
  const auto model = builder.import({.batch = 5});
  ASSERT_TRUE(model) << to_string(model.errors());
  EXPECT_EQ(model->graph.node_count(), 1);
  EXPECT_EQ(model->graph.fact(model->graph.outputs()[0]).shape, Shape({5, 12}));
  EXPECT_EQ(model->source_nodes, 4);
  EXPECT_FALSE(model->is_quantized);
  EXPECT_EQ(model->dialect, "ONNX fp32");
}

TEST(ImportInitializers, OfOldExportsAreInputsToo) {
  ModelBuilder builder(8);
  builder.input("x", DType::f32, {2}).input("w", DType::f32, {2}).initializer("w", floats({2}, {10, 20})).output("y");
  builder.node({"Add", {"x", "w"}, {"y"}});
  EXPECT_EQ(as_floats(answers(builder, {floats({2}, {1, 2})})[0]), (Values{11, 22}));
}

TEST(ImportHalf, ComputesInF32AndRoundsAtTheOutputs) {
  const auto half = [](Values values) {
    std::vector<std::uint16_t> bits;
    for (float value : values) bits.push_back(f32_to_f16(value));
    Tensor tensor(DType::f16, Shape{static_cast<I>(bits.size())});
    std::copy(bits.begin(), bits.end(), tensor.as<std::uint16_t>());
    return tensor;
  };
  ModelBuilder builder(17);
  builder.input("x", DType::f16, {2}).initializer("w", half({2048, 0.5f})).output("y");
  builder.node({"Add", {"x", "w"}, {"sum"}, {}, "", "first"}).node({"Sub", {"sum", "w"}, {"y"}, {}, "", "second"});
  const auto model = builder.import();
  ASSERT_TRUE(model) << to_string(model.errors());
  EXPECT_EQ(model->dialect, "ONNX fp32, 16-bit floats computed in fp32");
  // 2048 + 1 is no f16: had the sum been rounded, the difference would be 0 or 2.
  EXPECT_EQ(as_floats(answers(builder, {half({1, 1})})[0]), (Values{1, 1}));
  EXPECT_EQ(model->graph.node_count(), 4) << to_string(model->graph);
}

TEST(ImportOutputs, MayBeInputsConstantsOrTwice) {
  ModelBuilder builder(17);
  builder.input("x", DType::f32, {1})
      .initializer("w", floats({1}, {3}))
      .output("x")
      .output("w")
      .output("a")
      .output("b");
  builder.node({"Relu", {"x"}, {"a"}}).node({"Identity", {"a"}, {"b"}});
  const auto y = answers(builder, {floats({1}, {2})});
  ASSERT_EQ(y.size(), 4u);
  EXPECT_EQ(as_floats(y[0]), Values{2});
  EXPECT_EQ(as_floats(y[1]), Values{3});
  EXPECT_EQ(as_floats(y[3]), Values{2});
}

}  // namespace
}  // namespace octavo::testing
