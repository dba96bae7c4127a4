// Kernels of single stored values: pairs of them, tables, quantize, dequantize. A thread has one element, or some that
// are neighbours. Part of cuda/device/.
#ifndef OCTAVO_CUDA_DEVICE_ELEMENTS_H_
#define OCTAVO_CUDA_DEVICE_ELEMENTS_H_

#include "cuda/arguments.h"
#include "cuda/device/strided.h"
#include "kernels/eltwise/pairs.h"
#include "kernels/quantize/generic.h"

namespace octavo::cuda {

template <Formula kFormula>
OCTAVO_DEVICE std::int32_t fixed_pair(const RowEpilogue& e, std::int32_t a, std::int32_t b) {
  return e.rounds_once ? FixedPair<kFormula, FixedRounding::once>::template apply<Scalar>(e, a, b)
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
    default: return fixed_pair<Formula::fixed_prelu>(e, a, b);
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
OCTAVO_DEVICE void quantize(Block& block, const QuantizeArgs& p) {
  const QuantizeRow row{.zero_point = p.zero_point,
                        .is_signed = p.is_signed != 0,
                        .multiplies = p.multiplies != 0,
                        .lowest = p.lowest,
                        .highest = p.highest};
  each_quad(block, p.elements, [&](std::int64_t first, int count) {
    const std::int32_t zero_point = first_zero_point(row);
    Quad<std::uint8_t> y;
    unrolled<kQuad>([&](auto i) {
      if (i < count)
        store_rounded<Scalar>(row, quotient<Scalar>(p.x[first + i], *p.scale, row.multiplies), zero_point, &y[i]);
    });
    store_quad<Block>(p.y, first, y, count, count == kQuad);
  });
}

template <class Block>
OCTAVO_DEVICE void dequantize(Block& block, const DequantizeArgs& p) {
  each_thread(block, p.elements, [&](std::int64_t thread) {
    const std::int64_t channel = p.channels == 1 ? 0 : thread / p.inner % p.channels;
    const auto stored = [&](const std::byte* at) { return widened(static_cast<std::uint8_t>(*at), p.is_signed != 0); };
    const std::int32_t zero_point = p.zero_point == nullptr ? 0 : stored(p.zero_point + channel);
    p.y[thread] = Scalar::mul(Scalar::to_f32(Scalar::sub_s32(stored(p.x + thread), zero_point)), p.scale[channel]);
  });
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_ELEMENTS_H_
