// Rows whose scales are found in the run: a row by a block, its range first. Part of cuda/device/.
//
// Shared memory: the lowest values of all threads, then the highest; NaN is no end of a range.
#ifndef OCTAVO_CUDA_DEVICE_ROW_SCALES_H_
#define OCTAVO_CUDA_DEVICE_ROW_SCALES_H_

#include "cuda/arguments.h"
#include "cuda/device/platform.h"
#include "kernels/simd/scalar.h"

namespace octavo::cuda {

// f32 values, by the formulas of a DynamicForm.
struct RealRow {
  const RowScaleArgs& p;
  const float* x;

  OCTAVO_DEVICE RealRow(const RowScaleArgs& args, std::int64_t row)
      : p(args), x(reinterpret_cast<const float*>(args.x) + row * args.n) {}
  OCTAVO_DEVICE float measured(std::int64_t i) const { return x[i]; }
  OCTAVO_DEVICE RunScale scale(float lowest, float highest) const {
    return RunScale::of(p.form, lowest, highest, p.least_scale);
  }
  OCTAVO_DEVICE std::int32_t byte(const RunScale& scale, std::int64_t i) const { return scale.quantize(x[i]); }
};

// s16 values: row_requantize.
struct WordRow {
  const RowScaleArgs& p;
  const std::int16_t* x;

  OCTAVO_DEVICE WordRow(const RowScaleArgs& args, std::int64_t row)
      : p(args), x(reinterpret_cast<const std::int16_t*>(args.x) + row * args.n) {}
  OCTAVO_DEVICE float stored(std::int64_t i) const { return Scalar::to_f32(x[i]); }
  OCTAVO_DEVICE float measured(std::int64_t i) const {
    return p.factor == nullptr ? stored(i) : Scalar::mul(stored(i), p.factor[i]);
  }
  OCTAVO_DEVICE RunScale scale(float lowest, float highest) const {
    return p.factor == nullptr ? row_scale(p.values, lowest, highest)
                               : RunScale::of(DynamicForm::xnnpack, lowest, highest);
  }
  OCTAVO_DEVICE std::int32_t byte(const RunScale& scale, std::int64_t i) const {
    const float real = p.values.is_gelu ? near_gelu<Lane>(p.values.gelu, stored(i))
                                        : Scalar::mul(stored(i), p.factor == nullptr ? p.values.x_scale : p.factor[i]);
    const float shifted = Scalar::fma(real, scale.inverse, Scalar::to_f32(scale.zero_point));
    return Scalar::round(Scalar::min(Scalar::max(shifted, 0.0f), 255.0f));
  }
};

// All threads have the ends of the range in shared memory's first elements.
template <int kThreads, class Block>
OCTAVO_DEVICE void join_ranges(Block& block, float* lowest, float* highest) {
  for (int half = kThreads / 2; half > 0; half /= 2) {
    block.each([&](int t) {
      if (t >= half) return;
      lowest[t] = Scalar::min(lowest[t + half], lowest[t]);
      highest[t] = Scalar::max(highest[t + half], highest[t]);
    });
    block.sync();
  }
}

template <class Row, int kThreads, class Block>
OCTAVO_DEVICE void scale_row(Block& block, const RowScaleArgs& p) {
  const Row row(p, block.x());
  auto* lowest = reinterpret_cast<float*>(block.shared());
  float* highest = lowest + kThreads;
  block.each([&](int t) {
    float low = 0.0f, high = 0.0f;
    for (std::int64_t i = t; i < p.n; i += kThreads) {
      const float value = row.measured(i);
      low = Scalar::min(value, low);
      high = Scalar::max(value, high);
    }
    lowest[t] = low, highest[t] = high;
  });
  block.sync();
  join_ranges<kThreads>(block, lowest, highest);
  block.each([&](int t) {
    const RunScale scale = row.scale(lowest[0], highest[0]);
    for (std::int64_t i = t; i < p.n; i += kThreads)
      p.y[block.x() * p.n + i] = static_cast<std::uint8_t>(row.byte(scale, i));
    if (t > 0) return;
    p.scale[block.x()] = scale.scale;
    p.zero_point[block.x()] = static_cast<std::uint8_t>(scale.zero_point);
  });
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_ROW_SCALES_H_
