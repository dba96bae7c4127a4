// Attention: the reference's bits on every instruction set.
#include "ops/attention/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/harness.h"

namespace octavo::testing {
namespace {

constexpr DType kAttentionF32 = DType::f32;

struct AttentionCase {
  AttentionAttrs attrs;
  Shape q, k, v;
  std::vector<Shape> masks;  // beside none
};

TEST(AttentionKernels, HaveTheReferencesBits) {
  const AttentionCase cases[] = {
      {{.head_size = 8, .value_size = 8, .scale = 0.35f}, {1, 1, 8}, {1, 1, 8}, {1, 1, 8}, {{1}, {1, 1, 1, 1}}},
      {{.heads = 2, .kv_heads = 2, .head_size = 5, .value_size = 7, .scale = 0.4f},
       {2, 13, 10},
       {2, 33, 12},
       {2, 33, 14},
       {{33}, {13, 33}, {2, 1, 1, 33}, {2, 1, 13, 33}, {1, 2, 13, 1}, {2, 2, 13, 33}}},
      // Packed, grouped, several axes of images.
      {{.heads = 4,
        .kv_heads = 2,
        .head_size = 16,
        .value_size = 40,
        .q_first = 3,
        .k_first = 67,
        .v_first = 99,
        .scale = 0.25f},
       {2, 3, 70, 180},
       {2, 3, 70, 180},
       {2, 3, 70, 180},
       {{3, 1, 1, 70}, {2, 1, 4, 70, 70}}},
      {{.heads = 3, .kv_heads = 1, .head_size = 32, .value_size = 32, .scale = 0.177f},
       {50, 96},
       {129, 32},
       {129, 32},
       {{3, 50, 129}}},
      {{}, {0, 4, 1}, {0, 5, 1}, {0, 5, 1}, {}},
      {{}, {2, 4, 1}, {2, 0, 1}, {2, 0, 1}, {}},
  };
  std::mt19937 random(11);
  std::set<std::string> ran;
  for (const AttentionCase& c : cases) {
    for (const bool is_causal : {false, true}) {
      AttentionAttrs attrs = c.attrs;
      attrs.is_causal = is_causal;
      const bool is_packed = attrs.k_first != 0;
      const Tensor q = random_tensor(random, kAttentionF32, c.q);
      const Tensor k = is_packed ? q : random_tensor(random, kAttentionF32, c.k);
      const Tensor v = is_packed ? q : random_tensor(random, kAttentionF32, c.v);
      ran.merge(check_kernels({&kAttention, attrs, {q, k, v}, {}}));
      for (const Shape& mask : c.masks) {
        for (const DType dtype : {kAttentionF32, DType::boolean})
          ran.merge(check_kernels({&kAttention, attrs, {q, k, v, random_tensor(random, dtype, mask)}, {}}));
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "attention_f32").empty());
}

TEST(AttentionKernels, MasksOfWholeRowsAndNumbersThatAreNone) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::mt19937 random(12);
  const AttentionAttrs attrs{.heads = 2, .kv_heads = 2, .head_size = 4, .value_size = 4};
  Tensor q = random_tensor(random, kAttentionF32, {9, 8}), k = random_tensor(random, kAttentionF32, {21, 8});
  const Tensor v = random_tensor(random, kAttentionF32, {21, 8});
  Tensor mask(kAttentionF32, {9, 21});
  for (std::int64_t j = 0; j < 21; ++j) mask.as<float>()[3 * 21 + j] = -kInfinity;
  for (std::int64_t j = 0; j < 21; ++j) mask.as<float>()[4 * 21 + j] = -3.4e38f;
  check_kernels({&kAttention, attrs, {q, k, v, mask}, {}});
  q.as<float>()[0] = kInfinity;
  k.as<float>()[5] = std::nanf("");
  check_kernels({&kAttention, attrs, {q, k, v, mask}, {}});
}

}  // namespace
}  // namespace octavo::testing
