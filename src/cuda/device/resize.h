// Resizes: a thread has one element of the result. Part of cuda/device/.
#ifndef OCTAVO_CUDA_DEVICE_RESIZE_H_
#define OCTAVO_CUDA_DEVICE_RESIZE_H_

#include "cuda/arguments.h"
#include "cuda/device/elements.h"
#include "cuda/device/taps.h"

namespace octavo::cuda {

// An element of y: its position on both axes, and the first element of x of its image and place behind the axes.
struct ResizedPlace {
  std::int64_t row, column, first;

  OCTAVO_DEVICE static ResizedPlace of(const ResizeArgs& p, std::int64_t element) {
    const std::int64_t behind = element % p.inner, pixel = element / p.inner, line = pixel / p.columns.size;
    const std::int64_t image = line / p.rows.size * p.rows.x_size * p.columns.x_size;
    return {line % p.rows.size, pixel % p.columns.size, image * p.inner + behind};
  }
  OCTAVO_DEVICE std::int64_t element(const ResizeArgs& p, std::int32_t row_tap, std::int32_t column_tap) const {
    return first + (std::int64_t{p.rows.index[row_tap]} * p.columns.x_size + p.columns.index[column_tap]) * p.inner;
  }
};

template <class T, class Block>
OCTAVO_DEVICE void resize_nearest(Block& block, const ResizeArgs& p) {
  each_thread(block, p.elements, [&](std::int64_t thread) {
    const ResizedPlace at = ResizedPlace::of(p, thread);
    const std::int64_t from = at.element(p, p.rows.first[at.row], p.columns.first[at.column]);
    reinterpret_cast<T*>(p.y)[thread] = reinterpret_cast<const T*>(p.x)[from];
  });
}

// Taps in row-major order; f(row's weight, column's weight, element of x).
template <class F>
OCTAVO_DEVICE void for_taps(const ResizeArgs& p, const ResizedPlace& at, const F& f) {
  for (std::int32_t i = p.rows.first[at.row]; i < p.rows.first[at.row + 1]; ++i) {
    for (std::int32_t j = p.columns.first[at.column]; j < p.columns.first[at.column + 1]; ++j)
      f(p.rows.weight[i], p.columns.weight[j], at.element(p, i, j));
  }
}

// Linear, in f32; bytes are cut off.
template <bool kIsFloat, class Block>
OCTAVO_DEVICE void resize_linear(Block& block, const ResizeArgs& p) {
  each_thread(block, p.elements, [&](std::int64_t thread) {
    float sum = 0.0f;
    for_taps(p, ResizedPlace::of(p, thread), [&](double row_weight, double column_weight, std::int64_t from) {
      const float weight = Scalar::mul(Scalar::narrow(column_weight), Scalar::narrow(row_weight));
      const float x =
          kIsFloat ? reinterpret_cast<const float*>(p.x)[from] : Scalar::to_f32(stored_as(p.type, p.x, from));
      sum = Scalar::add(sum, Scalar::mul(weight, x));
    });
    if constexpr (kIsFloat) {
      reinterpret_cast<float*>(p.y)[thread] = sum;
    } else {
      const float lowest = p.type == StoredType::s8 ? -128.0f : 0.0f,
                  highest = p.type == StoredType::s8 ? 127.0f : 255.0f;
      p.y[thread] = static_cast<std::byte>(static_cast<std::int32_t>(clamp_f32(sum, lowest, highest)));
    }
  });
}

// By sums in f64, along columns first: cubic, antialiased, without what is outside.
template <class Block>
OCTAVO_DEVICE void resize_weighted(Block& block, const ResizeArgs& p) {
  each_thread(block, p.elements, [&](std::int64_t thread) {
    const ResizedPlace at = ResizedPlace::of(p, thread);
    double sum = 0.0;
    for (std::int32_t i = p.rows.first[at.row]; i < p.rows.first[at.row + 1]; ++i) {
      double line = 0.0;
      for (std::int32_t j = p.columns.first[at.column]; j < p.columns.first[at.column + 1]; ++j) {
        const double x = Scalar::widen(reinterpret_cast<const float*>(p.x)[at.element(p, i, j)]);
        line = Scalar::add_f64(line, Scalar::mul_f64(p.columns.weight[j], x));
      }
      sum = Scalar::add_f64(sum, Scalar::mul_f64(p.rows.weight[i], line));
    }
    reinterpret_cast<float*>(p.y)[thread] = Scalar::narrow(sum);
  });
}

// Indices of files are kept within x.
OCTAVO_DEVICE std::int64_t within(std::int32_t index, std::int64_t size) {
  return index < 0 ? 0 : index < size ? index : size - 1;
}

template <class Block>
OCTAVO_DEVICE void integer_resize(Block& block, const IntegerResizeArgs& p) {
  each_thread(block, p.elements, [&](std::int64_t thread) {
    const std::int64_t channel = thread % p.channels, pixel = thread / p.channels, line = pixel / p.width;
    const std::int64_t column = pixel % p.width, row = line % p.height, image = line / p.height;
    FourValues values{.wy = p.row_weights[row], .wx = p.column_weights[column]};
    unrolled<4>([&](auto i) {
      const std::int64_t h = within(p.rows[2 * row + i % 2], p.from_height);
      const std::int64_t w = within(p.columns[2 * column + i / 2], p.from_width);
      const std::byte stored = p.x[((image * p.from_height + h) * p.from_width + w) * p.channels + channel];
      values.at[i] = widened(static_cast<std::uint8_t>(stored), p.is_signed != 0) - p.shift;
    });
    const std::int64_t lowest = p.is_signed != 0 ? -128 : 0, highest = lowest + 255;
    const std::int64_t sum = values.rounded(p.rounding) + p.shift, raised = sum > lowest ? sum : lowest;
    p.y[thread] = static_cast<std::byte>(raised < highest ? raised : highest);
  });
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_RESIZE_H_
