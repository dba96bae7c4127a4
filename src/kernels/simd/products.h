// Blocks of products in vector registers, over any Simd and over what its lanes hold. Internal linkage only. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_SIMD_PRODUCTS_H_
#define OCTAVO_KERNELS_SIMD_PRODUCTS_H_

#include <cstdint>

namespace octavo {
namespace {

// Sums of `depth` products, by Lanes::add(sum, a, b): kRows rows of a, `a_stride` lanes apart, by two vectors of b,
// `b_stride` apart. Where a Simd has a loop of its own (add_fours), lanes are quads.
template <class S, class Lanes, int kRows>
struct Products {
  typename S::S32 sums[kRows][2];

  inline __attribute__((always_inline)) Products(const std::int32_t* a, std::int64_t a_stride, const std::int32_t* b,
                                                 std::int64_t b_stride, std::int64_t depth) {
    for (auto& row : sums) row[0] = row[1] = S::set_s32(0);
    std::int64_t d = 0;
    if constexpr (requires { S::add_fours(sums, a, a_stride, b, b_stride, depth); })
      d = S::add_fours(sums, a, a_stride, b, b_stride, depth);
    for (; d < depth; ++d) {
      const typename S::S32 first = S::load_s32(b + d * S::kLanes), second = S::load_s32(b + b_stride + d * S::kLanes);
      for (int r = 0; r < kRows; ++r) {
        const typename S::S32 row = S::set_s32(a[r * a_stride + d]);
        sums[r][0] = Lanes::add(sums[r][0], row, first);
        sums[r][1] = Lanes::add(sums[r][1], row, second);
      }
    }
  }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_PRODUCTS_H_
