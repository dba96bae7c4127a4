// Four neighbouring channels of a result: what a thread stores at once. Part of cuda/device/.
#ifndef OCTAVO_CUDA_DEVICE_QUAD_H_
#define OCTAVO_CUDA_DEVICE_QUAD_H_

#include "cuda/device/platform.h"
#include "kernels/eltwise/pairs.h"

namespace octavo::cuda {

inline constexpr int kQuad = 4;

// Of a thread, as they are loaded and stored at once.
template <class T>
struct alignas(kQuad * sizeof(T)) Quad {
  T at[kQuad] = {};
  OCTAVO_DEVICE T& operator[](int i) { return at[i]; }
  OCTAVO_DEVICE const T& operator[](int i) const { return at[i]; }
};

// The constants of four channels, read once for all pixels of a thread. Those that a conv has padded are there for
// channels beyond the last one, too.
struct QuadChannels {
  std::int32_t bias[kQuad];
  float multiplier[kQuad];
  float rest[kQuad];

  OCTAVO_DEVICE static QuadChannels of(const RowEpilogue& e, const std::int32_t* bias, std::int64_t first, int count) {
    QuadChannels own;
    unrolled<kQuad>([&](auto i) {
      const bool exists = i < count;
      own.bias[i] = exists ? bias[first + i] : 0;
      own.multiplier[i] = exists && e.multiplier != nullptr ? e.multiplier[first + i] : 0.0f;
      own.rest[i] = exists && e.rest != nullptr ? e.rest[first + i] : 0.0f;
    });
    return own;
  }
};

// Four bytes that are neighbours, or the first `count` of them; `is_whole`: they lie at a multiple of four.
template <class Block>
OCTAVO_DEVICE void load_quad(const std::uint8_t* from, int count, bool is_whole, Quad<std::uint8_t>& bytes) {
  if (is_whole)
    return Block::template copy<kQuad>(reinterpret_cast<std::byte*>(bytes.at),
                                       reinterpret_cast<const std::byte*>(from));
  unrolled<kQuad>([&](auto i) { bytes[i] = i < count ? from[i] : std::uint8_t{0}; });
}

template <class Block, class T>
OCTAVO_DEVICE void store_quad(std::byte* y, std::int64_t element, const Quad<T>& values, int count, bool is_whole) {
  std::byte* to = y + element * static_cast<std::int64_t>(sizeof(T));
  if (is_whole) return Block::template copy<kQuad * sizeof(T)>(to, reinterpret_cast<const std::byte*>(values.at));
  unrolled<kQuad>([&](auto i) {
    if (i < count) reinterpret_cast<T*>(to)[i] = values[i];
  });
}

// finish_channels of the epilogue for one channel. By hand: its loop would keep bytes in memory.
OCTAVO_DEVICE float real_of(const RowEpilogue& e, std::int32_t sum, float rest) {
  return e.rest == nullptr ? Scalar::to_f32(sum) : Scalar::add(Scalar::to_f32(sum), rest);
}
OCTAVO_DEVICE std::int32_t sum_with_other(const RowEpilogue& e, float real, float multiplier, std::uint8_t other) {
  const std::int32_t q = rounded<Scalar>(Scalar::mul(real, multiplier), e.round);
  const std::int32_t b = e.other_is_signed ? Scalar::widen_s8(&other) : Scalar::widen_u8(&other);
  return IntegerSum::rounded_by<Scalar>(e, e.add_round, q, b);
}
OCTAVO_DEVICE std::uint8_t byte_of(const RowEpilogue& e, float real, float multiplier, std::uint8_t other) {
  const auto stored =
      static_cast<std::uint8_t>(e.addition == Addition::integer ? sum_with_other(e, real, multiplier, other)
                                                                : finish_8bit<Scalar>(e, real, multiplier, &other, 0));
  return e.table == nullptr ? stored : e.table[stored];
}

// What becomes of the sums of `count` channels of a pixel, from `element` of y on.
template <class Block>
OCTAVO_DEVICE void finish_quad(const RowEpilogue& e, const QuadChannels& channels, const Quad<std::int32_t>& sums,
                               const std::uint8_t* other, std::byte* y, std::int64_t element, int count,
                               bool is_whole) {
  Quad<std::int32_t> biased;
  unrolled<kQuad>([&](auto i) { biased[i] = Scalar::add_s32(sums[i], channels.bias[i]); });
  if (e.result == RowEpilogue::Result::s32) return store_quad<Block>(y, element, biased, count, is_whole);
  Quad<float> reals;
  unrolled<kQuad>([&](auto i) { reals[i] = real_of(e, biased[i], channels.rest[i]); });
  if (e.result == RowEpilogue::Result::f32) {
    unrolled<kQuad>([&](auto i) { reals[i] = Scalar::mul(reals[i], channels.multiplier[i]); });
    return store_quad<Block>(y, element, reals, count, is_whole);
  }
  Quad<std::uint8_t> others, bytes;
  if (e.addition != Addition::none) load_quad<Block>(other + element, count, is_whole, others);
  unrolled<kQuad>([&](auto i) { bytes[i] = byte_of(e, reals[i], channels.multiplier[i], others[i]); });
  store_quad<Block>(y, element, bytes, count, is_whole);
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_QUAD_H_
