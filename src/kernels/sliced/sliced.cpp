// Slices of the leading axes, each given to the operator's scalar code. Part of kernels/.
#include "kernels/sliced/sliced.h"

#include <array>

#include "kernels/call.h"
#include "ops/argmax/argmax.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/lrn/lrn.h"
#include "ops/softmax/softmax.h"

namespace octavo {
namespace {

constexpr std::size_t kMaxInputs = 5;

// The first operand and the result have `leading` independent axes, of `count` indices in all; the other operands are
// read whole.
struct SlicedParams {
  const OpSpec* spec;
  Attrs attrs;
  int leading = 0;
  std::int64_t x_slice_bytes = 0, y_slice_bytes = 0;
  std::vector<ConstTensorView> inputs;  // shapes of a slice with one index
  TensorView output;
  Chunks chunks;
};

void run_sliced(const SlicedParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange slices = params.chunks.units_of(range);
  // Copies of views with up to Shape::kInlineRank axes allocate nothing; others are refused.
  std::array<ConstTensorView, kMaxInputs> inputs;
  for (std::size_t i = 0; i < params.inputs.size(); ++i) {
    inputs[i] = params.inputs[i];
    inputs[i].data = buffers.inputs[i];
  }
  TensorView output = params.output;
  if (params.leading > 0) {
    inputs[0].shape[params.leading - 1] = slices.end - slices.begin;
    output.shape[params.leading - 1] = slices.end - slices.begin;
  }
  inputs[0].data += slices.begin * params.x_slice_bytes;
  output.data = buffers.outputs[0] + slices.begin * params.y_slice_bytes;
  params.spec->reference(params.attrs, {inputs.data(), params.inputs.size()}, {&output, 1});
}

// The shape with its leading axes merged into the last of them; the others become 1, so that axis numbers stay.
Shape merged(const Shape& shape, int leading) {
  Shape result = shape;
  for (int axis = 0; axis < leading; ++axis) result[axis] = 1;
  return result;
}

// `leading` axes are independent of each other.
Result<std::unique_ptr<Step>> make_sliced_along(const CallView& call, const StepSpec& spec, int leading) {
  const Shape& x = *call.input(0).shape;
  const Shape& y = *call.output().shape;
  SlicedParams params{.spec = spec.spec, .attrs = *spec.attrs, .leading = leading};
  for (const OperandType& input : call.inputs)
    params.inputs.push_back({.dtype = input.dtype, .shape = input.exists() ? *input.shape : Shape{}});
  params.inputs[0].shape = merged(x, leading);
  params.output = {.dtype = call.output().dtype, .shape = merged(y, leading)};
  params.x_slice_bytes = x.elements(leading, x.rank()) * static_cast<std::int64_t>(size_of(call.input(0).dtype));
  params.y_slice_bytes = y.elements(leading, y.rank()) * static_cast<std::int64_t>(size_of(call.output().dtype));
  const std::int64_t count = call.output().elements() == 0 ? 0 : x.elements(0, leading);
  // Scalar code: chunks of fewer bytes are worth a thread.
  params.chunks = Chunks::of(count, 8 * params.x_slice_bytes);
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_sliced);
}

template <int (*leading_of)(const CallView&)>
Result<std::unique_ptr<Step>> make_sliced(const CallView& call, const StepSpec& spec) {
  return make_sliced_along(call, spec, leading_of(call));
}

std::string refuse_sliced(const CallView& call) {
  for (const OperandType& input : call.inputs) {
    if (input.exists() && input.shape->rank() > Shape::kInlineRank) return "needs at most 8 axes";
  }
  return call.inputs.size() > kMaxInputs ? "needs at most 5 inputs" : "";
}

// Tables whose indices or entries have 16 bits.
std::string refuse_table(const CallView& call) {
  const bool is_of_bytes = is_8bit(call.input(0).dtype) && call.input(1).dtype != DType::s16;
  return is_of_bytes ? "takes no bytes from bytes, which have faster kernels" : refuse_sliced(call);
}
// Of operators whose f32 has kernels that are not scalar.
std::string refuse_f32(const CallView& call) {
  return call.input(0).dtype == DType::f32 ? "takes no f32, which has faster kernels" : refuse_sliced(call);
}

int all_axes(const CallView& call) { return call.input(0).shape->rank(); }
int all_but_last(const CallView& call) { return call.input(0).shape->rank() - 1; }
// Axes before the one that the attributes name.
template <class AttrsType>
int before_axis(const CallView& call) {
  const auto axis = static_cast<int>(call.attrs->as<AttrsType>().axis);
  return axis < 0 ? axis + call.input(0).shape->rank() : axis;
}

// Nanoseconds per element: what the scalar code takes.
template <int kNanoseconds>
double sliced_cost(const OpCall& call, const Machine&) {
  return 200.0 + kNanoseconds * static_cast<double>(call.inputs[0]->shape.elements());
}

template <int (*leading_of)(const CallView&), int kNanoseconds, Refuse refused = refuse_sliced>
constexpr KernelChoice sliced_kernel(std::string_view name, std::string_view op) {
  return {.code = {.name = name, .op = op, .prepare = prepare_by<refused, make_sliced<leading_of>>},
          .refusal = refusal_by<refused>,
          .cost = sliced_cost<kNanoseconds>};
}

constexpr KernelChoice kSlicedChoices[] = {
    sliced_kernel<before_axis<ArgmaxAttrs>, 8>("sliced_argmax_portable", "argmax"),
    sliced_kernel<before_axis<BatchNormAttrs>, 30>("sliced_batch_norm_portable", "batch_norm"),
    sliced_kernel<all_axes, 6>("sliced_cast_portable", "cast"),
    sliced_kernel<all_but_last, 12>("sliced_fixed_l2_norm_portable", "fixed_l2_norm"),
    sliced_kernel<before_axis<LayerNormAttrs>, 40, refuse_f32>("sliced_layer_norm_portable", "layer_norm"),
    sliced_kernel<before_axis<LrnAttrs>, 80, refuse_f32>("sliced_lrn_portable", "lrn"),
    sliced_kernel<all_but_last, 10>("sliced_quantized_softmax_portable", "quantized_softmax"),
    sliced_kernel<all_axes, 1>("sliced_s16_byte_portable", "s16_byte"),
    sliced_kernel<before_axis<SoftmaxAttrs>, 60, refuse_f32>("sliced_softmax_portable", "softmax"),
    sliced_kernel<all_axes, 2, refuse_table>("sliced_table_portable", "table"),
    sliced_kernel<all_axes, 40, refuse_f32>("sliced_unary_portable", "unary"),
};
constexpr auto kSlicedCodes = codes_of(kSlicedChoices);

}  // namespace

std::span<const KernelCode> sliced_codes() { return kSlicedCodes; }
std::span<const KernelChoice> sliced_choices() { return kSlicedChoices; }

}  // namespace octavo
