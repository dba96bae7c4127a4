// row_requantize: the range of each row of s16, then its values as bytes. Part of kernels/.
#include "ops/row_requantize/row_requantize.h"

#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/quantize/quantize.h"
#include "kernels/quantize/rows.h"

namespace octavo {
namespace {

struct RowRequantizeParams {
  RowValues values;
  Chunks rows;
  std::int64_t n = 0;  // of a row
  bool has_factors = false;
  const QuantizeFunctions* functions = nullptr;
};

RunScale scale_of(const RowRequantizeParams& params, const std::int16_t* x, const float* factors) {
  if (factors != nullptr) {
    const ValueRange range = params.functions->range_of_products(x, factors, params.n);
    return RunScale::of(DynamicForm::xnnpack, range.lowest, range.highest);
  }
  const RangeS16 range = params.functions->range_s16(x, params.n);
  return row_scale(params.values, static_cast<float>(range.lowest), static_cast<float>(range.highest));
}

void run_row_requantize(const RowRequantizeParams& params, const StepBuffers& buffers, ItemRange items) {
  const ItemRange rows = params.rows.units_of(items);
  RequantizeRow row{.n = params.n, .x_scale = params.values.x_scale};
  if (params.values.is_gelu) row.gelu = &params.values.gelu;
  if (params.has_factors) row.factors = reinterpret_cast<const float*>(buffers.inputs[kRowFactor]);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const auto* x = reinterpret_cast<const std::int16_t*>(buffers.inputs[0]) + r * params.n;
    const RunScale scale = scale_of(params, x, row.factors);
    row.factor = scale.inverse;
    row.zero_point = scale.zero_point;
    params.functions->requantize(row, x, reinterpret_cast<std::uint8_t*>(buffers.outputs[0]) + r * params.n);
    reinterpret_cast<float*>(buffers.outputs[1])[r] = scale.scale;
    buffers.outputs[2][r] = static_cast<std::byte>(scale.zero_point);
  }
}

std::string refuse_row_requantize_nothing(const CallView&) { return {}; }

template <Isa isa>
Result<std::unique_ptr<Step>> make_row_requantize(const CallView& call, const StepSpec&) {
  const Shape& x = *call.input(0).shape;
  const std::int64_t rows = call.outputs[1].elements(), n = x[x.rank() - 1];
  const auto& attrs = call.attrs->as<RowRequantizeAttrs>();
  const RowRequantizeParams params{.values = attrs.values(),
                                   .rows = Chunks::of(rows, n * 4),
                                   .n = n,
                                   .has_factors = call.input(kRowFactor).exists(),
                                   .functions = &CompiledFor<QuantizeFunctions, isa>::table};
  return make_step(params, params.rows.items(), run_row_requantize);
}

// Nanoseconds: GELU is a polynomial of degree 7.
template <Isa isa>
double row_requantize_cost(const OpCall& call, const Machine&) {
  constexpr double per_element = by_width(isa, {8.0, 0.7, 0.25}), per_row = 20.0;
  return 50.0 + per_row * static_cast<double>(call.outputs[1].shape.elements()) +
         per_element * static_cast<double>(call.inputs[0]->shape.elements());
}

template <Isa isa>
constexpr KernelChoice row_requantize_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "row_requantize",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_row_requantize_nothing, make_row_requantize<isa>>()},
          .refusal = refusal_by<refuse_row_requantize_nothing>,
          .cost = row_requantize_cost<isa>};
}

constexpr KernelChoice kRowRequantizeChoices[] = {
    row_requantize_kernel<Isa::scalar>("row_requantize_s16_portable"),
    row_requantize_kernel<Isa::avx2>("row_requantize_s16_avx2"),
    row_requantize_kernel<Isa::avx512>("row_requantize_s16_avx512"),
    row_requantize_kernel<Isa::neon>("row_requantize_s16_neon"),
};
constexpr auto kRowRequantizeCodes = codes_of(kRowRequantizeChoices);

}  // namespace

std::span<const KernelCode> row_requantize_codes() { return kRowRequantizeCodes; }
std::span<const KernelChoice> row_requantize_choices() { return kRowRequantizeChoices; }

}  // namespace octavo
