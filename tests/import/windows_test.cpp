// What ONNX operators mean that slide, spread or normalise, by answers worked out by hand. Part of the tests of
// import/.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "import/import.h"
#include "lower/lower.h"
#include "ops/evaluate.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

using Ints = std::vector<std::int64_t>;
using Values = std::vector<float>;
using I = std::int64_t;

// Of x [1, 1, n] with weights [1, 1, k].
Values spread(const Values& x, const Values& w, const std::vector<NamedAttribute>& attributes) {
  const Tensor image = floats({1, 1, static_cast<I>(x.size())}, x),
               kernel = floats({1, 1, static_cast<I>(w.size())}, w);
  const auto y = answers_of("ConvTranspose", 11, {image}, {kernel}, attributes);
  return y.empty() ? Values{} : as_floats(y[0]);
}

// As ONNX Runtime answers.
TEST(ImportConvTranspose, PaddingByNameAndBySize) {
  const Values x{1, 2, 3, 4}, w{1, 0, 0};
  const NamedAttribute stride{"strides", Ints{2}};
  EXPECT_EQ(spread(x, w, {stride}), (Values{1, 0, 2, 0, 3, 0, 4, 0, 0}));
  EXPECT_EQ(spread(x, w, {stride, {"output_shape", Ints{7}}}), (Values{0, 2, 0, 3, 0, 4, 0}));
  EXPECT_EQ(spread(x, w, {stride, {"output_shape", Ints{8}}}), (Values{0, 2, 0, 3, 0, 4, 0, 0}));
  EXPECT_EQ(spread(x, w, {stride, {"output_shape", Ints{1, 1, 8}}}), (Values{0, 2, 0, 3, 0, 4, 0, 0}));
  EXPECT_EQ(spread(x, w, {stride, {"auto_pad", std::string("SAME_UPPER")}}), (Values{1, 0, 2, 0, 3, 0, 4, 0}));
  EXPECT_EQ(spread(x, w, {stride, {"auto_pad", std::string("SAME_LOWER")}}), (Values{0, 2, 0, 3, 0, 4, 0, 0}));
  EXPECT_EQ(spread(x, w, {stride, {"auto_pad", std::string("VALID")}}), (Values{1, 0, 2, 0, 3, 0, 4, 0, 0}));
  EXPECT_EQ(spread(x, w, {stride, {"pads", Ints{1, 1}}, {"output_padding", Ints{1}}}),
            (Values{0, 2, 0, 3, 0, 4, 0, 0}));
}

TEST(ImportConvTranspose, RefusesValuesWithoutAxesToSlideAlong) {
  for (const Ints& shape : {Ints{}, Ints{5}, Ints{1, 5}}) {
    ModelBuilder builder(17);
    builder.input("x", DType::f32, shape).output("y").initializer("w", floats({1, 1, 2}, {1, 2}));
    builder.node({"ConvTranspose", {"x", "w"}, {"y"}, {{"output_shape", Ints(shape.size(), 4)}}});
    const std::string bytes = builder.bytes();
    EXPECT_FALSE(import_model(std::as_bytes(std::span(bytes)), "x.onnx", {}).ok()) << shape.size();
  }
}

TEST(ImportConvTranspose, WeightsOfGroups) {
  // Two groups of two channels in and one out.
  const auto y = answers_of("ConvTranspose", 11, {floats({1, 4, 1}, {1, 2, 3, 4})},
                            {floats({4, 1, 2}, {1, 2, 10, 20, 100, 200, 1000, 2000}), floats({2}, {0.5f, -0.5f})},
                            {{"group", I{2}}});
  EXPECT_EQ(as_floats(y[0]), (Values{21.5f, 42.5f, 4299.5f, 8599.5f}));
}

// x -> quantize -> dequantize -> ConvTranspose with s8 weights, a scale for each output channel of a group -> the same.
std::string quantized_file(I groups) {
  ModelBuilder builder(17);
  builder.input("x", DType::f32, {1, 4, 3, 3}).output("y");
  std::vector<std::int8_t> weights(4 * 3 * 2 * 2);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<std::int8_t>(i * 37 % 255 - 127);
  const Tensor w = Tensor::of<std::int8_t>({4, 3, 2, 2}, weights);
  builder.initializer("s", floats({}, {0x1p-4f})).initializer("z", Tensor::scalar<std::uint8_t>(100));
  builder.initializer("w", w).initializer("ws", floats({3}, {0x1p-7f, 0x1p-6f, 0x1p-8f}));
  builder.initializer("wz", Tensor(DType::s8, {3})).initializer("ys", floats({}, {0x1p-3f}));
  builder.node({"QuantizeLinear", {"x", "s", "z"}, {"q"}, {}, "", "q"});
  builder.node({"DequantizeLinear", {"q", "s", "z"}, {"r"}, {}, "", "r"});
  builder.node({"DequantizeLinear", {"w", "ws", "wz"}, {"wr"}, {{"axis", I{1}}}, "", "wr"});
  builder.node({"ConvTranspose",
                {"r", "wr"},
                {"t"},
                {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"group", groups}},
                "",
                "conv"});
  builder.node({"QuantizeLinear", {"t", "ys", "z"}, {"u"}, {}, "", "u"});
  builder.node({"DequantizeLinear", {"u", "ys", "z"}, {"y"}, {}, "", "y"});
  return builder.bytes();
}

TEST(ImportConvTranspose, QuantizedFilesComputeInIntegers) {
  for (const I groups : {I{1}, I{2}}) {
    const std::string bytes = quantized_file(groups);
    auto model = import_onnx(std::as_bytes(std::span(bytes)), "", "m.onnx", {});
    ASSERT_TRUE(model) << to_string(model.errors());
    Graph& graph = model->graph;
    Tensor x(DType::f32, {1, 4, 3, 3});
    for (I i = 0; i < x.elements(); ++i) x.as<float>()[i] = static_cast<float>(i % 13 - 6) / 2.0f;
    const auto before = evaluate(graph, std::vector<Tensor>{x});
    ASSERT_TRUE(before);
    ASSERT_TRUE(lower(graph, {}));
    const auto& order = graph.order();
    EXPECT_TRUE(std::any_of(order.begin(), order.end(), [&](NodeId id) {
      return graph.node(id).spec == &kQuantizedConv;
    })) << to_string(graph);
    const auto after = evaluate(graph, std::vector<Tensor>{x});
    ASSERT_TRUE(after);
    EXPECT_EQ(*after, *before);
  }
}

TEST(ImportNorm, InstancesAndGroups) {
  const Tensor x = floats({1, 2, 2}, {1, 3, 10, 30}), scale = floats({2}, {2, 1}), bias = floats({2}, {0, 5});
  const auto instance = answers_of("InstanceNormalization", 6 + 1, {x}, {scale, bias}, {{"epsilon", 0.0f}});
  EXPECT_EQ(as_floats(instance[0]), (Values{-2, 2, 4, 6}));
  const Tensor four = floats({1, 4, 1}, {1, 3, 10, 30}), scales = floats({4}, {2, 1, 1, 3}),
               biases = floats({4}, {0, 0, 5, 0});
  const auto group =
      answers_of("GroupNormalization", 21, {four}, {scales, biases}, {{"num_groups", I{2}}, {"epsilon", 0.0f}});
  EXPECT_EQ(as_floats(group[0]), (Values{-2, 1, 4, 3}));
  // Before opset 21 scale and bias are of groups.
  const auto old =
      answers_of("GroupNormalization", 18, {four}, {scale, bias}, {{"num_groups", I{2}}, {"epsilon", 0.0f}});
  EXPECT_EQ(as_floats(old[0]), (Values{-2, 2, 4, 6}));
}

TEST(ImportNorm, LengthsOfLines) {
  const Tensor x = floats({2, 2}, {3, 4, 0, 0});
  EXPECT_EQ(as_floats(answers_of("LpNormalization", 7, {x}, {}, {{"p", I{2}}})[0]), (Values{0.6f, 0.8f, 0, 0}));
  EXPECT_EQ(as_floats(answers_of("LpNormalization", 7, {x}, {}, {{"p", I{1}}, {"axis", I{0}}})[0]),
            (Values{1, 1, 0, 0}));
}

TEST(ImportPool, PowersUnderTheWindow) {
  const Tensor x = floats({1, 1, 5}, {3, -4, 0, 2, 1});
  const NamedAttribute kernel{"kernel_shape", Ints{2}}, stride{"strides", Ints{2}};
  EXPECT_EQ(as_floats(answers_of("LpPool", 18, {x}, {}, {kernel, stride})[0]), (Values{5, 2}));
  EXPECT_EQ(as_floats(answers_of("LpPool", 18, {x}, {}, {kernel, stride, {"p", I{1}}, {"ceil_mode", I{1}}})[0]),
            (Values{7, 2, 1}));
  EXPECT_EQ(as_floats(answers_of("GlobalLpPool", 7, {x}, {}, {{"p", I{1}}})[0]), (Values{10}));
  EXPECT_NEAR(as_floats(answers_of("GlobalLpPool", 7, {x}, {}, {{"p", I{3}}})[0])[0], std::cbrt(100.0f), 1e-5f);
}

}  // namespace
}  // namespace octavo::testing
