// concat, gather, gather_elements and gather_nd: rows of one tensor after rows of another, or rows and elements picked
// by run-time indices. Part of kernels/.
#include <cstring>

#include "kernels/move/move.h"
#include "kernels/move/separable.h"
#include "ops/concat/concat.h"
#include "ops/gather/gather.h"
#include "ops/gather_elements/gather_elements.h"
#include "ops/gather_nd/gather_nd.h"

namespace octavo {
namespace {

std::string refuse_arrange_nothing(const CallView&) { return {}; }

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

// Indices of 32 or 64 bits along an axis; what lies outside is clamped.
struct Indices {
  std::int64_t axis_size = 0;
  bool has_64_bits = false;

  std::int64_t at(const std::byte* indices, std::int64_t i) const {
    const std::int64_t index = has_64_bits ? reinterpret_cast<const std::int64_t*>(indices)[i]
                                           : reinterpret_cast<const std::int32_t*>(indices)[i];
    return std::clamp<std::int64_t>(index < 0 ? index + axis_size : index, 0, axis_size - 1);
  }
};

// y[outer, i, inner] = x[outer, indices[i], inner].
struct GatherParams {
  Indices indices;
  std::int64_t count = 0;  // of indices
  std::size_t row_bytes = 0;
  Chunks chunks;  // of (outer, i) pairs
};

void run_gather(const GatherParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    const std::int64_t row =
        unit / params.count * params.indices.axis_size + params.indices.at(buffers.inputs[1], unit % params.count);
    copy_bytes(buffers.inputs[0] + static_cast<std::size_t>(row) * params.row_bytes,
               buffers.outputs[0] + static_cast<std::size_t>(unit) * params.row_bytes, params.row_bytes);
  }
}

Result<std::unique_ptr<Step>> make_gather(const CallView& call, const StepSpec&) {
  const Shape& x = *call.input(0).shape;
  const int axis = *normalize_axis(call.attrs->as<GatherAttrs>().axis, x.rank());
  GatherParams params{
      .indices = {x[axis], call.input(1).dtype == DType::s64},
      .count = call.input(1).elements(),
      .row_bytes = static_cast<std::size_t>(x.elements(axis + 1, x.rank())) * size_of(call.input(0).dtype)};
  const std::int64_t rows = call.output().elements() == 0 ? 0 : x.elements(0, axis) * params.count;
  params.chunks = Chunks::of(rows, static_cast<std::int64_t>(params.row_bytes));
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_gather);
}

// Rows of y, along its last axis: element j of a row that begins at x + start is x[start + index * stride + j * step].
struct GatherElementsParams {
  Indices indices;
  std::size_t element_bytes = 0;
  std::int64_t row = 0, stride = 1, step = 1;
  std::vector<std::int64_t> sizes, strides;  // y's leading axes and x's strides along them, 0 along the axis
  Chunks chunks;                             // of rows

  std::int64_t start_of(std::int64_t unit) const {
    std::int64_t start = 0;
    for (std::size_t i = sizes.size(); i-- > 0;) {
      start += unit % sizes[i] * strides[i];
      unit /= sizes[i];
    }
    return start;
  }
};

// `kBytes` of an element, known to the compiler; 0: any.
template <std::size_t kBytes>
void gather_row(const GatherElementsParams& params, const StepBuffers& buffers, std::int64_t unit) {
  const std::size_t bytes = kBytes != 0 ? kBytes : params.element_bytes;
  const std::byte* x = buffers.inputs[0] + static_cast<std::size_t>(params.start_of(unit)) * bytes;
  std::byte* y = buffers.outputs[0] + static_cast<std::size_t>(unit * params.row) * bytes;
  for (std::int64_t j = 0; j < params.row; ++j) {
    const std::int64_t from =
        params.indices.at(buffers.inputs[1], unit * params.row + j) * params.stride + j * params.step;
    std::memcpy(y + static_cast<std::size_t>(j) * bytes, x + static_cast<std::size_t>(from) * bytes, bytes);
  }
}

void run_gather_elements(const GatherElementsParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  const auto row = params.element_bytes == 4   ? &gather_row<4>
                   : params.element_bytes == 8 ? &gather_row<8>
                                               : &gather_row<0>;
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) row(params, buffers, unit);
}

Result<std::unique_ptr<Step>> make_gather_elements(const CallView& call, const StepSpec&) {
  const Shape &x = *call.input(0).shape, &y = *call.output().shape;
  const int axis = *normalize_axis(call.attrs->as<GatherElementsAttrs>().axis, x.rank()), last = x.rank() - 1;
  GatherElementsParams params{.indices = {x[axis], call.input(1).dtype == DType::s64},
                              .element_bytes = size_of(call.input(0).dtype),
                              .row = y[last],
                              .stride = x.elements(axis + 1, x.rank()),
                              .step = axis == last ? 0 : 1};
  for (int i = 0; i < last; ++i) {
    params.sizes.push_back(y[i]);
    params.strides.push_back(i == axis ? 0 : x.elements(i + 1, x.rank()));
  }
  params.chunks = Chunks::of(y.elements() == 0 ? 0 : y.elements(0, last), 4 * params.row);
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_gather_elements);
}

// Rows of y, each by a list of indices of x.
struct GatherNdParams {
  std::vector<Indices> indices;  // of each axis that is indexed
  std::int64_t picks = 1;        // rows of a batch
  std::size_t row_bytes = 0;
  Chunks chunks;  // of rows
};

void run_gather_nd(const GatherNdParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    std::int64_t from = unit / params.picks, element = unit * static_cast<std::int64_t>(params.indices.size());
    for (const Indices& axis : params.indices) from = from * axis.axis_size + axis.at(buffers.inputs[1], element++);
    copy_bytes(buffers.inputs[0] + static_cast<std::size_t>(from) * params.row_bytes,
               buffers.outputs[0] + static_cast<std::size_t>(unit) * params.row_bytes, params.row_bytes);
  }
}

Result<std::unique_ptr<Step>> make_gather_nd(const CallView& call, const StepSpec&) {
  const Shape &x = *call.input(0).shape, &indices = *call.input(1).shape;
  const auto first = static_cast<int>(call.attrs->as<GatherNdAttrs>().batch_dims);
  const int last = indices.rank() - 1, depth = static_cast<int>(indices[last]);
  GatherNdParams params{
      .picks = indices.elements(first, last),
      .row_bytes = static_cast<std::size_t>(x.elements(first + depth, x.rank())) * size_of(call.input(0).dtype)};
  for (int axis = first; axis < first + depth; ++axis)
    params.indices.push_back({x[axis], call.input(1).dtype == DType::s64});
  const std::int64_t rows = call.output().elements() == 0 ? 0 : indices.elements(0, last);
  params.chunks = Chunks::of(rows, static_cast<std::int64_t>(params.row_bytes));
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_gather_nd);
}

double gather_elements_cost(const OpCall& call, const Machine&) {
  return 100.0 + 2.0 * static_cast<double>(call.outputs[0].shape.elements());
}

double arrange_cost(const OpCall& call, const Machine&) { return 100.0 + 0.15 * view_of(call).bytes(); }
// Of what is gathered from, a vocabulary for example, no more is read than is written.
double gather_cost(const OpCall& call, const Machine&) {
  return 100.0 + 0.3 * static_cast<double>(view_of(call).output().bytes());
}

constexpr KernelChoice kArrangeChoices[] = {
    {.code = {.name = "concat_copy_portable",
              .op = "concat",
              .prepare = prepare_by<refuse_arrange_nothing, make_concat>},
     .refusal = refusal_by<refuse_arrange_nothing>,
     .cost = arrange_cost},
    {.code = {.name = "gather_copy_portable",
              .op = "gather",
              .prepare = prepare_by<refuse_arrange_nothing, make_gather>},
     .refusal = refusal_by<refuse_arrange_nothing>,
     .cost = gather_cost},
    {.code = {.name = "gather_elements_copy_portable",
              .op = "gather_elements",
              .prepare = prepare_by<refuse_arrange_nothing, make_gather_elements>},
     .refusal = refusal_by<refuse_arrange_nothing>,
     .cost = gather_elements_cost},
    {.code = {.name = "gather_nd_copy_portable",
              .op = "gather_nd",
              .prepare = prepare_by<refuse_arrange_nothing, make_gather_nd>},
     .refusal = refusal_by<refuse_arrange_nothing>,
     .cost = gather_cost},
};
constexpr auto kArrangeCodes = codes_of(kArrangeChoices);

}  // namespace

std::span<const KernelCode> arrange_codes() { return kArrangeCodes; }
std::span<const KernelChoice> arrange_choices() { return kArrangeChoices; }

}  // namespace octavo
