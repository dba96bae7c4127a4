// softmax and log_softmax in f32, along any axis. Part of kernels/.
#include "ops/softmax/softmax.h"

#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/lines/lines.h"
#include "kernels/lines/record.h"

namespace octavo {
namespace {

// x seen as [outer, n, inner], normalised along the middle. Units: lines where inner is 1, else blocks of columns.
struct SoftmaxParams {
  std::int64_t n = 0, inner = 1;
  std::int64_t block = 1;  // columns
  bool is_narrow = false;  // too few columns for a vector: they become lines of the scratch
  Chunks chunks;
  void (*lines)(const Lines&) = nullptr;
  void (*columns)(const Columns&) = nullptr;
};

// Rows of `inner` columns as lines of n elements, or back.
void turn(const float* from, float* to, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  }
}

void run_narrow(const SoftmaxParams& params, const float* x, float* y, float* lines) {
  turn(x, lines, params.n, params.inner);
  params.lines({.x = lines, .y = lines, .lines = params.inner, .n = params.n});
  turn(lines, y, params.inner, params.n);
}

void run_softmax(const SoftmaxParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  const auto* x = reinterpret_cast<const float*>(buffers.inputs[0]);
  auto* y = reinterpret_cast<float*>(buffers.outputs[0]);
  const std::int64_t n = params.n, inner = params.inner;
  if (inner == 1) {
    params.lines({.x = x + units.begin * n, .y = y + units.begin * n, .lines = units.end - units.begin, .n = n});
    return;
  }
  const std::int64_t blocks = (inner + params.block - 1) / params.block;
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    if (params.is_narrow) {
      const std::int64_t first = unit * n * inner;
      run_narrow(params, x + first, y + first, reinterpret_cast<float*>(buffers.scratch));
      continue;
    }
    const std::int64_t column = unit % blocks * params.block, first = unit / blocks * n * inner + column;
    params.columns(
        {.x = x + first, .y = y + first, .n = n, .stride = inner, .width = std::min(params.block, inner - column)});
  }
}

std::string refuse_softmax(const CallView& call) { return call.input(0).dtype == DType::f32 ? "" : "needs f32"; }

template <Isa isa>
Result<std::unique_ptr<Step>> make_softmax(const CallView& call, const StepSpec&) {
  const LineFunctions& functions = CompiledFor<LineFunctions, isa>::table;
  constexpr std::int64_t kColumns = 64, kNarrow = 16, kMostTurned = 1 << 16;
  const auto& attrs = call.attrs->as<SoftmaxAttrs>();
  const Shape& x = *call.input(0).shape;
  const int axis = static_cast<int>(attrs.axis);
  const bool is_log = attrs.kind == SoftmaxKind::log_softmax;
  SoftmaxParams params{.n = x[axis],
                       .inner = x.elements(axis + 1, x.rank()),
                       .lines = is_log ? functions.log_softmax_lines : functions.softmax_lines,
                       .columns = is_log ? functions.log_softmax_columns : functions.softmax_columns};
  params.block = std::min(params.inner, kColumns);
  const std::int64_t blocks = params.block == 0 ? 0 : (params.inner + params.block - 1) / params.block;
  const std::int64_t units = params.n == 0 ? 0 : x.elements(0, axis) * blocks;
  params.chunks = Chunks::of(units, 8 * params.n * params.block);
  params.is_narrow = params.inner > 1 && params.inner < kNarrow && params.n <= kMostTurned / params.inner;
  const std::int64_t turned = params.is_narrow ? params.n * params.inner : 0;
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_softmax, static_cast<std::size_t>(turned) * sizeof(float));
}

template <Isa isa, int kPicoseconds>
constexpr KernelChoice softmax_kernel(std::string_view name) {
  return line_kernel<refuse_softmax, make_softmax<isa>, kPicoseconds>("softmax", isa, name, over_first_input);
}

constexpr KernelChoice kSoftmaxChoices[] = {
    softmax_kernel<Isa::scalar, 30000>("lines_softmax_f32_portable"),
    softmax_kernel<Isa::avx2, 1500>("lines_softmax_f32_avx2"),
    softmax_kernel<Isa::avx512, 1000>("lines_softmax_f32_avx512"),
    softmax_kernel<Isa::neon, 3000>("lines_softmax_f32_neon"),
};
constexpr auto kSoftmaxCodes = codes_of(kSoftmaxChoices);

}  // namespace

std::span<const KernelCode> softmax_codes() { return kSoftmaxCodes; }
std::span<const KernelChoice> softmax_choices() { return kSoftmaxChoices; }

}  // namespace octavo
