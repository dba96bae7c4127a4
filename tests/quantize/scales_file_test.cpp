// Scales as JSON: what is written reads back as it was, and broken or foreign files say which tensor is wrong. Part of
// tests/quantize/.
#include "quantize/scales_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "ops/binary/binary.h"
#include "ops/concat/concat.h"
#include "ops/conv/conv.h"
#include "ops/max_pool/max_pool.h"
#include "ops/reduce/reduce.h"
#include "ops/unary/unary.h"
#include "quantize/base64.h"

namespace octavo {
namespace {

using Json = nlohmann::json;

class ScalesFileNoise final : public SampleSource {
 public:
  std::int64_t size() const override { return 5; }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    std::mt19937 random(static_cast<unsigned>(index));
    std::normal_distribution<float> normal;
    Tensor tensor(DType::f32, Shape{1, 4, 6, 6});
    for (float& value : tensor.span<float>()) value = normal(random);
    return std::vector<Tensor>{tensor};
  }
};

// x -> first -> relu -> largest (a pool, which keeps the scale) -> second.
Graph scales_file_network() {
  Graph graph;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  const auto constant = [&](const std::string& name, Shape shape) {
    Tensor tensor(DType::f32, std::move(shape));
    for (float& value : tensor.span<float>()) value = normal(random);
    return graph.add_constant(name, std::move(tensor));
  };
  const auto conv = [&](const std::string& name, ValueId x) {
    return *graph.add(kConv, ConvAttrs{.window = unit_window({3, 3})},
                      {x, constant(name + ".w", {4, 4, 3, 3}), constant(name + ".b", {4})}, name);
  };
  const ValueId relu = *graph.add(kUnary, UnaryAttrs{.kind = UnaryKind::relu},
                                  {conv("first", graph.add_input("x", DType::f32, {1, 4, 6, 6}))}, "relu");
  const ValueId pool = *graph.add(kMaxPool, MaxPoolAttrs{.window = unit_window({2, 2})}, {relu}, "largest");
  graph.add_output(conv("second", pool), "y");
  return graph;
}

// Squeeze-excite, x * f(x), a residual sum and a concatenation: every kind of group.
Graph network_of_many_groups() {
  Graph graph;
  std::mt19937 random(4);
  const auto constant = [&](const std::string& name, Shape shape) {
    std::normal_distribution<float> normal(0.0f, 0.3f);
    Tensor values(DType::f32, std::move(shape));
    for (float& value : values.span<float>()) value = normal(random);
    return graph.add_constant(name, std::move(values));
  };
  const auto conv = [&](const std::string& name, ValueId x) {
    const std::int64_t channels = graph.fact(x).shape[1];
    return *graph.add(kConv, ConvAttrs{.window = unit_window({1, 1})},
                      {x, constant(name + ".w", {4, channels, 1, 1}), constant(name + ".b", {4})}, name);
  };
  const auto unary = [&](const std::string& name, UnaryKind kind, ValueId x) {
    return *graph.add(kUnary, UnaryAttrs{.kind = kind}, {x}, name);
  };
  const auto binary = [&](const std::string& name, BinaryKind kind, ValueId a, ValueId b) {
    return *graph.add(kBinary, BinaryAttrs{.kind = kind}, {a, b}, name);
  };
  const ValueId stem = conv("stem", graph.add_input("x", DType::f32, {1, 4, 6, 6}));
  const ValueId silu = binary("silu", BinaryKind::mul, stem, unary("sigmoid", UnaryKind::sigmoid, stem));
  const ValueId mean = *graph.add(kReduce, ReduceAttrs{.kind = ReduceKind::mean, .axes = {2, 3}}, {silu}, "mean");
  const ValueId gate =
      unary("gate", UnaryKind::sigmoid, conv("excite", unary("squeezed", UnaryKind::relu, conv("squeeze", mean))));
  const ValueId sum =
      unary("sum_relu", UnaryKind::relu,
            binary("sum", BinaryKind::add, conv("branch", binary("gated", BinaryKind::mul, silu, gate)), silu));
  const ValueId joined = *graph.add(kConcat, ConcatAttrs{.axis = 1}, {conv("left", sum), sum}, "joined");
  graph.add_output(conv("last", joined), "y");
  return graph;
}

struct Written {
  Graph graph;
  std::string text;
};

Written written(const QuantizeOptions& options) {
  Graph graph = scales_file_network();
  const auto report = quantize(graph, ScalesFileNoise(), options);
  EXPECT_TRUE(report) << to_string(report.errors());
  return {graph, report ? scales_json(graph, *report, "network.onnx", "minmax") : ""};
}

Result<Graph> quantized_by(const std::string& text) {
  auto calibrated = parse_scales(text, "scales.json");
  if (!calibrated) return calibrated.errors();
  Graph graph = scales_file_network();
  const auto report = quantize(graph, ScalesFileNoise(), {.calibrated = std::move(*calibrated)});
  if (!report) return report.errors();
  return graph;
}

void expect_same_constants(const Graph& a, const Graph& b) {
  ASSERT_EQ(to_string(a), to_string(b));
  for (int i = 0; i < a.value_count(); ++i) {
    if (a.fact({i}).is_constant()) {
      EXPECT_TRUE(*a.fact({i}).constant == *b.fact({i}).constant) << a.value({i}).name;
    }
  }
}

TEST(ScalesFile, ReadsBackAsItWas) {
  for (const QuantizeOptions& options :
       {QuantizeOptions{}, QuantizeOptions{.calibration = CalibrationMethod::mse, .corrects_biases = false},
        QuantizeOptions{.equalizes = true, .weights = WeightMethod::adaround},
        QuantizeOptions{.global_scale = 5.0f, .corrects_biases = false}}) {
    const Written direct = written(options);
    const auto again = quantized_by(direct.text);
    ASSERT_TRUE(again) << to_string(again.errors());
    expect_same_constants(direct.graph, *again);
  }
}

TEST(ScalesFile, TellsTensorsWeightsAndCorrections) {
  const Json document = Json::parse(written({}).text);
  EXPECT_EQ(document["format"], "octavo scales 1");
  EXPECT_EQ(document["model"], "network.onnx");
  EXPECT_EQ(document["calibration"], "minmax");
  ASSERT_EQ(document["tensors"].size(), 3u);  // x, relu, largest
  const Json& relu = document["tensors"]["relu"];
  EXPECT_EQ(relu["type"], "u8");
  EXPECT_EQ(relu["zero_point"], 0);
  EXPECT_FLOAT_EQ(relu["scale"].get<float>() * 255.0f, relu["range"][1].get<float>());
  EXPECT_EQ(document["tensors"]["largest"]["scale"], relu["scale"]);
  EXPECT_EQ(document["weights"]["first.w"]["scales"].size(), 4u);
  EXPECT_EQ(document["bias_corrections"]["second"].size(), 4u);
}

TEST(ScalesFile, BrokenWeightsAndFactorsAreRefused) {
  const Json whole = Json::parse(written({.equalizes = true, .weights = WeightMethod::adaround}).text);
  ASSERT_TRUE(whole["channel_factors"].contains("first"));
  ASSERT_TRUE(whole["rounded_weights"].contains("second"));
  const auto is_refused = [&](const char* key, const char* name, const Json& value) {
    Json document = whole;
    document[key][name] = value;
    const auto read = parse_scales(document.dump(), "some.json");
    return !read && read.errors()[0].kind == ErrorKind::invalid_input;
  };
  Json weights = whole["rounded_weights"]["second"];
  EXPECT_FALSE(is_refused("rounded_weights", "second", weights));
  for (const auto& [key, value] : {std::pair<const char*, Json>{"shape", {4, 4, 3, 4}},
                                   {"shape", {-1}},
                                   {"shape", {1e30}},
                                   {"shape", Json::array()},
                                   {"values", "AAA"},
                                   {"values", "A*=="},
                                   {"values", 3},
                                   {"scales", {"x"}},
                                   {"scales", {-1.0}},
                                   {"scales", 1}}) {
    Json broken = weights;
    broken[key] = value;
    EXPECT_TRUE(is_refused("rounded_weights", "second", broken)) << key << " " << value;
  }
  EXPECT_TRUE(is_refused("rounded_weights", "second", 7));
  for (const Json& value : {Json(1), Json{0.0}, Json{-1.0}, Json{"x"}, Json{1e30}})
    EXPECT_TRUE(is_refused("channel_factors", "first", value)) << value;
}

TEST(Base64, EveryLength) {
  EXPECT_EQ(to_base64(std::as_bytes(std::span("Man!", 4))), "TWFuIQ==");
  std::vector<std::byte> bytes;
  for (int i = 0; i < 70; ++i) {
    const auto read = from_base64(to_base64(bytes));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, bytes);
    bytes.push_back(static_cast<std::byte>(i * 37 + 11));
  }
  for (const char* broken : {"A", "AAA", "AA=A", "====", "A===", "AA A", "AAA\xff"})
    EXPECT_FALSE(from_base64(broken)) << broken;
}

TEST(ScalesFile, EditedScalesAreTaken) {
  Json document = Json::parse(written({}).text);
  for (const char* name : {"relu", "largest"}) {
    document["tensors"][name]["scale"] = 0.125;
    document["tensors"][name]["zero_point"] = 7;
    document["tensors"][name].erase("range");
  }
  const auto graph = quantized_by(document.dump());
  ASSERT_TRUE(graph) << to_string(graph.errors());
  std::vector<float> found;
  for (int i = 0; i < graph->value_count(); ++i) {
    const Value& value = graph->value({i});
    if (value.name == "relu/scale" || value.name == "relu/zero_point")
      found.push_back(to_floats(value.fact.constant->view())[0]);
  }
  EXPECT_EQ(found, (std::vector<float>{0.125f, 7.0f}));
}

void expect_error(const Json& document, ErrorKind kind, const std::string& where, const std::string& part) {
  const auto graph = quantized_by(document.dump());
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.errors()[0].kind, kind);
  const std::string message = to_string(graph.errors());
  EXPECT_NE(message.find(where), std::string::npos) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(ScalesFile, ErrorsNameTheTensor) {
  const Json good = Json::parse(written({}).text);
  const auto changed = [&](const char* key, const Json& value) {
    Json document = good;
    document["tensors"]["relu"][key] = value;
    return document;
  };
  constexpr ErrorKind kBroken = ErrorKind::invalid_input, kUsage = ErrorKind::usage;
  for (const Json& scale : {Json(0.0), Json(-1.0), Json(1e300), Json("1"), Json(), Json(1e-30)})
    expect_error(changed("scale", scale), kBroken, "'relu'", "scale");
  for (const Json& zero : {Json(-1), Json(256), Json(1.5), Json(), Json(std::uint64_t{1} << 63)})
    expect_error(changed("zero_point", zero), kBroken, "'relu'", "zero_point");
  expect_error(changed("type", "s32"), kBroken, "'relu'", "type");
  expect_error(changed("range", {2.0, 1.0}), kBroken, "'relu'", "range");
  expect_error(changed("range", 1.0), kBroken, "'relu'", "range");
  expect_error(changed("scale", 0.5), kUsage, "'largest'", "shares that of 'relu'");

  Json document = good;
  document["tensors"].erase("relu");
  expect_error(document, kUsage, "'relu'", "no known range");
  document = good;
  document["tensors"]["stranger"] = good["tensors"]["relu"];
  expect_error(document, kUsage, "'stranger'", "a tensor of this network");
  document = good;
  document["bias_corrections"]["second"][1] = "much";
  expect_error(document, kBroken, "'second'", "bias correction");
  document = good;
  document["tensors"]["x"] = 3;
  expect_error(document, kBroken, "'x'", "3");
}

TEST(ScalesFile, OtherFilesAreRefused) {
  for (const std::string& text : std::vector<std::string>{"", "{", "[]", "3", "{}", R"({"format": "octavo scales 2"})",
                                                          R"({"format": "octavo scales 1"})", std::string(100000, '['),
                                                          R"({"format": {"a": {"b": {"c": {"d": 1}}}}})"}) {
    const auto read = parse_scales(text, "some.json");
    ASSERT_FALSE(read) << text.substr(0, 40);
    EXPECT_EQ(read.errors()[0].kind, ErrorKind::invalid_input);
    EXPECT_NE(to_string(read.errors()).find("some.json"), std::string::npos);
  }
}

// What --max-drop does with --scales: whichever groups go to fp32, the file has all scales that are left.
TEST(ScalesFile, ServesEveryMixtureOfItsNetwork) {
  Graph whole = network_of_many_groups();
  const auto report = quantize(whole, ScalesFileNoise(), {.calibration = CalibrationMethod::minmax});
  ASSERT_TRUE(report) << to_string(report.errors());
  ASSERT_GE(report->groups.size(), 7u);
  const auto calibrated = parse_scales(scales_json(whole, *report, "network.onnx", "minmax"), "scales.json");
  ASSERT_TRUE(calibrated) << to_string(calibrated.errors());
  for (std::uint32_t set = 1; set + 1 < 1u << report->groups.size(); ++set) {
    QuantizeOptions options{.calibrated = *calibrated};
    for (std::size_t g = 0; g < report->groups.size(); ++g) {
      if ((set >> g & 1) != 0)
        options.skip.insert(options.skip.end(), report->groups[g].nodes.begin(), report->groups[g].nodes.end());
    }
    Graph graph = network_of_many_groups();
    const auto mixture = quantize(graph, ScalesFileNoise(), options);
    ASSERT_TRUE(mixture) << set << ": " << to_string(mixture.errors());
    for (const auto& [name, scale] : mixture->scales) {
      ASSERT_TRUE(report->scales.contains(name)) << set << ": " << name;
      EXPECT_EQ(scale, report->scales.at(name)) << set << ": " << name;
    }
  }
}

}  // namespace
}  // namespace octavo
