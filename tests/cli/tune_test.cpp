// octavo tune: what it writes, what takes it, what it refuses. Tests of the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "cli/fixture.h"

namespace octavo {
namespace {

class CliTune : public CliTest {
 protected:
  std::string tune(const std::string& more) const {
    return "tune " + digits_ + "digits.onnx --calibrate random --tuning-log " + path("log") +
           " --bench-seconds 0.05 --min-repeat-ms 0 --repeat 3 " + more;
  }
};

TEST_F(CliTune, WhatItFindsIsWhatPlansTake) {
  expect(tune("--trials 120 --tuner random,ga --report " + path("r.html") + " --json " + path("r.json") + " -o " +
              path("tuned.octv")),
         0, "times the default");
  const std::string log = testing::read_bytes(path("log"));
  EXPECT_TRUE(log.starts_with("{\"format\": \"octavo measurements 2\"}\n"));
  EXPECT_NE(log.find("\"rounds\":5"), std::string::npos);
  const std::string page = testing::read_bytes(path("r.html"));
  EXPECT_NE(page.find("<polyline"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos);
  const nlohmann::json told = json("r.json");
  ASSERT_EQ(told["tuners"].size(), 2u);
  EXPECT_LE(told["tuners"][0]["trials"], 120);
  EXPECT_GT(told["network"]["tuned"]["min_ms"], 0.0);
  EXPECT_GT(told["network"]["fp32"]["min_ms"], 0.0);
  for (const nlohmann::json& call : told["calls"]) EXPECT_LE(call["best_us"], call["default_us"]) << call.dump();
  // The same from the log alone.
  const std::string compile = "compile " + digits_ + "digits.onnx --calibrate random ";
  expect(compile + "--tuning-log " + path("log") + " -o " + path("applied.octv"), 0, "written");
  EXPECT_EQ(testing::read_bytes(path("applied.octv")), testing::read_bytes(path("tuned.octv")));
  expect(compile + "-o " + path("default.octv"), 0, "written");
  expect("compare " + path("applied.octv") + " " + path("default.octv"), 0, "");
  // Nothing is measured again.
  const auto lines = [&] {
    const std::string text = testing::read_bytes(path("log"));
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto before = lines();
  expect(tune("--trials 120 --tuner random"), 0, "random: ");
  EXPECT_LT(lines() - before, 120) << "only the best are timed again";
}

TEST_F(CliTune, WhatCannotBeIsSaid) {
  expect(tune("--tuner simulated"), 2, "--tuner");
  expect(tune("--cache hot"), 2, "--cache");
  expect(tune("--trials 0"), 2, "--trials");
  expect(tune("--target avx2"), 2, "for this machine");
  expect(tune("--tuner xgb --xgboost " + path("nothing.so")), 5, "nothing.so");
  expect("tune " + digits_ + "digits.onnx --calibrate random", 2, "--tuning-log");
  expect("compile " + digits_ + "digits.onnx --calibrate random -o " + path("m.octv"), 0, "written");
  expect("tune " + path("m.octv") + " --tuning-log " + path("log"), 2, "a compiled model");
}

TEST_F(CliTune, LogsOfOtherMachinesAreNotUsedUnasked) {
  expect(tune("--trials 60"), 0, "times the default");
  std::string log = testing::read_bytes(path("log"));
  const std::string compile =
      "compile " + digits_ + "digits.onnx --calibrate random --tuning-log " + path("log") + " -o " + path("m.octv");
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = log;
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
    folder_.write("log", text);
    return text != log;
  };
  ASSERT_TRUE(replaced("\"machine\":\"", "\"machine\":\"another "));
  expect(compile, 3, "--foreign-log");
  expect(compile + " --foreign-log", 0, "written");
}

TEST_F(CliTune, AScheduleThatCannotBeIsAnError) {
  expect(tune("--trials 60"), 0, "times the default");
  std::ifstream file(path("log"));
  std::string head, line;
  std::getline(file, head);
  while (line.find("\"schedule\":\"") == std::string::npos && std::getline(file, line)) {
  }
  if (line.find("\"schedule\":\"") == std::string::npos) GTEST_SKIP() << "no kernel of this machine has schedules";
  folder_.write("log", head + "\n" + line.replace(line.find("\"schedule\":\"") + 12, 0, "colour=3 ") + "\n");
  expect("compile " + digits_ + "digits.onnx --calibrate random --tuning-log " + path("log") + " -o " + path("m.octv"),
         3, "colour=3");
}

}  // namespace
}  // namespace octavo
