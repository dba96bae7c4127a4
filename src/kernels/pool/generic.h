// The loops of pool/: plain C++ over channels, which the compiler vectorizes for each instruction set. Internal linkage
// only. Part of kernels/.
#ifndef OCTAVO_KERNELS_POOL_GENERIC_H_
#define OCTAVO_KERNELS_POOL_GENERIC_H_

#include <type_traits>

#include "kernels/epilogue/generic.h"
#include "kernels/pool/taps.h"
#include "kernels/simd/scalar.h"
#include "kernels/simd/unrolled.h"

namespace octavo {
namespace {

// NaN wins; among equals the first stays. Of T, or a vector of it.
template <class T, class V>
V larger_of(V value, V best) {
  if constexpr (std::is_integral_v<T>) return value > best ? value : best;
  else return ((value > best) | (value != value)) ? value : best;
}
template <class V>
V load_vector(const std::byte* from) {
  V vector;
  __builtin_memcpy(&vector, from, sizeof vector);
  return vector;
}

// `kBytes` bytes of T; an extension that g++ and clang share.
template <int kBytes, class T>
struct RegisterOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
// Bytes of a register.
template <class S>
constexpr int register_bytes() {
  if constexpr (requires { typename S::One; }) return 4 * S::One::kLanes;
  else return S::kLanes < 4 ? 16 : 4 * S::kLanes;
}
template <class S>
constexpr int kVectorBytes = S::kLanes < 4 ? 16 : 4 * S::kLanes;

// body.template operator()<bytes>(first) over vectors that cover `bytes` bytes: as wide as they can be, the last one
// overlapping the one before it. Says whether there was room for one of 16 bytes.
template <int kBytes, class Body>
bool cover(std::int64_t bytes, const Body& body) {
  if (bytes < kBytes) {
    if constexpr (kBytes > 16) return cover<kBytes / 2>(bytes, body);
    else return false;
  } else {
    for (std::int64_t at = 0; at < bytes; at += kBytes)
      body.template operator()<kBytes>(at < bytes - kBytes ? at : bytes - kBytes);
    return true;
  }
}

// The number of taps, where the compiler knows it.
template <int kCount>
struct KnownCount {};

template <class F>
void for_later_taps(std::int64_t count, const F& f) {
  for (std::int64_t tap = 1; tap < count; ++tap) f(tap);
}
template <int kCount, class F>
inline __attribute__((always_inline)) void for_later_taps(KnownCount<kCount>, const F& f) {
  unrolled<kCount - 1>([&](auto tap) __attribute__((always_inline)) { f(tap + 1); });
}

// The same number, of which the compiler knows nothing: GCC would move a pointer for each tap from place to place.
inline std::int64_t hidden(std::int64_t offset) {
  __asm__("" : "+r"(offset));
  return offset;
}

// What taps have at an offset: the largest, T by T, of kParts registers.
template <class T, class V, int kParts, class Count>
inline __attribute__((always_inline)) void store_largest(const std::byte* const* taps, Count count, std::int64_t at,
                                                         std::byte* y) {
  constexpr int kBytes = sizeof(V);
  std::int64_t offset[kParts];
  V best[kParts];
  for (int part = 0; part < kParts; ++part) {
    offset[part] = hidden(at + part * kBytes);
    best[part] = load_vector<V>(taps[0] + offset[part]);
  }
  for_later_taps(
      count, [&](std::int64_t tap) __attribute__((always_inline)) {
        const std::byte* const from = taps[tap];
        for (int part = 0; part < kParts; ++part)
          best[part] = larger_of<T>(load_vector<V>(from + offset[part]), best[part]);
      });
  for (int part = 0; part < kParts; ++part) __builtin_memcpy(y + part * kBytes, &best[part], kBytes);
}

// Register by register: GCC takes comparisons of wider vectors apart, byte by byte. Where S is of two, four at a time.
template <class S, class T, class Count>
void max_of_count(const PoolTaps& p, const std::byte* const* taps, Count count, std::byte* y) {
  constexpr int kRegister = register_bytes<S>(), kMost = kVectorBytes<S> == kRegister ? kRegister : 4 * kRegister;
  const std::int64_t n = p.channels, bytes = n * static_cast<std::int64_t>(sizeof(T)), step = p.step;
  for (std::int64_t from = 0, end = p.positions * step; from < end; from += step, y += bytes) {
    const bool is_covered = cover<kMost>(bytes, [=]<int kBytes>(std::int64_t at) {
      constexpr int kPart = kBytes < kRegister ? kBytes : kRegister;
      store_largest<T, typename RegisterOf<kPart, T>::type, kBytes / kPart>(taps, count, from + at, y + at);
    });
    if (is_covered) continue;
    for (std::int64_t at = 0; at < bytes; at += sizeof(T)) store_largest<T, T, 1>(taps, count, from + at, y + at);
  }
}

// Windows of 3 x 3 have their pointers in registers.
template <class S, class T>
void max_of_taps(const PoolTaps& p, std::byte* y) {
  constexpr int kFrequent = 9;
  // Plans have u8 in place of s8.
  if constexpr (!std::is_same_v<T, std::int8_t>) {
    if (p.count == kFrequent) {
      const std::byte* taps[kFrequent];
      for (int i = 0; i < kFrequent; ++i) taps[i] = p.taps[i];
      return max_of_count<S, T>(p, taps, KnownCount<kFrequent>(), y);
    }
  }
  max_of_count<S, T>(p, p.taps, p.count, y);
}

// In f64, times the reciprocal of the divisor; a vector of channels stays in registers over all taps.
template <class S>
void average_floats(const PoolTaps& p, double divisor, std::byte* result) {
  const std::byte* const* taps = p.taps;
  const std::int64_t count = p.count;
  const double factor = 1.0 / divisor;
  auto* y = reinterpret_cast<float*>(result);
  for_lanes<S>(0, p.channels, [=]<class T>(std::int64_t c) {
    auto sum = T::set_f64(0.0);
    for (std::int64_t tap = 0; tap < count; ++tap)
      sum = T::add_f64(sum, T::widen(T::load(reinterpret_cast<const float*>(taps[tap]) + c)));
    T::store(y + c, T::narrow(T::mul_f64(sum, T::set_f64(factor))));
  });
}

// sum[c] += the bytes under a vector, even and odd ones apart: 16 bits hold the sums of 257 taps.
template <int kBytes>
void add_byte_sums(const PoolTaps& p, std::int64_t first, std::uint8_t flip, std::uint32_t* sum) {
  using WordVector = typename RegisterOf<kBytes, std::uint16_t>::type;
  constexpr std::int64_t kTaps = 256;
  const WordVector flips = WordVector{} + static_cast<std::uint16_t>(flip * 0x101);
  for (std::int64_t begin = 0; begin < p.count; begin += kTaps) {
    const std::int64_t end = begin + kTaps < p.count ? begin + kTaps : p.count;
    WordVector even{}, odd{};
    for (std::int64_t tap = begin; tap < end; ++tap) {
      WordVector x;
      __builtin_memcpy(&x, p.taps[tap] + first, kBytes);
      x ^= flips;
      even += x & 0xff;
      odd += x >> 8;
    }
    for (int i = 0; i < kBytes / 2; ++i) sum[2 * i] += even[i], sum[2 * i + 1] += odd[i];
  }
}

// The exact sum, which wraps where it leaves 32 bits. An s8 is summed as the u8 that is 128 more.
template <class S, class X>
void sum_integers(const PoolTaps& p, std::int32_t zero_point, std::uint32_t* sum) {
  constexpr bool is_signed = std::is_signed_v<X>;
  const std::int64_t n = p.channels;
  const std::uint32_t start = static_cast<std::uint32_t>(-zero_point) * static_cast<std::uint32_t>(p.count);
  const std::uint32_t flipped = is_signed ? 128 * static_cast<std::uint32_t>(p.count) : 0;
  const bool is_covered = cover<kVectorBytes<S>>(n, [&, from = start - flipped]<int kBytes>(std::int64_t first) {
    for (std::int64_t c = first; c < first + kBytes; ++c) sum[c] = from;
    add_byte_sums<kBytes>(p, first, is_signed ? 0x80 : 0, sum + first);
  });
  if (is_covered) return;
  for (std::int64_t c = 0; c < n; ++c) sum[c] = start;
  for (std::int64_t tap = 0; tap < p.count; ++tap) {
    const X* x = reinterpret_cast<const X*>(p.taps[tap]);
    for (std::int64_t c = 0; c < n; ++c) sum[c] += static_cast<std::uint32_t>(static_cast<std::int32_t>(x[c]));
  }
}

// average_pool_add, tap by tap; a vector of channels stays in registers.
template <class S, class X>
void sum_scaled(const PoolTaps& p, const QuantizedPool& q, float* sum) {
  const std::byte* const* taps = p.taps;
  const std::int64_t count = p.count;
  const std::int32_t zero_point = q.x_zero_point;
  const float scale = q.x_scale;
  for_lanes<S>(0, p.channels, [=]<class T>(std::int64_t c) {
    auto total = T::set(0.0f);
    for (std::int64_t tap = 0; tap < count; ++tap) {
      const auto* x = reinterpret_cast<const std::uint8_t*>(taps[tap]) + c;
      typename T::S32 value;
      if constexpr (std::is_signed_v<X>) value = T::widen_s8(x);
      else value = T::widen_u8(x);
      value = T::sub_s32(value, T::set_s32(zero_point));
      total = T::add(total, T::mul(T::set(scale), T::to_f32(value)));
    }
    T::store(sum + c, total);
  });
}

// integer_average of each. Division in Real is exact where sums are whole in it and quotients are below 2^9: what is
// cut off is at least 1 / count, more than rounding adds. Without branches, which would keep the compiler from vectors.
template <class Real>
void integer_averages_by(std::int32_t* sums, std::int64_t n, std::int64_t count) {
  const auto half = static_cast<std::int32_t>(count / 2);
  const auto divisor = static_cast<Real>(count);
  for (std::int64_t c = 0; c < n; ++c) {
    const std::int32_t sum = sums[c], sign = sum >> 31;
    sums[c] = static_cast<std::int32_t>(static_cast<Real>(sum + ((half ^ sign) - sign)) / divisor);
  }
}
void integer_averages(std::int32_t* sums, std::int64_t n, std::int64_t count) {
  constexpr std::int64_t kWholeInF32 = 1 << 16;  // times 256, 24 bits
  count < kWholeInF32 ? integer_averages_by<float>(sums, n, count) : integer_averages_by<double>(sums, n, count);
}

template <class S>
void finish_means(const RowEpilogue& epilogue, const float* sums, std::int64_t n, float divisor, std::uint8_t* y) {
  const RowEpilogue e = epilogue;
  for_lanes<S>(0, n, [=]<class T>(std::int64_t c) {
    const typename T::F32 value = T::div(T::div(T::load(sums + c), T::set(divisor)), T::set(e.factor));
    T::store_bytes(y + c, rounded<T>(T::add(value, T::set(e.offset)), e.round));
  });
  if (e.table != nullptr) S::lookup(e.table, y, y, n);
}

template <class S, class X>
void average_bytes_of(const PoolTaps& p, const QuantizedPool& q, std::int64_t divisor, std::byte* y,
                      std::byte* scratch) {
  if (q.form == QuantizedPool::Form::real_average) {
    auto* sums = reinterpret_cast<float*>(scratch);
    sum_scaled<S, X>(p, q, sums);
    return finish_means<S>(q.epilogue, sums, p.channels, static_cast<float>(divisor),
                           reinterpret_cast<std::uint8_t*>(y));
  }
  auto* sums = reinterpret_cast<std::int32_t*>(scratch);
  sum_integers<S, X>(p, q.x_zero_point, reinterpret_cast<std::uint32_t*>(sums));
  if (q.form == QuantizedPool::Form::integer_average) integer_averages(sums, p.channels, divisor);
  finish_sums<S>(q.epilogue, sums, 1, p.channels, y);
}

template <class S>
void average_bytes(const PoolTaps& p, const QuantizedPool& q, std::int64_t divisor, std::byte* y, std::byte* scratch) {
  if (q.x_is_signed) average_bytes_of<S, std::int8_t>(p, q, divisor, y, scratch);
  else average_bytes_of<S, std::uint8_t>(p, q, divisor, y, scratch);
}

template <class S>
constexpr PoolFunctions pool_functions() {
  return {.max_u8 = &max_of_taps<S, std::uint8_t>,
          .max_s8 = &max_of_taps<S, std::int8_t>,
          .max_f32 = &max_of_taps<S, float>,
          .average_f32 = &average_floats<S>,
          .average_q8 = &average_bytes<S>};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_POOL_GENERIC_H_
