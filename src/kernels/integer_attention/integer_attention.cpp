// quantized_attention: a head after the other, some of its queries an item. Part of kernels/.
#include "kernels/integer_attention/integer_attention.h"

#include "kernels/attention_mask.h"
#include "kernels/cache_line.h"
#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/epilogue/parts.h"
#include "kernels/integer_attention/head.h"
#include "kernels/integer_attention/head_epilogue.h"
#include "kernels/jit/code.h"
#include "ops/quantized_attention/quantized_attention.h"

namespace octavo {
namespace {

struct IntegerAttentionParams {
  QuantizedAttentionAttrs attrs;
  bool is_signed[3] = {};        // of q, k and v
  std::int64_t columns[3] = {};  // of the whole tensors
  std::int64_t queries = 0, keys = 0, chunks = 1;
  Affine affine;
  bool is_real = false;  // f32 results, else bytes
  RowRound round;
  bool has_mask = false;
  DType mask_type = DType::f32;
  AttentionMaskLayout mask;
  const HeadFunctions* functions;
  const LookupFunctions* lookup;
};

// ---- scratch ----

struct IntegerAttentionScratchSizes {
  std::int64_t keys, values, queries, key_terms, scores, weights, wide, sums;  // bytes
  std::int64_t total() const { return keys + values + queries + key_terms + scores + weights + wide + sums; }
};
IntegerAttentionScratchSizes integer_attention_scratch_sizes(const IntegerAttentionParams& p) {
  const HeadFunctions& functions = *p.functions;
  const std::int64_t keys = functions.padded_keys(p.keys), rows = functions.rows;
  const std::int64_t depth = functions.depth(p.attrs.heads.head_size);
  const bool is_wide = functions.per_lane == 2;
  return {.keys = whole_lines(keys * depth * 4),
          .values = whole_lines(functions.padded_values(p.attrs.heads.value_size) * keys / functions.per_lane * 4),
          .queries = whole_lines(kMostQueries * depth * 4),
          .key_terms = is_wide ? 0 : whole_lines(keys * 4),
          .scores = whole_lines(rows * keys * 4),
          .weights = whole_lines(rows * keys),
          .wide = is_wide ? whole_lines(rows * keys * 2) : 0,
          .sums = functions.tile_depth > 0 ? whole_lines(rows * 256) : 0};
}

HeadScratch integer_attention_place(std::byte* scratch, const IntegerAttentionScratchSizes& sizes) {
  const auto take = [&](std::int64_t bytes) {
    std::byte* part = scratch;
    scratch += bytes;
    return part;
  };
  HeadScratch parts;
  parts.keys = reinterpret_cast<std::int32_t*>(take(sizes.keys));
  parts.values = reinterpret_cast<std::int32_t*>(take(sizes.values));
  parts.queries = reinterpret_cast<std::int32_t*>(take(sizes.queries));
  parts.key_terms = reinterpret_cast<std::int32_t*>(take(sizes.key_terms));
  parts.scores = reinterpret_cast<std::int32_t*>(take(sizes.scores));
  parts.weights = reinterpret_cast<std::uint8_t*>(take(sizes.weights));
  parts.wide = reinterpret_cast<std::int16_t*>(take(sizes.wide));
  parts.sums = reinterpret_cast<std::int32_t*>(take(sizes.sums));
  return parts;
}

// ---- a run ----

HeadRows integer_attention_rows_of(const IntegerAttentionParams& p, const StepBuffers& buffers, std::size_t operand,
                                   std::int64_t row, std::int64_t column) {
  const std::int32_t zero_points[] = {p.attrs.q_zero_point, p.attrs.k_zero_point, p.attrs.v_zero_point};
  return {.first = reinterpret_cast<const std::uint8_t*>(buffers.inputs[operand]) + row * p.columns[operand] + column,
          .stride = p.columns[operand],
          .is_signed = p.is_signed[operand],
          .zero_point = zero_points[operand]};
}

HeadMask mask_of(const IntegerAttentionParams& p, const StepBuffers& buffers, std::int64_t image, std::int64_t head,
                 std::int64_t query) {
  if (!p.has_mask) return {};
  const std::int64_t first = p.mask.row(image, head, query);
  const std::byte* mask = buffers.inputs[kAttentionMask];
  HeadMask found{.query_stride = p.mask.query_stride, .key_stride = p.mask.key_stride};
  if (p.mask_type == DType::f32) found.added = reinterpret_cast<const float*>(mask) + first;
  else found.shown = reinterpret_cast<const std::uint8_t*>(mask) + first;
  return found;
}

void run_integer_attention(const IntegerAttentionParams& p, const StepBuffers& buffers, ItemRange range) {
  const AttentionAttrs& heads = p.attrs.heads;
  const std::int64_t y_columns = heads.heads * heads.value_size;
  const std::int64_t y_bytes = p.is_real ? sizeof(float) : 1;  // per element
  HeadCall call{.keys = p.keys,
                .head_size = heads.head_size,
                .value_size = heads.value_size,
                .is_causal = heads.is_causal,
                .multiplier = p.attrs.multiplier,
                .steps = p.attrs.steps,
                .table = reinterpret_cast<const std::uint8_t*>(buffers.inputs[kAttentionTable]),
                .lookup = p.lookup,
                .factor = p.affine.multiplier,
                .offset = p.affine.offset,
                .round = p.round,
                .is_real = p.is_real,
                .y_stride = y_columns * y_bytes,
                .scratch = integer_attention_place(buffers.scratch, integer_attention_scratch_sizes(p))};
  // Of all images' groups: neighbouring items mostly have the same keys and values.
  std::int64_t packed = -1;
  if (p.functions->begin != nullptr) p.functions->begin(call);
  for (std::int64_t item = range.begin; item < range.end; ++item) {
    const std::int64_t query = item % p.chunks * kMostQueries, head = item / p.chunks % heads.heads;
    const std::int64_t image = item / p.chunks / heads.heads, group = head / (heads.heads / heads.kv_heads);
    call.is_packed = packed == image * heads.kv_heads + group;
    packed = image * heads.kv_heads + group;
    call.first_query = query;
    call.queries = std::min(kMostQueries, p.queries - query);
    call.q =
        integer_attention_rows_of(p, buffers, 0, image * p.queries + query, heads.q_first + head * heads.head_size);
    call.k = integer_attention_rows_of(p, buffers, 1, image * p.keys, heads.k_first + group * heads.head_size);
    call.v = integer_attention_rows_of(p, buffers, 2, image * p.keys, heads.v_first + group * heads.value_size);
    call.mask = mask_of(p, buffers, image, head, query);
    call.y = buffers.outputs[0] + ((image * p.queries + query) * y_columns + head * heads.value_size) * y_bytes;
    p.functions->run(call);
  }
  if (p.functions->end != nullptr) p.functions->end();
}

// ---- calls ----

AttentionSizes integer_attention_sizes_of(const CallView& call) {
  return AttentionSizes::of(*call.input(0).shape, *call.input(1).shape);
}

std::string refuse_integer_attention(const CallView& call) {
  const auto& attrs = call.attrs->as<QuantizedAttentionAttrs>();
  if (!HeadEpilogue::of(attrs.epilogue))
    return "needs an epilogue of a factor, with a rounding to bytes or f32 results";
  if (integer_attention_sizes_of(call).batch.elements() > std::int64_t{1} << 20) return "needs at most 2^20 images";
  return {};
}

Result<std::unique_ptr<Step>> make_integer_attention(const CallView& call, const HeadFunctions& functions) {
  const auto& attrs = call.attrs->as<QuantizedAttentionAttrs>();
  const AttentionSizes sizes = integer_attention_sizes_of(call);
  const HeadEpilogue epilogue = *HeadEpilogue::of(attrs.epilogue);
  IntegerAttentionParams params{.attrs = attrs,
                                .queries = sizes.queries,
                                .keys = sizes.keys,
                                .affine = *epilogue.affine,
                                .is_real = epilogue.round == nullptr,
                                .functions = &functions,
                                .lookup = functions.lanes == 16  ? &lookup_of_avx512()
                                          : functions.lanes == 8 ? &lookup_of_8_lanes()
                                                                 : &CompiledFor<LookupFunctions, Isa::scalar>::table};
  if (!params.is_real) params.round = row_round(*epilogue.round);
  params.chunks = (params.queries + kMostQueries - 1) / kMostQueries;
  for (std::size_t i = 0; i < 3; ++i) {
    const OperandType operand = call.input(i);
    params.is_signed[i] = operand.dtype == DType::s8;
    params.columns[i] = (*operand.shape)[operand.shape->rank() - 1];
  }
  if (const OperandType mask = call.input(kAttentionMask); mask.exists()) {
    params.has_mask = true;
    params.mask_type = mask.dtype;
    params.mask = AttentionMaskLayout::of(*mask.shape, Shape(sizes.scores(attrs.heads)));
  }
  const std::int64_t images = sizes.batch.elements();
  const std::int64_t items = call.output().elements() == 0 ? 0 : images * attrs.heads.heads * params.chunks;
  const auto scratch = static_cast<std::size_t>(integer_attention_scratch_sizes(params).total());
  return make_step(std::move(params), items, run_integer_attention, scratch);
}

// Nanoseconds: two products, and what becomes of each score.
struct Rates {
  double mac, score;
};

constexpr Rates rates_of(Isa isa) {
  switch (isa) {
    case Isa::scalar: return {0.5, 4.0};
    case Isa::avx2: return {0.013, 0.6};
    case Isa::neon: return {0.05, 1.2};
    case Isa::dotprod: return {0.015, 1.2};
    case Isa::avxvnni: return {0.007, 0.6};
    case Isa::avx512: return {0.008, 0.2};
    case Isa::amx_int8: return {0.002, 0.2};
    default: return {0.004, 0.2};
  }
}

template <Isa isa>
double integer_attention_cost(const OpCall& call, const Machine&) {
  constexpr Rates kRates = rates_of(isa);
  const AttentionAttrs& heads = call.attrs->as<QuantizedAttentionAttrs>().heads;
  const Shape &q = call.inputs[0]->shape, &k = call.inputs[1]->shape;
  const double scores = static_cast<double>(q.elements(0, q.rank() - 1)) * static_cast<double>(heads.heads) *
                        static_cast<double>(k[k.rank() - 2]);
  const double macs = scores * static_cast<double>(heads.head_size + heads.value_size);
  return 500.0 + macs * kRates.mac + scores * kRates.score;
}

// `evex`: the same for processors without the VEX encoding of AVX-VNNI.
template <const HeadFunctions& functions, const HeadFunctions& evex>
Result<std::unique_ptr<Step>> make_integer_attention_encoded(const CallView& call, const StepSpec&) {
  return make_integer_attention(call, has_vex_vnni() ? functions : evex);
}

template <Isa isa, const HeadFunctions& evex = CompiledFor<HeadFunctions, isa>::table>
constexpr KernelChoice integer_attention_kernel(std::string_view name) {
  return {
      .code = {.name = name,
               .op = "quantized_attention",
               .needs = isa,
               .prepare = prepare_on<isa, refuse_integer_attention,
                                     make_integer_attention_encoded<CompiledFor<HeadFunctions, isa>::table, evex>>()},
      .refusal = refusal_by<refuse_integer_attention>,
      .cost = integer_attention_cost<isa>};
}

constexpr KernelChoice kIntegerAttentionChoices[] = {
    integer_attention_kernel<Isa::scalar>("attention_q8_portable"),
    integer_attention_kernel<Isa::avx2>("attention_q8_4x16_avx2"),
    integer_attention_kernel<Isa::avxvnni, kHeadEvexVnni>("attention_q8_4x16_avxvnni"),
    integer_attention_kernel<Isa::avx512>("attention_q8_8x32_avx512"),
    integer_attention_kernel<Isa::neon>("attention_q8_4x16_neon"),
    integer_attention_kernel<Isa::dotprod>("attention_q8_4x16_dotprod"),
    integer_attention_kernel<Isa::avx512vnni>("attention_q8_8x32_avx512vnni"),
    integer_attention_kernel<Isa::amx_int8>("attention_q8_16x16_amx_int8"),
};
constexpr auto kIntegerAttentionCodes = codes_of(kIntegerAttentionChoices);

}  // namespace

std::span<const KernelCode> integer_attention_codes() { return kIntegerAttentionCodes; }
std::span<const KernelChoice> integer_attention_choices() { return kIntegerAttentionChoices; }

}  // namespace octavo
