// The register tile: what is generated for one configuration, how it is called, and what each instruction set allows.
// Part of kernels/conv/.
#ifndef OCTAVO_KERNELS_CONV_TILE_H_
#define OCTAVO_KERNELS_CONV_TILE_H_

#include <algorithm>
#include <compare>
#include <cstdint>
#include <memory>
#include <tuple>

#include "base/dtype.h"
#include "base/machine.h"
#include "base/result.h"
#include "base/run_form.h"
#include "kernels/epilogue/parts.h"

namespace octavo {

// How four bytes of x meet four bytes of w.
enum class MacStep : std::uint8_t {
  vnni512,       // vpdpbusd zmm
  vnni256,       // vpdpbusd ymm, VEX
  vnni256_evex,  // the same on machines that have only the EVEX form
  // Exact without vpdpbusd, unlike vpmaddubsw: vpmaddwd on even and odd bytes widened to 16 bits.
  avx2_words,  // w is stored widened: a quarter faster where arithmetic counts
  avx2_bytes,  // w is widened in the loop: half the memory where weights are read once
  // Two s16 of x meet two s16 of w, for Winograd's transformed operands: a dword of K is a pair.
  pairs512,       // vpdpwssd zmm
  pairs256,       // vpdpwssd ymm, VEX
  pairs256_evex,  // the same on machines that have only the EVEX form
  pairs_avx2,     // vpmaddwd, vpaddd
  amx,  // tdpbusd: up to 16 dwords of x for 16 pixels meet those of w for 16 channels; amx_tile.h has its code
  // aarch64, compiled (arm64_tile.h)
  neon_bytes,      // smull, sadalp on s8: 8 bytes of K of a pixel and channel; partial sums in four lanes
  neon_pairs,      // smull, smlal, sadalp: exact where no weight is -128
  neon_dot,        // udot, of weights that are 128 more
  neon_dot_ahead,  // the same, each load far before its use: more instructions, for cores that execute in order
  neon_mmla,       // usmmla: 8 bytes of K of two pixels and two channels
  neon_words,      // smlal by lane, of s16: pairs as above, whose first and second numbers lie apart
};

inline constexpr int kMostPixels = 64;  // of any target's tile
inline constexpr int kMostCompiledPixels = 6;

struct TileTarget {
  MacStep step = MacStep::vnni512;
  int lanes = 16;             // 32-bit lanes of a vector
  int max_vectors = 4;        // of output channels in a tile
  int max_accumulators = 28;  // registers

  int vector_bytes() const { return lanes * 4; }
  // By what the machine's speeds multiply the cycles of its multiply-adds that were counted with the defaults.
  double cycle_scale(const MachineSpeeds& speeds) const;
  // Of aarch64: one of the tiles that were compiled; on x86 they are generated.
  bool is_compiled() const { return step >= MacStep::neon_bytes; }
  // x is read as x - 128, in s8: biases have 128 times the sum of the weights in them.
  bool flips_x() const { return step == MacStep::neon_bytes || step == MacStep::neon_pairs; }
  // Weights are packed as w + 128, in u8, and tiles subtract 128 times the sum of x, once for all channels.
  bool raises_weights() const { return step == MacStep::neon_dot || step == MacStep::neon_dot_ahead; }
  bool is_avx2() const { return step == MacStep::avx2_words || step == MacStep::avx2_bytes; }
  DType weight_type() const {
    if (raises_weights()) return DType::u8;
    return step == MacStep::avx2_words ? DType::s16 : DType::s8;
  }
  // Of the weights of one dword of K for one vector.
  int weight_bytes() const { return vector_bytes() * (step == MacStep::avx2_words ? 2 : 1); }
  // Of x, that one multiply takes from each pixel.
  int max_step_dwords() const { return step == MacStep::amx ? 16 : 1; }
  // All of whose steps are as long: what K lacks, weights of 0 fill up.
  int least_step_dwords() const { return is_compiled() ? 2 : 1; }
  // Not of amx: amx_schedule.h.
  int max_pixels(int vectors) const {
    return is_compiled() ? std::min(kMostCompiledPixels, max_accumulators / vectors) : max_accumulators / vectors;
  }
  // Of output channels in one block of packed weights. AMX joins blocks as a schedule asks for, but not where each has
  // a vector that sums x.
  int block_vectors(bool sums_x) const {
    if (is_compiled()) return sums_x ? std::max(1, max_vectors - 1) : max_vectors;
    return step != MacStep::amx ? max_vectors : (sums_x ? 2 : 1);
  }
};

inline double TileTarget::cycle_scale(const MachineSpeeds& speeds) const {
  switch (step) {
    case MacStep::amx: return speeds.cycle_scale(&MachineSpeeds::tile_gmacs);
    case MacStep::vnni512:
    case MacStep::pairs512: return speeds.cycle_scale(&MachineSpeeds::dot512_gmacs);
    case MacStep::avx2_words:
    case MacStep::avx2_bytes:
    case MacStep::pairs_avx2: return speeds.cycle_scale(&MachineSpeeds::madd256_gmacs);
    case MacStep::neon_bytes:
    case MacStep::neon_pairs: return speeds.cycle_scale(&MachineSpeeds::smull_gmacs);
    case MacStep::neon_dot:
    case MacStep::neon_dot_ahead: return speeds.cycle_scale(&MachineSpeeds::udot_gmacs);
    case MacStep::neon_mmla: return speeds.cycle_scale(&MachineSpeeds::usmmla_gmacs);
    case MacStep::neon_words: return speeds.cycle_scale(&MachineSpeeds::smlal_gmacs);
    default: return speeds.cycle_scale(&MachineSpeeds::dot256_gmacs);
  }
}

inline constexpr TileTarget kTileAmx{MacStep::amx, 16, 4};
inline constexpr TileTarget kTileVnni512{MacStep::vnni512, 16, 4, 28};
inline constexpr TileTarget kTileVnni256{MacStep::vnni256, 8, 2, 12};
inline constexpr TileTarget kTileVnni256Evex{MacStep::vnni256_evex, 8, 2, 12};
inline constexpr TileTarget kTileAvx2Words{MacStep::avx2_words, 8, 3, 12};
inline constexpr TileTarget kTileAvx2Bytes{MacStep::avx2_bytes, 8, 2, 12};
inline constexpr TileTarget kTileNeonBytes{MacStep::neon_bytes, 4, 1, 5};
inline constexpr TileTarget kTileNeonPairs{MacStep::neon_pairs, 4, 1, 5};
inline constexpr TileTarget kTileDotprod{MacStep::neon_dot, 4, 4, 24};
inline constexpr TileTarget kTileDotprodAhead{MacStep::neon_dot_ahead, 4, 4, 24};
inline constexpr TileTarget kTileI8mm{MacStep::neon_mmla, 4, 4, 16};
inline constexpr TileTarget kPairs512{MacStep::pairs512, 16, 4, 28};
inline constexpr TileTarget kPairs256{MacStep::pairs256, 8, 2, 12};
inline constexpr TileTarget kPairs256Evex{MacStep::pairs256_evex, 8, 2, 12};
inline constexpr TileTarget kPairsAvx2{MacStep::pairs_avx2, 8, 2, 12};
inline constexpr TileTarget kPairsNeon{MacStep::neon_words, 4, 4, 16};

// Where the accumulators come from.
enum class TileKind : std::uint8_t {
  convolution,  // rows of x and the bias
  products,     // one row, without a bias, for `repeats` tiles one after another in x and y
  sums,         // memory and the bias: no loop over K, for `repeats` tiles one after another in sums, residual and y
};

// flips: of aarch64, a table that changes the highest bit, as from u8 to s8.
enum class TableStep : std::uint8_t { none, bytes /* vpermi2b */, words /* vpermi2w */, scalar, flips };

// Of hybrid_conv: whether all pixels of a tile have one scale and zero point of x, known only in the run, or each its
// own.
enum class RunScales : std::uint8_t { none, shared, per_pixel };

// Of aarch64: bytes of as many channels as a tile can have that are made while their sums are in registers.
enum class PlainForm : std::uint8_t {
  none,       // something else
  saturated,  // of any sums, with clamps and perhaps a table
  words,      // of products that 16 bits hold, without clamps or a table
  bare,       // and without a zero point or another sign
};

struct TileArgs;
// Makes results of sums [pixel][vector][lane].
using TileFinish = void(const TileArgs&, const std::int32_t* sums);

// Everything that the generated code depends on; equal configurations share code.
struct TileConfig {
  TileTarget target;
  TileKind kind = TileKind::convolution;
  int pixels = 1;
  int vectors = 1;
  bool sums_x = false;            // the last vector is the sum of x, in every lane
  int channels = 1;               // (outputs() - 1) * lanes < channels <= outputs() * lanes
  std::int32_t pixel_bytes = 0;   // of x, from one output pixel to the next
  std::int32_t out_channels = 0;  // elements of y and residual from one output pixel to the next
  std::int32_t taps = 1, tap_bytes = 0, run_dwords = 1;
  DType to = DType::u8;                // u8, s8, s16, s32, f32
  Addition addition = Addition::none;  // of `residual`
  DType residual_type = DType::u8;
  bool subtracts_from_residual = false;
  bool adds_zero_point = false;
  std::int32_t rest_offset = 0;  // bytes from a lane's multiplier to the rest of its bias; 0: there is none
  bool clamps_low =
      true;  // false where nothing can overflow and the saturation of the packing instructions does the same
  bool clamps_high = true;
  bool adds_clamp_low = true, adds_clamp_high = true;  // the same of Addition::real_first and real_second
  int add_right_shift = 0;                             // of Addition::integer
  RunScales run_scales = RunScales::none;
  RunForm run_form = RunForm::onnx;
  TableStep table = TableStep::none;
  bool prefetches = false;
  std::int32_t ahead_lines = 0;  // of products: lines of 64 bytes fetched into L2 from `prefetch` on by each tile
  bool adds_to_y = false;        // of products
  int sum_vectors = 0;           // of sums: from one pixel to the next
  // Of tiles that were compiled: from a block's weights to the next one's; the best plain form of the step, in tiles
  // that have none of them none, and what they are finished by.
  std::int64_t block_bytes = 0;
  PlainForm plain = PlainForm::saturated;
  TileFinish* finish = nullptr;

  int residual_bytes() const { return static_cast<int>(size_of(residual_type)); }
  int outputs() const { return vectors - (sums_x ? 1 : 0); }  // vectors of output channels

  auto key() const {
    return std::tuple(target.step, kind, pixels, vectors, sums_x, channels, pixel_bytes, out_channels, taps, tap_bytes,
                      run_dwords, to, addition, residual_type, subtracts_from_residual, adds_zero_point, rest_offset,
                      clamps_low, clamps_high, adds_clamp_low, adds_clamp_high, add_right_shift, run_scales, run_form,
                      table, prefetches, ahead_lines, adds_to_y, sum_vectors);
  }
  bool operator<(const TileConfig& other) const { return key() < other.key(); }
};

// What does not change within a step, replicated over a vector's lanes.
struct alignas(64) TileConstants {
  float lowest[16], highest[16];  // of the convolution's rounding, less its zero point
  std::int32_t zero_point[16];
  std::int16_t zero_point_words[32];
  std::int32_t residual_zero_point[16];
  float residual_ratio[16];
  float add_a_ratio[16], add_b_ratio[16], add_fixed[16], add_lowest[16], add_highest[16];
  std::int32_t add_a_multiplier[16], add_b_multiplier[16], add_bias[16], add_zero_point[16], add_integer_lowest[16],
      add_integer_highest[16];
  float least_bias[16], most_bias[16];  // of RunForm::onnx_integer
  std::uint32_t pack_order[16];         // dwords after packing four vectors to bytes, in channel order
  std::uint32_t even_bytes[16];         // 0x00ff00ff
  std::uint16_t high_bit_words[32];     // 0x80
  std::uint16_t shift_words[32];        // 8
  std::int32_t lane_masks[32];          // 16 times -1, 16 times 0
  std::uint8_t table[256];
  std::uint8_t lowest_bytes[16], highest_bytes[16];  // of the convolution's rounding, as stored
  std::uint8_t flip_bytes[16];                       // of TableStep::flips, else 0
};

// zero_point * factor as a sum of two products of 16 bits: zero_point * kZeroPointPair holds the zero point (0 to 255)
// and its 128-fold, zero_point_factor the lowest 7 bits of the factor and the rest, for |factor| <
// kMostZeroPointFactor.
inline constexpr std::int32_t kZeroPointPair = 0x00800001, kMostZeroPointFactor = 1 << 22;
constexpr std::int32_t zero_point_factor(std::int32_t factor) {
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(factor >> 7) << 16) |
                                   (static_cast<std::uint32_t>(factor) & 127u));
}

struct TileArgs {
  const std::uint8_t* const* rows;  // of x, one per row of K: where the first pixel's first tap lies
  std::int64_t row_count;
  std::int64_t x_offset;  // added to each row
  const std::byte* weights;
  const std::byte* prefetch;  // one line of 64 bytes per dword of K is fetched into L2 from here on
  const std::int32_t* bias;
  const float* multiplier;  // and the rest of the bias
  const std::int32_t* w_offset;
  const std::byte* residual;
  std::byte* y;
  const TileConstants* constants;
  const std::int32_t* sums;  // [pixel][sum_vectors][lane], without the bias
  std::int64_t repeats;      // at least 1; of convolutions that were compiled: blocks of channels, one after another
  // Of run_scales: of the tile's first pixel, or of all its pixels. `bias` is what meets the zero point then, as
  // zero_point_factor has it, `multiplier` w_scale and the real bias.
  const float* x_scales;
  const std::uint8_t* x_zero_points;
  const TileConfig* config;  // of tiles that were compiled, for several configurations; generated ones have it in them
};

using TileFunction = void(const TileArgs*);

// What a configuration is computed by.
struct Tile {
  TileFunction* function = nullptr;
  const TileConfig* config = nullptr;  // TileArgs::config
  std::shared_ptr<const void> owner;   // of what the two point to

  void operator()(TileArgs& args) const {
    args.config = config;
    function(&args);
  }
};
// Generated on first use in the process, or one of those that were compiled. Error: internal, for a target of another
// processor.
Result<Tile> tile_of(const TileConfig& config);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CONV_TILE_H_
