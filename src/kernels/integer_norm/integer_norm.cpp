// quantized_layer_norm, a line after the other. Part of kernels/.
#include "kernels/integer_norm/integer_norm.h"

#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/epilogue/parts.h"
#include "kernels/integer_norm/lines.h"
#include "kernels/integer_norm/norm_epilogue.h"
#include "ops/quantized_layer_norm/quantized_layer_norm.h"

namespace octavo {
namespace {

// A square root and two divisions stand between a line's sums and its results: those of several are on their way at
// the same time.
constexpr std::int64_t kLinesTogether = 8;

struct IntegerNormParams {
  QuantizedLayerNormAttrs attrs;
  NormLine line;
  NormResult result;
  NormEpilogue epilogue;
  std::int64_t x_bytes = 0, y_bytes = 0;  // of a line
  Chunks lines;
  const NormFunctions* functions;
};

void run_integer_norm(const IntegerNormParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange lines = params.lines.units_of(range);
  NormResult result = params.result;
  result.factor = reinterpret_cast<const float*>(buffers.inputs[params.epilogue.factor_input()]);
  result.shift = reinterpret_cast<const float*>(buffers.inputs[params.epilogue.shift_input()]);
  if (params.epilogue.table >= 0)
    result.table =
        reinterpret_cast<const std::uint8_t*>(buffers.inputs[static_cast<std::size_t>(params.epilogue.table)]);
  for (std::int64_t i = lines.begin; i < lines.end; i += kLinesTogether) {
    LineNorm norms[kLinesTogether];
    const std::int64_t count = std::min(kLinesTogether, lines.end - i);
    for (std::int64_t k = 0; k < count; ++k) {
      const NormSums sums = params.functions->sums(params.line, buffers.inputs[0] + (i + k) * params.x_bytes);
      norms[k] = LineNorm::of(params.attrs.is_centred, params.attrs.epsilon, sums.sum, sums.squares, params.line.n);
    }
    for (std::int64_t k = 0; k < count; ++k) {
      result.mean = norms[k].mean, result.inverse = norms[k].inverse;
      params.functions->finish(params.line, result, buffers.inputs[0] + (i + k) * params.x_bytes,
                               buffers.outputs[0] + (i + k) * params.y_bytes);
    }
  }
}

std::string refuse_integer_norm(const CallView& call) {
  const auto& attrs = call.attrs->as<QuantizedLayerNormAttrs>();
  const auto epilogue = NormEpilogue::of(attrs.epilogue);
  if (!epilogue) return "needs an epilogue of a scale and a shift, a rounding and a table";
  if (call.input(0).dtype == DType::s16 && attrs.x_zero_point != 0) return "needs s16 values without a zero point";
  const Shape& x = *call.input(0).shape;
  for (const std::size_t operand : {epilogue->factor_input(), epilogue->shift_input()}) {
    if (call.input(operand).elements() != x[x.rank() - 1]) return "needs a factor and a shift for each channel";
  }
  return {};
}

NormType type_of(DType dtype) {
  if (dtype == DType::s16) return NormType::s16;
  return dtype == DType::s8 ? NormType::s8 : NormType::u8;
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_integer_norm(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<QuantizedLayerNormAttrs>();
  const Shape& x = *call.input(0).shape;
  const std::int64_t n = x[x.rank() - 1];
  const auto line_bytes = [&](DType dtype) { return n * static_cast<std::int64_t>(size_of(dtype)); };
  IntegerNormParams params{.attrs = attrs,
                           .line = {type_of(call.input(0).dtype), attrs.x_zero_point, n},
                           .epilogue = *NormEpilogue::of(attrs.epilogue),
                           .x_bytes = line_bytes(call.input(0).dtype),
                           .y_bytes = line_bytes(call.output().dtype),
                           .functions = &CompiledFor<NormFunctions, isa>::table};
  if (params.epilogue.round != nullptr) params.result.round = row_round(*params.epilogue.round);
  params.result.to = attrs.epilogue.to == DType::f32   ? NormTo::f32
                     : attrs.epilogue.to == DType::s16 ? NormTo::s16
                                                       : NormTo::bytes;
  params.epilogue.round = nullptr;  // it points into attributes that may not outlive the step
  params.lines = Chunks::of(n == 0 ? 0 : x.elements() / n, 4 * params.x_bytes);
  const std::int64_t items = params.lines.items();
  return make_step(std::move(params), items, run_integer_norm);
}

// Nanoseconds per element.
template <Isa isa>
double integer_norm_cost(const OpCall& call, const Machine&) {
  constexpr double per_element = by_width(isa, {4.0, 0.45, 0.25});
  return 100.0 + per_element * static_cast<double>(call.outputs[0].shape.elements());
}

template <Isa isa>
constexpr KernelChoice integer_norm_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "quantized_layer_norm",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_integer_norm, make_integer_norm<isa>>()},
          .refusal = refusal_by<refuse_integer_norm>,
          .cost = integer_norm_cost<isa>};
}

constexpr KernelChoice kIntegerNormChoices[] = {
    integer_norm_kernel<Isa::scalar>("norm_layer_q16_portable"),
    integer_norm_kernel<Isa::avx2>("norm_layer_q16_avx2"),
    integer_norm_kernel<Isa::avx512>("norm_layer_q16_avx512"),
    integer_norm_kernel<Isa::neon>("norm_layer_q16_neon"),
};
constexpr auto kIntegerNormCodes = codes_of(kIntegerNormChoices);

}  // namespace

std::span<const KernelCode> integer_norm_codes() { return kIntegerNormCodes; }
std::span<const KernelChoice> integer_norm_choices() { return kIntegerNormChoices; }

}  // namespace octavo
