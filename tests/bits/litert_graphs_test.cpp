// Random quantized TFLite graphs with LiteRT's own answers, on every target: those of the default interpreter in
// profile tflite-xnnpack, those of its reference kernels in tflite-double. Part of the tests of whole models.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/requantize.h"
#include "bits/same_bits.h"
#include "data/npy.h"

namespace octavo::testing {
namespace {

namespace fs = std::filesystem;
using Arrays = std::map<std::string, Tensor>;

struct StoredGraph {
  std::string name;
  std::string content;
  Arrays inputs;                          // by name
  std::map<std::string, Arrays> answers;  // by profile
};

std::string bytes_of(const Tensor& tensor) { return {reinterpret_cast<const char*>(tensor.data()), tensor.bytes()}; }

// The answers on one target; a reduction of bytes has no kernel but the reference.
void expect_answers(const StoredGraph& graph, const std::string& path, const std::string& profile,
                    const std::string& target) {
  SCOPED_TRACE(graph.name + ", " + profile + ", " + target);
  v1::CompileOptions options;
  options.precision = Precision::int8;
  options.target = target;
  options.rounding = profile_named(profile);
  options.allow_reference = true;
  const auto compiled = v1::compile(path, options);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.errors());
  const auto model = v1::Model::load(*compiled, {.threads = 1});
  ASSERT_TRUE(model.ok()) << to_string(model.errors());
  const v1::PlanInfo plan = model->info().plans[0];
  std::vector<Tensor> inputs;
  for (const v1::TensorInfo& input : plan.inputs) inputs.push_back(graph.inputs.at(input.name));
  const std::vector<Tensor> outputs = run(*model, 0, inputs);
  const Arrays& expected = graph.answers.at(profile);
  ASSERT_EQ(outputs.size(), expected.size());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    EXPECT_TRUE(outputs[i] == expected.at(plan.outputs[i].name)) << plan.outputs[i].name;
}

void expect_answers(const StoredGraph& graph) {
  const ModelFile file(graph.content);
  for (const auto& [profile, answers] : graph.answers) {
    for (const std::string& target : kTargets) {
      if (host_has(target)) expect_answers(graph, file.path(), profile, target);
    }
  }
}

// tests/bits/litert_graphs.npz, made by scripts/make_litert_graphs.py: GRAPH/model, GRAPH/in/NAME, GRAPH/PROFILE/NAME.
TEST(LiteRtGraphs, RandomOnesAnswerAsLiteRt) {
  auto arrays = read_npz((fs::path(OCTAVO_SOURCE_DIR) / "tests" / "bits" / "litert_graphs.npz").string());
  ASSERT_TRUE(arrays.ok()) << to_string(arrays.errors());
  std::map<std::string, StoredGraph> graphs;
  for (auto& [key, array] : *arrays) {
    const std::size_t first = key.find('/'), second = key.find('/', first + 1);
    StoredGraph& graph = graphs[key.substr(0, first)];
    graph.name = key.substr(0, first);
    const std::string part = key.substr(first + 1, second - first - 1);
    if (part == "model") graph.content = bytes_of(array);
    else (part == "in" ? graph.inputs : graph.answers[part])[key.substr(second + 1)] = std::move(array);
  }
  EXPECT_GE(graphs.size(), 50u);
  for (const auto& [name, graph] : graphs) expect_answers(graph);
}

// Graphs that others found: SEED_xnnpack or SEED_double .tflite beside .npz with in:NAME and out:NAME.
TEST(LiteRtGraphs, ThoseOfTheDataFolder) {
  const char* data = std::getenv("OCTAVO_DATA");
  const fs::path folder =
      (data != nullptr ? fs::path(data) : fs::path(OCTAVO_SOURCE_DIR) / ".." / "shared" / "data") / "tflite_graphs";
  if (!fs::exists(folder)) GTEST_SKIP() << "needs models at " << folder;
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".tflite") continue;
    auto arrays = read_npz(fs::path(entry.path()).replace_extension(".npz").string());
    ASSERT_TRUE(arrays.ok()) << to_string(arrays.errors());
    StoredGraph graph{.name = entry.path().stem().string()};
    std::ifstream file(entry.path(), std::ios::binary);
    graph.content = {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const std::string profile = "tflite-" + graph.name.substr(graph.name.find('_') + 1);
    for (auto& [key, array] : *arrays)
      (key.starts_with("in:") ? graph.inputs : graph.answers[profile])[key.substr(key.find(':') + 1)] =
          std::move(array);
    expect_answers(graph);
    ++count;
  }
  EXPECT_GE(count, 13);
}

}  // namespace
}  // namespace octavo::testing
