// integer_resize by rows of the result. Part of kernels/.
#include "kernels/call.h"
#include "kernels/resize/resize.h"
#include "ops/integer_resize/integer_resize.h"

namespace octavo {
namespace {

struct IntegerResizeParams {
  IntegerResizeAttrs attrs;
  ResizeRow row;  // without pointers and weight
  std::int64_t height = 1, from_height = 1;
};

std::string refuse_integer_resize(const CallView&) { return {}; }

void run_integer_resize(const IntegerResizeParams& params, const StepBuffers& buffers, ItemRange lines) {
  ResizeRow row = params.row;
  const auto* rows = reinterpret_cast<const std::int32_t*>(buffers.inputs[1]);
  row.columns = reinterpret_cast<const std::int32_t*>(buffers.inputs[3]);
  row.column_weights = reinterpret_cast<const float*>(buffers.inputs[4]);
  const auto element = static_cast<std::int64_t>(size_of(row.dtype));
  const std::int64_t stride = row.from_width * row.channels * element;
  for (std::int64_t line = lines.begin; line < lines.end; ++line) {
    const std::int64_t oh = line % params.height;
    const std::byte* image = buffers.inputs[0] + line / params.height * params.from_height * stride;
    row.first = image + std::clamp<std::int64_t>(rows[2 * oh], 0, params.from_height - 1) * stride;
    row.second = image + std::clamp<std::int64_t>(rows[2 * oh + 1], 0, params.from_height - 1) * stride;
    row.weight = reinterpret_cast<const float*>(buffers.inputs[2])[oh];
    resize_row(params.attrs, row, buffers.outputs[0] + line * row.width * row.channels * element);
  }
}

Result<std::unique_ptr<Step>> make_integer_resize(const CallView& call, const StepSpec&) {
  const Shape& from = *call.input(0).shape;
  const Shape& to = *call.output().shape;
  const IntegerResizeParams params{
      .attrs = call.attrs->as<IntegerResizeAttrs>(),
      .row = {.from_width = from[2], .width = to[2], .channels = from[3], .dtype = call.input(0).dtype},
      .height = to[1],
      .from_height = from[1]};
  return make_step(params, call.output().elements() == 0 ? 0 : to[0] * to[1], run_integer_resize);
}

double integer_resize_cost(const OpCall& call, const Machine&) {
  return 100.0 + 8.0 * static_cast<double>(call.outputs[0].shape.elements());
}

constexpr KernelChoice kIntegerResizeChoices[] = {
    {.code = {.name = "integer_resize_portable",
              .op = "integer_resize",
              .prepare = prepare_by<refuse_integer_resize, make_integer_resize>},
     .refusal = refusal_by<refuse_integer_resize>,
     .cost = integer_resize_cost}};
constexpr auto kIntegerResizeCodes = codes_of(kIntegerResizeChoices);

}  // namespace

std::span<const KernelCode> integer_resize_codes() { return kIntegerResizeCodes; }
std::span<const KernelChoice> integer_resize_choices() { return kIntegerResizeChoices; }

}  // namespace octavo
