// Every architecture has the operators and as many parameters as torch's export of the same network. Part of tests/zoo.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "zoo/architectures.h"
#include "zoo/encoders.h"
#include "zoo/zoo.h"

namespace octavo {
namespace {

using Counts = std::map<std::string, std::int64_t>;

// From the table made by scripts/compare/zoo_operators.py: network, operator or "parameters", count.
std::map<std::string, Counts> torch_counts() {
  std::ifstream file(std::string(OCTAVO_SOURCE_DIR) + "/tests/zoo/torch_operators.txt");
  std::map<std::string, Counts> counts;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string network, kind;
    std::int64_t count = 0;
    words >> network >> kind >> count;
    counts[network][kind] = count;
  }
  return counts;
}

Counts counts_of(const onnx::ModelProto& model) {
  std::map<std::string, std::int64_t> sizes;
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    std::int64_t& size = sizes[tensor.name()] = 1;
    for (std::int64_t dim : tensor.dims()) size *= dim;
  }
  Counts counts;
  for (const onnx::NodeProto& node : model.graph().node()) {
    if (node.op_type() == "Constant") continue;
    ++counts[node.op_type()];
    for (const std::string& input : node.input()) {
      if (const auto found = sizes.find(input); found != sizes.end()) counts["parameters"] += found->second;
    }
  }
  return counts;
}

TEST(TorchOperators, TableHasExactlyTheArchitectures) {
  std::vector<std::string> names, architectures;
  for (const auto& [name, counts] : torch_counts()) names.push_back(name);
  for (const zoo::Architecture& each : zoo::architectures()) architectures.emplace_back(each.name);
  EXPECT_EQ(names, architectures);
}

class TorchOperatorsOf : public ::testing::TestWithParam<zoo::Architecture> {};

TEST_P(TorchOperatorsOf, AreTheSame) {
  zoo::OnnxBuilder builder(std::string(GetParam().name), 1, zoo::Weights::zero);
  EXPECT_EQ(counts_of(builder.finish(GetParam().build(builder))), torch_counts()[std::string(GetParam().name)]);
}

INSTANTIATE_TEST_SUITE_P(Zoo, TorchOperatorsOf,
                         ::testing::ValuesIn(zoo::architectures().begin(), zoo::architectures().end()),
                         [](const auto& each) { return std::string(each.param.name); });

// As many weights as the published models have behind their embeddings.
TEST(Encoders, HaveTheirLayers) {
  EXPECT_EQ(zoo::encoders()[1].name, "minilm_l6");
  const onnx::ModelProto model = zoo::make_encoder(zoo::encoders()[1], 1);
  std::int64_t weights = 0;
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    if (tensor.data_type() != onnx::TensorProto::FLOAT) continue;
    std::int64_t size = 1;
    for (const std::int64_t dim : tensor.dims()) size *= dim;
    weights += size;
  }
  EXPECT_EQ(weights, 6 * 1'774'464);
  EXPECT_EQ(counts_of(model)["MatMul"], 6 * 8);
  EXPECT_EQ(counts_of(model)["LayerNormalization"], 6 * 2);
}

}  // namespace
}  // namespace octavo
