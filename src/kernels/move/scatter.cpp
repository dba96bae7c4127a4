// scatter_elements and scatter_nd: parts of x are copied, then every update that lies in them is written, in order.
// Part of kernels/.
#include <cstring>

#include "kernels/call.h"
#include "kernels/move/move.h"
#include "ops/scatter_elements/scatter_elements.h"
#include "ops/scatter_nd/scatter_nd.h"

namespace octavo {
namespace {

std::string refuse_scatter_nothing(const CallView&) { return {}; }
int scatter_first_input(const OpCall&) { return 0; }

enum ScatterInput : std::size_t { kScatterX = 0, kScatterIndices = 1, kScatterUpdates = 2 };

// Slices [begin, end) of y become those of x, unless they lie in the same place already.
void copy_slices(const StepBuffers& buffers, ItemRange slices, std::int64_t slice_bytes) {
  if (buffers.inputs[kScatterX] == buffers.outputs[0]) return;
  std::memcpy(buffers.outputs[0] + slices.begin * slice_bytes, buffers.inputs[kScatterX] + slices.begin * slice_bytes,
              static_cast<std::size_t>((slices.end - slices.begin) * slice_bytes));
}

// ---- scatter_elements ----

struct ElementsParams {
  ScatterRow join;
  std::int64_t element_bytes = 1;
  bool has_64_bits = false;
  int axis = 0, last = 0;
  int split = 0;                             // y is cut into slices along its first axis of more than one index
  std::vector<std::int64_t> sizes, strides;  // of updates; of y, in elements
  std::int64_t axis_size = 0;
  std::int64_t rows = 0;  // of updates
  Chunks chunks;          // of slices
};

// Where a row of updates begins in y, along all axes but `axis`, and its index along `split`.
struct RowPlace {
  std::int64_t start = 0, slice = 0;
};
RowPlace place_of(const ElementsParams& p, std::int64_t row) {
  RowPlace place;
  for (int i = p.last; i-- > 0;) {
    const auto k = static_cast<std::size_t>(i);
    const std::int64_t index = row % p.sizes[k];
    row /= p.sizes[k];
    if (i == p.split) place.slice = index;
    if (i != p.axis) place.start += index * p.strides[k];
  }
  return place;
}

void run_elements(const ElementsParams& p, const StepBuffers& buffers, ItemRange range) {
  const ItemRange slices = p.chunks.units_of(range);
  const auto split = static_cast<std::size_t>(p.split), axis = static_cast<std::size_t>(p.axis);
  copy_slices(buffers, slices, p.strides[split] * p.element_bytes);
  const ScatterIndices indices{buffers.inputs[kScatterIndices], p.has_64_bits};
  const std::int64_t row_size = p.sizes[static_cast<std::size_t>(p.last)], step = p.axis == p.last ? 0 : 1;
  const bool rows_lie_in_slices = p.split != p.axis && p.split != p.last;
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const RowPlace place = place_of(p, row);
    if (rows_lie_in_slices && (place.slice < slices.begin || place.slice >= slices.end)) continue;
    for (std::int64_t j = 0; j < row_size; ++j) {
      const std::int64_t element = row * row_size + j, index = indices.at(element, p.axis_size);
      const std::int64_t slice = p.split == p.axis ? index : (p.split == p.last ? j : place.slice);
      if (index < 0 || slice < slices.begin || slice >= slices.end) continue;
      const std::int64_t to = place.start + index * p.strides[axis] + j * step;
      p.join(buffers.outputs[0] + to * p.element_bytes, buffers.inputs[kScatterUpdates] + element * p.element_bytes, 1);
    }
  }
}

Result<std::unique_ptr<Step>> make_elements(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<ScatterElementsAttrs>();
  const Shape &x = *call.input(kScatterX).shape, &updates = *call.input(kScatterUpdates).shape;
  ElementsParams params{.join = scatter_row(attrs.kind, call.input(kScatterX).dtype),
                        .element_bytes = static_cast<std::int64_t>(size_of(call.input(kScatterX).dtype)),
                        .has_64_bits = call.input(kScatterIndices).dtype == DType::s64,
                        .axis = static_cast<int>(attrs.axis),
                        .last = x.rank() - 1,
                        .sizes = {updates.begin(), updates.end()},
                        .strides = x.strides(),
                        .axis_size = x[static_cast<int>(attrs.axis)]};
  while (params.split < params.last && x[params.split] == 1) ++params.split;
  params.rows = updates.elements() == 0 ? 0 : updates.elements(0, params.last);
  const std::int64_t slice_bytes = x.elements(params.split + 1, x.rank()) * params.element_bytes;
  params.chunks = Chunks::of(x.elements() == 0 ? 0 : x[params.split], slice_bytes);
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_elements);
}

// ---- scatter_nd ----

struct SlicesParams {
  ScatterRow join;
  bool has_64_bits = false;
  std::vector<std::int64_t> sizes;  // of the axes that are indexed
  std::int64_t updates = 0;
  std::int64_t row = 0, row_bytes = 0;  // what one update covers
  Chunks chunks;                        // of rows of y
};

void run_slices(const SlicesParams& p, const StepBuffers& buffers, ItemRange range) {
  const ItemRange rows = p.chunks.units_of(range);
  copy_slices(buffers, rows, p.row_bytes);
  const ScatterIndices indices{buffers.inputs[kScatterIndices], p.has_64_bits};
  const auto depth = static_cast<std::int64_t>(p.sizes.size());
  for (std::int64_t i = 0; i < p.updates; ++i) {
    std::int64_t to = 0;
    bool is_inside = true;
    for (std::int64_t axis = 0; axis < depth; ++axis) {
      const std::int64_t size = p.sizes[static_cast<std::size_t>(axis)], index = indices.at(i * depth + axis, size);
      is_inside = is_inside && index >= 0;
      to = to * size + index;
    }
    if (is_inside && to >= rows.begin && to < rows.end)
      p.join(buffers.outputs[0] + to * p.row_bytes, buffers.inputs[kScatterUpdates] + i * p.row_bytes, p.row);
  }
}

Result<std::unique_ptr<Step>> make_slices(const CallView& call, const StepSpec&) {
  const Shape &x = *call.input(kScatterX).shape, &indices = *call.input(kScatterIndices).shape;
  const int last = indices.rank() - 1;
  const auto depth = static_cast<int>(indices[last]);
  SlicesParams params{.join = scatter_row(call.attrs->as<ScatterNdAttrs>().kind, call.input(kScatterX).dtype),
                      .has_64_bits = call.input(kScatterIndices).dtype == DType::s64,
                      .sizes = {x.begin(), x.begin() + depth},
                      .updates = indices.elements(0, last),
                      .row = x.elements(depth, x.rank())};
  params.row_bytes = params.row * static_cast<std::int64_t>(size_of(call.input(kScatterX).dtype));
  params.chunks = Chunks::of(x.elements() == 0 ? 0 : x.elements(0, depth), params.row_bytes);
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_slices);
}

double scatter_cost(const OpCall& call, const Machine&) {
  return 200.0 + 0.15 * view_of(call).bytes() +
         3.0 * static_cast<double>(call.inputs[kScatterUpdates]->shape.elements());
}

constexpr KernelChoice kScatterChoices[] = {
    {.code = {.name = "scatter_elements_portable",
              .op = "scatter_elements",
              .prepare = prepare_by<refuse_scatter_nothing, make_elements>,
              .in_place_input = scatter_first_input},
     .refusal = refusal_by<refuse_scatter_nothing>,
     .cost = scatter_cost},
    {.code = {.name = "scatter_nd_portable",
              .op = "scatter_nd",
              .prepare = prepare_by<refuse_scatter_nothing, make_slices>,
              .in_place_input = scatter_first_input},
     .refusal = refusal_by<refuse_scatter_nothing>,
     .cost = scatter_cost},
};
constexpr auto kScatterCodes = codes_of(kScatterChoices);

}  // namespace

std::span<const KernelCode> scatter_codes() { return kScatterCodes; }
std::span<const KernelChoice> scatter_choices() { return kScatterChoices; }

}  // namespace octavo
