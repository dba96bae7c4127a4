// quantize and dequantize as rows that share a scale, or whose elements have one each. Part of kernels/.
#include "kernels/quantize/quantize.h"

#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/quantize/rows.h"
#include "ops/dequantize/dequantize.h"
#include "ops/quantize/quantize.h"

namespace octavo {
namespace {

struct QuantizeParams {
  QuantizeRow row;
  std::int64_t rows = 1;      // each with a scale of its own; 1: chunks are elements of it
  std::int64_t channels = 1;  // row r has scale r % channels
  Chunks chunks;
  const QuantizeFunctions* functions;
  bool dequantizes = false;
  bool is_s16 = false;  // then there is one scale
};

void run_quantize_s16(const QuantizeParams& params, const StepBuffers& buffers, ItemRange units) {
  QuantizeS16 row{.n = units.end - units.begin,
                  .scale = *reinterpret_cast<const float*>(buffers.inputs[1]),
                  .multiplies = params.row.multiplies,
                  .lowest = params.row.lowest,
                  .highest = params.row.highest};
  if (buffers.inputs.size() > 2 && buffers.inputs[2] != nullptr)
    row.zero_point = *reinterpret_cast<const std::int16_t*>(buffers.inputs[2]);
  const std::int64_t first = units.begin;
  if (params.dequantizes) {
    params.functions->dequantize_s16(row, reinterpret_cast<const std::int16_t*>(buffers.inputs[0]) + first,
                                     reinterpret_cast<float*>(buffers.outputs[0]) + first);
  } else {
    params.functions->quantize_s16(row, reinterpret_cast<const float*>(buffers.inputs[0]) + first,
                                   reinterpret_cast<std::int16_t*>(buffers.outputs[0]) + first);
  }
}

// The part of a row that starts at element `first` of the tensor.
void run_quantize_row(const QuantizeParams& params, const QuantizeRow& row, const StepBuffers& buffers,
                      std::int64_t first) {
  if (params.dequantizes) {
    params.functions->dequantize(row, reinterpret_cast<const std::uint8_t*>(buffers.inputs[0]) + first,
                                 reinterpret_cast<float*>(buffers.outputs[0]) + first);
  } else {
    params.functions->quantize(row, reinterpret_cast<const float*>(buffers.inputs[0]) + first,
                               reinterpret_cast<std::uint8_t*>(buffers.outputs[0]) + first);
  }
}

void run_quantize(const QuantizeParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  if (params.is_s16) return run_quantize_s16(params, buffers, units);
  QuantizeRow row = params.row;
  const auto* scales = reinterpret_cast<const float*>(buffers.inputs[1]);
  const auto* zero_points =
      buffers.inputs.size() > 2 ? reinterpret_cast<const std::uint8_t*>(buffers.inputs[2]) : nullptr;
  row.scale = scales;
  row.zero_point = zero_points;
  if (params.rows == 1 && row.step == 0) {
    row.n = units.end - units.begin;
    run_quantize_row(params, row, buffers, units.begin);
    return;
  }
  for (std::int64_t r = units.begin; r < units.end; ++r) {
    row.scale = scales + r % params.channels;
    if (zero_points != nullptr) row.zero_point = zero_points + r % params.channels;
    run_quantize_row(params, row, buffers, r * row.n);
  }
}

struct ScalesOf {
  std::int64_t axis = -1;
  std::int64_t block = 0;
};

std::string refuse_types(const CallView& call, DType real, DType quantized, ScalesOf scales) {
  if (real != DType::f32 || !(is_8bit(quantized) || quantized == DType::s16))
    return "needs f32 on one side and 8 bits or s16 on the other";
  if (quantized == DType::s16 && call.input(1).elements() != 1) return "needs one scale for s16";
  if (call.input(1).dtype != DType::f32) return "needs f32 scales";
  if (scales.block != 0) return "has no blocks of scales";
  return {};
}
// Rounds halves away from 0, the profiles of TFLite's own kernels.
void quantize_away(const QuantizeRow& args, const float* real, std::uint8_t* q) {
  const QuantizeRow row = args;
  for (std::int64_t i = 0; i < row.n; ++i) {
    const std::int64_t at = i * row.step;
    const std::uint8_t stored = row.zero_point == nullptr ? 0 : row.zero_point[at];
    const std::int32_t zero_point =
        row.is_signed ? static_cast<std::int32_t>(static_cast<std::int8_t>(stored)) : static_cast<std::int32_t>(stored);
    q[i] = static_cast<std::uint8_t>(quantize_value_away(real[i], row.scale[at], zero_point, row.lowest, row.highest));
  }
}
constexpr QuantizeFunctions kQuantizeAway{.quantize = &quantize_away,
                                          .dequantize = nullptr,
                                          .quantize_s16 = nullptr,
                                          .dequantize_s16 = nullptr,
                                          .range = nullptr,
                                          .multiply = nullptr,
                                          .range_s16 = nullptr,
                                          .requantize = nullptr};

std::string refuse_quantize(const CallView& call) {
  const auto& attrs = call.attrs->as<QuantizeAttrs>();
  if (rounds_away(attrs.profile)) return "rounds halves to even, not away from 0";
  return refuse_types(call, call.input(0).dtype, call.output().dtype, {attrs.axis, attrs.block});
}
std::string refuse_quantize_away(const CallView& call) {
  const auto& attrs = call.attrs->as<QuantizeAttrs>();
  if (!rounds_away(attrs.profile)) return "rounds halves away from 0, not to even";
  if (attrs.to == DType::s16) return "needs 8 bits";
  return refuse_types(call, call.input(0).dtype, call.output().dtype, {attrs.axis, attrs.block});
}
std::string refuse_dequantize(const CallView& call) {
  const auto& attrs = call.attrs->as<DequantizeAttrs>();
  return refuse_types(call, call.output().dtype, call.input(0).dtype, {attrs.axis, attrs.block});
}

std::unique_ptr<Step> make_quantize_rows(const CallView& call, QuantizeParams params, std::int64_t axis) {
  const Shape& shape = *call.output().shape;
  const std::int64_t count = shape.elements();
  if (axis < 0 || call.input(1).elements() == 1) {
    params.row.n = count;
    params.chunks = Chunks::of(count, 4);
  } else if (const std::int64_t inner = shape.elements(static_cast<int>(axis) + 1, shape.rank()); inner == 1) {
    params.row.step = 1;
    params.row.n = shape[static_cast<int>(axis)];
    params.rows = params.row.n == 0 ? 0 : count / params.row.n;
    params.chunks = Chunks::of(params.rows, 4 * params.row.n);
  } else {
    params.channels = shape[static_cast<int>(axis)];
    params.row.n = inner;
    params.rows = inner == 0 ? 0 : count / inner;
    params.chunks = Chunks::of(params.rows, 4 * inner);
  }
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_quantize);
}

template <const QuantizeFunctions& functions>
Result<std::unique_ptr<Step>> make_quantize(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<QuantizeAttrs>();
  const bool is_whole_type = attrs.lowest == 0 && attrs.highest == 0;
  const IntegerRange range = is_whole_type ? range_of(attrs.to) : IntegerRange{attrs.lowest, attrs.highest};
  QuantizeParams params{.row = {.is_signed = attrs.to == DType::s8,
                                .multiplies = multiplies_by_inverse(attrs.profile),
                                .lowest = static_cast<std::int32_t>(range.lowest),
                                .highest = static_cast<std::int32_t>(range.highest)},
                        .functions = &functions,
                        .is_s16 = attrs.to == DType::s16};
  return make_quantize_rows(call, std::move(params), attrs.axis);
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_dequantize(const CallView& call, const StepSpec&) {
  QuantizeParams params{.row = {.is_signed = call.input(0).dtype == DType::s8},
                        .functions = &CompiledFor<QuantizeFunctions, isa>::table,
                        .dequantizes = true,
                        .is_s16 = call.input(0).dtype == DType::s16};
  return make_quantize_rows(call, std::move(params), call.attrs->as<DequantizeAttrs>().axis);
}

template <Isa isa>
double quantize_cost(const OpCall& call, const Machine&) {
  constexpr double per_element = by_width(isa, {4.0, 0.5, 0.35});
  return 50.0 + per_element * static_cast<double>(call.outputs[0].shape.elements());
}

template <Isa isa>
constexpr KernelChoice quantize_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "quantize",
                   .needs = isa,
                   .prepare =
                       prepare_on<isa, refuse_quantize, make_quantize<CompiledFor<QuantizeFunctions, isa>::table>>()},
          .refusal = refusal_by<refuse_quantize>,
          .cost = quantize_cost<isa>};
}
template <Isa isa>
constexpr KernelChoice dequantize_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "dequantize",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_dequantize, make_dequantize<isa>>()},
          .refusal = refusal_by<refuse_dequantize>,
          .cost = quantize_cost<isa>};
}

constexpr KernelChoice kQuantizeChoices[] = {
    {.code = {.name = "quantize_away_f32_portable",
              .op = "quantize",
              .prepare = prepare_by<refuse_quantize_away, make_quantize<kQuantizeAway>>},
     .refusal = refusal_by<refuse_quantize_away>,
     .cost = quantize_cost<Isa::scalar>},
    quantize_kernel<Isa::scalar>("quantize_f32_portable"),
    quantize_kernel<Isa::avx2>("quantize_f32_avx2"),
    quantize_kernel<Isa::avx512>("quantize_f32_avx512"),
    quantize_kernel<Isa::neon>("quantize_f32_neon"),
    dequantize_kernel<Isa::scalar>("dequantize_q8_portable"),
    dequantize_kernel<Isa::avx2>("dequantize_q8_avx2"),
    dequantize_kernel<Isa::avx512>("dequantize_q8_avx512"),
    dequantize_kernel<Isa::neon>("dequantize_q8_neon"),
};
constexpr auto kQuantizeCodes = codes_of(kQuantizeChoices);

}  // namespace

std::span<const KernelCode> quantize_codes() { return kQuantizeCodes; }
std::span<const KernelChoice> quantize_choices() { return kQuantizeChoices; }

}  // namespace octavo
