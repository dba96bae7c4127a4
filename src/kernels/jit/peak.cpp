// Generated loops that do one thing as fast as the machine can, and their timing. Part of kernels/.
#include "kernels/jit/peak.h"

#include <emmintrin.h>
#include <xbyak/xbyak.h>

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

#include "base/machine.h"
#include "base/tensor.h"
#include "kernels/jit/code.h"

namespace octavo {
namespace {

enum class Loop { tiles, dot, madd, fma, read, multiply };
enum class Width { widest, bits256 };

constexpr int kAccumulators = 12;  // enough to hide the latency of two units
constexpr int kUnroll = 4;
constexpr int kTileSums = 4;                 // as many tiles as hide the latency; two of x and two of w beside them
constexpr std::int64_t kMultiplyCycles = 3;  // of imul, on every processor since 2008
constexpr std::int64_t kReadBytesPerThread = std::int64_t{64} << 20;

using LoopFunction = void(std::int64_t rounds, const void* memory);

// What ldtilecfg reads: eight tiles of 16 rows of 64 bytes.
struct alignas(64) TilePalette {
  std::uint8_t palette = 1, start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> row_bytes{64, 64, 64, 64, 64, 64, 64, 64};
  std::array<std::uint8_t, 16> rows{16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TilePalette kPalette;
constexpr std::int64_t kMacsOfTiles = 16 * 16 * 64;

// rounds in rdi, memory in rsi (of tiles: their palette): operations() a round.
class LoopEmitter : public Xbyak::CodeGenerator {
 public:
  LoopEmitter(Loop loop, bool is_wide, bool has_evex, void* buffer, std::size_t bytes)
      : CodeGenerator(bytes, buffer),
        loop_(loop),
        kind_(is_wide ? Xbyak::Operand::ZMM : Xbyak::Operand::YMM),
        has_evex_(has_evex) {}

  void emit() {
    if (loop_ == Loop::tiles) ldtilecfg(ptr[rsi]);
    for (int i = 0; loop_ == Loop::tiles && i < 8; ++i) tilezero(Xbyak::Tmm(i));
    for (int i = 0; i < 16; ++i) vpxor(Xbyak::Xmm(i), Xbyak::Xmm(i), Xbyak::Xmm(i));
    Xbyak::Label round;
    L(round);
    for (int i = 0; i < operations(); ++i) operation(i);
    if (loop_ == Loop::read) add(rsi, operations() * bytes());
    dec(rdi);
    jnz(round, T_NEAR);
    if (loop_ == Loop::tiles) tilerelease();
    vzeroupper();
    ret();
  }
  int operations() const { return kUnroll * (loop_ == Loop::tiles ? kTileSums : kAccumulators); }
  // Multiply-accumulates of an operation, bytes of a read, or cycles.
  std::int64_t units() const {
    switch (loop_) {
      case Loop::tiles: return kMacsOfTiles;
      case Loop::dot: return bytes();
      case Loop::madd: return bytes() / 2;
      case Loop::fma: return bytes() / 4;
      case Loop::multiply: return kMultiplyCycles;
      case Loop::read: break;
    }
    return bytes();
  }

 private:
  int bytes() const { return kind_ == Xbyak::Operand::ZMM ? 64 : 32; }
  void operation(int i) {
    const Xbyak::Xmm acc(kind_, i % kAccumulators), a(kind_, 12), b(kind_, 13), product(kind_, 14);
    switch (loop_) {
      case Loop::tiles: return tdpbusd(Xbyak::Tmm(i % kTileSums), Xbyak::Tmm(4 + i % 2), Xbyak::Tmm(6 + i / 2 % 2));
      case Loop::dot: return vpdpbusd(acc, a, b, has_evex_ ? Xbyak::EvexEncoding : Xbyak::VexEncoding);
      case Loop::madd: vpmaddwd(product, a, b); return vpaddd(acc, acc, product);
      case Loop::fma: return vfmadd231ps(acc, a, b);
      case Loop::read: return vorps(acc, acc, ptr[rsi + i * bytes()]);
      case Loop::multiply: return imul(rax, rax);  // each waits for the one before
    }
  }

  Loop loop_;
  Xbyak::Operand::Kind kind_;
  bool has_evex_;
};

struct PeakLoop {
  std::shared_ptr<const Code> code;
  std::int64_t rounds = 0;
  std::int64_t units = 0;  // multiply-accumulates or bytes of all rounds
};

Result<PeakLoop> make_loop(Loop loop, Width width = Width::widest) {
  const IsaSet isa = host_machine().isa;
  const bool has_evex = isa.has(Isa::avx512) && (loop != Loop::dot || isa.has(Isa::avx512vnni));
  const bool is_wide = has_evex && width == Width::widest;
  std::vector<std::uint8_t> buffer(16 * 1024);
  LoopEmitter emitter(loop, is_wide, has_evex, buffer.data(), buffer.size());
  emitter.emit();
  auto code = Code::create({buffer.data(), emitter.getSize()});
  if (!code) return code.errors();
  const std::int64_t per_round = emitter.operations() * emitter.units();
  constexpr std::int64_t kRounds = 20000;  // about a millisecond
  const std::int64_t rounds = loop == Loop::read ? kReadBytesPerThread / per_round : kRounds;
  return PeakLoop{*code, rounds, rounds * per_round};
}

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
  try {
    for (int t = 1; t < threads; ++t) {
      others.emplace_back([&, t] {
        is_counted.wait(false);
        body(static_cast<std::size_t>(t), *all);
      });
    }
  } catch (const std::system_error&) {
    // Fewer threads are measured.
  }
  all.emplace(static_cast<std::ptrdiff_t>(others.size()) + 1);
  is_counted = true;
  is_counted.notify_all();
  body(0, *all);
  for (std::thread& other : others) other.join();
}

// 10^9 per second of all threads: the sum of each one's best while the others run too.
Result<double> measure_arithmetic(Loop kind, int threads, Width width = Width::widest) {
  const auto loop = make_loop(kind, width);
  if (!loop) return loop.errors();
  constexpr int kRepeats = 60;
  std::vector<double> best(static_cast<std::size_t>(threads));
  run_together(threads, [&](std::size_t t, std::barrier<>& all) {
    all.arrive_and_wait();
    for (int i = 0; i < kRepeats; ++i) {
      const auto start = Clock::now();
      loop->code->entry<LoopFunction>()(loop->rounds, &kPalette);
      best[t] = std::max(best[t], static_cast<double>(loop->units) / ns_between(start, Clock::now()));
    }
  });
  double total = 0.0;
  for (const double rate : best) total += rate;
  return total;
}

// No cache holds any of it afterwards, whatever caches the machine says it has.
void flush(const Tensor& memory) {
  constexpr std::size_t kLine = 64;
  for (std::size_t i = 0; i < memory.bytes(); i += kLine) _mm_clflush(memory.data() + i);
  _mm_mfence();
}

// 10^9 bytes per second of all threads: each reads memory of its own, all begin together, the last one counts.
Result<double> measure_memory(int threads) {
  const auto loop = make_loop(Loop::read);
  if (!loop) return loop.errors();
  constexpr int kRepeats = 5;
  const auto count = static_cast<std::size_t>(threads);
  std::vector<Tensor> memory;
  for (std::size_t t = 0; t < count; ++t) {
    memory.emplace_back(DType::u8, Shape{kReadBytesPerThread});
    std::memset(memory[t].data(), 1, memory[t].bytes());  // pages never written to are all the same one
  }
  std::vector<Clock::time_point> starts(count), ends(count);
  double best = 0.0;
  run_together(threads, [&](std::size_t t, std::barrier<>& all) {
    for (int i = 0; i < kRepeats; ++i) {
      flush(memory[t]);
      all.arrive_and_wait();
      starts[t] = Clock::now();
      loop->code->entry<LoopFunction>()(loop->rounds, memory[t].data());
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
  auto loop = make_loop(Loop::read);
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
      for (std::int64_t pass = 0; pass < passes; ++pass) loop->code->entry<LoopFunction>()(rounds, memory[t].data());
      best[t] = std::max(best[t], static_cast<double>(passes * rounds * per_round) / ns_between(start, Clock::now()));
    }
  });
  return std::accumulate(best.begin(), best.end(), 0.0);
}

}  // namespace

// Of level 3 each thread reads so much that little of it is in its level 2, and all together no more than half of it.
Result<MachineSpeeds> measure_speeds(const Machine& host, int threads) {
  MachineSpeeds speeds;
  if (!host.isa.has(Isa::avx2)) return speeds;
  threads = std::max(threads, 1);
  const std::int64_t level3_bytes =
      std::max(2 * host.l2_bytes, std::min(6 * host.l2_bytes, host.l3_bytes / 2 / threads));
  struct Measured {
    double& speed;
    Result<double> total;
  };
  Measured all[] = {{speeds.gigahertz, measure_arithmetic(Loop::multiply, threads)},
                    {speeds.madd256_gmacs, measure_arithmetic(Loop::madd, threads, Width::bits256)},
                    {speeds.level2_gbytes, measure_cache(host.l2_bytes / 2, threads)},
                    {speeds.level3_gbytes, measure_cache(level3_bytes, threads)},
                    {speeds.memory_gbytes, measure_memory(threads)},
                    {speeds.dot256_gmacs, 0.0},
                    {speeds.dot512_gmacs, 0.0},
                    {speeds.tile_gmacs, 0.0}};
  if (host.isa.has(Isa::avxvnni)) all[5].total = measure_arithmetic(Loop::dot, threads, Width::bits256);
  if (host.isa.has(Isa::avx512vnni)) all[6].total = measure_arithmetic(Loop::dot, threads);
  if (host.isa.has(Isa::amx_int8)) all[7].total = measure_arithmetic(Loop::tiles, threads);
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
  if (!host.isa.has(Isa::avx2)) return host.l3_bytes;
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
  if (!isa.has(Isa::avx2)) return Peaks{};
  Peaks peaks;
  struct Family {
    Loop loop;
    double& gmacs;
    bool exists;
  };
  for (const Family& family : {Family{Loop::tiles, peaks.amx_gmacs, isa.has(Isa::amx_int8)},
                               Family{Loop::dot, peaks.dot_gmacs, isa.has(Isa::avxvnni)},
                               Family{Loop::madd, peaks.madd_gmacs, true}, Family{Loop::fma, peaks.fma_gmacs, true}}) {
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
    case Isa::avx512vbmi: return dot_gmacs;
    case Isa::scalar:
    case Isa::avx2:
    case Isa::avx512: break;
  }
  return madd_gmacs;
}

std::string to_string(const Peaks& peaks) {
  const auto add = [](std::string& text, const char* what, double rate, const char* unit) {
    if (rate <= 0.0) return;
    char figure[64];
    std::snprintf(figure, sizeof figure, "%s %.*f %s", what, rate < 20.0 ? 1 : 0, rate, unit);
    text += (text.empty() ? "" : ", ") + std::string(figure);
  };
  std::string text;
  add(text, "int8 by tdpbusd", peaks.amx_gmacs, "GMAC/s");
  add(text, "int8 by vpdpbusd", peaks.dot_gmacs, "GMAC/s");
  add(text, "int8 by vpmaddwd", peaks.madd_gmacs, "GMAC/s");
  add(text, "fp32", peaks.fma_gmacs, "GMAC/s");
  add(text, "memory", peaks.read_gbytes, "GB/s");
  return text;
}

}  // namespace octavo
