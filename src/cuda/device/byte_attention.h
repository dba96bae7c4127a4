// Attention of bytes on tensor cores: a block has up to 64 queries of a head, a warp 16 of them. Part of cuda/device/.
//
// Keys pass by twice, 64 at a time, the next ones on their way: once for the largest score of each query, then for the
// weights, of which the results of 64 columns are made at once. Scores never leave registers.
//   sums   of q and k, and of weights and v, are those of stored bytes; what zero points change of them are terms of a
//          query and of a key: sums of their bytes, which are products by ones
//   v      is multiplied as it lies in memory: turned matrices have two keys next to each other, and weights are in the
//          registers of a thread in this order of keys, 2 t and 2 t + 1 of every eight
// Shared memory: ByteAttentionSizes.
#ifndef OCTAVO_CUDA_DEVICE_BYTE_ATTENTION_H_
#define OCTAVO_CUDA_DEVICE_BYTE_ATTENTION_H_

#include "cuda/device/attention_heads.h"
#include "cuda/device/mma.h"

namespace octavo::cuda {

inline constexpr int kHalfKeys = kMmaBytes;                 // of a tile, which a warp multiplies at once
inline constexpr int kKeyGroups = kHalfKeys / kMmaColumns;  // eight keys each
inline constexpr int kGroupColumns = 16;                    // of the result
inline constexpr int kColumnGroups = kTileKeys / kGroupColumns;
inline constexpr std::uint32_t kOnes = 0x01010101;

template <class Block>
struct ByteAttention {
  using Sums = std::int32_t[4];  // of an mma
  struct Own {                   // of queries t / 4 and t / 4 + 8 of the warp
    std::int32_t terms[2];
    float largest[2];
    std::int32_t total[2];
    Sums results[2 * kColumnGroups];  // even columns of a group, then odd ones
  };
  struct Products {
    std::uint32_t q[4], k[kKeyGroups][2];
    Sums sums[kKeyGroups], of_keys[kKeyGroups];
  };
  struct Weights {  // of 32 keys, and their values, turned, of a group of columns
    std::uint32_t at[4], v[2][2];
  };
  struct Columns {  // every second one of them
    std::uint32_t at[2];
  };
  struct Scores {
    float at[kKeyGroups][4];  // as Products::sums
  };
  struct Query {
    std::int64_t number, mask;
  };
  // Rows of a head in a tensor, those that exist.
  struct Rows {
    const std::byte* x;
    std::int64_t pitch, count;
    int columns, piece;
  };

  Block& block;
  const AttentionArgs& p;
  HeadPlace<Block> place{block, p};
  ByteAttentionSizes sizes = ByteAttentionSizes::of(p);
  std::int64_t mask = place.mask();
  int tiles = static_cast<int>((p.keys + kTileKeys - 1) / kTileKeys);
  int chunks = static_cast<int>((p.value_size + kTileKeys - 1) / kTileKeys);
  typename Block::template Each<Own> own{};

  OCTAVO_DEVICE int threads() const { return static_cast<int>(p.rows) / kMmaRows * kWarp; }
  OCTAVO_DEVICE std::uint8_t* table() const { return reinterpret_cast<std::uint8_t*>(block.shared()); }
  OCTAVO_DEVICE std::byte* queries() const { return block.shared() + ByteAttentionSizes::kTable; }
  OCTAVO_DEVICE std::byte* keys(int step) const { return queries() + (p.rows + step % 2 * kTileKeys) * sizes.pitch; }
  OCTAVO_DEVICE std::byte* values(int step) const {
    return keys(0) + 2 * kTileKeys * sizes.pitch + step % 2 * kTileKeys * ByteAttentionSizes::kValuePitch;
  }
  // [p.rows][4] of the threads of a query.
  template <class T>
  OCTAVO_DEVICE T* parts() const {
    return reinterpret_cast<T*>(values(0) + 2 * kTileKeys * ByteAttentionSizes::kValuePitch);
  }
  OCTAVO_DEVICE std::int32_t* key_terms() const { return parts<std::int32_t>() + p.rows * 4; }

  OCTAVO_DEVICE static int row_of(int t, int half) { return t / kWarp * kMmaRows + t % kWarp / 4 + half * 8; }
  // Of sums[group][i]: the key in a half tile.
  OCTAVO_DEVICE static int key_of(int t, int group, int i) { return group * kMmaColumns + t % 4 * 2 + i % 2; }
  // The last one in place of one that is not there.
  OCTAVO_DEVICE Query query_of(int t, int half) const {
    const int last = static_cast<int>(place.rows()) - 1, row = row_of(t, half) < last ? row_of(t, half) : last;
    const std::int64_t number = place.first_query() + row;
    return {number, mask + number * p.mask.query_stride};
  }
  OCTAVO_DEVICE int columns_of(int chunk) const {
    const auto left = static_cast<int>(p.value_size) - chunk * kTileKeys;
    return left < kTileKeys ? left : kTileKeys;
  }

  // ---- from global to shared memory ----

  template <int piece>
  OCTAVO_DEVICE void copy_pieces(int t, std::byte* to, int pitch, const Rows& rows) const {
    constexpr int kWide = kTileKeys / piece;
    for (int row = t / kWide; row < kTileKeys && row < rows.count; row += threads() / kWide) {
      const std::byte* x = rows.x + row * rows.pitch;
      for (int column = t % kWide * piece; column < rows.columns; column += kTileKeys)
        block.template copy_async<piece, true>(to + row * pitch + column, x + column);
    }
  }
  OCTAVO_DEVICE void copy(std::byte* to, int pitch, const Rows& rows) const {
    block.each([&](int t) {
      if (rows.piece == kAttentionPiece) copy_pieces<kAttentionPiece>(t, to, pitch, rows);
      else copy_pieces<4>(t, to, pitch, rows);
    });
  }

  // The table; and zeros behind the heads' bytes, as far as products reach.
  OCTAVO_DEVICE void prepare() const {
    const int words = (sizes.pitch - kAttentionPiece - static_cast<int>(p.head_size)) / 4;
    block.each([&](int t) {
      for (int i = t; i < (static_cast<int>(p.rows) + 2 * kTileKeys) * words; i += threads())
        reinterpret_cast<std::uint32_t*>(queries() + i / words * sizes.pitch + p.head_size)[i % words] = 0;
      for (int i = t; i < ByteAttentionSizes::kTable; i += threads()) table()[i] = p.table[i];
    });
  }
  OCTAVO_DEVICE void copy_queries() const {
    const HeadOperand& q = p.operand[0];
    copy(queries(), sizes.pitch,
         {q.x + place.q(place.first_query(), 0), q.columns, place.rows(), static_cast<int>(p.head_size), q.piece});
  }
  // Steps are the tiles of the first pass, which need no values, then those of each chunk of columns.
  OCTAVO_DEVICE void copy_step(int step) const {
    const HeadOperand &k = p.operand[1], &v = p.operand[2];
    const int chunk = step / tiles - 1;
    const std::int64_t first = step % tiles * kTileKeys, count = p.keys - first;
    copy(keys(step), sizes.pitch, {k.x + place.k(first, 0), k.columns, count, static_cast<int>(p.head_size), k.piece});
    if (chunk < 0) return;
    copy(values(step), ByteAttentionSizes::kValuePitch,
         {v.x + place.v(first, chunk * kTileKeys), v.columns, count, columns_of(chunk), v.piece});
  }
  OCTAVO_DEVICE void commit() const {
    block.each([&](int) { block.commit_copies(); });
  }
  // What a step needs is there, and the next one's is on its way.
  OCTAVO_DEVICE void await(int step) const {
    block.each([&](int) { block.template wait_for_copies<0>(); });
    block.sync();
    if (step + 1 < tiles * (1 + chunks)) copy_step(step + 1);
    commit();
  }

  // ---- products of queries and keys ----

  OCTAVO_DEVICE void load_queries(typename Block::template Each<Products>& products, int depth) const {
    block.load_matrices(
        [&](int t) {
          const int lane = t % kWarp;
          return queries() + (t / kWarp * kMmaRows + lane % 16) * sizes.pitch + depth + lane / 16 * kAttentionPiece;
        },
        [&](int t) {
          auto& q = products[t].q;
          return Words{q[0], q[1], q[2], q[3]};
        });
  }

  // What zero points change of the sums of a query.
  OCTAVO_DEVICE void find_query_terms() {
    constexpr std::uint32_t ones[2] = {kOnes, kOnes};
    typename Block::template Each<Products> products;
    block.each([&](int t) { unrolled<4>([&](auto i) { products[t].sums[0][i] = 0; }); });
    for (int depth = 0; depth < p.head_size; depth += kMmaBytes) {
      load_queries(products, depth);
      block.template multiply<std::uint8_t>([&](int t) {
        return MmaOperands{products[t].sums[0], products[t].q, ones};
      });
    }
    const std::int32_t q = p.operand[0].zero_point, k = p.operand[1].zero_point;
    block.each([&](int t) {
      unrolled<2>([&](auto half) {
        own[t].terms[half] = q * k * static_cast<std::int32_t>(p.head_size) - k * products[t].sums[0][2 * half];
        own[t].largest[half] = kHidden;
      });
    });
  }

  // Sums of the warp's queries with 32 keys; with kOfKeys those of the keys' bytes, too.
  template <bool kOfKeys>
  OCTAVO_DEVICE void multiply_keys(typename Block::template Each<Products>& products, const std::byte* k) const {
    constexpr std::uint32_t ones[4] = {kOnes, kOnes, kOnes, kOnes};
    block.each([&](int t) {
      unrolled<kKeyGroups>([&](auto group) {
        unrolled<4>([&](auto i) { products[t].sums[group][i] = products[t].of_keys[group][i] = 0; });
      });
    });
    for (int depth = 0; depth < p.head_size; depth += kMmaBytes) {
      load_queries(products, depth);
      unrolled<kKeyGroups / 2>([&](auto pair) {
        block.load_matrices(
            [&](int t) {
              const int lane = t % kWarp, key = pair * 16 + lane % 8 + lane / 16 * 8;
              return k + key * sizes.pitch + depth + lane / 8 % 2 * kAttentionPiece;
            },
            [&](int t) {
              auto& words = products[t].k;
              return Words{words[2 * pair][0], words[2 * pair][1], words[2 * pair + 1][0], words[2 * pair + 1][1]};
            });
      });
      unrolled<kKeyGroups>([&](auto group) {
        block.template multiply<std::uint8_t>([&](int t) {
          return MmaOperands{products[t].sums[group], products[t].q, products[t].k[group]};
        });
        if constexpr (kOfKeys)
          block.template multiply<std::uint8_t>([&](int t) {
            return MmaOperands{products[t].of_keys[group], ones, products[t].k[group]};
          });
      });
    }
  }

  // f(group, i) for what a thread has of the scores of 32 keys.
  template <class F>
  OCTAVO_DEVICE static void each_score(const F& f) {
    unrolled<kKeyGroups>([&](auto group) { unrolled<4>([&](auto i) { f(group, i); }); });
  }

  // `first`: the first key; key_term(group, i): what the zero point of q changes.
  template <class KeyTerm>
  OCTAVO_DEVICE void find_scores(int t, int first, const Products& products, const KeyTerm& key_term, Scores& scores) {
    const int last = static_cast<int>(p.keys) - 1;
    const Query both[2] = {query_of(t, 0), query_of(t, 1)};
    const auto existing = [&](int group, int i) {
      const int key = first + key_of(t, group, i);
      return key < last ? key : last;
    };
    each_score([&](auto group, auto i) {
      const std::int32_t sum = Scalar::add_s32(products.sums[group][i], own[t].terms[i / 2]);
      scores.at[group][i] = StoredHeads::scaled(p, Scalar::add_s32(sum, key_term(group, i)));
    });
    const auto change = [&](const auto& changed) {
      each_score([&](auto group, auto i) {
        scores.at[group][i] = changed(both[i / 2], existing(group, i), scores.at[group][i]);
      });
    };
    if (p.mask.added != nullptr)
      change([&](const Query& query, int key, float score) { return place.with_added(query.mask, key, score); });
    if (p.mask.shown != nullptr)
      change([&](const Query& query, int key, float score) { return place.if_shown(query.mask, key, score); });
    if (p.is_causal != 0)
      change([&](const Query& query, int key, float score) { return place.if_past(query.number, key, score); });
    if (first + kHalfKeys <= last + 1) return;
    each_score([&](auto group, auto i) {
      if (first + key_of(t, group, i) > last) scores.at[group][i] = kHidden;
    });
  }

  // Of a query each of four threads has a part of the keys: `joined` of all parts.
  template <class T, class Joined>
  OCTAVO_DEVICE void join_parts(T (Own::*part)[2], const Joined& joined) {
    block.each([&](int t) {
      unrolled<2>([&](auto half) { parts<T>()[row_of(t, half) * 4 + t % 4] = (own[t].*part)[half]; });
    });
    block.sync();
    block.each([&](int t) {
      unrolled<2>([&](auto half) {
        const T* all = parts<T>() + row_of(t, half) * 4;
        (own[t].*part)[half] = joined(joined(all[0], all[1]), joined(all[2], all[3]));
      });
    });
  }

  OCTAVO_DEVICE void take_largest(int t, int first, const Products& products) {
    const auto key_term = [&](int group, int i) { return -p.operand[0].zero_point * products.of_keys[group][i]; };
    Scores scores;
    find_scores(t, first, products, key_term, scores);
    each_score([&](auto group, auto i) {
      own[t].largest[i / 2] = Lane::max(scores.at[group][i], own[t].largest[i / 2]);
      if (i < 2 && t < 4) key_terms()[first + key_of(t, group, i)] = key_term(group, i);
    });
  }
  OCTAVO_DEVICE void find_largest(int tile) {
    for (int half = 0; half < kTileKeys; half += kHalfKeys) {
      const int first = tile * kTileKeys + half;
      typename Block::template Each<Products> products;
      multiply_keys<true>(products, keys(tile) + half * sizes.pitch);
      block.each([&](int t) __attribute__((always_inline)) { take_largest(t, first, products[t]); });
    }
  }

  // ---- weights, and what they make of values ----

  OCTAVO_DEVICE void begin_results() {
    block.each([&](int t) {
      unrolled<2>([&](auto half) { own[t].total[half] = 0; });
      unrolled<2 * kColumnGroups>([&](auto n) { unrolled<4>([&](auto i) { own[t].results[n][i] = 0; }); });
    });
  }

  // As mma takes them: a word has two keys of a group, and of the next one.
  OCTAVO_DEVICE void find_weights(int t, int first, const Products& products, Weights& weights) {
    Scores scores;
    find_scores(
        t, first, products, [&](int group, int i) { return key_terms()[first + key_of(t, group, i)]; }, scores);
    unrolled<4>([&](auto word) { weights.at[word] = 0; });
    each_score([&](auto group, auto i) {
      constexpr int half = i / 2, word = group / 2 * 2 + half, byte = group % 2 * 2 + i % 2;
      const std::uint8_t weight = table()[weight_entry<Scalar>(own[t].largest[half], scores.at[group][i], p.steps)];
      own[t].total[half] += weight;
      weights.at[word] |= std::uint32_t{weight} << 8 * byte;
    });
  }

  // `v`: 32 rows in shared memory.
  OCTAVO_DEVICE void multiply_values(const std::byte* v, int columns, typename Block::template Each<Weights>& weights) {
    unrolled<kColumnGroups>([&](auto group) {
      if (group * kGroupColumns >= columns) return;
      block.template load_matrices<true>(
          [&](int t) { return v + t % kWarp * ByteAttentionSizes::kValuePitch + group * kGroupColumns; },
          [&](int t) {
            auto& words = weights[t].v;
            return Words{words[0][0], words[0][1], words[1][0], words[1][1]};
          });
      unrolled<2>([&](auto odd) {
        typename Block::template Each<Columns> own_columns;
        block.each([&](int t) {
          constexpr std::uint32_t kNumbers = odd == 0 ? 0x6420 : 0x7531;
          unrolled<2>(
              [&](auto i) { own_columns[t].at[i] = picked_bytes(weights[t].v[i][0], weights[t].v[i][1], kNumbers); });
        });
        block.template multiply<std::uint8_t>([&](int t) {
          return MmaOperands{own[t].results[2 * group + odd], weights[t].at, own_columns[t].at};
        });
      });
    });
  }

  OCTAVO_DEVICE void add_tile(int step, int columns) {
    for (int half = 0; half < kTileKeys; half += kHalfKeys) {
      const int first = step % tiles * kTileKeys + half;
      typename Block::template Each<Products> products;
      typename Block::template Each<Weights> weights;
      multiply_keys<false>(products, keys(step) + half * sizes.pitch);
      block.each([&](int t) __attribute__((always_inline)) { find_weights(t, first, products[t], weights[t]); });
      multiply_values(values(step) + half * ByteAttentionSizes::kValuePitch, columns, weights);
    }
  }

  OCTAVO_DEVICE void store_results(int chunk) {
    block.each([&](int t) __attribute__((always_inline)) {
      unrolled<2>([&](auto half) {
        const int row = row_of(t, half);
        if (row >= place.rows()) return;
        const std::int32_t total = own[t].total[half], term = -total * p.operand[2].zero_point;
        const float inverse = inverse_of(total);
        unrolled<kColumnGroups>([&](auto group) {
          const int column = group * kGroupColumns + t % 4 * 4;
          if (column >= columns_of(chunk)) return;
          float results[4];
          unrolled<4>([&](auto i) {
            const std::int32_t sum = own[t].results[2 * group + i % 2][2 * half + i / 2];
            results[i] = attention_result<Scalar>(Scalar::add_s32(sum, term), inverse, p.factor, p.offset);
          });
          store_four_results(block, p, place.y(place.first_query() + row, chunk * kTileKeys + column), results);
        });
      });
    });
  }

  OCTAVO_DEVICE void find_all_largest() {
    if (tiles == 0) return;
    copy_queries();
    copy_step(0);
    commit();
    for (int tile = 0; tile < tiles; ++tile) {
      await(tile);
      if (tile == 0) find_query_terms();
      find_largest(tile);
    }
    join_parts(&Own::largest, [](float a, float b) { return Lane::max(a, b); });
  }
};

template <class Block>
OCTAVO_DEVICE void byte_attention(Block& block, const AttentionArgs& p) {
  ByteAttention<Block> heads{block, p};
  heads.prepare();
  heads.find_all_largest();
  for (int chunk = 0; chunk < heads.chunks; ++chunk) {
    heads.begin_results();
    for (int tile = 0; tile < heads.tiles; ++tile) {
      const int step = (1 + chunk) * heads.tiles + tile;
      heads.await(step);
      heads.add_tile(step, heads.columns_of(chunk));
    }
    heads.join_parts(&ByteAttention<Block>::Own::total, [](std::int32_t a, std::int32_t b) { return a + b; });
    heads.store_results(chunk);
  }
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_BYTE_ATTENTION_H_
