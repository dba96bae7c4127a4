// What becomes of a tile's sums. Part of cuda/device/.
//
// Stored values, bytes or words, are finished where their sums are, in registers, gathered in shared memory and copied
// to y by sixteen bytes; another tensor that is added comes the same way. Whatever else is written goes through shared
// memory as sums, half a tile at a time, so that a thread finishes four neighbouring channels.
#ifndef OCTAVO_CUDA_DEVICE_CONV_RESULT_H_
#define OCTAVO_CUDA_DEVICE_CONV_RESULT_H_

#include <type_traits>

#include "cuda/device/conv_tile.h"

namespace octavo::cuda {

template <class Tile, class Block>
struct ConvResult {
  Block& block;
  const ConvArgs& p;
  typename Block::template Each<TileSums<Tile>>& sums;

  // ---- bytes and words: Stored is u8 or s16 ----

  template <class Stored>
  static constexpr int kOfChunk = kChunkBytes / sizeof(Stored);
  template <class Stored>
  static constexpr int kPitch = Tile::kColumns * sizeof(Stored) + kChunkBytes;  // chunks stay aligned

  template <class Stored>
  OCTAVO_DEVICE bool is_stored() const {
    constexpr bool kWords = sizeof(Stored) == 2;
    const RowEpilogue& e = p.epilogue;
    return (kWords || !Tile::kInRun) && !Tile::has_offset(p) && e.multiplier != nullptr &&
           e.result == (kWords ? RowEpilogue::Result::words : RowEpilogue::Result::bytes) &&
           (e.addition == Addition::none || e.other_is_words == kWords) && p.group_out % kOfChunk<Stored> == 0;
  }

  // f(16 bytes of the tile in shared memory, where they lie in a tensor of y's shape, in bytes) for those inside of y.
  template <class Stored, class F>
  OCTAVO_DEVICE void each_chunk(const F& f) {
    constexpr int kSize = sizeof(Stored), kChunksOfRow = Tile::kColumns / kOfChunk<Stored>;
    constexpr int kAll = Tile::kRows * kChunksOfRow;
    static_assert(Tile::kStages * Tile::kStage >= Tile::kRows * kPitch<Stored>);
    block.each([&](int t) {
      unrolled<(kAll + Tile::kThreads - 1) / Tile::kThreads>([&](auto i) {
        const int number = t + i * Tile::kThreads;
        const int row = number / kChunksOfRow, column = number % kChunksOfRow * kOfChunk<Stored>;
        const std::int64_t pixel = block.x() * Tile::kRows + row;
        const std::int64_t own = block.y() * Tile::kColumns + column;
        if (number < kAll && pixel < p.pixels && own < p.group_out)
          f(block.shared() + row * kPitch<Stored> + column * kSize,
            (pixel * p.window.out_channels + block.z() * p.group_out + own) * kSize);
      });
    });
  }

  // Constants of two neighbouring channels.
  struct alignas(8) Reals {
    float at[2];
  };
  struct alignas(8) Integers {
    std::int32_t at[2];
  };

  // An element of another tensor, of the two that a word of shared memory has.
  template <class Stored>
  OCTAVO_DEVICE std::int32_t other_of(std::uint32_t both, int i) const {
    if constexpr (sizeof(Stored) == 2) return static_cast<std::int16_t>(both >> 16 * i);
    const auto byte = static_cast<std::uint8_t>(both >> 8 * i);
    return p.epilogue.other_is_signed ? static_cast<std::int8_t>(byte) : std::int32_t{byte};
  }

  // Of x in a row of the tile, where they are known in the run only; beyond the last row as there.
  struct RowScale {
    float scale;
    std::int32_t zero_point;
  };
  OCTAVO_DEVICE RowScale row_scale(int row) const {
    if constexpr (!Tile::kInRun) return {};
    const std::int64_t own = block.x() * Tile::kRows + row, pixel = own < p.pixels ? own : p.pixels - 1;
    return {p.run.scale[pixel / p.run.pixels], p.run.zero_point[pixel / p.run.pixels]};
  }

  // What is stored of a sum, to which `other` is added. The kind of an addition is known here, so that code which no
  // block runs is not in the way of what it runs.
  template <Addition kAddition>
  OCTAVO_DEVICE std::int32_t stored_value(std::int32_t sum, std::int32_t bias, float multiplier, float rest,
                                          std::int32_t other, const RowScale& row) const {
    RowEpilogue e = p.epilogue;
    e.addition = kAddition;
    if constexpr (Tile::kInRun)
      return stored_in_run(e, real_in_run(p.run.form, sum, bias, multiplier, rest, row.scale, row.zero_point), other);
    // A rest of 0 changes no sum that was an integer.
    const float real = Scalar::add(Scalar::to_f32(Scalar::add_s32(sum, bias)), rest);
    return stored_of(e, real, multiplier, other);
  }

  // The two neighbouring results of sums[m][n][2 * half ..], over what is added to them.
  template <class Stored, Addition kAddition>
  OCTAVO_DEVICE void finish_pair(const std::int32_t (&own)[4], int half, const Integers& bias, const Reals& multiplier,
                                 const Reals& rest, const RowScale& row, std::byte* place) const {
    using Pair = std::conditional_t<sizeof(Stored) == 2, std::uint32_t, std::uint16_t>;
    constexpr std::uint32_t kBits = 8 * sizeof(Stored), kMask = (1u << kBits) - 1;
    const std::uint32_t both = kAddition == Addition::none ? 0 : *reinterpret_cast<const Pair*>(place);
    std::uint32_t stored[2];
    unrolled<2>([&](auto i) __attribute__((always_inline)) {
      const std::int32_t value = stored_value<kAddition>(own[2 * half + i], bias.at[i], multiplier.at[i], rest.at[i],
                                                         other_of<Stored>(both, i), row);
      stored[i] = static_cast<std::uint32_t>(value) & kMask;
    });
    *reinterpret_cast<Pair*>(place) = static_cast<Pair>(stored[0] | stored[1] << kBits);
  }

  // Inlined by force: sums are registers only where no function is given them.
  template <class Stored, Addition kAddition>
  OCTAVO_DEVICE void finish_pairs() {
    block.each([&](int t) __attribute__((always_inline)) {
      const RowEpilogue& e = p.epilogue;
      const std::int64_t first = block.z() * p.padded_out + block.y() * Tile::kColumns + Tile::column_of(t, 0, 0);
      const std::int32_t* biases = p.bias + first;
      const float* multipliers = e.multiplier + first;
      const float* rests = e.rest == nullptr ? nullptr : e.rest + first;
      constexpr int kSize = sizeof(Stored), kRowBytes = kPitch<Stored>;
      RowScale rows[Tile::kMmaM][2];
      unrolled<Tile::kMmaM>(
          [&](auto m) { unrolled<2>([&](auto half) { rows[m][half] = row_scale(Tile::row_of(t, m, 2 * half)); }); });
      std::byte* corner = block.shared() + Tile::row_of(t, 0, 0) * kRowBytes + Tile::column_of(t, 0, 0) * kSize;
      unrolled<Tile::kMmaN>([&](auto n) __attribute__((always_inline)) {
        constexpr int kColumn = n * kMmaColumns;
        const auto bias = *reinterpret_cast<const Integers*>(biases + kColumn);
        const auto multiplier = *reinterpret_cast<const Reals*>(multipliers + kColumn);
        const auto rest = rests == nullptr ? Reals{} : *reinterpret_cast<const Reals*>(rests + kColumn);
        unrolled<Tile::kMmaM>([&](auto m) __attribute__((always_inline)) {
          unrolled<2>([&](auto half) __attribute__((always_inline)) {
            constexpr int kRow = m * kMmaRows + half * 8;
            finish_pair<Stored, kAddition>(sums[t].at[m][n], half, bias, multiplier, rest, rows[m][half],
                                           corner + kRow * kRowBytes + kColumn * kSize);
          });
        });
      });
    });
  }

  OCTAVO_DEVICE void finish_all_pairs(std::uint8_t) {
    switch (p.epilogue.addition) {
      case Addition::none: return finish_pairs<std::uint8_t, Addition::none>();
      case Addition::before_rounding: return finish_pairs<std::uint8_t, Addition::before_rounding>();
      case Addition::real_first: return finish_pairs<std::uint8_t, Addition::real_first>();
      case Addition::real_second: return finish_pairs<std::uint8_t, Addition::real_second>();
      case Addition::integer: return finish_pairs<std::uint8_t, Addition::integer>();
    }
  }
  // Words have no other additions (EpilogueParts).
  OCTAVO_DEVICE void finish_all_pairs(std::int16_t) {
    if (p.epilogue.addition == Addition::none) finish_pairs<std::int16_t, Addition::none>();
    else finish_pairs<std::int16_t, Addition::before_rounding>();
  }

  template <class Stored>
  OCTAVO_DEVICE void finish_stored_values() {
    if (p.epilogue.addition != Addition::none) {
      each_chunk<Stored>(
          [&](std::byte* chunk, std::int64_t at) { Block::template copy<kChunkBytes>(chunk, p.other + at); });
      block.sync();
    }
    finish_all_pairs(Stored{});
    block.sync();
    const std::uint8_t* table = sizeof(Stored) == 1 ? p.epilogue.table : nullptr;
    each_chunk<Stored>([&](std::byte* chunk, std::int64_t at) {
      auto* bytes = reinterpret_cast<std::uint8_t*>(chunk);
      for (int i = 0; table != nullptr && i < kChunkBytes; ++i) bytes[i] = table[bytes[i]];
      Block::template copy<kChunkBytes>(p.y + at, chunk);
    });
  }

  // ---- anything ----

  // The sums of half of the rows to shared memory.
  OCTAVO_DEVICE void lay_out(int half) {
    auto* shared = reinterpret_cast<std::int32_t*>(block.shared());
    block.each([&](int t) {
      unrolled<Tile::kMmaM>([&](auto m) {
        const int first = Tile::row_of(t, m, 0) - half * Tile::kHalf;
        if (first < 0 || first >= Tile::kHalf) return;
        unrolled<Tile::kMmaN>([&](auto n) {
          unrolled<4>([&](auto i) {
            const int column = Tile::column_of(t, n, i);
            std::int32_t sum = sums[t].at[m][n][i];
            if constexpr (Tile::kHasOffset) {
              const std::int64_t channel = block.z() * p.padded_out + block.y() * Tile::kColumns + column;
              if (Tile::has_offset(p))
                sum = Scalar::add_s32(sum, Scalar::mul_s32(sums[t].of_rows[m][i], p.w_offset[channel]));
            }
            shared[(first + i / 2 * 8) * Tile::kSumPitch + column] = sum;
          });
        });
      });
    });
  }

  // Those sums to y.
  OCTAVO_DEVICE void finish(int half) {
    constexpr int kQuads = Tile::kColumns / kQuad, kRowsAtOnce = Tile::kThreads / kQuads;
    const auto* shared = reinterpret_cast<const std::int32_t*>(block.shared());
    const WindowArgs& g = p.window;
    const bool is_whole = p.group_out % kQuad == 0;
    block.each([&](int t) {
      const auto own = static_cast<std::int32_t>(block.y()) * Tile::kColumns + t % kQuads * kQuad;  // of the group
      const int count = p.group_out - own < kQuad ? p.group_out - own : kQuad;
      if (count <= 0) return;
      const auto channels = QuadChannels::of(p.epilogue, p.bias, block.z() * p.padded_out + own, kQuad);
      for (int row = t / kQuads; row < Tile::kHalf; row += kRowsAtOnce) {
        const std::int64_t pixel = block.x() * Tile::kRows + half * Tile::kHalf + row;
        if (pixel >= p.pixels) return;
        Quad<std::int32_t> quad;
        unrolled<kQuad>([&](auto i) { quad[i] = shared[row * Tile::kSumPitch + t % kQuads * kQuad + i]; });
        const std::int64_t element = pixel * g.out_channels + block.z() * p.group_out + own;
        if constexpr (Tile::kInRun)
          finish_quad_in_run<Block>(p.epilogue, p.run, pixel / p.run.pixels, channels, quad, p.other, p.y, element,
                                    count, is_whole);
        else finish_quad<Block>(p.epilogue, channels, quad, p.other, p.y, element, count, is_whole);
      }
    });
  }

  OCTAVO_DEVICE void write() {
    if (is_stored<std::uint8_t>()) return finish_stored_values<std::uint8_t>();
    if (is_stored<std::int16_t>()) return finish_stored_values<std::int16_t>();
    unrolled<2>([&](auto half) {
      lay_out(half);
      block.sync();
      finish(half);
      block.sync();
    });
  }
};

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_CONV_RESULT_H_
