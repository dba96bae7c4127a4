// Convolution tiles by udot. Part of kernels/conv/.
#include "kernels/conv/arm64_epilogue.h"
#include "kernels/conv/arm64_tiles.h"
#include "kernels/simd/udot_ahead.h"

namespace octavo {
namespace {

// x of a run: sixteen bytes of K at a time, then perhaps eight. Counted up to zero, so that one addition is the test.
template <int kPixels>
struct PixelsOfRun {
  const std::uint8_t* end[kPixels];  // of what is a multiple of sixteen bytes

  inline __attribute__((always_inline)) PixelsOfRun(const std::uint8_t* x, const TileRuns& runs) {
    unrolled<kPixels>([&](auto p)
                          __attribute__((always_inline)) { end[p] = x + p * runs.pixel_bytes + sixteens(runs); });
  }
  static inline __attribute__((always_inline)) std::int64_t sixteens(const TileRuns& runs) {
    return runs.run_bytes & ~std::int64_t{15};
  }
  inline __attribute__((always_inline)) uint8x16_t sixteen(int p, std::int64_t k) const { return vld1q_u8(end[p] + k); }
  // And zeros.
  inline __attribute__((always_inline)) uint8x16_t eight(int p) const {
    return vcombine_u8(vld1_u8(end[p]), vdup_n_u8(0));
  }
};

// excess[p], in all lanes: 128 times the sum of what meets a weight of pixel p, as weights are 128 more than they
// should be.
template <int kPixels>
__attribute__((noinline)) void sum_x(const TileArgs& args, int32x4_t* excess) {
  const TileRuns runs(args);
  const uint8x16_t ones = vdupq_n_u8(1);
  uint32x4_t sum[kPixels] = {};
  for_runs(
      runs, [&](const std::uint8_t* x) __attribute__((always_inline)) {
        const PixelsOfRun<kPixels> pixels(x, runs);
        const std::int64_t whole = pixels.sixteens(runs);
        for (std::int64_t k = -whole; k != 0; k += 16) {
          unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
            sum[p] = vdotq_u32(sum[p], pixels.sixteen(p, k), ones);
          });
        }
        if (whole == runs.run_bytes) return;
        unrolled<kPixels>([&](auto p)
                              __attribute__((always_inline)) { sum[p] = vdotq_u32(sum[p], pixels.eight(p), ones); });
      });
  constexpr int kPairs = (kPixels + 1) / 2;
  uint32x4_t two[kPairs];
  unrolled<kPairs>([&](auto i) __attribute__((always_inline)) {
    two[i] = vpaddq_u32(sum[2 * i], sum[std::min(2 * i + 1, kPixels - 1)]);
  });
  unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
    const uint32x4_t four = vpaddq_u32(two[p / 4 * 2], two[std::min(p / 4 * 2 + 1, kPairs - 1)]);
    excess[p] = vreinterpretq_s32_u32(vdupq_laneq_u32(vshlq_n_u32(four, 7), p % 4));
  });
}

// How w is loaded.
enum class Loads {
  together,  // two or four vectors by one instruction: the fewest instructions
  ahead,     // each right behind the last use of its register: for cores that execute in order
};

// acc[p][v] += x[p] (4 bytes, in all lanes) * w[v] (4 channels). w [dword][vector][lane][4].
//   registers: pixels * vectors sums, 16 bytes of x of each pixel, w as it comes: 6 * 4 + 6 + 2
template <Loads kLoads, int kPixels, int kVectors>
struct DotTile {
  int32x4_t acc[kPixels][kVectors];
  const std::uint8_t* w;

  static void run(const TileArgs* args) {
    DotTile tile;
    const TileRuns runs(*args);
    int32x4_t excess[kPixels];
    sum_x<kPixels>(*args, excess);
    const auto* const weights = reinterpret_cast<const std::uint8_t*>(args->weights);
    const std::int64_t block_bytes = args->config->block_bytes;
    for (std::int64_t block = 0, blocks = args->repeats; block < blocks; ++block) {
      const std::int32_t* const start = start_of<kVectors>(*args, block);
      unrolled<kVectors>([&](auto v) __attribute__((always_inline)) {
        const int32x4_t first = vld1q_s32(start + 4 * v);
        unrolled<kPixels>([&](auto p) __attribute__((always_inline)) { tile.acc[p][v] = first; });
      });
      if (!kCorrectsAtEnd) tile.subtract(excess);
      multiply_runs(runs, weights + block * block_bytes, tile);
      if (kCorrectsAtEnd) tile.subtract(excess);
      finish_sums(*args, block, kPixels, tile.acc);
    }
  }

  inline __attribute__((always_inline)) void add_run(const std::uint8_t* x, const TileRuns& runs) {
    const PixelsOfRun<kPixels> pixels(x, runs);
    const std::int64_t whole = pixels.sixteens(runs);
    if constexpr (kLoads == Loads::ahead) {
      add_whole(pixels, whole);
    } else {
      for (std::int64_t k = -whole; k != 0; k += 16) add_sixteen(pixels, k);
    }
    if (whole == runs.run_bytes) return;
    uint8x16_t bytes[kPixels];
    unrolled<kPixels>([&](auto p) __attribute__((always_inline)) { bytes[p] = pixels.eight(p); });
    add_dwords<2>(bytes);
  }

 private:
  // At the beginning it costs nothing beside what copies the bias, but GCC 12 then moves the sums of one pixel about.
  static constexpr bool kCorrectsAtEnd = kPixels == 1;
  inline __attribute__((always_inline)) void subtract(const int32x4_t (&excess)[kPixels]) {
    unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
      unrolled<kVectors>([&](auto v) __attribute__((always_inline)) { acc[p][v] = vsubq_s32(acc[p][v], excess[p]); });
    });
  }
  inline __attribute__((always_inline)) void add_sixteen(const PixelsOfRun<kPixels>& pixels, std::int64_t k) {
    uint8x16_t bytes[kPixels];
    unrolled<kPixels>([&](auto p) __attribute__((always_inline)) { bytes[p] = pixels.sixteen(p, k); });
    add_dwords<4>(bytes);
  }
  // All of a run but its last eight bytes. 16 bytes of x meet 16 vectors of w.
  inline __attribute__((always_inline)) void add_whole(const PixelsOfRun<kPixels>& pixels, std::int64_t whole) {
    static_assert(4 * kVectors == kAheadVectors);
    w += kAheadVectors * whole;
    const std::uint8_t* vectors[kAheadVectors];
    unrolled<kAheadVectors>([&](auto i) __attribute__((always_inline)) { vectors[i] = w + 16 * i; });
    add_ahead<16>(
        pixels.end, vectors,
        whole, [&](auto p, auto v) __attribute__((always_inline))->int32x4_t & { return acc[p][v]; });
  }
  // Two or four vectors of w at a time: one instruction loads them.
  template <int kDwords>
  inline __attribute__((always_inline)) void add_dwords(const uint8x16_t (&bytes)[kPixels]) {
    constexpr int kTogether = kVectors == 4 && kPixels <= 2 ? 4 : (kVectors % 2 == 0 ? 2 : 1);
    constexpr int kGroups = kVectors / kTogether, kCount = kDwords * kGroups;
    unrolled<kCount>([&](auto i) __attribute__((always_inline)) {
      uint8x16_t weights[kTogether];
      load<16 * kTogether * i, 16 * kTogether * kCount>(weights);
      add_vectors<i / kGroups, i % kGroups * kTogether>(bytes, weights);
    });
  }
  // Those at an offset, of kBytes that are taken one after another. The first load moves w behind all of them; a pair
  // does so by itself, which GCC 12 makes two instructions of.
  template <int kOffset, int kBytes, int kCount>
  inline __attribute__((always_inline)) void load(uint8x16_t (&weights)[kCount]) {
    if constexpr (kCount == 4) {
      const uint8x16x4_t four = vld1q_u8_x4(w);
      w += 64;
      unrolled<kCount>([&](auto k) __attribute__((always_inline)) { weights[k] = four.val[k]; });
    } else if constexpr (kCount == 2 && kOffset == 0) {
      asm("ldp %q0, %q1, [%2], %4"
          : "=w"(weights[0]), "=w"(weights[1]), "+r"(w)
          : "m"(*reinterpret_cast<const std::uint8_t(*)[32]>(w)), "i"(kBytes));
    } else {
      if (kOffset == 0) w += kBytes;
      unrolled<kCount>([&](auto k)
                           __attribute__((always_inline)) { weights[k] = vld1q_u8(w - kBytes + kOffset + 16 * k); });
    }
  }
  template <int kDword, int kFirst, int kCount>
  inline __attribute__((always_inline)) void add_vectors(const uint8x16_t (&bytes)[kPixels],
                                                         const uint8x16_t (&weights)[kCount]) {
    unrolled<kCount>([&](auto k) __attribute__((always_inline)) {
      unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
        int32x4_t& sum = acc[p][kFirst + k];
        const uint32x4_t more = vdotq_laneq_u32(vreinterpretq_u32_s32(sum), weights[k], bytes[p], kDword);
        sum = vreinterpretq_s32_u32(more);
      });
    });
  }
};

template <int kPixels, int kVectors>
using TogetherTile = DotTile<Loads::together, kPixels, kVectors>;

}  // namespace

constexpr CompiledTiles kTilesDotprod = compiled_tiles<TogetherTile, kTileDotprod>();
// Blocks of fewer vectors are rare: their loads stay together.
constexpr CompiledTiles kTilesDotprodAhead = [] {
  CompiledTiles tiles = kTilesDotprod;
  unrolled<CompiledTiles::kMostPixels>(
      [&](auto p) { tiles.functions[p][kMostTileVectors - 1] = &DotTile<Loads::ahead, p + 1, kMostTileVectors>::run; });
  return tiles;
}();

}  // namespace octavo
