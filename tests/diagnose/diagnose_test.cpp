// What the rules find in small files, and in healthy ones not; profiles joined with files.
#include "diagnose/diagnose.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "diagnose/engine_cost.h"
#include "support/child.h"
#include "support/onnx_builder.h"

namespace octavo::diagnose {
namespace {

using octavo::testing::floats;
using octavo::testing::ModelBuilder;
using octavo::testing::ScratchFolder;

// Pairs around two convolutions, with what a test spoils.
struct Spoiled {
  DType activation = DType::u8, weight = DType::s8;
  std::int64_t zero_point = 128, axis = 0;
  float scale = 0.02f;
  bool has_relu = false, has_norm = false, has_pair_behind = true, has_second_pair = false, has_float_weights = false;
  bool has_mean = false, has_hard_swish = false, is_saturated = false;
};

Tensor zero(DType type, std::int64_t value) {
  Tensor made(type, Shape{});
  store_double(made.view(), 0, static_cast<double>(value));
  return made;
}

class Network {
 public:
  explicit Network(const Spoiled& spoiled) : spoiled_(spoiled) {
    model_.input("x", DType::f32, {1, 8, 16, 16}).output("y");
    model_.initializer("fs", Tensor::scalar(0.02f)).initializer("fz", zero(DType::u8, 128));
    model_.initializer("s", Tensor::scalar(spoiled.scale))
        .initializer("z", zero(spoiled.activation, spoiled.zero_point));
    std::string x = pair("x", "fs", "fz");
    x = conv(x, spoiled);
    if (spoiled.has_pair_behind) x = pair(x, "s", "z");
    if (spoiled.has_second_pair) x = pair(x, "s", "z");
    if (spoiled.has_hard_swish) x = pair(node("HardSwish", {x}), "s", "z");
    x = pair(conv(x, {}), "fs", "fz");
    if (spoiled.has_mean) x = pair(node("ReduceMean", {x}, {{"axes", std::vector<std::int64_t>{2, 3}}}), "fs", "fz");
    model_.node({"Identity", {x}, {"y"}, {}, "", "last"});
  }

  std::string bytes() const { return model_.bytes(); }

 private:
  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<octavo::testing::NamedAttribute>& attributes = {}) {
    const std::string name = op + std::to_string(++count_);
    model_.node({op, inputs, {name + "_out"}, attributes, "", name});
    return name + "_out";
  }
  std::string pair(const std::string& x, const std::string& scale, const std::string& zero_point) {
    return node("DequantizeLinear", {node("QuantizeLinear", {x, scale, zero_point}), scale, zero_point});
  }
  std::string conv(const std::string& x, const Spoiled& how) {
    const std::string name = "w" + std::to_string(++count_);
    std::string weights = name;
    if (how.has_float_weights) {
      model_.initializer(name, floats({8, 8, 3, 3}, std::vector<float>(576, 0.5f)));
    } else {
      Tensor values(how.weight, Shape{8, 8, 3, 3});
      for (std::int64_t i = 0; i < values.elements(); ++i)
        store_double(values.view(), i, how.is_saturated ? 127.0 : static_cast<double>(i % 100));
      model_.initializer(name, values).initializer(name + "s", floats({8}, std::vector<float>(8, 0.01f)));
      model_.initializer(name + "z", Tensor(how.weight, Shape{8}));
      weights = node("DequantizeLinear", {name, name + "s", name + "z"}, {{"axis", how.axis}});
    }
    std::string y = node("Conv", {x, weights}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    if (how.has_norm) {
      const std::string norm = "n" + std::to_string(++count_);
      for (const char* part : {"g", "b", "m", "v"})
        model_.initializer(norm + part, floats({8}, std::vector<float>(8, 1.0f)));
      y = node("BatchNormalization", {y, norm + "g", norm + "b", norm + "m", norm + "v"});
    }
    return how.has_relu ? node("Relu", {y}) : y;
  }

  Spoiled spoiled_;
  ModelBuilder model_;
  int count_ = 0;
};

Diagnosis diagnosed(const std::string& bytes, const DiagnoseOptions& options = {}) {
  const ScratchFolder folder;
  const std::string path = folder.path("diagnosed.onnx");
  EXPECT_TRUE(write_text(path, bytes));
  auto diagnosis = diagnose_file(path, options);
  EXPECT_TRUE(diagnosis) << to_string(diagnosis.errors());
  return diagnosis ? *std::move(diagnosis) : Diagnosis{};
}

std::string first_of(const Spoiled& spoiled) {
  const Diagnosis diagnosis = diagnosed(Network(spoiled).bytes());
  return diagnosis.findings.empty() ? "" : std::string(name_of(diagnosis.findings[0].cause));
}

TEST(Rules, HealthyFilesAreHealthy) {
  EXPECT_EQ(first_of({}), "");
  EXPECT_EQ(first_of({.zero_point = 0, .has_relu = true}), "");
  // Pairs in s8 become u8 when ONNX Runtime loads them.
  EXPECT_EQ(first_of({.activation = DType::s8, .zero_point = 0}), "");
  EXPECT_EQ(first_of({.activation = DType::s8, .zero_point = -128, .has_relu = true}), "");
}

TEST(Rules, NameTheCauseFirst) {
  EXPECT_EQ(first_of({.zero_point = 128, .has_relu = true}), "range-behind-relu");
  EXPECT_EQ(first_of({.activation = DType::s8, .zero_point = 0, .has_relu = true}), "range-behind-relu");
  EXPECT_EQ(first_of({.has_norm = true}), "batch-norm-unfolded");
  EXPECT_EQ(first_of({.has_relu = true, .has_pair_behind = false}), "missing-output-pair");
  EXPECT_EQ(first_of({.axis = 1}), "per-channel-axis");
  EXPECT_EQ(first_of({.weight = DType::u8}), "unsigned-weights");
  EXPECT_EQ(first_of({.has_second_pair = true}), "double-pairs");
  EXPECT_EQ(first_of({.has_float_weights = true}), "float-weights");
  EXPECT_EQ(first_of({.has_mean = true}), "qdq-around-mean");
  EXPECT_EQ(first_of({.has_hard_swish = true}), "qdq-around-silu");
}

TEST(Rules, ScalesThatSpoilAnswers) {
  EXPECT_EQ(first_of({.scale = 0.0f}), "zero-scale");
  EXPECT_EQ(first_of({.scale = 1e-40f}), "denormal-scale");
  EXPECT_EQ(first_of({.scale = 1.3e36f}), "mask-in-range");
  EXPECT_EQ(first_of({.zero_point = 0, .scale = 1.0f}), "uncalibrated-range");
  EXPECT_EQ(first_of({.is_saturated = true}), "saturated-weights");
}

// One convolution of integers.
std::string operators(DType activation) {
  ModelBuilder model;
  model.input("x", activation, {1, 8, 16, 16}).output("y");
  model.initializer("s", Tensor::scalar(0.1f)).initializer("z", Tensor(activation, Shape{}));
  model.initializer("w", Tensor::of<std::int8_t>({8, 8, 3, 3}, std::vector<std::int8_t>(576, 3)));
  model.initializer("wz", Tensor(DType::s8, Shape{}));
  model.node({"QLinearConv", {"x", "s", "z", "w", "s", "wz", "s", "z"}, {"y"}, {}, "", "conv"});
  return model.bytes();
}

TEST(Rules, OperatorsOnSignedBytesRunInPlainCode) {
  const Diagnosis slow = diagnosed(operators(DType::s8));
  ASSERT_FALSE(slow.findings.empty());
  EXPECT_EQ(slow.findings[0].cause, Cause::signed_activations);
  EXPECT_GT(slow.findings[0].predicted_ms, 0.0);
  EXPECT_NE(slow.verdict().find("conv"), std::string::npos);
  EXPECT_TRUE(diagnosed(operators(DType::u8)).findings.empty());
}

// A convolution between pairs whose value one node reads, or two.
std::string diagnose_between_pairs(DType activation, bool is_read_twice) {
  ModelBuilder model;
  model.input("x", DType::f32, {1, 8, 16, 16}).output("y");
  model.initializer("s", Tensor::scalar(0.1f)).initializer("z", Tensor(activation, Shape{}));
  model.initializer("w", Tensor::of<std::int8_t>({8, 8, 3, 3}, std::vector<std::int8_t>(576, 3)));
  model.initializer("wz", Tensor(DType::s8, Shape{}));
  model.node({"QuantizeLinear", {"x", "s", "z"}, {"xq"}, {}, "", "q"})
      .node({"DequantizeLinear", {"xq", "s", "z"}, {"xf"}, {}, "", "dq"})
      .node({"DequantizeLinear", {"w", "s", "wz"}, {"wf"}, {}, "", "dqw"})
      .node({"Conv", {"xf", "wf"}, {"c"}, {{"pads", std::vector<std::int64_t>(4, 1)}}, "", "conv"})
      .node({"QuantizeLinear", {"c", "s", "z"}, {"cq"}, {}, "", "qc"})
      .node({"DequantizeLinear", {"cq", "s", "z"}, {"cf"}, {}, "", "dqc"})
      .node({"Add", {"cf", is_read_twice ? "xf" : "cf"}, {"a"}, {}, "", "add"})
      .node({"QuantizeLinear", {"a", "s", "z"}, {"aq"}, {}, "", "qa"})
      .node({"DequantizeLinear", {"aq", "s", "z"}, {"y"}, {}, "", "dqa"});
  return model.bytes();
}

TEST(Rules, SignedPairsThatTwoNodesReadStay) {
  const auto is_lost = [](const std::string& file) {
    const Diagnosis diagnosis = diagnosed(file);
    return !diagnosis.findings.empty() && diagnosis.findings[0].cause == Cause::signed_activations;
  };
  EXPECT_TRUE(is_lost(diagnose_between_pairs(DType::s8, true)));
  EXPECT_FALSE(is_lost(diagnose_between_pairs(DType::s8, false)));
  EXPECT_FALSE(is_lost(diagnose_between_pairs(DType::u8, true)));
  const Diagnosis wide = diagnosed(diagnose_between_pairs(DType::u16, false));
  ASSERT_FALSE(wide.findings.empty());
  EXPECT_EQ(wide.findings[0].cause, Cause::sixteen_bit_activations);
}

TEST(Rates, AreReadAsTheyWereMeasured) {
  const ScratchFolder folder;
  folder.write("rates.json", std::string(measured_rates(Engine::litert)));
  const auto read = read_rates(folder.path("rates.json"), Engine::litert);
  ASSERT_TRUE(read) << to_string(read.errors());
  EXPECT_EQ(read->source, rates_of(Engine::litert).source);
  EXPECT_EQ(read->passes_ns, rates_of(Engine::litert).passes_ns);
  EXPECT_GT(pass_ms(1000, Pass::quantize, *read), pass_ms(10, Pass::quantize, *read));
  EXPECT_NE(rates_of(Engine::tvm).source.find("not measured"), std::string::npos);
}

TEST(Rates, WhatIsNoneIsAnError) {
  const ScratchFolder folder;
  folder.write("rates.json", std::string(measured_rates(Engine::litert)));
  folder.write("broken.json", std::string(measured_rates(Engine::ort)).substr(0, 100));
  const auto kind = [&](const std::string& name) {
    const auto read = read_rates(folder.path(name), Engine::ort);
    EXPECT_FALSE(read.ok()) << name;
    return read.ok() ? ErrorKind::internal : read.errors()[0].kind;
  };
  EXPECT_EQ(kind("rates.json"), ErrorKind::usage);
  EXPECT_EQ(kind("broken.json"), ErrorKind::invalid_input);
  EXPECT_EQ(kind("none.json"), ErrorKind::resource);
}

TEST(Report, SaysWhatWasFound) {
  const Diagnosis diagnosis = diagnosed(Network({.has_norm = true}).bytes());
  const auto json = diagnosis_json(diagnosis);
  EXPECT_EQ(json["dialect"], "QDQ");
  EXPECT_EQ(json["findings"][0]["cause"], "batch-norm-unfolded");
  EXPECT_EQ(json["census"]["batch_norms"]["count"], 1);
  EXPECT_NE(diagnosis_text(diagnosis).find("--write-fixed"), std::string::npos);
  const std::string page = diagnosis_html(diagnosis);
  for (const char* part : {"class=\"verdict\"", "--write-fixed ", ".fixed.onnx", "class=\"bar\"", "class=\"finding\""})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  // What is between the totals adds up to the last one.
  double sum = 0.0;
  for (const WaterfallBar& bar : waterfall_of(diagnosis)) {
    if (bar.is_total) EXPECT_NEAR(sum, bar.ms, 1e-9);
    else sum += bar.ms;
  }
}

TEST(Report, ProposesRepairsWhereThereIsOne) {
  const auto next = [](const Spoiled& spoiled) { return next_step(diagnosed(Network(spoiled).bytes())).command; };
  EXPECT_NE(next({.has_norm = true}).find("--write-fixed"), std::string::npos);
  EXPECT_NE(next({.has_mean = true}).find("--write-fixed"), std::string::npos);
  EXPECT_NE(next({.weight = DType::u8}).find("--write-fixed"), std::string::npos);
  for (const Spoiled& spoiled : {Spoiled{}, Spoiled{.has_hard_swish = true}})
    EXPECT_EQ(next(spoiled).find("octavo bench"), 0u);
  EXPECT_EQ(next({.scale = 0.0f}).find("octavo quantize FP32"), 0u);
}

TEST(Report, TypesNamesAsAShellReadsThem) {
  Diagnosis diagnosis = diagnosed(Network({.has_norm = true}).bytes());
  diagnosis.model = "/a b/it's.onnx";
  EXPECT_EQ(next_step(diagnosis).command, "octavo diagnose '/a b/it'\\''s.onnx' --write-fixed 'it'\\''s.fixed.onnx'");
}

std::string diagnose_of_folder(const std::string& name) {
  return (std::filesystem::path(OCTAVO_SOURCE_DIR) / "tests" / "diagnose" / "profiles" / name).string();
}

TEST(Profile, OfOnnxRuntimeFindsItsNodes) {
  const auto diagnosis =
      diagnose_file(diagnose_of_folder("pairs.onnx"), {.profile = diagnose_of_folder("ort_1.32.0.json")});
  ASSERT_TRUE(diagnosis) << to_string(diagnosis.errors());
  const JoinedProfile& profile = *diagnosis->profile;
  EXPECT_GT(profile.integer_ms, 0.0);
  EXPECT_EQ(profile.float_products_ms, 0.0);
  EXPECT_GT(profile.between_ms, 0.0);
  EXPECT_NEAR(
      profile.integer_ms + profile.float_products_ms + profile.conversions_ms + profile.others_ms + profile.between_ms,
      profile.total_ms, 1e-9);
  int convolutions = 0;
  for (const auto& [node, ms] : profile.ms_of_node) convolutions += diagnosis->view.node(node).kind == Kind::conv;
  EXPECT_EQ(convolutions, 3);  // QLinearConv "n5_Conv_token_1" and the like
}

TEST(Profile, OfOpenvinoFindsItsNodes) {
  const auto diagnosis =
      diagnose_file(diagnose_of_folder("pairs.onnx"),
                    {.profile = diagnose_of_folder("openvino_2026.4.csv"), .engine = Engine::openvino});
  ASSERT_TRUE(diagnosis) << to_string(diagnosis.errors());
  EXPECT_GT(diagnosis->profile->integer_ms, 0.0);
  EXPECT_LT(diagnosis->profile->unmatched_ms, 0.5 * diagnosis->profile->total_ms);
  // It runs the first pair's half as a "Subgraph", which is said by the file's node alone.
  EXPECT_EQ(diagnosis->profile->others_ms, 0.0);
}

TEST(Profile, WhatCannotBeUsedIsSaid) {
  const ScratchFolder folder;
  const auto refused = [&](const std::string& text, const std::string& model) {
    const std::string path = folder.path("profile.json");
    EXPECT_TRUE(write_text(path, text));
    const auto diagnosis = diagnose_file(model, {.profile = path});
    EXPECT_FALSE(diagnosis);
    return diagnosis ? "" : to_string(diagnosis.errors());
  };
  std::ifstream file(diagnose_of_folder("ort_1.32.0.json"));
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(refused(whole.substr(0, whole.size() / 2), diagnose_of_folder("pairs.onnx")).find("ends at byte"),
            std::string::npos);
  EXPECT_NE(refused("[]", diagnose_of_folder("pairs.onnx")).find("without trace events"), std::string::npos);
  EXPECT_NE(refused("", diagnose_of_folder("pairs.onnx")).find("an empty file"), std::string::npos);
  const std::string other = folder.path("other.onnx");
  ASSERT_TRUE(write_text(other, operators(DType::u8)));
  EXPECT_NE(refused(whole, other).find("nodes that the file does not have"), std::string::npos);
  const auto counters =
      diagnose_file(diagnose_of_folder("pairs.onnx"), {.profile = diagnose_of_folder("openvino_2026.4.csv")});
  ASSERT_FALSE(counters);
  EXPECT_EQ(counters.errors()[0].kind, ErrorKind::usage);
}

// What the profiler took goes from between the nodes first, then from them.
TEST(Profile, WithoutItsProfilerIsAsLongAsARun) {
  const Profile profile{.nodes = {{.name = "a", .ms = 3.0}, {.name = "b", .ms = 1.0}}, .whole_ms = 5.0};
  const auto near = without_profiler(profile, 4.5, "p.json"), far = without_profiler(profile, 3.0, "p.json");
  ASSERT_TRUE(near && far);
  EXPECT_NEAR(near->nodes[0].ms, 3.0, 1e-6);
  EXPECT_NEAR(near->total_ms() - near->nodes_ms(), 0.5, 1e-6);
  EXPECT_NEAR(far->nodes[0].ms, 2.5, 1e-6);
  EXPECT_NEAR(far->nodes[1].ms, 0.5, 1e-6);
  EXPECT_NEAR(far->total_ms(), 3.0, 1e-6);
  EXPECT_NEAR(far->profiler_ms, 2.0, 1e-6);
  EXPECT_EQ(without_profiler(profile, 5.5, "p.json").errors().front().kind, ErrorKind::usage);
}

// Runs of one node are one entry.
TEST(Profile, RunsTakeNoMemory) {
  const ScratchFolder folder;
  const std::string path = folder.path("long.json");
  {
    std::ofstream out(path);
    out << '[';
    for (int i = 0; i < 100'000; ++i)
      out << (i == 0 ? "" : ",") << R"({"cat":"Node","dur":)" << (i == 0 ? 900 : 100)
          << R"(,"name":"n5_Conv_kernel_time","args":{"op_name":"QLinearConv"}})";
    out << ']';
  }
  const auto profile = read_profile(path, FileView{});
  ASSERT_TRUE(profile) << to_string(profile.errors());
  ASSERT_EQ(profile->nodes.size(), 1u);
  EXPECT_EQ(profile->nodes[0].runs, 100'000);
  EXPECT_NEAR(profile->nodes[0].ms, 0.1, 1e-9);  // without the first one
}

}  // namespace
}  // namespace octavo::diagnose
