// The quantized dialects of ONNX: same meaning, same graph. Part of the tests of import/.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graph/graph.h"
#include "ops/dequantize/dequantize.h"
#include "ops/matmul/matmul.h"
#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

using Bytes8 = std::vector<std::uint8_t>;
using SBytes = std::vector<std::int8_t>;
using Values = std::vector<float>;
using I = std::int64_t;

Tensor u8(Shape shape, const Bytes8& values) { return Tensor::of<std::uint8_t>(std::move(shape), values); }
Tensor s8(Shape shape, const SBytes& values) { return Tensor::of<std::int8_t>(std::move(shape), values); }
Tensor s32(Shape shape, const std::vector<std::int32_t>& values) {
  return Tensor::of<std::int32_t>(std::move(shape), values);
}
Tensor scale(float value) { return floats({}, {value}); }

TEST(ImportQuantize, RoundsToEvenAndSaturates) {
  const auto y = answers_of("QuantizeLinear", 13, {floats({4}, {1, 3, -1000, 1000})}, {scale(2), u8({}, {100})});
  EXPECT_EQ(y[0], u8({4}, {100, 102, 0, 255}));
  EXPECT_EQ(as_floats(answers_of("DequantizeLinear", 13, {u8({2}, {100, 103})}, {scale(0.5f), u8({}, {100})})[0]),
            (Values{0, 1.5f}));
}

TEST(ImportQuantize, PerAxisAndDefaultType) {
  const auto y = answers_of("QuantizeLinear", 13, {floats({2, 2}, {2, 2, 4, 4})}, {floats({2}, {1, 2})});
  EXPECT_EQ(y[0], u8({2, 2}, {2, 1, 4, 2}));
  const auto x =
      answers_of("DequantizeLinear", 13, {s8({2, 2}, {1, 2, 3, 4})}, {floats({2}, {1, 10})}, {{"axis", I{0}}});
  EXPECT_EQ(as_floats(x[0]), (Values{1, 2, 30, 40}));
}

TEST(ImportQuantize, OutputTypeAndBlocks) {
  constexpr I kInt16 = 5;
  const auto y = answers_of("QuantizeLinear", 21, {floats({1, 4}, {1, 2, 30, 40})}, {floats({1, 2}, {1, 10})},
                            {{"block_size", I{2}}, {"output_dtype", kInt16}});
  EXPECT_EQ(y[0], Tensor::of<std::int16_t>(Shape{1, 4}, {1, 2, 3, 4}));
}

// Of any width up to 16, signed or not, narrow or not, also by channel; constants of up to 32.
TEST(ImportQuantize, QonnxQuant) {
  const Tensor x = floats({2, 3}, {0.25f, -3, 100, 0.75f, 2.5f, -100});
  const auto quant = [&](const Tensor& scales, float zero, float bits, const std::vector<NamedAttribute>& attributes) {
    return as_floats(
        answers_of("Quant", 1, {x}, {scales, scale(zero), scale(bits)}, attributes, 1, "qonnx.custom_op.general")[0]);
  };
  EXPECT_EQ(quant(scale(0.5f), 0, 8, {}), (Values{0, -3, 63.5f, 1, 2.5f, -64}));
  EXPECT_EQ(quant(scale(0.5f), 0, 4, {{"narrow", I{1}}}), (Values{0, -3, 3.5f, 1, 2.5f, -3.5f}));
  EXPECT_EQ(quant(scale(0.5f), 2, 4, {{"signed", I{0}}}), (Values{0, -1, 6.5f, 1, 2.5f, -1}));
  EXPECT_EQ(quant(floats({2, 1}, {1, 2}), 0, 16, {{"signed", I{1}}}), (Values{0, -3, 100, 0, 2, -100}));
}

// Scales and layers that are kept in float go by names: a file may give one twice, and so did the two directions of an
// LSTM.
TEST(ImportNames, EachNodeHasItsOwn) {
  ModelBuilder model;
  model.input("x", DType::f32, {2, 1, 3}).output("y").output("z");
  Tensor w(DType::f32, {2, 8, 3}), r(DType::f32, {2, 8, 2}), b(DType::f32, {2, 16});
  for (Tensor* tensor : {&w, &r, &b}) std::ranges::fill(tensor->span<float>(), 0.5f);
  model.initializer("w", w).initializer("r", r).initializer("b", b);
  model
      .node({"LSTM", {"x", "w", "r", "b"}, {"y"}, {{"hidden_size", I{2}}, {"direction", std::string("bidirectional")}}})
      .node({"Neg", {"y"}, {"negative"}, {}, "", "twin"})
      .node({"Abs", {"negative"}, {"z"}, {}, "", "twin"});
  const auto imported = model.import();
  ASSERT_TRUE(imported.ok()) << to_string(imported.errors());
  std::set<std::string> names;
  for (const NodeId id : imported->graph.order()) {
    const std::string& name = imported->graph.node(id).name;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_TRUE(names.contains("twin#2"));
}

// Of inputs that their own range rounds exactly it is LSTM with the weights that the integers stand for.
TEST(ImportQuantize, DynamicQuantizeLstm) {
  constexpr std::int64_t kInputs = 3, kHidden = 2, kGates = 4 * kHidden;
  SBytes w(2 * kInputs * kGates), r(2 * kHidden * kGates);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<std::int8_t>(37 * i % 255);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = static_cast<std::int8_t>(91 * i % 255);
  const Values w_scale{0.01f, 0.02f}, r_scale{0.005f, 0.01f};
  const SBytes w_zero{3, 0}, r_zero{-2, 5};
  // [direction][input][gate] becomes [direction][gate][input].
  const auto real = [&](const SBytes& q, std::int64_t inputs, const Values& scales, const SBytes& zeros) {
    Tensor to(DType::f32, Shape{2, kGates, inputs});
    for (std::int64_t i = 0; i < to.elements(); ++i) {
      const std::int64_t d = i / (kGates * inputs), gate = i / inputs % kGates, input = i % inputs;
      const auto from = static_cast<std::size_t>((d * inputs + input) * kGates + gate),
                 at = static_cast<std::size_t>(d);
      to.as<float>()[i] = static_cast<float>(q[from] - zeros[at]) * scales[at];
    }
    return to;
  };
  const Tensor x = floats({2, 1, kInputs}, {0, 127.5f, 3, 64, 1.5f, 20});
  Tensor bias(DType::f32, Shape{2, 2 * kGates});
  for (std::int64_t i = 0; i < bias.elements(); ++i) bias.as<float>()[i] = 0.01f * static_cast<float>(i % 7);
  const auto answers = [&](ModelBuilder builder, const std::string& op, std::vector<std::string> inputs) {
    inputs.insert(inputs.begin(), "x");
    builder.input("x", DType::f32, {2, 1, kInputs}).output("y").output("h").output("c").initializer("b", bias);
    builder.node({op,
                  inputs,
                  {"y", "h", "c"},
                  {{"hidden_size", kHidden}, {"direction", std::string("bidirectional")}},
                  op == "LSTM" ? "" : "com.microsoft"});
    return octavo::testing::answers(builder, {x});
  };
  ModelBuilder floating, integers(17);
  floating.initializer("w", real(w, kInputs, w_scale, w_zero)).initializer("r", real(r, kHidden, r_scale, r_zero));
  integers.opset_import("com.microsoft", 1)
      .initializer("w", s8({2, kInputs, kGates}, w))
      .initializer("r", s8({2, kHidden, kGates}, r))
      .initializer("ws", floats({2}, w_scale))
      .initializer("wz", s8({2}, w_zero))
      .initializer("rs", floats({2}, r_scale))
      .initializer("rz", s8({2}, r_zero));
  const auto expected = answers(floating, "LSTM", {"w", "r", "b"});
  const auto found = answers(integers, "DynamicQuantizeLSTM", {"w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"});
  ASSERT_EQ(found.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(found[i].shape(), expected[i].shape());
    for (std::int64_t j = 0; j < found[i].elements(); ++j)
      EXPECT_NEAR(found[i].as<float>()[j], expected[i].as<float>()[j], 1e-5f) << i << ", " << j;
  }
}

// 1x1 convolution with weight 2 (q 4 at 0.5) and bias 3 (q 6 at 1 * 0.5) on x = (q - 10): the same bits from both
// dialects.
TEST(ImportDialects, QOperatorAndQdqAreTheSameModel) {
  const Tensor x = u8({1, 1, 1, 3}, {10, 11, 20}), w = s8({1, 1, 1, 1}, {4}), bias = s32({1}, {6});
  const auto from_operator = answers_of(
      "QLinearConv", 10, {x}, {scale(1), u8({}, {10}), w, scale(0.5f), s8({}, {0}), scale(2), u8({}, {1}), bias});
  EXPECT_EQ(from_operator[0], u8({1, 1, 1, 3}, {3, 3, 13}));  // (3, 5, 23) / 2: ties to even

  ModelBuilder qdq(13);
  qdq.input("x", DType::u8, {1, 1, 1, 3}).output("y");
  qdq.initializer("xs", scale(1))
      .initializer("xz", u8({}, {10}))
      .initializer("w", w)
      .initializer("ws", floats({1}, {0.5f}));
  qdq.initializer("b", bias)
      .initializer("bs", floats({1}, {0.5f}))
      .initializer("ys", scale(2))
      .initializer("yz", u8({}, {1}));
  qdq.node({"DequantizeLinear", {"x", "xs", "xz"}, {"xf"}})
      .node({"DequantizeLinear", {"w", "ws"}, {"wf"}, {{"axis", I{0}}}});
  qdq.node({"DequantizeLinear", {"b", "bs"}, {"bf"}, {{"axis", I{0}}}});
  qdq.node({"Conv", {"xf", "wf", "bf"}, {"yf"}}).node({"QuantizeLinear", {"yf", "ys", "yz"}, {"y"}});
  EXPECT_EQ(answers(qdq, {x})[0], from_operator[0]);
  EXPECT_EQ(qdq.import()->dialect, "ONNX QDQ u8");
  EXPECT_TRUE(qdq.import()->is_quantized);
}

TEST(ImportQLinear, ConvKeepsPerChannelScalesOfWeightsAndBias) {
  const Tensor x = s8({1, 1, 1, 1}, {5}), w = s8({2, 1, 1, 1}, {1, 1});
  const auto y = answers_of(
      "QLinearConv", 10, {x},
      {scale(1), s8({}, {0}), w, floats({2}, {1, 2}), s8({2}, {0, 0}), scale(1), s8({}, {-3}), s32({2}, {1, 1})});
  EXPECT_EQ(y[0], s8({1, 2, 1, 1}, {3, 9}));
}

TEST(ImportQLinear, MatMulGemmAndBias) {
  const Tensor a = u8({1, 2}, {2, 3}), b = u8({2, 1}, {129, 130});
  EXPECT_EQ(answers_of("QLinearMatMul", 10, {a},
                       {scale(1), u8({}, {1}), b, scale(1), u8({}, {128}), scale(1), u8({}, {0})})[0],
            u8({1, 1}, {5}));
  const Tensor bt = s8({1, 2}, {1, 2});
  const std::vector<Tensor> constants{scale(1),    u8({}, {1}),   bt,       scale(2),
                                      s8({}, {0}), s32({1}, {4}), scale(2), u8({}, {7})};
  EXPECT_EQ(answers_of("QGemm", 1, {a}, constants, {{"transB", I{1}}}, 1, "com.microsoft")[0], u8({1, 1}, {5 + 4 + 7}));
  const std::vector<Tensor> to_float(constants.begin(), constants.begin() + 6);
  EXPECT_EQ(as_floats(answers_of("QGemm", 1, {a}, to_float, {{"transB", I{1}}}, 1, "com.microsoft")[0]), Values{18});
}

TEST(ImportQLinear, ElementWise) {
  const Tensor a = u8({2}, {10, 20}), b = u8({2}, {4, 6});
  const std::vector<Tensor> rest{scale(1), u8({}, {10}), b, scale(2), u8({}, {4}), scale(1), u8({}, {100})};
  EXPECT_EQ(answers_of("QLinearAdd", 1, {a}, rest, {}, 1, "com.microsoft")[0], u8({2}, {100, 114}));
  EXPECT_EQ(answers_of("QLinearMul", 1, {a}, rest, {}, 1, "com.microsoft")[0], u8({2}, {100, 140}));
  EXPECT_EQ(answers_of("QLinearLeakyRelu", 1, {s8({2}, {-8, 8})}, {scale(1), s8({}, {0}), scale(1), s8({}, {0})},
                       {{"alpha", 0.25f}}, 1, "com.microsoft")[0],
            s8({2}, {-2, 8}));
  EXPECT_EQ(answers_of("QLinearSigmoid", 1, {u8({1}, {128})}, {scale(1), u8({}, {128}), scale(1.0f / 256), u8({}, {0})},
                       {}, 1, "com.microsoft")[0],
            u8({1}, {128}));
}

TEST(ImportQLinear, PoolsConcatAndSoftmax) {
  const Tensor x = u8({1, 1, 2, 2}, {1, 3, 5, 7});
  const std::vector<Tensor> same{scale(1), u8({}, {0}), scale(1), u8({}, {0})};
  EXPECT_EQ(answers_of("QLinearGlobalAveragePool", 1, {x}, same, {}, 1, "com.microsoft")[0], u8({1, 1, 1, 1}, {4}));
  EXPECT_EQ(answers_of("QLinearGlobalAveragePool", 1, {x}, same, {{"channels_last", I{1}}}, 1, "com.microsoft")[0],
            u8({1, 1, 1, 2}, {3, 5}));
  EXPECT_EQ(
      answers_of("QLinearAveragePool", 1, {x}, same, {{"kernel_shape", std::vector<I>{2, 2}}}, 1, "com.microsoft")[0],
      u8({1, 1, 1, 1}, {4}));
  const Tensor flat = u8({1, 4}, {9, 9, 9, 9});
  const auto soft = answers_of("QLinearSoftmax", 1, {flat}, {scale(1), u8({}, {0}), scale(1.0f / 256), u8({}, {0})},
                               {{"opset", I{13}}}, 1, "com.microsoft");
  EXPECT_EQ(soft[0], u8({1, 4}, {64, 64, 64, 64}));

  ModelBuilder builder(13);
  builder.opset_import("com.microsoft", 1).input("a", DType::u8, {1, 1}).input("b", DType::u8, {1, 1}).output("y");
  builder.initializer("one", scale(1))
      .initializer("two", scale(2))
      .initializer("zero", u8({}, {0}))
      .initializer("five", u8({}, {5}));
  builder.node({"QLinearConcat",
                {"one", "five", "a", "one", "zero", "b", "two", "five"},
                {"y"},
                {{"axis", I{1}}},
                "com.microsoft"});
  EXPECT_EQ(answers(builder, {u8({1, 1}, {3}), u8({1, 1}, {6})})[0], u8({1, 2}, {8, 7}));
  EXPECT_EQ(builder.import()->dialect, "ONNX QOperator u8");
}

TEST(ImportDynamic, IntegersAndParametersComeOut) {
  const auto y = answers_of("DynamicQuantizeLinear", 11, {floats({3}, {0, 127.5f, 255})}, {}, {}, 3);
  EXPECT_EQ(y[0], u8({3}, {0, 128, 255}));
  EXPECT_EQ(as_floats(y[1]), Values{1});
  EXPECT_EQ(y[2], u8({}, {0}));
  EXPECT_EQ(answers_of("MatMulInteger", 10, {u8({1, 2}, {3, 4})}, {s8({2, 1}, {-1, 2}), u8({}, {1})})[0],
            s32({1, 1}, {4}));
  EXPECT_EQ(answers_of("ConvInteger", 10, {u8({1, 1, 1, 2}, {3, 4})}, {s8({1, 1, 1, 2}, {-1, 2}), u8({}, {1})})[0],
            s32({1, 1, 1, 1}, {4}));
}

TEST(ImportGemm, TransposedQuantizedWeightsStayDequantizedConstants) {
  ModelBuilder builder(13);
  builder.input("x", DType::f32, {1, 2})
      .output("y")
      .initializer("w", s8({3, 2}, {1, 2, 3, 4, 5, 6}))
      .initializer("ws", floats({3}, {1, 10, 100}));
  builder.node({"DequantizeLinear", {"w", "ws"}, {"wf"}, {{"axis", I{0}}}})
      .node({"Gemm", {"x", "wf"}, {"y"}, {{"transB", I{1}}}, "", "fc"});
  // Without C only from opset 11 on, which this is.
  const auto model = builder.import();
  ASSERT_TRUE(model) << to_string(model.errors());
  const Node* product = model->graph.producer_if(model->graph.outputs()[0], kMatmul);
  ASSERT_NE(product, nullptr);
  const Node* weights = model->graph.producer_if(product->inputs[1], kDequantize);
  ASSERT_NE(weights, nullptr) << to_string(model->graph);
  EXPECT_EQ(weights->attrs.as<DequantizeAttrs>().axis, 1);
  EXPECT_EQ(as_floats(answers(builder, {floats({1, 2}, {1, 1})})[0]), (Values{3, 70, 1100}));
}

}  // namespace
}  // namespace octavo::testing
