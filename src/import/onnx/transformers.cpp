// ONNX readers: what files fuse around attention. Part of import/.
#include "import/onnx/operators.h"
#include "ops/gather/gather.h"
#include "ops/where/where.h"

namespace octavo::onnx_import {
namespace {

using B = BinaryKind;

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

// Tables of EmbedLayerNormalization in both forms, and what is looked up in them.
struct Embedding {
  ValueId ids, segments, mask, position_ids;  // all but the first may be left out
  ValueId words, positions, kinds;            // kinds where there are segments
  ValueId gamma, beta;
};

ValueId embedded(NodeReader& in, const Embedding& e) {
  const float epsilon = in.number("epsilon", 1e-12f);
  in.require_rank(e.ids, 2, 2);
  in.require_rank(e.words, 2, 2);
  in.require_rank(e.positions, 2, 2);
  if (!in.failed() && e.segments.exists() != e.kinds.exists())
    return in.fail("input 'segment_embedding'", e.kinds.exists() ? "one" : "none", "one where there are 'segment_ids'");
  if (in.failed()) return {};
  const OpenShape shape = in.shape(e.ids);
  ValueId sum = in.binary(B::add, in.add(kGather, GatherAttrs{.axis = 0}, {e.words, e.ids}, "words"),
                          embedded_positions(in, e.positions, e.position_ids, shape[1]), "words_and_positions");
  if (e.kinds.exists()) {
    const ValueId kinds = in.add(kGather, GatherAttrs{.axis = 0}, {e.kinds, e.segments}, "segments");
    sum = in.binary(B::add, sum, kinds, "embedded");
  }
  if (in.wants(1)) in.output(1, counted_tokens(in, e.mask, shape[0]));
  if (in.wants(2)) in.output(2, sum);
  return layer_norm(in, {sum, e.gamma, e.beta, epsilon}, 2);
}

ValueId read_embed_layer_norm(NodeReader& in) {
  in.ignore("mask_index_type");
  return embedded(in, {.ids = in.value(0, "input_ids"),
                       .segments = in.optional(1, "segment_ids"),
                       .mask = in.optional(7, "mask"),
                       .position_ids = in.optional(8, "position_ids"),
                       .words = in.value(2, "word_embedding"),
                       .positions = in.value(3, "position_embedding"),
                       .kinds = in.optional(4, "segment_embedding"),
                       .gamma = in.value(5, "gamma"),
                       .beta = in.value(6, "beta")});
}

// Data of tables, gamma and beta at inputs 2 to 6, their scales at 8 to 12, their zero points at 13 to 17.
ValueId read_quantized_embed_layer_norm(NodeReader& in) {
  const auto real = [&](int index, const std::string& name) {
    return in.has(index) ? dequantized_input(in, index, index + 6, index + 11, name) : ValueId{};
  };
  for (const int index : {2, 3, 5, 6}) {
    if (!in.has(index)) return in.fail("input " + std::to_string(index), "none", "a value");
  }
  return embedded(in, {.ids = in.value(0, "input_ids"),
                       .segments = in.optional(1, "segment_ids"),
                       .mask = in.optional(7, "mask"),
                       .position_ids = {},
                       .words = real(2, "word_embedding"),
                       .positions = real(3, "position_embedding"),
                       .kinds = real(4, "segment_embedding"),
                       .gamma = real(5, "gamma"),
                       .beta = real(6, "beta")});
}

constexpr Operator kTransformersTable[] = {
    {"RMSNormalization", 23, 2, 2, read_rms_norm},
    {"RotaryEmbedding", 23, 3, 4, read_rotary},
    {"SimplifiedLayerNormalization", 1, 2, 2, read_rms_norm},
    {"com.microsoft.EmbedLayerNormalization", 1, 7, 9, read_embed_layer_norm},
    {"com.microsoft.QEmbedLayerNormalization", 1, 18, 18, read_quantized_embed_layer_norm},
    {"com.microsoft.RotaryEmbedding", 1, 4, 4, read_microsoft_rotary},
    {"com.microsoft.SkipLayerNormalization", 1, 3, 5, read_skip_layer_norm},
    {"com.microsoft.SkipSimplifiedLayerNormalization", 1, 3, 4, read_skip_rms_norm},
};

}  // namespace

const std::span<const Operator> kTransformers = kTransformersTable;

void refuse_outputs(NodeReader& in, std::initializer_list<std::pair<int, std::string_view>> names,
                    std::string_view why) {
  for (const auto& [index, name] : names) {
    if (in.wants(index)) in.unsupported(quoted("output", name), "one", "none: " + std::string(why));
  }
}

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
