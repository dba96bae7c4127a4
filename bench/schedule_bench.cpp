// All schedules of the AMX convolution on the layers of well-known networks: how far the predicted one is from the
// best.
//   schedule_bench [PART OF A LAYER'S NAME] [THREADS] [shares]
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "kernels/conv/amx_schedule.h"
#include "kernels/conv/amx_tile.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/conv_step.h"
#include "prepared_layer.h"

namespace octavo {
namespace {

constexpr int kShown = 4, kLeastRuns = 7;

struct Trial {
  AmxSchedule schedule;
  double predicted_us = 0.0;
  std::vector<double> us, peaks;  // of each run, and GMAC/s of multiplies alone just before

  double best_us() const { return us.empty() ? 1e30 : *std::min_element(us.begin(), us.end()); }
  // Of the tile peak, at the clock of most runs.
  double share(std::int64_t macs) {
    const auto middle = peaks.begin() + std::ssize(peaks) / 2;
    std::nth_element(peaks.begin(), middle, peaks.end());
    return static_cast<double>(macs) / best_us() / 1e3 / *middle;
  }
};

const KernelChoice& amx_choice() {
  return *std::find_if(conv_choices().begin(), conv_choices().end(),
                       [](const KernelChoice& choice) { return choice.code.needs == Isa::amx_int8; });
}

using Clock = std::chrono::steady_clock;
double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// Multiplies without anything else, at the clock that the machine has just now: nanoseconds of one of 16 x 16 x 64.
__attribute__((target("amx-int8,amx-tile"))) double multiply_ns() {
  constexpr int kMultiplies = 1200;
  AmxPalette palette = palette_of({.units = 2, .rows = 16, .vectors = 2, .dwords = 16});
  asm volatile("ldtilecfg %0" ::"m"(palette));
  const auto start = Clock::now();
  for (int i = 0; i < kMultiplies; i += 4) {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
  asm volatile("tilerelease" ::: "memory");
  return 1e3 * us_since(start) / kMultiplies;
}

void time(Prepared& layer, Executor& pool, Trial& trial, double seconds) {
  constexpr double kMacs = 16 * 16 * 64;
  layer.prepare(trial.schedule.encode());
  if (!layer.reason.empty()) return;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (int run = 0; run < kLeastRuns || Clock::now() < end; ++run) {
    multiply_ns();  // wakes the unit up
    trial.peaks.push_back(pool.threads() * kMacs / multiply_ns());
    const auto start = Clock::now();
    layer.run(pool);
    trial.us.push_back(us_since(start));
  }
}

void show(const char* what, Trial& trial, std::int64_t macs, double best_us) {
  std::printf("  %-10s %9.2f us (%5.1f %% more), %5.1f %% of the tile peak, predicted %9.2f us: %s\n", what,
              trial.best_us(), 100.0 * (trial.best_us() / best_us - 1.0), 100.0 * trial.share(macs), trial.predicted_us,
              trial.schedule.to_string().c_str());
}

// The predicted one alone.
void show_share(const Layer& l, int threads) {
  Prepared layer(l, amx_choice(), threads);
  const ConvGeometry g = geometry_of(layer.call, kTileAmx);
  const ChannelBlocks blocks = channel_blocks(g, kTileAmx);
  ThreadPool pool(threads);
  Trial trial{amx_schedule(g, blocks, {.l2_bytes = host_machine().l2_bytes, .threads = threads})};
  time(layer, pool, trial, 0.1);
  std::printf("%-45s %9.2f us, %5.1f %% of the tile peak: %s\n", name_of_layer(l).c_str(), trial.best_us(),
              100.0 * trial.share(layer.macs), trial.schedule.to_string().c_str());
  std::fflush(stdout);
}

// All once, then the best twenty and the predicted one in turns.
double regret_of(const Layer& l, int threads) {
  constexpr double kGigahertz = 3.29;
  Prepared layer(l, amx_choice(), threads);
  const ConvGeometry g = geometry_of(layer.call, kTileAmx);
  const ChannelBlocks blocks = channel_blocks(g, kTileAmx);
  const AmxConditions conditions{.l2_bytes = host_machine().l2_bytes, .threads = threads};
  ThreadPool pool(threads);
  std::vector<Trial> trials;
  for (const AmxSchedule& schedule : amx_schedules(g, blocks, conditions)) {
    Trial& trial = trials.emplace_back(Trial{schedule, amx_cycles(g, blocks, schedule, conditions) / kGigahertz / 1e3});
    time(layer, pool, trial, 0.004);
  }
  const auto by_time = [](const Trial& a, const Trial& b) { return a.best_us() < b.best_us(); };
  const std::string chosen = amx_schedule(g, blocks, conditions).to_string();
  std::sort(trials.begin(), trials.end(), by_time);
  std::vector<Trial> top(trials.begin(), trials.begin() + std::min<std::ptrdiff_t>(20, std::ssize(trials)));
  top.push_back(*std::find_if(trials.begin(), trials.end(),
                              [&](const Trial& trial) { return trial.schedule.to_string() == chosen; }));
  for (Trial& trial : top) trial.us.clear(), trial.peaks.clear();
  for (int round = 0; round < 5; ++round) {
    for (Trial& trial : top) time(layer, pool, trial, 0.004);
  }
  Trial predicted = top.back();
  std::sort(top.begin(), top.end(), by_time);
  const double best_us = top.front().best_us();
  std::printf("%s, %d threads: %zu schedules\n", name_of_layer(l).c_str(), threads, trials.size());
  show("predicted", predicted, layer.macs, best_us);
  for (int i = 0; i < kShown && i < std::ssize(top); ++i)
    show("best", top[static_cast<std::size_t>(i)], layer.macs, best_us);
  std::fflush(stdout);
  return predicted.best_us() / best_us;
}

}  // namespace
}  // namespace octavo

int main(int argc, char** argv) {
  using namespace octavo;
  if (!host_machine().isa.has(Isa::amx_int8)) return std::puts("skipped: this machine has no AMX"), 0;
  const std::string_view part = argc > 1 ? argv[1] : "";
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  const bool tries_all = argc <= 3;  // else: shares of the predicted ones
  double product = 1.0, worst = 1.0;
  int layers = 0;
  for (const Layer& layer : kLayers) {
    if (name_of_layer(layer).find(part) == std::string::npos || !Prepared(layer, amx_choice(), 0).reason.empty())
      continue;
    if (!tries_all) {
      show_share(layer, threads);
      continue;
    }
    const double regret = regret_of(layer, threads);
    product *= regret;
    worst = std::max(worst, regret);
    ++layers;
  }
  if (!tries_all) return 0;
  if (layers == 0) return std::puts("no such layer"), 2;
  std::printf("%d layers: the predicted schedule takes %.3f times the best (geometric mean), at worst %.3f\n", layers,
              std::pow(product, 1.0 / layers), worst);
  return 0;
}
