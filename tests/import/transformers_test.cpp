// What operators of transformers mean, by answers worked out by hand. Part of the tests of import/.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/graph.h"
#include "ops/attention/attention.h"
#include "ops/evaluate.h"
#include "support/onnx_builder.h"
#include "support/zip_builder.h"

namespace octavo::testing {
namespace {

using Ints = std::vector<std::int64_t>;
using Values = std::vector<float>;
using I = std::int64_t;

constexpr const char* kMicrosoft = "com.microsoft";

Tensor bools(Shape shape, const std::vector<std::uint8_t>& values) {
  Tensor tensor(DType::boolean, std::move(shape));
  std::copy(values.begin(), values.end(), tensor.as<std::uint8_t>());
  return tensor;
}
Tensor s32s(Shape shape, const std::vector<std::int32_t>& values) {
  return Tensor::of<std::int32_t>(std::move(shape), values);
}

struct Given {
  std::string op;
  std::vector<std::pair<std::string, Tensor>> inputs;  // without a name: left out
  std::vector<NamedAttribute> attributes;
  std::vector<std::string> outputs = {"y"};
  std::string domain = "";
};

ModelBuilder transformers_model_of(const Given& given) {
  ModelBuilder model(23);
  model.opset_import(kMicrosoft, 1);
  NodeText node{.op = given.op, .outputs = given.outputs, .attributes = given.attributes, .domain = given.domain};
  for (const auto& [name, tensor] : given.inputs) {
    node.inputs.push_back(name);
    if (!name.empty()) model.initializer(name, tensor);
  }
  model.node(node);
  for (const std::string& output : given.outputs) {
    if (!output.empty()) model.output(output);
  }
  return model;
}

Values transformers_answer(const Given& given, std::size_t output = 0) {
  const auto all = answers(transformers_model_of(given), {});
  return output < all.size() ? as_floats(all[output]) : Values{};
}

// Of the first error, "found, expected".
std::string transformers_refusal(const Given& given) {
  const auto model = transformers_model_of(given).import();
  if (model.ok()) return "none";
  const Error& error = model.errors().front();
  return error.where + ": " + error.found + ", expected " + error.expected;
}

const Tensor kNoQueries = floats({1, 2, 2}, {0, 0, 0, 0});
const Tensor kThreeRows = floats({1, 3, 2}, {3, 30, 6, 60, 12, 120});
const std::vector<NamedAttribute> kTwoHeads{{"q_num_heads", I{2}}, {"kv_num_heads", I{2}}};

TEST(ImportAttention, OfColumns) {
  const Tensor k = floats({1, 3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(transformers_answer({"Attention", {{"q", kNoQueries}, {"k", k}, {"v", kThreeRows}}, kTwoHeads}),
            (Values{7, 70, 7, 70}));
  const Tensor kept = bools({2, 3}, {0, 1, 0, 1, 0, 1});
  EXPECT_EQ(
      transformers_answer({"Attention", {{"q", kNoQueries}, {"k", k}, {"v", kThreeRows}, {"m", kept}}, kTwoHeads}),
      (Values{6, 60, 7.5f, 75}));
  auto causal = kTwoHeads;
  causal.push_back({"is_causal", I{1}});
  EXPECT_EQ(transformers_answer({"Attention", {{"q", kNoQueries}, {"k", k}, {"v", kThreeRows}}, causal}),
            (Values{3, 30, 4.5f, 45}));
  // Two heads of queries share the one of keys; the scale is 1 / sqrt(1), then 0.
  const Tensor q = floats({1, 1, 2}, {0, 1000}), one = floats({1, 2, 1}, {1, 2}), v = floats({1, 2, 1}, {4, 8});
  const std::vector<NamedAttribute> grouped{{"q_num_heads", I{2}}, {"kv_num_heads", I{1}}};
  EXPECT_EQ(transformers_answer({"Attention", {{"q", q}, {"k", one}, {"v", v}}, grouped}), (Values{6, 8}));
  auto scaled = grouped;
  scaled.push_back({"scale", 0.0f});
  EXPECT_EQ(transformers_answer({"Attention", {{"q", q}, {"k", one}, {"v", v}}, scaled}), (Values{6, 6}));
}

TEST(ImportAttention, OfAxes) {
  const Tensor q = floats({1, 2, 1, 1}, {0, 1000}), k = floats({1, 1, 2, 1}, {1, 2}), v = floats({1, 1, 2, 1}, {4, 8});
  EXPECT_EQ(transformers_answer({"Attention", {{"q", q}, {"k", k}, {"v", v}}, {}}), (Values{6, 8}));
  const Tensor mask = floats({1, 2, 1, 2}, {0, -INFINITY, -INFINITY, 0});
  EXPECT_EQ(transformers_answer({"Attention", {{"q", q}, {"k", k}, {"v", v}, {"m", mask}}, {}}), (Values{4, 8}));
}

TEST(ImportAttention, RefusesWhatItHasNot) {
  const std::vector<std::pair<std::string, Tensor>> inputs{{"q", kNoQueries}, {"k", kThreeRows}, {"v", kThreeRows}};
  const std::string place = "test.onnx: node 'node' (Attention, opset 23), ";
  auto attributes = kTwoHeads;
  EXPECT_EQ(transformers_refusal({"Attention", inputs, {{"q_num_heads", I{3}}, {"kv_num_heads", I{1}}}}),
            place + "attribute 'q_num_heads': 3, expected a divisor of the 2 columns of input 'Q'");
  auto cached = inputs;
  cached.push_back({"", {}});
  cached.push_back({"past", floats({1, 2, 1, 1}, {1, 2})});
  EXPECT_EQ(transformers_refusal({"Attention", cached, kTwoHeads}),
            place + "input 'past_value': none, expected one where there is 'past_key'");
  attributes.push_back({"window", I{3}});
  EXPECT_NE(transformers_refusal({"Attention", inputs, attributes}).find("window"), std::string::npos);
  auto masked = inputs;
  masked.push_back({"m", floats({3}, {1, 2, 3})});
  masked[0].second = floats({1, 2, 3}, {0, 0, 0, 0, 0, 0});
  EXPECT_NE(transformers_refusal({"Attention", masked, {{"q_num_heads", I{1}}, {"kv_num_heads", I{1}}}})
                .find("as many columns"),
            std::string::npos);
}

TEST(ImportMicrosoftAttention, PacksAndMasks) {
  // Queries and keys are 0, values are x.
  const Tensor x = floats({2, 2, 1}, {2, 4, 10, 30}), w = floats({1, 3}, {0, 0, 1}), b = floats({3}, {0, 0, 1});
  const auto with = [&](std::vector<std::pair<std::string, Tensor>> more, std::vector<NamedAttribute> attributes = {}) {
    std::vector<std::pair<std::string, Tensor>> inputs{{"x", x}, {"w", w}, {"b", b}};
    inputs.insert(inputs.end(), more.begin(), more.end());
    attributes.push_back({"num_heads", I{1}});
    return Given{"Attention", inputs, attributes, {"y"}, kMicrosoft};
  };
  EXPECT_EQ(transformers_answer(with({})), (Values{4, 4, 21, 21}));
  EXPECT_EQ(transformers_answer(with({{"mask", s32s({2, 2}, {1, 0, 1, 1})}})), (Values{3, 3, 21, 21}));
  EXPECT_EQ(transformers_answer(with({{"mask", s32s({2}, {2, 1})}})), (Values{4, 4, 11, 11}));
  EXPECT_EQ(transformers_answer(with({{"mask", s32s({2, 2, 2}, {1, 0, 0, 1, 1, 1, 1, 1})}})), (Values{3, 5, 21, 21}));
  EXPECT_EQ(transformers_answer(with({}, {{"unidirectional", I{1}}})), (Values{3, 4, 11, 21}));
  // Ends, then starts; one number for all keys is no mask; lengths of packed sequences lead eight numbers.
  EXPECT_EQ(transformers_answer(with({{"mask", s32s({4}, {2, 2, 1, 0})}})), (Values{5, 5, 21, 21}));
  EXPECT_EQ(transformers_answer(with({{"mask", s32s({2, 1}, {0, 1})}})), (Values{4, 4, 21, 21}));
  EXPECT_EQ(transformers_answer(with({{"mask", s32s({1, 1}, {1})}})), (Values{4, 4, 21, 21}));
  EXPECT_EQ(transformers_answer(with({{"mask", s32s({8}, {1, 2, 0, 0, 0, 0, 0, 0})}})), (Values{3, 3, 21, 21}));
  EXPECT_NE(transformers_refusal(with({}, {{"do_rotary", I{1}}})).find("attribute 'do_rotary'"), std::string::npos);
  EXPECT_NE(transformers_refusal(with({}, {{"qkv_hidden_sizes", Ints{1, 1, 2}}})).find("attribute 'qkv_hidden_sizes'"),
            std::string::npos);
}

// x as above from bytes: 2 * (q - 100), and the values' weight 3 counts as (3 - 1) * 0.5.
TEST(ImportMicrosoftAttention, OfIntegers) {
  const auto u8s = [](Shape shape, const std::vector<std::uint8_t>& values) {
    return Tensor::of<std::uint8_t>(std::move(shape), values);
  };
  const auto s8s = [](Shape shape, const std::vector<std::int8_t>& values) {
    return Tensor::of<std::int8_t>(std::move(shape), values);
  };
  const auto with = [&](const Tensor& scale, const Tensor& zero, const Tensor& mask) {
    return Given{"QAttention",
                 {{"x", u8s({2, 2, 1}, {101, 102, 105, 115})},
                  {"w", s8s({1, 3}, {1, 1, 3})},
                  {"b", floats({3}, {0, 0, 1})},
                  {"x_scale", floats({}, {2})},
                  {"w_scale", scale},
                  {mask.elements() == 0 ? "" : "mask", mask},
                  {"x_zero", u8s({}, {100})},
                  {"w_zero", zero}},
                 {{"num_heads", I{1}}},
                 {"y"},
                 kMicrosoft};
  };
  const Tensor half = floats({}, {0.5f}), one = s8s({}, {1}), none = s32s({0}, {});
  EXPECT_EQ(transformers_answer(with(half, one, none)), (Values{4, 4, 21, 21}));
  EXPECT_EQ(transformers_answer(with(half, one, s32s({2, 2}, {1, 0, 1, 1}))), (Values{3, 3, 21, 21}));
  EXPECT_EQ(transformers_answer(with(floats({3}, {9, 9, 0.5f}), s8s({3}, {1, 1, 1}), none)), (Values{4, 4, 21, 21}));
  Given turning = with(half, one, none);
  turning.attributes.push_back({"do_rotary", I{1}});
  EXPECT_NE(transformers_refusal(turning).find("attribute 'do_rotary'"), std::string::npos);
  Given cached = with(half, one, none);
  cached.inputs.push_back({"past", floats({2, 2, 1, 1, 1}, {0, 0, 0, 0})});
  EXPECT_NE(transformers_refusal(cached).find("input 'past'"), std::string::npos);
}

// What a file gets wrong is named before anything runs.
TEST(ImportMicrosoftAttention, RefusesWrongMasksAndHeads) {
  const Tensor x = floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto with = [&](const Tensor& mask, std::vector<NamedAttribute> attributes) {
    return transformers_refusal(
        {"Attention",
         {{"x", x}, {"w", floats({2, 6}, std::vector<float>(12, 1.0f))}, {"", {}}, {"mask", mask}},
         std::move(attributes),
         {"y"},
         kMicrosoft});
  };
  const std::string place = "test.onnx: node 'node' (com.microsoft.Attention, opset 1), ";
  const std::string expected = "[batch], [batch, keys] or [batch, queries, keys] of batch 2, 2 queries and 2 keys";
  const std::vector<NamedAttribute> two{{"num_heads", I{2}}};
  for (const Shape& shape : {Shape{5}, Shape{2, 3}, Shape{1, 2}, Shape{2, 1, 2}, Shape{2, 1, 2, 2}, Shape{}}) {
    const Tensor mask(DType::s32, shape);
    EXPECT_EQ(with(mask, two), place + "input 'mask_index': shape " + shape.to_string() + ", expected " + expected);
  }
  const Tensor ones = s32s({2, 2}, {1, 1, 1, 1});
  EXPECT_EQ(with(ones, {{"num_heads", I{3}}}),
            place + "attribute 'num_heads': 3, expected a divisor of the 2 columns of input 'weights'");
  EXPECT_EQ(with(ones, {{"num_heads", I{0}}}),
            place + "attribute 'num_heads': 0, expected a divisor of the 2 columns of input 'weights'");
  EXPECT_EQ(with(ones, {{"num_heads", I{2}}, {"window", I{4}}}),
            place + "attribute 'window': 4, expected no attribute of this name");
  const Ints huge{I{1} << 62, I{1} << 62, I{1} << 62};
  EXPECT_NE(with(ones, {{"num_heads", I{2}}, {"qkv_hidden_sizes", huge}}).find("attribute 'qkv_hidden_sizes'"),
            std::string::npos);
}

// Where no key takes part all weights are equal: the fill is added to every score.
TEST(ImportMicrosoftAttention, MasksWithoutOnes) {
  const Given given{"Attention",
                    {{"x", floats({2, 2, 1}, {2, 4, 10, 30})},
                     {"w", floats({1, 3}, {0, 0, 1})},
                     {"", {}},
                     {"mask", s32s({2, 2}, {0, 0, 1, 0})}},
                    {{"num_heads", I{1}}},
                    {"y"},
                    kMicrosoft};
  EXPECT_EQ(transformers_answer(given), (Values{3, 3, 10, 10}));
  Given barred = given;
  barred.attributes.push_back({"mask_filter_value", -INFINITY});
  EXPECT_EQ(transformers_answer(barred), (Values{0, 0, 10, 10}));
}

TEST(ImportMultiHeadAttention, PlainPackedAndWithBias) {
  const std::vector<NamedAttribute> heads{{"num_heads", I{2}}};
  const Tensor k = floats({1, 3, 2}, {1, 2, 3, 4, 5, 6});
  const auto of = [&](std::vector<std::pair<std::string, Tensor>> inputs) {
    return Given{"MultiHeadAttention", std::move(inputs), heads, {"y"}, kMicrosoft};
  };
  EXPECT_EQ(transformers_answer(of({{"q", kNoQueries}, {"k", k}, {"v", kThreeRows}})), (Values{7, 70, 7, 70}));
  EXPECT_EQ(
      transformers_answer(of({{"q", kNoQueries}, {"k", k}, {"v", kThreeRows}, {"b", floats({6}, {0, 0, 5, 5, 1, 2})}})),
      (Values{8, 72, 8, 72}));
  EXPECT_EQ(transformers_answer(
                of({{"q", kNoQueries}, {"k", k}, {"v", kThreeRows}, {"", {}}, {"m", s32s({1, 3}, {0, 1, 1})}})),
            (Values{9, 90, 9, 90}));
  // [B, T, heads, 3, size]
  const Tensor packed = floats({1, 2, 2, 3, 1}, {0, 1, 4, 0, 1, 40, 0, 2, 8, 0, 2, 80});
  EXPECT_EQ(transformers_answer(of({{"q", packed}})), (Values{6, 60, 6, 60}));
  EXPECT_NE(transformers_refusal(of({{"q", kNoQueries}})).find("input 'key': none"), std::string::npos);
  EXPECT_NE(
      transformers_refusal(of({{"q", kNoQueries}, {"k", k}, {"v", kThreeRows}, {"", {}}, {"m", s32s({1, 1}, {0})}}))
          .find("input 'key_padding_mask': shape 1x1, expected [batch], [batch, keys]"),
      std::string::npos);
  Given causal = of({{"q", kNoQueries}, {"k", k}, {"v", kThreeRows}});
  causal.attributes.push_back({"unidirectional", I{1}});
  EXPECT_NE(transformers_refusal(causal).find("1 for 2 queries and 3 keys, expected as many of both"),
            std::string::npos);
}

TEST(ImportNormalisations, OfSumsAndEmbeddings) {
  const Tensor x = floats({1, 2, 2}, {1, 2, 3, 4}), skip = floats({1, 2, 2}, {1, 4, 1, 8});
  const Tensor gamma = floats({2}, {2, 3}), beta = floats({2}, {10, 20}), none = floats({2}, {0, 0});
  const std::vector<NamedAttribute> exact{{"epsilon", 0.0f}};
  const Given given{"SkipLayerNormalization",
                    {{"x", x}, {"s", skip}, {"g", gamma}, {"b", beta}, {"c", floats({2}, {0, 2})}},
                    exact,
                    {"y", "", "", "sum"},
                    kMicrosoft};
  EXPECT_EQ(transformers_answer(given), (Values{8, 23, 8, 23}));
  EXPECT_EQ(transformers_answer(given, 1), (Values{2, 8, 4, 14}));
  EXPECT_EQ(transformers_answer({"SkipSimplifiedLayerNormalization",
                                 {{"x", floats({1, 1, 2}, {1, 3})}, {"s", floats({1, 1, 2}, {2, 1})}, {"g", gamma}},
                                 exact,
                                 {"y"},
                                 kMicrosoft}),
            (Values{2 * 3 / std::sqrt(12.5f), 3 * 4 / std::sqrt(12.5f)}));
  const Given embedded{"EmbedLayerNormalization",
                       {{"ids", s32s({1, 2}, {1, 0})},
                        {"kinds", s32s({1, 2}, {0, 1})},
                        {"words", floats({2, 2}, {1, 2, 3, 5})},
                        {"positions", floats({3, 2}, {10, 10, 20, 21, 0, 0})},
                        {"segments", floats({2, 2}, {0, 0, 5, 7})},
                        {"g", floats({2}, {1, 1})},
                        {"b", none},
                        {"mask", s32s({1, 2}, {1, 0})}},
                       exact,
                       {"y", "count", "sum"},
                       kMicrosoft};
  EXPECT_EQ(transformers_answer(embedded), (Values{-1, 1, -1, 1}));
  EXPECT_EQ(transformers_answer(embedded, 1), Values{1});
  EXPECT_EQ(transformers_answer(embedded, 2), (Values{13, 15, 26, 30}));
  // The same tables in bytes of half a unit, whose zero is 2.
  const auto u8s = [](Shape shape, const std::vector<std::uint8_t>& values) {
    return Tensor::of<std::uint8_t>(std::move(shape), values);
  };
  Given quantized{"QEmbedLayerNormalization",
                  {{"ids", s32s({1, 2}, {1, 0})},
                   {"kinds", s32s({1, 2}, {0, 1})},
                   {"words", u8s({2, 2}, {4, 6, 8, 12})},
                   {"positions", u8s({3, 2}, {22, 22, 42, 44, 2, 2})},
                   {"segments", u8s({2, 2}, {2, 2, 12, 16})},
                   {"g", u8s({2}, {4, 4})},
                   {"b", u8s({2}, {2, 2})},
                   {"mask", s32s({1, 2}, {1, 0})}},
                  exact,
                  {"y", "count"},
                  kMicrosoft};
  for (const char* name : {"words", "positions", "segments", "g", "b"})
    quantized.inputs.push_back({std::string(name) + "_scale", floats({}, {0.5f})});
  for (const char* name : {"words", "positions", "segments", "g", "b"})
    quantized.inputs.push_back({std::string(name) + "_zero", u8s({}, {2})});
  EXPECT_EQ(transformers_answer(quantized), (Values{-1, 1, -1, 1}));
  EXPECT_EQ(transformers_answer(quantized, 1), Values{1});
  quantized.inputs[5].first = "";
  EXPECT_NE(transformers_refusal(quantized).find("input 5: none, expected a value"), std::string::npos);
  EXPECT_EQ(transformers_answer({"RMSNormalization", {{"x", floats({1, 2}, {3, 3})}, {"g", gamma}}, exact}),
            (Values{2, 3}));
}

TEST(ImportRotary, TurnsPairs) {
  // By a quarter, and not at all.
  const Tensor cosines = floats({2, 1}, {0, 1}), sines = floats({2, 1}, {1, 0});
  const Tensor x = floats({1, 2, 3}, {1, 2, 9, 3, 4, 9});
  const Tensor positions = integers({1, 2}, {0, 1});
  const std::vector<NamedAttribute> attributes{{"num_heads", I{1}}, {"rotary_embedding_dim", I{2}}};
  EXPECT_EQ(
      transformers_answer({"RotaryEmbedding", {{"x", x}, {"c", cosines}, {"s", sines}, {"p", positions}}, attributes}),
      (Values{-2, 1, 9, 3, 4, 9}));
  const Tensor whole = floats({1, 1, 1, 4}, {1, 2, 3, 4}), half = floats({1, 1, 2}, {0, 0}),
               one = floats({1, 1, 2}, {1, 1});
  EXPECT_EQ(transformers_answer({"RotaryEmbedding", {{"x", whole}, {"c", half}, {"s", one}}, {}}),
            (Values{-3, -4, 1, 2}));
  EXPECT_EQ(transformers_answer({"RotaryEmbedding", {{"x", whole}, {"c", half}, {"s", one}}, {{"interleaved", I{1}}}}),
            (Values{-2, 1, -4, 3}));
  EXPECT_EQ(
      transformers_answer({"RotaryEmbedding",
                           {{"x", floats({1, 1, 2}, {5, 6})}, {"p", integers({1}, {1})}, {"c", cosines}, {"s", sines}},
                           {},
                           {"y"},
                           kMicrosoft}),
      (Values{5, 6}));
}

TEST(ImportMicrosoft, ProductsAndActivations) {
  EXPECT_EQ(transformers_answer({"FusedMatMul",
                                 {{"a", floats({1, 2, 1}, {1, 2})}, {"b", floats({1, 2, 2}, {1, 2, 3, 4})}},
                                 {{"alpha", 2.0f}, {"transA", I{1}}, {"transB", I{1}}},
                                 {"y"},
                                 kMicrosoft}),
            (Values{10, 22}));
  // [rows, batch, inner] and [inner, batch, columns].
  EXPECT_EQ(transformers_answer({"FusedMatMul",
                                 {{"a", floats({1, 2, 2}, {1, 2, 3, 4})}, {"b", floats({2, 2, 1}, {1, 10, 100, 1000})}},
                                 {{"transBatchA", I{1}}, {"transBatchB", I{1}}},
                                 {"y"},
                                 kMicrosoft}),
            (Values{201, 4030}));
  const Tensor x = floats({1}, {-1}), one = floats({1}, {1});
  EXPECT_EQ(transformers_answer({"BiasGelu", {{"x", x}, {"b", one}}, {}, {"y"}, kMicrosoft}), Values{0});
  EXPECT_EQ(transformers_answer({"FastGelu", {{"x", x}, {"b", one}}, {}, {"y"}, kMicrosoft}), Values{0});
  EXPECT_EQ(transformers_answer({"QuickGelu", {{"x", one}}, {{"alpha", 0.0f}}, {"y"}, kMicrosoft}), Values{0.5f});
}

// 2 * 1 + 4 * 3 in half units, plus 1; a range of 255 has scale 1.
TEST(ImportMicrosoft, ProductsOfIntegersInFloats) {
  const auto s8s = [](Shape shape, const std::vector<std::int8_t>& values) {
    return Tensor::of<std::int8_t>(std::move(shape), values);
  };
  const auto u8s = [](Shape shape, const std::vector<std::uint8_t>& values) {
    return Tensor::of<std::uint8_t>(std::move(shape), values);
  };
  EXPECT_EQ(transformers_answer({"MatMulIntegerToFloat",
                                 {{"a", u8s({1, 2}, {3, 5})},
                                  {"b", s8s({2, 2}, {1, 2, 3, -1})},
                                  {"a_scale", floats({}, {0.5f})},
                                  {"b_scale", floats({2}, {1, 0.25f})},
                                  {"a_zero", u8s({}, {1})},
                                  {"", {}},
                                  {"bias", floats({2}, {1, -3})}},
                                 {},
                                 {"y"},
                                 kMicrosoft}),
            (Values{8, -3}));
  EXPECT_EQ(transformers_answer({"DynamicQuantizeMatMul",
                                 {{"a", floats({1, 1, 2}, {0, 255})},
                                  {"b", s8s({2, 1}, {7, 2})},
                                  {"b_scale", floats({1}, {0.5f})},
                                  {"b_zero", s8s({1}, {1})}},
                                 {},
                                 {"y"},
                                 kMicrosoft}),
            Values{127.5f});
}

// ---- exported programs ----

// "name": an argument as the format writes it.
std::string argument(const std::string& name, const std::string& value) {
  return R"({"name":")" + name + R"(","arg":)" + value + R"(,"kind":1})";
}
std::string transformers_tensor_argument(const std::string& name) {
  return R"({"as_tensor":{"name":")" + name + R"("}})";
}

// A program of one node; its inputs are called by their places, "x0" and on.
std::string transformers_program_of(const std::string& target, const std::vector<std::string>& arguments,
                                    const std::vector<Tensor>& inputs, const Shape& result) {
  const auto joined = [](const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
    return text;
  };
  const auto described = [&](const std::string& name, DType dtype, const Shape& shape) {
    std::vector<std::string> sizes, strides;
    for (const std::int64_t size : shape) sizes.push_back(R"({"as_int":)" + std::to_string(size) + "}");
    for (const std::int64_t stride : shape.strides()) strides.push_back(R"({"as_int":)" + std::to_string(stride) + "}");
    return "\"" + name + R"(":{"dtype":)" + (dtype == DType::f32 ? "7" : "5") + R"(,"sizes":[)" + joined(sizes) +
           R"(],"requires_grad":false,"device":{"type":"cpu","index":null},"strides":[)" + joined(strides) +
           R"(],"storage_offset":{"as_int":0},"layout":7})";
  };
  std::vector<std::string> names, values, specs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    names.push_back(transformers_tensor_argument(name));
    values.push_back(described(name, inputs[i].dtype(), inputs[i].shape()));
    specs.push_back(R"({"user_input":{"arg":)" + names.back() + "}}");
  }
  values.push_back(described("y", DType::f32, result));
  const std::string y = transformers_tensor_argument("y");
  return R"({"graph_module":{"graph":{"inputs":[)" + joined(names) + R"(],"outputs":[)" + y +
         R"(],"nodes":[{"target":")" + target + R"(","inputs":[)" + joined(arguments) + R"(],"outputs":[)" + y +
         R"(],"metadata":{},"is_hop_single_tensor_return":null,"name":"y"}],"tensor_values":{)" + joined(values) +
         R"(},"sym_int_values":{},"sym_bool_values":{},"is_single_tensor_return":false,"custom_obj_values":{},)"
         R"("sym_float_values":{}},"signature":{"input_specs":[)" +
         joined(specs) + R"(],"output_specs":[{"user_output":{"arg":)" + y +
         R"(}}]},"module_call_graph":[]},"opset_version":{"aten":10},"range_constraints":{},)"
         R"("schema_version":{"major":8,"minor":20},"verifiers":["TRAINING"],"torch_version":"2.15.0"})";
}

// The answer, or the errors as text.
std::string aten(const std::string& target, const std::vector<std::string>& arguments,
                 const std::vector<Tensor>& inputs, const Shape& result, Values* values) {
  const std::string empty = R"({"config":{}})";
  const std::string bytes =
      zip_of({{"archive/models/model.json", transformers_program_of(target, arguments, inputs, result)},
              {"archive/data/weights/model_weights_config.json", empty},
              {"archive/data/constants/model_constants_config.json", empty},
              {"archive/archive_format", "pt2"},
              {"archive/archive_version", "0"},
              {"archive/byteorder", "little"}});
  const auto model = import_pt2(std::as_bytes(std::span(bytes)), "test.pt2", {});
  if (!model.ok()) return to_string(model.errors());
  auto results = evaluate(model->graph, inputs);
  if (!results.ok()) return to_string(results.errors());
  *values = as_floats(results->front());
  return "";
}

TEST(ImportAten, AttentionAndEmbedding) {
  const std::string attention = "torch.ops.aten.scaled_dot_product_attention.default";
  // Two heads of queries, one of keys and values.
  const std::vector<Tensor> inputs{floats({1, 2, 2, 1}, {0, 0, 0, 1000}), floats({1, 1, 2, 1}, {1, 2}),
                                   floats({1, 1, 2, 1}, {4, 8})};
  std::vector<std::string> arguments{
      argument("query", transformers_tensor_argument("x0")), argument("key", transformers_tensor_argument("x1")),
      argument("value", transformers_tensor_argument("x2")), argument("enable_gqa", R"({"as_bool":true})")};
  Values values;
  EXPECT_EQ(aten(attention, arguments, inputs, {1, 2, 2, 1}, &values), "");
  EXPECT_EQ(values, (Values{6, 6, 6, 8}));
  auto causal = arguments;
  causal.push_back(argument("is_causal", R"({"as_bool":true})"));
  causal.push_back(argument("scale", R"({"as_float":0.0})"));
  EXPECT_EQ(aten(attention, causal, inputs, {1, 2, 2, 1}, &values), "");
  EXPECT_EQ(values, (Values{4, 6, 4, 6}));
  arguments.push_back(argument("dropout_p", R"({"as_float":0.5})"));
  EXPECT_NE(aten(attention, arguments, inputs, {1, 2, 2, 1}, &values).find("argument 'dropout_p'"), std::string::npos);

  const std::vector<Tensor> table{floats({3, 2}, {1, 2, 3, 4, 5, 6}), integers({2}, {2, 0})};
  EXPECT_EQ(aten("torch.ops.aten.embedding.default",
                 {argument("weight", transformers_tensor_argument("x0")),
                  argument("indices", transformers_tensor_argument("x1")), argument("padding_idx", R"({"as_int":0})")},
                 table, {2, 2}, &values),
            "");
  EXPECT_EQ(values, (Values{5, 6, 1, 2}));
}

}  // namespace
}  // namespace octavo::testing
