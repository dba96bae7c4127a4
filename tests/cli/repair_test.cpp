// octavo diagnose --write-fixed. Part of tests/cli/.
#include <filesystem>

#include "base/file.h"
#include "cli/fixture.h"
#include "support/onnx_builder.h"
#include "support/tflite_builder.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

class WriteFixed : public CliTest {
 protected:
  // A ReLU of bytes; with a pair that stands twice.
  void SetUp() override {
    CliTest::SetUp();
    if (IsSkipped()) return;
    testing::ModelBuilder model;
    model.input("x", DType::f32, {1, 8}).initializer("s", testing::floats(Shape{}, {0.02f}));
    model.initializer("z", Tensor::scalar<std::uint8_t>(128));
    std::string last = "x";
    for (const char* op : {"QuantizeLinear", "DequantizeLinear", "QuantizeLinear", "DequantizeLinear"}) {
      const std::string next = last + "_";
      model.node({op, {last, "s", "z"}, {next}, {}, "", next});
      last = next;
    }
    model.node({"Relu", {last}, {"y"}, {}, "", "relu"}).output("y");
    ASSERT_TRUE(write_text(path("m.onnx"), model.bytes()));
  }
};

TEST_F(WriteFixed, SaysWhatItDid) {
  expect("diagnose m.onnx --write-fixed f.onnx --json r.json", 0, "double-pairs");
  const nlohmann::json done = json("r.json")["repairs"];
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0]["name"], "double-pairs");
  EXPECT_EQ(done[0]["places"], 1);
  EXPECT_EQ(done[0]["equal"], true);
  expect("compare m.onnx f.onnx", 0, "identical");
  expect("diagnose f.onnx --write-fixed g.onnx", 1, "nothing to repair");
  EXPECT_FALSE(fs::exists(path("g.onnx")));
}

TEST_F(WriteFixed, OnlyWhatIsAskedFor) {
  expect("diagnose m.onnx --write-fixed f.onnx --repairs batch-norms,means", 1, "nothing to repair");
  expect("diagnose m.onnx --write-fixed f.onnx --repairs everything", 2, "expected unsigned-activations");
  EXPECT_FALSE(fs::exists(path("f.onnx")));
}

TEST_F(WriteFixed, TfliteStaysTflite) {
  octavo::testing::TfliteBuilder net;
  const int x = net.input({"x", DType::s8, {1, 32, 32, 8}, {0.05f}, {0}});
  const int y = net.output({"y", DType::s8, {1, 32, 32, 8}, {0.05f}, {-100}});
  constexpr int kHardSwish = 117;
  net.add({.code = kHardSwish, .inputs = {x}, .outputs = {y}});
  ASSERT_TRUE(write_text(path("m.tflite"), net.bytes()));
  expect("diagnose m.tflite", 0, "next: octavo diagnose m.tflite --write-fixed m.fixed.tflite");
  expect("diagnose m.tflite --write-fixed f.tflite --json r.json", 0, "slow-bytes-in-floats");
  EXPECT_EQ(json("r.json")["repairs"][0]["places"], 1);
  // LiteRT computes HARD_SWISH of bytes in fixed point, which floats miss by one step here and there.
  expect("compare m.tflite f.tflite", 1, "by at most 1");
  expect("diagnose f.tflite --write-fixed g.tflite", 1, "nothing to repair");
  expect("diagnose m.tflite --write-fixed g.tflite --repairs means", 2, "expected sixteen-bits-in-floats");
  EXPECT_FALSE(fs::exists(path("g.tflite")));
}

TEST_F(WriteFixed, OtherFormatsAreRefused) {
  fs::copy(std::string(OCTAVO_SOURCE_DIR "/tests/import/pt2/fp32.pt2"), path("m.pt2"));
  expect("diagnose m.pt2 --write-fixed f.pt2", 4, "an ONNX or a TFLite file");
  ASSERT_TRUE(write_text(path("broken.onnx"), "no model"));
  EXPECT_GT(octavo("diagnose broken.onnx --write-fixed f.onnx").exit_code, 1);
  EXPECT_FALSE(fs::exists(path("f.onnx")));
}

}  // namespace
}  // namespace octavo
