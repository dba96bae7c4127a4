// ONNX readers: the standard's attention, and what keeps a state from one call to the next. Part of import/.
#include "import/onnx/operators.h"
#include "ops/scatter_elements/scatter_elements.h"
#include "ops/where/where.h"

namespace octavo::onnx_import {
namespace {

using B = BinaryKind;
using U = UnaryKind;

// ---- attention ----

struct Heads {
  Number q, kv;
};

// Inputs [batch, heads, length, size], or [batch, length, heads * size].
struct Attention {
  ValueId q, k, v, mask, past_key, past_value, lengths;
  Heads heads;
  std::int64_t left = -1, right = -1;  // how far a query sees on either side of its position; -1: without bound
  bool has_f64_weights = false;        // softmax_precision
  std::optional<float> scale;
  float cap = 0.0f;
  std::int64_t kept_scores = 0;  // qk_matmul_output_mode
};

// [batch, length, heads * size] as [batch, heads, length, size].
ValueId by_heads(NodeReader& in, ValueId x, const Number& heads, const std::string& name) {
  if (in.failed() || in.rank(x) == 4) return x;
  const OpenShape shape = in.shape(x);
  if (heads.value < 1 || shape[2] % heads.value != 0)
    return in.fail(heads.place, std::to_string(heads.value),
                   "a divisor of the " + to_string(shape[2]) + " columns of input '" + name + "'");
  const ValueId apart = in.reshape(x, {shape[0], shape[1], heads.value, shape[2] / heads.value}, name + ".apart");
  return transpose(in, apart, Integers{0, 2, 1, 3}, name + ".heads");
}

// 0 where kept, else minus infinity, in the type of q.
ValueId barred_where_not(NodeReader& in, ValueId kept, ValueId q, const std::string& name) {
  const ValueId zero = in.scalar_like(q, 0.0, name + ".zero"),
                barred = in.scalar_like(q, -kUnbounded, name + ".barred");
  return in.add(kWhere, NoAttrs{}, {kept, zero, barred}, name);
}

// Where queries stand among all keys, [queries, 1]: behind the past; or [batch, 1, queries, 1], the last one at the end
// of its sequence's keys, where these were put together before.
ValueId positions_of_queries(NodeReader& in, const Attention& a, const Dim& past) {
  const Dim queries = in.shape(a.q)[2];
  const ValueId steps = in.reshape(counted(in, queries, DType::s64, "queries"), {queries, 1}, "queries.column");
  const auto number = [&](const Dim& value, const std::string& name) {
    return in.reshape(in.extents({value}, name), {}, name + ".number");
  };
  const ValueId first = a.lengths.exists()
                            ? in.binary(B::sub, a.lengths, number(queries, "queries.count"), "queries.first")
                            : number(past, "past");
  return in.binary(B::add, steps, first, "queries.positions");
}

// The mask of the file, in the type of q and of as many keys as there are: others take no part.
ValueId given_mask(NodeReader& in, const Attention& a) {
  const ValueId mask = in.dtype(a.mask) == DType::boolean ? barred_where_not(in, a.mask, a.q, "mask") : a.mask;
  if (in.failed()) return {};
  const Dim missing = in.shape(a.k)[2] - in.shape(mask)[in.rank(mask) - 1];
  if (is_zero(missing)) return mask;
  PadArgs padding{.x = mask, .begin = Integers{0}, .end = Extents{missing}, .axes = {in.rank(mask) - 1}};
  padding.value = in.scalar_like(a.q, -kUnbounded, "mask.beyond");
  return pad(in, padding, "mask.padded");
}

// What is added to scores [batch, heads, queries, keys]; nothing where that is nothing.
ValueId scores_bias(NodeReader& in, Attention a, const Dim& past) {
  ValueId bias;
  const auto add = [&](ValueId more) { bias = bias.exists() ? in.binary(B::add, bias, more, "bias") : more; };
  if (a.mask.exists()) add(given_mask(in, a));
  if (in.failed()) return {};
  const ValueId keys = counted(in, in.shape(a.k)[2], DType::s64, "keys.positions");
  if (a.lengths.exists()) {
    a.lengths = in.reshape(in.cast(a.lengths, DType::s64, "lengths"), {in.shape(a.q)[0], 1, 1, 1}, "lengths.apart");
    add(barred_where_not(in, in.binary(B::less, keys, a.lengths, "kept"), a.q, "kept.scores"));
  }
  if (a.left < 0 && a.right < 0) return bias;
  const ValueId queries = positions_of_queries(in, a, past);
  const auto add_bound = [&](B relation, std::int64_t distance, const std::string& name) {
    const ValueId bound = in.binary(
        B::add, queries, in.scalar_like(queries, static_cast<double>(distance), name + ".distance"), name + ".key");
    add(barred_where_not(in, in.binary(relation, keys, bound, name + ".kept"), a.q, name));
  };
  if (a.right >= 0) add_bound(B::less_or_equal, a.right, "last");
  if (a.left >= 0) add_bound(B::greater_or_equal, -a.left, "first");
  return bias;
}

// Rows of weights; zeros where no key takes part.
ValueId weights_of(NodeReader& in, const Attention& a, ValueId scores, bool is_masked) {
  if (in.failed()) return {};
  const DType type = in.dtype(scores);
  if (a.has_f64_weights) scores = in.cast(scores, DType::f64, "scores.f64");
  ValueId weights = softmax(in, scores, 3, SoftmaxKind::softmax, "weights");
  if (is_masked && !in.failed()) {
    const ValueId most = reduce(in, {.x = scores, .kind = ReduceKind::max, .axes = Integers{3}}, "scores.most");
    const ValueId is_none = in.binary(B::equal, most, in.scalar_like(most, -kUnbounded, "scores.none"), "is_none");
    weights =
        in.add(kWhere, NoAttrs{}, {is_none, in.scalar_like(weights, 0.0, "weights.none"), weights}, "weights.kept");
  }
  return in.cast(weights, type, "weights.back");
}

// In single steps: scores that are capped or kept are more than the operator computes.
ValueId attention_by_steps(NodeReader& in, const Attention& a, ValueId bias) {
  const std::int64_t times = in.shape(a.q)[1] / in.shape(a.k)[1];
  const ValueId k = repeated_heads(in, a.k, times, "keys"), v = repeated_heads(in, a.v, times, "values");
  const Dim size = in.shape(a.q)[3];
  const float scale = a.scale ? *a.scale : attention_scale(size);
  ValueId scores = matmul(in, scaled(in, a.q, scale, "queries"), swap_axes(in, k, 2, 3, "keys.turned"), {}, "scores");
  const auto keep = [&](std::int64_t mode) {
    if (a.kept_scores == mode && in.wants(3)) in.output(3, scores);
  };
  keep(0);
  if (a.cap > 0.0f && !in.failed()) {
    const ValueId cap = in.scalar_like(scores, a.cap, "cap");
    const ValueId bent = in.unary({.kind = U::tanh}, in.binary(B::div, scores, cap, "capped.inner"), "capped.tanh");
    scores = in.binary(B::mul, bent, cap, "capped");
  }
  keep(1);
  if (bias.exists()) scores = in.binary(B::add, scores, bias, "biased");
  keep(2);
  scores = weights_of(in, a, scores, bias.exists());
  keep(3);
  return matmul(in, scores, v, {}, "heads");
}

// Whether the operator does all that the file asks for.
bool is_plain(NodeReader& in, const Attention& a) {
  const bool is_in_steps = a.cap != 0.0f || a.has_f64_weights || in.wants(1) || in.wants(2) || in.wants(3);
  const bool has_positions = a.left >= 0 || a.right > 0 || (a.right == 0 && a.lengths.exists());
  return !a.past_key.exists() && !a.past_value.exists() && !is_in_steps && !has_positions &&
         !(a.mask.exists() && a.lengths.exists());
}

ValueId plain_attention(NodeReader& in, Attention a) {
  if (a.lengths.exists() && !in.failed()) {
    const ValueId lengths =
        in.reshape(in.cast(a.lengths, DType::s32, "lengths"), {in.shape(a.k)[0], 1, 1, 1}, "lengths.apart");
    const ValueId positions = counted(in, in.shape(a.k)[in.rank(a.k) - 2], DType::s32, "positions");
    a.mask = in.binary(B::less, positions, lengths, "kept");
  }
  if (in.failed()) return {};
  if (in.rank(a.q) == 4)
    return attention_by_axes(
        in, {.q = a.q, .k = a.k, .v = a.v, .mask = a.mask, .scale = a.scale, .is_causal = a.right == 0});
  const std::int64_t head_size = columns_of_head(in, columns_of(in, a.q), a.heads.q, "Q");
  const std::int64_t key_size = columns_of_head(in, columns_of(in, a.k), a.heads.kv, "K");
  const std::int64_t value_size = columns_of_head(in, columns_of(in, a.v), a.heads.kv, "V");
  if (!in.failed() && head_size != key_size)
    return in.fail("attribute 'kv_num_heads'",
                   std::to_string(a.heads.kv.value) + ", so that keys have " + std::to_string(key_size) + " columns",
                   "keys of as many columns as queries, " + std::to_string(head_size));
  return attention(in, a.q, a.k, a.v, a.mask,
                   {.heads = a.heads.q,
                    .kv_heads = a.heads.kv,
                    .head_size = head_size,
                    .value_size = value_size,
                    .scale = a.scale ? *a.scale : attention_scale(head_size),
                    .is_causal = a.right == 0});
}

// Keys and values of earlier calls in front of those of this one.
ValueId attention_with_past(NodeReader& in, Attention a) {
  const bool has_axes = in.rank(a.q) == 4;
  a.q = by_heads(in, a.q, a.heads.q, "Q");
  a.k = by_heads(in, a.k, a.heads.kv, "K");
  a.v = by_heads(in, a.v, a.heads.kv, "V");
  if (a.past_key.exists() != a.past_value.exists())
    return in.fail("input 'past_value'", a.past_value.exists() ? "one" : "none", "one where there is 'past_key'");
  Dim past = 0;
  if (a.past_key.exists()) {
    in.require_rank(a.past_key, 4, 4);
    in.require_rank(a.past_value, 4, 4);
    if (in.failed()) return {};
    past = in.shape(a.past_key)[2];
    a.k = concat(in, {a.past_key, a.k}, 2, "present_key");
    a.v = concat(in, {a.past_value, a.v}, 2, "present_value");
  }
  if (in.wants(1)) in.output(1, a.k);
  if (in.wants(2)) in.output(2, a.v);
  if (in.failed()) return {};
  const Dim q_heads = in.shape(a.q)[1], kv_heads = in.shape(a.k)[1];
  if (kv_heads == 0 || q_heads % kv_heads != 0)
    return in.fail("", to_string(q_heads) + " heads of queries for " + to_string(kv_heads) + " of keys", "a multiple");
  const ValueId bias = scores_bias(in, a, past);
  ValueId y;
  if (a.cap > 0.0f || a.has_f64_weights || in.wants(3)) y = attention_by_steps(in, a, bias);
  else y = attention_by_axes(in, {.q = a.q, .k = a.k, .v = a.v, .mask = bias, .scale = a.scale});
  if (has_axes || in.failed()) return y;
  const OpenShape shape = in.shape(y);
  return in.reshape(transpose(in, y, Integers{0, 2, 1, 3}, "moved"), {shape[0], shape[2], shape[1] * shape[3]},
                    "value");
}

ValueId read_decoding_attention(NodeReader& in) {
  constexpr std::int64_t kDouble = 11;
  Attention a{.q = in.value(0, "Q"),
              .k = in.value(1, "K"),
              .v = in.value(2, "V"),
              .mask = in.optional(3, "attn_mask"),
              .past_key = in.optional(4, "past_key"),
              .past_value = in.optional(5, "past_value"),
              .lengths = in.optional(6, "nonpad_kv_seqlen"),
              .heads = {in.integer("q_num_heads", 0), in.integer("kv_num_heads", 0)},
              .left = in.integer("left_window_size", -1),
              .right = in.integer("right_window_size", -1),
              .has_f64_weights = in.integer("softmax_precision", 1) == kDouble,
              .cap = in.number("softcap", 0.0f),
              .kept_scores = in.integer("qk_matmul_output_mode", 0)};
  const float scale = in.number("scale", 0.0f);
  if (in.has("scale")) a.scale = scale;
  for (const auto& [name, size] : {std::pair("left_window_size", a.left), std::pair("right_window_size", a.right)}) {
    if (size < -1) in.fail(quoted("attribute", name), std::to_string(size), "-1, 0 or more");
  }
  if (in.flag("is_causal")) a.right = 0;
  in.require_rank(a.q, 3, 4);
  if (in.failed()) return {};
  for (const ValueId other : {a.k, a.v}) in.require_rank(other, in.rank(a.q), in.rank(a.q));
  if (in.failed()) return {};
  return is_plain(in, a) ? plain_attention(in, a) : attention_with_past(in, a);
}

// ---- attention by a state ----

// q [batch, heads of q, tokens, size]; k [batch, heads, tokens, size]; v [batch, heads, tokens, value size]; decay and
// beta, which may be left out, broadcast to [batch, heads, tokens, size] and [batch, heads, tokens, 1]; all in f32.
struct Recurrence {
  ValueId q, k, v, decay, beta;
  ValueId state;                       // [batch, heads, size, value size]
  std::int64_t tokens = 0, times = 1;  // heads of q for each of k
};

// Of every token: the state decays, takes up k^T (v, or beta times what v differs by from what k finds), and is read by
// q. Gives [batch, heads of q, tokens, value size]; the state is then the last one.
ValueId unrolled(NodeReader& in, Recurrence& r) {
  std::vector<ValueId> found;
  for (std::int64_t token = 0; token < r.tokens && !in.failed(); ++token) {
    const std::string name = "token" + std::to_string(token) + ".";
    const auto row = [&](ValueId x, const char* of) {
      return slice(in, x, 2, Range{.start = token, .size = 1}, name + of);
    };
    // [..., 1, n] as [..., n, 1].
    const auto column = [&](ValueId x, const std::string& of) { return swap_axes(in, x, 2, 3, name + of); };
    if (r.decay.exists())
      r.state = in.binary(B::mul, r.state, column(row(r.decay, "decay"), "decay.column"), name + "decayed");
    const ValueId k = row(r.k, "k");
    ValueId v = row(r.v, "v");
    if (r.beta.exists()) {
      const ValueId missed = in.binary(B::sub, v, matmul(in, k, r.state, {}, name + "known"), name + "missed");
      v = in.binary(B::mul, missed, row(r.beta, "beta"), name + "corrected");
    }
    const ValueId more = in.binary(B::mul, column(k, "k.column"), v, name + "more");
    r.state = in.binary(B::add, r.state, more, name + "state");
    const ValueId read = repeated_heads(in, r.state, r.times, name + "read");
    found.push_back(matmul(in, row(r.q, "q"), read, {}, name + "found"));
  }
  return concat(in, found, 2, "found");
}

ValueId read_linear_attention(NodeReader& in) {
  const ValueId q = in.value(0, "query"), k = in.value(1, "key"), v = in.value(2, "value");
  const ValueId past = in.optional(3, "past_state"), decay = in.optional(4, "decay"), beta = in.optional(5, "beta");
  const Number q_heads = in.integer("q_num_heads"), kv_heads = in.integer("kv_num_heads");
  const std::string rule = in.text("update_rule", "gated_delta");
  const float scale = in.number("scale", 0.0f);
  in.ignore("chunk_size");  // how to compute it
  for (const ValueId x : {q, k, v}) in.require_rank(x, 3, 3);
  const bool has_decay = rule == "gated" || rule == "gated_delta", has_beta = rule == "delta" || rule == "gated_delta";
  if (!has_decay && !has_beta && rule != "linear")
    in.fail("attribute 'update_rule'", "'" + rule + "'", "'linear', 'gated', 'delta' or 'gated_delta'");
  if (in.failed()) return {};
  if (decay.exists() != has_decay || beta.exists() != has_beta)
    return in.fail("inputs 'decay' and 'beta'", "others", "those of the update rule '" + rule + "'");
  if (kv_heads < 1 || q_heads % kv_heads != 0)
    return in.fail(q_heads.place, std::to_string(q_heads.value), "a multiple of 'kv_num_heads'");
  constexpr std::int64_t kMostTokens = 256;
  const Dim batch = in.shape(q)[0], tokens = in.shape(q)[1];
  if (!tokens.is_number() || tokens > kMostTokens || tokens < 1)
    return in.unsupported("input 'query'", to_string(tokens) + " tokens", "1 to 256: each becomes nodes of its own");
  const auto heads_of = [&](ValueId x, const Number& heads, const std::string& name) {
    return by_heads(in, in.cast(x, DType::f32, name + ".f32"), heads, name);
  };
  Recurrence r{.q = heads_of(q, q_heads, "query"),
               .k = heads_of(k, kv_heads, "key"),
               .v = heads_of(v, kv_heads, "value"),
               .tokens = tokens.example(),
               .times = q_heads / kv_heads};
  if (in.failed()) return {};
  const Dim size = in.shape(r.k)[3], value_size = in.shape(r.v)[3];
  // One number for all heads, one for each, or one for each column of each.
  const auto factors_of = [&](ValueId x, const std::string& name) {
    const bool has_columns = in.rank(x) == 3 && in.shape(x)[2] == kv_heads.value * size && size != 1;
    const Number heads = in.rank(x) == 3 && is_one(in.shape(x)[2]) ? Number(1) : kv_heads;
    if (!has_columns && (in.rank(x) != 3 || in.shape(x)[2] != heads.value))
      return in.fail("input '" + name + "'", in.shape(x).to_string(), "one number for each head");
    return heads_of(x, heads, name);
  };
  if (has_decay) r.decay = in.unary({.kind = U::exp}, factors_of(decay, "decay"), "factors");
  if (has_beta) r.beta = factors_of(beta, "beta");
  r.q = scaled(in, r.q, scale != 0.0f ? scale : attention_scale(size.fixed()), "scaled");
  const Extents state_dims{batch, kv_heads.value, size, value_size};
  if (past.exists()) r.state = in.cast(past, DType::f32, "past");
  else r.state = expand(in, in.constant(Tensor::scalar(0.0f), "zero"), state_dims, "no_past");
  if (in.failed()) return {};
  if (in.shape(r.state) != OpenShape(state_dims))
    return in.fail("input 'past_state'", in.shape(past).to_string(), OpenShape(state_dims).to_string());
  const ValueId found = unrolled(in, r);
  if (in.wants(1)) in.output(1, in.cast(r.state, in.dtype(past.exists() ? past : q), "present"));
  const ValueId moved = transpose(in, found, Integers{0, 2, 1, 3}, "moved");
  if (in.failed()) return {};
  return in.cast(in.reshape(moved, {batch, tokens, q_heads.value * value_size}, "columns"), in.dtype(q), "value");
}

// ---- states ----

// A depthwise convolution over the state and what follows it; the end of both is the next state.
ValueId read_causal_conv(NodeReader& in) {
  const ValueId x = in.value(0, "input"), w = in.value(1, "weight"), bias = in.optional(2, "bias");
  const ValueId past = in.optional(3, "past_state");
  const std::string activation = in.text("activation", "none");
  in.require_rank(x, 3, 3);
  in.require_rank(w, 3, 3);
  if (activation != "none" && activation != "silu" && activation != "swish")
    in.fail("attribute 'activation'", "'" + activation + "'", "'none', 'silu' or 'swish'");
  if (in.failed()) return {};
  const Dim channels = in.shape(x)[1], state = in.shape(w)[2] - 1;
  if (state < 0) return in.fail("input 'weight'", "shape " + in.shape(w).to_string(), "at least one tap");
  const ValueId padded = past.exists()
                             ? concat(in, {past, x}, 2, "padded")
                             : pad(in, {.x = x, .begin = Extents{state}, .end = Integers{0}, .axes = {2}}, "padded");
  if (in.failed()) return {};
  if (in.wants(1))
    in.output(1, slice(in, padded, 2, Range{.start = in.shape(padded)[2] - state, .size = state}, "present"));
  const ConvArgs args{.x = padded, .w = w, .bias = bias, .groups = channels.fixed()};
  if (activation == "none") return conv(in, args);
  return in.unary({.kind = U::silu}, conv(in, args, "sum"));
}

// Updates come one after the other along an axis, from an index of each sequence on.
ValueId read_tensor_scatter(NodeReader& in) {
  const ValueId cache = in.value(0, "past_cache"), update = in.value(1, "update"),
                first = in.optional(2, "write_indices");
  const std::int64_t axis = in.axis(in.integer("axis", -2), in.rank(cache));
  const std::string mode = in.text("mode", "linear");
  const bool is_circular = mode == "circular";
  if (!is_circular && mode != "linear") in.fail("attribute 'mode'", "'" + mode + "'", "'linear' or 'circular'");
  in.require_rank(update, in.rank(cache), in.rank(cache));
  if (in.failed()) return {};
  if (axis == 0) return in.fail("attribute 'axis'", "0", "another axis than that of the batch");
  const OpenShape shape = in.shape(update);
  ValueId indices = positions_along(in, shape, axis, "positions");
  if (first.exists()) {
    Extents dims(static_cast<std::size_t>(shape.rank()), 1);
    dims[0] = in.shape(first).elements();
    indices =
        in.binary(B::add, indices, in.reshape(in.cast(first, DType::s64, "first"), dims, "first.along"), "indices");
  }
  if (is_circular) {
    const Dim size = in.shape(cache)[static_cast<int>(axis)];
    indices = in.binary(B::mod, indices, in.reshape(in.extents({size}, "size"), {}, "size.scalar"), "inside");
  }
  return in.add(kScatterElements, ScatterElementsAttrs{.axis = axis},
                {cache, expand(in, indices, shape.to_vector(), "all_indices"), update});
}

constexpr Operator kDecodingTable[] = {
    {"Attention", 23, 3, 7, read_decoding_attention},
    {"CausalConvWithState", 27, 2, 4, read_causal_conv},
    {"LinearAttention", 27, 3, 6, read_linear_attention},
    {"TensorScatter", 24, 2, 3, read_tensor_scatter},
};

}  // namespace

const std::span<const Operator> kDecoding = kDecodingTable;

}  // namespace octavo::onnx_import
