// Every part runs exactly once, whatever the threads do. Tests of run/thread_pool.
#include "run/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

namespace octavo {
namespace {

struct Counters {
  std::array<std::atomic<int>, 64> runs{};
};

void count_part(const void* context, int part) {
  const_cast<Counters*>(static_cast<const Counters*>(context))
      ->runs[static_cast<std::size_t>(part)]
      .fetch_add(1, std::memory_order_relaxed);
}

void expect_counts(const Counters& counters, int parts, int expected) {
  for (int part = 0; part < 64; ++part) {
    EXPECT_EQ(counters.runs[static_cast<std::size_t>(part)].load(), part < parts ? expected : 0) << "part " << part;
  }
}

TEST(ThreadPool, RunsEachPartOnce) {
  for (const int threads : {1, 2, 3, 4, 9}) {
    ThreadPool pool(threads);
    ASSERT_TRUE(pool.try_acquire());
    for (int parts = 1; parts <= threads; ++parts) {
      Counters counters;
      for (int round = 0; round < 200; ++round) pool.run(parts, {count_part, &counters});
      expect_counts(counters, parts, 200);
    }
    pool.release();
  }
}

TEST(ThreadPool, WakesParkedWorkers) {
  ThreadPool pool(3);
  ASSERT_TRUE(pool.try_acquire());
  Counters counters;
  for (int round = 0; round < 20; ++round) {
    pool.run(3, {count_part, &counters});
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 4));
  }
  pool.release();
  expect_counts(counters, 3, 20);
}

TEST(ThreadPool, WorkOfOnePartIsSeenByTheNext) {
  ThreadPool pool(4);
  ASSERT_TRUE(pool.try_acquire());
  std::array<int, 4> values{};  // not atomic: the pool orders them
  for (int round = 0; round < 1000; ++round) {
    pool.run(4, {[](const void* context, int part) {
                   auto& shared = *const_cast<std::array<int, 4>*>(static_cast<const std::array<int, 4>*>(context));
                   shared[static_cast<std::size_t>(part)] += 1;
                 },
                 &values});
    for (const int value : values) ASSERT_EQ(value, round + 1);
  }
  pool.release();
}

TEST(ThreadPool, IsBusyWhileAcquired) {
  ThreadPool pool(2);
  EXPECT_TRUE(pool.try_acquire());
  EXPECT_FALSE(pool.try_acquire());
  std::thread other([&] { EXPECT_FALSE(pool.try_acquire()); });
  other.join();
  pool.release();
  EXPECT_TRUE(pool.try_acquire());
  pool.release();
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(ThreadPool, CostsNothingWhileIdle) {
  ThreadPool pool(4);
  ASSERT_TRUE(pool.try_acquire());
  Counters counters;
  pool.run(4, {count_part, &counters});
  pool.release();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // for the spinning to end
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(cpu_seconds() - before, 0.02);
}

TEST(ThreadPool, WorksInAForkedChild) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer does not follow threads started after a fork";
#else
  ThreadPool pool(3);
  ASSERT_TRUE(pool.try_acquire());
  Counters counters;
  pool.run(3, {count_part, &counters});
  pool.release();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    bool ok = pool.try_acquire();
    pool.run(3, {count_part, &counters});
    for (std::size_t part = 0; part < 3; ++part) ok = ok && counters.runs[part].load() == 2;
    pool.release();
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  ASSERT_TRUE(pool.try_acquire());
  pool.run(3, {count_part, &counters});
  pool.release();
  expect_counts(counters, 3, 2);
#endif
}

TEST(ThreadPool, TheSharedOneIsMadeOnce) {
  const auto a = shared_thread_pool(2);
  EXPECT_EQ(shared_thread_pool(1), a);
  EXPECT_GE(shared_thread_pool(5)->threads(), 5);
}

TEST(ThreadPool, ACallersParallelForWillDo) {
  int calls = 0;
  const auto executor = executor_from(
      [&](int parts, const PartBody& body) {
        ++calls;
        for (int part = parts - 1; part >= 0; --part) body(part);
      },
      4);
  Counters counters;
  EXPECT_TRUE(executor->try_acquire());
  EXPECT_TRUE(executor->try_acquire()) << "the caller's threads serve all contexts";
  executor->run(4, {count_part, &counters});
  expect_counts(counters, 4, 1);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace octavo
