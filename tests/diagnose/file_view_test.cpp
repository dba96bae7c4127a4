// A model file as it stands: nodes, tensors and scales, whatever its format.
#include "diagnose/file_view.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "diagnose/finding.h"
#include "support/child.h"
#include "support/onnx_builder.h"
#include "support/tflite_builder.h"

namespace octavo::diagnose {
namespace {

using octavo::testing::floats;
using octavo::testing::ModelBuilder;
using octavo::testing::ScratchFolder;
using octavo::testing::TfliteBuilder;

Result<FileView> view_of(const std::string& bytes, const std::string& name) {
  const ScratchFolder folder;
  const std::string path = folder.path(name);
  if (const Status written = write_text(path, bytes); !written) return written.errors();
  return read_file_view(path);
}

// x -> q -> dq -> Conv of 4 groups, with weights of s8 by channels -> q -> dq.
ModelBuilder pairs() {
  ModelBuilder model;
  model.input("x", DType::f32, {1, 4, 8, 8}).output("y");
  model.initializer("xs", Tensor::scalar(0.5f)).initializer("xz", Tensor::scalar<std::int8_t>(3));
  model.initializer("w", Tensor::of<std::int8_t>({4, 1, 3, 3}, std::vector<std::int8_t>(36, 1)));
  model.initializer("ws", floats({4}, {1, 2, 3, 4}));
  model.initializer("wz", Tensor::of<std::int8_t>({4}, std::vector<std::int8_t>(4, 0)));
  model.node({"QuantizeLinear", {"x", "xs", "xz"}, {"xq"}}).node({"DequantizeLinear", {"xq", "xs", "xz"}, {"xd"}});
  model.node({"DequantizeLinear", {"w", "ws", "wz"}, {"wd"}, {{"axis", std::int64_t{0}}}});
  model.node({"Conv", {"xd", "wd"}, {"c"}, {{"group", std::int64_t{4}}}, "", "conv"});
  model.node({"QuantizeLinear", {"c", "xs", "xz"}, {"cq"}}).node({"DequantizeLinear", {"cq", "xs", "xz"}, {"y"}});
  return model;
}

TEST(FileView, PairsOfOnnx) {
  const auto view = view_of(pairs().bytes(), "pairs.onnx");
  ASSERT_TRUE(view) << to_string(view.errors());
  EXPECT_EQ(view->dialect, Dialect::qdq);
  ASSERT_EQ(view->nodes.size(), 6u);
  const ViewNode& conv = view->node(3);
  EXPECT_EQ(conv.kind, Kind::depthwise_conv);
  const int x = view->find_tensor("xq"), w = view->find_tensor("w"), c = view->find_tensor("c");
  EXPECT_EQ(view->tensor(x).dtype, DType::s8);
  EXPECT_EQ(view->tensor(x).quant->scale, std::vector<float>{0.5f});
  EXPECT_EQ(view->tensor(x).quant->zero_point, std::vector<std::int32_t>{3});
  EXPECT_EQ(view->tensor(w).quant->axis, 0);
  EXPECT_EQ(view->tensor(w).quant->scale.size(), 4u);
  EXPECT_EQ(view->tensor(c).shape, (std::vector<std::int64_t>{1, 4, 6, 6}));  // inferred
  EXPECT_EQ(view->tensor(c).producer, 3);
  EXPECT_EQ(view->tensor(c).readers, std::vector<int>{4});
  EXPECT_EQ(view->values(w)->elements(), 36);
  EXPECT_FALSE(view->values(x));
  EXPECT_TRUE(view->unresolved.empty());
}

TEST(FileView, AFileThatTheImporterRefusesKeepsWhatItStates) {
  ModelBuilder model = pairs();
  model.node({"NobodyKnows", {"y"}, {"z"}});
  const auto view = view_of(model.bytes(), "unknown.onnx");
  ASSERT_TRUE(view) << to_string(view.errors());
  ASSERT_EQ(view->unresolved.size(), 1u);
  EXPECT_NE(view->unresolved[0].find("NobodyKnows"), std::string::npos) << view->unresolved[0];
  EXPECT_TRUE(view->tensor(view->find_tensor("xq")).shape);  // across the quantize node
  EXPECT_FALSE(view->tensor(view->find_tensor("c")).shape);
}

TEST(FileView, IntegersOfTflite) {
  TfliteBuilder model;
  const int x = model.input({.name = "x", .dtype = DType::s8, .shape = {1, 8}, .scale = {0.5f}, .zero_point = {0}});
  const int w = model.constant(Tensor::of<std::int8_t>({4, 8}, std::vector<std::int8_t>(32, 2)), {0.25f}, {0});
  const int y = model.output({.name = "y", .dtype = DType::s8, .shape = {1, 4}, .scale = {1.0f}, .zero_point = {0}});
  model.add(octavo::testing::fully_connected({x, w, -1}, y));
  const auto view = view_of(model.bytes(), "integers.tflite");
  ASSERT_TRUE(view) << to_string(view.errors());
  EXPECT_EQ(view->dialect, Dialect::full_integer);
  ASSERT_EQ(view->nodes.size(), 1u);
  EXPECT_EQ(view->node(0).op, "FULLY_CONNECTED");
  EXPECT_EQ(view->node(0).kind, Kind::matmul);
  EXPECT_TRUE(view->node(0).is_integer);
  EXPECT_EQ(view->input(view->node(0), 2), -1);
  EXPECT_EQ(view->values(w)->elements(), 32);
  EXPECT_EQ(view->tensor(y).quant->scale, std::vector<float>{1.0f});
}

TEST(FileView, RefusesWhatIsNoModel) {
  const auto view = view_of("no model at all", "none.onnx");
  ASSERT_FALSE(view);
  EXPECT_EQ(view.errors()[0].kind, ErrorKind::invalid_input);
}

TEST(Finding, NamesOfCausesAreThereAndApart) {
  for (int i = 0; i < static_cast<int>(Cause::count); ++i) {
    const auto cause = static_cast<Cause>(i);
    ASSERT_FALSE(name_of(cause).empty());
    EXPECT_EQ(cause_named(name_of(cause)), cause);
    EXPECT_FALSE(summary_of(cause).empty());
  }
  EXPECT_FALSE(cause_named("nothing-of-ours"));
}

}  // namespace
}  // namespace octavo::diagnose
