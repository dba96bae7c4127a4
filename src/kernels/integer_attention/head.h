// The contract of integer_attention/: some queries of one head, between files that are compiled for one instruction
// set. Part of kernels/.
#ifndef OCTAVO_KERNELS_INTEGER_ATTENTION_HEAD_H_
#define OCTAVO_KERNELS_INTEGER_ATTENTION_HEAD_H_

#include <cstddef>
#include <cstdint>

#include "kernels/epilogue/rows.h"

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

// Where the parts of a thread's scratch begin; every part is aligned to 64 bytes.
struct HeadScratch {
  std::int32_t* keys = nullptr;     // pairs of columns: [keys / lanes][pairs of head_size][lanes]
  std::int32_t* values = nullptr;   // pairs of keys: [value_size / lanes][pairs of keys][lanes]
  std::int32_t* queries = nullptr;  // pairs of columns: [rows][pairs of head_size]
  float* scores = nullptr;          // [rows][padded keys]
  std::uint8_t* indices = nullptr;  // [padded keys]
  std::int16_t* weights = nullptr;  // [rows][padded keys]
};

struct HeadCall {
  HeadRows q, k, v;  // q: of the first query
  HeadMask mask;     // of the first query
  std::int64_t queries = 0, keys = 0, head_size = 0, value_size = 0;
  std::int64_t first_query = 0;  // its number, where causal
  bool is_causal = false;
  float multiplier = 1.0f, steps = 1.0f;
  const std::uint8_t* table = nullptr;
  float factor = 1.0f, offset = 0.0f;  // of the epilogue
  RowRound round;
  std::uint8_t* y = nullptr;
  std::int64_t y_stride = 0;
  bool is_packed = false;  // the scratch still holds these keys and values, of the call before
  HeadScratch scratch;
};

struct HeadFunctions {
  int lanes = 1;
  int rows = 1;  // queries at once
  void (*run)(const HeadCall& call);

  // Keys, as scores and weights are stored: whole pairs of vectors.
  std::int64_t padded_keys(std::int64_t keys) const { return padded(keys, 2 * lanes); }
  std::int64_t padded_values(std::int64_t values) const { return padded(values, 2 * lanes); }

 private:
  static std::int64_t padded(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }
};

extern const HeadFunctions kHeadScalar;
extern const HeadFunctions kHeadAvx2;
extern const HeadFunctions kHeadAvx512;
extern const HeadFunctions kHeadAvx512Vnni;

}  // namespace octavo

#endif  // OCTAVO_KERNELS_INTEGER_ATTENTION_HEAD_H_
