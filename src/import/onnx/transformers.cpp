// ONNX readers: attention, and what files fuse around it. Part of import/.
#include "import/onnx/operators.h"
#include "ops/gather/gather.h"
#include "ops/where/where.h"

namespace octavo::onnx_import {
namespace {

using B = BinaryKind;

void refuse_inputs(NodeReader& in, std::initializer_list<std::pair<int, std::string_view>> names,
                   std::string_view why) {
  for (const auto& [index, name] : names) {
    if (in.has(index)) in.unsupported(quoted("input", name), "one", "none: " + std::string(why));
  }
}
void refuse_outputs(NodeReader& in, std::initializer_list<std::pair<int, std::string_view>> names,
                    std::string_view why) {
  for (const auto& [index, name] : names) {
    if (in.wants(index)) in.unsupported(quoted("output", name), "one", "none: " + std::string(why));
  }
}
constexpr std::string_view kNoCache = "keys and values of earlier calls are not kept";

// Keys [0, length) of each sequence, as [batch, 1, 1, keys] of bool. `lengths` has one for each.
ValueId first_keys(NodeReader& in, ValueId lengths, const Dim& batch, const Dim& keys) {
  const ValueId numbers = in.reshape(in.cast(lengths, DType::s32, "lengths"), {batch, 1, 1, 1}, "lengths.apart");
  return in.binary(B::less, counted(in, keys, DType::s32, "positions"), numbers, "kept");
}

// ---- the standard's ----

ValueId read_rms_norm(NodeReader& in) {
  const ValueId x = in.value(0, "X"), scale = in.value(1, "scale");
  const float epsilon = in.number("epsilon", 1e-5f);
  const std::int64_t stash_type = in.integer("stash_type", 1);
  if (stash_type != 1) in.unsupported("attribute 'stash_type'", std::to_string(stash_type), "1 (FLOAT)");
  const std::int64_t axis = in.axis(in.integer("axis", -1), in.rank(x));
  refuse_outputs(in, {{1, "inv_std_var"}}, "it is not kept");
  return rms_norm(in, {.x = x, .scale = scale, .epsilon = epsilon}, axis);
}

// Inputs of both forms of RotaryEmbedding.
struct Rotary {
  ValueId x, positions, cosines, sines;
};

// Positions [batch, T], or one from which they count; caches [positions, half]. Without positions: [batch, T, half].
ValueId cached(NodeReader& in, const Rotary& r, ValueId cache, const Dim& length, const std::string& name) {
  if (!r.positions.exists() || in.failed()) return cache;
  ValueId positions = r.positions;
  if (in.rank(positions) == 1) {
    if (!is_one(in.shape(positions)[0]))
      return in.fail(in.place_of(positions), "shape " + in.shape(positions).to_string(), "[batch, T], or one number");
    positions = in.reshape(in.binary(B::add, in.cast(positions, DType::s32, name + ".first"),
                                     counted(in, length, DType::s32, name + ".positions"), name + ".shifted"),
                           {1, length}, name + ".row");
  }
  in.require_rank(cache, 2, 2);
  return in.add(kGather, GatherAttrs{.axis = 0}, {cache, positions}, name);
}

ValueId rotary(NodeReader& in, const Rotary& r) {
  const Number heads = in.integer("num_heads", 0), turned = in.integer("rotary_embedding_dim", 0);
  const bool is_interleaved = in.flag("interleaved");
  in.require_rank(r.x, 3, 4);
  if (in.failed()) return {};
  const OpenShape shape = in.shape(r.x);
  const bool has_axes = shape.rank() == 4;
  const Dim length = shape[has_axes ? 2 : 1];
  const Dim half = in.shape(r.cosines).rank() > 0 ? columns_of(in, r.cosines) : Dim(0);
  if (!half.is_number() || half < 1)
    return in.fail("input 'cos_cache'", "shape " + in.shape(r.cosines).to_string(), "a known number of columns");
  if (turned.value != 0 && turned.value != half.example() * 2)
    return in.fail(turned.place, std::to_string(turned.value),
                   "0, or twice the " + to_string(half) + " columns of input 'cos_cache'");
  // Heads in front of the columns of each.
  ValueId x = r.x;
  if (!has_axes) {
    const std::int64_t size =
        heads.value != 0 ? columns_of_head(in, columns_of(in, x), heads, "X") : 2 * half.example();
    const Dim columns = columns_of(in, x);
    if (in.failed()) return {};
    if (!columns.is_number() || columns.example() % size != 0)
      return in.fail("attribute 'num_heads'", "none", "one for " + to_string(columns) + " columns");
    x = in.reshape(x, {shape[0], length, columns.example() / size, size}, "heads");
  }
  const auto factors = [&](ValueId cache, const std::string& name) {
    const ValueId rows = cached(in, r, cache, length, name);
    return unsqueeze(in, rows, Integers{has_axes ? 1 : 2}, name + ".heads");
  };
  const ValueId cosines = factors(r.cosines, "cos"), sines = factors(r.sines, "sin");
  if (!in.failed() && half.example() * 2 > columns_of(in, x))
    return in.fail("input 'cos_cache'", to_string(half) + " columns",
                   "at most half of the " + to_string(columns_of(in, x)) + " columns of a head");
  const ValueId y = rotated(
      in, {.x = x, .cosines = cosines, .sines = sines, .half = half.example(), .is_interleaved = is_interleaved});
  return in.reshape(y, shape.to_vector());
}

ValueId read_rotary(NodeReader& in) {
  const ValueId x = in.value(0, "X"), cosines = in.value(1, "cos_cache"), sines = in.value(2, "sin_cache");
  return rotary(in, {x, in.optional(3, "position_ids"), cosines, sines});
}

ValueId read_microsoft_rotary(NodeReader& in) {
  const ValueId x = in.value(0, "input"), positions = in.value(1, "position_ids");
  const ValueId cosines = in.value(2, "cos_cache"), sines = in.value(3, "sin_cache");
  if (in.flag("is_packed_batching")) in.unsupported("attribute 'is_packed_batching'", "1", "0");
  const float scale = in.number("scale", 1.0f);
  if (scale != 1.0f) in.unsupported("attribute 'scale'", std::to_string(scale), "1");
  return rotary(in, {x, positions, cosines, sines});
}

// ---- com.microsoft: attention ----

// What is added to scores where a key takes no part.
ValueId filled_where_not(NodeReader& in, ValueId kept, float fill) {
  const ValueId zero = in.constant(Tensor::scalar(0.0f), "mask.zero");
  return in.add(kWhere, NoAttrs{}, {kept, zero, in.constant(Tensor::scalar(fill), "mask.fill")}, "mask");
}

// Of keys: [batch] or [batch, 1] lengths, [batch, keys], or [batch, queries, keys] of numbers, where those above 0 take
// part.
ValueId key_mask(NodeReader& in, ValueId mask, std::string_view name, const Dim& batch, const Dim& keys) {
  const float fill = in.number("mask_filter_value", -10000.0f);
  if (!mask.exists() || in.failed()) return {};
  const OpenShape shape = in.shape(mask);
  const bool has_lengths =
      (shape.rank() == 1 && is_same(shape[0], batch)) || (shape.rank() == 2 && is_one(shape[1]) && !is_one(keys));
  if (has_lengths) return filled_where_not(in, first_keys(in, mask, batch, keys), fill);
  if (shape.rank() != 2 && shape.rank() != 3)
    return in.unsupported(quoted("input", name), "shape " + shape.to_string(),
                          "[batch], [batch, keys] or [batch, queries, keys]");
  Extents dims = shape.to_vector();
  dims.insert(dims.begin() + 1, static_cast<std::size_t>(4 - shape.rank()), Dim(1));
  const ValueId numbers = in.cast(mask, DType::s32, "mask.numbers");
  const ValueId kept = in.binary(B::greater, numbers, in.scalar_like(numbers, 0.0, "mask.none"), "mask.kept");
  return filled_where_not(in, in.reshape(kept, dims, "mask.apart"), fill);
}

ValueId added_masks(NodeReader& in, ValueId mask, ValueId bias) {
  if (!mask.exists() || !bias.exists()) return mask.exists() ? mask : bias;
  return in.binary(B::add, bias, mask, "mask.biased");
}

std::optional<float> given_scale(NodeReader& in) {
  const float scale = in.number("scale", 0.0f);
  return in.has("scale") && scale != 0.0f ? std::optional(scale) : std::nullopt;
}

// Queries, keys and values are columns of one product.
ValueId read_microsoft_attention(NodeReader& in) {
  const ValueId x = in.value(0, "input"), w = in.value(1, "weights"), bias = in.optional(2, "bias");
  const ValueId mask = in.optional(3, "mask_index"), scores_bias = in.optional(5, "attention_bias");
  const Number heads = in.integer("num_heads");
  Integers sizes = in.integers("qkv_hidden_sizes");
  const bool is_causal = in.flag("unidirectional");
  const auto scale = given_scale(in);
  if (in.flag("do_rotary")) in.unsupported("attribute 'do_rotary'", "1", "0; a RotaryEmbedding of its own");
  in.ignore("rotary_embedding_dim"), in.ignore("past_present_share_buffer");
  refuse_inputs(in, {{4, "past"}, {6, "past_sequence_length"}}, kNoCache);
  refuse_outputs(in, {{1, "present"}}, kNoCache);
  in.require_rank(x, 3, 3);
  in.require_rank(w, 2, 2);
  if (in.failed()) return {};
  const Dim columns = in.shape(w)[1];
  if (sizes.empty() && columns.is_number()) sizes.assign(3, columns.example() / 3);
  if (sizes.size() != 3 || columns != sizes[0] + sizes[1] + sizes[2] || sizes[0] != sizes[1])
    return in.fail("attribute 'qkv_hidden_sizes'", print(sizes) + " for " + to_string(columns) + " columns",
                   "three sizes that are all columns, the first two equal");
  const std::int64_t head_size = columns_of_head(in, sizes[0], heads, "weights");
  const std::int64_t value_size = columns_of_head(in, sizes[2], heads, "weights");
  const ValueId packed = matmul(in, x, w, bias, "qkv");
  if (in.failed()) return {};
  const OpenShape shape = in.shape(x);
  const ValueId kept = added_masks(in, key_mask(in, mask, "mask_index", shape[0], shape[1]), scores_bias);
  return attention(in, packed, packed, packed, kept,
                   {.heads = heads,
                    .kv_heads = heads,
                    .head_size = head_size,
                    .value_size = value_size,
                    .k_first = sizes[0],
                    .v_first = sizes[0] + sizes[1],
                    .scale = scale ? *scale : attention_scale(head_size),
                    .is_causal = is_causal});
}

// [B, T, heads, parts, size] as [B, T, parts * heads * size].
ValueId unpacked(NodeReader& in, ValueId x, std::int64_t parts, std::string_view name) {
  const OpenShape shape = in.shape(x);
  if (shape[3] != parts)
    return in.fail(quoted("input", name), "shape " + shape.to_string(),
                   std::to_string(parts) + " parts on axis 3, since none of them is an input of its own");
  const ValueId moved = transpose(in, x, Integers{0, 1, 3, 2, 4}, std::string(name) + ".parts");
  return in.reshape(moved, {shape[0], shape[1], shape[2] * parts * shape[4]}, std::string(name) + ".columns");
}

struct Operand {
  ValueId x;
  std::int64_t first = 0;  // column
  std::int64_t columns = 0;
};

// [B, heads, T, size] as [B, T, heads * size].
ValueId side_by_side(NodeReader& in, ValueId x, std::string_view name) {
  if (in.failed() || in.rank(x) != 4) return x;
  const OpenShape shape = in.shape(x);
  const ValueId moved = transpose(in, x, Integers{0, 2, 1, 3}, std::string(name) + ".moved");
  return in.reshape(moved, {shape[0], shape[2], shape[1] * shape[3]}, std::string(name) + ".columns");
}

// Of `count` operands packed into one.
void add_packed(NodeReader& in, std::vector<Operand>& operands, ValueId x, std::int64_t count, std::string_view name) {
  const ValueId columns = unpacked(in, x, count, name);
  const Dim all = columns_of(in, columns);
  if (!in.failed() && !all.is_number())
    in.unsupported(quoted("input", name), "an open number of columns", "a known one");
  for (std::int64_t i = 0; i < count && !in.failed(); ++i)
    operands.push_back({columns, i * all.example() / count, all.example() / count});
}

void add_plain(NodeReader& in, std::vector<Operand>& operands, ValueId x, std::string_view name) {
  in.require_rank(x, 3, name == "query" ? 3 : 4);
  const ValueId columns = side_by_side(in, x, name);
  const Dim all = columns_of(in, columns);
  if (!in.failed() && !all.is_number())
    in.unsupported(quoted("input", name), "an open number of columns", "a known one");
  if (!in.failed()) operands.push_back({columns, 0, all.example()});
}

// Each operand's part of the bias is added to it.
void add_bias(NodeReader& in, std::vector<Operand>& operands, ValueId bias) {
  static constexpr std::string_view kNames[] = {"q", "k", "v"};
  std::int64_t first = 0;
  for (std::size_t i = 0; i < operands.size() && !in.failed(); ++i) {
    Operand& operand = operands[i];
    const std::string name(kNames[i]);
    const ValueId part = slice(in, bias, 0, Range{.start = first, .size = operand.columns}, name + ".bias");
    const ValueId own = slice(in, operand.x, 2, Range{.start = operand.first, .size = operand.columns}, name);
    first += operand.columns;
    operand = {in.binary(B::add, own, part, name + ".biased"), 0, operand.columns};
  }
}

ValueId read_multi_head_attention(NodeReader& in) {
  const ValueId query = in.value(0, "query"), key = in.optional(1, "key"), value = in.optional(2, "value");
  const ValueId bias = in.optional(3, "bias"), mask = in.optional(4, "key_padding_mask");
  const ValueId scores_bias = in.optional(5, "attention_bias");
  const Number heads = in.integer("num_heads");
  const bool is_causal = in.flag("unidirectional");
  const auto scale = given_scale(in);
  refuse_inputs(in, {{6, "past_key"}, {7, "past_value"}, {8, "past_sequence_length"}, {9, "cache_indirection"}},
                kNoCache);
  refuse_outputs(in, {{1, "present_key"}, {2, "present_value"}}, kNoCache);
  refuse_outputs(in, {{3, "qk"}}, "scores are not kept");
  if (in.failed()) return {};
  std::vector<Operand> operands;
  if (in.rank(query) == 5) {
    if (key.exists() || value.exists()) return in.fail("input 'query'", "rank 5 beside keys or values", "rank 3");
    add_packed(in, operands, query, 3, "query");
  } else {
    add_plain(in, operands, query, "query");
    if (!key.exists()) return in.fail("input 'key'", "none", "one, since 'query' is not packed");
    if (in.rank(key) == 5 && !value.exists()) add_packed(in, operands, key, 2, "key");
    else if (!value.exists()) return in.fail("input 'value'", "none", "one, since 'key' is not packed");
    else add_plain(in, operands, key, "key"), add_plain(in, operands, value, "value");
  }
  if (in.failed()) return {};
  const std::int64_t head_size = columns_of_head(in, operands[0].columns, heads, "query");
  const std::int64_t value_size = columns_of_head(in, operands[2].columns, heads, "value");
  if (bias.exists()) {
    const std::int64_t all = operands[0].columns + operands[1].columns + operands[2].columns;
    if (in.rank(bias) != 1 || in.shape(bias)[0] != all)
      return in.fail("input 'bias'", "shape " + in.shape(bias).to_string(), std::to_string(all) + " numbers");
    if (in.rank(key.exists() ? key : query) == 4)
      return in.unsupported("input 'bias'", "one beside keys of rank 4", "keys of rank 3");
    add_bias(in, operands, bias);
  }
  if (in.failed()) return {};
  const OpenShape keys = in.shape(operands[1].x);
  const ValueId kept = added_masks(in, key_mask(in, mask, "key_padding_mask", keys[0], keys[1]), scores_bias);
  return attention(in, operands[0].x, operands[1].x, operands[2].x, kept,
                   {.heads = heads,
                    .kv_heads = heads,
                    .head_size = head_size,
                    .value_size = value_size,
                    .q_first = operands[0].first,
                    .k_first = operands[1].first,
                    .v_first = operands[2].first,
                    .scale = scale ? *scale : attention_scale(head_size),
                    .is_causal = is_causal});
}

// ---- com.microsoft: normalisations ----

// The sum that is normalised, which is an output too.
ValueId skipped(NodeReader& in, ValueId x, ValueId skip, ValueId bias) {
  ValueId sum = in.binary(B::add, x, skip, "sum");
  if (bias.exists()) sum = in.binary(B::add, sum, bias, "biased_sum");
  if (in.failed()) return {};
  if (in.shape(sum) != in.shape(x))
    return in.fail("input 'skip'", "shape " + in.shape(skip).to_string(),
                   "one that broadcasts to " + in.shape(x).to_string());
  if (in.wants(3)) in.output(3, sum);
  refuse_outputs(in, {{1, "mean"}, {2, "inv_std_var"}}, "they are of use in training alone");
  return sum;
}

ValueId read_skip_layer_norm(NodeReader& in) {
  const ValueId x = in.value(0, "input"), skip = in.value(1, "skip"), gamma = in.value(2, "gamma");
  const ValueId beta = in.optional(3, "beta"), bias = in.optional(4, "bias");
  const float epsilon = in.number("epsilon", 1e-12f);
  const ValueId sum = skipped(in, x, skip, bias);
  return layer_norm(in, {sum, gamma, beta, epsilon}, in.rank(sum) - 1);
}

ValueId read_skip_rms_norm(NodeReader& in) {
  const ValueId x = in.value(0, "input"), skip = in.value(1, "skip"), gamma = in.value(2, "gamma");
  const ValueId bias = in.optional(3, "bias");
  const float epsilon = in.number("epsilon", 1e-12f);
  const ValueId sum = skipped(in, x, skip, bias);
  return rms_norm(in, {.x = sum, .scale = gamma, .epsilon = epsilon}, in.rank(sum) - 1);
}

// One row for each position where there are no ids of positions.
ValueId embedded_positions(NodeReader& in, ValueId table, ValueId ids, const Dim& length) {
  if (ids.exists()) return in.add(kGather, GatherAttrs{.axis = 0}, {table, ids}, "positions");
  return slice(in, table, 0, Range{.start = 0, .size = length}, "positions");
}

// How many tokens of each sequence take part; summed as f32, which is exact.
ValueId counted_tokens(NodeReader& in, ValueId mask, const Dim& batch) {
  if (!mask.exists())
    return expand(in, in.constant(Tensor::scalar<std::int32_t>(0), "no_mask"), Extents{batch}, "count");
  const ValueId kept = in.binary(B::equal, mask, in.scalar_like(mask, 1.0, "mask.one"), "mask.kept");
  const ValueId sum = reduce(in,
                             {.x = in.cast(kept, DType::f32, "mask.numbers"),
                              .kind = ReduceKind::sum,
                              .axes = Integers{1},
                              .keeps_dims = false},
                             "mask.sum");
  return in.cast(sum, DType::s32, "count");
}

ValueId read_embed_layer_norm(NodeReader& in) {
  const ValueId ids = in.value(0, "input_ids"), segments = in.optional(1, "segment_ids");
  const ValueId words = in.value(2, "word_embedding"), positions = in.value(3, "position_embedding");
  const ValueId kinds = in.optional(4, "segment_embedding");
  const ValueId gamma = in.value(5, "gamma"), beta = in.value(6, "beta");
  const ValueId mask = in.optional(7, "mask"), position_ids = in.optional(8, "position_ids");
  const float epsilon = in.number("epsilon", 1e-12f);
  in.ignore("mask_index_type");
  in.require_rank(ids, 2, 2);
  in.require_rank(words, 2, 2);
  in.require_rank(positions, 2, 2);
  if (!in.failed() && segments.exists() != kinds.exists())
    return in.fail("input 'segment_embedding'", kinds.exists() ? "one" : "none", "one where there are 'segment_ids'");
  if (in.failed()) return {};
  const OpenShape shape = in.shape(ids);
  ValueId sum = in.binary(B::add, in.add(kGather, GatherAttrs{.axis = 0}, {words, ids}, "words"),
                          embedded_positions(in, positions, position_ids, shape[1]), "words_and_positions");
  if (kinds.exists())
    sum = in.binary(B::add, sum, in.add(kGather, GatherAttrs{.axis = 0}, {kinds, segments}, "segments"), "embedded");
  if (in.wants(1)) in.output(1, counted_tokens(in, mask, shape[0]));
  if (in.wants(2)) in.output(2, sum);
  return layer_norm(in, {sum, gamma, beta, epsilon}, 2);
}

constexpr Operator kTable[] = {
    {"RMSNormalization", 23, 2, 2, read_rms_norm},
    {"RotaryEmbedding", 23, 3, 4, read_rotary},
    {"SimplifiedLayerNormalization", 1, 2, 2, read_rms_norm},
    {"com.microsoft.Attention", 1, 2, 7, read_microsoft_attention},
    {"com.microsoft.EmbedLayerNormalization", 1, 7, 9, read_embed_layer_norm},
    {"com.microsoft.MultiHeadAttention", 1, 1, 10, read_multi_head_attention},
    {"com.microsoft.RotaryEmbedding", 1, 4, 4, read_microsoft_rotary},
    {"com.microsoft.SkipLayerNormalization", 1, 3, 5, read_skip_layer_norm},
    {"com.microsoft.SkipSimplifiedLayerNormalization", 1, 3, 4, read_skip_rms_norm},
};

}  // namespace

const std::span<const Operator> kTransformers = kTable;

// How wide a head is whose operand has so many columns; 0 and an error where these do not divide.
std::int64_t columns_of_head(NodeReader& in, const Dim& columns, const Number& heads, std::string_view input) {
  if (in.failed()) return 0;
  const bool divides = columns.is_number() && heads.value > 0 && columns.example() % heads.value == 0;
  if (divides) return columns.example() / heads.value;
  in.fail(heads.place, std::to_string(heads.value),
          "a divisor of the " + to_string(columns) + " columns of " + quoted("input", input));
  return 0;
}

Dim columns_of(NodeReader& in, ValueId x) { return in.failed() ? Dim(0) : in.shape(x)[in.rank(x) - 1]; }

}  // namespace octavo::onnx_import
