// What shares of peak are shares of. Tests of kernels/jit/peak.
#include "kernels/jit/peak.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/jit/peak_loop.h"

namespace octavo {
namespace {

TEST(Peaks, AKernelIsAShareOfItsOwnInstructions) {
  const Peaks peaks{
      .amx_gmacs = 1600.0, .dot_gmacs = 300.0, .words_gmacs = 150.0, .madd_gmacs = 90.0, .fma_gmacs = 70.0};
  EXPECT_EQ(peaks.int8_gmacs(), 1600.0);
  EXPECT_EQ(peaks.int8_gmacs_of(Isa::amx_int8), 1600.0);
  EXPECT_EQ(peaks.int8_gmacs_of(Isa::avx512vnni), 300.0);
  EXPECT_EQ(peaks.int8_gmacs_of(Isa::avxvnni), 300.0);
  EXPECT_EQ(peaks.int8_gmacs_of(Isa::avx512), 90.0);
  EXPECT_EQ(peaks.int8_gmacs_of(Isa::avx2), 90.0);
  EXPECT_EQ(peaks.int8_gmacs_of(Isa::neon), 90.0);
  EXPECT_EQ(peaks.int8_gmacs_of(Isa::dotprod), 300.0);
  EXPECT_EQ(peaks.int16_gmacs_of(Isa::avx512vnni), 150.0);
  EXPECT_EQ(peaks.int16_gmacs_of(Isa::avxvnni), 150.0);
  EXPECT_EQ(peaks.int16_gmacs_of(Isa::avx2), 90.0);
  EXPECT_EQ(to_string(Peaks{.dot_gmacs = 300.4, .read_gbytes = 12.34}),
            "int8 by " + std::string(PeakLoop::kDot) + " 300 GMAC/s, memory 12.3 GB/s");
}

TEST(Peaks, AreKnownOfOtherMachines) {
  const auto text = [](const char* target) { return to_string(known_peaks(*machine_for_target(target))); };
  EXPECT_EQ(text("cuda"), "int8 by tensor cores 948879 GMAC/s, memory 3350 GB/s");
  EXPECT_NE(text("arm64-neon").find("int8 by smull and sadalp"), std::string::npos) << text("arm64-neon");
  EXPECT_EQ(text("arm64-neon").find("udot"), std::string::npos);
  EXPECT_NE(text("arm64-dotprod").find("int8 by udot"), std::string::npos);
  EXPECT_NE(text("arm64-i8mm").find("int8 by usmmla"), std::string::npos);
  EXPECT_EQ(text("avx2").find("vpdpbusd"), std::string::npos) << text("avx2");
  EXPECT_NE(text("amx").find("int8 by tdpbusd"), std::string::npos);
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
  EXPECT_EQ(peaks->words_gmacs > 0.0, isa.has(Isa::avxvnni));
  EXPECT_GT(peaks->madd_gmacs, 0.0);
  EXPECT_GT(peaks->fma_gmacs, 0.0);
  EXPECT_GT(peaks->read_gbytes, 0.0);
  EXPECT_LT(peaks->read_gbytes, 0.5 * cached_gbytes()) << "memory is slower than a cache";
}

// Of one thread: far from exact on a machine that does other things, too, but of the right size and order.
TEST(Speeds, OfThisMachine) {
  const Machine& host = host_machine();
  if (!host.isa.has(Isa::avx2)) GTEST_SKIP() << "needs avx2";
  const auto speeds = measure_speeds(host, 1);
  ASSERT_TRUE(speeds) << to_string(speeds.errors());
  EXPECT_TRUE(speeds->are_usable());
  EXPECT_GT(speeds->gigahertz, 0.3);
  EXPECT_LT(speeds->gigahertz, 8.0);
  EXPECT_GT(speeds->level2_gbytes, speeds->memory_gbytes);
  EXPECT_EQ(speeds->dot512_gmacs == kReferenceSpeeds.dot512_gmacs, !host.isa.has(Isa::avx512vnni));
  EXPECT_EQ(speeds->tile_gmacs == kReferenceSpeeds.tile_gmacs, !host.isa.has(Isa::amx_int8));
  EXPECT_EQ(speeds->barrier_ns, kReferenceSpeeds.barrier_ns);
  const auto level3_bytes = measure_level3_bytes(host, *speeds, 1);
  ASSERT_TRUE(level3_bytes);
  EXPECT_GT(*level3_bytes, 0);
  EXPECT_LE(*level3_bytes, host.l3_bytes);
  // No vector instruction does more than 64 multiply-accumulates, nor does a core begin more than four a cycle.
  EXPECT_LT(speeds->dot256_gmacs, 4.0 * 32.0 * speeds->gigahertz * 1.3);
}

TEST(Speeds, UsualOnesLeaveCyclesAsTheyWereCounted) {
  const MachineSpeeds usual;
  EXPECT_EQ(usual.clock_scale(), 1.0);
  EXPECT_EQ(usual.cycle_scale(&MachineSpeeds::dot512_gmacs), 1.0);
  EXPECT_EQ(usual.bytes_per_cycle(usual.level3_gbytes), 10.0);
  MachineSpeeds speeds{.gigahertz = 5.0};
  EXPECT_EQ(speeds.cycle_scale(&MachineSpeeds::dot512_gmacs), 2.0) << "as many a second, of twice as many cycles";
  speeds.dot512_gmacs *= 2.0;
  EXPECT_EQ(speeds.cycle_scale(&MachineSpeeds::dot512_gmacs), 1.0);
  for (const double wrong : {0.0, -1.0, 1e300, double(NAN)})
    EXPECT_FALSE(MachineSpeeds{.level3_gbytes = wrong}.are_usable());
}

}  // namespace
}  // namespace octavo
