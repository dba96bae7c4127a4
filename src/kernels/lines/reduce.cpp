// reduce in f32 over any axes, the extremes of integers, and by scalar code everything else. Part of kernels/.
#include "ops/reduce/reduce.h"

#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/lines/lines.h"
#include "kernels/lines/record.h"

namespace octavo {
namespace {

// Where the reduced axes lie next to each other x is seen as [outer, n, inner], reduced over the middle. Else the
// elements of each result are gathered into a line first.
struct ReduceView {
  std::int64_t outer = 1, n = 1, inner = 1;
  bool is_one_run = true;
};

bool is_reduced(const ReduceAttrs& attrs, int axis) {
  return std::find(attrs.axes.begin(), attrs.axes.end(), axis) != attrs.axes.end();
}

ReduceView view_of_reduce(const CallView& call) {
  const auto& attrs = call.attrs->as<ReduceAttrs>();
  const Shape& x = *call.input(0).shape;
  ReduceView view;
  bool is_past = false;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (x[axis] == 1) continue;
    const bool reduced = is_reduced(attrs, axis);
    if (reduced && is_past) view.is_one_run = false;
    if (reduced) view.n *= x[axis];
    else if (view.n == 1) view.outer *= x[axis];
    else view.inner *= x[axis], is_past = true;
  }
  return view;
}

struct ReduceParams {
  ReduceView view;
  std::int64_t block = 1;  // columns
  Chunks chunks;           // of lines where inner is 1, else of blocks of columns; of results that are gathered
  ReduceFunctions functions;
  std::vector<std::int64_t> kept, reduced;  // of what is gathered: element numbers of results, and of runs within one
  std::int64_t run = 1;                     // elements of these that lie side by side
};

void run_runs(const ReduceParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  const auto* x = reinterpret_cast<const float*>(buffers.inputs[0]);
  auto* y = reinterpret_cast<float*>(buffers.outputs[0]);
  const std::int64_t n = params.view.n, inner = params.view.inner;
  if (inner == 1) {
    params.functions.lines({.x = x + units.begin * n, .y = y + units.begin, .lines = units.end - units.begin, .n = n});
    return;
  }
  const std::int64_t blocks = (inner + params.block - 1) / params.block;
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    const std::int64_t outer = unit / blocks, column = unit % blocks * params.block;
    params.functions.columns({.x = x + outer * n * inner + column,
                              .y = y + outer * inner + column,
                              .n = n,
                              .stride = inner,
                              .width = std::min(params.block, inner - column)});
  }
}

void run_gathered(const ReduceParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange results = params.chunks.units_of(range);
  const auto* x = reinterpret_cast<const float*>(buffers.inputs[0]);
  auto* y = reinterpret_cast<float*>(buffers.outputs[0]);
  auto* line = reinterpret_cast<float*>(buffers.scratch);
  for (std::int64_t result = results.begin; result < results.end; ++result) {
    const float* first = x + params.kept[static_cast<std::size_t>(result)];
    float* to = line;
    for (const std::int64_t offset : params.reduced) to = std::copy_n(first + offset, params.run, to);
    params.functions.lines({.x = line, .y = y + result, .lines = 1, .n = params.view.n});
  }
}

// Element numbers of all indices of the axes that are reduced, or of those that are kept, in row-major order.
std::vector<std::int64_t> offsets_of(const CallView& call, bool of_reduced) {
  const auto& attrs = call.attrs->as<ReduceAttrs>();
  const Shape& x = *call.input(0).shape;
  std::vector<std::int64_t> offsets{0};
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (is_reduced(attrs, axis) != of_reduced) continue;
    const std::int64_t stride = x.elements(axis + 1, x.rank());
    std::vector<std::int64_t> longer;
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < x[axis]; ++i) longer.push_back(offset + i * stride);
    }
    offsets = std::move(longer);
  }
  return offsets;
}

// Elements side by side that go into one result: those of the last axes that are all reduced.
std::int64_t last_run(const CallView& call) {
  const Shape& x = *call.input(0).shape;
  int axis = x.rank();
  while (axis > 0 && is_reduced(call.attrs->as<ReduceAttrs>(), axis - 1)) --axis;
  return x.elements(axis, x.rank());
}

std::string refuse_reduce(const CallView& call) {
  if (call.input(0).dtype != DType::f32) return "needs f32";
  return call.input(0).elements() == 0 ? "needs elements" : "";
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_reduce(const CallView& call, const StepSpec&) {
  // So many columns that several threads have some, and that rows of x are read in long pieces.
  constexpr std::int64_t kColumns = 64;
  const ReduceKind kind = call.attrs->as<ReduceAttrs>().kind;
  ReduceParams params{.view = view_of_reduce(call),
                      .functions = CompiledFor<LineFunctions, isa>::table.reduce[static_cast<int>(kind)]};
  if (!params.view.is_one_run) {
    params.kept = offsets_of(call, false);
    params.run = last_run(call);
    const auto starts_run = [&](std::int64_t offset) { return offset % params.run == 0; };
    std::ranges::copy_if(offsets_of(call, true), std::back_inserter(params.reduced), starts_run);
    params.chunks = Chunks::of(call.output().elements(), 8 * params.view.n);
    const auto scratch = static_cast<std::size_t>(params.view.n) * sizeof(float);
    const std::int64_t items = params.chunks.items();
    return make_step(std::move(params), items, run_gathered, scratch);
  }
  params.block = std::min(params.view.inner, kColumns);
  const std::int64_t blocks = (params.view.inner + params.block - 1) / params.block;
  params.chunks = Chunks::of(params.view.outer * blocks, 4 * params.view.n * params.block);
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_runs);
}

// ---- extremes of integers ----

// Over [outer, n, inner]; an item is a block of columns of one of the outer.
template <class T, bool kIsMax>
void run_extremes(const ReduceParams& params, const StepBuffers& buffers, ItemRange range) {
  const auto further = [](T a, T b) { return kIsMax ? std::max(a, b) : std::min(a, b); };
  const std::int64_t n = params.view.n, inner = params.view.inner, blocks = (inner + params.block - 1) / params.block;
  const ItemRange units = params.chunks.units_of(range);
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    const std::int64_t outer = unit / blocks, column = unit % blocks * params.block;
    const std::int64_t width = std::min(params.block, inner - column);
    const T* x = reinterpret_cast<const T*>(buffers.inputs[0]) + outer * n * inner + column;
    T* y = reinterpret_cast<T*>(buffers.outputs[0]) + outer * inner + column;
    std::copy_n(x, width, y);
    for (std::int64_t i = 1; i < n; ++i) {
      for (std::int64_t j = 0; j < width; ++j) y[j] = further(y[j], x[i * inner + j]);
    }
  }
}

template <class T>
auto extremes_of(ReduceKind kind) {
  return kind == ReduceKind::max ? &run_extremes<T, true> : &run_extremes<T, false>;
}

std::string refuse_extremes(const CallView& call) {
  const DType dtype = call.input(0).dtype;
  const ReduceKind kind = call.attrs->as<ReduceAttrs>().kind;
  if (kind != ReduceKind::max && kind != ReduceKind::min) return "computes extremes";
  constexpr DType kTypes[] = {DType::boolean, DType::u8, DType::s8, DType::s32, DType::s64};
  if (std::find(std::begin(kTypes), std::end(kTypes), dtype) == std::end(kTypes))
    return "needs bool, u8, s8, s32 or s64";
  if (call.input(0).elements() == 0) return "needs elements";
  return view_of_reduce(call).is_one_run ? "" : "needs axes that lie next to each other";
}

Result<std::unique_ptr<Step>> make_extremes(const CallView& call, const StepSpec&) {
  constexpr std::int64_t kColumns = 256;
  const ReduceKind kind = call.attrs->as<ReduceAttrs>().kind;
  ReduceParams params{.view = view_of_reduce(call)};
  params.block = std::min(params.view.inner, kColumns);
  const std::int64_t blocks = (params.view.inner + params.block - 1) / params.block;
  params.chunks = Chunks::of(params.view.outer * blocks, params.view.n * params.block);
  const std::int64_t items = params.chunks.items();
  switch (call.input(0).dtype) {
    case DType::s8: return make_step(std::move(params), items, extremes_of<std::int8_t>(kind));
    case DType::s32: return make_step(std::move(params), items, extremes_of<std::int32_t>(kind));
    case DType::s64: return make_step(std::move(params), items, extremes_of<std::int64_t>(kind));
    default: return make_step(std::move(params), items, extremes_of<std::uint8_t>(kind));  // and bool
  }
}

// ---- any type, any kind, nothing at all: the operator's scalar code, result by result ----

struct AnyParams {
  ReduceKind kind;
  DType dtype;
  std::vector<std::int64_t> kept, reduced;  // as in ReduceParams
  Chunks chunks;                            // of results
};

void run_any(const AnyParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange results = params.chunks.units_of(range);
  const ConstTensorView x{.dtype = params.dtype, .shape = Shape{}, .data = buffers.inputs[0]};
  const TensorView y{.dtype = params.dtype, .shape = Shape{}, .data = buffers.outputs[0]};
  for (std::int64_t i = results.begin; i < results.end; ++i)
    reduce_line({params.kind, x, params.kept[static_cast<std::size_t>(i)], params.reduced}, y, i);
}

std::string refuse_reduce_nothing(const CallView&) { return {}; }

Result<std::unique_ptr<Step>> make_any(const CallView& call, const StepSpec&) {
  AnyParams params{.kind = call.attrs->as<ReduceAttrs>().kind,
                   .dtype = call.input(0).dtype,
                   .kept = offsets_of(call, false),
                   .reduced = offsets_of(call, true)};
  params.chunks = Chunks::of(call.output().elements(), 64 * (std::ssize(params.reduced) + 1));
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_any);
}

template <Isa isa, int kPicoseconds>
constexpr KernelChoice reduce_kernel(std::string_view name) {
  return line_kernel<refuse_reduce, make_reduce<isa>, kPicoseconds>("reduce", isa, name);
}

constexpr KernelChoice kReduceChoices[] = {
    reduce_kernel<Isa::scalar, 1500>("lines_reduce_f32_portable"),
    reduce_kernel<Isa::avx2, 300>("lines_reduce_f32_avx2"),
    reduce_kernel<Isa::avx512, 250>("lines_reduce_f32_avx512"),
    reduce_kernel<Isa::neon, 600>("lines_reduce_f32_neon"),
    line_kernel<refuse_reduce_nothing, make_any, 6000>("reduce", Isa::scalar, "lines_reduce_any_portable"),
    line_kernel<refuse_extremes, make_extremes, 250>("reduce", Isa::scalar, "reduce_extremes_portable"),
};
constexpr auto kReduceCodes = codes_of(kReduceChoices);

}  // namespace

std::span<const KernelCode> reduce_codes() { return kReduceCodes; }
std::span<const KernelChoice> reduce_choices() { return kReduceChoices; }

}  // namespace octavo
