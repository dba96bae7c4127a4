// Profiles of a gigabyte, of every engine: what reading takes grows with nodes, not with runs.
#include <gtest/gtest.h>

#include <fstream>

#include "diagnose/profile.h"
#include "sketch.h"
#include "support/child.h"

namespace octavo::diagnose {
namespace {

using octavo::testing::ScratchFolder;

std::size_t resident_bytes(const std::string& what) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t kib = 0;
    if (word == what && status >> kib) return kib * 1024;
  }
  return 0;
}

// A gigabyte of runs between `head` and `tail`, of what `event` says of each of a run's events, with `between` between
// two. How many runs.
template <class Event>
std::size_t write_gigabyte(const std::string& path, const std::string& head, int events, Event event,
                           const std::string& between, const std::string& tail) {
  std::ofstream out(path, std::ios::binary);
  out << head;
  std::size_t runs = 0;
  for (std::size_t written = 0; written < std::size_t{1} << 30; ++runs) {
    std::string run;
    for (int i = 0; i < events; ++i) run += (runs == 0 && i == 0 ? "" : between) + event(runs, i);
    out << run;
    written += run.size();
  }
  out << tail;
  return runs;
}

// Reads it with a bound on memory, which no file of a profile may take more of, however long the engine ran.
Result<Profile> read_in_little_memory(const std::string& path, const FileView& view) {
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak begins here
  const std::size_t before = resident_bytes("VmRSS:");
  auto profile = read_profile(path, view);
  const std::size_t peak = resident_bytes("VmHWM:");
  // Not every system says how much memory a process has.
  if (before != 0) {
    EXPECT_LT(peak, before + (std::size_t{16} << 20));
  }
  return profile;
}

TEST(LongProfile, AGigabyteOfOnnxRuntimeTakesNoMoreMemoryThanItsNodes) {
  const ScratchFolder folder;
  const auto event = [](std::size_t, int node) {
    return R"({"cat":"Node","pid":1,"tid":1,"ts":0,"dur":100,"ph":"X","name":"n)" + std::to_string(node) +
           R"(_kernel_time","args":{"op_name":"Conv","provider":"CPUExecutionProvider"}})";
  };
  const std::size_t runs = write_gigabyte(folder.path("huge.json"), "[", 1000, event, ",\n", "]");
  const auto profile = read_in_little_memory(folder.path("huge.json"), FileView{});
  ASSERT_TRUE(profile) << to_string(profile.errors());
  ASSERT_EQ(profile->nodes.size(), 1000u);
  EXPECT_EQ(profile->nodes[0].runs, static_cast<int>(runs));
  EXPECT_NEAR(profile->total_ms(), 100.0, 1e-6);
}

TEST(LongProfile, AGigabyteOfPytorchTakesNoMoreMemoryThanItsNodes) {
  const ScratchFolder folder;
  Sketch sketch(FileFormat::zip, Dialect::qdq);
  for (int i = 0; i < 2; ++i)
    sketch.node("aten.relu.default", {sketch.node("aten.conv2d.default", {sketch.input(), sketch.constant()})});
  const auto event = [](std::size_t run, int node) {
    return R"({"ph":"X","cat":"cpu_op","pid":1,"tid":1,"name":")" +
           std::string(node % 2 == 0 ? "aten::conv2d" : "aten::relu") + R"(","ts":)" +
           std::to_string(run * 400 + static_cast<std::size_t>(node) * 100) + R"(,"dur":50})";
  };
  write_gigabyte(folder.path("huge.json"), R"({"traceEvents":[)", 4, event, ",\n", "]}");
  const FileView& view = sketch.view();
  const auto profile = read_in_little_memory(folder.path("huge.json"), view);
  ASSERT_TRUE(profile) << to_string(profile.errors());
  EXPECT_NEAR(profile->total_ms(), 0.2, 1e-6);
}

std::string row_name(int row) { return "node" + std::to_string(row); }

TEST(LongProfile, AGigabyteOfLitertTakesNoMoreMemoryThanItsNodes) {
  const ScratchFolder folder;
  constexpr int kRows = 1000;
  // A table for each of many runs of benchmark_model.
  const auto row = [](std::size_t, int at) {
    const std::string head = at > 0
                                 ? ""
                                 : "============================== Run Order ==============================\n"
                                   "\t[node type]\t[first]\t[avg ms]\t[%]\t[cdf%]\t[mem KB]\t[times called]\t[Name]\n";
    return head + "\tCONV_2D\t4.269\t0.100\t0.1%\t0.1%\t0.000\t1\t[" + row_name(at) + "]:" + std::to_string(at) +
           (at + 1 == kRows ? "\n" : "");
  };
  const std::size_t runs = write_gigabyte(folder.path("huge.txt"), "", kRows, row, "\n", "\n");
  const auto profile = read_in_little_memory(folder.path("huge.txt"), FileView{});
  ASSERT_TRUE(profile) << to_string(profile.errors());
  EXPECT_EQ(profile->engine, Engine::litert);
  ASSERT_EQ(profile->nodes.size(), std::size_t{kRows});
  EXPECT_EQ(profile->nodes[0].runs, static_cast<int>(runs));
  EXPECT_NEAR(profile->total_ms(), 100.0, 1e-6);
}

TEST(LongProfile, AGigabyteOfOpenvinoTakesNoMoreMemoryThanItsNodes) {
  const ScratchFolder folder;
  constexpr int kRows = 1000;
  const auto row = [](std::size_t, int at) {
    const std::string head = at > 0 ? "" : "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)\n";
    return head + row_name(at) + ";Status.EXECUTED;Convolution;brgconv_avx512_I8;0.100;0.100" +
           (at + 1 == kRows ? "\nTotal;;;;100.0;100.0" : "");
  };
  const std::size_t runs = write_gigabyte(folder.path("huge.csv"), "", kRows, row, "\n", "\n");
  const auto profile = read_in_little_memory(folder.path("huge.csv"), FileView{});
  ASSERT_TRUE(profile) << to_string(profile.errors());
  EXPECT_EQ(profile->engine, Engine::openvino);
  ASSERT_EQ(profile->nodes.size(), std::size_t{kRows});
  EXPECT_EQ(profile->nodes[0].runs, static_cast<int>(runs));
  EXPECT_NEAR(profile->total_ms(), 100.0, 1e-6);
}

TEST(LongProfile, AGigabyteOfTvmTakesNoMoreMemoryThanItsNodes) {
  const ScratchFolder folder;
  constexpr int kCalls = 500;
  const auto event = [](std::size_t run, int at) {
    const std::size_t call = run * kCalls + static_cast<std::size_t>(at) / 2;
    return R"({"tid":1,"pid":1,"name":"fused_nn_conv2d_)" + std::to_string(at / 2) + R"(","ph":")" +
           (at % 2 == 0 ? "B" : "E") + R"(","ts":)" +
           std::to_string(call * 200 + static_cast<std::size_t>(at % 2) * 100) + "}";
  };
  const std::size_t runs = write_gigabyte(folder.path("huge.json"), R"({"displayTimeUnit":"ns","traceEvents":[)",
                                          2 * kCalls, event, ",\n", "]}");
  const auto profile = read_in_little_memory(folder.path("huge.json"), FileView{});
  ASSERT_TRUE(profile) << to_string(profile.errors());
  EXPECT_EQ(profile->engine, Engine::tvm);
  ASSERT_EQ(profile->nodes.size(), std::size_t{kCalls});
  EXPECT_EQ(profile->nodes[0].runs, static_cast<int>(runs));
  EXPECT_NEAR(profile->total_ms(), 50.0, 1e-6);
}

}  // namespace
}  // namespace octavo::diagnose
