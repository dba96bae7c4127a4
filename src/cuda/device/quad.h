// Four neighbouring channels of a result: what a thread stores at once. Part of cuda/device/.
#ifndef OCTAVO_CUDA_DEVICE_QUAD_H_
#define OCTAVO_CUDA_DEVICE_QUAD_H_

#include "cuda/arguments.h"
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

// Four values that are neighbours, or the first `count` of them; `is_whole`: they lie at a multiple of four.
template <class Block, class T>
OCTAVO_DEVICE void load_quad(const T* from, int count, bool is_whole, Quad<T>& values) {
  if (is_whole)
    return Block::template copy<kQuad * sizeof(T)>(reinterpret_cast<std::byte*>(values.at),
                                                   reinterpret_cast<const std::byte*>(from));
  unrolled<kQuad>([&](auto i) { values[i] = i < count ? from[i] : T{0}; });
}

template <class Block, class T>
OCTAVO_DEVICE void store_quad(std::byte* y, std::int64_t element, const Quad<T>& values, int count, bool is_whole) {
  std::byte* to = y + element * static_cast<std::int64_t>(sizeof(T));
  if (is_whole) return Block::template copy<kQuad * sizeof(T)>(to, reinterpret_cast<const std::byte*>(values.at));
  unrolled<kQuad>([&](auto i) {
    if (i < count) reinterpret_cast<T*>(to)[i] = values[i];
  });
}

// An epilogue whose factors, where it has any, are those from this one on.
OCTAVO_DEVICE RowEpilogue with_factors_at(const RowEpilogue& epilogue, std::int64_t first) {
  RowEpilogue e = epilogue;
  if (e.formula == Formula::double_scale) e.double_multiplier += first;
  if (e.formula == Formula::fixed_scale) e.fixed_multiplier += first, e.fixed_shift += first;
  return e;
}

// The other operand of an addition, as it is stored.
template <class Block>
OCTAVO_DEVICE void load_others(const RowEpilogue& e, const std::byte* other, std::int64_t element, int count,
                               bool is_whole, Quad<std::int32_t>& others) {
  if (e.addition == Addition::none) return;
  if (e.other_is_words) {
    Quad<std::int16_t> words;
    load_quad<Block>(reinterpret_cast<const std::int16_t*>(other) + element, count, is_whole, words);
    return unrolled<kQuad>([&](auto i) { others[i] = words[i]; });
  }
  Quad<std::uint8_t> bytes;
  load_quad<Block>(reinterpret_cast<const std::uint8_t*>(other) + element, count, is_whole, bytes);
  unrolled<kQuad>([&](auto i) {
    others[i] = e.other_is_signed ? static_cast<std::int8_t>(bytes[i]) : static_cast<std::int32_t>(bytes[i]);
  });
}

// Rounded results, through the table where there is one.
template <class Block>
OCTAVO_DEVICE void store_stored(const RowEpilogue& e, const Quad<std::int32_t>& stored, std::byte* y,
                                std::int64_t element, int count, bool is_whole) {
  if (e.result == RowEpilogue::Result::words) {
    Quad<std::int16_t> words;
    unrolled<kQuad>([&](auto i) { words[i] = static_cast<std::int16_t>(stored[i]); });
    return store_quad<Block>(y, element, words, count, is_whole);
  }
  Quad<std::uint8_t> bytes;
  unrolled<kQuad>([&](auto i) {
    const auto byte = static_cast<std::uint8_t>(stored[i]);
    bytes[i] = e.table == nullptr ? byte : e.table[byte];
  });
  store_quad<Block>(y, element, bytes, count, is_whole);
}

// finish_channels of the epilogue for one channel. By hand: its loop would keep bytes in memory.
OCTAVO_DEVICE float real_of(const RowEpilogue& e, std::int32_t sum, float rest) {
  return e.rest == nullptr ? Scalar::to_f32(sum) : Scalar::add(Scalar::to_f32(sum), rest);
}
OCTAVO_DEVICE std::int32_t stored_of(const RowEpilogue& e, float real, float multiplier, std::int32_t other) {
  if (e.addition != Addition::integer) return finish_stored<Scalar>(e, real, multiplier, [&] { return other; });
  const std::int32_t q = rounded<Scalar>(Scalar::mul(real, multiplier), e.round);
  return IntegerSum::rounded_by<Scalar>(e, e.add_round, q, other);
}

// What becomes of the sums of `count` channels of a pixel, from `element` of y on.
template <class Block>
OCTAVO_DEVICE void finish_quad(const RowEpilogue& e, const QuadChannels& channels, const Quad<std::int32_t>& sums,
                               const std::byte* other, std::byte* y, std::int64_t element, int count, bool is_whole) {
  Quad<std::int32_t> biased;
  unrolled<kQuad>([&](auto i) { biased[i] = Scalar::add_s32(sums[i], channels.bias[i]); });
  if (e.result == RowEpilogue::Result::s32) return store_quad<Block>(y, element, biased, count, is_whole);
  Quad<float> reals;
  unrolled<kQuad>([&](auto i) { reals[i] = real_of(e, biased[i], channels.rest[i]); });
  if (e.result == RowEpilogue::Result::f32) {
    unrolled<kQuad>([&](auto i) { reals[i] = Scalar::mul(reals[i], channels.multiplier[i]); });
    return store_quad<Block>(y, element, reals, count, is_whole);
  }
  Quad<std::int32_t> others, stored;
  load_others<Block>(e, other, element, count, is_whole, others);
  unrolled<kQuad>([&](auto i) { stored[i] = stored_of(e, reals[i], channels.multiplier[i], others[i]); });
  store_stored<Block>(e, stored, y, element, count, is_whole);
}

// NaN stays what it is.
OCTAVO_DEVICE float clamped(float value, float lowest, float highest) {
  const float raised = value < lowest ? lowest : value;
  return raised > highest ? highest : raised;
}

// A sum of x without the zero point of its row, which is known, as its scale is, in the run; `bias` is what the zero
// point adds.
OCTAVO_DEVICE float real_in_run(RunForm form, std::int32_t sum, std::int32_t bias, float multiplier, float rest,
                                float scale, std::int32_t zero_point) {
  return scaled_in_run(form, Scalar::add_s32(sum, Scalar::mul_s32(zero_point, bias)), scale, multiplier, rest);
}
OCTAVO_DEVICE std::int32_t stored_in_run(const RowEpilogue& e, float real, std::int32_t other) {
  const bool adds = e.addition != Addition::none;
  return rounded<Scalar>(adds ? Scalar::fma(real_other<Scalar>(e, other), e.ratio, real) : real, e.round);
}

// finish_quad of such sums.
template <class Block>
OCTAVO_DEVICE void finish_quad_in_run(const RowEpilogue& e, const RunScaleArgs& run, std::int64_t row,
                                      const QuadChannels& channels, const Quad<std::int32_t>& sums,
                                      const std::byte* other, std::byte* y, std::int64_t element, int count,
                                      bool is_whole) {
  const float scale = run.scale[row];
  const std::int32_t zero_point = run.zero_point[row];
  Quad<float> reals;
  unrolled<kQuad>([&](auto i) {
    reals[i] =
        real_in_run(run.form, sums[i], channels.bias[i], channels.multiplier[i], channels.rest[i], scale, zero_point);
  });
  if (e.result == RowEpilogue::Result::f32) {
    unrolled<kQuad>([&](auto i) { reals[i] = clamped(reals[i], run.lowest, run.highest); });
    return store_quad<Block>(y, element, reals, count, is_whole);
  }
  Quad<std::int32_t> others, stored;
  load_others<Block>(e, other, element, count, is_whole, others);
  unrolled<kQuad>([&](auto i) { stored[i] = stored_in_run(e, reals[i], others[i]); });
  store_stored<Block>(e, stored, y, element, count, is_whole);
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_QUAD_H_
