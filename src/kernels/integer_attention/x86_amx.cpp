// integer_attention/ for AMX: products in tile registers, 16 queries at once, all else as for AVX-512 VNNI. Part of
// kernels/.
//
// Registers: 0 to 3 sums, 4 queries, 5 keys, 6 weights, 7 values. A register of keys or values is 16 vectors of Quads.
#include "kernels/amx_palette.h"
#include "kernels/compiled_for.h"
#include "kernels/integer_attention/quads.h"
#include "kernels/simd/avx512vnni.h"

namespace octavo {
namespace {

using Lanes = Quads<Avx512Vnni>;

constexpr int kRows = 16, kLanes = 16, kRowBytes = 64;
constexpr int kSums = 4;  // registers of sums
constexpr int kKeysOfTile = kLanes * Lanes::kPerLane;
// Weights of so many keys are found between multiplies, and so many queries' scores: the unit that stores registers
// falls asleep after some 2000 cycles, and takes 1000 to wake up.
constexpr std::int64_t kKeysAtOnce = 128;
constexpr std::int64_t kQueriesAtOnce = 4;

// Not std::min: wide code must not be shared with other files.
constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// The intrinsics do not tell the compiler which memory is read.
void memory_is_written() { __asm__ volatile("" ::: "memory"); }

void begin(const HeadCall& call) {
  const std::int64_t depth = smaller((call.head_size + 3) / 4, kLanes);
  AmxPalette palette;
  for (int i = 0; i < 8; ++i) {
    palette.rows[i] = kRows;
    palette.row_bytes[i] = kRowBytes;
  }
  palette.row_bytes[4] = static_cast<std::uint16_t>(4 * depth);
  palette.rows[5] = static_cast<std::uint8_t>(depth);
  memory_is_written();
  _tile_loadconfig(&palette);
  _tile_zero(0);
}

void end() { _tile_release(); }

void keep_awake(const HeadCall& call) { _tile_stored(0, call.scratch.sums, kRowBytes); }

void clear_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

// Beside each other; `stride` elements from a row to the next.
void store_sums(std::int32_t* sums, std::int64_t stride) {
  _tile_stored(0, sums, stride * 4);
  _tile_stored(1, sums + kLanes, stride * 4);
  _tile_stored(2, sums + 2 * kLanes, stride * 4);
  _tile_stored(3, sums + 3 * kLanes, stride * 4);
}

// Sums of 16 queries and all keys, four vectors of keys at a time.
void multiply_keys(const HeadCall& call, const std::int32_t* queries, std::int64_t depth, std::int64_t padded) {
  const std::int64_t vector = depth * kLanes;
  memory_is_written();
  _tile_loadd(4, queries, depth * 4);
  for (std::int64_t key = 0; key < call.keys; key += kSums * kLanes) {
    const std::int32_t* keys = call.scratch.keys + key * depth;
    std::int32_t* scores = call.scratch.scores + key;
    clear_sums();
    for (std::int64_t d = 0; d < depth; d += kLanes) {
      if (depth > kLanes) _tile_loadd(4, queries + d, depth * 4);
      _tile_loadd(5, keys + d * kLanes, kRowBytes);
      _tile_dpbusd(0, 4, 5);
      _tile_loadd(5, keys + vector + d * kLanes, kRowBytes);
      _tile_dpbusd(1, 4, 5);
      _tile_loadd(5, keys + 2 * vector + d * kLanes, kRowBytes);
      _tile_dpbusd(2, 4, 5);
      _tile_loadd(5, keys + 3 * vector + d * kLanes, kRowBytes);
      _tile_dpbusd(3, 4, 5);
    }
    store_sums(scores, padded);
  }
}

// An instruction names its registers.
void multiply_one(int sum) {
  switch (sum) {
    case 0: _tile_dpbusd(0, 6, 7); break;
    case 1: _tile_dpbusd(1, 6, 7); break;
    case 2: _tile_dpbusd(2, 6, 7); break;
    default: _tile_dpbusd(3, 6, 7); break;
  }
}

// Keys whose weights are found, multiplied and added up at once; their weights are [rows][count].
struct Keys {
  std::int64_t first = 0, count = 0;

  std::uint8_t* weights(const HeadCall& call) const { return call.scratch.weights + first * kRows; }
};
Keys keys_at(std::int64_t first, std::int64_t padded) { return {first, smaller(kKeysAtOnce, padded - first)}; }

// Adds weights times values to the sums of up to four vectors of columns.
void multiply_values(const HeadCall& call, const Keys& keys, std::int64_t padded, std::int64_t column, int vectors) {
  const std::int64_t group = padded / Lanes::kPerLane * kLanes;
  const std::int32_t* values = call.scratch.values + column / kLanes * group + keys.first / Lanes::kPerLane * kLanes;
  memory_is_written();
  for (std::int64_t key = 0; key < keys.count; key += kKeysOfTile) {
    _tile_loadd(6, keys.weights(call) + key, keys.count);
    for (int v = 0; v < vectors; ++v) {
      _tile_loadd(7, values + v * group + key / Lanes::kPerLane * kLanes, kRowBytes);
      multiply_one(v);
    }
  }
}

struct Rows {
  std::int64_t first = 0, count = 0;
  std::int32_t totals[kRows] = {};
};

void store_results(const HeadCall& call, const Rows& rows, std::int64_t column, int vectors) {
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const Avx512::S32 term = Lanes::value_term(call, rows.totals[r]);
    const float inverse = inverse_of(rows.totals[r]);
    for (int v = 0; v < vectors; ++v) {
      const Avx512::S32 sums = Avx512::load_s32(call.scratch.sums + (r * kSums + v) * kLanes);
      store_columns<Avx512>(call, Avx512::add_s32(sums, term), inverse, rows.first + r, column + v * kLanes);
    }
  }
}

void find_weights(const HeadCall& call, Rows& rows, const float* largest, const Keys& keys, std::int64_t padded) {
  std::uint8_t* weights = keys.weights(call);
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const auto* scores = reinterpret_cast<const float*>(call.scratch.scores + r * padded + keys.first);
    find_entries<Avx512>(call, scores, largest[r], weights + r * keys.count, keys.count);
  }
  call.lookup->bytes(call.table, weights, weights, rows.count * keys.count);
  for (std::int64_t r = 0; r < rows.count; ++r) rows.totals[r] += Lanes::total(weights + r * keys.count, keys.count);
}

// The first columns' multiplies come a few keys behind the weights, which have left the store buffer by then.
void multiply_first_values(const HeadCall& call, Rows& rows, const float* largest, std::int64_t padded, int vectors) {
  for (std::int64_t key = 0; key < padded + kKeysAtOnce; key += kKeysAtOnce) {
    if (key < padded) find_weights(call, rows, largest, keys_at(key, padded), padded);
    if (key > 0) multiply_values(call, keys_at(key - kKeysAtOnce, padded), padded, 0, vectors);
  }
}

void run_rows(const HeadCall& call, const std::int32_t* terms, std::int64_t depth, std::int64_t padded, Rows rows) {
  const HeadScratch& scratch = call.scratch;
  float largest[kRows];
  multiply_keys(call, scratch.queries + rows.first * depth, depth, padded);
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const std::int64_t row = rows.first + r;
    largest[r] = find_scores<Avx512, true>(call, row, terms[row], scratch.scores + r * padded, padded);
    if (r % kQueriesAtOnce == kQueriesAtOnce - 1) keep_awake(call);
  }
  for (std::int64_t column = 0; column < call.value_size; column += kSums * kLanes) {
    const auto vectors = static_cast<int>(smaller((call.value_size - column + kLanes - 1) / kLanes, kSums));
    clear_sums();
    if (column == 0) multiply_first_values(call, rows, largest, padded, vectors);
    for (std::int64_t key = 0; column > 0 && key < padded; key += kKeysAtOnce)
      multiply_values(call, keys_at(key, padded), padded, column, vectors);
    store_sums(scratch.sums, kSums * kLanes);
    store_results(call, rows, column, vectors);
  }
}

void run_head_in_tiles(const HeadCall& call) {
  const std::int64_t padded = (call.keys + kKeysOfTile - 1) / kKeysOfTile * kKeysOfTile;
  const std::int64_t lanes = (call.head_size + Lanes::kPerLane - 1) / Lanes::kPerLane;
  const std::int64_t depth = lanes > kLanes ? (lanes + kLanes - 1) / kLanes * kLanes : lanes;
  if (!call.is_packed) {
    Lanes::pack_keys(call, depth);
    Lanes::pack_values(call, padded);
  }
  std::int32_t terms[kMostQueries];
  pack_queries<Lanes>(call, depth, terms);
  for (std::int64_t row = 0; row < call.queries; row += kRows)
    run_rows(call, terms, depth, padded, {.first = row, .count = smaller(kRows, call.queries - row)});
}

}  // namespace

template <>
constinit const HeadFunctions CompiledFor<HeadFunctions, Isa::amx_int8>::table = {.lanes = kLanes,
                                                                                  .per_lane = Lanes::kPerLane,
                                                                                  .rows = kRows,
                                                                                  .tile_depth = kLanes,
                                                                                  .run = &run_head_in_tiles,
                                                                                  .begin = &begin,
                                                                                  .end = &end};

}  // namespace octavo
