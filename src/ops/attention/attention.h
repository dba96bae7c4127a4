// attention: what queries see of values, by how well their keys agree with them. Part of ops/.
#ifndef OCTAVO_OPS_ATTENTION_ATTENTION_H_
#define OCTAVO_OPS_ATTENTION_ATTENTION_H_

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

// Head h reads head_size columns of q from q_first + h * head_size on, as many of k from k_first + g * head_size on,
// and value_size columns of v from v_first + g * value_size on, where g = h / (heads / kv_heads). So q, k and v may be
// one tensor that holds all three side by side.
struct AttentionAttrs {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;  // divides heads
  std::int64_t head_size = 1;
  std::int64_t value_size = 1;
  std::int64_t q_first = 0, k_first = 0, v_first = 0;
  float scale = 1.0f;
  bool is_causal = false;  // query i sees keys 0 to i

  bool operator==(const AttentionAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"heads", &AttentionAttrs::heads}, Field{"kv_heads", &AttentionAttrs::kv_heads},
                      Field{"head_size", &AttentionAttrs::head_size}, Field{"value_size", &AttentionAttrs::value_size},
                      Field{"q_first", &AttentionAttrs::q_first}, Field{"k_first", &AttentionAttrs::k_first},
                      Field{"v_first", &AttentionAttrs::v_first}, Field{"scale", &AttentionAttrs::scale},
                      Field{"is_causal", &AttentionAttrs::is_causal});
  }
};

inline constexpr std::size_t kAttentionMask = 3;   // the input, where there is one
inline constexpr std::size_t kAttentionSums = 16;  // partial sums of a row's weights

// What the shapes of a call say. q is [batch..., queries, columns], k and v are [batch..., keys, columns].
struct AttentionSizes {
  OpenShape batch;
  Dim queries = 0, keys = 0;

  // [batch..., heads, queries, keys], to which the mask broadcasts.
  OpenShape scores(const AttentionAttrs& attrs) const;
  // [batch..., queries, heads * value_size]
  std::vector<Dim> result(const AttentionAttrs& attrs) const;
  // Of inputs that check_attention accepted.
  static AttentionSizes of(const OpenShape& q, const OpenShape& k);
};

// Whether heads, columns and shapes of q, k, v and mask? (the first inputs) agree; of types, that of the mask alone
// (f32 or bool). Inputs after these are not looked at.
std::optional<Error> check_attention(const AttentionAttrs& attrs, InputFacts inputs);

// OpSpec::depth of operators whose first inputs are q, k and v: of each element of the result the weights times values,
// and its share of the scores.
std::int64_t depth_of_attention(const AttentionAttrs& attrs, InputFacts inputs);

// The mask of a call, if there is one, broadcast over its scores. A view: inputs live as long as it.
class AttentionMask {
 public:
  AttentionMask(InputViews inputs, const Shape& scores);
  // `row` of the scores' [batch..., heads, queries]. -inf where a mask of booleans is false.
  float masked(float score, std::int64_t row, std::int64_t key) const;

 private:
  const ConstTensorView* mask_ = nullptr;
  std::int64_t key_stride_ = 0;
  std::vector<std::int64_t> rows_;  // where the mask's row of each row of scores begins
};

// for_one_image of operators whose first inputs are q, k, v and mask?: where axis 0 is one of the batch.
bool keeps_images_apart_in_attention(InputFacts inputs);

// y = softmax(scale * q k^T + mask) v, f32, every row of scores apart:
//   score_j = fma over d ascending of q[d] * k_j[d], from 0; then * scale; then + mask_j, each rounded. A mask of
//             booleans adds 0 where it is true and -inf, the key does not take part, where it is false; causality adds
//             -inf where j > i
//   e_j     = exp_f32(score_j - max), max the largest score (0 where it is -inf)
//   total   = 16 sums, of which sum j mod 16 takes e_j, keys ascending; then s[i] += s[i + 8], + 4, + 2, + 1
//   acc     = fma over j ascending of e_j * v_j, from 0
//   y       = (acc + 0) / total, 0 where total is 0: no key takes part
// Keys at the end that the mask keeps out (with finite values) change no bit of the result.
// inputs: q, k, v, mask? (f32 or bool).
extern const OpSpec kAttention;

}  // namespace octavo

#endif  // OCTAVO_OPS_ATTENTION_ATTENTION_H_
