// quantize and dequantize of every type, by blocks and with halves as scales, too: the operators' scalar code, cut by
// elements. Part of kernels/.
#include <array>

#include "kernels/call.h"
#include "kernels/quantize/quantize.h"
#include "ops/dequantize/dequantize.h"
#include "ops/quantize/quantize.h"

namespace octavo {
namespace {

constexpr std::size_t kOperands = 3;  // x, scale, zero point

template <class OpAttrs>
struct QuantizeAnyParams {
  OpAttrs attrs;
  std::array<ConstTensorView, kOperands> inputs;
  TensorView output;
  Chunks chunks;  // of elements
};

template <class OpAttrs, auto convert>
void run_quantize_any(const QuantizeAnyParams<OpAttrs>& params, const StepBuffers& buffers, ItemRange range) {
  // Copies of views with up to Shape::kInlineRank axes allocate nothing; others are refused.
  std::array<ConstTensorView, kOperands> inputs = params.inputs;
  for (std::size_t i = 0; i < std::min(kOperands, buffers.inputs.size()); ++i) inputs[i].data = buffers.inputs[i];
  TensorView output = params.output;
  output.data = buffers.outputs[0];
  const ItemRange elements = params.chunks.units_of(range);
  convert(params.attrs, inputs, output, elements.begin, elements.end);
}

std::string refuse_quantize_any(const CallView& call) {
  for (const OperandType& input : call.inputs) {
    if (input.exists() && input.shape->rank() > Shape::kInlineRank) return "needs at most 8 axes";
  }
  return {};
}

template <class OpAttrs, auto convert>
Result<std::unique_ptr<Step>> make_quantize_any(const CallView& call, const StepSpec&) {
  QuantizeAnyParams<OpAttrs> params{.attrs = call.attrs->as<OpAttrs>()};
  for (std::size_t i = 0; i < kOperands; ++i) {
    const OperandType input = call.input(i);
    params.inputs[i] = {.dtype = input.dtype, .shape = input.exists() ? *input.shape : Shape{}};
  }
  params.output = {.dtype = call.output().dtype, .shape = *call.output().shape};
  params.chunks = Chunks::of(call.output().elements(), 32);
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_quantize_any<OpAttrs, convert>);
}

double quantize_any_cost(const OpCall& call, const Machine&) {
  return 200.0 + 25.0 * static_cast<double>(call.outputs[0].shape.elements());
}

template <class OpAttrs, auto convert>
constexpr KernelChoice quantize_any_kernel(std::string_view name, std::string_view op) {
  return {
      .code = {.name = name, .op = op, .prepare = prepare_by<refuse_quantize_any, make_quantize_any<OpAttrs, convert>>},
      .refusal = refusal_by<refuse_quantize_any>,
      .cost = quantize_any_cost};
}

constexpr KernelChoice kQuantizeAnyChoices[] = {
    quantize_any_kernel<QuantizeAttrs, quantize_elements>("quantize_any_portable", "quantize"),
    quantize_any_kernel<DequantizeAttrs, dequantize_elements>("dequantize_any_portable", "dequantize"),
};
constexpr auto kQuantizeAnyCodes = codes_of(kQuantizeAnyChoices);

}  // namespace

std::span<const KernelCode> quantize_any_codes() { return kQuantizeAnyCodes; }
std::span<const KernelChoice> quantize_any_choices() { return kQuantizeAnyChoices; }

}  // namespace octavo
