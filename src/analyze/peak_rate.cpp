// Measuring the peak: as many independent multiply-adds as the units take, from registers only. Part of analyze/.
#include "analyze/peak_rate.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/machine.h"

namespace octavo {
namespace {

constexpr int kChains = 12;  // covers latency 5 on two units
constexpr std::int64_t kRounds = 200'000;

// Multiply-accumulates done.
__attribute__((target("avx512f,avx512vnni"))) std::int64_t vnni512() {
  __m512i sums[kChains] = {};
  const __m512i a = _mm512_set1_epi8(1);
  for (std::int64_t round = 0; round < kRounds; ++round) {
    for (__m512i& sum : sums) {
      sum = _mm512_dpbusd_epi32(sum, a, a);
      asm volatile("" : "+v"(sum));
    }
  }
  return kRounds * kChains * 64;
}

__attribute__((target("avx2,avxvnni"))) std::int64_t vnni256() {
  __m256i sums[kChains] = {};
  const __m256i a = _mm256_set1_epi8(1);
  for (std::int64_t round = 0; round < kRounds; ++round) {
    for (__m256i& sum : sums) {
      sum = _mm256_dpbusd_avx_epi32(sum, a, a);
      asm volatile("" : "+x"(sum));
    }
  }
  return kRounds * kChains * 32;
}

// Exact without vpdpbusd: 16-bit products, then an addition.
__attribute__((target("avx2"))) std::int64_t madd256() {
  __m256i sums[kChains] = {};
  const __m256i a = _mm256_set1_epi16(1);
  for (std::int64_t round = 0; round < kRounds; ++round) {
    for (__m256i& sum : sums) {
      __m256i product = _mm256_madd_epi16(a, a);
      asm volatile("" : "+x"(product));
      sum = _mm256_add_epi32(sum, product);
      asm volatile("" : "+x"(sum));
    }
  }
  return kRounds * kChains * 16;
}

__attribute__((target("avx512f"))) std::int64_t fma512() {
  __m512 sums[kChains] = {};
  const __m512 a = _mm512_set1_ps(0.5f);
  for (std::int64_t round = 0; round < kRounds; ++round) {
    for (__m512& sum : sums) {
      sum = _mm512_fmadd_ps(a, a, sum);
      asm volatile("" : "+v"(sum));
    }
  }
  return kRounds * kChains * 16;
}

__attribute__((target("avx2,fma"))) std::int64_t fma256() {
  __m256 sums[kChains] = {};
  const __m256 a = _mm256_set1_ps(0.5f);
  for (std::int64_t round = 0; round < kRounds; ++round) {
    for (__m256& sum : sums) {
      sum = _mm256_fmadd_ps(a, a, sum);
      asm volatile("" : "+x"(sum));
    }
  }
  return kRounds * kChains * 8;
}

using Burst = std::int64_t (*)();

Burst burst_for(Precision precision, IsaSet isa) {
  if (precision == Precision::fp32) return isa.has(Isa::avx512) ? &fma512 : isa.has(Isa::avx2) ? &fma256 : nullptr;
  if (isa.has(Isa::avx512vnni)) return &vnni512;
  if (isa.has(Isa::avxvnni)) return &vnni256;
  return isa.has(Isa::avx2) ? &madd256 : nullptr;
}

// The best of several bursts: interruptions only ever make one slower.
std::optional<double> measure(Precision precision) {
  const Burst burst = burst_for(precision, host_machine().isa);
  if (burst == nullptr) return std::nullopt;
  double best = 0.0;
  for (int i = 0; i < 20; ++i) {
    const auto before = std::chrono::steady_clock::now();
    const auto macs = static_cast<double>(burst());
    best = std::max(best, macs / std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
  }
  return best;
}

}  // namespace

std::optional<double> peak_macs_per_second(Precision precision) {
  static const std::optional<double> int8 = measure(Precision::int8);
  static const std::optional<double> fp32 = measure(Precision::fp32);
  return precision == Precision::int8 ? int8 : fp32;
}

}  // namespace octavo
