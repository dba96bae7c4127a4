// What shares of peak are shares of. Tests of kernels/jit/peak.
#include "kernels/jit/peak.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

namespace octavo {
namespace {

TEST(Peaks, AKernelIsAShareOfItsOwnInstructions) {
  const Peaks peaks{.amx_gmacs = 1600.0, .dot_gmacs = 300.0, .madd_gmacs = 90.0, .fma_gmacs = 70.0};
  EXPECT_EQ(peaks.int8_gmacs(), 1600.0);
  EXPECT_EQ(peaks.int8_gmacs_of(Isa::amx_int8), 1600.0);
  EXPECT_EQ(peaks.int8_gmacs_of(Isa::avx512vnni), 300.0);
  EXPECT_EQ(peaks.int8_gmacs_of(Isa::avxvnni), 300.0);
  EXPECT_EQ(peaks.int8_gmacs_of(Isa::avx512), 90.0);
  EXPECT_EQ(peaks.int8_gmacs_of(Isa::avx2), 90.0);
  EXPECT_EQ(to_string(Peaks{.dot_gmacs = 300.4, .read_gbytes = 12.34}),
            "int8 by vpdpbusd 300 GMAC/s, memory 12.3 GB/s");
}

// 10^9 bytes per second of a buffer that stays in a level-1 cache, by the C library's vectors.
double cached_gbytes() {
  std::vector<char> buffer(16 * 1024);
  constexpr int kPasses = 2000;
  double best = 0.0;
  for (int repeat = 0; repeat < 20; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    for (int pass = 0; pass < kPasses; ++pass) {
      const void* volatile found = std::memchr(buffer.data(), 1, buffer.size());
      static_cast<void>(found);
    }
    const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, kPasses * static_cast<double>(buffer.size()) / ns);
  }
  return best;
}

TEST(Peaks, OfThisMachine) {
  const IsaSet isa = host_machine().isa;
  if (!isa.has(Isa::avx2)) GTEST_SKIP() << "needs avx2";
  const auto peaks = measure_peaks(1);
  ASSERT_TRUE(peaks) << to_string(peaks.errors());
  SCOPED_TRACE(to_string(*peaks));
  EXPECT_EQ(peaks->amx_gmacs > 0.0, isa.has(Isa::amx_int8));
  EXPECT_EQ(peaks->dot_gmacs > 0.0, isa.has(Isa::avxvnni));
  EXPECT_GT(peaks->madd_gmacs, 0.0);
  EXPECT_GT(peaks->fma_gmacs, 0.0);
  EXPECT_GT(peaks->read_gbytes, 0.0);
  EXPECT_LT(peaks->read_gbytes, 0.5 * cached_gbytes()) << "memory is slower than a cache";
}

}  // namespace
}  // namespace octavo
