// The built program: exit codes, messages, files left behind. Part of tests/cli/.
#include <filesystem>
#include <fstream>
#include <set>
#include <span>

#include "base/file.h"
#include "base/machine.h"
#include "cli/fixture.h"
#include "data/npy.h"
#include "import/onnx/proto.h"
#include "support/sanitizers.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

using Cli = CliTest;

TEST_F(Cli, HelpOfEveryVerb) {
  expect("--help", 0, "compile");
  expect("--version", 0, "octavo ");
  for (const char* verb : {"compile", "quantize", "run", "bench", "evaluate", "explain", "inspect", "compare", "zoo"})
    expect(std::string(verb) + " --help", 0, verb);
  EXPECT_EQ(octavo("--help").text.find("bench-worker"), std::string::npos);
}

// What was measured is kept: the second compilation measures nothing and makes the same file.
TEST_F(Cli, TuningIsRepeatable) {
  const std::string compile = "compile " + digits_ + "digits.onnx --calibrate random --tuning-log " + path("log.json");
  expect(compile + " --tune quick -o " + path("a.octv"), 0, "written");
  const std::string measured = testing::read_bytes(path("log.json"));
  EXPECT_NE(measured.find("quantized_conv("), std::string::npos);
  expect(compile + " --tune quick -o " + path("b.octv"), 0, "written");
  EXPECT_EQ(testing::read_bytes(path("log.json")), measured);
  expect(compile + " -o " + path("c.octv"), 0, "written");
  const auto bytes = read_file(path("a.octv"));
  EXPECT_EQ(*bytes, *read_file(path("b.octv")));
  EXPECT_EQ(*bytes, *read_file(path("c.octv")));
  expect("inspect " + path("a.octv"), 0, "by times measured on");
  expect(compile + " --tune full -o " + path("f.octv"), 0, "written");
  const std::string all = testing::read_bytes(path("log.json"));
  EXPECT_GT(all.size(), measured.size());
  EXPECT_TRUE(all.starts_with(measured));
  expect(compile + " -o " + path("g.octv"), 0, "written");
  EXPECT_EQ(*read_file(path("f.octv")), *read_file(path("g.octv")));
  std::ofstream(path("log.json"), std::ios::app)
      << R"({"machine": "m", "subject": "a(u8[1]) -> u8[1]", "variant": "conv_of_yesterday", "values": {"ns": 5}})"
      << "\n";
  expect(compile + " -o " + path("d.octv"), 0, "'conv_of_yesterday', no kernel of this release");
  std::ofstream(path("log.json")) << "{}";
  expect(compile, 3, "log.json: found something else");
  expect(compile + " --tune known", 2, "--tune");
}

// Options with lists take one word, wherever the model stands.
TEST_F(Cli, TheModelMayFollowAnyOption) {
  for (const std::string option : {"--batch 1", "--skip type:Conv", "--shape image=1x1x8x8", "--threads 1"})
    expect("explain " + option + " " + digits_ + "digits.onnx --seconds 0.01", 0, "GMAC");
}

TEST_F(Cli, BadUsageIsTwo) {
  expect("", 2, "subcommand");
  expect("frobnicate", 2, "frobnicate");
  expect("compile", 2, "MODEL");
  expect("compile " + digits_ + "digits.onnx --precision int4", 2, "'int4'");
  expect("compile " + digits_ + "digits.onnx", 2, "--calibrate");
  expect("compile " + digits_ + "digits.onnx --calibrate " + digits_ + "calibration.npz", 2, "--preprocess");
  expect("compile " + digits_ + "digits.onnx --calibrate " + digits_ + "calibration.npz --preprocess sepia", 2,
         "'sepia'");
  expect("compile " + digits_ + "digits.onnx --precision fp32 --shape input", 2, "--shape");
  expect("compile " + digits_ + "digits.onnx --precision fp32 --target z80", 2, "z80");
  expect("compile " + digits_ + "digits.onnx --calibrate random --skip nothing_of_this_name", 2,
         "nothing_of_this_name");
  expect("compile " + digits_ + "digits.onnx --calibrate random --calibration median", 2, "'median'");
  expect("compile " + digits_ + "digits.onnx --precision fp32 --batch 0", 2, "--batch");
  for (const std::string& verb : {std::string("run "), std::string("explain "), "compare " + digits_ + "digits.onnx "})
    expect(verb + digits_ + "digits.onnx --batch 1,2", 2, "2 batches");
  expect("bench " + digits_ + "digits.onnx --threads 0", 2, "found '0', expected a number above 0");
  expect("bench " + digits_ + "digits.onnx --seconds x", 2, "found 'x', expected a number above 0");
  expect("inspect", 2, "--machine");
  expect("zoo not_a_network", 2, "not_a_network");
}

TEST_F(Cli, QuantizedFilesCompileToWhatTheOriginalDoes) {
  const std::string options = " --calibrate " + digits_ + "calibration.npz --preprocess tf";
  expect("quantize " + digits_ + "digits.onnx" + options + " -o qdq.onnx", 0, "qdq.onnx");
  expect("compile " + digits_ + "digits.onnx" + options + " -o direct.octv", 0, "written");
  expect("compile qdq.onnx -o again.octv --batch 1,3", 0, "ONNX QDQ");  // the batch is symbolic still
  expect("compare direct.octv again.octv --batch 1", 0, "");
  expect("quantize " + digits_ + "digits.onnx" + options + " --samples 8 -o reported.onnx --report page.html", 0,
         "worst rounded");
  EXPECT_NE(testing::read_bytes(path("page.html")).find("Along the network"), std::string::npos);
  expect("quantize " + digits_ + "digits.onnx" + options + " --samples 8 -o reported.onnx --report report.json", 0,
         "worst rounded");
  EXPECT_GT(json("report.json")["tensors"].size(), 3u);
  expect("quantize " + digits_ + "digits.onnx --global-scale 8 --report page.html", 2, "--report");
  expect("quantize qdq.onnx" + options + " -o twice.onnx", 2, "a quantized model");
  expect("quantize direct.octv" + options + " -o twice.onnx", 2, "a compiled model");
  expect("quantize " + digits_ + "digits.onnx -o none.onnx", 2, "--calibrate");
  expect("quantize " + digits_ + "digits.onnx" + options + " -o no/such/folder/x.onnx", 5, "no/such/folder");
  EXPECT_FALSE(fs::exists(path("twice.onnx")) || fs::exists(path("none.onnx")));
}

TEST_F(Cli, ScalesGoOutAndIn) {
  const std::string model = digits_ + "digits.onnx",
                    calibrate = " --calibrate " + digits_ + "calibration.npz --preprocess tf";
  expect("quantize " + model + calibrate + " -o direct.onnx --scales-out scales.json", 0, "written");
  expect("quantize " + model + " --scales scales.json -o again.onnx", 0, "written");
  EXPECT_EQ(testing::read_bytes(path("direct.onnx")), testing::read_bytes(path("again.onnx")));
  expect("compile " + model + calibrate + " -o direct.octv --scales-out same.json", 0, "written");
  expect("compile " + model + " --scales scales.json -o again.octv", 0, "written");
  EXPECT_EQ(testing::read_bytes(path("direct.octv")), testing::read_bytes(path("again.octv")));
  EXPECT_EQ(testing::read_bytes(path("scales.json")), testing::read_bytes(path("same.json")));
  expect("compile " + model + calibrate + " --scales scales.json -o x.octv", 2, "--scales");
  expect("compile " + model + " --scales missing.json -o x.octv", 5, "missing.json");
  ASSERT_TRUE(write_text(path("broken.json"), "{}"));
  expect("quantize " + model + " --scales broken.json -o x.onnx", 3, "broken.json");
  EXPECT_FALSE(fs::exists(path("x.octv")) || fs::exists(path("x.onnx")));
}

TEST_F(Cli, AccuracyBudgets) {
  const std::string model = digits_ + "digits.onnx";
  const std::string options =
      " --calibrate " + digits_ + "calibration.npz --preprocess tf --samples 20 --seconds 0.01 --threads 1";
  expect("compile " + model + options + " --max-drop 100 --metric agreement -o all.octv", 0, "0 of ");
  expect("compile " + model + options + " --max-drop 40 --metric sqnr -o mix.octv --search-log log", 0,
         "within the budget");
  expect("inspect mix.octv", 0, "fused_conv");
  expect("compare mix.octv mix.octv", 0, "identical");
  // Everything was measured before.
  const auto lines = [&] {
    std::ifstream file(path("log"));
    return std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n');
  };
  const auto before = lines();
  expect("quantize " + model + options + " --max-drop 40 --metric sqnr -o mix.onnx --search-log log", 0,
         "within the budget");
  EXPECT_EQ(lines(), before);
  expect("compile mix.onnx -o from_qdq.octv", 0, "float");
  expect("quantize " + model + options + " --max-drop 300 --metric sqnr -o best.onnx", 1, "beyond it");
  EXPECT_TRUE(fs::exists(path("best.onnx")));
  expect("compile " + model + options + " --max-drop 1 --images " + digits_ + "test.npz -o top1.octv", 0, "right");
  expect("compile " + model + options + " --max-drop 1 --metric top1", 2, "--images");
  expect("compile " + model + options + " --max-drop 1 --metric top3", 2, "top3");
  expect("compile " + model + options + " --metric sqnr", 2, "--max-drop");
  expect("compile " + model + options + " --max-drop 1 --precision auto", 2, "--precision auto");
  expect("compile " + model + " --max-drop 1", 2, "--calibrate");
}

// The scales are the file's; samples only judge.
TEST_F(Cli, AccuracyBudgetsWithKnownScales) {
  const std::string model = digits_ + "digits.onnx",
                    calibrate = " --calibrate " + digits_ + "calibration.npz --preprocess tf --samples 20";
  expect("quantize " + model + calibrate + " --placement per-operator -o all.onnx --scales-out scales.json", 0,
         "written");
  const std::string options = " --scales scales.json --placement per-operator --seconds 0.01 --threads 1";
  expect("quantize " + model + options + calibrate + " --max-drop 100 --metric agreement -o kept.onnx", 0, "0 of ");
  EXPECT_EQ(testing::read_bytes(path("all.onnx")), testing::read_bytes(path("kept.onnx")));
  expect("compile " + model + options + calibrate + " --max-drop 40 --metric sqnr -o mix.octv", 0, "within the budget");
  expect("compile " + model + options + " --preprocess tf --max-drop 1 --images " + digits_ + "test.npz -o top1.octv",
         0, "right");
  expect("compile " + model + options + " --max-drop 1 -o none.octv", 2, "--calibrate");
  expect("compile " + model + options + calibrate + " -o none.octv", 2, "--scales");
  expect("compile " + model + calibrate + " --placement nowhere -o none.octv", 2, "per-operator");
  EXPECT_FALSE(fs::exists(path("none.octv")));
}

TEST_F(Cli, AutoPrecisionInEveryVerb) {
#ifdef OCTAVO_SANITIZED
  GTEST_SKIP() << "a sanitizer slows Octavo's kernels, but not oneDNN's: times say nothing";
#endif
  const std::string model = digits_ + "digits.onnx";
  const std::string data = " --calibrate " + digits_ + "calibration.npz --preprocess tf --samples 20",
                    options = data + " --precision auto";
  expect("compile " + model + options + " --threads 1 --seconds 0.01 -o auto.octv --batch 1,3 --scales-out scales.json",
         0, "auto: ");
  expect("compile auto.octv" + options, 2, "compiled model");
  expect("bench " + model + data + " --compare fp32,int8,auto --seconds 0.02 --threads 1 --json bench.json", 0,
         "auto is ");
  const nlohmann::json runs = json("bench.json")["runs"];
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[2]["precision"], "auto");
  EXPECT_GT(runs[2]["latency_ms"]["min"], 0.0);
  expect("explain " + model + options + " --seconds 0.02 --json explain.json", 0, "note: auto: ");
  EXPECT_NE(json("explain.json")["notes"].dump().find("auto: all in "), std::string::npos);
  EXPECT_GT(json("explain.json")["integer_share_of_bytes"], 0.0);
  expect("evaluate " + model + options + " --images " + digits_ + "test.npz", 0, "digits.onnx");
  expect("compare " + model + " auto.octv" + data + " --precision int8 --min-sqnr 5", 0, "");
  // A file that is quantized.
  expect("quantize " + model + data + " -o qdq.onnx", 0, "written");
  expect("compile qdq.onnx --precision auto --threads 1 --seconds 0.01", 0, "auto: all in ");
}

TEST_F(Cli, BrokenFilesAreThreeAndMissingOnesFive) {
  ASSERT_TRUE(write_text(path("broken.onnx"), "this is no model"));
  expect("inspect broken.onnx", 3, "broken.onnx");
  expect("compile missing.onnx --precision fp32", 5, "missing.onnx");
  expect("compile " + digits_ + "digits.onnx --precision fp32 -o no/such/folder/x.octv", 5, "no/such/folder");
  EXPECT_TRUE(fs::is_empty(folder_.path()) || !fs::exists(path("no")));
}

TEST_F(Cli, MachineIsDescribed) {
  expect("inspect --machine --json machine.json", 0, "instructions");
  EXPECT_GE(json("machine.json").value("cores", 0), 1);
}

TEST_F(Cli, CalibratedMachineIsCompiledFor) {
  expect("inspect --machine --calibrate -o machine.json --json told.json", 0, "kernels chosen by these predictions");
  const nlohmann::json machine = json("machine.json"), told = json("told.json")["calibration"];
  EXPECT_GT(machine["speeds"].value("gigahertz", 0.0), 0.0);
  EXPECT_NEAR(told["speeds"].value("gigahertz", 0.0), machine["speeds"].value("gigahertz", 0.0), 0.001);
  ASSERT_GE(told["reference_layers"].size(), 16u);
  for (const nlohmann::json& layer : told["reference_layers"]) {
    EXPECT_GT(layer["measured_ns"], 0.0) << layer.dump();
    EXPECT_GT(layer["calibrated_ns"], 0.0) << layer.dump();
  }
  const std::string compile = "compile " + digits_ + "digits.onnx --calibrate random ";
  expect(compile + "-o with.octv --machine machine.json", 0, "written");
  expect(compile + "-o without.octv", 0, "written");
  expect("compare with.octv without.octv", 0, "");
  nlohmann::json other = machine;
  other["speeds"].erase("gigahertz");
  ASSERT_TRUE(write_text(path("other.json"), other.dump()));
  expect(compile + "-o x.octv --machine other.json", 3, "'speeds', 'gigahertz'");
  expect(compile + "-o x.octv --machine none.json", 5, "none.json");
  expect("inspect --calibrate", 2, "--machine");
  expect("inspect --machine -o m.json", 2, "--calibrate");
}

TEST_F(Cli, FromModelToAnswers) {
  expect("compile " + digits_ + "digits.onnx -o fp32.octv --precision fp32", 0, "written: fp32.octv");
  expect("compile " + digits_ + "digits.onnx -o int8.octv --calibrate " + digits_ +
             "calibration.npz --preprocess tf --batch 1,4 --report report.json",
         0, "int8 batch 4");
  EXPECT_EQ(json("report.json")["plans"].size(), 2u);
  expect("evaluate fp32.octv int8.octv --images " + digits_ + "test.npz --preprocess tf --batch 1 --json accuracy.json",
         0, "int8");
  const auto models = json("accuracy.json")["models"];
  ASSERT_EQ(models.size(), 2u);
  const int fp32 = models[0].value("top1", 0);
  const int int8 = models[1].value("top1", 0);
  EXPECT_GT(fp32, 560) << "of 597";
  EXPECT_NEAR(int8, fp32, 6);
  EXPECT_FALSE(models[0].contains("agreeing"));
  EXPECT_GE(models[1].value("agreeing", 0), 580) << "of 597";
  EXPECT_GT(models[1].value("sqnr_db", 0.0), 15.0);
  EXPECT_LT(models[1]["top1_interval"][0], models[1]["top1_percent"]);
  expect("evaluate int8.octv --images " + digits_ + "test.npz --preprocess tf --batch 4 --json accuracy4.json", 0,
         "int8");
  EXPECT_EQ(json("accuracy4.json")["models"][0].value("top1", 0), int8);
  expect("evaluate int8.octv int8.octv --images " + digits_ + "test.npz --preprocess tf --batch 4 --json same.json", 0,
         "agrees");
  EXPECT_EQ(json("same.json")["models"][1].value("agreeing", 0), 597);
  EXPECT_TRUE(json("same.json")["models"][1]["sqnr_db"].is_null());
  expect("evaluate int8.octv --images " + digits_ + "test.npz --preprocess tf --batch 3", 2, "batch");
  expect("compare int8.octv int8.octv --batch 1 --json same.json", 0, "identical");
  expect("compare fp32.octv int8.octv", 1, "SQNR");
  expect("compare fp32.octv int8.octv --min-sqnr -10", 0, "SQNR");
  // Integers of an int8 plan count as what they stand for: their raw values would be far from f32.
  expect("compare fp32.octv int8.octv --dump --min-sqnr 5", 0, "SQNR");
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    EXPECT_EQ(entry.path().string().find(".partial"), std::string::npos) << entry.path();
}

// A full-integer model of an fp32 file: u8 at both ends, and as many right answers.
TEST_F(Cli, IntegerOnlyModels) {
  const std::string options = " --calibrate " + digits_ + "calibration.npz --preprocess tf",
                    images = " --images " + digits_ + "test.npz";
  expect("compile " + digits_ + "digits.onnx --integer-only" + options + " -o i.octv --report i.json", 0,
         "u8[1x1x8x8], scale 0.007");
  const auto plan = json("i.json")["plans"][0];
  EXPECT_EQ(plan["inputs"][0]["dtype"], "u8");
  EXPECT_EQ(plan["inputs"][0]["scale"].size(), 1u);
  EXPECT_EQ(plan["outputs"][0]["dtype"], "u8");
  EXPECT_EQ(plan["outputs"][0]["zero_point"].size(), 1u);
  EXPECT_TRUE(plan["islands"].empty());
  expect("compile " + digits_ + "digits.onnx" + options + " -o f.octv", 0, "written");
  expect("evaluate f.octv i.octv" + images + " --preprocess tf --json accuracy.json", 0, "int8");
  EXPECT_GE(json("accuracy.json")["models"][1].value("agreeing", 0), 590) << "of 597";
  expect("bench i.octv --seconds 0.05 --threads 1", 0, "int8");
  expect("explain i.octv --seconds 0.05", 0, "input   image  u8[1x1x8x8], scale");
  expect("quantize " + digits_ + "digits.onnx --integer-only" + options + " -o q.onnx", 0, "written");
  expect("compile q.onnx --integer-only -o q.octv", 0, "u8[1x1x8x8], scale 0.007");
  expect("compare i.octv q.octv", 0, "identical");
  expect("compile " + digits_ + "digits.onnx --integer-only --precision fp32", 4, "input 'image': found f32");
  // Everything that would stay in float is named.
  const testing::Outcome refused =
      octavo("compile " + digits_ + "digits.onnx --integer-only --skip 'type:conv'" + options + " -o r.octv");
  EXPECT_EQ(refused.exit_code, 4) << refused.text;
  EXPECT_GE(std::count(refused.text.begin(), refused.text.end(), '\n'), 2) << refused.text;
  expect("quantize " + digits_ + "digits.onnx --integer-only --skip type:conv" + options + " -o r.onnx", 4,
         "kept in float as asked");
  expect("quantize " + digits_ + "digits.onnx --integer-only --report r.html" + options + " -o r.onnx", 2,
         "--integer-only");
  expect("compile " + digits_ + "digits.onnx --integer-only --max-drop 1" + options + " -o r.octv", 2,
         "--integer-only");
  EXPECT_FALSE(fs::exists(path("r.octv")) || fs::exists(path("r.onnx")));
}

TEST_F(Cli, IntegerInputsTakeStoredAndRealValues) {
  expect("compile " + digits_ + "digits.onnx --integer-only --calibrate " + digits_ +
             "calibration.npz --preprocess tf -o i.octv",
         0, "written");
  Tensor stored(DType::u8, Shape{1, 1, 8, 8}), real(DType::f32, Shape{1, 1, 8, 8});
  expect("inspect i.octv --json i.json", 0, "");
  const auto input = json("i.json")["plans"][0]["inputs"][0];
  const float scale = input["scale"][0];
  const int zero_point = input["zero_point"][0];
  for (int i = 0; i < 64; ++i) {
    stored.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 4);
    real.as<float>()[i] = static_cast<float>(i * 4 - zero_point) * scale;
  }
  ASSERT_TRUE(write_npy(path("stored.npy"), stored.view()) && write_npy(path("real.npy"), real.view()));
  ASSERT_TRUE(write_npy(path("wrong.npy"), Tensor(DType::s8, Shape{1, 1, 8, 8}).view()));
  const auto answer = [&](const std::string& file) {
    expect("run i.octv --input " + file + " --output-dir out", 0, "u8[1x10]");
    const std::string bytes = testing::read_bytes((*fs::directory_iterator(path("out"))).path().string());
    fs::remove_all(path("out"));
    return bytes;
  };
  EXPECT_EQ(answer("stored.npy"), answer("real.npy"));
  expect("run i.octv --input wrong.npy", 2, "or f32 to be quantized with its scale");
}

TEST_F(Cli, RunWritesEveryOutput) {
  ASSERT_TRUE(write_npy(path("x.npy"), Tensor(DType::f32, Shape{2, 1, 8, 8}).view()));
  ASSERT_TRUE(write_npy(path("flat.npy"), Tensor(DType::f32, Shape{64}).view()));
  expect("run " + digits_ + "digits.onnx --precision fp32 --input x.npy --output-dir out", 0, ".npy");
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(path("out"))) {
    const auto tensor = read_npy(entry.path().string());
    ASSERT_TRUE(tensor) << to_string(tensor.errors());
    EXPECT_EQ(tensor->shape(), (Shape{2, 10}));
    ++files;
  }
  EXPECT_EQ(files, 1u);
  expect("compile " + digits_ + "digits.onnx -o fp32.octv --precision fp32", 0, "written");
  expect("run fp32.octv --input x.npy", 0, "2x10");  // its batch is open
  expect("run fp32.octv --input flat.npy", 2, "x1x8x8");
  expect("run fp32.octv", 2, "--input");
  expect("run fp32.octv --input nobody=x.npy", 2, "input");
  expect("run fp32.octv --input missing.npy", 5, "missing.npy");
}

TEST_F(Cli, BenchAlternatesItsVariants) {
  expect("bench " + digits_ +
             "digits.onnx --compare fp32,int8 --calibrate random --seconds 0.3 --threads 1 --json bench.json",
         0, "than fp32");
  const auto object = json("bench.json");
  ASSERT_EQ(object["runs"].size(), 2u);
  for (const auto& run : object["runs"]) {
    EXPECT_GT(run["runs"].get<int>(), 1);
    EXPECT_GT(run["latency_ms"]["min"].get<double>(), 0.0);
    EXPECT_LE(run["latency_ms"]["min"].get<double>(), run["latency_ms"]["median"].get<double>());
    EXPECT_LE(run["latency_ms"]["median"].get<double>(), run["latency_ms"]["p99"].get<double>());
    EXPECT_GT(run["peak_rss_mb"].get<double>(), 1.0);
    EXPECT_GT(run["gmac"].get<double>(), 0.0);
    EXPECT_EQ(run["threads"].get<int>(), 1);
  }
}

TEST_F(Cli, ExplainAccountsForEveryKernel) {
  expect(
      "explain " + digits_ + "digits.onnx --calibrate random --seconds 0.1 --json e.json --html e.html --onnx e.onnx",
      0, "conversions and float islands");
  expect("compile " + digits_ + "digits.onnx --calibrate random -o d.octv", 0, "written");
  expect("inspect d.octv --json i.json", 0, "");
  const nlohmann::json e = json("e.json"), plan = json("i.json")["plans"][0];
  EXPECT_EQ(e["precision"], "int8");
  EXPECT_EQ(e["integer_share_of_macs"], 1.0);
  EXPECT_GT(e["run_ms"], 0.0);
  ASSERT_EQ(e["steps"].size(), plan["steps"]);
  std::int64_t macs = 0;
  int conversions = 0;
  const std::string page = testing::read_bytes(path("e.html"));
  for (const auto& step : e["steps"]) {
    macs += step["macs"].get<std::int64_t>();
    EXPECT_GT(step["ms"]["median"], 0.0) << step;
    EXPECT_LE(step["ms"]["min"], step["ms"]["median"]) << step;
    EXPECT_GT(step["ms"]["bound"], 0.0) << step;
    EXPECT_FALSE(step["refusals"].empty()) << step;
    EXPECT_NE(page.find(step["kernel"].get<std::string>()), std::string::npos) << step;
    if (step["type"] != "conversion") continue;
    ++conversions;
    EXPECT_NE(step["cause"].get<std::string>().find("the model's "), std::string::npos) << step;
  }
  EXPECT_EQ(macs, plan["macs"]);
  EXPECT_GE(conversions, 1);
}

// On x86: a plan for an Arm core; there: one for AVX2.
TEST_F(Cli, ExplainPredictsWhatThisMachineCannotRun) {
  const bool is_arm = host_machine().isa.has(Isa::neon);
  const std::string other = is_arm ? "--target avx2" : "--machine neoverse-n1", name = is_arm ? "avx2" : "neoverse-n1";
  expect("explain " + digits_ + "digits.onnx --calibrate random " + other + " --json e.json --html e.html", 0,
         name + ", one thread at 2.5 GHz: at best: int8 by " + (is_arm ? "vpmaddwd" : "udot 80 GMAC/s"));
  const nlohmann::json e = json("e.json");
  EXPECT_EQ(e["is_predicted"], true);
  EXPECT_EQ(e["runs"], 0);
  double sum = 0.0;
  for (const auto& step : e["steps"]) {
    EXPECT_GT(step["ms"]["median"], 0.0) << step;
    EXPECT_EQ(step["ms"]["median"], step["ms"]["predicted_one_thread"]) << step;
    sum += step["ms"]["median"].get<double>();
  }
  EXPECT_NEAR(e["run_ms"], sum, 1e-9);
  EXPECT_NE(testing::read_bytes(path("e.html")).find("nothing was run: times and peaks are predicted, of " + name),
            std::string::npos);
}

TEST_F(Cli, ExplainedGraphIsConnected) {
  expect("explain " + digits_ + "digits.onnx --precision fp32 --seconds 0.05 --json e.json --onnx e.onnx", 0, "float");
  const std::string bytes = testing::read_bytes(path("e.onnx"));
  const auto model = onnx_import::parse_model_bytes(std::as_bytes(std::span(bytes)), "e.onnx");
  ASSERT_TRUE(model) << to_string(model.errors());
  const onnx::GraphProto& graph = model->graph();
  EXPECT_EQ(static_cast<std::size_t>(graph.node_size()), json("e.json")["steps"].size());
  std::set<std::string> known = {graph.input(0).name()};
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& input : node.input())
      EXPECT_TRUE(known.contains(input)) << node.name() << " reads " << input;
    known.insert(node.output().begin(), node.output().end());
  }
  EXPECT_TRUE(known.contains(graph.output(0).name()));
}

TEST_F(Cli, RandomCalibrationWarns) {
  expect("compile " + digits_ + "digits.onnx --calibrate random -o x.octv", 0, "worthless");
}

}  // namespace
}  // namespace octavo
