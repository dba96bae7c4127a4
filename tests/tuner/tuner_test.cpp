// Tuning with made-up and with real times: what is tried, kept, found again; ways that fail. Tests of tuner/.
#include "tuner/tuner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <fstream>

#include "kernels/schedule.h"
#include "ops/table/table.h"
#include "support/child.h"
#include "tuner/features.h"

namespace octavo {
namespace {

constexpr std::string_view kKnobs[] = {"tiles", "chunks"};

// Does what its schedule says: 0 nothing, 1 crashes, 2 never ends, 3 takes 2 ms, 4 cannot be prepared.
struct OddStep final : Step {
  explicit OddStep(std::int64_t way_) : way(way_) {}
  std::int64_t way;
  std::int64_t items() const override { return 1; }
  void run(const StepBuffers& buffers, ItemRange) const noexcept override {
    if (way == 1) ::raise(SIGSEGV);
    while (way == 2) ::pause();
    if (way == 3) ::usleep(2000);
    buffers.outputs[0][0] = buffers.inputs[0][0];
  }
};

const KernelChoice kOdd{.code = {.name = "table_odd",
                                 .op = "table",
                                 .knobs = kKnobs,
                                 .prepare = [](const StepSpec& spec) -> Result<std::unique_ptr<Step>> {
                                   const auto numbers = decode_schedule(spec.schedule, 2);
                                   const std::int64_t way = numbers ? (*numbers)[0] : 0;
                                   if (way == 4) return Error{.kind = ErrorKind::invalid_input, .found = "way 4"};
                                   return std::unique_ptr<Step>(std::make_unique<OddStep>(way));
                                 }}};

// A call with 5 x 40 ways and the one that the kernel chooses.
std::vector<TuningTask> odd_tasks(int count = 1) {
  std::vector<TuningTask> tasks;
  for (int t = 0; t < count; ++t) {
    TuningTask& task = tasks.emplace_back();
    const Fact x{.dtype = DType::u8, .shape = {4 + t}};
    const Attrs attrs = NoAttrs{};
    task.call = std::make_shared<const OwnedCall>(
        OpCall{.spec = &kTable, .attrs = &attrs, .inputs = {&x, nullptr}, .outputs = {x}});
    task.subject = describe_call(task.call->call());
    task.calls = 1.0;
    task.ways.push_back({&kOdd, {}, 50.0});
    for (std::int64_t tiles = 0; tiles < 5; ++tiles) {
      for (std::int64_t chunks = 0; chunks < 40; ++chunks)
        task.ways.push_back({&kOdd, encode_schedule({{tiles, chunks}}), 60.0});
    }
  }
  return tasks;
}

// Way 0 takes 100 ns; of the others the one with 3 tiles and 17 chunks is the fastest, 80; those with 1 tile fail.
struct MadeUp {
  int measured = 0;
  double best_ns = 80.0;
  MeasureWay function() {
    return [this](std::size_t, std::size_t way) -> Result<TrialTimes> {
      ++measured;
      if (way == 0) return TrialTimes{100.0, 101.0, ""};
      const auto tiles = static_cast<double>((way - 1) / 40), chunks = static_cast<double>((way - 1) % 40);
      if (tiles == 1.0) return TrialTimes{.failure = "it was too odd"};
      const double ns = best_ns + 10.0 * std::abs(tiles - 3.0) + std::abs(chunks - 17.0);
      return TrialTimes{ns, ns + 1.0, ""};
    };
  }
};

class Tuning : public ::testing::Test {
 protected:
  MeasurementLog opened() const {
    auto log = MeasurementLog::open(path_);
    EXPECT_TRUE(log) << to_string(log.errors());
    return std::move(*log);
  }
  const testing::ScratchFolder folder_;
  const std::string path_ = folder_.path("log");
};

TEST_F(Tuning, FindsTheBestAndKeepsEveryTrial) {
  const std::vector<TuningTask> tasks = odd_tasks();
  MadeUp times;
  MeasurementLog log = opened();
  std::int64_t told = 0;
  TuneOptions options{.search = SearchKind::random, .trials = 5000};
  options.goes_on = [&](const TuneProgress& progress) {
    EXPECT_EQ(progress.trials, ++told);
    EXPECT_LE(progress.best_ns, progress.default_ns);
    return true;
  };
  const auto history = tune(tasks, log, times.function(), options);
  ASSERT_TRUE(history) << to_string(history.errors());
  EXPECT_EQ(history->trials, 201);
  EXPECT_EQ(told, 201);
  EXPECT_EQ(history->failed, 40);
  const TaskHistory& own = history->tasks[0];
  EXPECT_EQ(schedule_text(kOdd.code, tasks[0].ways[own.best].schedule), "tiles=3 chunks=17");
  EXPECT_EQ(own.best_ns, 80.0);
  EXPECT_EQ(own.default_ns, 100.0);
  EXPECT_EQ(history->best_ns.back(), 80.0);
  const MeasurementLog read = opened();
  EXPECT_EQ(read.trials().size(), 201u);
  const auto ways = tuned_by(read)(tasks[0].call->call(), 1);
  ASSERT_FALSE(ways.empty());
  EXPECT_EQ(ways[0].schedule, "tiles=3 chunks=17");
  EXPECT_EQ(ways.size(), 161u) << "those that failed are none";
  EXPECT_TRUE(tuned_by(read)(tasks[0].call->call(), 2).empty()) << "other threads";
}

TEST_F(Tuning, WhatTheLogHasIsNotMeasuredAgain) {
  const std::vector<TuningTask> tasks = odd_tasks();
  MadeUp first, second;
  MeasurementLog log = opened();
  int left = 30;
  TuneOptions stopped{.search = SearchKind::ga, .trials = 100};
  stopped.goes_on = [&](const TuneProgress&) { return --left > 0; };
  const auto half = tune(tasks, log, first.function(), stopped);
  ASSERT_TRUE(half);
  EXPECT_TRUE(half->was_stopped);
  EXPECT_EQ(half->trials, 30);
  MeasurementLog again = opened();
  const auto whole = tune(tasks, again, second.function(), {.search = SearchKind::ga, .trials = 100});
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->trials, 100);
  MeasurementLog none;
  MadeUp third;
  const auto at_once = tune(tasks, none, third.function(), {.search = SearchKind::ga, .trials = 100});
  EXPECT_EQ(whole->tasks[0].best, at_once->tasks[0].best);
  EXPECT_LE(second.measured, third.measured - 29) << "the first thirty were known";
}

TEST_F(Tuning, ADefaultThatIsNotClearlySlowerStays) {
  const std::vector<TuningTask> tasks = odd_tasks();
  MadeUp times{.best_ns = 99.5};
  MeasurementLog log = opened();
  const auto history = tune(tasks, log, times.function(), {.search = SearchKind::grid, .trials = 1000});
  ASSERT_TRUE(history);
  EXPECT_EQ(history->tasks[0].best, 0u);
  const auto ways = tuned_by(log)(tasks[0].call->call(), 1);
  ASSERT_FALSE(ways.empty());
  EXPECT_EQ(ways[0].schedule, "") << "what the kernel chooses by itself";
}

TEST_F(Tuning, TrialsAndEarlyStoppingEndIt) {
  const std::vector<TuningTask> tasks = odd_tasks(3);
  MadeUp times;
  MeasurementLog log;
  const auto few = tune(tasks, log, times.function(), {.search = SearchKind::random, .trials = 40});
  EXPECT_EQ(few->trials, 40);
  for (const TaskHistory& task : few->tasks) EXPECT_GE(task.trials.size(), 1u);
  MeasurementLog other;
  const auto early =
      tune(tasks, other, times.function(), {.search = SearchKind::grid, .trials = 5000, .early_stopping = 20});
  EXPECT_LT(early->trials, 3 * 201);
  for (const TaskHistory& task : early->tasks) EXPECT_GE(task.trials.size(), 20u);
}

TEST_F(Tuning, ALogThatCannotBeWrittenIsAnError) {
  const std::vector<TuningTask> tasks = odd_tasks();
  MadeUp times;
  auto log = MeasurementLog::open(folder_.path("no/such/folder"));
  const auto history = tune(tasks, *log, times.function(), {});
  ASSERT_FALSE(history);
  EXPECT_EQ(history.errors()[0].kind, ErrorKind::resource);
}

TEST_F(Tuning, TrialsOfOtherMachinesAreRefusedOrAskedFor) {
  const std::string head = "{\"format\": \"octavo measurements 2\"}\n";
  const auto line = [](const std::string& machine) {
    return "{\"machine\":\"" + machine +
           "\",\"subject\":\"a(u8[1]) -> u8[1]\",\"variant\":\"k\",\"threads\":2,\"cache\":"
           "\"network\",\"values\":{\"ns\":1}}\n";
  };
  folder_.write("log", head + line("one"));
  MeasurementLog log = opened();
  EXPECT_TRUE(log.trials().empty());
  const Status refused = log.settle_machine(ForeignLog::refuse);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.errors()[0].message().find("'one'"), std::string::npos);
  EXPECT_TRUE(log.settle_machine(ForeignLog::use));
  EXPECT_EQ(log.trials().size(), 1u);
  folder_.write("log", head + line("one") + line("two"));
  MeasurementLog both = opened();
  EXPECT_FALSE(both.settle_machine(ForeignLog::use)) << "of which of them?";
  folder_.write("log", head + line("one") + line(describe_machine(host_machine())));
  MeasurementLog ours = opened();
  EXPECT_TRUE(ours.settle_machine(ForeignLog::refuse));
  EXPECT_EQ(ours.trials().size(), 1u);
}

TEST_F(Tuning, FeaturesOfALogAreThoseOfTheSearch) {
  const std::vector<TuningTask> tasks = odd_tasks();
  EXPECT_EQ(search_space(tasks[0]).size(), tasks[0].ways.size());
  EXPECT_EQ(search_space(tasks[0])[1].genes.size(), search_space(tasks[0])[0].genes.size());
  EXPECT_FALSE(search_point({.subject = "a", .variant = "no such kernel", .values = {{"predicted_ns", 1.0}}}));
}

TEST(Measurers, WhatFailsCostsItsTrialOnly) {
  const std::vector<TuningTask> tasks = odd_tasks();
  Measurer measurer(tasks, {.evaluator = {.number = 1, .repeat = 3, .min_repeat_ms = 0.0}, .timeout_seconds = 2.0});
  const auto way = [](std::size_t tiles) { return 1 + tiles * 40; };
  const auto failure = [&](std::size_t tiles) {
    const auto times = measurer.measure(0, way(tiles));
    EXPECT_TRUE(times) << to_string(times.errors());
    return times ? times->failure : "";
  };
  EXPECT_EQ(failure(0), "");
  EXPECT_EQ(failure(1), "ended by signal 11");
  EXPECT_EQ(failure(2), "ran into the limit of 2 s");
  EXPECT_NE(failure(4).find("way 4"), std::string::npos);
  EXPECT_EQ(failure(0), "") << "the next one is none the worse";
  const auto slow = measurer.measure(0, way(3));
  ASSERT_TRUE(slow);
  EXPECT_GE(slow->ns, 2e6);
  EXPECT_LE(slow->ns, slow->median_ns);
}

}  // namespace
}  // namespace octavo
