// Kernels of single f32: functions of one and of two, conversions of types. Part of cuda/device/.
#ifndef OCTAVO_CUDA_DEVICE_FLOATS_H_
#define OCTAVO_CUDA_DEVICE_FLOATS_H_

#include "base/elementary_pow.h"
#include "cuda/device/strided.h"
#include "kernels/eltwise/elements.h"
#include "kernels/plain/converted.h"
#include "ops/unary/f32.h"

namespace octavo::cuda {

// By its kind, which is not an angular one.
OCTAVO_DEVICE float unary_of(UnaryKind kind, float x, UnaryNumbers numbers) {
  float y = x;
  unrolled<count_of(UnaryKind{})>([&](auto number) {
    constexpr auto one = static_cast<UnaryKind>(decltype(number)::value);
    if constexpr (!is_angular(one)) {
      if (kind == one) y = unary_f32<one, Lane>(x, numbers);
    }
  });
  return y;
}

template <class Block>
OCTAVO_DEVICE void unary(Block& block, const UnaryArgs& p) {
  each_thread(block, p.elements, [&](std::int64_t thread) { p.y[thread] = unary_of(p.kind, p.x[thread], p.numbers); });
}

OCTAVO_DEVICE float binary_of(BinaryKind kind, float a, float b) {
  switch (kind) {
    case BinaryKind::add: return Lane::add(a, b);
    case BinaryKind::sub: return Lane::sub(a, b);
    case BinaryKind::mul: return Lane::mul(a, b);
    case BinaryKind::div: return Lane::div(a, b);
    case BinaryKind::pow: return pow_f32<Lane>(a, b);
    case BinaryKind::min: return MinF32::apply(a, b);
    case BinaryKind::max: return MaxF32::apply(a, b);
    default: return PreluF32::apply(a, b);
  }
}

OCTAVO_DEVICE bool comparison_of(BinaryKind kind, float a, float b) {
  switch (kind) {
    case BinaryKind::equal: return Equal::apply(a, b);
    case BinaryKind::greater: return Less::apply(b, a);
    case BinaryKind::greater_or_equal: return LessOrEqual::apply(b, a);
    case BinaryKind::less: return Less::apply(a, b);
    default: return LessOrEqual::apply(a, b);
  }
}

template <class Block>
OCTAVO_DEVICE void binary(Block& block, const BinaryArgs& p) {
  each_thread(block, p.at.elements, [&](std::int64_t thread) {
    const Places from = places_of(p.at, thread);
    const float a = reinterpret_cast<const float*>(p.at.x)[from.x];
    const float b = reinterpret_cast<const float*>(p.at.other)[from.other];
    reinterpret_cast<float*>(p.at.y)[thread] = binary_of(p.kind, a, b);
  });
}

template <class Block>
OCTAVO_DEVICE void compare(Block& block, const BinaryArgs& p) {
  each_thread(block, p.at.elements, [&](std::int64_t thread) {
    const Places from = places_of(p.at, thread);
    const float a = reinterpret_cast<const float*>(p.at.x)[from.x];
    const float b = reinterpret_cast<const float*>(p.at.other)[from.other];
    p.at.y[thread] = comparison_of(p.kind, a, b) ? std::byte{1} : std::byte{0};
  });
}

template <class From, class To>
OCTAVO_DEVICE void cast_element(const CastArgs& p, std::int64_t i) {
  reinterpret_cast<StoredAs<To>*>(p.y)[i] = converted<From, To>(reinterpret_cast<const StoredAs<From>*>(p.x)[i]);
}

template <class From>
OCTAVO_DEVICE void cast_from(const CastArgs& p, std::int64_t i) {
  switch (p.to) {
    case CastType::boolean: return cast_element<From, Truth>(p, i);
    case CastType::u8: return cast_element<From, std::uint8_t>(p, i);
    case CastType::s8: return cast_element<From, std::int8_t>(p, i);
    case CastType::s32: return cast_element<From, std::int32_t>(p, i);
    case CastType::s64:
      if constexpr (!std::is_same_v<From, float>) cast_element<From, std::int64_t>(p, i);
      return;
    case CastType::f32: return cast_element<From, float>(p, i);
  }
}

template <class Block>
OCTAVO_DEVICE void cast(Block& block, const CastArgs& p) {
  each_thread(block, p.elements, [&](std::int64_t thread) {
    switch (p.from) {
      case CastType::boolean: return cast_from<Truth>(p, thread);
      case CastType::u8: return cast_from<std::uint8_t>(p, thread);
      case CastType::s8: return cast_from<std::int8_t>(p, thread);
      case CastType::s32: return cast_from<std::int32_t>(p, thread);
      case CastType::s64: return cast_from<std::int64_t>(p, thread);
      case CastType::f32: return cast_from<float>(p, thread);
    }
  });
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_FLOATS_H_
