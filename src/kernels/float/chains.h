// The loops of fused_conv over any Simd: a register tile of rows by vectors of columns. Internal linkage only. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_FLOAT_CHAINS_H_
#define OCTAVO_KERNELS_FLOAT_CHAINS_H_

#include "kernels/float/lane_chains.h"
#include "kernels/float/sums.h"
#include "kernels/simd/scalar.h"

namespace octavo {
namespace {

// Vectors of 16 lanes have 32 registers: 24 sums, two of w, one of a. Others have 16: 12 sums.
template <class S>
constexpr int kChainRows = S::kLanes >= 16 ? 12 : (S::kLanes > 1 ? 6 : 4);

// `at` is where the vector's first result lies in y, from its beginning on. In this order of the clamp's operands NaN
// stays what it is, and so does -0 at a bound of 0: as unary's relu and clip.
template <class S, class Load>
typename S::F32 ended(typename S::F32 sum, const ChainEnd& end, std::int64_t column, std::int64_t at,
                      const Load& load) {
  typename S::F32 value = S::add(sum, S::load(end.bias + column));
  if (end.residual_before != nullptr) value = S::add(value, load(end.residual_before + at));
  value = S::min(S::set(end.highest), S::max(S::set(end.lowest), value));
  return end.residual_after == nullptr ? value : S::add(value, load(end.residual_after + at));
}

template <class S, int kRows, int kVectors>
void chain_tile(const ChainTile& t) {
  const std::int64_t last = t.width - (kVectors - 1) * S::kLanes;
  const auto load = [](const float* p) { return S::load(p); };
  const auto load_last = [last](const float* p) { return S::load_first(p, last, 0.0f); };
  typename S::F32 sum[kRows][kVectors];
  for (int p = 0; p < kRows; ++p) {
    for (int v = 0; v < kVectors; ++v) {
      const float* begun = t.y + p * t.y_stride + v * S::kLanes;
      sum[p][v] =
          !t.continues ? S::set(0.0f) : (v + 1 < kVectors || last == S::kLanes ? load(begun) : load_last(begun));
    }
  }
  const float* w = t.w;
  const float* const* a = t.a;
  for (std::int64_t tap = 0; tap < t.taps; ++tap, a += kRows) {
    const float* row[kRows];
    for (int p = 0; p < kRows; ++p) row[p] = a[p] + t.first;
    for (std::int64_t k = 0; k < t.depth; ++k, w += kVectors * S::kLanes) {
      typename S::F32 columns[kVectors];
      for (int v = 0; v < kVectors; ++v) columns[v] = S::load(w + v * S::kLanes);
      for (int p = 0; p < kRows; ++p) {
        const typename S::F32 x = S::set(row[p][k]);
        for (int v = 0; v < kVectors; ++v) sum[p][v] = S::fma(x, columns[v], sum[p][v]);
      }
    }
  }
  for (int p = 0; p < kRows; ++p) {
    for (int v = 0; v < kVectors; ++v) {
      const std::int64_t column = v * S::kLanes, at = p * t.y_stride + column;
      if (v + 1 < kVectors || last == S::kLanes) S::store(t.y + at, ended<S>(sum[p][v], t.end, column, at, load));
      else S::store_first(t.y + at, ended<S>(sum[p][v], t.end, column, at, load_last), last);
    }
  }
}

template <class S, int kRows>
void chains_of_rows(const ChainTile& t) {
  if (t.rows == kRows) return t.vectors == 1 ? chain_tile<S, kRows, 1>(t) : chain_tile<S, kRows, kChainVectors>(t);
  if constexpr (kRows > 1) chains_of_rows<S, kRows - 1>(t);
}

template <class S, int kRows>
void lane_chains_of_rows(const ChainTile& t, float* sums) {
  if (t.rows == kRows)
    return t.vectors == 1 ? LaneChains<S, kRows, 1>::run(t, sums) : LaneChains<S, kRows, kChainVectors>::run(t, sums);
  if constexpr (kRows > 1) lane_chains_of_rows<S, kRows - 1>(t, sums);
}

// By an array of all sums: f(its vector, where it lies in y from its beginning on, column, lanes that y has).
template <class S, class F>
void for_vectors(const ChainTile& t, float* sums, const F& f) {
  for (int p = 0; p < t.rows; ++p) {
    for (int v = 0; v < t.vectors; ++v, sums += S::kLanes) {
      const std::int64_t column = v * S::kLanes;
      f(sums, p * t.y_stride + column, column, t.width - column < S::kLanes ? t.width - column : S::kLanes);
    }
  }
}
template <class S>
void lane_chains(const ChainTile& t) {
  float sums[kChainRows<S> * kChainVectors * S::kLanes] = {};
  if (t.continues) {
    for_vectors<S>(t, sums, [&](float* sum, std::int64_t at, std::int64_t, std::int64_t lanes) {
      S::store(sum, S::load_first(t.y + at, lanes, 0.0f));
    });
  }
  lane_chains_of_rows<S, kChainRows<S>>(t, sums);
  for_vectors<S>(t, sums, [&](const float* sum, std::int64_t at, std::int64_t column, std::int64_t lanes) {
    const auto load = [lanes](const float* p) { return S::load_first(p, lanes, 0.0f); };
    S::store_first(t.y + at, ended<S>(S::load(sum), t.end, column, at, load), lanes);
  });
}

template <class S>
void chains(const ChainTile& tile) {
  if constexpr (requires { typename S::Four; }) lane_chains<S>(tile);
  else chains_of_rows<S, kChainRows<S>>(tile);
}

template <class S, int kPixels, int kVectors>
void channel_chain_block(const ChannelChains& d, std::int64_t c) {
  typename S::F32 sum[kPixels][kVectors];
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kVectors; ++v) sum[p][v] = S::set(0.0f);
  }
  const float* w = d.w + c;
  const float* const* a = d.a;
  for (std::int64_t t = 0; t < d.taps; ++t, a += kPixels, w += d.channels) {
    typename S::F32 columns[kVectors];
    for (int v = 0; v < kVectors; ++v) columns[v] = S::load(w + v * S::kLanes);
    for (int p = 0; p < kPixels; ++p) {
      for (int v = 0; v < kVectors; ++v) sum[p][v] = S::fma(S::load(a[p] + c + v * S::kLanes), columns[v], sum[p][v]);
    }
  }
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kVectors; ++v) {
      const std::int64_t channel = c + v * S::kLanes, at = p * d.channels + channel;
      S::store(d.y + at, ended<S>(sum[p][v], d.end, channel, at, [](const float* from) { return S::load(from); }));
    }
  }
}

template <class S, int kPixels, int kVectors>
void channel_chains_from(const ChannelChains& d, std::int64_t c) {
  for (; c + kVectors * S::kLanes <= d.channels; c += kVectors * S::kLanes)
    channel_chain_block<S, kPixels, kVectors>(d, c);
  if constexpr (kVectors > 1) channel_chains_from<S, kPixels, kVectors / 2>(d, c);
  else if constexpr (S::kLanes > 1) channel_chains_from<typename S::Half, kPixels, 1>(d, c);
}

template <class S>
void channel_chains(const ChannelChains& d) {
  switch (d.pixels) {
    case 1: return channel_chains_from<S, 1, 4>(d, 0);
    case 2: return channel_chains_from<S, 2, 4>(d, 0);
    case 3: return channel_chains_from<S, 3, 2>(d, 0);
    default: return channel_chains_from<S, kChainPixels, 2>(d, 0);
  }
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_FLOAT_CHAINS_H_
