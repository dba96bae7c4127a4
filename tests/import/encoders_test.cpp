// An encoder of transformers as each exporter spells it, in files of these tools (scripts/make_encoder_files.py): how
// near its answers are to those of ONNX Runtime, or of PyTorch, and that every layer is found to be attention. Part of
// the tests of import/.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "data/npy.h"
#include "graph/graph.h"
#include "import/import.h"
#include "lower/lower.h"
#include "ops/attention/attention.h"
#include "ops/evaluate.h"
#include "ops/quantized_attention/quantized_attention.h"

namespace octavo::testing {
namespace {

constexpr double kNear = 100.0;  // decibels

std::string encoders_path_of(const std::string& file) {
  return std::string(OCTAVO_SOURCE_DIR) + "/tests/import/encoders/" + file;
}

const std::map<std::string, Tensor>& arrays() {
  static const auto read = read_npz(encoders_path_of("expected.npz"));
  return *read;
}

// Of the signal over the difference.
double decibels(const Tensor& found, const Tensor& wanted) {
  EXPECT_EQ(found.shape().to_string(), wanted.shape().to_string());
  if (found.dtype() != wanted.dtype() || found.shape() != wanted.shape()) return -INFINITY;
  double signal = 0.0, error = 0.0;
  for (std::int64_t i = 0; i < found.elements(); ++i) {
    const double value = wanted.as<float>()[i], difference = found.as<float>()[i] - value;
    signal += value * value;
    error += difference * difference;
  }
  return 10.0 * std::log10(signal / error);
}

struct Spelling {
  std::string file, dialect;
  int layers = 2;
};

void PrintTo(const Spelling& spelling, std::ostream* out) { *out << spelling.file; }

class Spellings : public ::testing::TestWithParam<Spelling> {
 protected:
  void SetUp() override {
    const bool is_program = GetParam().file.ends_with(".pt2");
    const std::vector<Extent> shape{2, 12};
    const std::string ids = is_program ? "inputs_0" : "input_ids", mask = is_program ? "inputs_1" : "attention_mask";
    auto imported = import_model(encoders_path_of(GetParam().file), {.shapes = {{ids, shape}, {mask, shape}}});
    ASSERT_TRUE(imported.ok()) << to_string(imported.errors());
    model_ = *std::move(imported);
  }

  double distance() const {
    const std::vector<Tensor> inputs{arrays().at("input_ids"), arrays().at("attention_mask")};
    const auto found = evaluate(model_.graph, inputs);
    EXPECT_TRUE(found.ok()) << to_string(found.errors());
    const std::string& file = GetParam().file;
    return found.ok() ? decibels(found->front(), arrays().at(file.substr(0, file.find('.')))) : -INFINITY;
  }

  ImportedModel model_;
};

TEST_P(Spellings, GivesTheAnswersOfItsTool) {
  EXPECT_EQ(model_.dialect, GetParam().dialect);
  EXPECT_GE(distance(), kNear);
}

TEST_P(Spellings, IsAttentionInEveryLayer) {
  const auto report = lower(model_.graph, {});
  ASSERT_TRUE(report.ok()) << to_string(report.errors());
  int layers = 0;
  for (const NodeId id : model_.graph.order()) {
    const OpSpec* spec = model_.graph.node(id).spec;
    layers += spec == &kAttention || spec == &kQuantizedAttention ? 1 : 0;
  }
  EXPECT_EQ(layers, GetParam().layers);
  EXPECT_GE(distance(), kNear);
}

// A static quantizer rounds scores and weights, which attention as one operator does not.
INSTANTIATE_TEST_SUITE_P(
    Files, Spellings,
    ::testing::Values(Spelling{"bert_onnx14.onnx", "ONNX fp32"}, Spelling{"bert_onnx17.onnx", "ONNX fp32"},
                      Spelling{"bert_dynamo20.onnx", "ONNX fp32"}, Spelling{"bert_dynamo23.onnx", "ONNX fp32"},
                      Spelling{"bert_ort.onnx", "ONNX fp32"}, Spelling{"bert_dynamic.onnx", "ONNX QDQ u8 dynamic"},
                      Spelling{"bert_ort_dynamic.onnx", "ONNX u8 dynamic"},
                      Spelling{"bert_ort_qdq.onnx", "ONNX QDQ u8", 0}, Spelling{"llama_dynamo20.onnx", "ONNX fp32"},
                      Spelling{"llama_pt2.pt2", "PyTorch export fp32"}),
    [](const auto& given) { return given.param.file.substr(0, given.param.file.find('.')); });

// Writes into parts of tensors, graphs inside of operators, integers that become fractions.
TEST(Pt2Program, WritesIntoPartsAndInlinesGraphs) {
  const auto model = import_model(encoders_path_of("written.pt2"), {});
  ASSERT_TRUE(model.ok()) << to_string(model.errors());
  const auto found = evaluate(model->graph, std::vector<Tensor>{arrays().at("written.x")});
  ASSERT_TRUE(found.ok()) << to_string(found.errors());
  EXPECT_GE(decibels(found->front(), arrays().at("written")), kNear);
}

}  // namespace
}  // namespace octavo::testing
