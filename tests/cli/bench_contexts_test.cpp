// bench --contexts: what it reports and what it refuses. Part of tests/cli/.
#include "cli/fixture.h"
#include "support/sanitizers.h"

namespace octavo {
namespace {

class BenchContexts : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    if (IsSkipped()) return;
    expect("compile " + digits_ + "digits.onnx --calibrate random --batch 1,2048 -o m.octv", 0, "written");
  }
};

TEST_F(BenchContexts, AreMeasuredBesideOne) {
  const testing::Outcome outcome =
      octavo("bench m.octv --batch 2048 --contexts 1,2 --threads-per-context 1 --seconds 0.3 --json bench.json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("2 contexts of 1 thread against 1 of 2: "), std::string::npos) << outcome.text;
  expect("inspect m.octv --json inspect.json", 0, "");
  const nlohmann::json runs = json("bench.json")["runs"], plan = json("inspect.json")["plans"][1];
  ASSERT_EQ(plan["batch"], 2048);
  ASSERT_EQ(runs.size(), 3u) << "1 of 1, 1 of 2, 2 of 1";
  const int counts[] = {1, 1, 2}, threads[] = {1, 2, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    const nlohmann::json& run = runs[i];
    const nlohmann::json& contexts = run["contexts"];
    EXPECT_EQ(contexts["count"], counts[i]);
    EXPECT_EQ(contexts["threads_per_context"], threads[i]);
    EXPECT_EQ(run["threads"], counts[i] * threads[i]);
    EXPECT_GE(run["runs"], counts[i]);
    EXPECT_DOUBLE_EQ(run["throughput"], 2048.0 * contexts["inferences_per_second"].get<double>());
    EXPECT_LE(run["latency_ms"]["min"], contexts["median_ms"]["lowest"]);
    EXPECT_LE(contexts["median_ms"]["lowest"], contexts["median_ms"]["highest"]);
    EXPECT_GE(contexts["bytes_of_one"], plan["arena_bytes"]);
    EXPECT_EQ(contexts["bytes_of_all"], counts[i] * contexts["bytes_of_one"].get<std::uint64_t>());
    EXPECT_GE(contexts["bytes_of_model"], json("inspect.json")["constant_bytes"]);
  }
}

TEST_F(BenchContexts, CoresAreSharedOutUnlessAsked) {
  expect("bench m.octv --batch 1 --contexts 4096 --threads-per-context 2", 2, "at most 4096 threads in all");
  const std::string quick = "bench m.octv --batch 1 --seconds 0.01 --warmup 0 --json bench.json ";
  expect("inspect --machine --json machine.json", 0, "");
  const int cores = json("machine.json")["cores"];
  const std::string more = std::to_string(cores + 1);
  expect(quick + "--contexts 1," + more, 0, "for " + more + " contexts of 1 thread");
  EXPECT_EQ(json("bench.json")["runs"][0]["contexts"]["threads_per_context"], cores);
  EXPECT_EQ(json("bench.json")["runs"][2]["contexts"]["threads_per_context"], 1);
  // Without the option nothing speaks of contexts.
  expect(quick, 0, "");
  EXPECT_FALSE(json("bench.json")["runs"][0].contains("contexts"));
}

TEST_F(BenchContexts, WhatMakesNoSenseIsTwo) {
  for (const std::string option : {"--contexts", "--contexts 2 --threads-per-context"}) {
    const std::string name = option.substr(option.rfind("--"));
    for (const char* number : {"0", "-1", "1.5", "many", "4097", "99999999999999999999"})
      expect("bench m.octv " + option + " " + number, 2, name + ": found '" + number + "', expected a whole number");
  }
  expect("bench m.octv --contexts 1,0", 2, "--contexts: found '0'");
  expect("bench m.octv --contexts 2 --threads 2", 2, "--threads: found 2 threads beside --contexts");
  expect("bench m.octv --threads-per-context 2", 2, "--contexts beside it");
}

#ifndef OCTAVO_SANITIZED  // they own the address space
// A context of batch 2048 takes some 16 MB.
TEST_F(BenchContexts, OneThatLacksMemoryIsFive) {
  const testing::Outcome outcome = testing::run_command(folder_,
                                                        "ulimit -v 600000; octavo bench-worker m.octv --precision int8 "
                                                        "--batch 2048 --threads 1 --contexts 100 </dev/null");
  EXPECT_EQ(outcome.exit_code, 5) << outcome.text;
  EXPECT_NE(outcome.text.find("context "), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find(" of 100"), std::string::npos) << outcome.text;
}
#endif

}  // namespace
}  // namespace octavo
