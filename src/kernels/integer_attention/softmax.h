// What becomes of the sums of queries and keys, over any Simd: scores, then weights. Internal linkage only. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_INTEGER_ATTENTION_SOFTMAX_H_
#define OCTAVO_KERNELS_INTEGER_ATTENTION_SOFTMAX_H_

#include <limits>

#include "kernels/epilogue/generic.h"
#include "kernels/integer_attention/head.h"
#include "kernels/simd/scalar.h"

namespace octavo {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

template <class S>
void hide_keys(const HeadMask& mask, const std::uint8_t* shown, float* scores, std::int64_t keys) {
  for_lanes<S>(0, keys, [=]<class T>(std::int64_t j) {
    const typename T::S32 bytes = mask.key_stride == 0 ? T::set_s32(*shown) : T::widen_u8(shown + j);
    const typename T::Mask is_hidden = T::equal(T::to_f32(bytes), T::set(0.0f));
    T::store(scores + j, T::select(is_hidden, T::set(kHidden), T::load(scores + j)));
  });
}

// Sums of a query and keys before `keys` become scores, in place; `more(j)` is added to those of a vector. Gives the
// largest of each lane.
template <class S, bool kHasTerms, class More>
typename S::F32 scale_sums(const HeadCall& call, std::int32_t term, std::int32_t* sums, std::int64_t keys,
                           const More& more) {
  auto* scores = reinterpret_cast<float*>(sums);
  const std::int32_t* key_terms = call.scratch.key_terms;
  const typename S::F32 multiplier = S::set(call.multiplier);
  const typename S::S32 terms = S::set_s32(term);
  typename S::F32 most = S::set(kHidden);
  for (std::int64_t j = 0; j < keys; j += S::kLanes) {
    typename S::S32 sum = S::load_s32(sums + j);
    if constexpr (kHasTerms) sum = S::add_s32(S::add_s32(sum, S::load_s32(key_terms + j)), terms);
    typename S::F32 score = more(j, S::mul(S::to_f32(sum), multiplier));
    if (j + S::kLanes > keys) {
      S::store(scores + j, score);
      score = S::load_first(scores + j, keys - j, kHidden);
    }
    S::store(scores + j, score);
    most = S::max(score, most);
  }
  return most;
}

// Sums of a query and all keys become scores, in place; -inf for a key that it does not see and beyond the last.
// `term` and those of keys belong to the sums. Gives the largest score.
template <class S, bool kHasTerms>
float find_scores(const HeadCall& call, std::int64_t row, std::int32_t term, std::int32_t* sums, std::int64_t padded) {
  const std::int64_t past = call.first_query + row + 1;
  const std::int64_t seen = call.is_causal && past < call.keys ? past : call.keys;
  const std::int64_t skipped = row * call.mask.query_stride;
  const float* added = call.mask.added == nullptr ? nullptr : call.mask.added + skipped;
  auto* scores = reinterpret_cast<float*>(sums);
  typename S::F32 most;
  if (call.mask.added == nullptr) {
    most = scale_sums<S, kHasTerms>(call, term, sums, seen, [](std::int64_t, auto score) { return score; });
  } else if (call.mask.key_stride == 0) {
    const typename S::F32 more = S::set(*added);
    most =
        scale_sums<S, kHasTerms>(call, term, sums, seen, [=](std::int64_t, auto score) { return S::add(score, more); });
  } else {
    most = scale_sums<S, kHasTerms>(call, term, sums, seen, [=](std::int64_t j, auto score) {
      const bool is_whole = j + S::kLanes <= seen;
      return S::add(score, is_whole ? S::load(added + j) : S::load_first(added + j, seen - j, 0.0f));
    });
  }
  for (std::int64_t j = (seen + S::kLanes - 1) / S::kLanes * S::kLanes; j < padded; j += S::kLanes)
    S::store(scores + j, S::set(kHidden));
  if (call.mask.shown != nullptr) {
    hide_keys<S>(call.mask, call.mask.shown + skipped, scores, seen);
    most = S::set(kHidden);
    for (std::int64_t j = 0; j < seen; j += S::kLanes) most = S::max(S::load(scores + j), most);
  }
  return S::highest(most);
}

// The entry of the table of weights that a score has: weight_index of ops/quantized_attention.
template <class S>
constexpr typename S::S32 weight_entry(typename S::F32 largest, typename S::F32 score, typename S::F32 steps) {
  return S::round(S::min(S::mul(S::sub(largest, score), steps), S::set(255.0f)));
}

// Scores of `count` keys, a multiple of four vectors, become entries of the table of weights.
template <class S>
void find_entries(const HeadCall& call, const float* scores, float largest, std::uint8_t* entries, std::int64_t count) {
  const typename S::F32 most = S::set(largest), steps = S::set(call.steps);
  const auto entry = [&](const float* score) { return weight_entry<S>(most, S::load(score), steps); };
  for (std::int64_t j = 0; j < count; j += 4 * S::kLanes) {
    const float* four = scores + j;
    S::store_four(entries + j, entry(four), entry(four + S::kLanes), entry(four + 2 * S::kLanes),
                  entry(four + 3 * S::kLanes));
  }
}

// Of no key the sum is 0, and so is the value.
constexpr float inverse_of(std::int32_t total) { return total == 0 ? 0.0f : 1.0f / static_cast<float>(total); }

// What the epilogue makes of the sum of weights times values, before it rounds.
template <class S>
constexpr typename S::F32 attention_result(typename S::S32 sums, typename S::F32 inverse, typename S::F32 factor,
                                           typename S::F32 offset) {
  return S::add(S::mul(S::mul(S::to_f32(sums), inverse), factor), offset);
}

// Of one query's results, a vector from `column` on; those beyond the head's columns are left out.
template <class S>
void store_columns(const HeadCall& call, typename S::S32 sums, float inverse, std::int64_t query, std::int64_t column) {
  const typename S::F32 result = attention_result<S>(sums, S::set(inverse), S::set(call.factor), S::set(call.offset));
  const std::int64_t columns = call.value_size - column;
  std::byte* row = call.y + query * call.y_stride;
  if (call.is_real) {
    float* y = reinterpret_cast<float*>(row) + column;
    return columns >= S::kLanes ? S::store(y, result) : S::store_first(y, result, columns);
  }
  std::uint8_t* y = reinterpret_cast<std::uint8_t*>(row) + column;
  const typename S::S32 q = rounded<S>(result, call.round);
  if (columns >= S::kLanes) return S::store_bytes(y, q);
  std::uint8_t bytes[S::kLanes];
  S::store_bytes(bytes, q);
  for (std::int64_t i = 0; i < columns; ++i) y[i] = bytes[i];
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_INTEGER_ATTENTION_SOFTMAX_H_
