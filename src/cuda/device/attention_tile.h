// Attention of f32 by tiles: a block has up to 64 queries of a head, a warp 16 of them. Part of cuda/device/.
//
// Shared memory, in elements: q [p.rows][row of q], which partial results of the softmax take over; 64 rows
// of k, then of v; scores, which become weights, [p.rows][pitch]. A thread has the scores of four queries and eight of
// 64 keys, then four queries of eight columns of the result; each sum is one chain.
#ifndef OCTAVO_CUDA_DEVICE_ATTENTION_TILE_H_
#define OCTAVO_CUDA_DEVICE_ATTENTION_TILE_H_

#include "cuda/device/attention_heads.h"

namespace octavo::cuda {

inline constexpr int kFour = 4;          // elements that are read at once
inline constexpr int kWarpQueries = 16;  // of which a thread has every fourth
inline constexpr int kWarpColumns = 8;   // threads of a warp side by side
inline constexpr int kThreadColumns = kTileKeys / kWarpColumns;

template <class Block>
struct AttentionTile {
  struct Sums {
    float at[kFour][kThreadColumns];
  };
  struct alignas(16) Four {
    float at[kFour];
  };

  Block& block;
  const AttentionArgs& p;
  HeadPlace<Block> place{block, p};
  AttentionTileSizes sizes = AttentionTileSizes::of(p);
  typename Block::template Each<Sums> sums{};

  OCTAVO_DEVICE int all_rows() const { return static_cast<int>(p.rows); }
  OCTAVO_DEVICE int rows() const { return static_cast<int>(place.rows()); }
  OCTAVO_DEVICE int keys() const { return static_cast<int>(p.keys); }
  OCTAVO_DEVICE int threads() const { return all_rows() / kWarpQueries * 32; }
  OCTAVO_DEVICE float* queries() const { return reinterpret_cast<float*>(block.shared()); }
  OCTAVO_DEVICE float* others() const { return queries() + all_rows() * sizes.q_pitch; }
  OCTAVO_DEVICE float* scores() const { return others() + kTileKeys * sizes.other_pitch; }
  OCTAVO_DEVICE float* totals() const { return queries() + all_rows() * kPartialSums; }

  // The first of a thread's queries in the block, and what it has of a tile's columns: `lane`, the ones after it being
  // kWarpColumns apart, or four at 4 * lane.
  OCTAVO_DEVICE static int row_of(int t) { return t / 32 * kWarpQueries + t % 32 / kWarpColumns; }
  OCTAVO_DEVICE static int lane_of(int t) { return t % kWarpColumns; }

  OCTAVO_DEVICE Four four_at(const float* from) const {
    Four four;
    block.template copy<sizeof(Four)>(reinterpret_cast<std::byte*>(&four), reinterpret_cast<const std::byte*>(from));
    return four;
  }
  OCTAVO_DEVICE void load_four(float* to, const HeadOperand& operand, std::int64_t at) const {
    block.template copy_async<sizeof(Four)>(reinterpret_cast<std::byte*>(to), operand.x + at * sizeof(float));
  }
  OCTAVO_DEVICE void store_four(float* to, const Four& four) const {
    block.template copy<sizeof(Four)>(reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(&four));
  }

  // `rows` rows of an operand into shared memory, of which `existing` exist; the others become zeros. at(row, column)
  // is an element of it.
  template <class At>
  OCTAVO_DEVICE void load(float* to, int pitch, int rows, int existing, int columns, const HeadOperand& operand,
                          const At& at) {
    constexpr int kWide = kTileKeys / kFour;
    block.each([&](int t) {
      for (int row = t / kWide; row < rows; row += threads() / kWide) {
        for (int column = t % kWide * kFour; column < columns; column += kTileKeys) {
          if (row < existing) load_four(to + row * pitch + column, operand, at(row, column));
          else store_four(to + row * pitch + column, {});
        }
      }
      block.commit_copies();
    });
  }
  OCTAVO_DEVICE void wait() {
    block.each([&](int) { block.template wait_for_copies<0>(); });
    block.sync();
  }

  OCTAVO_DEVICE void clear() {
    block.each([&](int t) {
      unrolled<kFour>([&](auto i) { unrolled<kThreadColumns>([&](auto j) { sums[t].at[i][j] = 0.0f; }); });
    });
  }

  OCTAVO_DEVICE void find_scores() {
    const int head_size = static_cast<int>(p.head_size);
    load(queries(), sizes.q_pitch, all_rows(), rows(), head_size, p.operand[0],
         [&](int row, int column) { return place.q(place.first_query() + row, column); });
    for (int first = 0; first < keys(); first += kTileKeys) {
      load(others(), sizes.other_pitch, kTileKeys, keys() - first, head_size, p.operand[1],
           [&](int row, int column) { return place.k(first + row, column); });
      wait();
      clear();
      multiply_keys();
      store_scores(first);
      block.sync();
    }
  }

  OCTAVO_DEVICE void multiply_keys() {
    block.each([&](int t) __attribute__((always_inline)) {
      const float* own = queries() + row_of(t) * sizes.q_pitch;
      const float* by = others() + lane_of(t) * sizes.other_pitch;
      for (int d = 0; d < static_cast<int>(p.head_size); d += kFour) {
        Four a[kFour];
        unrolled<kFour>([&](auto i) { a[i] = four_at(own + i * kFour * sizes.q_pitch + d); });
        unrolled<kThreadColumns>([&](auto j) {
          const Four b = four_at(by + j * kWarpColumns * sizes.other_pitch + d);
          unrolled<kFour>([&](auto c) {
            unrolled<kFour>(
                [&](auto i) { sums[t].at[i][j] = RealHeads::with_product(sums[t].at[i][j], a[i].at[c], b.at[c]); });
          });
        });
      }
    });
  }

  OCTAVO_DEVICE void store_scores(int first) {
    block.each([&](int t) __attribute__((always_inline)) {
      const std::int64_t mask = place.mask();
      unrolled<kFour>([&](auto i) {
        const int row = row_of(t) + i * kFour;
        if (row >= rows()) return;
        const std::int64_t query = place.first_query() + row, own = mask + query * p.mask.query_stride;
        unrolled<kThreadColumns>([&](auto j) {
          const int key = first + lane_of(t) + j * kWarpColumns;
          if (key < keys())
            scores()[row * sizes.pitch + key] = place.masked(own, query, key, RealHeads::scaled(p, sums[t].at[i][j]));
        });
      });
    });
  }

  // Weights of no key, so that the tile's last four keys are whole: what is added for them is 0.
  OCTAVO_DEVICE void end_weights() {
    block.each([&](int t) {
      for (int i = t; i < all_rows() * kFour; i += threads())
        scores()[i / kFour * sizes.pitch + keys() + i % kFour] = 0.0f;
    });
    block.sync();
  }

  OCTAVO_DEVICE void find_results() {
    const int all_columns = static_cast<int>(p.value_size);
    for (int column = 0; column < all_columns; column += kTileKeys) {
      const int columns = all_columns - column < kTileKeys ? all_columns - column : kTileKeys;
      clear();
      for (int first = 0; first < keys(); first += kTileKeys) {
        load(others(), sizes.other_pitch, kTileKeys, keys() - first, columns, p.operand[2],
             [&](int row, int at) { return place.v(first + row, column + at); });
        wait();
        const int left = keys() - first < kTileKeys ? keys() - first : kTileKeys;
        if (columns > kTileKeys / 2) multiply_values<2>(first, left);
        else multiply_values<1>(first, left);
        block.sync();
      }
      store_results(column, columns);
    }
  }

  // `halves` of 32 columns.
  template <int halves>
  OCTAVO_DEVICE void multiply_values(int first, int keys) {
    block.each([&](int t) __attribute__((always_inline)) {
      const float* own = scores() + row_of(t) * sizes.pitch + first;
      const float* by = others() + lane_of(t) * kFour;
      for (int key = 0; key < keys; key += kFour) {
        Four a[kFour];
        unrolled<kFour>([&](auto i) { a[i] = four_at(own + i * kFour * sizes.pitch + key); });
        unrolled<kFour>([&](auto c) {
          unrolled<halves>([&](auto half) {
            const Four b = four_at(by + (key + c) * sizes.other_pitch + half * (kTileKeys / 2));
            unrolled<kFour>([&](auto i) {
              unrolled<kFour>([&](auto j) {
                float& sum = sums[t].at[i][half * kFour + j];
                sum = RealHeads::with_product(sum, a[i].at[c], b.at[j]);
              });
            });
          });
        });
      }
    });
  }

  OCTAVO_DEVICE void store_results(int first, int columns) {
    block.each([&](int t) __attribute__((always_inline)) {
      unrolled<kFour>([&](auto i) {
        const int row = row_of(t) + i * kFour;
        if (row >= rows()) return;
        const float total = total_of<RealHeads>(totals(), row);
        unrolled<2>([&](auto half) {
          const int column = lane_of(t) * kFour + half * (kTileKeys / 2);
          if (column >= columns) return;
          float results[kFour];
          unrolled<kFour>([&](auto j) { results[j] = RealHeads::result(p, sums[t].at[i][half * kFour + j], total); });
          store_four_results(block, p, place.y(place.first_query() + row, first + column), results);
        });
      });
    });
  }
};

template <class Block>
OCTAVO_DEVICE void attention_tile(Block& block, const AttentionArgs& p) {
  AttentionTile<Block> tile{block, p};
  tile.find_scores();
  find_weights<RealHeads>(block, p, tile.place.rows(), tile.threads(), tile.scores(), tile.sizes.pitch, tile.queries(),
                          tile.totals());
  tile.end_weights();
  tile.find_results();
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_ATTENTION_TILE_H_
