// The loops of byte_product/ over any Simd with add_quads. Zero points stay in, as in integer_attention/quads.h.
// Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_BYTE_PRODUCT_GENERIC_H_
#define OCTAVO_KERNELS_BYTE_PRODUCT_GENERIC_H_

#include "kernels/byte_product/functions.h"
#include "kernels/epilogue/generic.h"
#include "kernels/simd/products.h"
#include "kernels/simd/quads.h"

namespace octavo {
namespace {

template <class S>
struct QuadLanes {
  static typename S::S32 add(typename S::S32 sum, typename S::S32 a, typename S::S32 b) {
    return S::add_quads(sum, a, b);
  }
};

// n u_z v_z - u_z * sum of v, of each column.
template <class S>
void pack_matrix(const ByteProduct& p, const StoredAs& u, const StoredAs& v) {
  pack_columns<S>({.first = p.b.first, .stride = p.b_stride, .rows = p.depth, .columns = p.columns, .flip = v.flip},
                  p.quads, p.packed);
  const std::int32_t both =
      Scalar::mul_s32(Scalar::mul_s32(u.zero_point, v.zero_point), static_cast<std::int32_t>(p.depth));
  for (std::int64_t column = 0; column < p.columns; column += S::kLanes) {
    const typename S::S32 sum = sums_of_quads<S>(p.packed + column * p.quads, p.quads);
    S::store_s32(p.column_terms + column, S::add_s32(S::mul_s32(sum, S::set_s32(-u.zero_point)), S::set_s32(both)));
  }
}

template <class S, int kRows>
void multiply_rows(const ByteProduct& p, const std::int32_t* terms, std::int64_t row) {
  const std::int64_t group = p.quads * S::kLanes;
  for (std::int64_t column = 0; column < p.columns; column += 2 * S::kLanes) {
    const Products<S, QuadLanes<S>, kRows> products(p.row_quads + row * p.quads, p.quads,
                                                    p.packed + column / S::kLanes * group, group, p.quads);
    for (int half = 0; half < 2; ++half) {
      const std::int64_t at = column + half * S::kLanes;
      const typename S::S32 of_column = S::load_s32(p.column_terms + at);
      for (int r = 0; r < kRows; ++r) {
        const typename S::S32 all =
            S::add_s32(S::add_s32(products.sums[r][half], of_column), S::set_s32(terms[row + r]));
        S::store_s32(p.sums + (row + r) * p.padded_columns + at, all);
      }
    }
  }
}

template <class S, int kRows>
void multiply(const ByteProduct& p) {
  const StoredAs u = StoredAs::u8(p.a.is_signed, p.a.zero_point), v = second_of_quads<S>(p.b.is_signed, p.b.zero_point);
  if (!p.is_packed) pack_matrix<S>(p, u, v);
  std::int32_t terms[ByteProductFunctions::kMostRows];
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const std::int32_t sum =
        pack_quads<typename S::Bytes>(p.a.first + row * p.depth, p.depth, u.flip, p.row_quads + row * p.quads, p.quads);
    terms[row] = Scalar::mul_s32(-v.zero_point, sum);
  }
  std::int64_t row = 0;
  for (; row + kRows <= p.rows; row += kRows) multiply_rows<S, kRows>(p, terms, row);
  for (; row < p.rows; ++row) multiply_rows<S, 1>(p, terms, row);
}

// `Base`: S without dot products, as epilogues know it.
template <class S, class Base, int kRows>
constexpr ByteProductFunctions byte_product_functions() {
  return {.multiply = &multiply<S, kRows>, .finish = &finish_sums<Base>};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_BYTE_PRODUCT_GENERIC_H_
