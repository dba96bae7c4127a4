// transpose: planes of the two axes that matter, one after the other; copies of rows where the last axis stays. Part of
// kernels/.
#include "ops/transpose/transpose.h"

#include "kernels/compiled_for.h"
#include "kernels/move/move.h"
#include "kernels/move/plane.h"
#include "kernels/move/separable.h"

namespace octavo {
namespace {

// An axis of the result with its strides in elements.
struct TransposeAxis {
  std::int64_t size, x_stride, y_stride;
};

// The result's axes, outermost first: size 1 dropped, neighbours that lie next to each other in x too merged.
std::vector<TransposeAxis> merged_axes(const CallView& call) {
  const auto& perm = call.attrs->as<TransposeAttrs>().perm;
  const std::vector<std::int64_t> x_strides = call.input(0).shape->strides();
  const std::vector<std::int64_t> y_strides = call.output().shape->strides();
  std::vector<TransposeAxis> axes;
  for (std::size_t i = 0; i < perm.size(); ++i) {
    const TransposeAxis axis{(*call.output().shape)[static_cast<int>(i)], x_strides[static_cast<std::size_t>(perm[i])],
                             y_strides[i]};
    if (axis.size == 1) continue;
    if (!axes.empty() && axes.back().x_stride == axis.x_stride * axis.size) {
      axes.back() = {axes.back().size * axis.size, axis.x_stride, axis.y_stride};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

struct PlaneParams {
  std::vector<TransposeAxis> outer;
  TransposeAxis row, column;  // row has stride 1 in x, column in y
  std::int64_t row_block = 1;
  std::int64_t element_bytes = 1;
  void (*function)(const Plane&);
  Chunks chunks;  // of (outer index, block of rows)
};

void run_planes(const PlaneParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  const std::int64_t blocks = (params.row.size + params.row_block - 1) / params.row_block;
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    const std::int64_t first = unit % blocks * params.row_block;
    std::int64_t rest = unit / blocks, from = first, to = first * params.row.y_stride;
    for (std::size_t i = params.outer.size(); i-- > 0;) {
      from += rest % params.outer[i].size * params.outer[i].x_stride;
      to += rest % params.outer[i].size * params.outer[i].y_stride;
      rest /= params.outer[i].size;
    }
    params.function({.x = buffers.inputs[0] + from * params.element_bytes,
                     .y = buffers.outputs[0] + to * params.element_bytes,
                     .rows = std::min(params.row_block, params.row.size - first),
                     .columns = params.column.size,
                     .x_stride = params.column.x_stride,
                     .y_stride = params.row.y_stride});
  }
}

std::unique_ptr<Step> make_planes(const PlaneFunctions& functions, std::vector<TransposeAxis> axes,
                                  std::size_t element_bytes) {
  PlaneParams params{.element_bytes = static_cast<std::int64_t>(element_bytes)};
  params.column = axes.back();
  axes.pop_back();
  const auto row = std::find_if(axes.begin(), axes.end(), [](const TransposeAxis& axis) { return axis.x_stride == 1; });
  params.row = *row;
  axes.erase(row);
  params.outer = std::move(axes);
  params.function = element_bytes == 1   ? functions.bytes
                    : element_bytes == 2 ? functions.halves
                    : element_bytes == 4 ? functions.words
                                         : functions.longs;
  // Thin planes are cheapest whole: their loops need the strides of the whole plane.
  const bool is_thin = params.row.size <= 4;
  const std::int64_t row_bytes = params.column.size * params.element_bytes;
  params.row_block = is_thin ? params.row.size : std::max<std::int64_t>(16, kChunkBytes / row_bytes / 16 * 16);
  std::int64_t units = (params.row.size + params.row_block - 1) / params.row_block;
  for (const TransposeAxis& axis : params.outer) units *= axis.size;
  params.chunks = Chunks::of(units, std::min(params.row_block, params.row.size) * row_bytes);
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_planes);
}

struct RowParams {
  SeparableCopy copy;
};
void run_transpose_rows(const RowParams& params, const StepBuffers& buffers, ItemRange range) {
  params.copy.run(buffers.inputs[0], nullptr, buffers.outputs[0], range);
}

std::unique_ptr<Step> make_transpose_rows(const std::vector<TransposeAxis>& axes, std::size_t element_bytes) {
  std::vector<CopyAxis> sources;
  for (const TransposeAxis& axis : axes) sources.push_back(plain_axis(axis.size, axis.x_stride));
  RowParams params{SeparableCopy(std::move(sources), element_bytes)};
  const std::int64_t items = params.copy.items();
  return make_step(std::move(params), items, run_transpose_rows);
}

std::string refuse_transpose(const CallView& call) {
  for (std::int64_t size : *call.output().shape) {
    if (size > std::int64_t{1} << 24) return "needs axes of at most 2^24 indices";
  }
  return {};
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_transpose(const CallView& call, const StepSpec&) {
  const std::size_t element_bytes = size_of(call.output().dtype);
  if (call.output().elements() == 0)
    return make_step(RowParams{SeparableCopy({CopyAxis{}}, element_bytes)}, 1, run_transpose_rows);
  std::vector<TransposeAxis> axes = merged_axes(call);
  if (axes.empty() || axes.back().x_stride == 1) return make_transpose_rows(axes, element_bytes);
  return make_planes(CompiledFor<PlaneFunctions, isa>::table, std::move(axes), element_bytes);
}

template <Isa isa>
double transpose_cost(const OpCall& call, const Machine&) {
  return 100.0 + (isa == Isa::scalar ? 0.3 : 0.2) * view_of(call).bytes();
}

constexpr KernelChoice kTransposeChoices[] = {
    {.code = {.name = "transpose_portable",
              .op = "transpose",
              .prepare = prepare_by<refuse_transpose, make_transpose<Isa::scalar>>},
     .refusal = refusal_by<refuse_transpose>,
     .cost = transpose_cost<Isa::scalar>},
    {.code = {.name = "transpose_avx2",
              .op = "transpose",
              .needs = Isa::avx2,
              .prepare = prepare_by<refuse_transpose, make_transpose<Isa::avx2>>},
     .refusal = refusal_by<refuse_transpose>,
     .cost = transpose_cost<Isa::avx2>},
    {.code = {.name = "transpose_neon",
              .op = "transpose",
              .needs = Isa::neon,
              .prepare = prepare_by<refuse_transpose, make_transpose<Isa::neon>>},
     .refusal = refusal_by<refuse_transpose>,
     .cost = transpose_cost<Isa::neon>},
};
constexpr auto kTransposeCodes = codes_of(kTransposeChoices);

}  // namespace

std::span<const KernelCode> transpose_codes() { return kTransposeCodes; }
std::span<const KernelChoice> transpose_choices() { return kTransposeChoices; }

}  // namespace octavo
