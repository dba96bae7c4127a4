// ONNX readers: attention of com.microsoft, whose queries, keys and values may be packed. Part of import/.
#include <algorithm>

#include "base/fields.h"
#include "import/onnx/operators.h"
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
constexpr std::string_view kNoCache = "keys and values of earlier calls are not kept";

// ---- masks ----

// What is added to scores where a key takes no part.
ValueId filled_where_not(NodeReader& in, ValueId kept, float fill) {
  const ValueId zero = in.constant(Tensor::scalar(0.0f), "mask.zero");
  return in.add(kWhere, NoAttrs{}, {kept, zero, in.constant(Tensor::scalar(fill), "mask.fill")}, "mask");
}

// Whose scores a mask is for.
struct MaskedScores {
  Dim batch, queries, keys;
};

// Keys [starts[b], ends[b]) as [batch, 1, 1, keys] of bool. `bounds` begins with the ends of all sequences, behind
// which the starts are where it has them.
enum class Bounds { ends, ends_and_starts };
ValueId keys_between(NodeReader& in, ValueId bounds, Bounds kind, const MaskedScores& scores) {
  const ValueId positions = counted(in, scores.keys, DType::s32, "positions");
  const auto compared = [&](B relation, const Dim& first, const std::string& name) {
    const ValueId part = slice(in, bounds, 0, Range{.start = first, .size = scores.batch}, name);
    const ValueId apart =
        in.reshape(in.cast(part, DType::s32, name + ".s32"), {scores.batch, 1, 1, 1}, name + ".apart");
    return in.binary(relation, positions, apart, name + ".kept");
  };
  const ValueId before = compared(B::less, 0, "ends");
  if (kind == Bounds::ends) return before;
  return in.binary(B::logical_and, before, compared(B::greater_or_equal, scores.batch, "starts"), "kept");
}

// Of numbers, those above 0 take part: of keys [batch, keys], or [batch, queries, keys]. Of lengths [batch], which may
// be followed by where sequences that stand one after the other begin, [3 batch + 2].
ValueId key_mask(NodeReader& in, ValueId mask, std::string_view name, const MaskedScores& scores) {
  const float fill = in.number("mask_filter_value", -10000.0f);
  if (!mask.exists() || in.failed()) return {};
  const OpenShape shape = in.shape(mask);
  const Dim& batch = scores.batch;
  if (shape.rank() == 1 && (shape[0] == batch || shape[0] == batch * 3 + 2))
    return filled_where_not(in, keys_between(in, mask, Bounds::ends, scores), fill);
  const bool is_matrix = shape.rank() == 2 && shape[0] == batch && shape[1] == scores.keys;
  const bool is_per_query =
      shape.rank() == 3 && shape[0] == batch && shape[1] == scores.queries && shape[2] == scores.keys;
  if (!is_matrix && !is_per_query)
    return in.fail(quoted("input", name), "shape " + shape.to_string(),
                   "[batch], [batch, keys] or [batch, queries, keys] of batch " + to_string(batch) + ", " +
                       to_string(scores.queries) + " queries and " + to_string(scores.keys) + " keys");
  Extents dims = shape.to_vector();
  dims.insert(dims.begin() + 1, static_cast<std::size_t>(4 - shape.rank()), Dim(1));
  const ValueId numbers = in.cast(mask, DType::s32, "mask.numbers");
  const ValueId kept = in.binary(B::greater, numbers, in.scalar_like(numbers, 0.0, "mask.none"), "mask.kept");
  return filled_where_not(in, in.reshape(kept, dims, "mask.apart"), fill);
}

// That, or ends and then starts of all sequences, [2 batch]. One number for all keys changes no weight.
ValueId mask_index(NodeReader& in, ValueId mask, const MaskedScores& scores) {
  if (!mask.exists() || in.failed()) return key_mask(in, mask, "mask_index", scores);
  const OpenShape shape = in.shape(mask);
  const float fill = in.number("mask_filter_value", -10000.0f);
  if (shape.rank() == 1 && shape[0] != scores.batch && shape[0] == scores.batch * 2)
    return filled_where_not(in, keys_between(in, mask, Bounds::ends_and_starts, scores), fill);
  if (shape.rank() == 2 && is_one(shape[1]) && (is_one(shape[0]) || shape[0] == scores.batch)) return {};
  return key_mask(in, mask, "mask_index", scores);
}

ValueId added_masks(NodeReader& in, ValueId mask, ValueId bias) {
  if (!mask.exists() || !bias.exists()) return mask.exists() ? mask : bias;
  return in.binary(B::add, bias, mask, "mask.biased");
}

// ---- queries, keys and values as columns of one product ----

// Attributes that all these operators have.
struct Options {
  Number heads;
  std::optional<float> scale;  // none: attention_scale
  bool is_causal = false;
};

Options read_options(NodeReader& in) {
  Options options{.heads = in.integer("num_heads"), .is_causal = in.flag("unidirectional")};
  if (const float scale = in.number("scale", 0.0f); scale != 0.0f) options.scale = scale;
  return options;
}

Options read_packed_options(NodeReader& in) {
  if (in.flag("do_rotary")) in.unsupported("attribute 'do_rotary'", "1", "0; a RotaryEmbedding of its own");
  in.ignore("past_present_share_buffer");
  refuse_outputs(in, {{1, "present"}}, kNoCache);
  return read_options(in);
}

// Of `packed` [batch, tokens, columns]; `sizes` are the columns of queries, keys and values: empty where these are
// equal.
ValueId packed_attention(NodeReader& in, ValueId packed, Integers sizes, ValueId mask, ValueId bias,
                         const Options& options) {
  if (in.failed()) return {};
  const OpenShape shape = in.shape(packed);
  const Dim columns = shape[2];
  if (sizes.empty() && columns.is_number()) sizes.assign(3, columns.example() / 3);
  const bool are_sizes =
      sizes.size() == 3 && sizes[0] == sizes[1] &&
      std::all_of(sizes.begin(), sizes.end(), [&](auto size) { return size >= 0 && columns >= size; });
  if (!are_sizes || columns != sizes[0] + sizes[1] + sizes[2])
    return in.fail("attribute 'qkv_hidden_sizes'", print(sizes) + " for " + to_string(columns) + " columns",
                   "three sizes that are all columns, the first two equal");
  const std::int64_t head_size = columns_of_head(in, sizes[0], options.heads, "weights");
  const std::int64_t value_size = columns_of_head(in, sizes[2], options.heads, "weights");
  const ValueId kept =
      added_masks(in, mask_index(in, mask, {.batch = shape[0], .queries = shape[1], .keys = shape[1]}), bias);
  return attention(in, packed, packed, packed, kept,
                   {.heads = options.heads,
                    .kv_heads = options.heads,
                    .head_size = head_size,
                    .value_size = value_size,
                    .k_first = sizes[0],
                    .v_first = sizes[0] + sizes[1],
                    .scale = options.scale ? *options.scale : attention_scale(head_size),
                    .is_causal = options.is_causal});
}

ValueId read_microsoft_attention(NodeReader& in) {
  const ValueId x = in.value(0, "input"), w = in.value(1, "weights"), bias = in.optional(2, "bias");
  const ValueId mask = in.optional(3, "mask_index"), scores_bias = in.optional(5, "attention_bias");
  const Options options = read_packed_options(in);
  in.ignore("rotary_embedding_dim");
  refuse_inputs(in, {{4, "past"}, {6, "past_sequence_length"}}, kNoCache);
  in.require_rank(x, 3, 3);
  in.require_rank(w, 2, 2);
  return packed_attention(in, matmul(in, x, w, bias, "qkv"), in.integers("qkv_hidden_sizes"), mask, scores_bias,
                          options);
}

ValueId read_qattention(NodeReader& in) {
  const ValueId mask = in.optional(5, "mask_index");
  const Options options = read_packed_options(in);
  refuse_inputs(in, {{8, "past"}}, kNoCache);
  in.require_rank(in.value(0, "input"), 3, 3);
  in.require_rank(in.value(1, "weight"), 2, 2);
  const ValueId packed =
      product_of_integers(in, {.bias = 2, .a_scale = 3, .b_scale = 4, .a_zero_point = 6, .b_zero_point = 7}, "qkv");
  return packed_attention(in, packed, {}, mask, {}, options);
}

// ---- queries, keys and values in tensors of their own, or packed by heads ----

// [B, T, heads, parts, size] as [B, T, parts * heads * size].
ValueId unpacked(NodeReader& in, ValueId x, std::int64_t parts, std::string_view name) {
  const OpenShape shape = in.shape(x);
  if (shape[3] != parts)
    return in.fail(quoted("input", name), "shape " + shape.to_string(),
                   std::to_string(parts) + " parts on axis 3, since none of them is an input of its own");
  const ValueId moved = transpose(in, x, Integers{0, 1, 3, 2, 4}, std::string(name) + ".parts");
  return in.reshape(moved, {shape[0], shape[1], shape[2] * parts * shape[4]}, std::string(name) + ".columns");
}

struct MicrosoftOperand {
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
void add_packed(NodeReader& in, std::vector<MicrosoftOperand>& operands, ValueId x, std::int64_t count,
                std::string_view name) {
  const ValueId columns = unpacked(in, x, count, name);
  const Dim all = columns_of(in, columns);
  if (!in.failed() && !all.is_number())
    in.unsupported(quoted("input", name), "an open number of columns", "a known one");
  for (std::int64_t i = 0; i < count && !in.failed(); ++i)
    operands.push_back({columns, i * all.example() / count, all.example() / count});
}

void add_plain(NodeReader& in, std::vector<MicrosoftOperand>& operands, ValueId x, std::string_view name) {
  in.require_rank(x, 3, name == "query" ? 3 : 4);
  const ValueId columns = side_by_side(in, x, name);
  const Dim all = columns_of(in, columns);
  if (!in.failed() && !all.is_number())
    in.unsupported(quoted("input", name), "an open number of columns", "a known one");
  if (!in.failed()) operands.push_back({columns, 0, all.example()});
}

// Each operand's part of the bias is added to it.
void add_bias(NodeReader& in, std::vector<MicrosoftOperand>& operands, ValueId bias) {
  static constexpr std::string_view kNames[] = {"q", "k", "v"};
  std::int64_t first = 0;
  for (std::size_t i = 0; i < operands.size() && !in.failed(); ++i) {
    MicrosoftOperand& operand = operands[i];
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
  const Options options = read_options(in);
  refuse_inputs(in, {{6, "past_key"}, {7, "past_value"}, {8, "past_sequence_length"}, {9, "cache_indirection"}},
                kNoCache);
  refuse_outputs(in, {{1, "present_key"}, {2, "present_value"}}, kNoCache);
  refuse_outputs(in, {{3, "qk"}}, "scores are not kept");
  if (in.failed()) return {};
  std::vector<MicrosoftOperand> operands;
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
  const std::int64_t head_size = columns_of_head(in, operands[0].columns, options.heads, "query");
  const std::int64_t value_size = columns_of_head(in, operands[2].columns, options.heads, "value");
  if (bias.exists()) {
    const std::int64_t all = operands[0].columns + operands[1].columns + operands[2].columns;
    if (in.rank(bias) != 1 || in.shape(bias)[0] != all)
      return in.fail("input 'bias'", "shape " + in.shape(bias).to_string(), std::to_string(all) + " numbers");
    if (in.rank(key.exists() ? key : query) == 4)
      return in.unsupported("input 'bias'", "one beside keys of rank 4", "keys of rank 3");
    add_bias(in, operands, bias);
  }
  if (in.failed()) return {};
  const OpenShape queries = in.shape(operands[0].x);
  const MaskedScores scores{.batch = queries[0], .queries = queries[1], .keys = in.shape(operands[1].x)[1]};
  if (options.is_causal && scores.queries != scores.keys)
    return in.unsupported("attribute 'unidirectional'",
                          "1 for " + to_string(scores.queries) + " queries and " + to_string(scores.keys) + " keys",
                          "as many of both");
  const ValueId kept = added_masks(in, key_mask(in, mask, "key_padding_mask", scores), scores_bias);
  return attention(in, operands[0].x, operands[1].x, operands[2].x, kept,
                   {.heads = options.heads,
                    .kv_heads = options.heads,
                    .head_size = head_size,
                    .value_size = value_size,
                    .q_first = operands[0].first,
                    .k_first = operands[1].first,
                    .v_first = operands[2].first,
                    .scale = options.scale ? *options.scale : attention_scale(head_size),
                    .is_causal = options.is_causal});
}

constexpr Operator kMicrosoftTable[] = {
    {"com.microsoft.Attention", 1, 2, 7, read_microsoft_attention},
    {"com.microsoft.MultiHeadAttention", 1, 1, 10, read_multi_head_attention},
    {"com.microsoft.QAttention", 1, 5, 9, read_qattention},
};

}  // namespace

const std::span<const Operator> kMicrosoftAttention = kMicrosoftTable;

}  // namespace octavo::onnx_import
