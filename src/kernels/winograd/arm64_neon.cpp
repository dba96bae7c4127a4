// winograd/ for Advanced SIMD. Part of kernels/.
#include <arm_neon.h>

#include "kernels/winograd/generic.h"

namespace octavo {
namespace {

struct Words {
  using V = int16x8_t;
  static constexpr int kLanes = 8;
  static V zero() { return vdupq_n_s16(0); }
  static V add(V a, V b) { return vaddq_s16(a, b); }
  static V sub(V a, V b) { return vsubq_s16(a, b); }
  static V twice(V a) { return vaddq_s16(a, a); }
  static V times4(V a) { return vshlq_n_s16(a, 2); }
  static V widen_u8(const std::uint8_t* p) { return vreinterpretq_s16_u16(vmovl_u8(vld1_u8(p))); }
  static void store(std::int16_t* p, V a) { vst1q_s16(p, a); }
};

// Of weights: the first numbers of pairs, then the second ones, as smlal takes them.
struct WeightWords : Words {
  static V widen_s8(const std::int8_t* p) { return vmovl_s8(vld1_s8(p)); }
  static void store(std::int16_t* p, V a) {
    vst1_s16(p, vget_low_s16(vuzp1q_s16(a, a)));
    vst1_s16(p + 4, vget_low_s16(vuzp2q_s16(a, a)));
  }
};

struct Dwords {
  using V = int32x4_t;
  static constexpr int kLanes = 4;
  static V add(V a, V b) { return vaddq_s32(a, b); }
  static V sub(V a, V b) { return vsubq_s32(a, b); }
  static V twice(V a) { return vaddq_s32(a, a); }
  static V times4(V a) { return vshlq_n_s32(a, 2); }
  static V load(const std::int32_t* p) { return vld1q_s32(p); }
  static void store(std::int32_t* p, V a) { vst1q_s32(p, a); }
  static V divide_by_576(V a) { return vshrq_n_s32(vmulq_s32(a, vdupq_n_s32(kInverseOf9)), 6); }
};

}  // namespace

constexpr WinogradFunctions kWinogradNeon{Dwords::kLanes, transform_input<Words>, transform_weights<WeightWords>,
                                          transform_sums<Dwords>};

}  // namespace octavo
