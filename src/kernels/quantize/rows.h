// The contract of quantize/: one row between f32 and 8 bit or s16. Part of kernels/.
#ifndef OCTAVO_KERNELS_QUANTIZE_ROWS_H_
#define OCTAVO_KERNELS_QUANTIZE_ROWS_H_

#include <cstdint>

#include "base/near_gelu.h"

namespace octavo {

// n elements whose scales (and zero points) are `step` (0 or 1) apart. Zero points may be left out: 0.
// quantize: q = clamp(rne(real / scale) + zero_point, lowest, highest); with multiplies, real * (1 / scale).
// dequantize: real = f32(q - zero_point) * scale.
struct QuantizeRow {
  std::int64_t n = 0;
  const float* scale = nullptr;
  const std::uint8_t* zero_point = nullptr;
  int step = 0;
  bool is_signed = false;  // q and zero_point are s8
  bool multiplies = false;
  std::int32_t lowest = 0, highest = 255;
};

// The lowest and highest of n values and 0.
struct ValueRange {
  float lowest = 0.0f, highest = 0.0f;
};

// The same between f32 and s16, with one scale.
struct QuantizeS16 {
  std::int64_t n = 0;
  float scale = 1.0f;
  std::int32_t zero_point = 0;
  bool multiplies = false;
  std::int32_t lowest = 0, highest = 0;
};

// The lowest and highest of n values and 0.
struct RangeS16 {
  std::int32_t lowest = 0, highest = 0;
};

// q = rne(clamp(fma(f, factor, zero_point), 0, 255)), f = f32(x) * x_scale or, where there are these, near_gelu of x or
// f32(x) times a factor of each element.
struct RequantizeRow {
  std::int64_t n = 0;
  float x_scale = 1.0f, factor = 1.0f;
  std::int32_t zero_point = 0;
  const NearGelu* gelu = nullptr;
  const float* factors = nullptr;
};

// Rows of n values that lie behind each other, each with the scale and zero point of its own range: RunScale of form
// xnnpack.
struct XnnpackRows {
  std::int64_t rows = 0, n = 0;
  const float* real = nullptr;
  std::uint8_t* q = nullptr;
  float* scales = nullptr;              // of each row
  std::uint8_t* zero_points = nullptr;  // of each row
};

struct QuantizeFunctions {
  void (*quantize)(const QuantizeRow& row, const float* real, std::uint8_t* q);
  void (*dequantize)(const QuantizeRow& row, const std::uint8_t* q, float* real);
  void (*quantize_s16)(const QuantizeS16& row, const float* real, std::int16_t* q);
  void (*dequantize_s16)(const QuantizeS16& row, const std::int16_t* q, float* real);
  ValueRange (*range)(const float* real, std::int64_t n);
  // q = clamp(rne(real * factor) + zero_point, 0, 255)
  void (*multiply)(const float* real, std::int64_t n, float factor, std::int32_t zero_point, std::uint8_t* q);
  // q = round_away(clamp(f32(zero_point - 128) + real * factor, -128, 127)) + 128
  void (*multiply_away)(const float* real, std::int64_t n, float factor, std::int32_t zero_point, std::uint8_t* q);
  // What range, RunScale and multiply do row by row, for rows of few values, too.
  void (*xnnpack_rows)(const XnnpackRows& rows);
  RangeS16 (*range_s16)(const std::int16_t* x, std::int64_t n);
  // Of f32(x) * factors.
  ValueRange (*range_of_products)(const std::int16_t* x, const float* factors, std::int64_t n);
  void (*requantize)(const RequantizeRow& row, const std::int16_t* x, std::uint8_t* q);
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_QUANTIZE_ROWS_H_
