// The contract of integer_attention/: some queries of one head, between files that are compiled for one instruction
// set. Part of kernels/.
#ifndef OCTAVO_KERNELS_INTEGER_ATTENTION_HEAD_H_
#define OCTAVO_KERNELS_INTEGER_ATTENTION_HEAD_H_

#include <cstddef>
#include <cstdint>

#include "kernels/epilogue/rows.h"
#include "kernels/table/lookup.h"

namespace octavo {

// Rows of 8-bit values: as many columns of each as the head reads.
struct HeadRows {
  const std::uint8_t* first = nullptr;
  std::int64_t stride = 0;  // bytes from a row to the next
  bool is_signed = false;
  std::int32_t zero_point = 0;
};

// The mask of one query: of f32 it is added, a boolean that is 0 hides a key. `key_stride` 0: one for all keys.
struct HeadMask {
  const float* added = nullptr;
  const std::uint8_t* shown = nullptr;
  std::int64_t query_stride = 0, key_stride = 0;  // elements
};

// Where the parts of a thread's scratch begin; every part is aligned to 64 bytes. A lane is 32 bits: `per_lane` columns
// of one key, or one column of `per_lane` keys.
struct HeadScratch {
  std::int32_t* keys = nullptr;       // [padded keys / lanes][depth][lanes]
  std::int32_t* values = nullptr;     // [padded value_size / lanes][padded keys / per_lane][lanes]
  std::int32_t* queries = nullptr;    // [kMostQueries][depth]
  std::int32_t* key_terms = nullptr;  // [padded keys], of 8 bits per column: belong to the sum of a key
  std::int32_t* scores = nullptr;     // [rows][padded keys]: exact sums, which become f32 in place
  std::uint8_t* weights = nullptr;    // [rows][padded keys]
  std::int16_t* wide = nullptr;       // [rows][padded keys], of 16 bits per key: weights once more
  std::int32_t* sums = nullptr;       // [rows][64], of tile registers
};

constexpr std::int64_t kMostQueries = 64;  // of a call

struct HeadCall {
  HeadRows q, k, v;  // q: of the first query
  HeadMask mask;     // of the first query
  std::int64_t queries = 0, keys = 0, head_size = 0, value_size = 0;
  std::int64_t first_query = 0;  // its number, where causal
  bool is_causal = false;
  float multiplier = 1.0f, steps = 1.0f;
  const std::uint8_t* table = nullptr;
  const LookupFunctions* lookup = nullptr;
  float factor = 1.0f, offset = 0.0f;  // of the epilogue
  RowRound round;
  bool is_real = false;  // results are f32, not rounded bytes
  std::byte* y = nullptr;
  std::int64_t y_stride = 0;  // bytes from a query's results to the next one's
  bool is_packed = false;     // the scratch still holds these keys and values, of the call before
  HeadScratch scratch;
};

struct HeadFunctions {
  int lanes = 1;
  int per_lane = 2;    // 2 numbers of 16 bits or 4 of 8
  int rows = 1;        // queries at once
  int tile_depth = 0;  // lanes of a key in one tile register; 0: there are no tiles
  void (*run)(const HeadCall& call) = nullptr;
  // Around all calls of a step on one thread, which have the same head_size; null: nothing to do.
  void (*begin)(const HeadCall& call) = nullptr;
  void (*end)() = nullptr;

  std::int64_t padded_keys(std::int64_t keys) const { return padded(keys, 4 * lanes); }
  std::int64_t padded_values(std::int64_t values) const { return padded(values, tile_depth > 0 ? lanes : 2 * lanes); }
  // Lanes of a key or query.
  std::int64_t depth(std::int64_t head_size) const {
    const std::int64_t depth = (head_size + per_lane - 1) / per_lane;
    return tile_depth > 0 && depth > tile_depth ? padded(depth, tile_depth) : depth;
  }

 private:
  static std::int64_t padded(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }
};

extern const HeadFunctions kHeadEvexVnni;

}  // namespace octavo

#endif  // OCTAVO_KERNELS_INTEGER_ATTENTION_HEAD_H_
