// Broken ONNX files: operators without the inputs or the results that they need, behind a convolution between pairs.
// Whatever they are, a diagnosis of them is findings or an error, in every engine.
#include <gtest/gtest.h>

#include "diagnose/diagnose.h"
#include "diagnose/repair/repair.h"
#include "support/child.h"
#include "support/onnx_builder.h"

namespace octavo::diagnose {
namespace {

using octavo::testing::ModelBuilder;
using octavo::testing::ScratchFolder;

constexpr const char* kOperators[] = {
    "Conv",
    "QLinearConv",
    "ConvInteger",
    "MatMul",
    "Gemm",
    "MatMulInteger",
    "QLinearMatMul",
    "ConvTranspose",
    "Relu",
    "Clip",
    "Add",
    "Mul",
    "Sigmoid",
    "QuantizeLinear",
    "DequantizeLinear",
    "BatchNormalization",
    "MaxPool",
    "Concat",
    "Softmax",
    "GlobalAveragePool",
    "Resize",
    "Cast",
    "Reshape",
    "DynamicQuantizeLinear",
};

// What a node has of the wire before it and of dequantized weights, and of results.
struct Missing {
  bool wire = false, weights = false, result = false, is_named = false;  // is_named: left out by an empty name
};

std::vector<std::string> inputs_of(const std::string& wire, const Missing& missing) {
  std::vector<std::string> inputs;
  if (!missing.wire) inputs.push_back(wire);
  else if (missing.is_named) inputs.push_back("");
  if (!missing.weights) inputs.push_back("wd");
  return inputs;
}

std::vector<std::string> results_of(const std::string& wire, const Missing& missing) {
  if (!missing.result) return {wire};
  return missing.is_named ? std::vector<std::string>{""} : std::vector<std::string>{};
}

// x > pair > Conv > first > second > pair, with what is missing of both.
std::string broken(const char* first, const Missing& of_first, const char* second, const Missing& of_second) {
  ModelBuilder model;
  model.input("x", DType::f32, {1, 4, 8, 8}).output("o");
  model.initializer("w", Tensor::of<std::int8_t>({4, 4, 1, 1}, std::vector<std::int8_t>(16, 1)));
  model.initializer("s", Tensor::scalar(0.1f)).initializer("z", Tensor::scalar<std::int8_t>(0));
  model.node({"QuantizeLinear", {"x", "s", "z"}, {"q"}}).node({"DequantizeLinear", {"q", "s", "z"}, {"d"}});
  model.node({"DequantizeLinear", {"w", "s", "z"}, {"wd"}}).node({"Conv", {"d", "wd"}, {"c"}});
  model.node({first, inputs_of("c", of_first), results_of("m", of_first)});
  model.node({second, inputs_of(of_first.result ? "d" : "m", of_second), results_of("y", of_second)});
  model.node({"QuantizeLinear", {"y", "s", "z"}, {"yq"}}).node({"DequantizeLinear", {"yq", "s"}, {"o"}});
  return model.bytes();
}

// All ways of leaving something out.
std::vector<Missing> ways() {
  std::vector<Missing> all;
  for (int bits = 0; bits < 8; ++bits) {
    all.push_back({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, false});
    if ((bits & 5) != 0) all.push_back({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, true});
  }
  return all;
}

class BrokenFiles {
 public:
  void diagnose(const std::string& bytes) {
    folder_.write("broken.onnx", bytes);
    const std::string path = folder_.path("broken.onnx");
    for (const Engine engine : kEngines) {
      const auto diagnosis = diagnose_file(path, {.engine = engine});
      if (!diagnosis) {
        EXPECT_NE(diagnosis.errors()[0].kind, ErrorKind::internal) << to_string(diagnosis.errors());
        continue;
      }
      EXPECT_FALSE(diagnosis_text(*diagnosis).empty());
      ++read_;
    }
  }
  // Repairs find nothing, change something, or are an error.
  void repair(const std::string& bytes) {
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(bytes));
    const auto repaired = repair::repair(std::move(model), "broken.onnx", {});
    if (repaired) return;
    EXPECT_NE(repaired.errors()[0].kind, ErrorKind::internal) << to_string(repaired.errors());
  }
  int read() const { return read_; }

 private:
  ScratchFolder folder_;
  int read_ = 0;
};

TEST(BrokenOnnx, NodesWithoutInputsOrResultsEndInFindingsOrErrors) {
  BrokenFiles files;
  // Each operator beside a few that rules look at from both sides.
  for (const char* op : kOperators) {
    for (const Missing& missing : ways()) {
      for (const char* other : {"Conv", "Relu", "QuantizeLinear", "Mul"}) {
        files.diagnose(broken(op, missing, other, {}));
        files.diagnose(broken(other, {}, op, missing));
      }
      files.repair(broken(op, missing, "Relu", {}));
      files.repair(broken("Conv", {}, op, missing));
    }
  }
  EXPECT_GT(files.read(), 1000);  // not all of them refused
}

TEST(LongBrokenOnnx, AllPairsOfOperators) {
  BrokenFiles files;
  for (const char* first : kOperators) {
    for (const char* second : kOperators) {
      for (const Missing& of_first : ways()) {
        for (const Missing& of_second : {Missing{}, Missing{.wire = true, .weights = true}, Missing{.result = true},
                                         Missing{.wire = true, .weights = true, .result = true}})
          files.diagnose(broken(first, of_first, second, of_second));
      }
    }
  }
  EXPECT_GT(files.read(), 10'000);
}

}  // namespace
}  // namespace octavo::diagnose
