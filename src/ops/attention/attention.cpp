// attention: shape rule and reference. Part of ops/.
#include "ops/attention/attention.h"

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/elementary.h"
#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/movement.h"
#include "ops/traits.h"

namespace octavo {
namespace {

constexpr std::int64_t kMostHeads = std::int64_t{1} << 20;
constexpr std::int64_t kMostColumns = std::int64_t{1} << 31;

OpenShape attention_leading(const OpenShape& shape) { return OpenShape(shape.dims().first(shape.dims().size() - 2)); }

Problem check_heads(const AttentionAttrs& attention) {
  if (auto problem = first_of({check_range("heads", attention.heads, 1, kMostHeads),
                               check_range("kv_heads", attention.kv_heads, 1, kMostHeads),
                               check_range("head_size", attention.head_size, 1, kMostColumns),
                               check_range("value_size", attention.value_size, 1, kMostColumns),
                               check_range("q_first", attention.q_first, 0, kMostColumns),
                               check_range("k_first", attention.k_first, 0, kMostColumns),
                               check_range("v_first", attention.v_first, 0, kMostColumns),
                               check_finite("scale", attention.scale)}))
    return problem;
  if (attention.heads % attention.kv_heads == 0) return std::nullopt;
  return shape_error("kv_heads", std::to_string(attention.kv_heads),
                     "a divisor of heads, " + std::to_string(attention.heads));
}

Problem check_matrix(std::string_view what, const Fact& fact) {
  if (fact.shape.rank() >= 2) return std::nullopt;
  return shape_error(std::string(what), "shape " + fact.shape.to_string(), "rank 2 or more");
}

// The columns that the heads read are there.
Problem check_columns(std::string_view what, const Fact& fact, std::int64_t end) {
  const Dim columns = fact.shape[fact.shape.rank() - 1];
  if (columns >= end) return std::nullopt;
  return shape_error(std::string(what), to_string(columns) + " columns (shape " + fact.shape.to_string() + ")",
                     "at least " + std::to_string(end) + ", which the heads read");
}

Problem check_batch(std::string_view what, const Fact& fact, const Fact& q) {
  if (fact.shape.rank() == q.shape.rank() && attention_leading(fact.shape) == attention_leading(q.shape))
    return std::nullopt;
  return shape_error(std::string(what), "shape " + fact.shape.to_string(),
                     "the leading axes of q, which is " + q.shape.to_string());
}

Problem check_mask(const AttentionAttrs& attention, const Fact& mask, const OpenShape& scores) {
  if (auto problem = check_dtype("mask", mask, {DType::f32, DType::boolean})) return problem;
  const auto joined = broadcast(mask.shape, scores);
  if (joined && *joined == scores) return std::nullopt;
  return shape_error("mask", "shape " + mask.shape.to_string(),
                     "one that broadcasts to " + scores.to_string() + " (" + std::to_string(attention.heads) +
                         (attention.heads == 1 ? " head)" : " heads)"));
}

Result<std::vector<Fact>> infer_attention(const Attrs& attrs, InputFacts inputs) {
  const auto& attention = attrs.as<AttentionAttrs>();
  if (auto problem = first_of({check_dtype("q", *inputs[0], {DType::f32}), check_dtype("k", *inputs[1], {DType::f32}),
                               check_dtype("v", *inputs[2], {DType::f32}), check_attention(attention, inputs)}))
    return *problem;
  return one_output(DType::f32, AttentionSizes::of(inputs[0]->shape, inputs[1]->shape).result(attention));
}

// The scores of one query, and what becomes of them.
class AttentionRow {
 public:
  explicit AttentionRow(std::int64_t keys) : weights_(static_cast<std::size_t>(keys)) {}

  float& operator[](std::int64_t key) { return weights_[static_cast<std::size_t>(key)]; }

  // Scores become weights; gives their sum.
  float exponentiate() {
    float largest = -std::numeric_limits<float>::infinity();
    for (float score : weights_) largest = score > largest ? score : largest;
    if (largest == -std::numeric_limits<float>::infinity()) largest = 0.0f;
    std::array<float, kAttentionSums> sums{};
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      weights_[j] = exp_weight_f32<Lane>(weights_[j] - largest);
      sums[j % sums.size()] += weights_[j];
    }
    for (std::size_t half = sums.size() / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    return sums[0];
  }

 private:
  std::vector<float> weights_;
};

float attention_dot(const float* q, const float* k, std::int64_t size) {
  float sum = 0.0f;
  for (std::int64_t d = 0; d < size; ++d) sum = std::fma(q[d], k[d], sum);
  return sum;
}

void reference_attention(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& attention = attrs.as<AttentionAttrs>();
  if (outputs[0].shape.elements() == 0) return;
  const auto sizes = AttentionSizes::of(inputs[0].shape, inputs[1].shape);
  const std::int64_t queries = sizes.queries;
  const std::int64_t keys = sizes.keys;
  const auto columns = [&](std::size_t i) { return inputs[i].shape[inputs[i].shape.rank() - 1]; };
  const std::int64_t group = attention.heads / attention.kv_heads;
  const AttentionMask mask(inputs, Shape(sizes.scores(attention)));
  AttentionRow row(keys);
  float* y = outputs[0].as<float>();
  for (std::int64_t i = 0; i < sizes.batch.elements() * attention.heads * queries; ++i) {
    const std::int64_t query = i % queries;
    const std::int64_t head = i / queries % attention.heads;
    const std::int64_t image = i / queries / attention.heads;
    const float* q =
        inputs[0].as<float>() + (image * queries + query) * columns(0) + attention.q_first + head * attention.head_size;
    const float* k =
        inputs[1].as<float>() + image * keys * columns(1) + attention.k_first + head / group * attention.head_size;
    const float* v =
        inputs[2].as<float>() + image * keys * columns(2) + attention.v_first + head / group * attention.value_size;
    for (std::int64_t key = 0; key < keys; ++key) {
      const float score =
          mask.masked(attention_dot(q, k + key * columns(1), attention.head_size) * attention.scale, i, key);
      row[key] = attention.is_causal && key > query ? score - std::numeric_limits<float>::infinity() : score;
    }
    const float total = row.exponentiate();
    float* result = y + ((image * queries + query) * attention.heads + head) * attention.value_size;
    for (std::int64_t c = 0; c < attention.value_size; ++c) {
      float sum = 0.0f;
      for (std::int64_t key = 0; key < keys; ++key) sum = std::fma(row[key], v[key * columns(2) + c], sum);
      result[c] = total == 0.0f ? 0.0f : (sum + 0.0f) / total;
    }
  }
}

std::optional<Attrs> attention_for_one_image(const Attrs& attrs, InputFacts inputs) {
  if (!keeps_images_apart_in_attention(inputs)) return std::nullopt;
  return attrs;
}

std::int64_t depth_of_float_attention(const Attrs& attrs, InputFacts inputs) {
  return depth_of_attention(attrs.as<AttentionAttrs>(), inputs);
}

NodeRole role_of_attention(const Attrs&, InputFacts) { return {Role::kernel, {}}; }

}  // namespace

OpenShape AttentionSizes::scores(const AttentionAttrs& attrs) const {
  auto dims = batch.to_vector();
  dims.insert(dims.end(), {Dim(attrs.heads), queries, keys});
  return OpenShape(dims);
}

std::vector<Dim> AttentionSizes::result(const AttentionAttrs& attrs) const {
  auto dims = batch.to_vector();
  dims.insert(dims.end(), {queries, Dim(attrs.heads * attrs.value_size)});
  return dims;
}

AttentionSizes AttentionSizes::of(const OpenShape& q, const OpenShape& k) {
  return {.batch = attention_leading(q), .queries = q[q.rank() - 2], .keys = k[k.rank() - 2]};
}

std::optional<Error> check_attention(const AttentionAttrs& attrs, InputFacts inputs) {
  const Fact& q = *inputs[0];
  const Fact& k = *inputs[1];
  const Fact& v = *inputs[2];
  if (auto problem = first_of({check_heads(attrs), check_matrix("q", q), check_matrix("k", k), check_matrix("v", v)}))
    return problem;
  if (auto problem = first_of({check_batch("k", k, q), check_batch("v", v, q),
                               check_columns("q", q, attrs.q_first + attrs.heads * attrs.head_size),
                               check_columns("k", k, attrs.k_first + attrs.kv_heads * attrs.head_size),
                               check_columns("v", v, attrs.v_first + attrs.kv_heads * attrs.value_size)}))
    return problem;
  const auto sizes = AttentionSizes::of(q.shape, k.shape);
  if (v.shape[v.shape.rank() - 2] != sizes.keys)
    return shape_error("v", "shape " + v.shape.to_string(), "as many rows as k, which is " + k.shape.to_string());
  const OpenShape scores = sizes.scores(attrs);
  if (!checked_elements(scores.dims()))
    return shape_error("", "scores of shape " + scores.to_string(),
                       "at most " + std::to_string(kMaxElements) + " elements");
  if (const Fact* mask = fact_at(inputs, kAttentionMask)) return check_mask(attrs, *mask, scores);
  return std::nullopt;
}

AttentionMask::AttentionMask(InputViews inputs, const Shape& scores) {
  if (!has_view(inputs, kAttentionMask)) return;
  mask_ = &inputs[kAttentionMask];
  const auto strides = broadcast_strides(mask_->shape, scores);
  key_stride_ = strides.back();
  const Shape rows(std::span(scores.dims()).first(scores.dims().size() - 1));
  for_each_offset(rows, std::span(strides).first(strides.size() - 1), 0,
                  [&](std::int64_t offset) { rows_.push_back(offset); });
}

float AttentionMask::masked(float score, std::int64_t row, std::int64_t key) const {
  if (mask_ == nullptr) return score;
  const std::int64_t element = rows_[static_cast<std::size_t>(row)] + key * key_stride_;
  if (mask_->dtype == DType::f32) return score + mask_->as<float>()[element];
  return mask_->as<std::uint8_t>()[element] != 0 ? score : score - std::numeric_limits<float>::infinity();
}

std::int64_t depth_of_attention(const AttentionAttrs& attrs, InputFacts inputs) {
  const Dim keys = inputs[1]->shape[inputs[1]->shape.rank() - 2];
  return keys + keys * attrs.head_size / attrs.value_size;
}

bool keeps_images_apart_in_attention(InputFacts inputs) {
  const int rank = inputs[0]->shape.rank();
  if (rank < 3) return false;
  for (std::size_t i = 0; i < kAttentionMask; ++i) {
    if (inputs[i]->is_constant()) return false;  // one is read whole, but has a slice for each image
  }
  const Fact* mask = fact_at(inputs, kAttentionMask);
  if (mask == nullptr) return true;
  const bool has_images = mask->shape.rank() == rank + 1 && !is_one(mask->shape[0]);
  if (mask->is_constant()) return !has_images;
  return has_images && is_same(mask->shape[0], inputs[0]->shape[0]);
}

const OpSpec kAttention = {
    .name = "attention",
    .summary = "y = softmax(scale * q k^T + mask) v, head by head; f32 in a fixed order, rows without a key are 0",
    .inputs = {"q", "k", "v", "mask?"},
    .infer = infer_attention,
    .reference = reference_attention,
    .decode_attrs = decode_attrs_as<AttentionAttrs>,
    .for_one_image = attention_for_one_image,
    .depth = depth_of_float_attention,
    .role = role_of_attention,
    .read_from = "ONNX Attention; ATen scaled_dot_product_attention",
    .integer_form = "quantized_attention",
};

template Attrs::Attrs(AttentionAttrs);

}  // namespace octavo
