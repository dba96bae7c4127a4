// Generated loops that do one thing as fast as the machine can, and their timing. Part of kernels/.
#include "kernels/jit/peak.h"

#include <xbyak/xbyak.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/machine.h"
#include "base/tensor.h"
#include "kernels/jit/code.h"

namespace octavo {
namespace {

enum class Loop { dot, madd, fma, read };

constexpr int kAccumulators = 12;  // enough to hide the latency of two units
constexpr int kUnroll = 4;
constexpr std::int64_t kReadBytesPerThread = std::int64_t{64} << 20;  // beyond the caches

using LoopFunction = void(std::int64_t rounds, const void* memory);

// rounds in rdi, memory in rsi: kUnroll * kAccumulators operations a round.
class LoopEmitter : public Xbyak::CodeGenerator {
 public:
  LoopEmitter(Loop loop, bool is_wide, bool has_evex, void* buffer, std::size_t bytes)
      : CodeGenerator(bytes, buffer),
        loop_(loop),
        kind_(is_wide ? Xbyak::Operand::ZMM : Xbyak::Operand::YMM),
        has_evex_(has_evex) {}

  void emit() {
    for (int i = 0; i < 16; ++i) vpxor(Xbyak::Xmm(i), Xbyak::Xmm(i), Xbyak::Xmm(i));
    Xbyak::Label round;
    L(round);
    for (int i = 0; i < kUnroll * kAccumulators; ++i) operation(i);
    if (loop_ == Loop::read) add(rsi, kUnroll * kAccumulators * bytes());
    dec(rdi);
    jnz(round, T_NEAR);
    vzeroupper();
    ret();
  }
  int bytes() const { return kind_ == Xbyak::Operand::ZMM ? 64 : 32; }

 private:
  void operation(int i) {
    const Xbyak::Xmm acc(kind_, i % kAccumulators), a(kind_, 12), b(kind_, 13), product(kind_, 14);
    switch (loop_) {
      case Loop::dot: return vpdpbusd(acc, a, b, has_evex_ ? Xbyak::EvexEncoding : Xbyak::VexEncoding);
      case Loop::madd: vpmaddwd(product, a, b); return vpaddd(acc, acc, product);
      case Loop::fma: return vfmadd231ps(acc, a, b);
      case Loop::read: return vorps(acc, acc, ptr[rsi + i * bytes()]);
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

Result<PeakLoop> make_loop(Loop loop) {
  const IsaSet isa = host_machine().isa;
  const bool is_wide = isa.has(Isa::avx512) && loop != Loop::madd && (loop != Loop::dot || isa.has(Isa::avx512vnni));
  std::vector<std::uint8_t> buffer(16 * 1024);
  LoopEmitter emitter(loop, is_wide, is_wide, buffer.data(), buffer.size());
  emitter.emit();
  auto code = Code::create({buffer.data(), emitter.getSize()});
  if (!code) return code.errors();
  const std::int64_t per_round = kUnroll * kAccumulators * emitter.bytes();
  if (loop == Loop::read)
    return PeakLoop{*code, kReadBytesPerThread / per_round, kReadBytesPerThread / per_round * per_round};
  constexpr std::int64_t kRounds = 20000;  // below a millisecond
  const std::int64_t bytes_per_mac = loop == Loop::dot ? 1 : loop == Loop::madd ? 2 : 4;
  return PeakLoop{*code, kRounds, kRounds * per_round / bytes_per_mac};
}

// The best rate of one thread, in units per nanosecond, while the others run too.
double best_rate(const PeakLoop& loop, const void* memory, int repeats) {
  using Clock = std::chrono::steady_clock;
  double best = 0.0;
  for (int i = 0; i < repeats; ++i) {
    const auto start = Clock::now();
    loop.code->entry<LoopFunction>()(loop.rounds, memory);
    const double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    best = std::max(best, static_cast<double>(loop.units) / ns);
  }
  return best;
}

Result<double> measure(Loop kind, int threads) {
  auto loop = make_loop(kind);
  if (!loop) return loop.errors();
  const int repeats = kind == Loop::read ? 5 : 60;
  std::vector<Tensor> memory;
  for (int t = 0; t < threads; ++t)
    memory.emplace_back(DType::u8, Shape{kind == Loop::read ? kReadBytesPerThread : 64});
  std::vector<double> rates(static_cast<std::size_t>(threads));
  std::atomic<int> waiting = threads;
  const auto work = [&](std::size_t t) {
    waiting.fetch_sub(1);
    while (waiting.load() > 0) std::this_thread::yield();
    rates[t] = best_rate(*loop, memory[t].data(), repeats);
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work, static_cast<std::size_t>(t));
  work(0);
  for (std::thread& other : others) other.join();
  double total = 0.0;
  for (double rate : rates) total += rate;
  return total;
}

}  // namespace

Result<Peaks> measure_peaks(int threads) {
  const IsaSet isa = host_machine().isa;
  if (!isa.has(Isa::avx2)) return Peaks{};
  Peaks peaks;
  const auto into = [&](double& to, Loop loop) -> Status {
    auto rate = measure(loop, std::max(threads, 1));
    if (!rate) return rate.errors();
    to = *rate;
    return ok_status();
  };
  if (isa.has(Isa::avx512vnni) || isa.has(Isa::avxvnni)) {
    if (auto status = into(peaks.dot_gmacs, Loop::dot); !status) return status.errors();
  }
  if (auto status = into(peaks.madd_gmacs, Loop::madd); !status) return status.errors();
  if (auto status = into(peaks.fma_gmacs, Loop::fma); !status) return status.errors();
  if (auto status = into(peaks.read_gbytes, Loop::read); !status) return status.errors();
  return peaks;
}

}  // namespace octavo
