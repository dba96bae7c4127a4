// Repairs: what each changes in a small file, that the answers keep its promise, and a near miss that it leaves alone.
#include "diagnose/repair/repair.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "diagnose/repair/onnx_edit.h"
#include "support/onnx_builder.h"

namespace octavo::repair {
namespace {

using octavo::testing::floats;
using octavo::testing::integers;
using octavo::testing::ModelBuilder;

Tensor bytes(DType type, Shape shape, const std::vector<std::int64_t>& values) {
  Tensor tensor(type, std::move(shape));
  for (std::size_t i = 0; i < values.size(); ++i)
    store_double(tensor.view(), static_cast<std::int64_t>(i), static_cast<double>(values[i]));
  return tensor;
}

Tensor scalar(DType type, std::int64_t value) { return bytes(type, Shape{}, {value}); }

Tensor weights(DType type, Shape shape) {
  Tensor tensor(type, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    store_double(tensor.view(), i, static_cast<double>(i * 37 % 201 - 100) * (type == DType::f32 ? 0.01 : 1.0));
  return tensor;
}

// A graph that is written from front to back: `at` is what was made last.
class RepairNetwork {
 public:
  explicit RepairNetwork(DType activations = DType::u8, std::int64_t zero = 128, std::int64_t opset = 17)
      : builder(opset), type(activations) {
    builder.input("x", DType::f32, {1, 4, 8, 8});
    builder.initializer("zero", scalar(activations, zero)).initializer("zero_s8", scalar(DType::s8, 0));
    builder.initializer("w_scale", floats(Shape{4}, {0.01f, 0.02f, 0.03f, 0.04f}));
    builder.initializer("w_zero", bytes(DType::s8, Shape{4}, {0, 0, 0, 0}));
    at = "x";
  }

  std::string name(const std::string& stem) { return stem + std::to_string(count_++); }

  RepairNetwork& op(const std::string& op, std::vector<std::string> more = {},
                    std::vector<testing::NamedAttribute> attributes = {}) {
    std::vector<std::string> inputs = {at};
    inputs.insert(inputs.end(), more.begin(), more.end());
    at = name(op);
    builder.node({op, inputs, {at}, std::move(attributes), "", at});
    return *this;
  }

  RepairNetwork& pair(float scale, const std::string& zero = "zero") {
    const std::string numbers = name("scale");
    builder.initializer(numbers, floats(Shape{}, {scale}));
    return op("QuantizeLinear", {numbers, zero}).op("DequantizeLinear", {numbers, zero});
  }

  // 1x1, with weights of s8 per channel and a bias of sums where the scale of what it reads is given.
  RepairNetwork& conv(float x_scale = 0.0f) {
    const std::string stored = name("w"), pair = name("w_pair");
    builder.initializer(stored, weights(DType::s8, Shape{4, 4, 1, 1}));
    builder.node({"DequantizeLinear", {stored, "w_scale", "w_zero"}, {pair}, {{"axis", std::int64_t{0}}}, "", pair});
    if (x_scale == 0.0f) return op("Conv", {pair});
    const std::string sums = name("sums"), scale = name("sums_scale"), bias = name("bias");
    builder.initializer(sums, bytes(DType::s32, Shape{4}, {300, -200, 100, 50}));
    builder.initializer(scale, floats(Shape{4}, {0.01f * x_scale, 0.02f * x_scale, 0.03f * x_scale, 0.04f * x_scale}));
    builder.node({"DequantizeLinear", {sums, scale}, {bias}, {{"axis", std::int64_t{0}}}, "", bias});
    return op("Conv", {pair, bias});
  }

  onnx::ModelProto model() {
    builder.output(at);
    return builder.proto();
  }

  ModelBuilder builder;
  DType type;
  std::string at;

 private:
  int count_ = 0;
};

int count(const onnx::ModelProto& model, const std::string& op) {
  return static_cast<int>(
      std::ranges::count_if(model.graph().node(), [&](const auto& node) { return node.op_type() == op; }));
}

using OnnxRepaired = Repaired<onnx::ModelProto>;

OnnxRepaired repair_repaired(const onnx::ModelProto& model, const std::string& name) {
  auto result = repair(model, "test.onnx", std::vector<std::string>{name});
  EXPECT_TRUE(result) << to_string(result.errors());
  return result ? std::move(*result) : OnnxRepaired{};
}

// Whether an initializer of this type is still there.
bool has_constant(const onnx::ModelProto& model, int type) {
  return std::ranges::any_of(model.graph().initializer(), [&](const auto& each) { return each.data_type() == type; });
}

TEST(Repair, UnsignedActivationsAreEqual) {
  RepairNetwork network(DType::s8, -5);
  const auto model = network.pair(0.02f)
                         .conv(0.02f)
                         .op("Relu")
                         .pair(0.05f)
                         .op("MaxPool", {}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}})
                         .pair(0.05f)
                         .model();
  const OnnxRepaired result = repair_repaired(model, "unsigned-activations");
  ASSERT_EQ(result.done.size(), 1u);
  EXPECT_EQ(result.done[0].places, 3);
  EXPECT_TRUE(result.done[0].is_equal) << "without an addition nothing is rounded elsewhere";
  EXPECT_TRUE(has_constant(result.model, onnx::TensorProto::UINT8));
  for (const auto& node : result.model.graph().node()) {
    if (node.op_type() == "QuantizeLinear") {
      EXPECT_NE(node.input(2), "zero");
    }
  }
}

TEST(Repair, IntegersThatTheOutsideSeesStaySigned) {
  RepairNetwork network(DType::s8, -5);
  network.builder.initializer("s", floats(Shape{}, {0.02f}));
  const auto model = network.op("QuantizeLinear", {"s", "zero"}).model();
  EXPECT_TRUE(repair_repaired(model, "unsigned-activations").done.empty());
}

// A convolution whose weights are u8, with one zero point that is not in the middle.
RepairNetwork with_unsigned_weights(bool is_read_twice) {
  RepairNetwork network;
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < 16; ++i) values.push_back(i * 53 % 256);
  network.builder.initializer("u", bytes(DType::u8, Shape{4, 4, 1, 1}, values))
      .initializer("u_zero", scalar(DType::u8, 117));
  network.builder.initializer("u_scale", floats(Shape{}, {0.01f}));
  network.builder.node({"DequantizeLinear", {"u", "u_scale", "u_zero"}, {"u_pair"}, {}, "", "u_pair"});
  network.pair(0.02f).op("Conv", {"u_pair"}).pair(0.05f);
  if (is_read_twice) network.op("Add", {"u_pair"});
  return network;
}

TEST(Repair, UnsignedWeightsAreSigned) {
  const OnnxRepaired result = repair_repaired(with_unsigned_weights(false).model(), "signed-weights");
  ASSERT_EQ(result.done.size(), 1u);
  EXPECT_EQ(result.done[0].places, 1);
  EXPECT_TRUE(result.done[0].is_equal);
  EXPECT_TRUE(has_constant(result.model, onnx::TensorProto::INT8));
  // Somebody else reads the floats that they stand for.
  EXPECT_TRUE(repair_repaired(with_unsigned_weights(true).model(), "signed-weights").done.empty());
}

TEST(Repair, OperatorsOfIntegersBecomePairs) {
  RepairNetwork network(DType::u8, 128);
  for (const char* scale : {"xs", "ys"}) network.builder.initializer(scale, floats(Shape{}, {0.02f}));
  network.builder.initializer("w", weights(DType::s8, Shape{4, 4, 1, 1}));
  network.builder.initializer("b", bytes(DType::s32, Shape{4}, {300, -200, 100, 50}));
  network.op("QuantizeLinear", {"xs", "zero"});
  network.op("QLinearConv", {"xs", "zero", "w", "w_scale", "w_zero", "ys", "zero", "b"});
  const auto model = network.op("DequantizeLinear", {"ys", "zero"}).model();
  const OnnxRepaired result = repair_repaired(model, "pairs-for-operators");
  ASSERT_EQ(result.done.size(), 1u);
  EXPECT_EQ(count(result.model, "QLinearConv"), 0);
  EXPECT_EQ(count(result.model, "Conv"), 1);
  EXPECT_EQ(count(result.model, "QuantizeLinear"), 2);
  EXPECT_EQ(count(result.model, "DequantizeLinear"), 4);
}

TEST(Repair, PairsPerChannelNeedOpset13) {
  RepairNetwork network(DType::u8, 128, 12);
  for (const char* scale : {"xs", "ys"}) network.builder.initializer(scale, floats(Shape{}, {0.02f}));
  network.builder.initializer("w", weights(DType::s8, Shape{4, 4, 1, 1}));
  network.op("QuantizeLinear", {"xs", "zero"});
  network.op("QLinearConv", {"xs", "zero", "w", "w_scale", "w_zero", "ys", "zero"});
  EXPECT_TRUE(
      repair_repaired(network.op("DequantizeLinear", {"ys", "zero"}).model(), "pairs-for-operators").done.empty());
}

TEST(Repair, DoublePairsGoWhereTheyAreEqual) {
  const OnnxRepaired result =
      repair_repaired(RepairNetwork().pair(0.02f).pair(0.02f).conv().pair(0.1f).model(), "double-pairs");
  ASSERT_EQ(result.done.size(), 1u);
  EXPECT_TRUE(result.done[0].is_equal);
  EXPECT_EQ(count(result.model, "QuantizeLinear"), 2);
  EXPECT_TRUE(
      repair_repaired(RepairNetwork().pair(0.02f).pair(0.03f).conv().pair(0.1f).model(), "double-pairs").done.empty());
}

TEST(Repair, NoPairStandsBeforeAnActivation) {
  const OnnxRepaired result = repair_repaired(
      RepairNetwork().pair(0.02f).conv().pair(0.05f).op("Relu").pair(0.05f).model(), "pairs-before-activations");
  ASSERT_EQ(result.done.size(), 1u);
  EXPECT_EQ(count(result.model, "QuantizeLinear"), 2);
  // A sigmoid is no bound: the pair before it is what engines compute it by.
  EXPECT_TRUE(repair_repaired(RepairNetwork().pair(0.02f).conv().pair(0.05f).op("Sigmoid").pair(0.005f).model(),
                              "pairs-before-activations")
                  .done.empty());
}

TEST(Repair, RangesBehindReluBeginAtZero) {
  RepairNetwork network;
  const OnnxRepaired result = repair_repaired(
      network.pair(0.02f).conv().op("Relu").pair(0.05f).conv(0.05f).pair(0.5f).model(), "ranges-behind-relu");
  ASSERT_EQ(result.done.size(), 1u);
  EXPECT_EQ(result.done[0].places, 1);
  EXPECT_GT(result.done[0].sqnr_db, 30.0) << "the bias behind it has to fit the new scale";
  EXPECT_TRUE(
      repair_repaired(RepairNetwork().pair(0.02f).conv().pair(0.05f).model(), "ranges-behind-relu").done.empty());
}

onnx::ModelProto with_norm(bool has_pair) {
  RepairNetwork network;
  network.pair(0.02f).conv(0.02f);
  if (has_pair) network.pair(0.06f);
  network.builder.initializer("gamma", floats(Shape{4}, {1.0f, -0.5f, 2.0f, 0.1f}));
  network.builder.initializer("beta", floats(Shape{4}, {0.1f, 0.2f, -0.3f, 0.0f}));
  network.builder.initializer("mean", floats(Shape{4}, {0.5f, -0.2f, 0.1f, 0.0f}));
  network.builder.initializer("var", floats(Shape{4}, {1.0f, 0.5f, 2.0f, 0.3f}));
  return network.op("BatchNormalization", {"gamma", "beta", "mean", "var"}).pair(0.05f).model();
}

TEST(Repair, BatchNormsGoIntoScalesAndBiases) {
  for (const bool has_pair : {false, true}) {
    const OnnxRepaired result = repair_repaired(with_norm(has_pair), "batch-norms");
    ASSERT_EQ(result.done.size(), 1u);
    EXPECT_EQ(count(result.model, "BatchNormalization"), 0);
    EXPECT_GT(result.done[0].sqnr_db, has_pair ? 25.0 : 40.0);
  }
}

TEST(Repair, BatchNormsOfWhatOthersReadStay) {
  RepairNetwork network;
  network.pair(0.02f).conv();
  const std::string before = network.at;
  for (const char* each : {"gamma", "beta", "mean", "var"})
    network.builder.initializer(each, floats(Shape{4}, {1.0f, 1.0f, 1.0f, 1.0f}));
  const auto model = network.op("BatchNormalization", {"gamma", "beta", "mean", "var"}).op("Add", {before}).model();
  EXPECT_TRUE(repair_repaired(model, "batch-norms").done.empty());
}

TEST(Repair, AdditionsReadPairs) {
  RepairNetwork network;
  network.pair(0.02f).conv();
  const std::string skip = network.at;
  const auto model = network.pair(0.05f).conv(0.05f).pair(0.4f).op("Add", {skip}).pair(0.4f).model();
  const OnnxRepaired result = repair_repaired(model, "skip-connections");
  ASSERT_EQ(result.done.size(), 1u);
  for (const auto& node : result.model.graph().node()) {
    if (node.op_type() == "Add") {
      EXPECT_NE(node.input(1), skip);
    }
  }
}

TEST(Repair, FloatWeightsBecomeBytes) {
  RepairNetwork network;
  network.builder.initializer("w", weights(DType::f32, Shape{4, 4, 1, 1}));
  const OnnxRepaired result =
      repair_repaired(network.pair(0.02f).op("Conv", {"w"}).pair(0.1f).model(), "float-weights");
  ASSERT_EQ(result.done.size(), 1u);
  EXPECT_GT(result.done[0].sqnr_db, 30.0);
  EXPECT_EQ(count(result.model, "DequantizeLinear"), 3);
  RepairNetwork floats_only;
  floats_only.builder.initializer("w", weights(DType::f32, Shape{4, 4, 1, 1}));
  EXPECT_TRUE(repair_repaired(floats_only.op("Conv", {"w"}).model(), "float-weights").done.empty());
}

TEST(Repair, MeansOfPixelsBecomePools) {
  const std::vector<std::int64_t> pixels = {2, 3}, rows = {2};
  const auto with = [](const std::vector<std::int64_t>& axes) {
    return RepairNetwork()
        .pair(0.02f)
        .op("ReduceMean", {}, {{"axes", axes}, {"keepdims", std::int64_t{1}}})
        .pair(0.02f)
        .model();
  };
  const OnnxRepaired result = repair_repaired(with(pixels), "means");
  EXPECT_EQ(count(result.model, "GlobalAveragePool"), 1);
  EXPECT_TRUE(repair_repaired(with(rows), "means").done.empty());
}

TEST(Repair, MovesKeepTheirScale) {
  const std::vector<std::int64_t> kernel = {2, 2};
  const auto with = [&](float after) {
    return RepairNetwork()
        .pair(0.02f)
        .op("MaxPool", {}, {{"kernel_shape", kernel}})
        .pair(after)
        .conv(after)
        .pair(0.3f)
        .model();
  };
  const OnnxRepaired result = repair_repaired(with(0.021f), "moved-scales");
  ASSERT_EQ(result.done.size(), 1u);
  EXPECT_TRUE(repair_repaired(with(0.02f), "moved-scales").done.empty());
}

TEST(Repair, BrokenPromisesAreErrors) {
  // The pool's own range is a tenth of what it takes: keeping the scale changes answers by more than rounding.
  const std::vector<std::int64_t> kernel = {2, 2};
  const auto model = RepairNetwork().pair(0.02f).op("MaxPool", {}, {{"kernel_shape", kernel}}).pair(0.0005f).model();
  const auto result = repair(model, "test.onnx", std::vector<std::string>{"moved-scales"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.errors()[0].kind, ErrorKind::internal);
  EXPECT_NE(result.errors()[0].where.find("moved-scales"), std::string::npos);
}

TEST(Repair, UnknownNamesAreUsageErrors) {
  const auto result =
      repair(RepairNetwork().pair(0.02f).conv().model(), "test.onnx", std::vector<std::string>{"everything"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.errors()[0].kind, ErrorKind::usage);
  EXPECT_NE(result.errors()[0].expected.find("double-pairs"), std::string::npos);
}

}  // namespace
}  // namespace octavo::repair
