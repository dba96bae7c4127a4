// What follows the sums of compiled tiles once they are stored, over four lanes: the values that generated tiles
// compute, by the same constants. Part of kernels/conv/.
#include <cstring>

#include "kernels/conv/arm64_tiles.h"
#include "kernels/simd/added_bytes_neon.h"
#include "kernels/simd/neon.h"

namespace octavo {
namespace {

// The sums of one pixel become its results; all its vectors, of which the last may be partly filled.
template <Addition kAddition, RunScales kRunScales>
class TilePixels {
 public:
  using S = Neon4;
  using S32 = S::S32;
  using F32 = S::F32;

  explicit TilePixels(const TileArgs& args) : a_(args), c_(*args.config), k_(*args.constants) {}

  // sums [pixel][vector][lane], as start_of begins them.
  void finish(const std::int32_t* sums) const {
    const int lanes = c_.vectors * kTileLanes;
    for (int p = 0; p < c_.pixels; ++p) finish_pixel(p, sums + p * lanes);
  }

 private:
  void finish_pixel(int p, const std::int32_t* sums) const {
    S32 acc[kMostTileVectors];
    for (int v = 0; v < c_.vectors; ++v) {
      acc[v] = S::load_s32(sums + v * kTileLanes);
      if (kRunScales != RunScales::none) acc[v] = S::add_s32(acc[v], from_zero_point(p, v));
    }
    if (c_.sums_x) {
      for (int v = 0; v < c_.outputs(); ++v)
        acc[v] = S::add_s32(acc[v], S::mul_s32(acc[c_.outputs()], S::load_s32(a_.w_offset + v * kTileLanes)));
    }
    std::byte others[kMostTileChannels * 2];
    const std::byte* other = kAddition == Addition::none ? nullptr : other_of(p, others);
    switch (c_.to) {
      case DType::s32: return store_s32(p, acc);
      case DType::f32: return store_f32(p, acc, other);
      case DType::s16: return store_s16(p, acc, other);
      default: return store_bytes(p, acc, other);
    }
  }

  // The zero point of x times what meets it (zero_point_factor).
  S32 from_zero_point(int p, int v) const {
    const S32 bias = S::load_s32(a_.bias + v * kTileLanes);
    const std::int32_t zero_point =
        a_.x_zero_points[kRunScales == RunScales::per_pixel ? p : 0] - (c_.target.flips_x() ? 128 : 0);
    const S32 high = S::shift_left<7>(S::shift_right<16>(bias)), low = S::and_s32(bias, S::set_s32(127));
    return S::mul_s32(S::add_s32(high, low), S::set_s32(zero_point));
  }

  // Whole vectors may be read there: no access beyond what the tensor has.
  const std::byte* other_of(int p, std::byte* copy) const {
    const int bytes = c_.residual_bytes();
    const std::byte* from = a_.residual + static_cast<std::int64_t>(p) * c_.out_channels * bytes;
    if (c_.channels == c_.outputs() * kTileLanes) return from;
    std::memset(copy, 0, kMostTileChannels * 2);
    std::memcpy(copy, from, static_cast<std::size_t>(c_.channels * bytes));
    return copy;
  }
  S32 stored_other(const std::byte* other, int v) const {
    const std::byte* from = other + v * kTileLanes * c_.residual_bytes();
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(from);
    if (c_.residual_type == DType::s16) return S::widen_s16(reinterpret_cast<const std::int16_t*>(from));
    return c_.residual_type == DType::s8 ? S::widen_s8(bytes) : S::widen_u8(bytes);
  }
  F32 real_other(const std::byte* other, int v) const {
    const S32 stored = stored_other(other, v);
    return S::to_f32(c_.subtracts_from_residual ? S::sub_s32(stored, S::load_s32(k_.residual_zero_point)) : stored);
  }

  F32 multiplier(int v) const { return S::load(a_.multiplier + v * kTileLanes); }
  F32 rest(int v) const { return S::load(a_.multiplier + c_.rest_offset / 4 + v * kTileLanes); }
  F32 real(S32 acc, int v) const {
    const F32 whole = S::to_f32(acc);
    return c_.rest_offset != 0 ? S::add(whole, rest(v)) : whole;
  }
  // RunForm.
  F32 scaled_in_run(S32 acc, int p, int v) const {
    const F32 whole = S::to_f32(acc), w_scale = multiplier(v),
              x_scale = S::set(a_.x_scales[kRunScales == RunScales::per_pixel ? p : 0]);
    switch (c_.run_form) {
      case RunForm::xnnpack: return S::fma(S::mul(whole, x_scale), w_scale, rest(v));
      case RunForm::onnx: return S::add(S::mul(whole, S::mul(w_scale, x_scale)), rest(v));
      case RunForm::tflite: return S::add(S::mul(S::mul(whole, w_scale), x_scale), rest(v));
      case RunForm::onnx_integer: break;
    }
    const F32 scale = S::mul(w_scale, x_scale), bias = vrndmq_f32(S::div(rest(v), scale));
    const S32 bounded = S::round(clamped(bias, k_.least_bias, k_.most_bias));
    return S::mul(S::to_f32(S::add_s32(acc, bounded)), scale);
  }

  // Of a number and a NaN these are the number; which of two zeros they are is gone after rounding.
  static F32 clamped(F32 x, const float* lowest, const float* highest) {
    return vminnmq_f32(vmaxnmq_f32(x, vld1q_f32(lowest)), vld1q_f32(highest));
  }

  // Without the zero point, or with it after an addition in integers. NaN becomes the lowest.
  S32 quantized(S32 acc, const std::byte* other, int p, int v) const {
    F32 value;
    if constexpr (kRunScales != RunScales::none) {
      value = scaled_in_run(acc, p, v);
      if (kAddition == Addition::before_rounding)
        value = S::fma(real_other(other, v), S::load(k_.residual_ratio), value);
    } else if (kAddition == Addition::before_rounding) {
      value = S::fma(real(acc, v), multiplier(v), S::mul(real_other(other, v), S::load(k_.residual_ratio)));
    } else {
      value = S::mul(real(acc, v), multiplier(v));
    }
    const S32 q = S::round(clamped(value, k_.lowest, k_.highest));
    if constexpr (kAddition == Addition::none || kAddition == Addition::before_rounding) return q;
    const S32 with_zero = S::add_s32(q, S::load_s32(k_.zero_point));
    if constexpr (kAddition == Addition::integer) return added_integers(with_zero, stored_other(other, v));
    const F32 own = S::to_f32(with_zero), r = real_other(other, v);
    const F32 a = kAddition == Addition::real_first ? own : r, b = kAddition == Addition::real_first ? r : own;
    const F32 sum = S::fma(a, S::load(k_.add_a_ratio), S::fma(b, S::load(k_.add_b_ratio), S::load(k_.add_fixed)));
    return S::round(clamped(sum, k_.add_lowest, k_.add_highest));
  }
  // IntegerAddForm.
  S32 added_integers(S32 own, S32 other) const {
    const S32 sum = S::add_s32(S::add_s32(S::mul_s32(own, S::load_s32(k_.add_a_multiplier)), S::load_s32(k_.add_bias)),
                               S::mul_s32(other, S::load_s32(k_.add_b_multiplier)));
    const S32 shifted = S::add_s32(S::shift_right_s32(sum, c_.add_right_shift), S::load_s32(k_.add_zero_point));
    return S::min_s32(S::max_s32(shifted, S::load_s32(k_.add_integer_lowest)), S::load_s32(k_.add_integer_highest));
  }

  void store(int p, const void* results, std::size_t element_bytes) const {
    std::memcpy(a_.y + static_cast<std::size_t>(p) * static_cast<std::size_t>(c_.out_channels) * element_bytes, results,
                static_cast<std::size_t>(c_.channels) * element_bytes);
  }
  void store_s32(int p, const S32* acc) const {
    std::int32_t results[kMostTileChannels];
    for (int v = 0; v < c_.outputs(); ++v) S::store_s32(results + v * kTileLanes, acc[v]);
    store(p, results, sizeof *results);
  }
  void store_f32(int p, const S32* acc, const std::byte* other) const {
    float results[kMostTileChannels];
    for (int v = 0; v < c_.outputs(); ++v) S::store(results + v * kTileLanes, real_result(acc[v], other, p, v));
    store(p, results, sizeof *results);
  }
  // In this order of a clamp's operands NaN stays what it is.
  F32 real_result(S32 acc, const std::byte*, int p, int v) const {
    if constexpr (kRunScales == RunScales::none) return S::mul(real(acc, v), multiplier(v));
    F32 value = scaled_in_run(acc, p, v);
    if (c_.clamps_low) value = S::max(S::load(k_.lowest), value);
    if (c_.clamps_high) value = S::min(S::load(k_.highest), value);
    return value;
  }
  void store_s16(int p, const S32* acc, const std::byte* other) const {
    std::int16_t results[kMostTileChannels];
    for (int v = 0; v < c_.outputs(); ++v) {
      S32 q = quantized(acc[v], other, p, v);
      if (c_.adds_zero_point) q = S::add_s32(q, S::load_s32(k_.zero_point));
      vst1_s16(results + v * kTileLanes, vqmovn_s32(q));
    }
    store(p, results, sizeof *results);
  }
  void store_bytes(int p, const S32* acc, const std::byte* other) const {
    std::uint8_t results[kMostTileChannels] = {};
    const int16x8_t zero_point = c_.adds_zero_point ? vld1q_s16(k_.zero_point_words) : vdupq_n_s16(0);
    for (int v = 0; v < c_.outputs(); v += 2) {
      const bool has_second = v + 1 < c_.outputs();
      const S32 first = quantized(acc[v], other, p, v),
                second = has_second ? quantized(acc[v + 1], other, p, v + 1) : first;
      const int16x8_t words = vqaddq_s16(vcombine_s16(vqmovn_s32(first), vqmovn_s32(second)), zero_point);
      vst1_u8(results + v * kTileLanes,
              c_.to == DType::u8 ? vqmovun_s16(words) : vreinterpret_u8_s8(vqmovn_s16(words)));
    }
    if (c_.table != TableStep::none) S::lookup(k_.table, results, results, kMostTileChannels);
    if (c_.channels == kMostTileChannels)
      vst1q_u8(reinterpret_cast<std::uint8_t*>(a_.y) + static_cast<std::int64_t>(p) * c_.out_channels,
               vld1q_u8(results));
    else store(p, results, 1);
  }

  const TileArgs& a_;
  const TileConfig& c_;
  const TileConstants& k_;
};

template <Addition kAddition, RunScales kRunScales>
void conv_arm64_finish_finish_pixels(const TileArgs& args, const std::int32_t* sums) {
  TilePixels<kAddition, kRunScales>(args).finish(sums);
}

// ---- bytes in one scale, eight or sixteen at a time ----

// `n` of them.
uint8x16_t load_bytes(const std::uint8_t* p, std::size_t n) {
  if (n == 16) return vld1q_u8(p);
  std::uint8_t bytes[16] = {};
  std::memcpy(bytes, p, n);
  return vld1q_u8(bytes);
}
void store_bytes(std::uint8_t* p, uint8x16_t x, std::size_t n) {
  if (n == 16) return vst1q_u8(p, x);
  std::uint8_t bytes[16];
  vst1q_u8(bytes, x);
  std::memcpy(p, bytes, n);
}

int16x8_t twice(int32x4_t x) { return vcombine_s16(vqmovn_s32(x), vqmovn_s32(x)); }
uint8x16_t all_bytes(const std::int32_t (&same)[16]) { return vdupq_n_u8(static_cast<std::uint8_t>(same[0])); }

// Conversions saturate, so that clamps wait until values are 16 bits wide. Of fewer vectors than kVectors the last one
// stands for what is missing.
template <Addition kAddition, int kVectors>
class TileBytes {
 public:
  explicit TileBytes(const TileArgs& args) : a_(args), c_(*args.config) {
    const TileConstants& k = *args.constants;
    const int32x4_t after = vld1q_s32(k.zero_point);
    zero_point_ = twice(after);
    lowest_ = twice(vaddq_s32(vcvtq_s32_f32(vld1q_f32(k.lowest)), after));
    highest_ = twice(vaddq_s32(vcvtq_s32_f32(vld1q_f32(k.highest)), after));
    flips_ = vld1q_u8(k.flip_bytes);
    const std::int64_t rests = c_.rest_offset / 4;
    unrolled<kVectors>([&](auto v) {
      lane_[v] = std::min<int>(v, c_.vectors - 1) * kTileLanes;
      factor_[v] = vld1q_f32(args.multiplier + lane_[v]);
      rest_[v] = rests != 0 ? vld1q_f32(args.multiplier + rests + lane_[v]) : vdupq_n_f32(0.0f);
    });
    if (kAddition == Addition::none) return;
    added_ = AddedBytes::of(k.add_a_multiplier[0], k.add_b_multiplier[0], k.add_bias[0], c_.add_right_shift,
                            k.add_zero_point[0]);
    added_lowest_ = all_bytes(k.add_integer_lowest), added_highest_ = all_bytes(k.add_integer_highest);
  }

  void finish(const std::int32_t* sums) const {
    auto* y = reinterpret_cast<std::uint8_t*>(a_.y);
    const auto* residual = reinterpret_cast<const std::uint8_t*>(a_.residual);
    const auto channels = static_cast<std::size_t>(c_.channels);
    for (int p = 0; p < c_.pixels; ++p, sums += c_.vectors * kTileLanes, y += c_.out_channels) {
      const int16x8_t first = words<0>(sums), second = words<kVectors - 2>(sums);
      uint8x16_t bytes;
      if constexpr (kAddition == Addition::none) {
        bytes = vqmovun_high_s16(vqmovun_s16(first), second);
      } else {
        const uint8x16_t sum = added_.sum(first, second, load_bytes(residual, channels));
        bytes = vminq_u8(vmaxq_u8(sum, added_lowest_), added_highest_);
        residual += c_.out_channels;
      }
      store_bytes(y, veorq_u8(bytes, flips_), channels);
    }
  }

 private:
  template <int kFirst>
  inline __attribute__((always_inline)) int16x8_t words(const std::int32_t* sums) const {
    int32x4_t q[2];
    unrolled<2>([&](auto i) __attribute__((always_inline)) {
      constexpr int v = kFirst + i;
      const float32x4_t whole = vaddq_f32(vcvtq_f32_s32(vld1q_s32(sums + lane_[v])), rest_[v]);
      q[i] = vcvtnq_s32_f32(vmulq_f32(whole, factor_[v]));
    });
    const int16x8_t raised = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(q[0]), q[1]), zero_point_);
    return vminq_s16(vmaxq_s16(raised, lowest_), highest_);
  }

  const TileArgs& a_;
  const TileConfig& c_;
  int lane_[kVectors];
  float32x4_t factor_[kVectors], rest_[kVectors];
  int16x8_t zero_point_, lowest_, highest_;
  uint8x16_t flips_, added_lowest_, added_highest_;
  AddedBytes added_;
};

// Apart, as the table takes half of the registers.
__attribute__((noinline)) void look_up_pixels(const TileArgs& args) {
  auto* y = reinterpret_cast<std::uint8_t*>(args.y);
  const std::int64_t stride = args.config->out_channels, channels = args.config->channels;
  for (int p = 0; p < args.config->pixels; ++p, y += stride) Neon4::lookup(args.constants->table, y, y, channels);
}

template <Addition kAddition, int kVectors>
void finish_bytes(const TileArgs& args, const std::int32_t* sums) {
  TileBytes<kAddition, kVectors>(args).finish(sums);
  if (args.config->table == TableStep::scalar) look_up_pixels(args);
}

template <Addition kAddition>
TileFinish* byte_finish_of(int vectors) {
  return vectors <= 2 ? finish_bytes<kAddition, 2> : finish_bytes<kAddition, 4>;
}

template <RunScales kRunScales>
TileFinish* added_finish_of(Addition addition) {
  // Behind scales that come in the run nothing is added after a rounding (EpilogueParts).
  if constexpr (kRunScales != RunScales::none) {
    return addition == Addition::none ? conv_arm64_finish_finish_pixels<Addition::none, kRunScales>
                                      : conv_arm64_finish_finish_pixels<Addition::before_rounding, kRunScales>;
  } else {
    switch (addition) {
      case Addition::none: return conv_arm64_finish_finish_pixels<Addition::none, kRunScales>;
      case Addition::before_rounding: return conv_arm64_finish_finish_pixels<Addition::before_rounding, kRunScales>;
      case Addition::real_first: return conv_arm64_finish_finish_pixels<Addition::real_first, kRunScales>;
      case Addition::real_second: return conv_arm64_finish_finish_pixels<Addition::real_second, kRunScales>;
      case Addition::integer: return conv_arm64_finish_finish_pixels<Addition::integer, kRunScales>;
    }
    return nullptr;
  }
}

// Bytes that are scaled, rounded, perhaps added to others in integers, and clamped where they may be as late as that.
bool makes_bytes(const TileConfig& c) {
  const bool adds_bytes =
      c.addition == Addition::integer && c.residual_type == DType::u8 && c.add_right_shift >= AddedBytes::kLeastShift;
  return (c.addition == Addition::none || adds_bytes) && c.run_scales == RunScales::none && !c.sums_x &&
         c.to == DType::u8 && !c.clamps_low && !c.clamps_high;
}

}  // namespace

bool is_plain(const TileConfig& c) {
  return makes_bytes(c) && c.addition == Addition::none && c.channels == kMostTileChannels && c.rest_offset == 0;
}

TileFinish* finish_of(const TileConfig& c) {
  if (makes_bytes(c)) {
    return c.addition == Addition::none ? byte_finish_of<Addition::none>(c.vectors)
                                        : byte_finish_of<Addition::integer>(c.vectors);
  }
  switch (c.run_scales) {
    case RunScales::none: return added_finish_of<RunScales::none>(c.addition);
    case RunScales::shared: return added_finish_of<RunScales::shared>(c.addition);
    case RunScales::per_pixel: return added_finish_of<RunScales::per_pixel>(c.addition);
  }
  return nullptr;
}

void look_up_bytes(const TileArgs& args, std::int64_t block, int pixels) {
  auto* y = reinterpret_cast<std::uint8_t*>(args.y) + block * kMostTileChannels;
  Neon4::lookup_rows(args.constants->table, y, pixels, args.config->out_channels);
}

void finish_stored(const TileArgs& args, std::int64_t block, const std::int32_t* sums) {
  const TileConfig& c = *args.config;
  const std::int64_t lanes = block * c.vectors * kTileLanes, channels = block * c.channels;
  TileArgs moved = args;
  moved.bias += lanes;
  if (moved.multiplier != nullptr) moved.multiplier += lanes;
  if (c.sums_x) moved.w_offset += lanes;
  if (moved.residual != nullptr) moved.residual += channels * c.residual_bytes();
  moved.y += channels * static_cast<std::int64_t>(size_of(c.to));
  c.finish(moved, sums);
}

}  // namespace octavo
