// Several contexts of one model at once: the bytes, the counts and the errors. Part of tests/analyze/.
#include "analyze/contexts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <new>
#include <thread>

#include "analyze/bench.h"

namespace octavo {
namespace {

v1::Model digits(int threads, std::int64_t batch) {
  CompileRequest request;
  request.calibrate = "random";
  request.options.batches = {batch};
  request.options.allow_reference = true;
  const auto compiled = open_or_compile(std::string(OCTAVO_SOURCE_DIR "/examples/digits/digits.onnx"), request);
  if (!compiled) throw std::runtime_error(to_string(compiled.errors()));
  auto model = v1::Model::load(*compiled, {.threads = threads});
  if (!model) throw std::runtime_error(to_string(model.errors()));
  return std::move(*model);
}

std::vector<Session> sessions_of(const v1::Model& model, int count) {
  auto sessions = create_sessions(model, {}, count);
  if (!sessions) throw std::runtime_error(to_string(sessions.errors()));
  return std::move(*sessions);
}

// Inputs that no other request has, so that one context's values in another's memory would show.
void fill(Session& session, int request) {
  const auto values = session.inputs()[0].span<float>();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((static_cast<int>(i) * 31 + request * 17) % 64) / 32.0f - 1.0f;
}

TEST(Contexts, EachGivesTheBytesOfOneAlone) {
  for (const int threads : {1, 3}) {
    const v1::Model model = digits(threads, 8);
    std::vector<Session> alone = sessions_of(model, 1), together = sessions_of(model, 4);
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < 4; ++i) fill(together[static_cast<std::size_t>(i)], round * 4 + i);
      const auto times = run_at_once(together, 20, 0.0);
      ASSERT_TRUE(times) << to_string(times.errors());
      for (int i = 0; i < 4; ++i) {
        fill(alone[0], round * 4 + i);
        ASSERT_TRUE(alone[0].run());
        EXPECT_EQ(together[static_cast<std::size_t>(i)].outputs(), alone[0].outputs())
            << threads << " threads, round " << round << ", context " << i;
      }
    }
  }
}

TEST(Contexts, TakeMemoryOfTheirOwnForEachThread) {
  const std::uint64_t one = sessions_of(digits(1, 8), 1)[0].context().memory_bytes();
  const v1::Model model = digits(3, 8);
  EXPECT_GE(one, model.info().plans[0].arena_bytes);
  std::vector<Session> both = sessions_of(model, 2);
  EXPECT_GT(both[0].context().memory_bytes(), one);
  EXPECT_EQ(both[0].context().memory_bytes(), both[1].context().memory_bytes());
}

// A step hook on the first step of each run.
void at_each_run(Session& session, std::function<void()> call) {
  session.context().set_step_hook(
      [call = std::move(call)](const v1::StepInfo& step) {
        if (step.index == 0) call();
      },
      false);
}

TEST(Contexts, RunAtTheSameTimeAndAreCountedAlike) {
  std::vector<Session> sessions = sessions_of(digits(1, 1), 3);
  // Nobody ends a first run before all have begun theirs.
  std::atomic<std::size_t> begun = 0, alone = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (Session& session : sessions) {
    at_each_run(session, [&, is_first = true]() mutable {
      if (!is_first) return;
      is_first = false;
      ++begun;
      while (begun < sessions.size() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      if (begun < sessions.size()) ++alone;
    });
  }
  const auto counted = run_at_once(sessions, 7, 0.0);
  ASSERT_TRUE(counted) << to_string(counted.errors());
  EXPECT_EQ(alone, 0u);
  ASSERT_EQ(counted->runs_ns.size(), 3u);
  for (const auto& runs_ns : counted->runs_ns) EXPECT_EQ(runs_ns.size(), 7u);
  // At least one run where the time is over at once.
  const auto timed = run_at_once(sessions, 0, 0.0);
  ASSERT_TRUE(timed);
  for (const auto& runs_ns : timed->runs_ns) {
    EXPECT_EQ(runs_ns.size(), 1u);
    EXPECT_GT(runs_ns[0], 0);
  }
}

// What no machine can exceed: every core at the rate of the fastest run. Contexts that wait for a core, in a run or
// between two, must not count as if they had one.
TEST(Contexts, ThroughputOfMoreContextsThanCoresIsThatOfTheCores) {
  const unsigned cores = std::thread::hardware_concurrency();
  std::vector<Session> sessions = sessions_of(digits(1, 8), std::max(64, 8 * static_cast<int>(cores)));
  const auto times = run_at_once(sessions, 0, 0.02);
  ASSERT_TRUE(times) << to_string(times.errors());
  std::int64_t fastest_ns = std::numeric_limits<std::int64_t>::max();
  std::size_t measured = 0;
  for (const auto& runs_ns : times->runs_ns) {
    fastest_ns = std::min(fastest_ns, *std::min_element(runs_ns.begin(), runs_ns.end()));
    measured += runs_ns.size();
  }
  EXPECT_GT(times->seconds, 0.0);
  // Of the last run of each, the share of its time is not quite the share of its work.
  const double sure = times->completed - static_cast<double>(sessions.size());
  EXPECT_LE(sure / times->seconds, cores * 1e9 / static_cast<double>(fastest_ns));
  // All that was measured was completed, but for a last run of each that others' end cuts off.
  EXPECT_GE(times->completed, static_cast<double>(measured - sessions.size()));
}

// In the first run, which the others wait for, and in a later one.
TEST(Contexts, OneThatLacksMemoryEndsAll) {
  for (const int failing_run : {0, 5}) {
    std::vector<Session> sessions = sessions_of(digits(2, 1), 3);
    at_each_run(sessions[1], [run = 0, failing_run]() mutable {
      if (run++ == failing_run) throw std::bad_alloc();
    });
    const auto start = std::chrono::steady_clock::now();
    const auto times = run_at_once(sessions, 0, 600.0);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
    ASSERT_FALSE(times);
    ASSERT_EQ(times.errors().size(), 1u);
    EXPECT_EQ(times.errors()[0].kind, ErrorKind::resource);
    EXPECT_EQ(times.errors()[0].message(), "context 2 of 3: found not enough memory");
    // The others, and itself, are as good as before.
    EXPECT_TRUE(run_at_once(sessions, 2, 0.0));
  }
}

TEST(Contexts, EachCountHasOneContextBesideIt) {
  using List = std::vector<Contexts>;
  const std::vector<int> counts = {1, 2, 4, 2};
  EXPECT_EQ(with_one_context_each(counts, std::nullopt, 4), (List{{1, 4}, {2, 2}, {4, 1}}));
  EXPECT_EQ(with_one_context_each(counts, std::nullopt, 3), (List{{1, 3}, {1, 2}, {2, 1}, {1, 4}, {4, 1}}));
  EXPECT_EQ(with_one_context_each(counts, 2, 4), (List{{1, 2}, {1, 4}, {2, 2}, {1, 8}, {4, 2}}));
}

BenchRun run_of(const Contexts& contexts, RunTimes times) {
  BenchRun run;
  run.batch = 4;
  run.shapes = {{"x", {4, 8}}};
  run.variant.contexts = contexts;
  run.threads = contexts.total_threads();
  run.times = std::move(times);
  return run;
}

TEST(Contexts, ThroughputIsWhatAllCompleted) {
  constexpr std::int64_t kMs = 1'000'000;
  const BenchRun two = run_of(
      {2, 1},
      {.runs_ns = {{10 * kMs, 10 * kMs, 10 * kMs}, {20 * kMs, 20 * kMs, 35 * kMs}}, .seconds = 0.05, .completed = 7.0});
  EXPECT_EQ(two.runs(), 6);
  EXPECT_DOUBLE_EQ(two.runs_per_second(), 140.0);
  EXPECT_DOUBLE_EQ(two.throughput(), 560.0);
  EXPECT_DOUBLE_EQ(two.latency_ms(0.5), 10.0);
  EXPECT_DOUBLE_EQ(two.latency_ms(0.99), 35.0);
  EXPECT_EQ(two.lowest_highest_median(), (std::pair<double, double>(10.0, 20.0)));
  std::vector<BenchRun> runs = {run_of({1, 1}, {}), run_of({1, 2}, {}), two, run_of({1, 2}, {})};
  runs[1].batch = 1;
  runs[1].shapes = {{"x", {1, 8}}};
  EXPECT_EQ(one_context_beside(runs[2], runs), &runs[3]);
  EXPECT_EQ(one_context_beside(runs[3], runs), nullptr);
  EXPECT_EQ(one_context_beside(two, std::span(runs).first(3)), nullptr);
}

}  // namespace
}  // namespace octavo
