// ONNX attention with keys of earlier calls, capped or kept scores, and convolutions with a state: answers worked out
// by hand, or by the same attention without a past. Part of the tests of import/.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

using I = std::int64_t;
using Ints = std::vector<I>;
using Values = std::vector<float>;

Tensor noise(Shape shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Tensor tensor(DType::f32, std::move(shape));
  for (float& value : tensor.span<float>()) value = normal(random);
  return tensor;
}

struct Call {
  std::vector<std::string> inputs;  // empty: left out
  std::vector<Tensor> tensors;      // of those that are not
  int outputs = 1;
  std::vector<NamedAttribute> attributes;
  I opset = 23;
};

ModelBuilder decoding_model_of(const Call& call) {
  ModelBuilder builder(call.opset);
  std::size_t next = 0;
  for (const std::string& name : call.inputs) {
    if (name.empty()) continue;
    const Tensor& x = call.tensors[next++];
    builder.input(name, x.dtype(), {x.shape().begin(), x.shape().end()});
  }
  NodeText node{"Attention", call.inputs, {}, call.attributes};
  for (int i = 0; i < call.outputs; ++i) node.outputs.push_back("y" + std::to_string(i));
  builder.node(node);
  for (const std::string& name : node.outputs) builder.output(name);
  return builder;
}

std::vector<Tensor> decoding_answers_of(const Call& call) { return answers(decoding_model_of(call), call.tensors); }

void decoding_expect_near(const Tensor& found, const Tensor& wanted) {
  ASSERT_EQ(found.shape(), wanted.shape());
  for (std::int64_t i = 0; i < found.elements(); ++i)
    EXPECT_NEAR(found.as<float>()[i], wanted.as<float>()[i], 1e-5f) << i;
}

// Positions [from, to) of axis 2.
Tensor part(const Tensor& x, I from, I to) {
  const Shape& s = x.shape();
  Tensor y(DType::f32, Shape{s[0], s[1], to - from, s[3]});
  for (I head = 0; head < s[0] * s[1]; ++head) {
    for (I i = 0; i < (to - from) * s[3]; ++i)
      y.as<float>()[head * (to - from) * s[3] + i] = x.as<float>()[(head * s[2] + from) * s[3] + i];
  }
  return y;
}

TEST(ImportAttention, PastKeysStandInFront) {
  const Tensor q = noise({1, 4, 2, 3}, 1), k = noise({1, 2, 5, 3}, 2), v = noise({1, 2, 5, 4}, 3);
  const auto whole = decoding_answers_of({.inputs = {"q", "k", "v"}, .tensors = {q, k, v}});
  const auto cut = decoding_answers_of({.inputs = {"q", "k", "v", "", "past_k", "past_v"},
                                        .tensors = {q, part(k, 3, 5), part(v, 3, 5), part(k, 0, 3), part(v, 0, 3)},
                                        .outputs = 3});
  ASSERT_EQ(cut.size(), 3u);
  decoding_expect_near(cut[0], whole[0]);
  EXPECT_TRUE(cut[1] == k && cut[2] == v);
}

TEST(ImportAttention, CausalQueriesFollowThePast) {
  const Tensor q = noise({1, 1, 2, 3}, 1), k = noise({1, 1, 4, 3}, 2), v = noise({1, 1, 4, 3}, 3);
  Tensor mask(DType::boolean, {2, 4});
  for (const int i : {0, 1, 2, 4, 5, 6, 7}) mask.as<std::uint8_t>()[i] = 1;
  const auto masked = decoding_answers_of({.inputs = {"q", "k", "v", "mask"}, .tensors = {q, k, v, mask}});
  const auto causal = decoding_answers_of({.inputs = {"q", "k", "v", "", "past_k", "past_v"},
                                           .tensors = {q, part(k, 2, 4), part(v, 2, 4), part(k, 0, 2), part(v, 0, 2)},
                                           .attributes = {{"is_causal", I{1}}}});
  decoding_expect_near(causal[0], masked[0]);
}

TEST(ImportAttention, ScoresAreCappedAndKept) {
  const Tensor q = floats({1, 1, 1, 1}, {2}), k = floats({1, 1, 2, 1}, {1, 3}), v = floats({1, 1, 2, 1}, {10, 20});
  const Tensor bias = floats({1, 2}, {0, 1});
  const auto scores = [&](I mode) {
    return as_floats(decoding_answers_of({.inputs = {"q", "k", "v", "bias"},
                                          .tensors = {q, k, v, bias},
                                          .outputs = 4,
                                          .attributes = {{"softcap", 4.0f}, {"qk_matmul_output_mode", mode}}})[3]);
  };
  const float low = 4 * std::tanh(0.5f), high = 4 * std::tanh(1.5f);
  const float weight = 1 / (1 + std::exp(low - high - 1));
  const Values expected[] = {{2, 6}, {low, high}, {low, high + 1}, {1 - weight, weight}};
  for (I mode = 0; mode < 4; ++mode) {
    const Values found = scores(mode);
    ASSERT_EQ(found.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(found[i], expected[mode][i], 1e-5f) << mode;
  }
}

TEST(ImportAttention, ColumnsAndLengthsBesideAMask) {
  const Tensor q = noise({1, 2, 4}, 1), k = noise({1, 3, 4}, 2), v = noise({1, 3, 4}, 3);
  const std::vector<NamedAttribute> heads{{"q_num_heads", I{2}}, {"kv_num_heads", I{2}}};
  const Tensor some =
      floats({2, 3}, {0, 0, -std::numeric_limits<float>::infinity(), 0, 0, -std::numeric_limits<float>::infinity()});
  const auto masked = decoding_answers_of(
      {.inputs = {"q", "k", "v", "mask"}, .tensors = {q, k, v, some}, .attributes = heads, .opset = 24});
  const auto both = decoding_answers_of({.inputs = {"q", "k", "v", "mask", "", "", "lengths"},
                                         .tensors = {q, k, v, Tensor(DType::f32, {2, 3}), integers({1}, {2})},
                                         .attributes = heads,
                                         .opset = 24});
  decoding_expect_near(both[0], masked[0]);
}

// Queries are the last of the keys that there are; what a window, lengths and causality leave is what a mask says.
TEST(ImportAttention, WindowsAndCausalityFollowLengths) {
  const Tensor q = noise({2, 1, 2, 3}, 1), k = noise({2, 1, 4, 3}, 2), v = noise({2, 1, 4, 3}, 3);
  const auto by_mask = [&](std::initializer_list<int> kept) {
    Tensor mask(DType::boolean, {2, 1, 2, 4});
    for (const int i : kept) mask.as<std::uint8_t>()[i] = 1;
    return decoding_answers_of({.inputs = {"q", "k", "v", "mask"}, .tensors = {q, k, v, mask}, .opset = 25})[0];
  };
  const auto by_lengths = [&](std::vector<NamedAttribute> attributes) {
    return decoding_answers_of({.inputs = {"q", "k", "v", "", "", "", "lengths"},
                                .tensors = {q, k, v, integers({2}, {3, 4})},
                                .attributes = std::move(attributes),
                                .opset = 25})[0];
  };
  decoding_expect_near(by_lengths({{"is_causal", I{1}}}), by_mask({0, 1, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15}));
  decoding_expect_near(by_lengths({{"left_window_size", I{1}}}), by_mask({0, 1, 2, 5, 6, 9, 10, 11, 14, 15}));
  decoding_expect_near(by_lengths({{"left_window_size", I{0}}, {"right_window_size", I{1}}}),
                       by_mask({1, 2, 6, 10, 11, 15}));
  decoding_expect_near(by_lengths({{"right_window_size", I{1}}, {"is_causal", I{1}}}),
                       by_mask({0, 1, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15}));
  const auto wrong =
      decoding_model_of(
          {.inputs = {"q", "k", "v"}, .tensors = {q, k, v}, .attributes = {{"left_window_size", I{-2}}}, .opset = 25})
          .import();
  ASSERT_FALSE(wrong);
  EXPECT_NE(to_string(wrong.errors()).find("attribute 'left_window_size': found -2"), std::string::npos);
}

TEST(ImportAttention, WithoutKeysARowIsZeros) {
  const Tensor q = noise({1, 1, 2, 3}, 1), k = noise({1, 1, 2, 3}, 2), v = noise({1, 1, 2, 3}, 3);
  Tensor mask(DType::boolean, {2, 2});
  mask.as<std::uint8_t>()[3] = 1;
  const auto y = decoding_answers_of({.inputs = {"q", "k", "v", "mask"},
                                      .tensors = {q, k, v, mask},
                                      .outputs = 4,
                                      .attributes = {{"qk_matmul_output_mode", I{3}}, {"softmax_precision", I{11}}}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(as_floats(y[0])[static_cast<std::size_t>(i)], 0.0f);
  EXPECT_EQ(as_floats(y[3]), (Values{0, 0, 0, 1}));
  for (int i = 3; i < 6; ++i) EXPECT_NEAR(as_floats(y[0])[static_cast<std::size_t>(i)], v.as<float>()[i], 1e-6f);
}

TEST(ImportAttention, APastNeedsBothParts) {
  const Tensor q = noise({1, 1, 2, 3}, 1);
  const auto model = decoding_model_of({.inputs = {"q", "k", "v", "", "past_k"}, .tensors = {q, q, q, q}}).import();
  ASSERT_FALSE(model);
  EXPECT_NE(to_string(model.errors()).find("input 'past_value': found none, expected one"), std::string::npos)
      << to_string(model.errors());
}

// One head, sizes of 1: the state is a number.
TEST(ImportLinearAttention, DecaysCorrectsAndGoesOn) {
  const Tensor q = floats({1, 2, 1}, {1, 2}), k = floats({1, 2, 1}, {2, 3}), v = floats({1, 2, 1}, {5, 7});
  const Tensor half = floats({1, 2, 1}, {std::log(0.5f), std::log(0.5f)}), beta = floats({1, 2, 1}, {1, 0.5f});
  const Tensor past = floats({1, 1, 1, 1}, {4});
  const auto state_of = [&](const std::string& rule, const std::vector<std::string>& names,
                            const std::vector<Tensor>& tensors) {
    ModelBuilder builder(27);
    for (std::size_t i = 0, next = 0; i < names.size(); ++i) {
      if (names[i].empty()) continue;
      const Tensor& x = tensors[next++];
      builder.input(names[i], x.dtype(), {x.shape().begin(), x.shape().end()});
    }
    builder.node({"LinearAttention",
                  names,
                  {"y", "state"},
                  {{"q_num_heads", I{1}}, {"kv_num_heads", I{1}}, {"update_rule", rule}}});
    const auto results = answers(builder.output("y").output("state"), tensors);
    Values numbers = as_floats(results[0]);
    numbers.push_back(as_floats(results[1])[0]);
    return numbers;
  };
  const auto expect = [](const Values& found, const Values& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-4f) << i;
  };
  expect(state_of("linear", {"q", "k", "v"}, {q, k, v}), {10, 62, 31});
  expect(state_of("linear", {"q", "k", "v", "past"}, {q, k, v, past}), {14, 70, 35});
  expect(state_of("gated", {"q", "k", "v", "past", "decay"}, {q, k, v, past, half}), {12, 54, 27});
  // 4 + 2 (5 - 8) = -2, then -2 + 3 (7 + 6) / 2 = 17.5.
  expect(state_of("delta", {"q", "k", "v", "past", "", "beta"}, {q, k, v, past, beta}), {-2, 35, 17.5f});
}

TEST(ImportLinearAttention, RefusesRulesAndManyTokens) {
  const auto refused = [](const Tensor& x, const std::string& rule, const std::string& part) {
    ModelBuilder builder(27);
    builder.input("x", DType::f32, {x.shape().begin(), x.shape().end()});
    builder.node({"LinearAttention",
                  {"x", "x", "x"},
                  {"y"},
                  {{"q_num_heads", I{1}}, {"kv_num_heads", I{1}}, {"update_rule", rule}}});
    const auto model = builder.output("y").import();
    ASSERT_FALSE(model);
    EXPECT_NE(to_string(model.errors()).find(part), std::string::npos) << to_string(model.errors());
  };
  const Tensor x(DType::f32, {1, 2, 1});
  refused(x, "gated", "those of the update rule 'gated'");
  refused(x, "other", "'linear', 'gated', 'delta' or 'gated_delta'");
  refused(Tensor(DType::f32, {1, 300, 1}), "linear", "found 300 tokens, expected 1 to 256");
}

TEST(ImportCausalConv, StartsWithTheState) {
  const Tensor x = floats({1, 1, 3}, {1, 2, 3}), w = floats({1, 1, 2}, {10, 1});
  const auto fresh = testing::answers_of("CausalConvWithState", 27, {x}, {w}, {}, 2);
  EXPECT_EQ(as_floats(fresh[0]), (Values{1, 12, 23}));
  EXPECT_EQ(as_floats(fresh[1]), Values{3});
  const auto later =
      testing::answers_of("CausalConvWithState", 27, {x}, {w, floats({1}, {100}), floats({1, 1, 1}, {5})});
  EXPECT_EQ(as_floats(later[0]), (Values{151, 112, 123}));
  const auto gated = testing::answers_of("CausalConvWithState", 27, {x}, {w}, {{"activation", std::string("silu")}});
  EXPECT_NEAR(as_floats(gated[0])[0], 0.7310586f, 1e-6f);
}

}  // namespace
}  // namespace octavo::testing
