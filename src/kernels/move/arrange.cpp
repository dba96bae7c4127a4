// concat and gather: rows of one tensor after rows of another, or picked by run-time indices. Part of kernels/.
#include <cstring>

#include "kernels/move/move.h"
#include "kernels/move/separable.h"
#include "ops/concat/concat.h"
#include "ops/gather/gather.h"

namespace octavo {
namespace {

std::string refuse_nothing(const CallView&) { return {}; }

// A row of the result is one row of each input, in order.
struct ConcatParams {
  std::vector<std::size_t> row_bytes;
  std::size_t result_row_bytes = 0;
  Chunks chunks;  // of (row, input) pairs, inputs innermost
};

void run_concat(const ConcatParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  const std::size_t inputs = params.row_bytes.size();
  std::size_t row = static_cast<std::size_t>(units.begin) / inputs;
  std::size_t k = static_cast<std::size_t>(units.begin) % inputs;
  std::byte* to = buffers.outputs[0] + row * params.result_row_bytes;
  for (std::size_t i = 0; i < k; ++i) to += params.row_bytes[i];
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    const std::size_t bytes = params.row_bytes[k];
    if (bytes != 0) copy_bytes(buffers.inputs[k] + row * bytes, to, bytes);
    to += bytes;
    if (++k == inputs) k = 0, ++row;
  }
}

Result<std::unique_ptr<Step>> make_concat(const CallView& call, const StepSpec&) {
  const int axis = *normalize_axis(call.attrs->as<ConcatAttrs>().axis, call.output().shape->rank());
  ConcatParams params;
  for (const OperandType& input : call.inputs) {
    params.row_bytes.push_back(static_cast<std::size_t>(input.shape->elements(axis, input.shape->rank())) *
                               size_of(input.dtype));
    params.result_row_bytes += params.row_bytes.back();
  }
  const auto inputs = static_cast<std::int64_t>(params.row_bytes.size());
  const std::int64_t rows = call.output().elements() == 0 ? 0 : call.output().shape->elements(0, axis);
  params.chunks =
      Chunks::of(rows * inputs, static_cast<std::int64_t>(params.result_row_bytes) / std::max<std::int64_t>(1, inputs));
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_concat);
}

// y[outer, i, inner] = x[outer, indices[i], inner].
struct GatherParams {
  std::int64_t axis_size = 0;
  std::int64_t indices = 0;
  std::size_t row_bytes = 0;
  bool has_64_bit_indices = false;
  Chunks chunks;  // of (outer, i) pairs
};

std::int64_t index_at(const GatherParams& params, const std::byte* indices, std::int64_t i) {
  const std::int64_t index = params.has_64_bit_indices ? reinterpret_cast<const std::int64_t*>(indices)[i]
                                                       : reinterpret_cast<const std::int32_t*>(indices)[i];
  return std::clamp<std::int64_t>(index < 0 ? index + params.axis_size : index, 0, params.axis_size - 1);
}

void run_gather(const GatherParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    const std::int64_t row =
        unit / params.indices * params.axis_size + index_at(params, buffers.inputs[1], unit % params.indices);
    copy_bytes(buffers.inputs[0] + static_cast<std::size_t>(row) * params.row_bytes,
               buffers.outputs[0] + static_cast<std::size_t>(unit) * params.row_bytes, params.row_bytes);
  }
}

Result<std::unique_ptr<Step>> make_gather(const CallView& call, const StepSpec&) {
  const Shape& x = *call.input(0).shape;
  const int axis = *normalize_axis(call.attrs->as<GatherAttrs>().axis, x.rank());
  GatherParams params{
      .axis_size = x[axis],
      .indices = call.input(1).elements(),
      .row_bytes = static_cast<std::size_t>(x.elements(axis + 1, x.rank())) * size_of(call.input(0).dtype),
      .has_64_bit_indices = call.input(1).dtype == DType::s64};
  const std::int64_t rows = call.output().elements() == 0 ? 0 : x.elements(0, axis) * params.indices;
  params.chunks = Chunks::of(rows, static_cast<std::int64_t>(params.row_bytes));
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_gather);
}

double cost(const OpCall& call, const Machine&) { return 100.0 + 0.15 * view_of(call).bytes(); }

constexpr KernelChoice kChoices[] = {
    {.code = {.name = "concat_copy_portable", .op = "concat", .prepare = prepare_by<refuse_nothing, make_concat>},
     .refusal = refusal_by<refuse_nothing>,
     .cost = cost},
    {.code = {.name = "gather_copy_portable", .op = "gather", .prepare = prepare_by<refuse_nothing, make_gather>},
     .refusal = refusal_by<refuse_nothing>,
     .cost = cost},
};
constexpr auto kCodes = codes_of(kChoices);

}  // namespace

std::span<const KernelCode> arrange_codes() { return kCodes; }
std::span<const KernelChoice> arrange_choices() { return kChoices; }

}  // namespace octavo
