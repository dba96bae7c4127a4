// Convolution as an implicit product of matrices: rows are pixels of y, columns channels of y, K the taps of the
// window, channel by channel. Part of cuda/device/.
//
// A tile of kRows x kColumns sums is the registers of four warps, or eight. K comes in steps of 64 bytes, which are
// copied to shared memory some steps ahead:
//   stage   [kRows][64] of x, then [kColumns][64] of w; the four chunks of 16 bytes of a row are permuted by its number
// so that neither 8 rows read by ldmatrix nor 8 chunks written meet in a bank; it is also how wgmma reads rows of 64
// bytes. Where weights have an offset, each row of x is multiplied by ones, too: that sum times the offset of a channel
// is added when sums are laid out. Scales of a run differ from row to row: the zero point of a row stands around the
// image, and what it adds to a sum is taken away at the end.
#ifndef OCTAVO_CUDA_DEVICE_CONV_H_
#define OCTAVO_CUDA_DEVICE_CONV_H_

#include "cuda/arguments.h"
#include "cuda/device/conv_result.h"
#include "cuda/device/conv_tile.h"

namespace octavo::cuda {

// Where a tap of x lies for all rows: a place in K.
struct TapCursor {
  std::int32_t kh = 0, kw = 0, channel = 0;

  OCTAVO_DEVICE void advance(const ConvArgs& p, int bytes) {
    for (channel += bytes; channel >= p.group_in; channel -= p.group_in) {
      if (++kw == p.window.kernel_w) kw = 0, ++kh;
    }
  }
};

// The upper left corner of a pixel's window.
struct PixelCorner {
  const std::byte* x = nullptr;  // its channel 0; may be outside of x
  std::int32_t h = 0, w = 0;
  std::uint32_t padding = 0;  // four times what stands around the image, of kernels that find it in the run
};

// Of a tap, as far as it is the same for all pixels: how far it is from the corner. One behind the window is outside of
// every image.
struct TapPlace {
  std::int32_t down = 0, right = 0;
  std::int64_t offset = 0;
};

template <class Tile, class Block>
struct ConvKernel {
  struct Loads {
    PixelCorner corners[Tile::kRowsOfThread];
    TapCursor cursor;
  };
  struct Fragments {
    std::uint32_t a[Tile::kMmaM][4];
    std::uint32_t b[Tile::kMmaN][2];
  };

  static constexpr std::int32_t kFarOutside = -(1 << 30);

  Block& block;
  const ConvArgs& p;
  typename Block::template Each<Loads> loads;
  typename Block::template Each<TileSums<Tile>> sums;

  OCTAVO_DEVICE static int swizzled(int row, int chunk) {
    return row * kStepBytes + ((chunk ^ (row >> 1 & 3)) * kChunkBytes);
  }
  OCTAVO_DEVICE std::byte* stage(int number) const { return block.shared() + number % Tile::kStages * Tile::kStage; }

  OCTAVO_DEVICE PixelCorner corner_of(std::int64_t pixel) const {
    const WindowArgs& g = p.window;
    if (pixel >= p.pixels) return {p.x, kFarOutside, kFarOutside};
    const auto number = static_cast<std::uint32_t>(pixel);
    const std::uint32_t row = g.by_out_width.quotient(number), image = g.by_out_height.quotient(row);
    const auto ow = static_cast<std::int32_t>(number - row * g.by_out_width.divisor);
    const auto oh = static_cast<std::int32_t>(row - image * g.by_out_height.divisor);
    const std::int32_t h = oh * g.stride_h - g.pad_top, w = ow * g.stride_w - g.pad_left;
    const std::int64_t line = std::int64_t{image} * g.height + h;
    std::uint32_t padding = 0;
    if constexpr (Tile::kInRun) padding = p.run.zero_point[pixel / p.run.pixels] * 0x01010101u;
    return {p.x + (line * g.width + w) * g.channels + block.z() * p.group_in, h, w, padding};
  }

  OCTAVO_DEVICE void begin() {
    block.each([&](int t) {
      unrolled<Tile::kRowsOfThread>([&](auto i) {
        loads[t].corners[i] = corner_of(block.x() * Tile::kRows + t / Tile::kPieces + i * Tile::kRowsAtOnce);
      });
      loads[t].cursor = {};
      loads[t].cursor.advance(p, t % Tile::kPieces * Tile::kPieceBytes);
      unrolled<Tile::kMmaM>([&](auto m) {
        unrolled<Tile::kMmaN>([&](auto n) { unrolled<4>([&](auto i) { sums[t].at[m][n][i] = 0; }); });
        if constexpr (Tile::kHasOffset) unrolled<4>([&](auto i) { sums[t].of_rows[m][i] = 0; });
      });
    });
  }

  OCTAVO_DEVICE TapPlace place_of(const TapCursor& at) const {
    const WindowArgs& g = p.window;
    const std::int32_t down = at.kh < g.kernel_h ? at.kh * g.dilation_h : kFarOutside, right = at.kw * g.dilation_w;
    return {down, right, (std::int64_t{at.kh} * g.dilation_h * g.width + right) * g.channels + at.channel};
  }

  // What stands there for a pixel: in x, or what stands around the image.
  OCTAVO_DEVICE const std::byte* tap(const PixelCorner& corner, const TapPlace& at) const {
    const WindowArgs& g = p.window;
    const auto h = static_cast<std::uint32_t>(corner.h + at.down), w = static_cast<std::uint32_t>(corner.w + at.right);
    const bool is_inside = h < static_cast<std::uint32_t>(g.height) && w < static_cast<std::uint32_t>(g.width);
    return is_inside ? corner.x + at.offset : p.padding;
  }

  OCTAVO_DEVICE std::byte* place_in(std::byte* to, int t, int i) const {
    const int row = t / Tile::kPieces + i * Tile::kRowsAtOnce, at = t % Tile::kPieces * Tile::kPieceBytes;
    return to + swizzled(row, at / kChunkBytes) + at % kChunkBytes;
  }

  OCTAVO_DEVICE void load_pieces(const Loads& own, int t, std::byte* to) {
    const TapPlace place = place_of(own.cursor);
    unrolled<Tile::kRowsOfThread>([&](auto i) {
      std::byte* piece = place_in(to, t, i);
      const std::byte* from = tap(own.corners[i], place);
      if (Tile::kInRun && from == nullptr) {
        unrolled<Tile::kCopy / 4>(
            [&](auto word) { reinterpret_cast<std::uint32_t*>(piece)[word] = own.corners[i].padding; });
      } else {
        block.template copy_async<Tile::kCopy, true>(piece, from);
      }
    });
  }

  // Byte by byte, words of them at once; weights behind the window are 0, unless they have offsets.
  OCTAVO_DEVICE void load_bytes(const Loads& own, int t, std::byte* to) {
    TapCursor at = own.cursor;
    for (int word = 0; word < kChunkBytes / kQuad; ++word) {
      if (!Tile::kHasOffset && at.kh >= p.window.kernel_h) return;
      std::uint32_t words[Tile::kRowsOfThread] = {};
      unrolled<kQuad>([&](auto byte) {
        const TapPlace place = place_of(at);
        unrolled<Tile::kRowsOfThread>([&](auto i) {
          const std::byte* from = tap(own.corners[i], place);
          const std::uint32_t value =
              Tile::kInRun && from == nullptr ? own.corners[i].padding & 0xff : static_cast<std::uint32_t>(*from);
          words[i] |= value << 8 * byte;
        });
        at.advance(p, 1);
      });
      unrolled<Tile::kRowsOfThread>(
          [&](auto i) { reinterpret_cast<std::uint32_t*>(place_in(to, t, i))[word] = words[i]; });
    }
  }

  OCTAVO_DEVICE void load_w(int t, int step, std::byte* to) {
    const std::int64_t first = block.z() * p.padded_out + block.y() * Tile::kColumns;
    unrolled<Tile::kColumnsOfThread>([&](auto i) {
      const int column = t / kChunks + i * (Tile::kThreads / kChunks);
      const std::int64_t k = std::int64_t{step} * kStepBytes + t % kChunks * kChunkBytes;
      block.template copy_async<kChunkBytes>(to + swizzled(column, t % kChunks),
                                             p.w + (first + column) * p.padded_k + k);
    });
  }

  // Copies of a step of K; an empty group where there is none any more.
  OCTAVO_DEVICE void load(int step) {
    if (step < p.padded_k / kStepBytes) {
      std::byte* to = stage(step);
      block.each([&](int t) {
        if constexpr (Tile::kCopy == 1) load_bytes(loads[t], t, to);
        else load_pieces(loads[t], t, to);
        load_w(t, step, to + Tile::kRows * kStepBytes);
        if (step + 1 < p.padded_k / kStepBytes) loads[t].cursor.advance(p, kStepBytes);
      });
    }
    block.commit_copies();
  }

  // 32 bytes of K.
  OCTAVO_DEVICE void multiply(const std::byte* x, const std::byte* w, int half) {
    typename Block::template Each<Fragments> own;
    unrolled<Tile::kMmaM>([&](auto m) {
      block.load_matrices(
          [&](int t) {
            const int lane = t % kWarp, row = Tile::warp_row(t) + m * kMmaRows + lane % 16;
            return x + swizzled(row, 2 * half + lane / 16);
          },
          [&](int t) {
            auto& a = own[t].a[m];
            return Words{a[0], a[1], a[2], a[3]};
          });
    });
    unrolled<Tile::kMmaN / 2>([&](auto pair) {
      block.load_matrices(
          [&](int t) {
            const int lane = t % kWarp, column = Tile::warp_column(t) + pair * 16 + lane % 8 + lane / 16 * 8;
            return w + swizzled(column, 2 * half + lane / 8 % 2);
          },
          [&](int t) {
            auto& b = own[t].b;
            return Words{b[2 * pair][0], b[2 * pair][1], b[2 * pair + 1][0], b[2 * pair + 1][1]};
          });
    });
    unrolled<Tile::kMmaM>([&](auto m) {
      unrolled<Tile::kMmaN>([&](auto n) {
        block.multiply([&](int t) { return MmaOperands{sums[t].at[m][n], own[t].a[m], own[t].b[n]}; });
      });
    });
    if constexpr (Tile::kHasOffset) {
      const std::uint32_t ones[2] = {0x01010101, 0x01010101};
      if (Tile::has_offset(p)) {
        unrolled<Tile::kMmaM>([&](auto m) {
          block.multiply([&](int t) { return MmaOperands{sums[t].of_rows[m], own[t].a[m], ones}; });
        });
      }
    }
  }

  OCTAVO_DEVICE void multiply_all() {
    const int steps = p.padded_k / kStepBytes;
    for (int step = 0; step < Tile::kStages - 1; ++step) load(step);
    for (int step = 0; step < steps; ++step) {
      block.template wait_for_copies<Tile::kStages - 2>();
      block.sync();
      load(step + Tile::kStages - 1);
      const std::byte* x = stage(step);
      unrolled<kStepBytes / kMmaBytes>([&](auto half) { multiply(x, x + Tile::kRows * kStepBytes, half); });
    }
    block.template wait_for_copies<0>();
    block.sync();
  }

  // Of a step, while the next one is copied: done when it is waited for.
  OCTAVO_DEVICE void multiply_by_group(const std::byte* x) {
    block.begin_products();
    block.template multiply_group<Tile::kColumns>([&](int t) {
      return GroupOperands<Tile::kColumns>{sums[t].at[0], x + t / kGroup * kGroupRows * kStepBytes,
                                           x + Tile::kRows * kStepBytes};
    });
    block.commit_products();
  }

  // A stage is written to again when the products before the last ones are done, in all warps.
  OCTAVO_DEVICE void multiply_all_by_group() {
    const int steps = p.padded_k / kStepBytes;
    for (int step = 0; step < Tile::kStages - 2; ++step) load(step);
    for (int step = 0; step < steps; ++step) {
      block.template wait_for_copies<Tile::kStages - 3>();
      block.publish_copies();
      block.template wait_for_products<1>();
      block.sync();
      load(step + Tile::kStages - 2);
      multiply_by_group(stage(step));
    }
    block.template wait_for_copies<0>();
    block.template wait_for_products<0>();
    block.sync();
  }

  OCTAVO_DEVICE void run() {
    begin();
    if constexpr (Tile::kByGroup) multiply_all_by_group();
    else multiply_all();
    ConvResult<Tile, Block>{block, p, sums}.write();
  }
};

template <class Tile, class Block>
OCTAVO_DEVICE void conv(Block& block, const ConvArgs& arguments) {
  ConvKernel<Tile, Block>{block, arguments, {}, {}}.run();
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_CONV_H_
