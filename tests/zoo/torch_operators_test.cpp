// Every architecture has the operators and as many parameters as torch's export of the same network. Part of tests/zoo.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "zoo/architectures.h"
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
  std::vector<std::string> names;
  for (const auto& [name, counts] : torch_counts()) names.push_back(name);
  EXPECT_EQ(names, zoo_names());
}

class TorchOperatorsOf : public testing::TestWithParam<zoo::Architecture> {};

TEST_P(TorchOperatorsOf, AreTheSame) {
  zoo::OnnxBuilder builder(std::string(GetParam().name), 1, zoo::Weights::zero);
  EXPECT_EQ(counts_of(builder.finish(GetParam().build(builder))), torch_counts()[std::string(GetParam().name)]);
}

INSTANTIATE_TEST_SUITE_P(Zoo, TorchOperatorsOf,
                         testing::ValuesIn(zoo::architectures().begin(), zoo::architectures().end()),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace octavo
