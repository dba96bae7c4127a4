// Every kernel of the conv family on the layers of well-known networks, as shares of the measured peak.
// On one thread the time is the sum of the best times of slices of about half a millisecond, so that a busy machine
// disturbs little.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "kernels/conv/conv.h"
#include "kernels/depthwise/depthwise.h"
#include "kernels/jit/peak.h"
#include "kernels/winograd/winograd.h"
#include "layers.h"
#include "onednn_conv.h"
#include "prepared_layer.h"

namespace octavo {
namespace {

// Shares refer to the instruction that the kernel uses, on as many threads.
double peak_of(const KernelChoice& kernel, int threads) {
  static const Peaks peaks[] = {*measure_peaks(1), *measure_peaks(2)};
  const Peaks& peak = peaks[threads - 1];
  if (kernel.code.needs == Isa::amx_int8) return peak.amx_gmacs;
  return kernel.code.needs == Isa::avx2 ? peak.madd_gmacs : peak.dot_gmacs;
}

// Microseconds of the best run.
double measure(benchmark::State& state, Prepared& prepared, int threads) {
  using Clock = std::chrono::steady_clock;
  if (threads == 1) {
    std::vector<double> best_us;
    for (auto _ : state) prepared.run_slices(best_us);
    return std::accumulate(best_us.begin(), best_us.end(), 0.0);
  }
  ThreadPool pool(threads);
  double best_us = 1e30;
  for (auto _ : state) {
    const auto start = Clock::now();
    prepared.run(pool);
    best_us = std::min(best_us, std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  return best_us;
}

void run_layer(benchmark::State& state, const Layer& layer, const KernelChoice& kernel, int threads) {
  Prepared prepared(layer, kernel, threads);
  if (!prepared.reason.empty()) return state.SkipWithError(prepared.reason.c_str());
  const double best_us = measure(state, prepared, threads);
  const double gmacs = static_cast<double>(prepared.macs) / best_us / 1000.0;
  state.counters["best_us"] = best_us;
  state.counters["gmac_s"] = gmacs;
  state.counters["peak_%"] = 100.0 * gmacs / peak_of(kernel, threads);
  state.counters["predicted_us"] = prepared.predicted_us;
}

void run_yardstick(benchmark::State& state, const Layer& layer, int threads) {
  OneDnnConv conv(layer, threads);
  double best_us = 1e30;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    conv.run();
    best_us =
        std::min(best_us, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  state.counters["best_us"] = best_us;
}

void register_all() {
  std::vector<KernelChoice> kernels(conv_choices().begin(), conv_choices().end());
  for (const auto family : {winograd_choices(), depthwise_choices(), depthwise_vnni_choices()})
    kernels.insert(kernels.end(), family.begin(), family.end());
  for (const KernelChoice& kernel : kernels) {
    if (!host_machine().isa.has(kernel.code.needs)) continue;
    for (const Layer& layer : kLayers) {
      if (!Prepared(layer, kernel, 0).reason.empty()) continue;
      for (int threads : {1, 2}) {
        const std::string name =
            std::string(kernel.code.name) + "/" + name_of_layer(layer) + "/threads:" + std::to_string(threads);
        benchmark::RegisterBenchmark(name.c_str(), run_layer, layer, kernel, threads)
            ->MinTime(std::getenv("LONGER") ? 4.0 : 0.05)
            ->Unit(benchmark::kMicrosecond)
            ->UseRealTime();
      }
    }
  }
}

// oneDNN's convolution on the same layers, in turns with ours with --benchmark_enable_random_interleaving.
void register_yardstick() {
  for (const Layer& layer : kLayers) {
    for (int threads : {1, 2}) {
      const std::string name = "onednn/" + name_of_layer(layer) + "/threads:" + std::to_string(threads);
      benchmark::RegisterBenchmark(name.c_str(), run_yardstick, layer, threads)
          ->MinTime(std::getenv("LONGER") ? 4.0 : 0.05)
          ->Unit(benchmark::kMicrosecond)
          ->UseRealTime();
    }
  }
}

}  // namespace
}  // namespace octavo

int main(int argc, char** argv) {
  octavo::register_all();
  octavo::register_yardstick();
  benchmark::Initialize(&argc, argv);
  for (int threads : {1, 2}) {
    const auto peaks = octavo::measure_peaks(threads);
    if (!peaks) return 5;
    const std::string key = "peak on " + std::to_string(threads) + " threads, GMAC/s (dot, madd, fma), GB/s";
    benchmark::AddCustomContext(key, std::to_string(peaks->dot_gmacs) + ", " + std::to_string(peaks->madd_gmacs) +
                                         ", " + std::to_string(peaks->fma_gmacs) + ", " +
                                         std::to_string(peaks->read_gbytes));
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
