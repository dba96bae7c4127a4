// Loops of aarch64, compiled: accumulators that the compiler has no reason to store. Part of kernels/.
#include "kernels/jit/peak_loop.h"

#include <arm_neon.h>

namespace octavo {
namespace {

constexpr int kAccumulators = 16;  // enough to hide the latency of four units
constexpr std::int64_t kRounds = 20000;

// Many operations, each on an accumulator of its own, and a use of all of them.
template <class V, class Operation>
inline __attribute__((always_inline)) void repeat(std::int64_t rounds, V start, const Operation& operation) {
  V sums[kAccumulators];
  for (V& sum : sums) sum = start;
  for (std::int64_t i = 0; i < rounds; ++i) {
    for (V& sum : sums) sum = operation(sum);
    asm volatile("" ::: "memory");
  }
  for (V& sum : sums) asm volatile("" : : "w"(sum));
}

__attribute__((target("arch=armv8.2-a+dotprod"))) void dot(std::int64_t rounds, const void*) {
  int32x4_t sums[kAccumulators] = {};
  const int8x16_t a = vdupq_n_s8(1), b = vdupq_n_s8(1);
  for (std::int64_t i = 0; i < rounds; ++i) {
    for (int32x4_t& sum : sums) sum = vdotq_s32(sum, a, b);
    asm volatile("" ::: "memory");
  }
  for (int32x4_t& sum : sums) asm volatile("" : : "w"(sum));
}

__attribute__((target("arch=armv8.2-a+dotprod+i8mm"))) void tiles(std::int64_t rounds, const void*) {
  int32x4_t sums[kAccumulators] = {};
  const uint8x16_t a = vdupq_n_u8(1);
  const int8x16_t b = vdupq_n_s8(1);
  for (std::int64_t i = 0; i < rounds; ++i) {
    for (int32x4_t& sum : sums) sum = vusmmlaq_s32(sum, a, b);
    asm volatile("" ::: "memory");
  }
  for (int32x4_t& sum : sums) asm volatile("" : : "w"(sum));
}

void madd(std::int64_t rounds, const void*) {
  const int8x8_t a = vdup_n_s8(1);
  repeat(rounds, vdupq_n_s32(0), [a](int32x4_t sum) {
    int8x8_t b = a;
    asm("" : "+w"(b));  // else all products are the same one
    return vpadalq_s16(sum, vmull_s8(a, b));
  });
}

void words(std::int64_t rounds, const void*) {
  const int16x4_t a = vdup_n_s16(1);
  repeat(rounds, vdupq_n_s32(0), [a](int32x4_t sum) { return vmlal_s16(sum, a, a); });
}

void fma(std::int64_t rounds, const void*) {
  const float32x4_t a = vdupq_n_f32(1.0f);
  repeat(rounds, vdupq_n_f32(0.0f), [a](float32x4_t sum) { return vfmaq_f32(sum, a, a); });
}

constexpr std::int64_t kReadRound = kAccumulators * 16;
void read(std::int64_t rounds, const void* memory) {
  const auto* p = static_cast<const std::uint8_t*>(memory);
  uint8x16_t all = vdupq_n_u8(0);
  for (std::int64_t i = 0; i < rounds; ++i, p += kReadRound) {
    for (int j = 0; j < kAccumulators; ++j) all = vorrq_u8(all, vld1q_u8(p + 16 * j));
  }
  asm volatile("" : : "w"(all));
}

// Each waits for the one before: one cycle, on every core since 2012.
void cycle(std::int64_t rounds, const void*) {
  std::int64_t x = 0;
  for (std::int64_t i = 0; i < rounds; ++i) {
    for (int j = 0; j < kAccumulators; ++j) asm volatile("add %0, %0, #1" : "+r"(x));
  }
}

}  // namespace

Result<PeakLoop> make_peak_loop(PeakLoop::Kind kind, PeakLoop::Width) {
  const auto loop = [](void (*run)(std::int64_t, const void*), std::int64_t rounds, std::int64_t units) {
    return PeakLoop{run, nullptr, rounds, rounds * units};
  };
  switch (kind) {
    case PeakLoop::Kind::dot: return loop(dot, kRounds, kAccumulators * 16);
    case PeakLoop::Kind::madd: return loop(madd, kRounds, kAccumulators * 8);
    case PeakLoop::Kind::fma: return loop(fma, kRounds, kAccumulators * 4);
    case PeakLoop::Kind::read: return loop(read, PeakLoop::kReadBytes / kReadRound, kReadRound);
    case PeakLoop::Kind::cycle: return loop(cycle, kRounds, kAccumulators);
    case PeakLoop::Kind::tiles: return loop(tiles, kRounds, kAccumulators * 32);
    case PeakLoop::Kind::words: return loop(words, kRounds, kAccumulators * 4);
  }
  return Error{
      .kind = ErrorKind::internal, .where = "peak", .found = "another instruction", .expected = "what the machine has"};
}

const char* const PeakLoop::kDot = "sdot";
const char* const PeakLoop::kMadd = "smull and sadalp";
const char* const PeakLoop::kWords = "smlal";

void flush_from_caches(const Tensor& memory) {
  constexpr std::size_t kLine = 64;
  for (std::size_t i = 0; i < memory.bytes(); i += kLine)
    asm volatile("dc civac, %0" : : "r"(memory.data() + i) : "memory");
  asm volatile("dsb ish" ::: "memory");
}

}  // namespace octavo
