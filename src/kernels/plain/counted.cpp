// Operators whose results' extents depend on data: their scalar code, in memory of the thread's scratch. Part of
// kernels/.
#include <array>

#include "kernels/call.h"
#include "kernels/plain/plain.h"
#include "ops/compress/compress.h"
#include "ops/dynamic_slice/dynamic_slice.h"
#include "ops/non_max_suppression/non_max_suppression.h"
#include "ops/nonzero/nonzero.h"
#include "ops/unique/unique.h"

namespace octavo {
namespace {

constexpr std::size_t kMostOperands = 6;

using Code = void (*)(const Attrs& attrs, InputViews inputs, OutputViews outputs, std::int64_t* scratch);

struct CountedParams {
  Attrs attrs;
  std::vector<ConstTensorView> inputs;
  std::vector<TensorView> outputs;
  Code code;
};

void run_counted(const CountedParams& params, const StepBuffers& buffers, ItemRange) {
  // Copies of views with up to Shape::kInlineRank axes allocate nothing; others are refused.
  std::array<ConstTensorView, kMostOperands> inputs;
  std::array<TensorView, kMostOperands> outputs;
  for (std::size_t i = 0; i < params.inputs.size(); ++i) {
    inputs[i] = params.inputs[i];
    inputs[i].data = buffers.inputs[i];
  }
  for (std::size_t i = 0; i < params.outputs.size(); ++i) {
    outputs[i] = params.outputs[i];
    outputs[i].data = buffers.outputs[i];
  }
  params.code(params.attrs, {inputs.data(), params.inputs.size()}, {outputs.data(), params.outputs.size()},
              reinterpret_cast<std::int64_t*>(buffers.scratch));
}

std::string refuse_counted(const CallView& call) {
  for (const OperandType& input : call.inputs) {
    if (input.exists() && input.shape->rank() > Shape::kInlineRank) return "needs at most 8 axes";
  }
  return call.inputs.size() > kMostOperands || call.outputs.size() > kMostOperands ? "needs at most 6 operands" : "";
}

template <Code code, std::int64_t (*scratch)(const CallView&)>
Result<std::unique_ptr<Step>> make_counted(const CallView& call, const StepSpec&) {
  CountedParams params{.attrs = *call.attrs, .inputs = {}, .outputs = {}, .code = code};
  for (const OperandType& input : call.inputs)
    params.inputs.push_back({.dtype = input.dtype, .shape = input.exists() ? *input.shape : Shape{}});
  for (const OperandType& output : call.outputs)
    params.outputs.push_back({.dtype = output.dtype, .shape = *output.shape});
  return make_step(std::move(params), 1, run_counted, static_cast<std::size_t>(scratch(call)) * sizeof(std::int64_t));
}

std::int64_t no_scratch(const CallView&) { return 0; }
std::int64_t scratch_of_boxes(const CallView& call) { return kSuppressionScratch * (*call.input(0).shape)[1]; }
std::int64_t scratch_of_slices(const CallView& call) { return unique_scratch(call.outputs[2].elements()); }

void run_compress(const Attrs& attrs, InputViews inputs, OutputViews outputs, std::int64_t*) {
  compress(attrs.as<CompressAttrs>(), inputs, outputs);
}
void run_slice(const Attrs& attrs, InputViews inputs, OutputViews outputs, std::int64_t*) {
  slice_dynamically(attrs.as<DynamicSliceAttrs>(), inputs, outputs);
}
void run_nonzero(const Attrs&, InputViews inputs, OutputViews outputs, std::int64_t*) {
  find_nonzero(inputs[0], outputs);
}
void run_suppression(const Attrs& attrs, InputViews inputs, OutputViews outputs, std::int64_t* scratch) {
  suppress_boxes(attrs.as<NonMaxSuppressionAttrs>(), inputs, outputs, scratch);
}
void run_unique(const Attrs& attrs, InputViews inputs, OutputViews outputs, std::int64_t* scratch) {
  find_unique(attrs.as<UniqueAttrs>(), inputs[0], outputs, scratch);
}

// Nanoseconds per element of the largest input: what the scalar code takes.
template <int kNanoseconds>
double counted_cost(const OpCall& call, const Machine&) {
  double elements = 0;
  for (const Fact* input : call.inputs)
    elements = std::max(elements, input == nullptr ? 0.0 : static_cast<double>(input->shape.elements()));
  return 200.0 + kNanoseconds * elements;
}

template <Code code, std::int64_t (*scratch)(const CallView&), int kNanoseconds>
constexpr KernelChoice counted_kernel(std::string_view name, std::string_view op) {
  return {.code = {.name = name, .op = op, .prepare = prepare_by<refuse_counted, make_counted<code, scratch>>},
          .refusal = refusal_by<refuse_counted>,
          .cost = counted_cost<kNanoseconds>};
}

constexpr KernelChoice kCountedChoices[] = {
    counted_kernel<run_compress, no_scratch, 1>("plain_compress_portable", "compress"),
    counted_kernel<run_slice, no_scratch, 1>("plain_dynamic_slice_portable", "dynamic_slice"),
    counted_kernel<run_suppression, scratch_of_boxes, 20>("plain_non_max_suppression_portable", "non_max_suppression"),
    counted_kernel<run_nonzero, no_scratch, 2>("plain_nonzero_portable", "nonzero"),
    counted_kernel<run_unique, scratch_of_slices, 60>("plain_unique_portable", "unique"),
};
constexpr auto kCountedCodes = codes_of(kCountedChoices);

}  // namespace

std::span<const KernelCode> counted_codes() { return kCountedCodes; }
std::span<const KernelChoice> counted_choices() { return kCountedChoices; }

}  // namespace octavo
