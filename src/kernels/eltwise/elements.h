// Functions of two f32 that no operation of vectors is, for processors and devices. Internal linkage only. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_ELTWISE_ELEMENTS_H_
#define OCTAVO_KERNELS_ELTWISE_ELEMENTS_H_

namespace octavo {
namespace {

// min, max and prelu as the reference writes them.
struct MinF32 {
  static constexpr float apply(float a, float b) { return a < b || a != a ? a : b; }
};
struct MaxF32 {
  static constexpr float apply(float a, float b) { return a > b || a != a ? a : b; }
};
struct PreluF32 {
  static constexpr float apply(float a, float b) { return a < 0.0f ? a * b : a; }
};

struct Equal {
  static constexpr bool apply(float a, float b) { return a == b; }
};
struct Less {
  static constexpr bool apply(float a, float b) { return a < b; }
};
struct LessOrEqual {
  static constexpr bool apply(float a, float b) { return a <= b; }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_ELTWISE_ELEMENTS_H_
