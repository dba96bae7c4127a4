// The contract of byte_product/: rows of a times a matrix b, 8 bits each, between files that are compiled for one
// instruction set. Part of kernels/.
#ifndef OCTAVO_KERNELS_BYTE_PRODUCT_FUNCTIONS_H_
#define OCTAVO_KERNELS_BYTE_PRODUCT_FUNCTIONS_H_

#include <cstdint>

#include "kernels/epilogue/rows.h"

namespace octavo {

struct ByteOperand {
  const std::uint8_t* first = nullptr;
  bool is_signed = false;
  std::int32_t zero_point = 0;
};

// sums[i][j] = sum over d of (a[i][d] - a's zero point) * (b[d][j] - b's zero point), modulo 2^32; a lies dense.
struct ByteProduct {
  ByteOperand a;  // of the first row
  ByteOperand b;
  std::int64_t rows = 0, depth = 0, columns = 0;
  std::int64_t b_stride = 0;                   // from a row of b to the next
  std::int64_t quads = 0, padded_columns = 0;  // ByteProductFunctions::quads(depth), ::padded_columns(columns)
  bool is_packed = false;                      // the scratch still holds this b, of the call before
  // Scratch, aligned to 64 bytes.
  std::int32_t* packed = nullptr;        // [padded_columns][quads]
  std::int32_t* column_terms = nullptr;  // [padded_columns]
  std::int32_t* row_quads = nullptr;     // [ByteProductFunctions::kMostRows][quads]
  std::int32_t* sums = nullptr;          // [rows][padded_columns]
};

struct ByteProductFunctions {
  static constexpr int kMostRows = 64;  // of a call

  void (*multiply)(const ByteProduct& product) = nullptr;
  void (*finish)(const RowEpilogue&, const std::int32_t* sums, std::int64_t rows, std::int64_t n, void* y) = nullptr;

  // Two vectors of any width; four bytes.
  static constexpr std::int64_t padded_columns(std::int64_t columns) { return (columns + 31) / 32 * 32; }
  static constexpr std::int64_t quads(std::int64_t depth) { return (depth + 3) / 4; }
};

extern const ByteProductFunctions kByteProductAvxVnni;
extern const ByteProductFunctions kByteProductEvexVnni;
extern const ByteProductFunctions kByteProductAvx512Vnni;
extern const ByteProductFunctions kByteProductDotprod;

}  // namespace octavo

#endif  // OCTAVO_KERNELS_BYTE_PRODUCT_FUNCTIONS_H_
