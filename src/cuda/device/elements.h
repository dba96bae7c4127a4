// Kernels of single stored values: pairs of them, sums, tables, quantize, dequantize. A thread has one element, or some
// that are neighbours. Part of cuda/device/.
#ifndef OCTAVO_CUDA_DEVICE_ELEMENTS_H_
#define OCTAVO_CUDA_DEVICE_ELEMENTS_H_

#include "base/requantize.h"
#include "cuda/arguments.h"
#include "cuda/device/strided.h"
#include "kernels/eltwise/pairs.h"
#include "kernels/epilogue/generic.h"
#include "kernels/quantize/generic.h"

namespace octavo::cuda {

template <Formula kFormula>
OCTAVO_DEVICE std::int32_t fixed_pair(const RowEpilogue& e, std::int32_t a, std::int32_t b) {
  return e.fixed_rounding == FixedRounding::once
             ? FixedPair<kFormula, FixedRounding::once>::template apply<Scalar>(e, a, b)
             : FixedPair<kFormula, FixedRounding::twice>::template apply<Scalar>(e, a, b);
}

// quantized_elementwise of two stored values.
OCTAVO_DEVICE std::int32_t pair_of(const RowEpilogue& e, std::int32_t a, std::int32_t b) {
  switch (e.formula) {
    case Formula::add_real: return RealSum::apply<Scalar>(e, a, b);
    case Formula::multiply: return RealProduct::apply<Scalar>(e, a, b);
    case Formula::add_integer: return IntegerSum::apply<Scalar>(e, a, b);
    case Formula::fixed_add: return fixed_pair<Formula::fixed_add>(e, a, b);
    case Formula::fixed_sub: return fixed_pair<Formula::fixed_sub>(e, a, b);
    case Formula::fixed_mul: return fixed_pair<Formula::fixed_mul>(e, a, b);
    case Formula::fixed_prelu: return fixed_pair<Formula::fixed_prelu>(e, a, b);
    default: return fixed_pair<Formula::fixed_squared_difference>(e, a, b);
  }
}

OCTAVO_DEVICE std::int32_t widened(std::uint8_t byte, bool is_signed) {
  return is_signed ? static_cast<std::int8_t>(byte) : static_cast<std::int32_t>(byte);
}

// kLanes: kQuad where the last axis comes in fours and both operands have neighbours there, else 1.
template <int kLanes, class Block>
OCTAVO_DEVICE void pairs_of(Block& block, const PairArgs& p) {
  each_thread(block, p.at.elements / kLanes, [&](std::int64_t thread) {
    const Places from = places_of(p.at, thread * kLanes);
    Quad<std::uint8_t> x, other, y;
    load_quad<Block>(reinterpret_cast<const std::uint8_t*>(p.at.x) + from.x, kLanes, kLanes == kQuad, x);
    load_quad<Block>(reinterpret_cast<const std::uint8_t*>(p.at.other) + from.other, kLanes, kLanes == kQuad, other);
    unrolled<kLanes>([&](auto i) {
      const std::int32_t a = widened(x[i], p.x_is_signed != 0), b = widened(other[i], p.other_is_signed != 0);
      y[i] = static_cast<std::uint8_t>(pair_of(p.epilogue, a, b));
      if (p.epilogue.table != nullptr) y[i] = p.epilogue.table[y[i]];
    });
    store_quad<Block>(p.at.y, thread * kLanes, y, kLanes, kLanes == kQuad);
  });
}

template <class T, class Block>
OCTAVO_DEVICE void table(Block& block, const BytesArgs& p) {
  each_quad(block, p.elements, [&](std::int64_t first, int count) {
    Quad<std::uint8_t> x;
    Quad<T> y;
    load_quad<Block>(reinterpret_cast<const std::uint8_t*>(p.x) + first, count, count == kQuad, x);
    unrolled<kQuad>([&](auto i) { y[i] = reinterpret_cast<const T*>(p.table)[x[i]]; });
    store_quad<Block>(p.y, first, y, count, count == kQuad);
  });
}

template <class Block>
OCTAVO_DEVICE void sums_of(Block& block, const SumArgs& p) {
  each_thread(block, p.at.elements, [&](std::int64_t thread) {
    const Places from = places_of(p.at, thread);
    const std::int32_t sum = p.is_wide != 0 ? reinterpret_cast<const std::int32_t*>(p.at.x)[from.x]
                                            : reinterpret_cast<const std::int16_t*>(p.at.x)[from.x];
    const RowEpilogue e = with_factors_at(p.epilogue, from.other);
    const std::int64_t bytes = e.result == RowEpilogue::Result::bytes ? 1 : 4;
    finish_sums<Scalar>(e, &sum, 1, 1, p.at.y + thread * bytes);
  });
}

// An element of what is stored as a type.
OCTAVO_DEVICE std::int32_t stored_as(StoredType type, const std::byte* values, std::int64_t i) {
  if (type == StoredType::s16) return reinterpret_cast<const std::int16_t*>(values)[i];
  return widened(static_cast<std::uint8_t>(values[i]), type == StoredType::s8);
}

// The zero point of an element, and its scale.
template <class Arguments>
OCTAVO_DEVICE std::int32_t zero_point_of(const Arguments& p, std::int64_t element, float& scale) {
  const std::int64_t channel = p.channels == 1 ? 0 : element / p.inner % p.channels;
  scale = p.scale[channel];
  return p.zero_point == nullptr ? 0 : stored_as(p.type, p.zero_point, channel);
}

// Halves to even, or, as quantize_value_away has it, away from 0.
OCTAVO_DEVICE std::int32_t quantized(const QuantizeArgs& p, std::int64_t element, float x) {
  float scale = 1.0f;
  const std::int32_t zero_point = zero_point_of(p, element, scale);
  if (p.rounds_away != 0) return quantize_value_away(x, scale, zero_point, p.lowest, p.highest);
  return round_then_zero_point(quotient<Scalar>(x, scale, p.multiplies != 0), zero_point, p.lowest, p.highest);
}

template <class Block>
OCTAVO_DEVICE void quantize(Block& block, const QuantizeArgs& p) {
  each_quad(block, p.elements, [&](std::int64_t first, int count) {
    Quad<float> x;
    Quad<std::int16_t> words;
    Quad<std::uint8_t> bytes;
    load_quad<Block>(p.x + first, count, count == kQuad, x);
    unrolled<kQuad>([&](auto i) {
      const std::int32_t stored = i < count ? quantized(p, first + i, x[i]) : 0;
      words[i] = static_cast<std::int16_t>(stored), bytes[i] = static_cast<std::uint8_t>(stored);
    });
    if (p.type == StoredType::s16) store_quad<Block>(p.y, first, words, count, count == kQuad);
    else store_quad<Block>(p.y, first, bytes, count, count == kQuad);
  });
}

template <class Block>
OCTAVO_DEVICE void dequantize(Block& block, const DequantizeArgs& p) {
  each_thread(block, p.elements, [&](std::int64_t thread) {
    float scale = 1.0f;
    const std::int32_t zero_point = zero_point_of(p, thread, scale);
    const std::int32_t stored = stored_as(p.type, p.x, thread);
    p.y[thread] = Scalar::mul(Scalar::to_f32(Scalar::sub_s32(stored, zero_point)), scale);
  });
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_ELEMENTS_H_
