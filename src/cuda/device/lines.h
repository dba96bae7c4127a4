// Kernels of lines: softmax, layer_norm and reduce of f32, each with the partial sums of base/partial_sums.h. Part of
// cuda/device/.
//
// Sixteen threads have a line, one for each partial sum: a block has eight lines. What lines share passes through
// shared memory, [line][part].
#ifndef OCTAVO_CUDA_DEVICE_LINES_H_
#define OCTAVO_CUDA_DEVICE_LINES_H_

#include "cuda/arguments.h"
#include "cuda/device/quad.h"
#include "kernels/integer_norm/generic.h"
#include "kernels/lines/reduce_generic.h"
#include "ops/quantized_layer_norm/line_norm.h"

namespace octavo::cuda {

inline constexpr int kLinesOfBlock = 8;
inline constexpr int kLineThreads = kLinesOfBlock * kPartialSums;

// A thread's line and part of it. Neighbouring threads have neighbouring elements in memory.
struct LineThread {
  int slot = 0, part = 0;  // slot: of the block's lines
  std::int64_t first = 0;  // element of x
  bool exists = false;
  std::int64_t line = 0;

  OCTAVO_DEVICE static LineThread of(std::int64_t block, std::int64_t lines, std::int64_t n, std::int64_t inner,
                                     int t) {
    LineThread own;
    own.slot = inner == 1 ? t / kPartialSums : t % kLinesOfBlock;
    own.part = inner == 1 ? t % kPartialSums : t / kLinesOfBlock;
    own.line = block * kLinesOfBlock + own.slot;
    own.exists = own.line < lines;
    own.first = own.line / inner * inner * n + own.line % inner;
    return own;
  }
  OCTAVO_DEVICE int place() const { return slot * kPartialSums + part; }
};

// f(thread's number, its line) of those that have one.
template <class Block, class F>
OCTAVO_DEVICE void each_line(Block& block, std::int64_t lines, std::int64_t n, std::int64_t inner, const F& f) {
  block.each([&](int t) {
    const LineThread own = LineThread::of(block.x(), lines, n, inner, t);
    if (own.exists) f(t, own);
  });
}
template <class Block, class F>
OCTAVO_DEVICE void each_line(Block& block, const LineArgs& p, const F& f) {
  each_line(block, p.lines, p.n, p.inner, f);
}

// Of a line's partial results in shared memory.
template <class T, class Join>
OCTAVO_DEVICE T joined_line(const T* parts, const LineThread& own, const Join& join) {
  T values[kPartialSums];
  unrolled<kPartialSums>([&](auto i) { values[i] = parts[own.slot * kPartialSums + i]; });
  return joined(values, join);
}
template <class T>
OCTAVO_DEVICE T summed_line(const T* parts, const LineThread& own) {
  return joined_line(parts, own, [](T a, T b) { return a + b; });
}

// The largest element, NaN left out, in every thread of the line; never -0.
template <class Block>
OCTAVO_DEVICE void find_largest(Block& block, const LineArgs& p, typename Block::template Each<float>& largest) {
  auto* parts = reinterpret_cast<float*>(block.shared());
  constexpr float kLowest = -__builtin_inff();
  each_line(block, p, [&](int, const LineThread& own) {
    float most = kLowest;
    for (std::int64_t i = own.part; i < p.n; i += kPartialSums) most = Lane::max(p.x[own.first + i * p.inner], most);
    parts[own.place()] = most;
  });
  block.sync();
  each_line(block, p, [&](int t, const LineThread& own) {
    float most = kLowest;
    unrolled<kPartialSums>([&](auto i) { most = Lane::max(parts[own.slot * kPartialSums + i], most); });
    largest[t] = most + 0.0f;
  });
  block.sync();
}

template <bool is_log, class Block>
OCTAVO_DEVICE void softmax(Block& block, const LineArgs& p) {
  typename Block::template Each<float> largest;
  find_largest(block, p, largest);
  auto* totals = reinterpret_cast<double*>(block.shared());
  each_line(block, p, [&](int t, const LineThread& own) {
    double total = 0.0;
    for (std::int64_t begin = 0; begin < p.n; begin += kShortSum) {
      float sum = 0.0f;
      for (std::int64_t i = begin + own.part; i < p.n && i < begin + kShortSum; i += kPartialSums) {
        const std::int64_t at = own.first + i * p.inner;
        const float e = exp_weight_f32<Lane>(Lane::sub(p.x[at], largest[t]));
        if constexpr (!is_log) p.y[at] = e;
        sum = Lane::add(sum, e);
      }
      total = Lane::add_f64(total, Lane::widen(sum));
    }
    totals[own.place()] = total;
  });
  block.sync();
  each_line(block, p, [&](int t, const LineThread& own) {
    const float sum = Lane::narrow(summed_line(totals, own));
    const float factor = is_log ? log_f32<Lane>(sum) : Lane::div(1.0f, sum);
    for (std::int64_t i = own.part; i < p.n; i += kPartialSums) {
      const std::int64_t at = own.first + i * p.inner;
      p.y[at] = is_log ? Lane::sub(Lane::sub(p.x[at], largest[t]), factor) : Lane::mul(p.y[at], factor);
    }
  });
}

template <class Block>
OCTAVO_DEVICE void layer_norm(Block& block, const LineArgs& p) {
  auto* totals = reinterpret_cast<double*>(block.shared());
  auto* squares = totals + kLineThreads;
  each_line(block, p, [&](int, const LineThread& own) {
    double total = 0.0;
    for (std::int64_t i = own.part; i < p.n; i += kPartialSums) total += Lane::widen(p.x[own.first + i]);
    totals[own.place()] = total;
  });
  block.sync();
  typename Block::template Each<float> mean;
  each_line(block, p, [&](int t, const LineThread& own) {
    mean[t] = Lane::narrow(summed_line(totals, own) / static_cast<double>(p.n));
    double total = 0.0;
    for (std::int64_t i = own.part; i < p.n; i += kPartialSums) {
      const double centred = Lane::widen(Lane::sub(p.x[own.first + i], mean[t]));
      total += Lane::mul_f64(centred, centred);
    }
    squares[own.place()] = total;
  });
  block.sync();
  each_line(block, p, [&](int t, const LineThread& own) {
    const double variance = summed_line(squares, own) / static_cast<double>(p.n) + p.epsilon;
    const float factor = Lane::narrow(1.0 / __builtin_sqrt(variance));
    for (std::int64_t i = own.part; i < p.n; i += kPartialSums) {
      const float normal = Lane::mul(Lane::sub(p.x[own.first + i], mean[t]), factor);
      p.y[own.first + i] = p.bias == nullptr ? Lane::mul(normal, p.scale[i]) : Lane::fma(normal, p.scale[i], p.bias[i]);
    }
  });
}

// One partial result of a thread, and where the join of all goes.
template <ReduceKind kind, class Block>
OCTAVO_DEVICE void fold_lines(Block& block, const LineArgs& p, typename Block::template Each<float>& largest,
                              bool is_last) {
  using Part = decltype(Fold<kind>::template add<Lane>(Fold<kind>::start, 0.0f, 0.0f));
  auto* parts = reinterpret_cast<Part*>(block.shared());
  each_line(block, p, [&](int t, const LineThread& own) {
    Part state = Fold<kind>::start;
    for (std::int64_t i = own.part; i < p.n; i += kPartialSums)
      state = Fold<kind>::template add<Lane>(state, p.x[own.first + i * p.inner], largest[t]);
    parts[own.place()] = state;
  });
  block.sync();
  each_line(block, p, [&](int t, const LineThread& own) {
    const Part total = joined_line(parts, own, [](Part a, Part b) { return Fold<kind>::join(a, b); });
    if (!is_last) largest[t] = static_cast<float>(total);
    else if (own.part == 0) p.y[own.line] = finished<kind>(total, largest[t], p.n);
  });
  block.sync();
}

// By its kind; log_sum_exp needs the largest element first.
template <class Block>
OCTAVO_DEVICE void reduce(Block& block, const LineArgs& p) {
  typename Block::template Each<float> largest;
  block.each([&](int t) { largest[t] = 0.0f; });
  if (p.kind == ReduceKind::log_sum_exp) fold_lines<ReduceKind::max>(block, p, largest, false);
  unrolled<count_of(ReduceKind{})>([&](auto number) {
    constexpr auto kind = static_cast<ReduceKind>(decltype(number)::value);
    if (p.kind == kind) fold_lines<kind>(block, p, largest, true);
  });
}

// d of `lanes` neighbours from x[i] on.
template <int lanes, class Block>
OCTAVO_DEVICE void load_differences(const NormArgs& p, std::int64_t i, std::int32_t (&d)[lanes]) {
  Quad<std::uint8_t> bytes;
  Quad<std::int16_t> words;
  if (p.line.x_type == NormType::s16)
    load_quad<Block>(reinterpret_cast<const std::int16_t*>(p.x) + i, lanes, lanes == kQuad, words);
  else load_quad<Block>(reinterpret_cast<const std::uint8_t*>(p.x) + i, lanes, lanes == kQuad, bytes);
  unrolled<lanes>([&](auto j) {
    const std::int32_t stored = p.line.x_type == NormType::s16  ? words[j]
                                : p.line.x_type == NormType::s8 ? static_cast<std::int8_t>(bytes[j])
                                                                : std::int32_t{bytes[j]};
    d[j] = Scalar::sub_s32(stored, p.line.x_zero_point);
  });
}

template <int lanes, class Block>
OCTAVO_DEVICE void store_normal(const NormArgs& p, std::int64_t at, const float (&values)[lanes]) {
  Quad<float> reals;
  Quad<std::int16_t> words;
  Quad<std::uint8_t> bytes;
  unrolled<lanes>([&](auto j) { reals[j] = values[j]; });
  if (p.result.to == NormTo::f32) return store_quad<Block>(p.y, at, reals, lanes, lanes == kQuad);
  unrolled<lanes>([&](auto j) {
    const std::int32_t stored = rounded<Scalar>(values[j], p.result.round);
    words[j] = static_cast<std::int16_t>(stored), bytes[j] = static_cast<std::uint8_t>(stored);
    if (p.result.to == NormTo::bytes && p.result.table != nullptr) bytes[j] = p.result.table[bytes[j]];
  });
  if (p.result.to == NormTo::s16) store_quad<Block>(p.y, at, words, lanes, lanes == kQuad);
  else store_quad<Block>(p.y, at, bytes, lanes, lanes == kQuad);
}

// quantized_layer_norm: sums are exact, in whatever order; lanes: kQuad where lines come in fours, else 1.
template <int lanes, class Block>
OCTAVO_DEVICE void norm_stored(Block& block, const NormArgs& p) {
  auto* sums = reinterpret_cast<std::int64_t*>(block.shared());
  auto* squares = sums + kLineThreads;
  const std::int64_t n = p.line.n;
  each_line(block, p.lines, n, 1, [&](int, const LineThread& own) {
    std::int64_t sum = 0, square = 0;
    for (std::int64_t i = own.part * lanes; i < n; i += kPartialSums * lanes) {
      std::int32_t d[lanes];
      load_differences<lanes, Block>(p, own.first + i, d);
      unrolled<lanes>([&](auto j) { sum += d[j], square += std::int64_t{d[j]} * d[j]; });
    }
    sums[own.place()] = sum, squares[own.place()] = square;
  });
  block.sync();
  each_line(block, p.lines, n, 1, [&](int, const LineThread& own) {
    const LineNorm norm =
        LineNorm::of(p.is_centred != 0, p.epsilon, summed_line(sums, own), summed_line(squares, own), n);
    for (std::int64_t i = own.part * lanes; i < n; i += kPartialSums * lanes) {
      std::int32_t d[lanes];
      Quad<float> factor, shift;
      load_differences<lanes, Block>(p, own.first + i, d);
      load_quad<Block>(p.result.factor + i, lanes, lanes == kQuad, factor);
      load_quad<Block>(p.result.shift + i, lanes, lanes == kQuad, shift);
      float values[lanes];
      unrolled<lanes>(
          [&](auto j) { values[j] = normalized<Scalar>(d[j], norm.mean, norm.inverse, factor[j], shift[j]); });
      store_normal<lanes, Block>(p, own.first + i, values);
    }
  });
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_LINES_H_
