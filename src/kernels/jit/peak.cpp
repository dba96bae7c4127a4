// Loops that do one thing as fast as the machine can, and their timing. Part of kernels/.
#include "kernels/jit/peak.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "base/exceptions.h"
#include "base/machine.h"
#include "base/tensor.h"
#include "kernels/jit/peak_loop.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

double ns_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double, std::nano>(end - start).count();
}

// body(thread, all) on that many threads at the same time, the calling one included; those that the system refuses are
// done without.
void run_together(int threads, const std::function<void(std::size_t thread, std::barrier<>& all)>& body) {
  std::optional<std::barrier<>> all;
  std::atomic<bool> is_counted{false};
  std::vector<std::thread> others;
  others.reserve(static_cast<std::size_t>(threads));
  const auto start = [&] {
    for (int t = 1; t < threads; ++t) {
      others.emplace_back([&, t] {
        is_counted.wait(false);
        body(static_cast<std::size_t>(t), *all);
      });
    }
  };
  attempt<std::system_error>(start, [] {});  // fewer threads are measured
  all.emplace(static_cast<std::ptrdiff_t>(others.size()) + 1);
  is_counted = true;
  is_counted.notify_all();
  body(0, *all);
  for (std::thread& other : others) other.join();
}

// 10^9 per second of all threads: the sum of each one's best while the others run too.
Result<double> measure_arithmetic(PeakLoop::Kind kind, int threads, PeakLoop::Width width = PeakLoop::Width::widest) {
  const auto loop = make_peak_loop(kind, width);
  if (!loop) return loop.errors();
  constexpr int kRepeats = 60;
  std::vector<double> best(static_cast<std::size_t>(threads));
  run_together(threads, [&](std::size_t t, std::barrier<>& all) {
    all.arrive_and_wait();
    for (int i = 0; i < kRepeats; ++i) {
      const auto start = Clock::now();
      loop->run(loop->rounds, nullptr);
      best[t] = std::max(best[t], static_cast<double>(loop->units) / ns_between(start, Clock::now()));
    }
  });
  double total = 0.0;
  for (const double rate : best) total += rate;
  return total;
}

// 10^9 bytes per second of all threads: each reads memory of its own, all begin together, the last one counts.
Result<double> measure_memory(int threads) {
  const auto loop = make_peak_loop(PeakLoop::Kind::read);
  if (!loop) return loop.errors();
  constexpr int kRepeats = 5;
  const auto count = static_cast<std::size_t>(threads);
  std::vector<Tensor> memory;
  for (std::size_t t = 0; t < count; ++t) {
    memory.emplace_back(DType::u8, Shape{PeakLoop::kReadBytes});
    std::memset(memory[t].data(), 1, memory[t].bytes());  // pages never written to are all the same one
  }
  std::vector<Clock::time_point> starts(count), ends(count);
  double best = 0.0;
  run_together(threads, [&](std::size_t t, std::barrier<>& all) {
    for (int i = 0; i < kRepeats; ++i) {
      flush_from_caches(memory[t]);
      all.arrive_and_wait();
      starts[t] = Clock::now();
      loop->run(loop->rounds, memory[t].data());
      ends[t] = Clock::now();
      all.arrive_and_wait();
      if (t != 0) continue;
      const auto granted = static_cast<std::size_t>(
          std::count_if(ends.begin(), ends.end(), [](auto end) { return end != Clock::time_point(); }));
      const auto first = *std::min_element(starts.begin(), starts.begin() + static_cast<std::ptrdiff_t>(granted));
      const auto last = *std::max_element(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(granted));
      best = std::max(best, static_cast<double>(granted) * static_cast<double>(loop->units) / ns_between(first, last));
    }
  });
  return best;
}

// 10^9 bytes per second of all threads together, each of which reads `bytes` of its own again and again.
Result<double> measure_cache(std::int64_t bytes, int threads) {
  auto loop = make_peak_loop(PeakLoop::Kind::read);
  if (!loop) return loop.errors();
  const std::int64_t per_round = loop->units / loop->rounds, rounds = std::max<std::int64_t>(1, bytes / per_round),
                     passes = std::max<std::int64_t>(1, (std::int64_t{8} << 20) / bytes);
  constexpr int kRepeats = 15;
  const auto count = static_cast<std::size_t>(threads);
  std::vector<Tensor> memory;
  for (std::size_t t = 0; t < count; ++t) {
    memory.emplace_back(DType::u8, Shape{rounds * per_round});
    std::memset(memory[t].data(), 1, memory[t].bytes());
  }
  std::vector<double> best(count);
  run_together(threads, [&](std::size_t t, std::barrier<>& all) {
    all.arrive_and_wait();
    for (int i = 0; i < kRepeats; ++i) {
      const auto start = Clock::now();
      for (std::int64_t pass = 0; pass < passes; ++pass) loop->run(rounds, memory[t].data());
      best[t] = std::max(best[t], static_cast<double>(passes * rounds * per_round) / ns_between(start, Clock::now()));
    }
  });
  return std::accumulate(best.begin(), best.end(), 0.0);
}

bool has_vectors(IsaSet isa) { return isa.has(Isa::avx2) || isa.has(Isa::neon); }

}  // namespace

// Of level 3 each thread reads so much that little of it is in its level 2, and all together no more than half of it.
Result<MachineSpeeds> measure_speeds(const Machine& host, int threads) {
  MachineSpeeds speeds = host.speeds;
  if (!has_vectors(host.isa)) return speeds;
  threads = std::max(threads, 1);
  const std::int64_t level3_bytes =
      std::max(2 * host.l2_bytes, std::min(6 * host.l2_bytes, host.l3_bytes / 2 / threads));
  struct Measured {
    double& speed;
    Result<double> total;
  };
  std::vector<Measured> all;
  const auto arithmetic = [&](Isa needs, double& speed, PeakLoop::Kind kind,
                              PeakLoop::Width width = PeakLoop::Width::widest) {
    if (host.isa.has(needs)) all.push_back({speed, measure_arithmetic(kind, threads, width)});
  };
  all.push_back({speeds.gigahertz, measure_arithmetic(PeakLoop::Kind::cycle, threads)});
  arithmetic(Isa::avx2, speeds.madd256_gmacs, PeakLoop::Kind::madd, PeakLoop::Width::bits256);
  all.push_back({speeds.level2_gbytes, measure_cache(host.l2_bytes / 2, threads)});
  all.push_back({speeds.level3_gbytes, measure_cache(level3_bytes, threads)});
  all.push_back({speeds.memory_gbytes, measure_memory(threads)});
  arithmetic(Isa::avxvnni, speeds.dot256_gmacs, PeakLoop::Kind::dot, PeakLoop::Width::bits256);
  arithmetic(Isa::avx512vnni, speeds.dot512_gmacs, PeakLoop::Kind::dot);
  arithmetic(Isa::amx_int8, speeds.tile_gmacs, PeakLoop::Kind::tiles);
  arithmetic(Isa::neon, speeds.fmla_gmacs, PeakLoop::Kind::fma);
  arithmetic(Isa::neon, speeds.smull_gmacs, PeakLoop::Kind::madd);
  arithmetic(Isa::neon, speeds.smlal_gmacs, PeakLoop::Kind::words);
  arithmetic(Isa::dotprod, speeds.udot_gmacs, PeakLoop::Kind::dot);
  arithmetic(Isa::i8mm, speeds.usmmla_gmacs, PeakLoop::Kind::tiles);
  for (const Measured& measured : all) {
    if (!measured.total) return measured.total.errors();
    if (*measured.total > 0.0) measured.speed = *measured.total / threads;
  }
  return speeds;
}

Result<std::int64_t> measure_level3_bytes(const Machine& host, const MachineSpeeds& speeds, int threads) {
  constexpr std::int64_t kMost = std::int64_t{128} << 20;
  threads = std::max(threads, 1);
  const double between = std::sqrt(speeds.level3_gbytes * speeds.memory_gbytes);
  std::int64_t found = std::min(host.l3_bytes, 4 * host.l2_bytes * threads);
  if (!has_vectors(host.isa)) return host.l3_bytes;
  for (std::int64_t bytes = found; bytes <= std::min(host.l3_bytes, kMost); bytes += bytes / 2) {
    const auto rate = measure_cache(bytes / threads, threads);
    if (!rate) return rate.errors();
    if (*rate / threads < between) return found;
    found = bytes;
  }
  return host.l3_bytes <= kMost ? host.l3_bytes : found;
}

Result<Peaks> measure_peaks(int threads) {
  const IsaSet isa = host_machine().isa;
  if (!has_vectors(isa)) return Peaks{};
  Peaks peaks;
  struct Family {
    PeakLoop::Kind loop;
    double& gmacs;
    bool exists;
  };
  for (const Family& family :
       {Family{PeakLoop::Kind::tiles, peaks.amx_gmacs, isa.has(Isa::amx_int8)},
        Family{PeakLoop::Kind::dot, peaks.dot_gmacs, isa.has(Isa::avxvnni) || isa.has(Isa::dotprod)},
        Family{PeakLoop::Kind::words, peaks.words_gmacs, isa.has(Isa::avxvnni) || isa.has(Isa::neon)},
        Family{PeakLoop::Kind::madd, peaks.madd_gmacs, true}, Family{PeakLoop::Kind::fma, peaks.fma_gmacs, true}}) {
    if (!family.exists) continue;
    const auto rate = measure_arithmetic(family.loop, std::max(threads, 1));
    if (!rate) return rate.errors();
    family.gmacs = *rate;
  }
  const auto rate = measure_memory(std::max(threads, 1));
  if (!rate) return rate.errors();
  peaks.read_gbytes = *rate;
  return peaks;
}

double Peaks::int8_gmacs() const { return std::max({amx_gmacs, dot_gmacs, madd_gmacs}); }

double Peaks::int8_gmacs_of(Isa isa) const {
  switch (isa) {
    case Isa::amx_int8: return amx_gmacs;
    case Isa::avxvnni:
    case Isa::avx512vnni:
    case Isa::avx512vbmi:
    case Isa::dotprod:
    case Isa::i8mm: return dot_gmacs;
    case Isa::cuda: return tensor_gmacs;
    case Isa::scalar:
    case Isa::avx2:
    case Isa::avx512:
    case Isa::neon:
    case Isa::tf32: break;
  }
  return madd_gmacs;
}

// Bytes are widened for vpmaddwd, so it is as fast with what has 16 bits.
double Peaks::int16_gmacs_of(Isa isa) const {
  switch (isa) {
    case Isa::avxvnni:
    case Isa::avx512vnni:
    case Isa::avx512vbmi:
    case Isa::neon:
    case Isa::dotprod:
    case Isa::i8mm: return words_gmacs;
    default: return madd_gmacs;
  }
}

std::string to_string(const Peaks& peaks) {
  std::string text;
  const auto add = [&](const char* what, std::string_view name, double rate, const char* unit) {
    if (rate <= 0.0) return;
    char figure[32];
    std::snprintf(figure, sizeof figure, " %.*f %s", rate < 20.0 ? 1 : 0, rate, unit);
    text += (text.empty() ? "" : ", ") + std::string(what) + std::string(name) + figure;
  };
  add("int8 by ", "tdpbusd", peaks.amx_gmacs, "GMAC/s");
  add("int8 by ", "tensor cores", peaks.tensor_gmacs, "GMAC/s");
  add("int8 by ", peaks.dot_name, peaks.dot_gmacs, "GMAC/s");
  add("int8 by ", peaks.madd_name, peaks.madd_gmacs, "GMAC/s");
  add("int16 by ", peaks.words_name, peaks.words_gmacs, "GMAC/s");
  add("fp32", "", peaks.fma_gmacs, "GMAC/s");
  add("memory", "", peaks.read_gbytes, "GB/s");
  return text;
}

Peaks known_peaks(const Machine& machine) {
  const MachineSpeeds& speeds = machine.speeds;
  const auto has = [&](Isa isa, double rate) { return machine.isa.has(isa) ? rate : 0.0; };
  Peaks peaks{.amx_gmacs = has(Isa::amx_int8, speeds.tile_gmacs),
              .tensor_gmacs = has(Isa::cuda, speeds.tile_gmacs * machine.cores),
              .read_gbytes = speeds.memory_gbytes};
  if (machine.isa.has(Isa::neon)) {
    const bool is_matrix = machine.isa.has(Isa::i8mm);
    peaks.dot_gmacs = has(Isa::dotprod, is_matrix ? speeds.usmmla_gmacs : speeds.udot_gmacs);
    peaks.madd_gmacs = speeds.smull_gmacs;
    peaks.fma_gmacs = speeds.fmla_gmacs;
    peaks.words_gmacs = speeds.smlal_gmacs;
    peaks.words_name = "smlal";
    peaks.dot_name = is_matrix ? "usmmla" : "udot";
    peaks.madd_name = "smull and sadalp";
  } else {
    peaks.dot_gmacs = std::max(has(Isa::avxvnni, speeds.dot256_gmacs), has(Isa::avx512vnni, speeds.dot512_gmacs));
    peaks.madd_gmacs = has(Isa::avx2, speeds.madd256_gmacs);
    peaks.dot_name = "vpdpbusd";
    peaks.madd_name = "vpmaddwd";
  }
  return peaks;
}

}  // namespace octavo
