// Every index once, whatever threads there are. Tests of quantize/.
#include "quantize/parallel.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <vector>

#include "support/sanitizers.h"

namespace octavo {
namespace {

TEST(ForEachIndex, TakesEachOnceByAWorkerThatExists) {
  for (const int workers : {-1, 0, 1, 3, 20}) {
    std::vector<std::atomic<int>> taken(10);
    const Status done = for_each_index(2, 10, workers, [&](int worker, std::int64_t index) {
      EXPECT_TRUE(worker >= 0 && worker < std::max(workers, 1));
      ++taken[static_cast<std::size_t>(index)];
      return ok_status();
    });
    EXPECT_TRUE(done);
    for (std::size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(taken[i], i < 2 ? 0 : 1) << i << " of " << workers;
  }
  EXPECT_TRUE(for_each_index(3, 3, 2, [](int, std::int64_t) -> Status { return Error{.where = "no index"}; }));
}

TEST(ForEachIndex, TheErrorOfTheLowestIndexIsReturned) {
  for (const int workers : {1, 4}) {
    const Status done = for_each_index(0, 100, workers, [](int, std::int64_t index) -> Status {
      if (index < 5) return ok_status();
      return Error{.where = std::to_string(index)};
    });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.errors()[0].where, "5");
  }
}

// Address space for a few stacks, and 64 threads that want one.
[[maybe_unused]] int indices_taken_where_threads_are_refused() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{16} << 20);
  const rlimit limit{bytes, bytes};
  if (setrlimit(RLIMIT_AS, &limit) != 0) return -1;
  std::atomic<int> taken{0};
  const Status done = for_each_index(0, 50, 64, [&](int, std::int64_t) {
    ++taken;
    usleep(1000);
    return ok_status();
  });
  return done ? taken.load() : -1;
}

TEST(ForEachIndex, DoesWithoutThreadsThatAreRefused) {
#ifdef OCTAVO_SANITIZED
  GTEST_SKIP() << "a sanitizer needs the address space";
#else
  EXPECT_EXIT(_exit(indices_taken_where_threads_are_refused()), ::testing::ExitedWithCode(50), "");
#endif
}

}  // namespace
}  // namespace octavo
