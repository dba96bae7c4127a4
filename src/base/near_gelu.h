// Functions near GELU, for values that are rounded to 8 bits next: a polynomial instead of an exponential. Written once
// over Lane (base/lane.h) and the types of kernels/simd/, with the same bits everywhere. Part of base/.
//   f(v) = max(v, 0) - u (c1 + u (c2 + ... + u c7)), u = min(|v|, limit)
// gelu(v) - max(v, 0) is an even function that vanishes outside of a few units, and so is that of the tanh form.
// Coefficients are minimax ones of u (limit - u) q(u), rounded to f32: errors of at most 2.1e-4 (gelu) and 1.6e-4.
#ifndef OCTAVO_BASE_NEAR_GELU_H_
#define OCTAVO_BASE_NEAR_GELU_H_

#include "base/lane.h"

namespace octavo {

// Of v, or of stored values x whose unit is `scale`.
struct NearGelu {
  float limit = 0.0f;
  float c[7] = {};  // of u, u^2, ...
  float scale = 1.0f;

  // The same function of x = v / scale: coefficients in f64, rounded once.
  NearGelu of_units(float unit) const {
    NearGelu result{.limit = limit / unit, .scale = unit};
    double power = 1.0;
    for (int k = 0; k < 7; ++k) {
      power *= static_cast<double>(unit);
      result.c[k] = static_cast<float>(static_cast<double>(c[k]) * power);
    }
    return result;
  }
};

inline constexpr NearGelu kNearGelu{4.0f,
                                    {0x1.00538ep-1f, -0x1.90edcap-2f, -0x1.54eeb8p-5f, 0x1.1cc4bep-3f, -0x1.d49a1p-5f,
                                     0x1.42cb7p-7f, -0x1.4e3accp-11f}};
inline constexpr NearGelu kNearGeluTanh{3.9f,
                                        {0x1.ffbdfap-2f, -0x1.8d4370p-2f, -0x1.7b7d58p-5f, 0x1.236938p-3f,
                                         -0x1.df2a5p-5f, 0x1.4ba97ap-7f, -0x1.5a1f2ep-11f}};
// Below all values of both.
inline constexpr float kLowestGelu = -0.1701f;

namespace {

// fma(-p, u, max(x, 0) * scale), p = c1 + u (c2 + ...) in fused multiply-adds from the inside out, u = min(|x|, limit).
template <class V>
constexpr typename V::F32 near_gelu(const NearGelu& gelu, typename V::F32 x) {
  const typename V::F32 magnitude = V::as_f32(V::and_s32(V::as_s32(x), V::set_s32(0x7fffffff)));
  const typename V::F32 u = V::min(magnitude, V::set(gelu.limit));
  typename V::F32 p = V::set(-gelu.c[6]);
  for (int k = 5; k >= 0; --k) p = V::fma(p, u, V::set(-gelu.c[k]));
  return V::fma(p, u, V::mul(V::max(x, V::set(0.0f)), V::set(gelu.scale)));
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_BASE_NEAR_GELU_H_
