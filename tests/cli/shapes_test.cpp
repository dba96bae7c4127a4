// Open sizes on the command line: lists of shapes, and the size that a verb runs at. Part of tests/cli/.
#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/machine.h"
#include "cli/fixture.h"
#include "data/npy.h"
#include "support/control_flow.h"
#include "support/onnx_builder.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

// x [N, 3, H, W] -> scores [N, 4] of a convolution's means.
class CliShapes : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    if (IsSkipped()) return;
    testing::ModelBuilder model;
    Tensor weights(DType::f32, Shape{4, 3, 3, 3});
    for (std::int64_t i = 0; i < weights.elements(); ++i)
      weights.as<float>()[i] = static_cast<float>(i % 11 - 5) * 0.1f;
    model.input("x", DType::f32, {-1, 3, -2, -3}).initializer("w", weights);
    model.node({.op = "Conv", .inputs = {"x", "w"}, .outputs = {"a"}, .name = "conv"})
        .node({.op = "Relu", .inputs = {"a"}, .outputs = {"b"}, .name = "relu"})
        .node({.op = "GlobalAveragePool", .inputs = {"b"}, .outputs = {"c"}, .name = "mean"})
        .node({.op = "Flatten", .inputs = {"c"}, .outputs = {"y"}, .name = "flat"})
        .output("y");
    ASSERT_TRUE(write_text(path("m.onnx"), model.bytes()));
    expect("compile m.onnx --global-scale 8 --shape \"x=" + first_ + ";" + second_ + "\" -o list.octv", 0, "written");
    expect("compile m.onnx --global-scale 8 --shape x=1..8x3x8..96x8..96 -o open.octv", 0, "written");
    expect("compile m.onnx --global-scale 8 --shape x=" + first_ + " -o fixed.octv", 0, "written");
  }

  // f32, each element another one.
  void write_array(const std::string& name, const Shape& shape) const {
    Tensor array(DType::f32, shape);
    for (std::int64_t i = 0; i < array.elements(); ++i) array.as<float>()[i] = static_cast<float>(i * 37 % 101) * 0.05f;
    ASSERT_TRUE(write_npy(path(name), array.view()));
  }

  const std::string first_ = "1x3x32x40", second_ = "2x3x48x24";
};

TEST_F(CliShapes, AFileOfOpenSizesIsInspectedAsItIs) {
  expect("inspect m.onnx --json i.json", 0, "conv");
  const nlohmann::json shape = json("i.json")["inputs"][0]["shape"];
  ASSERT_EQ(shape.size(), 4u);
  EXPECT_EQ(shape[1], 3);
  for (const std::size_t axis : {0, 2, 3}) EXPECT_TRUE(shape[axis].is_string()) << shape;
}

TEST_F(CliShapes, AFileForAnotherProcessorIsRefusedWithWhatItHolds) {
  const bool is_arm64 = host_machine().isa.has(Isa::neon);
  const std::string target = is_arm64 ? "avx2" : "arm64-neon", words = is_arm64 ? "scalar avx2" : "scalar neon";
  const std::string compile = "compile m.onnx --global-scale 8 --target " + target + " --shape ";
  expect(compile + "\"x=" + first_ + ";" + second_ + "\" -o list.octv", 0, "written");
  expect(compile + "x=1..8x3x8..96x8..96 -o open.octv", 0, "written");
  expect("inspect list.octv", 0, target);
  const std::string holds = "found a file for another processor, which holds: ";
  expect("bench list.octv --seconds 0.1", 2,
         holds + "int8 batch 1 for " + target + ", which needs " + words + "; int8 batch 2 for " + target);
  expect("bench open.octv --shape x=" + first_, 2,
         holds + "plans of open sizes for " + target + ", which needs " + words + ", expected instructions of this");
}

TEST_F(CliShapes, EachOfAListHasItsPlan) {
  expect("inspect list.octv --json i.json", 0, "runs at any of these sizes");
  const nlohmann::json info = json("i.json");
  ASSERT_EQ(info["plans"].size(), 2u);
  EXPECT_EQ(info["plans"][0]["inputs"][0]["shape"], (nlohmann::json{1, 3, 32, 40}));
  EXPECT_EQ(info["plans"][1]["inputs"][0]["shape"], (nlohmann::json{2, 3, 48, 24}));
  ASSERT_EQ(info["sizes"].size(), 3u);  // all have 3 channels
  EXPECT_EQ(info["sizes"][1]["lowest"], 32);
  EXPECT_EQ(info["sizes"][1]["highest"], 48);
  EXPECT_EQ(info["sizes"][2]["lowest"], 24);
  // Repeated is listed.
  expect("compile m.onnx --global-scale 8 --shape x=" + first_ + " --shape x=" + second_ + " -o again.octv", 0, "");
  EXPECT_EQ(testing::read_bytes(path("again.octv")), testing::read_bytes(path("list.octv")));
  // Planned beforehand, planned now and fixed are the same; so are sizes of the range that nobody listed.
  for (const std::string& shape : {first_, second_, std::string("2x3x33x25")}) {
    for (const std::string model : {"list.octv", "open.octv"})
      expect("compare " + model + " m.onnx --global-scale 8 --shape x=" + shape, 0, "identical");
  }
}

TEST_F(CliShapes, ListsOfSeveralInputsGoTogether) {
  testing::ModelBuilder model;
  model.input("a", DType::f32, {-1, 4}).input("b", DType::f32, {-2, 4}).input("c", DType::f32, {-1, 4});
  model.node({.op = "Concat",
              .inputs = {"a", "b"},
              .outputs = {"ab"},
              .attributes = {{"axis", std::int64_t{0}}},
              .name = "join"});
  model.node({.op = "Mul", .inputs = {"a", "c"}, .outputs = {"z"}, .name = "mul"}).output("ab").output("z");
  ASSERT_TRUE(write_text(path("two.onnx"), model.bytes()));
  const std::string compile = "compile two.onnx --precision fp32 --allow-reference -o two.octv ";
  // The size of c is that of a.
  expect(compile + "--shape \"a=2x4;3x4;5x4\" --shape b=7x4", 0, "f32[12x4]");
  expect(compile + "--shape \"a=2x4;3x4\" --shape \"b=7x4;6x4\"", 0, "f32[9x4]");
  expect("bench two.octv --shape \"a=2x4;3x4\" --shape b=6x4 --seconds 0.01 --json b.json", 0, "a=2x4, b=6x4, c=2x4");
  EXPECT_EQ(json("b.json")["runs"][1]["shapes"]["c"], (nlohmann::json{3, 4}));
  expect(compile + "--shape \"a=2x4;3x4;5x4\" --shape \"b=7x4;6x4\"", 2,
         "3 of 'a', 2 of 'b', expected as many of each");
  expect(compile + "--shape \"a=2x4;3x4\" --shape b=1..7x4", 2, "range for 'b' beside several shapes");
  expect(compile + "--shape \"a=2x4;3x4\"", 2, "input 'b', dimension 0: found no shape that says it");
  expect("explain two.octv --shape a=2x4", 2, "no shape for input 'b'");
  expect("explain two.octv --shape b=7x4 --shape a=2x4 --shape c=3x4", 2, "as before");
}

TEST_F(CliShapes, NumbersNeedNoShape) {
  testing::ModelBuilder model;
  model.input("x", DType::f32, {-1, -2}).input("s", DType::f32, {});
  model.node({"Mul", {"x", "s"}, {"y"}, {}, "", "mul"}).output("y");
  ASSERT_TRUE(write_text(path("s.onnx"), model.bytes()));
  expect("compile s.onnx --precision fp32 --allow-reference --shape \"x=2x3;4x5\" -o s.octv", 0, "f32[4x5]");
  for (const std::string shape : {"", " --shape x=3x4"}) expect("bench s.octv --seconds 0.01" + shape, 0, "x=");
  expect("explain s.octv --seconds 0.01 --shape x=3x4", 0, "f32[3x4]");
}

TEST_F(CliShapes, ListsThatCannotBeAreTwo) {
  const std::string compile = "compile m.onnx --global-scale 8 -o bad.octv --shape ";
  expect(compile + "\"x=1x3x32x32;1x3x8..96x32\"", 2, "--shape: found a range for 'x' beside several shapes");
  expect(compile + "\"x=1x3x32x32;1x3x32\"", 2, "found a shape of 3 dimensions for 'x', expected 4");
  expect(compile + "\"x=1x3x32x32;\"", 2, "several with ';'");
  expect(compile + "\"x=1x3x32x32;1x3x32x32\"", 2, "x=1x3x32x32 more than once");
  expect(compile + "\"x=1x3x32x32;1x3x40x32\" --batch 1,8", 2, "--batch: found 2 batches beside --shape");
  expect(compile + "\"x=1x3x32x32;1x3x40x32\" --batch 8", 2, "--batch: found [8] beside shapes");
  expect(compile + "\"x=1x3x32x32;1x4x32x32\"", 2, "");
  EXPECT_FALSE(fs::exists(path("bad.octv")));
  const std::string two = " --shape x=" + first_ + " --shape x=" + second_;
  write_array("x.npy", Shape{1, 3, 32, 40});
  for (const std::string verb : {"run list.octv --input x.npy", "explain m.onnx", "compare list.octv open.octv",
                                 "evaluate open.octv --images ."})
    expect(verb + two, 2, "--shape: found 2 shapes, expected one to run");
}

TEST_F(CliShapes, ShapesChooseTheSizeOfACompiledModel) {
  const std::string bench = "bench open.octv --seconds 0.01 ";
  expect(bench, 2, "open.octv: found open sizes and no plan of any (");
  expect(bench, 2, "8 to 96), expected numbers for them: --shape x=");
  for (const std::string verb : {"explain open.octv", "compare open.octv list.octv"})
    expect(verb, 2, "expected numbers for them: --shape x=");
  // Of a model file there are examples.
  for (const std::string verb : {"explain m.onnx", "bench m.onnx --seconds 0.01"})
    expect(verb + " --shape x=1x3x8..96x40", 0, "sizes: none are given, so examples of them: x=1x3x96x40");
  expect(bench + "--shape x=1x3x8..96x40", 2, "a range beside a compiled model");
  expect(bench + "--shape x=1x3x97x40", 2, "input 'x', dimension 2: found 97 (1x3x97x40), expected 8 to 96");
  expect(bench + "--shape y=1x3x32x40", 2, "a shape for 'y', which is no input, expected 'x'");
  expect(bench + "--shape x=1x3x32x40 --batch 2", 2, "int8 batch 1 at x=1x3x32x40, expected batch 2");
  expect(bench + "--shape x=1x3x32x40 --precision fp32", 2, "expected fp32");
  // Fixed sizes stay so.
  expect("explain fixed.octv --seconds 0.01 --shape x=" + first_, 0, "f32[1x3x32x40]");
  expect("explain fixed.octv --shape x=1x3x32x32", 2,
         "x=1x3x32x32, expected its sizes, which are fixed: int8 batch 1 at");
}

TEST_F(CliShapes, BenchHasARowForEach) {
  const auto shapes = [&] {
    nlohmann::json list = nlohmann::json::array();
    const nlohmann::json runs = json("b.json")["runs"];
    for (const auto& run : runs) list.push_back(run["shapes"]["x"]);
    return list;
  };
  const nlohmann::json both = {{1, 3, 32, 40}, {2, 3, 48, 24}};
  const std::string quick = " --seconds 0.02 --warmup 0 --threads 1 --json b.json";
  const std::string list = " --shape x=" + first_ + " --shape x=" + second_;
  for (const std::string& model : {std::string("list.octv"), "open.octv" + list, "m.onnx --global-scale 8" + list}) {
    expect("bench " + model + quick, 0, second_);
    EXPECT_EQ(shapes(), both) << model;
    EXPECT_EQ(json("b.json")["runs"][1]["batch"], 2);
    EXPECT_GT(json("b.json")["runs"][1]["first_run_ms"], 0.0);
  }
  expect("bench m.onnx --compare fp32,int8 --global-scale 8" + list + quick, 0, "m.onnx " + second_ + ": int8 is ");
  EXPECT_EQ(shapes().size(), 4u);
  expect("bench open.octv --contexts 2" + list + " --seconds 0.02 --json b.json", 0,
         "int8 " + second_ + ": 2 contexts");
  // One size is told by its batch.
  const testing::Outcome fixed = octavo("bench fixed.octv" + quick);
  EXPECT_EQ(fixed.exit_code, 0) << fixed.text;
  EXPECT_EQ(fixed.text.find("shape"), std::string::npos) << fixed.text;
  EXPECT_EQ(shapes(), nlohmann::json::array({both[0]}));
}

TEST_F(CliShapes, ExplainTellsOneSize) {
  expect("explain open.octv --seconds 0.01 --shape x=2x3x50x60 --json e.json", 0, "input   x  f32[2x3x50x60]");
  const nlohmann::json e = json("e.json");
  EXPECT_EQ(e["batch"], 2);
  EXPECT_EQ(e["shapes"]["x"], (nlohmann::json{2, 3, 50, 60}));
  std::int64_t macs = 0;
  for (const auto& step : e["steps"]) macs += step["macs"].get<std::int64_t>();
  EXPECT_EQ(macs, std::int64_t{2} * 48 * 58 * 4 * 27);
  expect("explain list.octv --seconds 0.01 --shape x=" + second_, 0, "f32[2x3x48x24]");
}

TEST_F(CliShapes, ArraysSayTheSizes) {
  write_array("x.npy", Shape{3, 3, 17, 90});
  expect("run open.octv --input x.npy --output-dir a", 0, "f32[3x4]");
  expect("run m.onnx --global-scale 8 --input x=x.npy --output-dir b", 0, "f32[3x4]");
  EXPECT_EQ(testing::read_bytes(path("a/y.npy")), testing::read_bytes(path("b/y.npy")));
  expect("compare open.octv m.onnx --global-scale 8 --input x=x.npy", 0, "identical");
  expect("run open.octv --input x.npy --shape x=1x3x17x90", 2, "f32[3x3x17x90] for input 'x'");
  expect("run fixed.octv --input x.npy", 2, "f32[1x3x32x40]");
}

// The first dimension of its input is no batch to plan for.
TEST_F(CliShapes, ModelsOfSeveralPartsTakeWhatComes) {
  testing::ModelBuilder model;
  model.input("x", DType::f32, {4, 3}).output("where").node({.op = "NonZero", .inputs = {"x"}, .outputs = {"where"}});
  ASSERT_TRUE(write_text(path("p.onnx"), model.bytes()));
  write_array("x.npy", Shape{4, 3});
  expect("run p.onnx --input x=x.npy --output-dir a", 0, "s64[2x11]");
  expect("compile p.onnx -o p.octv --batch 4", 2, "a model of several parts");
}

// What explain tells is of a whole run, in which the body's network runs five times.
TEST_F(CliShapes, ExplainTellsWhatEachNetworkOfSeveralPartsTakes) {
  testing::ModelBuilder body, model;
  body.input("i", DType::s64, {}).input("go", DType::boolean, {}).input("a", DType::f32, {4, 4});
  body.output("next").output("bounded");
  body.node({"Identity", {"go"}, {"next"}})
      .node({"MatMul", {"a", "a"}, {"square"}})
      .node({"Tanh", {"square"}, {"bounded"}});
  model.input("x", DType::f32, {4, 4}).output("y").initializer("trips", testing::integers({}, {5}));
  testing::add_loop(model, {"trips", "", "x"}, {"y"}, body);
  ASSERT_TRUE(write_text(path("loop.onnx"), model.bytes()));
  expect("explain loop.onnx --precision fp32 --seconds 0.02 --json e.json", 0, "what is between them");
  const nlohmann::json e = json("e.json");
  const auto has_five = [](const nlohmann::json& network) { return network["runs"] == 5.0 && network["ms"] > 0.0; };
  EXPECT_EQ(std::count_if(e["networks"].begin(), e["networks"].end(), has_five), 1) << e["networks"].dump();
  double sum = 0.0;
  for (const auto& step : e["steps"]) sum += step["ms"].get<double>();
  double networks = 0.0;
  for (const auto& network : e["networks"]) networks += network["ms"].get<double>();
  EXPECT_NEAR(sum, networks, 1e-9 + 1e-6 * sum);
  EXPECT_GT(e["run_ms"], 0.0);
  expect("explain loop.onnx --precision fp32 --html e.html", 2, "--html");
}

// Seven trips where the input says so, else none.
TEST_F(CliShapes, WhatIsTimedTakesTheInputsThatAreGiven) {
  testing::ModelBuilder body, model;
  body.input("i", DType::s64, {}).input("go", DType::boolean, {}).input("a", DType::f32, {4, 4});
  body.output("next").output("bounded");
  body.node({"Identity", {"go"}, {"next"}}).node({"Tanh", {"a"}, {"bounded"}});
  model.input("trips", DType::s64, {}).input("x", DType::f32, {4, 4}).output("y");
  testing::add_loop(model, {"trips", "", "x"}, {"y"}, body);
  ASSERT_TRUE(write_text(path("loop.onnx"), model.bytes()));
  ASSERT_TRUE(write_npy(path("seven.npy"), testing::integers({}, {7}).view()));
  write_array("wide.npy", Shape{4, 5});
  const std::string given = " --precision fp32 --seconds 0.02 --input trips=seven.npy";
  expect("explain loop.onnx --json e.json" + given, 0, "what is between them");
  const nlohmann::json networks = json("e.json")["networks"];
  EXPECT_TRUE(std::any_of(networks.begin(), networks.end(), [](const auto& each) { return each["runs"] == 7.0; }))
      << networks.dump();
  expect("bench loop.onnx --max-iterations 6 --precision fp32 --seconds 0.02", 0, "fp32");
  expect("bench loop.onnx --max-iterations 7" + given, 0, "fp32");
  EXPECT_NE(octavo("bench loop.onnx --max-iterations 6" + given).exit_code, 0);
  expect("compare loop.onnx loop.onnx --precision fp32", 0, "identical");
  expect("compare loop.onnx loop.onnx --precision fp32 --dump", 2, "--dump");
  for (const std::string verb : {"bench", "explain"}) {
    expect(verb + " loop.onnx --input x=wide.npy" + given, 2, "expected f32[4x4]");
    expect(verb + " loop.onnx --input z=seven.npy" + given, 2, "unknown input 'z'");
  }
}

TEST_F(CliShapes, PicturesHaveTheSizeOfTheCrop) {
  fs::create_directories(path("pictures"));
  fs::copy_file(std::string(OCTAVO_SOURCE_DIR) + "/tests/data/images/photo.jpg", path("pictures/photo.jpg"));
  folder_.write("labels.txt", "photo.jpg 1\n");
  const std::string photo = " --input pictures/photo.jpg --preprocess tf";
  const std::string labelled = " --images pictures --labels labels.txt --preprocess tf";
  expect("run open.octv --output-dir crop" + photo + ",crop=64", 0, "f32[1x4]");
  expect("run open.octv --output-dir shape --shape x=1x3x64x64" + photo, 0, "f32[1x4]");
  EXPECT_EQ(testing::read_bytes(path("crop/y.npy")), testing::read_bytes(path("shape/y.npy")));
  expect("run open.octv" + photo, 2, "expected numbers for them");
  expect("run open.octv" + photo + ",crop=97", 2, "found 97 (1x3x97x97)");
  expect("compare open.octv m.onnx --global-scale 8 --shape x=1x3x64x64" + photo, 0, "identical");
  expect("evaluate open.octv m.onnx --global-scale 8" + labelled + ",crop=64 --json a.json", 0, "int8");
  EXPECT_EQ(json("a.json")["models"][1]["agreement_percent"], 100.0);
  expect("evaluate open.octv --shape x=2x3x40x64" + labelled, 0, "int8");
  expect("evaluate list.octv" + labelled, 0, "int8");  // the first plan of the file
  expect("evaluate open.octv" + labelled, 2, "expected numbers for them");
  // Of a model that takes pixels the sizes are those of its own input.
  expect("compile m.onnx --global-scale 8 --input-type u8 --preprocess tf,crop=48 --shape x=1x3x8..96x8..96 -o p.octv",
         0, "");
  expect("run p.octv --input pictures/photo.jpg", 0, "f32[1x4]");
  expect("bench p.octv --seconds 0.01 --shape x=1x32x40x3", 0, "1x32x40x3");
}

// Each of its own size, of a file that has plans and of one that has none.
TEST_F(CliShapes, SamplesOfSeveralSizes) {
  fs::create_directories(path("arrays"));
  const std::vector<Shape> shapes = {{1, 3, 8, 40}, {1, 3, 33, 12}, {3, 20, 20}, {1, 3, 33, 12}, {1, 3, 96, 9}};
  std::string labels;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    write_array("arrays/" + std::to_string(i) + ".npy", shapes[i]);
    labels += std::to_string(i) + ".npy 1\n";
  }
  folder_.write("labels.txt", labels);
  expect("compile m.onnx --precision fp32 -o exact.octv", 0, "written");
  expect("compile m.onnx --calibrate arrays -o taught.octv", 0, "written");
  const std::string labelled = " --images arrays --labels labels.txt";
  expect("evaluate exact.octv taught.octv m.onnx --calibrate arrays --json e.json" + labelled, 0, "int8");
  const nlohmann::json report = json("e.json")["models"];
  EXPECT_EQ(report[1]["samples"], 5);
  EXPECT_GT(report[1]["sqnr_db"], 20.0);
  EXPECT_EQ(report[1]["sqnr_db"], report[2]["sqnr_db"]);
  expect("evaluate list.octv open.octv --batch 2 --json b.json" + labelled, 3, "arrays/0.npy: input 'x', dimension 2");
  fs::remove(path("arrays/0.npy"));
  fs::remove(path("arrays/4.npy"));
  folder_.write("labels.txt", "1.npy 1\n2.npy 0\n3.npy 1\n");
  expect("evaluate open.octv open.octv --json a.json" + labelled, 0, "int8");
  expect("evaluate open.octv open.octv --json b.json --shape x=2x3x40x40" + labelled, 0, "int8");
  EXPECT_EQ(json("a.json")["models"][0]["top1"], json("b.json")["models"][0]["top1"]);
  write_array("arrays/9.npy", {1, 4, 8, 40});
  expect("compile m.onnx --calibrate arrays -o bad.octv", 3,
         "arrays/9.npy: found shape 1x4x8x40, expected Nx3xN2xN3 for input 'x'");
}

// What looks at samples looks at the first shape; what takes times takes them there.
TEST_F(CliShapes, QuantizingTakesTheFirst) {
  const std::string list = " --shape x=" + first_ + " --shape x=" + second_, random = " --calibrate random";
  expect("quantize m.onnx" + random + list + " -o q.onnx --report q.json", 0, "written");
  expect("inspect q.onnx", 0, "32x40]");
  expect("compile m.onnx" + random + list + " -o r.octv", 0, "f32[2x3x48x24]");
  expect("compile m.onnx" + random + " --shape x=2..8x3x8..96x32 -o r.octv", 0, "written");
  const std::string times = " --threads 1 --seconds 0.01";
  expect("compile m.onnx" + random + list + times + " --max-drop 100 -o r.octv", 0, "within the budget");
  expect("inspect r.octv", 0, "f32[2x3x48x24]");
  expect("compile m.onnx" + random + list + times + " --precision auto --tuning-log log -o r.octv", 0,
         "f32[2x3x48x24]");
  EXPECT_NE(testing::read_bytes(path("log")).find("x=1x3x32x40, 1 threads"), std::string::npos);
  expect("compile m.onnx" + random + times + " --shape x=1x3x8..96x32 --precision auto -o r.octv", 2, "--shape x=1x3x");
  expect("compile m.onnx" + random + " --shape x=1x3x8..96x32 --precision auto --target scalar -o r.octv", 2,
         "--shape x=");
}

// Scales are of the wires that compiling with open sizes knows: of a model that says no size, none is asked for.
TEST_F(CliShapes, ScalesOfOpenSizesNeedNoShape) {
  const std::string model = "compile " + std::string(OCTAVO_SOURCE_DIR) +
                            "/tests/import/encoders/llama_dynamo20.onnx --activations per-token ";
  expect(model + "--scales-out scales.json -o a.octv", 0, "written");
  expect(model + "--scales scales.json -o b.octv", 0, "written");
  EXPECT_EQ(testing::read_bytes(path("a.octv")), testing::read_bytes(path("b.octv")));
}

// x [N, L, 4] doubled where mask [N, L] is 1: the same with and without the padding, in f32.
TEST_F(CliShapes, PaddingIsLeftOut) {
  testing::ModelBuilder model;
  model.input("x", DType::f32, {-1, -2, 4}).input("mask", DType::s64, {-1, -2});
  model.initializer("two", Tensor::scalar(2.0f)).initializer("last", Tensor::of<std::int64_t>(Shape{1}, {2}));
  model.node({.op = "Unsqueeze", .inputs = {"mask", "last"}, .outputs = {"column"}, .name = "column"})
      .node({.op = "Cast",
             .inputs = {"column"},
             .outputs = {"shown"},
             .attributes = {{"to", std::int64_t{1}}},
             .name = "cast"})
      .node({.op = "Mul", .inputs = {"x", "two"}, .outputs = {"double"}, .name = "double"})
      .node({.op = "Mul", .inputs = {"double", "shown"}, .outputs = {"y"}, .name = "hide"})
      .output("y");
  ASSERT_TRUE(write_text(path("s.onnx"), model.bytes()));
  expect("compile s.onnx --precision fp32 -o s.octv", 0, "written");
  write_array("x.npy", {3, 20, 4});
  Tensor mask(DType::s64, Shape{3, 20});
  for (std::int64_t i = 0; i < 60; ++i) mask.as<std::int64_t>()[i] = i % 20 < (i < 20 ? 2 : 17);
  ASSERT_TRUE(write_npy(path("mask.npy"), mask.view()));
  const std::string inputs = " --input x=x.npy --input mask=mask.npy";
  expect("run s.octv --output-dir all" + inputs, 0, "f32[3x20x4]");
  expect("run s.octv --output-dir some --skip-padding mask" + inputs, 0, "f32[3x20x4]");
  EXPECT_EQ(testing::read_bytes(path("some/y.npy")), testing::read_bytes(path("all/y.npy")));
  expect("run s.octv --skip-padding x" + inputs, 2, "expected integers or booleans [batch, tokens]");
  expect("run s.octv --skip-padding mask --dump all" + inputs, 2, "--dump");
  mask.as<std::int64_t>()[19] = 1;
  ASSERT_TRUE(write_npy(path("mask.npy"), mask.view()));
  expect("run s.octv --skip-padding mask" + inputs, 2, "row 0: found a token at 19 behind padding at 2");
  expect("run fixed.octv --skip-padding x --input x=x.npy", 2, "");
}

}  // namespace
}  // namespace octavo
