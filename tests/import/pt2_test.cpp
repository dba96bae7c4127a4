// Archives of torch.export against PyTorch's own answers (tests/import/pt2/make.py). Part of the tests of import/.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "data/npy.h"
#include "import/import.h"
#include "lower/lower.h"
#include "ops/evaluate.h"
#include "ops/quantize/quantize.h"
#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

std::string pt2_path_of(const std::string& file) {
  return std::string(OCTAVO_SOURCE_DIR) + "/tests/import/pt2/" + file;
}

const std::map<std::string, Tensor>& expected() {
  static const auto arrays = read_npz(pt2_path_of("expected.npz"));
  return *arrays;
}

ImportedModel imported(const std::string& file, std::int64_t batch = 2) {
  auto model = import_model(pt2_path_of(file), {.batch = batch});
  EXPECT_TRUE(model.ok()) << file << ": " << to_string(model.errors());
  return model.ok() ? *std::move(model) : ImportedModel{};
}

std::vector<Tensor> answers(const Graph& graph, const std::string& input) {
  const std::vector<Tensor> inputs{expected().at(input)};
  auto results = evaluate(graph, inputs);
  EXPECT_TRUE(results.ok()) << to_string(results.errors());
  return results.ok() ? *std::move(results) : std::vector<Tensor>{};
}

// The largest difference of two tensors of one type and shape, as a part of the largest value.
double relative_error(const Tensor& found, const Tensor& wanted) {
  EXPECT_EQ(found.dtype(), wanted.dtype());
  EXPECT_EQ(found.shape().to_string(), wanted.shape().to_string());
  if (found.dtype() != wanted.dtype() || found.shape() != wanted.shape()) return INFINITY;
  double error = 0.0, largest = 0.0;
  for (std::int64_t i = 0; i < found.elements(); ++i) {
    const double a = element_as_double(found.view(), i), b = element_as_double(wanted.view(), i);
    error = std::max(error, std::abs(a - b));
    largest = std::max(largest, std::abs(b));
  }
  return largest > 0.0 ? error / largest : error;
}

std::vector<std::string> operators_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId id : graph.order()) names.emplace_back(graph.node(id).spec->name);
  return names;
}

std::string name_of_case(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

class Pt2Operators : public ::testing::TestWithParam<std::string> {};

// One result per group of operators, as the training dialect and the core dialect write them.
TEST_P(Pt2Operators, GiveTheAnswersOfPyTorch) {
  const ImportedModel model = imported(GetParam() + ".pt2");
  EXPECT_EQ(model.dialect, "PyTorch export fp32");
  const auto found = answers(model.graph, "operators.x");
  ASSERT_GE(found.size(), 26u);
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE(GetParam() + ", result " + std::to_string(i));
    EXPECT_LE(relative_error(found[i], expected().at(GetParam() + "." + std::to_string(i))), 2e-6);
  }
}
INSTANTIATE_TEST_SUITE_P(Dialects, Pt2Operators, ::testing::Values("operators", "operators_core"), name_of_case);

// Layers of every kind and single steps, at a batch that is open in the program.
TEST(Pt2, RecurrentLayersGiveTheAnswersOfPyTorch) {
  const ImportedModel model = imported("recurrent.pt2");
  const auto found = answers(model.graph, "recurrent.x");
  ASSERT_EQ(found.size(), 18u);
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE("result " + std::to_string(i));
    EXPECT_LE(relative_error(found[i], expected().at("recurrent." + std::to_string(i))), 2e-6);
  }
  // Zeros that states begin with are no inputs of a layer.
  const auto operators = operators_of(model.graph);
  EXPECT_EQ(std::count(operators.begin(), operators.end(), "recurrence"), 16);
  EXPECT_EQ(std::count(operators.begin(), operators.end(), "expand"), 0);
}

TEST(Pt2, FloatNetworkGivesTheAnswersOfPyTorch) {
  for (const char* name : {"fp32", "fp32_core"}) {
    SCOPED_TRACE(name);
    const ImportedModel model = imported(std::string(name) + ".pt2");
    EXPECT_FALSE(model.is_quantized);
    EXPECT_LE(relative_error(answers(model.graph, "block.x").at(0), expected().at(std::string(name) + ".0")), 1e-6);
  }
}

enum class Islands { none, any };

Graph pt2_lowered(const std::string& file, Islands islands = Islands::none) {
  ImportedModel model = imported(file);
  const auto report = lower(model.graph, {});
  EXPECT_TRUE(report.ok()) << to_string(report.errors());
  if (report.ok() && islands == Islands::none) {
    for (const Island& island : report->islands) ADD_FAILURE() << file << ": " << island.node << ": " << island.reason;
  }
  return std::move(model.graph);
}

class Pt2Quantized : public ::testing::TestWithParam<std::string> {};

// Every way to write one quantized network: as a description and as the fused integer graph, which may round a tie the
// other way.
TEST_P(Pt2Quantized, GivesTheAnswersOfPyTorch) {
  const std::string file = GetParam() + ".pt2";
  const Tensor& wanted = expected().at(GetParam() + ".0");
  const ImportedModel model = imported(file);
  EXPECT_EQ(model.dialect, "PyTorch pt2e s8");
  EXPECT_TRUE(model.is_quantized);
  EXPECT_LE(relative_error(answers(model.graph, "block.x").at(0), wanted), 1e-6);
  EXPECT_LE(relative_error(answers(pt2_lowered(file), "block.x").at(0), wanted), 1e-6);
}
INSTANTIATE_TEST_SUITE_P(Files, Pt2Quantized,
                         ::testing::Values("pt2e", "pt2e_core", "pt2e_written_out", "pt2e_unfolded", "pt2e_serialized",
                                           "pt2e_pickled"),
                         name_of_case);

// X86InductorQuantizer: u8, and quantized only in front of convolutions and products, so that the rest is float
// islands.
TEST(Pt2, InductorQuantizerGivesTheAnswersOfPyTorch) {
  const ImportedModel model = imported("pt2e_x86.pt2");
  EXPECT_EQ(model.dialect, "PyTorch pt2e u8");
  const Tensor& wanted = expected().at("pt2e_x86.0");
  EXPECT_LE(relative_error(answers(model.graph, "block.x").at(0), wanted), 1e-6);
  const Graph fused = pt2_lowered("pt2e_x86.pt2", Islands::any);
  const auto operators = operators_of(fused);
  EXPECT_EQ(std::count(operators.begin(), operators.end(), "quantized_conv"), 4);
  // Its last bias is f32 and its result is never quantized: here the bias is rounded to the accumulator's unit.
  EXPECT_LE(relative_error(answers(fused, "block.x").at(0), wanted), 1e-5);
}

class Pt2InTheRun : public ::testing::TestWithParam<std::string> {};

// Scales of the whole tensor, and of each row; one row holds zeros only. Two integer products, nothing dequantized.
TEST_P(Pt2InTheRun, GivesTheAnswersOfPyTorch) {
  const Tensor& wanted = expected().at(GetParam() + ".0");
  const ImportedModel model = imported(GetParam() + ".pt2");
  EXPECT_EQ(model.dialect, "PyTorch pt2e s8");
  EXPECT_TRUE(model.is_quantized);
  EXPECT_LE(relative_error(answers(model.graph, "rows.x").at(0), wanted), 1e-6);
  const Graph fused = pt2_lowered(GetParam() + ".pt2", Islands::any);
  const auto operators = operators_of(fused);
  EXPECT_EQ(std::count(operators.begin(), operators.end(), "hybrid_conv"), 2);
  EXPECT_EQ(std::count(operators.begin(), operators.end(), "dequantize"), 0);
  EXPECT_LE(relative_error(answers(fused, "rows.x").at(0), wanted), 1e-6);
}
INSTANTIATE_TEST_SUITE_P(Files, Pt2InTheRun,
                         ::testing::Values("pt2e_dynamic", "pt2e_tokens", "torchao", "torchao_intx", "torchao_signed",
                                           "torchao_tensor"),
                         name_of_case);

// Read as fp32, what the run would round stays as it is.
TEST(Pt2, ScalesOfTheRunAreDroppedFromFp32) {
  const auto model = import_model(pt2_path_of("pt2e_tokens.pt2"), {.batch = 2, .dequantizes_dynamic = true});
  ASSERT_TRUE(model.ok()) << to_string(model.errors());
  const auto operators = operators_of(model->graph);
  EXPECT_EQ(std::count(operators.begin(), operators.end(), "row_quantize"), 0);
  EXPECT_LE(relative_error(answers(model->graph, "rows.x").at(0), expected().at("pt2e_tokens.0")), 0.05);
}

// The same network by every door; whoever comes after the importer cannot tell which.
TEST(Pt2, TwinsLowerToOneListOfOperators) {
  const std::vector<std::string> wanted = operators_of(pt2_lowered("block_qdq.onnx"));
  EXPECT_EQ(std::count(wanted.begin(), wanted.end(), "quantized_conv"), 4);
  for (const char* file : {"block_qoperator.onnx", "pt2e.pt2", "pt2e_core.pt2", "pt2e_written_out.pt2",
                           "pt2e_unfolded.pt2", "pt2e_exported.onnx"}) {
    SCOPED_TRACE(file);
    EXPECT_EQ(operators_of(pt2_lowered(file)), wanted);
  }
}

TEST(Pt2, QuantizeNodesCarryProfileAndRange) {
  const Graph graph = imported("pt2e_written_out.pt2").graph;
  int count = 0;
  for (const NodeId id : graph.order()) {
    if (graph.node(id).spec != &kQuantize) continue;
    ++count;
    const auto& attrs = graph.node(id).attrs.as<QuantizeAttrs>();
    EXPECT_EQ(attrs.profile, Profile::pt2e);
    EXPECT_EQ(attrs.to, DType::s8);
    EXPECT_EQ(attrs.axis, -1);
  }
  EXPECT_GE(count, 6);
}

TEST(Pt2, BatchAndShapeBindTheSymbol) {
  EXPECT_EQ(imported("pt2e.pt2", 5).graph.fact(imported("pt2e.pt2", 5).graph.outputs()[0]).shape, (Shape{5, 5}));
  const auto shaped = import_model(pt2_path_of("pt2e.pt2"), {.shapes = {{"x", {3, 3, 16, 16}}}});
  ASSERT_TRUE(shaped.ok()) << to_string(shaped.errors());
  EXPECT_EQ(shaped->graph.fact(shaped->graph.outputs()[0]).shape, (Shape{3, 5}));
  const auto other = import_model(pt2_path_of("pt2e.pt2"), {.shapes = {{"x", {3, 3, 17, 16}}}});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.errors()[0].kind, ErrorKind::usage);
  EXPECT_NE(to_string(other.errors()).find("s77x3x16x16"), std::string::npos) << to_string(other.errors());
}

}  // namespace
}  // namespace octavo::testing
