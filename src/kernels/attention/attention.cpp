// Attention: which rows of which head an item is, and where its operands lie. Part of kernels/.
#include "kernels/attention/attention.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/attention_mask.h"
#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "ops/attention/attention.h"

namespace octavo {
namespace {

constexpr float kAttentionInfinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t kItemRows = 4 * kAttentionRows;  // of one head

struct AttentionParams {
  AttentionAttrs attrs;
  std::int64_t images = 1, queries = 0, keys = 0;
  std::int64_t q_columns = 0, k_columns = 0, v_columns = 0;
  bool has_mask = false, mask_is_boolean = false;
  AttentionMaskLayout mask;
  const AttentionFunctions* functions = nullptr;

  std::int64_t padded_keys() const { return in_panels(keys); }
  std::int64_t key_floats() const { return padded_keys() * attrs.head_size; }
  std::int64_t value_floats() const { return in_panels(attrs.value_size) * keys; }
  std::int64_t row_floats() const { return kAttentionRows * padded_keys(); }
  std::int64_t scratch_floats() const { return key_floats() + value_floats() + 2 * row_floats(); }
  std::int64_t blocks() const { return (queries + kItemRows - 1) / kItemRows; }
};

// One thread's buffers and what lies in them.
class Worker {
 public:
  Worker(const AttentionParams& params, const StepBuffers& buffers)
      : p_(params),
        buffers_(buffers),
        keys_(reinterpret_cast<float*>(buffers.scratch)),
        values_(keys_ + params.key_floats()),
        scores_(values_ + params.value_floats()),
        mask_(scores_ + params.row_floats()) {}

  void run(std::int64_t item) {
    const std::int64_t block = item % p_.blocks();
    const std::int64_t head = item / p_.blocks() % p_.attrs.heads;
    const std::int64_t image = item / p_.blocks() / p_.attrs.heads;
    pack(image, head / (p_.attrs.heads / p_.attrs.kv_heads));
    const std::int64_t end = std::min(p_.queries, (block + 1) * kItemRows);
    for (std::int64_t query = block * kItemRows; query < end; query += kAttentionRows)
      attend(image, head, query, std::min(kAttentionRows, end - query));
  }

 private:
  const float* input(std::size_t i) const { return reinterpret_cast<const float*>(buffers_.inputs[i]); }

  // Neighbouring items mostly have the same keys and values.
  void pack(std::int64_t image, std::int64_t group) {
    const std::int64_t number = image * p_.attrs.kv_heads + group;
    if (number == packed_) return;
    packed_ = number;
    const AttentionAttrs& a = p_.attrs;
    p_.functions->pack_keys({.x = input(1) + image * p_.keys * p_.k_columns + a.k_first + group * a.head_size,
                             .stride = p_.k_columns,
                             .rows = p_.keys,
                             .columns = a.head_size},
                            keys_);
    p_.functions->pack_values({.x = input(2) + image * p_.keys * p_.v_columns + a.v_first + group * a.value_size,
                               .stride = p_.v_columns,
                               .rows = p_.keys,
                               .columns = a.value_size},
                              values_);
  }

  // What is added to a row of scores.
  void make_mask_row(std::int64_t offset, std::int64_t query, float* to) const {
    const std::int64_t step = p_.mask.key_stride;
    if (!p_.has_mask) {
      std::fill_n(to, p_.keys, 0.0f);
    } else if (p_.mask_is_boolean) {
      const auto* kept = reinterpret_cast<const std::uint8_t*>(buffers_.inputs[kAttentionMask]) + offset;
      for (std::int64_t j = 0; j < p_.keys; ++j) to[j] = kept[j * step] != 0 ? 0.0f : -kAttentionInfinity;
    } else {
      const float* added = input(kAttentionMask) + offset;
      for (std::int64_t j = 0; j < p_.keys; ++j) to[j] = added[j * step];
    }
    if (p_.attrs.is_causal && query + 1 < p_.keys) {
      for (std::int64_t j = query + 1; j < p_.keys; ++j) to[j] -= kAttentionInfinity;
    }
    std::fill(to + p_.keys, to + p_.padded_keys(), -kAttentionInfinity);
  }

  bool has_one_mask_for_all_queries() const { return p_.mask.query_stride == 0 && !p_.attrs.is_causal; }

  void make_mask(std::int64_t image, std::int64_t head, std::int64_t query, std::int64_t rows) {
    if (has_one_mask_for_all_queries()) {
      const std::int64_t offset = p_.mask.row(image, head, 0);
      if (offset == masked_) return;
      masked_ = offset;
      return make_mask_row(offset, 0, mask_);
    }
    for (std::int64_t r = 0; r < rows; ++r)
      make_mask_row(p_.mask.row(image, head, query + r), query + r, mask_ + r * p_.padded_keys());
  }

  void attend(std::int64_t image, std::int64_t head, std::int64_t query, std::int64_t rows) {
    const AttentionAttrs& a = p_.attrs;
    make_mask(image, head, query, rows);
    const std::int64_t row = image * p_.queries + query;
    const std::int64_t y_columns = a.heads * a.value_size;
    p_.functions->rows({.q = input(0) + row * p_.q_columns + a.q_first + head * a.head_size,
                        .q_stride = p_.q_columns,
                        .rows = rows,
                        .keys = p_.keys,
                        .head_size = a.head_size,
                        .value_size = a.value_size,
                        .scale = a.scale,
                        .packed_keys = keys_,
                        .packed_values = values_,
                        .mask = mask_,
                        .mask_stride = has_one_mask_for_all_queries() ? 0 : p_.padded_keys(),
                        .scores = scores_,
                        .y = reinterpret_cast<float*>(buffers_.outputs[0]) + row * y_columns + head * a.value_size,
                        .y_stride = y_columns});
  }

  const AttentionParams& p_;
  const StepBuffers& buffers_;
  float *keys_, *values_, *scores_, *mask_;
  std::int64_t packed_ = -1;  // image and group of the packed keys
  std::int64_t masked_ = -1;  // offset of the mask row that is made
};

void run_attention(const AttentionParams& params, const StepBuffers& buffers, ItemRange range) {
  Worker worker(params, buffers);
  for (std::int64_t item = range.begin; item < range.end; ++item) worker.run(item);
}

AttentionParams attention_params_of(const CallView& call) {
  const auto& attrs = call.attrs->as<AttentionAttrs>();
  const auto sizes = AttentionSizes::of(*call.input(0).shape, *call.input(1).shape);
  const auto columns = [&](std::size_t i) {
    const Shape& shape = *call.input(i).shape;
    return shape[shape.rank() - 1];
  };
  const OperandType mask = call.input(kAttentionMask);
  return {
      .attrs = attrs,
      .images = sizes.batch.elements(),
      .queries = sizes.queries,
      .keys = sizes.keys,
      .q_columns = columns(0),
      .k_columns = columns(1),
      .v_columns = columns(2),
      .has_mask = mask.exists(),
      .mask_is_boolean = mask.dtype == DType::boolean,
      .mask = mask.exists() ? AttentionMaskLayout::of(*mask.shape, Shape(sizes.scores(attrs))) : AttentionMaskLayout{}};
}

std::string refuse_attention(const CallView& call) {
  constexpr std::int64_t kMostFloats = std::int64_t{1} << 28;
  const auto& attrs = call.attrs->as<AttentionAttrs>();
  const std::int64_t keys = AttentionSizes::of(*call.input(0).shape, *call.input(1).shape).keys;
  const std::int64_t columns = in_panels(attrs.head_size) + in_panels(attrs.value_size) + 2 * kAttentionRows;
  return in_panels(keys) > kMostFloats / columns ? "needs a head whose keys and values fit 1 GiB" : "";
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_attention(const CallView& call, const StepSpec&) {
  AttentionParams params = attention_params_of(call);
  params.functions = &CompiledFor<AttentionFunctions, isa>::table;
  const std::int64_t items = call.output().elements() == 0 ? 0 : params.images * params.attrs.heads * params.blocks();
  const auto scratch = static_cast<std::size_t>(params.scratch_floats()) * sizeof(float);
  return make_step(std::move(params), items, run_attention, scratch);
}

// Nanoseconds of a thousand products, and of a score's exponential and what goes with it.
template <int kProducts, int kScore>
double attention_cost(const OpCall& call, const Machine&) {
  const AttentionParams params = attention_params_of(view_of(call));
  const double scores =
      static_cast<double>(params.images * params.attrs.heads * params.queries) * static_cast<double>(params.keys);
  const auto products = static_cast<double>(params.attrs.head_size + params.attrs.value_size);
  return 500.0 + scores * (products * kProducts + kScore) / 1000.0;
}

template <Isa isa, int kProducts, int kScore>
constexpr KernelChoice attention_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "attention",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_attention, make_attention<isa>>()},
          .refusal = refusal_by<refuse_attention>,
          .cost = attention_cost<kProducts, kScore>};
}

constexpr KernelChoice kAttentionChoices[] = {
    attention_kernel<Isa::scalar, 1500, 12000>("attention_f32_portable"),
    attention_kernel<Isa::avx2, 45, 1500>("attention_f32_avx2"),
    attention_kernel<Isa::avx512, 25, 800>("attention_f32_avx512"),
    attention_kernel<Isa::neon, 90, 3000>("attention_f32_neon"),
};
constexpr auto kAttentionCodes = codes_of(kAttentionChoices);

}  // namespace

std::span<const KernelCode> attention_codes() { return kAttentionCodes; }
std::span<const KernelChoice> attention_choices() { return kAttentionChoices; }

}  // namespace octavo
