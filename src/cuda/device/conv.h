// Convolution as an implicit product of matrices: rows are pixels of y, columns channels of y, K the taps of the
// window, channel by channel. Part of cuda/device/.
//
// A tile of kRows x kColumns sums is four warps' registers. K comes in steps of 64 bytes, which are copied to shared
// memory kStages - 1 steps ahead:
//   stage   [kRows][64] of x, then [kColumns][64] of w; the four chunks of 16 bytes of a row are permuted by its
//   number, so
//           that neither 8 rows read by ldmatrix nor 8 chunks written meet in a bank
// Where weights have an offset, each row of x is multiplied by ones, too: that sum times the offset of a channel is
// added when sums are laid out. Scales of a run differ from row to row: the zero point of a row stands around the
// image, and what it adds to a sum is taken away at the end. The sums go through shared memory once more, so that a
// thread finishes four neighbouring channels, and the threads of a warp write neighbours.
#ifndef OCTAVO_CUDA_DEVICE_CONV_H_
#define OCTAVO_CUDA_DEVICE_CONV_H_

#include "cuda/arguments.h"
#include "cuda/device/mma.h"
#include "cuda/device/quad.h"

namespace octavo::cuda {

inline constexpr int kStepBytes = 64;   // of K
inline constexpr int kChunkBytes = 16;  // what a thread copies at once
inline constexpr int kChunks = kStepBytes / kChunkBytes;

// Where the scale and the zero point of x are known: before, or only in the run, those of each row of a tile.
enum class XScale : std::uint8_t { known, in_run };

// kCopy: bytes of x that are neighbours in memory and aligned: 16, 8, 4, or 1.
template <int kRows_, int kColumns_, int kCopy_, bool kHasOffset_ = false, XScale kXScale = XScale::known>
struct ConvTile {
  static constexpr bool kHasOffset = kHasOffset_;
  static constexpr bool kInRun = kXScale == XScale::in_run;
  static constexpr int kRows = kRows_, kColumns = kColumns_, kCopy = kCopy_;
  static constexpr int kWarpRows = kRows / 2, kWarpColumns = kColumns / 2;
  static constexpr int kThreads = 4 * kWarp;
  static constexpr int kStages = 3;
  static constexpr int kStage = (kRows + kColumns) * kStepBytes;
  // Of sums in shared memory: four banks on for each row.
  static constexpr int kSumPitch = kColumns + kQuad;
  static constexpr int kSumBytes = kWarpRows * kSumPitch * 4;
  static constexpr int kShared = kStages * kStage > kSumBytes ? kStages* kStage : kSumBytes;
  static constexpr int kRowsOfThread = kRows * kChunks / kThreads;
  static constexpr int kColumnsOfThread = kColumns * kChunks / kThreads;
  static constexpr int kMmaM = kWarpRows / kMmaRows, kMmaN = kWarpColumns / kMmaColumns;
};

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
  std::int64_t offset = 0;  // in x, of its channel 0; may be outside of it
  std::int32_t h = 0, w = 0;
  std::uint32_t padding = 0;  // four times what stands around the image, of kernels that find it in the run
};

template <class Tile, class Block>
struct ConvKernel {
  struct Loads {
    PixelCorner corners[Tile::kRowsOfThread];
    TapCursor cursor;
  };
  struct Sums {
    std::int32_t at[Tile::kMmaM][Tile::kMmaN][4];
    std::int32_t of_rows[Tile::kHasOffset ? Tile::kMmaM : 1][4];
  };
  struct Fragments {
    std::uint32_t a[Tile::kMmaM][4];
    std::uint32_t b[Tile::kMmaN][2];
  };

  Block& block;
  const ConvArgs& p;
  typename Block::template Each<Loads> loads;
  typename Block::template Each<Sums> sums;

  OCTAVO_DEVICE static int swizzled(int row, int chunk) {
    return row * kStepBytes + ((chunk ^ (row >> 1 & 3)) * kChunkBytes);
  }
  OCTAVO_DEVICE std::byte* stage(int number) const { return block.shared() + number % Tile::kStages * Tile::kStage; }

  OCTAVO_DEVICE PixelCorner corner_of(std::int64_t pixel) const {
    constexpr std::int32_t kFarOutside = -(1 << 30);
    const WindowArgs& g = p.window;
    if (pixel >= p.pixels) return {0, kFarOutside, kFarOutside};
    const auto ow = static_cast<std::int32_t>(pixel % g.out_width);
    const std::int64_t row = pixel / g.out_width;
    const auto oh = static_cast<std::int32_t>(row % g.out_height);
    const std::int32_t h = oh * g.stride_h - g.pad_top, w = ow * g.stride_w - g.pad_left;
    const std::int64_t line = row / g.out_height * g.height + h;
    std::uint32_t padding = 0;
    if constexpr (Tile::kInRun) padding = p.run.zero_point[pixel / p.run.pixels] * 0x01010101u;
    return {(line * g.width + w) * g.channels + block.z() * p.group_in, h, w, padding};
  }

  OCTAVO_DEVICE void begin() {
    block.each([&](int t) {
      unrolled<Tile::kRowsOfThread>([&](auto i) {
        const int row = t / kChunks + i * (Tile::kThreads / kChunks);
        loads[t].corners[i] = corner_of(block.x() * Tile::kRows + row);
      });
      loads[t].cursor = {};
      loads[t].cursor.advance(p, t % kChunks * kChunkBytes);
      unrolled<Tile::kMmaM>([&](auto m) {
        unrolled<Tile::kMmaN>([&](auto n) { unrolled<4>([&](auto i) { sums[t].at[m][n][i] = 0; }); });
        if constexpr (Tile::kHasOffset) unrolled<4>([&](auto i) { sums[t].of_rows[m][i] = 0; });
      });
    });
  }

  // What stands at a cursor for a pixel: in x, or what stands around the image.
  OCTAVO_DEVICE const std::byte* tap(const PixelCorner& corner, const TapCursor& at) const {
    const WindowArgs& g = p.window;
    const std::int32_t down = at.kh * g.dilation_h, right = at.kw * g.dilation_w;
    const std::int32_t h = corner.h + down, w = corner.w + right;
    const bool is_inside = at.kh < g.kernel_h && h >= 0 && h < g.height && w >= 0 && w < g.width;
    const std::int64_t offset = corner.offset + (std::int64_t{down} * g.width + right) * g.channels + at.channel;
    return is_inside ? p.x + offset : p.padding;
  }

  OCTAVO_DEVICE static void pad(std::byte* place, std::uint32_t padding) {
    if constexpr (Tile::kCopy == 1) *place = static_cast<std::byte>(padding);
    else unrolled<Tile::kCopy / 4>([&](auto i) { reinterpret_cast<std::uint32_t*>(place)[i] = padding; });
  }

  OCTAVO_DEVICE void load_x(const Loads& own, int t, std::byte* to) {
    constexpr int kParts = kChunkBytes / Tile::kCopy;
    TapCursor at = own.cursor;
    const auto copy = [&](int part) {
      unrolled<Tile::kRowsOfThread>([&](auto i) {
        const int row = t / kChunks + i * (Tile::kThreads / kChunks);
        std::byte* place = to + swizzled(row, t % kChunks) + part * Tile::kCopy;
        const std::byte* from = tap(own.corners[i], at);
        if (Tile::kInRun && from == nullptr) pad(place, own.corners[i].padding);
        else if constexpr (Tile::kCopy == 1) *place = *from;
        else block.template copy_async<Tile::kCopy>(place, from);
      });
      at.advance(p, Tile::kCopy);
    };
    if constexpr (kParts <= 4) {
      unrolled<kParts>(copy);
    } else {
      for (int part = 0; part < kParts; ++part) copy(part);
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
        load_x(loads[t], t, to);
        load_w(t, step, to + Tile::kRows * kStepBytes);
        loads[t].cursor.advance(p, kStepBytes);
      });
    }
    block.commit_copies();
  }

  // Kernels for scales of a run take weights with offsets and without.
  OCTAVO_DEVICE bool has_offset() const { return Tile::kHasOffset && (!Tile::kInRun || p.w_offset != nullptr); }
  OCTAVO_DEVICE static int warp_row(int t) { return t / kWarp / 2 * Tile::kWarpRows; }
  OCTAVO_DEVICE static int warp_column(int t) { return t / kWarp % 2 * Tile::kWarpColumns; }

  // 32 bytes of K.
  OCTAVO_DEVICE void multiply(const std::byte* x, const std::byte* w, int half) {
    typename Block::template Each<Fragments> own;
    unrolled<Tile::kMmaM>([&](auto m) {
      block.load_matrices(
          [&](int t) {
            const int lane = t % kWarp, row = warp_row(t) + m * kMmaRows + lane % 16;
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
            const int lane = t % kWarp, column = warp_column(t) + pair * 16 + lane % 8 + lane / 16 * 8;
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
      if (has_offset()) {
        unrolled<Tile::kMmaM>([&](auto m) {
          block.multiply([&](int t) { return MmaOperands{sums[t].of_rows[m], own[t].a[m], ones}; });
        });
      }
    }
  }

  OCTAVO_DEVICE void multiply_all() {
    const int steps = p.padded_k / kStepBytes;
    unrolled<Tile::kStages - 1>([&](auto step) { load(step); });
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

  // The sums of one row of warps to shared memory.
  OCTAVO_DEVICE void lay_out(int first_row) {
    auto* shared = reinterpret_cast<std::int32_t*>(block.shared());
    block.each([&](int t) {
      if (warp_row(t) != first_row) return;
      const int lane = t % kWarp;
      unrolled<Tile::kMmaM>([&](auto m) {
        unrolled<Tile::kMmaN>([&](auto n) {
          unrolled<4>([&](auto i) {
            const int row = m * kMmaRows + lane / 4 + i / 2 * 8;
            const int column = warp_column(t) + n * kMmaColumns + lane % 4 * 2 + i % 2;
            std::int32_t sum = sums[t].at[m][n][i];
            if constexpr (Tile::kHasOffset) {
              const std::int64_t channel = block.z() * p.padded_out + block.y() * Tile::kColumns + column;
              if (has_offset()) sum = Scalar::add_s32(sum, Scalar::mul_s32(sums[t].of_rows[m][i], p.w_offset[channel]));
            }
            shared[row * Tile::kSumPitch + column] = sum;
          });
        });
      });
    });
  }

  // Those sums to y.
  OCTAVO_DEVICE void finish(int first_row) {
    constexpr int kQuads = Tile::kColumns / kQuad, kRowsAtOnce = Tile::kThreads / kQuads;
    const auto* shared = reinterpret_cast<const std::int32_t*>(block.shared());
    const WindowArgs& g = p.window;
    const bool is_whole = p.group_out % kQuad == 0;
    block.each([&](int t) {
      const auto own = static_cast<std::int32_t>(block.y()) * Tile::kColumns + t % kQuads * kQuad;  // of the group
      const int count = p.group_out - own < kQuad ? p.group_out - own : kQuad;
      if (count <= 0) return;
      const auto channels = QuadChannels::of(p.epilogue, p.bias, block.z() * p.padded_out + own, kQuad);
      for (int row = t / kQuads; row < Tile::kWarpRows; row += kRowsAtOnce) {
        const std::int64_t pixel = block.x() * Tile::kRows + first_row + row;
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

  OCTAVO_DEVICE void run() {
    begin();
    multiply_all();
    unrolled<2>([&](auto warp) {
      lay_out(warp * Tile::kWarpRows);
      block.sync();
      finish(warp * Tile::kWarpRows);
      block.sync();
    });
  }
};

template <class Tile, class Block>
OCTAVO_DEVICE void conv(Block& block, const ConvArgs& arguments) {
  ConvKernel<Tile, Block>{block, arguments, {}, {}}.run();
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_CONV_H_
