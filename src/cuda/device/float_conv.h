// fused_conv: each sum is one chain of fused multiply-adds in f32, so that a thread has whole sums, and goes along K.
// Part of cuda/device/.
//
// Tiles: 64 pixels by 64 channels of a group, 16 by 16 threads with four by four sums each; sixteen of K at a time in
// shared memory, [k][64 pixels] of x, then [k][64 channels] of w. At the end the sums lie there, [64][64], so that the
// activation is written once.
#ifndef OCTAVO_CUDA_DEVICE_FLOAT_CONV_H_
#define OCTAVO_CUDA_DEVICE_FLOAT_CONV_H_

#include "cuda/device/floats.h"

namespace octavo::cuda {

inline constexpr int kFloatTile = 64, kFloatStep = 16, kFloatSide = 16, kFloatSums = kFloatTile / kFloatSide;

// Where the k-th element of a pixel's window lies in x, -1 outside of the image.
OCTAVO_DEVICE std::int64_t link_of(const FloatConvArgs& p, const WindowCorner& corner, std::int64_t group,
                                   std::int32_t k) {
  const std::int64_t place = tap_of(p.window, corner, k / p.group_in);
  return place < 0 ? -1 : place + group * p.group_in + k % p.group_in;
}

// What becomes of the sum of an element of y.
OCTAVO_DEVICE void end_chain(const FloatConvArgs& p, float sum, float bias, std::int64_t at) {
  float value = Lane::add(sum, bias);
  if (p.addition == FloatAddition::before_activation) value = Lane::add(value, p.residual[at]);
  value = unary_of(p.activation, value, p.numbers);
  if (p.addition == FloatAddition::after_activation) value = Lane::add(value, p.residual[at]);
  p.y[at] = value;
}

template <class Block>
struct FloatConvKernel {
  struct Sums {
    float at[kFloatSums][kFloatSums];
  };

  Block& block;
  const FloatConvArgs& p;
  typename Block::template Each<Sums> sums;

  OCTAVO_DEVICE float* x_tile() const { return reinterpret_cast<float*>(block.shared()); }
  OCTAVO_DEVICE float* w_tile() const { return x_tile() + kFloatStep * kFloatTile; }
  OCTAVO_DEVICE std::int64_t pixel_of(int row) const { return block.x() * kFloatTile + row; }

  // Neighbouring threads have neighbouring elements of K of x, and neighbouring channels of w.
  OCTAVO_DEVICE void load(std::int32_t first) {
    block.each([&](int t) {
      const std::int32_t k = first + t % kFloatStep;
      unrolled<kFloatSums>([&](auto i) {
        const int row = t / kFloatStep + i * kFloatSide;
        float value = 0.0f;
        if (k < p.k && pixel_of(row) < p.pixels) {
          const std::int64_t at = link_of(p, corner_of(p.window, pixel_of(row)), block.z(), k);
          if (at >= 0) value = p.x[at];
        }
        x_tile()[t % kFloatStep * kFloatTile + row] = value;
        const int link = t / kFloatTile + i * kFloatSums, column = t % kFloatTile;
        const std::int64_t channel = block.z() * p.padded_out + block.y() * kFloatTile + column;
        const bool exists = first + link < p.k;
        w_tile()[link * kFloatTile + column] =
            exists ? p.w[std::int64_t{first + link} * p.groups * p.padded_out + channel] : 0.0f;
      });
    });
    block.sync();
  }

  // No more than there is: a product of zeros could change the sign of a sum.
  OCTAVO_DEVICE void multiply(std::int32_t links) {
    block.each([&](int t) {
      const int row = t / kFloatSide, column = t % kFloatSide;
      for (std::int32_t link = 0; link < links; ++link) {
        float x[kFloatSums], w[kFloatSums];
        unrolled<kFloatSums>([&](auto i) {
          x[i] = x_tile()[link * kFloatTile + row + i * kFloatSide];
          w[i] = w_tile()[link * kFloatTile + column + i * kFloatSide];
        });
        unrolled<kFloatSums>([&](auto i) {
          unrolled<kFloatSums>([&](auto j) { sums[t].at[i][j] = Lane::fma(x[i], w[j], sums[t].at[i][j]); });
        });
      }
    });
    block.sync();
  }

  OCTAVO_DEVICE void finish() {
    float* shared = x_tile();
    block.each([&](int t) {
      unrolled<kFloatSums>([&](auto i) {
        unrolled<kFloatSums>([&](auto j) {
          const int row = t / kFloatSide + i * kFloatSide, column = t % kFloatSide + j * kFloatSide;
          shared[row * kFloatTile + column] = sums[t].at[i][j];
        });
      });
    });
    block.sync();
    block.each([&](int t) {
      for (int i = t; i < kFloatTile * kFloatTile; i += kThreadsOfBlock) {
        const std::int64_t pixel = pixel_of(i / kFloatTile), own = block.y() * kFloatTile + i % kFloatTile;
        if (pixel >= p.pixels || own >= p.group_out) continue;
        const std::int64_t at = pixel * p.window.out_channels + block.z() * p.group_out + own;
        end_chain(p, shared[i], p.bias[block.z() * p.padded_out + own], at);
      }
    });
  }

  OCTAVO_DEVICE void run() {
    block.each([&](int t) {
      unrolled<kFloatSums>([&](auto i) { unrolled<kFloatSums>([&](auto j) { sums[t].at[i][j] = 0.0f; }); });
    });
    for (std::int32_t first = 0; first < p.k; first += kFloatStep) {
      load(first);
      multiply(p.k - first < kFloatStep ? p.k - first : kFloatStep);
    }
    finish();
  }
};

template <class Block>
OCTAVO_DEVICE void float_conv(Block& block, const FloatConvArgs& arguments) {
  FloatConvKernel<Block>{block, arguments, {}}.run();
}

// A thread has an element of y: of groups of few channels.
template <class Block>
OCTAVO_DEVICE void float_conv_direct(Block& block, const FloatConvArgs& p) {
  each_thread(block, p.pixels * p.window.out_channels, [&](std::int64_t thread) {
    const std::int64_t channel = thread % p.window.out_channels;
    const WindowCorner corner = corner_of(p.window, thread / p.window.out_channels);
    float sum = 0.0f;
    for (std::int32_t k = 0; k < p.k; ++k) {
      const std::int64_t at = link_of(p, corner, channel / p.group_out, k);
      sum = Lane::fma(at < 0 ? 0.0f : p.x[at], p.w[std::int64_t{k} * p.window.out_channels + channel], sum);
    }
    end_chain(p, sum, p.bias[channel], thread);
  });
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_FLOAT_CONV_H_
