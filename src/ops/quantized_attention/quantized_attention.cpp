// quantized_attention: shape rule and reference. Part of ops/.
#include "ops/quantized_attention/quantized_attention.h"

#include <limits>
#include <vector>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/integers.h"
#include "ops/movement.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Problem check_values(const QuantizedAttentionAttrs& attrs, InputFacts inputs) {
  const std::int32_t zero_points[] = {attrs.q_zero_point, attrs.k_zero_point, attrs.v_zero_point};
  constexpr std::string_view names[] = {"q", "k", "v"};
  for (std::size_t i = 0; i < 3; ++i) {
    if (auto problem = check_dtype(names[i], *inputs[i], {DType::u8, DType::s8})) return problem;
    const IntegerRange range = range_of(inputs[i]->dtype);
    if (auto problem = check_range(std::string(names[i]) + "_zero_point", zero_points[i], range.lowest, range.highest))
      return problem;
  }
  if (auto problem = first_of({check_finite("multiplier", attrs.multiplier), check_scale("steps", attrs.steps)}))
    return problem;
  return check_attention(attrs.heads, inputs);
}

Result<std::vector<Fact>> infer_quantized_attention(const Attrs& attrs, InputFacts inputs) {
  const auto& attention = attrs.as<QuantizedAttentionAttrs>();
  if (auto problem = check_values(attention, inputs)) return *problem;
  const auto sizes = AttentionSizes::of(inputs[0]->shape, inputs[1]->shape);
  if (auto problem = first_of({check_range("keys", sizes.keys, 0, kMostKeys),
                               check_range("head_size", attention.heads.head_size, 1, kMostKeys)}))
    return *problem;
  const Fact* table = fact_at(inputs, kAttentionTable);
  if (table == nullptr) return shape_error("table", "no operand", "one");
  if (auto problem = check_table(*table, {DType::u8})) return *problem;
  auto dims = sizes.result(attention.heads);
  if (!checked_elements(dims)) return one_output(attention.epilogue.to, std::move(dims));
  const auto type = infer_epilogue(attention.epilogue, EpilogueInput::real, operands_from(inputs, kAttentionOperands),
                                   OpenShape(dims));
  if (!type) return type.errors();
  return one_output(*type, std::move(dims));
}

// Columns of one of q, k and v, without the zero point.
struct Rows {
  ConstTensorView view;
  std::int32_t zero_point = 0;
  std::int64_t columns = 0;

  std::int32_t at(std::int64_t row, std::int64_t column) const {
    return load_8bit(view.data, view.dtype, row * columns + column) - zero_point;
  }
};

// What one query of one head does; rows and columns are those of the whole tensors.
class Reference {
 public:
  Reference(const QuantizedAttentionAttrs& attrs, InputViews inputs)
      : attrs_(attrs),
        sizes_(AttentionSizes::of(inputs[0].shape, inputs[1].shape)),
        q_(rows(inputs[0], attrs.q_zero_point)),
        k_(rows(inputs[1], attrs.k_zero_point)),
        v_(rows(inputs[2], attrs.v_zero_point)),
        table_(inputs[kAttentionTable].as<std::uint8_t>()),
        mask_(inputs, Shape(sizes_.scores(attrs.heads))),
        scores_(static_cast<std::size_t>(std::int64_t{sizes_.keys})) {}

  // `row` of the scores' [batch..., heads, queries].
  void run(std::int64_t row, const EpilogueReference& epilogue) {
    const AttentionAttrs& heads = attrs_.heads;
    const std::int64_t queries = sizes_.queries, keys = sizes_.keys;
    const std::int64_t query = row % queries, head = row / queries % heads.heads, image = row / queries / heads.heads;
    const std::int64_t group = head / (heads.heads / heads.kv_heads);
    for (std::int64_t key = 0; key < keys; ++key) {
      std::uint32_t dot = 0;
      for (std::int64_t d = 0; d < heads.head_size; ++d)
        dot += static_cast<std::uint32_t>(q_.at(image * queries + query, heads.q_first + head * heads.head_size + d) *
                                          k_.at(image * keys + key, heads.k_first + group * heads.head_size + d));
      const float score = static_cast<float>(static_cast<std::int32_t>(dot)) * attrs_.multiplier;
      const bool is_hidden = heads.is_causal && key > query;
      scores_[static_cast<std::size_t>(key)] =
          is_hidden ? -std::numeric_limits<float>::infinity() : mask_.masked(score, row, key);
    }
    const std::int32_t total = weigh();
    const float inverse = 1.0f / static_cast<float>(total);
    for (std::int64_t c = 0; c < heads.value_size; ++c) {
      std::uint32_t sum = 0;
      for (std::int64_t key = 0; key < keys; ++key)
        sum += static_cast<std::uint32_t>(weights_[static_cast<std::size_t>(key)] *
                                          v_.at(image * keys + key, heads.v_first + group * heads.value_size + c));
      const float y = total == 0 ? 0.0f : static_cast<float>(static_cast<std::int32_t>(sum)) * inverse;
      epilogue.store_real(((image * queries + query) * heads.heads + head) * heads.value_size + c, y);
    }
  }

 private:
  static Rows rows(const ConstTensorView& view, std::int32_t zero_point) {
    return {view, zero_point, view.shape[view.shape.rank() - 1]};
  }

  // Scores become weights; gives their sum.
  std::int32_t weigh() {
    float largest = -std::numeric_limits<float>::infinity();
    for (const float score : scores_) largest = score > largest ? score : largest;
    weights_.clear();
    std::int32_t total = 0;
    for (const float score : scores_) {
      weights_.push_back(table_[weight_index(largest, score, attrs_.steps)]);
      total += weights_.back();
    }
    return total;
  }

  const QuantizedAttentionAttrs& attrs_;
  const AttentionSizes sizes_;
  const Rows q_, k_, v_;
  const std::uint8_t* table_;
  const AttentionMask mask_;
  std::vector<float> scores_;
  std::vector<std::int32_t> weights_;
};

void reference_quantized_attention(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& attention = attrs.as<QuantizedAttentionAttrs>();
  if (outputs[0].shape.elements() == 0) return;
  const EpilogueReference epilogue(attention.epilogue, operands_from(inputs, kAttentionOperands), outputs[0]);
  Reference reference(attention, inputs);
  const std::int64_t rows = outputs[0].shape.elements() / attention.heads.value_size;
  for (std::int64_t row = 0; row < rows; ++row) reference.run(row, epilogue);
}

std::optional<Attrs> quantized_attention_for_one_image(const Attrs& attrs, InputFacts inputs) {
  if (!keeps_images_apart_in_attention(inputs)) return std::nullopt;
  return attrs;
}

std::int64_t depth_of_quantized_attention(const Attrs& attrs, InputFacts inputs) {
  return depth_of_attention(attrs.as<QuantizedAttentionAttrs>().heads, inputs);
}

Attrs relabelled_attention(const Attrs& attrs, const std::vector<bool>& is_relabelled) {
  auto changed = attrs.as<QuantizedAttentionAttrs>();
  if (is_relabelled[0]) changed.q_zero_point += kSignShift;
  if (is_relabelled[1]) changed.k_zero_point += kSignShift;
  if (is_relabelled[2]) changed.v_zero_point += kSignShift;
  return changed;
}

}  // namespace

const OpSpec kQuantizedAttention = {
    .name = "quantized_attention",
    .summary =
        "y = epilogue(sum of w * (v - v_zero_point) / sum of w), w = table[round((max - score) * steps)], score = "
        "f32(dot of q and k in s32) * multiplier + mask",
    .inputs = {"q", "k", "v", "mask?", "table", "epilogue*"},
    .infer = infer_quantized_attention,
    .reference = reference_quantized_attention,
    .decode_attrs = decode_attrs_as<QuantizedAttentionAttrs>,
    .for_one_image = quantized_attention_for_one_image,
    .is_integer = true,
    .epilogue = &kEndsInEpilogue<QuantizedAttentionAttrs, kAttentionOperands>,
    .relabelled = relabelled_attention,
    .depth = depth_of_quantized_attention,
};

template Attrs::Attrs(QuantizedAttentionAttrs);

}  // namespace octavo
