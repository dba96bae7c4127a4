// What it costs to share a step out to the threads of a pool and to wait for them: parts that wait for each other, so
// that each needs a thread of its own, and do nothing else. The threads spin, as between the steps of a run, or are
// parked, as after a pause.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/machine.h"
#include "run/thread_pool.h"

namespace octavo {
namespace {

struct Meeting {
  int threads;
  mutable std::atomic<int> arrived{0};
};

double run_us(Executor& pool) {
  const Meeting meeting{pool.threads()};
  const auto meet = [](const void* context, int) {
    const auto& m = *static_cast<const Meeting*>(context);
    for (++m.arrived; m.arrived < m.threads;) {
    }
  };
  const auto start = std::chrono::steady_clock::now();
  pool.run(pool.threads(), {meet, &meeting});
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

void hand_over(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  const bool is_parked = state.range(1) != 0;
  if (!pool.try_acquire()) return state.SkipWithError("the pool is busy");
  std::vector<double> us;
  run_us(pool);
  for (auto _ : state) {
    if (is_parked) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    us.push_back(run_us(pool));
  }
  pool.release();
  std::sort(us.begin(), us.end());
  state.counters["best_us"] = us.front();
  state.counters["median_us"] = us[us.size() / 2];
}

void register_all() {
  for (int threads = 1; threads <= host_machine().cores; threads *= 2) {
    benchmark::RegisterBenchmark("hand_over/spinning", hand_over)->Args({threads, 0})->Iterations(100'000);
    benchmark::RegisterBenchmark("hand_over/parked", hand_over)->Args({threads, 1})->Iterations(100);
  }
}

}  // namespace
}  // namespace octavo

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  octavo::register_all();
  benchmark::RunSpecifiedBenchmarks();
}
