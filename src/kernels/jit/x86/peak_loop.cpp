// Generated loops of x86. Part of kernels/.
#include "kernels/jit/peak_loop.h"

#include <emmintrin.h>
#include <xbyak/xbyak.h>

#include <array>
#include <vector>

#include "base/machine.h"
#include "kernels/jit/code.h"

namespace octavo {
namespace {

using Kind = PeakLoop::Kind;

constexpr int kAccumulators = 12;  // enough to hide the latency of two units
constexpr int kUnroll = 4;
constexpr int kTileSums = 4;                 // as many tiles as hide the latency; two of x and two of w beside them
constexpr std::int64_t kMultiplyCycles = 3;  // of imul, on every processor since 2008

// What ldtilecfg reads: eight tiles of 16 rows of 64 bytes.
struct alignas(64) TilePalette {
  std::uint8_t palette = 1, start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> row_bytes{64, 64, 64, 64, 64, 64, 64, 64};
  std::array<std::uint8_t, 16> rows{16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TilePalette kPalette;
constexpr std::int64_t kMacsOfTiles = 16 * 16 * 64;

// rounds in rdi, memory in rsi: operations() a round.
class LoopEmitter : public Xbyak::CodeGenerator {
 public:
  LoopEmitter(Kind loop, bool is_wide, bool has_evex, void* buffer, std::size_t bytes)
      : CodeGenerator(bytes, buffer),
        loop_(loop),
        kind_(is_wide ? Xbyak::Operand::ZMM : Xbyak::Operand::YMM),
        has_evex_(has_evex) {}

  void emit() {
    if (loop_ == Kind::tiles) {
      mov(rsi, reinterpret_cast<std::size_t>(&kPalette));
      ldtilecfg(ptr[rsi]);
    }
    for (int i = 0; loop_ == Kind::tiles && i < 8; ++i) tilezero(Xbyak::Tmm(i));
    for (int i = 0; i < 16; ++i) vpxor(Xbyak::Xmm(i), Xbyak::Xmm(i), Xbyak::Xmm(i));
    Xbyak::Label round;
    L(round);
    for (int i = 0; i < operations(); ++i) operation(i);
    if (loop_ == Kind::read) add(rsi, operations() * bytes());
    dec(rdi);
    jnz(round, T_NEAR);
    if (loop_ == Kind::tiles) tilerelease();
    vzeroupper();
    ret();
  }
  int operations() const { return kUnroll * (loop_ == Kind::tiles ? kTileSums : kAccumulators); }
  // Multiply-accumulates of an operation, bytes of a read, or cycles.
  std::int64_t units() const {
    switch (loop_) {
      case Kind::tiles: return kMacsOfTiles;
      case Kind::dot: return bytes();
      case Kind::words:
      case Kind::madd: return bytes() / 2;
      case Kind::fma: return bytes() / 4;
      case Kind::cycle: return kMultiplyCycles;
      case Kind::read: break;
    }
    return bytes();
  }

 private:
  int bytes() const { return kind_ == Xbyak::Operand::ZMM ? 64 : 32; }
  void operation(int i) {
    const Xbyak::Xmm acc(kind_, i % kAccumulators), a(kind_, 12), b(kind_, 13), product(kind_, 14);
    switch (loop_) {
      case Kind::tiles: return tdpbusd(Xbyak::Tmm(i % kTileSums), Xbyak::Tmm(4 + i % 2), Xbyak::Tmm(6 + i / 2 % 2));
      case Kind::dot: return vpdpbusd(acc, a, b, has_evex_ ? Xbyak::EvexEncoding : Xbyak::VexEncoding);
      case Kind::words: return vpdpwssd(acc, a, b, has_evex_ ? Xbyak::EvexEncoding : Xbyak::VexEncoding);
      case Kind::madd: vpmaddwd(product, a, b); return vpaddd(acc, acc, product);
      case Kind::fma: return vfmadd231ps(acc, a, b);
      case Kind::read: return vorps(acc, acc, ptr[rsi + i * bytes()]);
      case Kind::cycle: return imul(rax, rax);  // each waits for the one before
    }
  }

  Kind loop_;
  Xbyak::Operand::Kind kind_;
  bool has_evex_;
};

}  // namespace

Result<PeakLoop> make_peak_loop(Kind loop, PeakLoop::Width width) {
  const IsaSet isa = host_machine().isa;
  const bool is_vnni = loop == Kind::dot || loop == Kind::words;
  const bool has_evex = isa.has(Isa::avx512) && (!is_vnni || isa.has(Isa::avx512vnni));
  const bool is_wide = has_evex && width == PeakLoop::Width::widest;
  std::vector<std::uint8_t> buffer(16 * 1024);
  LoopEmitter emitter(loop, is_wide, has_evex, buffer.data(), buffer.size());
  emitter.emit();
  auto code = Code::create({buffer.data(), emitter.getSize()});
  if (!code) return code.errors();
  const std::int64_t per_round = emitter.operations() * emitter.units();
  constexpr std::int64_t kRounds = 20000;  // about a millisecond
  const std::int64_t rounds = loop == Kind::read ? PeakLoop::kReadBytes / per_round : kRounds;
  return PeakLoop{(*code)->entry<void(std::int64_t, const void*)>(), *code, rounds, rounds * per_round};
}

const char* const PeakLoop::kDot = "vpdpbusd";
const char* const PeakLoop::kMadd = "vpmaddwd";
const char* const PeakLoop::kWords = "vpdpwssd";

void flush_from_caches(const Tensor& memory) {
  constexpr std::size_t kLine = 64;
  for (std::size_t i = 0; i < memory.bytes(); i += kLine) _mm_clflush(memory.data() + i);
  _mm_mfence();
}

}  // namespace octavo
