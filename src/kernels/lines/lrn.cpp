// lrn in f32. Part of kernels/.
#include "ops/lrn/lrn.h"

#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/lines/lines.h"

namespace octavo {
namespace {

// x seen as [outer, n, inner], the channels in the middle. Units: lines where inner is 1, else blocks of columns.
struct LrnParams {
  std::int64_t n = 0, inner = 1;
  std::int64_t block = 1;  // columns
  LrnWindow window;
  Chunks chunks;
  const LineFunctions* functions = nullptr;
};

void run_lrn(const LrnParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  const auto* x = reinterpret_cast<const float*>(buffers.inputs[0]);
  auto* y = reinterpret_cast<float*>(buffers.outputs[0]);
  const std::int64_t n = params.n, inner = params.inner;
  if (inner == 1) {
    const Lines lines{.x = x + units.begin * n, .y = y + units.begin * n, .lines = units.end - units.begin, .n = n};
    params.functions->lrn_lines(
        {.lines = lines, .window = params.window, .padded = reinterpret_cast<float*>(buffers.scratch)});
    return;
  }
  const std::int64_t blocks = (inner + params.block - 1) / params.block;
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    const std::int64_t column = unit % blocks * params.block, first = unit / blocks * n * inner + column;
    const Columns columns{
        .x = x + first, .y = y + first, .n = n, .stride = inner, .width = std::min(params.block, inner - column)};
    params.functions->lrn_columns({.columns = columns, .window = params.window});
  }
}

std::string refuse_lrn(const CallView& call) { return call.input(0).dtype == DType::f32 ? "" : "needs f32"; }

template <Isa isa>
Result<std::unique_ptr<Step>> make_lrn(const CallView& call, const StepSpec&) {
  constexpr std::int64_t kColumns = 64;
  const auto& attrs = call.attrs->as<LrnAttrs>();
  const Shape& x = *call.input(0).shape;
  const int axis = static_cast<int>(attrs.axis);
  LrnParams params{
      .n = x[axis], .inner = x.elements(axis + 1, x.rank()), .functions = &CompiledFor<LineFunctions, isa>::table};
  const std::int64_t before = (attrs.size - 1) / 2, after = attrs.size - 1 - before;
  params.window = {.before = std::min(before, params.n),
                   .after = std::min(after, params.n),
                   .factor = static_cast<double>(attrs.alpha) / static_cast<double>(attrs.size),
                   .bias = static_cast<double>(attrs.bias),
                   .beta = attrs.beta};
  params.block = std::min(params.inner, kColumns);
  const std::int64_t blocks = params.block == 0 ? 0 : (params.inner + params.block - 1) / params.block;
  const std::int64_t units = params.n == 0 ? 0 : x.elements(0, axis) * blocks;
  params.chunks = Chunks::of(units, 8 * params.n * params.block);
  const std::int64_t items = params.chunks.items();
  const std::int64_t padded = params.window.before + params.n + params.window.after;
  const std::size_t scratch = params.inner == 1 ? sizeof(float) * static_cast<std::size_t>(padded) : 0;
  return make_step(std::move(params), items, run_lrn, scratch);
}

// Nanoseconds of a call: a power per element and `size` squares.
template <int kPicoseconds>
double lrn_cost(const OpCall& call, const Machine&) {
  const double per_element = kPicoseconds * (1.0 + 0.05 * static_cast<double>(call.attrs->as<LrnAttrs>().size));
  return 200.0 + per_element / 1000.0 * static_cast<double>(call.inputs[0]->shape.elements());
}

template <Isa isa, int kPicoseconds>
constexpr KernelChoice lrn_kernel(std::string_view name) {
  return {.code = {.name = name, .op = "lrn", .needs = isa, .prepare = prepare_on<isa, refuse_lrn, make_lrn<isa>>()},
          .refusal = refusal_by<refuse_lrn>,
          .cost = lrn_cost<kPicoseconds>};
}

constexpr KernelChoice kLrnChoices[] = {
    lrn_kernel<Isa::scalar, 80000>("lines_lrn_f32_portable"),
    lrn_kernel<Isa::avx2, 5000>("lines_lrn_f32_avx2"),
    lrn_kernel<Isa::avx512, 3500>("lines_lrn_f32_avx512"),
    lrn_kernel<Isa::neon, 10000>("lines_lrn_f32_neon"),
};
constexpr auto kLrnCodes = codes_of(kLrnChoices);

}  // namespace

std::span<const KernelCode> lrn_codes() { return kLrnCodes; }
std::span<const KernelChoice> lrn_choices() { return kLrnChoices; }

}  // namespace octavo
