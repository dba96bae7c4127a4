// dynamic_quantize: the range of each row, then its values. Part of kernels/.
#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/quantize/quantize.h"
#include "kernels/quantize/rows.h"
#include "ops/dynamic_quantize/dynamic_quantize.h"
#include "ops/row_quantize/row_quantize.h"

namespace octavo {
namespace {

struct QuantizeDynamicParams {
  DynamicForm form = DynamicForm::onnx;
  float least_scale = 0.0f;
  Chunks rows;
  std::int64_t n = 0;  // of a row
  const QuantizeFunctions* functions = nullptr;
};

void quantize_row(const QuantizeDynamicParams& params, const RunScale& scale, const float* x, std::uint8_t* y) {
  switch (params.form) {
    case DynamicForm::xnnpack: break;  // run has all of its rows at once
    case DynamicForm::pt2e:
    case DynamicForm::pt2e_symmetric:
    case DynamicForm::pt2e_token: return params.functions->multiply(x, params.n, scale.inverse, scale.zero_point, y);
    case DynamicForm::onnx: {
      const auto zero_point = static_cast<std::uint8_t>(scale.zero_point);
      return params.functions->quantize({.n = params.n, .scale = &scale.scale, .zero_point = &zero_point}, x, y);
    }
    case DynamicForm::tflite:
    case DynamicForm::tflite_symmetric:
      return params.functions->multiply_away(x, params.n, scale.inverse, scale.zero_point, y);
  }
}

void run_quantize_dynamic(const QuantizeDynamicParams& params, const StepBuffers& buffers, ItemRange items) {
  const ItemRange rows = params.rows.units_of(items);
  if (params.form == DynamicForm::xnnpack)
    return params.functions->xnnpack_rows(
        {.rows = rows.end - rows.begin,
         .n = params.n,
         .real = reinterpret_cast<const float*>(buffers.inputs[0]) + rows.begin * params.n,
         .q = reinterpret_cast<std::uint8_t*>(buffers.outputs[0]) + rows.begin * params.n,
         .scales = reinterpret_cast<float*>(buffers.outputs[1]) + rows.begin,
         .zero_points = reinterpret_cast<std::uint8_t*>(buffers.outputs[2]) + rows.begin});
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const float* x = reinterpret_cast<const float*>(buffers.inputs[0]) + row * params.n;
    const ValueRange range = params.functions->range(x, params.n);
    const RunScale scale = RunScale::of(params.form, range.lowest, range.highest, params.least_scale);
    quantize_row(params, scale, x, reinterpret_cast<std::uint8_t*>(buffers.outputs[0]) + row * params.n);
    reinterpret_cast<float*>(buffers.outputs[1])[row] = scale.scale;
    buffers.outputs[2][row] = static_cast<std::byte>(scale.zero_point);
  }
}

// The form of ONNX and one row of all is what dynamic_quantize does.
RowQuantizeAttrs attrs_of(const Attrs& attrs) {
  return attrs.is<RowQuantizeAttrs>() ? attrs.as<RowQuantizeAttrs>() : RowQuantizeAttrs{};
}

std::string refuse_quantize_dynamic_nothing(const CallView&) { return {}; }

template <Isa isa>
Result<std::unique_ptr<Step>> make_quantize_dynamic(const CallView& call, const StepSpec&) {
  const RowQuantizeAttrs attrs = attrs_of(*call.attrs);
  const Shape& x = *call.input(0).shape;
  const std::int64_t rows = call.outputs[1].elements(), n = x.elements(static_cast<int>(attrs.axis), x.rank());
  const QuantizeDynamicParams params{.form = attrs.form,
                                     .least_scale = attrs.least_scale,
                                     .rows = Chunks::of(rows, n * static_cast<std::int64_t>(sizeof(float))),
                                     .n = n,
                                     .functions = &CompiledFor<QuantizeFunctions, isa>::table};
  return make_step(params, params.rows.items(), run_quantize_dynamic);
}

template <Isa isa>
double quantize_dynamic_cost(const OpCall& call, const Machine&) {
  constexpr double per_element = by_width(isa, {5.0, 0.5, 0.35}), per_row = 20.0;
  return 50.0 + per_row * static_cast<double>(call.outputs[1].shape.elements()) +
         per_element * static_cast<double>(call.inputs[0]->shape.elements());
}

template <Isa isa>
constexpr KernelChoice quantize_dynamic_kernel(std::string_view name, std::string_view op) {
  return {.code = {.name = name,
                   .op = op,
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_quantize_dynamic_nothing, make_quantize_dynamic<isa>>()},
          .refusal = refusal_by<refuse_quantize_dynamic_nothing>,
          .cost = quantize_dynamic_cost<isa>};
}

constexpr KernelChoice kQuantizeDynamicChoices[] = {
    quantize_dynamic_kernel<Isa::scalar>("dynamic_quantize_f32_portable", "dynamic_quantize"),
    quantize_dynamic_kernel<Isa::avx2>("dynamic_quantize_f32_avx2", "dynamic_quantize"),
    quantize_dynamic_kernel<Isa::avx512>("dynamic_quantize_f32_avx512", "dynamic_quantize"),
    quantize_dynamic_kernel<Isa::neon>("dynamic_quantize_f32_neon", "dynamic_quantize"),
    quantize_dynamic_kernel<Isa::scalar>("row_quantize_f32_portable", "row_quantize"),
    quantize_dynamic_kernel<Isa::avx2>("row_quantize_f32_avx2", "row_quantize"),
    quantize_dynamic_kernel<Isa::avx512>("row_quantize_f32_avx512", "row_quantize"),
    quantize_dynamic_kernel<Isa::neon>("row_quantize_f32_neon", "row_quantize"),
};
constexpr auto kQuantizeDynamicCodes = codes_of(kQuantizeDynamicChoices);

}  // namespace

std::span<const KernelCode> dynamic_quantize_codes() { return kQuantizeDynamicCodes; }
std::span<const KernelChoice> dynamic_quantize_choices() { return kQuantizeDynamicChoices; }

}  // namespace octavo
