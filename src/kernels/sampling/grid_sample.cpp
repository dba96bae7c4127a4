// grid_sample position by position. Part of kernels/.
#include "ops/grid_sample/grid_sample.h"

#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/image_sizes.h"
#include "kernels/sampling/functions.h"
#include "kernels/sampling/sampling.h"

namespace octavo {
namespace {

constexpr std::size_t kGridSampleX = 0, kGrid = 1;

struct GridSampleParams {
  GridSampleAttrs attrs;
  ImageSizes x, y;
  int axes = 2;
  const SampleFunctions* functions = nullptr;
  Chunks chunks;  // of positions of all images
};

SamplePoint point_at(const GridSampleParams& p, const float* grid) {
  const std::int64_t sizes[] = {p.x.depth, p.x.height, p.x.width};
  const std::int64_t strides[] = {p.x.strides.plane, p.x.strides.row, p.x.strides.column};
  SamplePoint point;
  for (int axis = 0; axis < kSampleAxes - p.axes; ++axis) point.weight[axis][0] = 1.0f, point.count[axis] = 1;
  for (int axis = kSampleAxes - p.axes; axis < kSampleAxes; ++axis) {
    const SampleTaps taps = sample_taps(p.attrs, sizes[axis], grid[kSampleAxes - 1 - axis]);
    point.count[axis] = taps.count;
    for (int t = 0; t < taps.count; ++t) {
      const auto i = static_cast<std::size_t>(t);
      point.offset[axis][t] = taps.index[i] < 0 ? -1 : taps.index[i] * strides[axis];
      point.weight[axis][t] = taps.weight[i];
    }
  }
  return point;
}

void run_grid_sample(const GridSampleParams& p, const StepBuffers& buffers, ItemRange range) {
  const auto* x = reinterpret_cast<const float*>(buffers.inputs[kGridSampleX]);
  const auto* grid = reinterpret_cast<const float*>(buffers.inputs[kGrid]);
  auto* y = reinterpret_cast<float*>(buffers.outputs[0]);
  const std::int64_t positions = p.y.depth * p.y.height * p.y.width;
  const ItemRange units = p.chunks.units_of(range);
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    const std::int64_t image = unit / positions, position = unit % positions;
    const SamplePoint point = point_at(p, grid + unit * p.axes);
    const float* from = x + image * p.x.strides.image;
    float* to = y + image * p.y.strides.image + position * p.y.strides.column;
    for (std::int64_t c = 0; c < p.y.channels; c += kSampleBlock) {
      p.functions->sample(point, from + c * p.x.strides.channel, p.x.strides.channel,
                          std::min(kSampleBlock, p.y.channels - c), to + c * p.y.strides.channel, p.y.strides.channel);
    }
  }
}

std::string refuse_grid_sample(const CallView&) { return {}; }

template <Isa isa>
Result<std::unique_ptr<Step>> make_grid_sample(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<GridSampleAttrs>();
  GridSampleParams p{.attrs = attrs,
                     .x = ImageSizes::of(*call.input(kGridSampleX).shape, attrs.layout),
                     .y = ImageSizes::of(*call.output().shape, attrs.layout),
                     .axes = call.input(kGridSampleX).shape->rank() - 2,
                     .functions = &CompiledFor<SampleFunctions, isa>::table};
  const std::int64_t units = call.output().elements() == 0 ? 0 : p.y.batch * p.y.depth * p.y.height * p.y.width;
  p.chunks = Chunks::of(units, 16 * p.y.channels + 64);
  const std::int64_t items = p.chunks.items();
  return make_step(std::move(p), items, run_grid_sample);
}

// Picoseconds per tap and element.
template <int kPicoseconds>
double grid_sample_cost(const OpCall& call, const Machine&) {
  constexpr double kTaps[] = {1.0, 4.0, 16.0};  // of two axes
  const double taps = kTaps[static_cast<int>(call.attrs->as<GridSampleAttrs>().mode)];
  return 100.0 + 10.0 * static_cast<double>(call.inputs[kGrid]->shape.elements()) +
         1e-3 * kPicoseconds * taps * static_cast<double>(call.outputs[0].shape.elements());
}

template <Isa isa, int kPicoseconds>
constexpr KernelChoice grid_sample_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "grid_sample",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_grid_sample, make_grid_sample<isa>>()},
          .refusal = refusal_by<refuse_grid_sample>,
          .cost = grid_sample_cost<kPicoseconds>};
}

constexpr KernelChoice kGridSampleChoices[] = {
    grid_sample_kernel<Isa::scalar, 500>("sampling_grid_f32_portable"),
    grid_sample_kernel<Isa::avx2, 150>("sampling_grid_f32_avx2"),
    grid_sample_kernel<Isa::avx512, 120>("sampling_grid_f32_avx512"),
    grid_sample_kernel<Isa::neon, 300>("sampling_grid_f32_neon"),
};
constexpr auto kGridSampleCodes = codes_of(kGridSampleChoices);

}  // namespace

std::span<const KernelCode> grid_sample_codes() { return kGridSampleCodes; }
std::span<const KernelChoice> grid_sample_choices() { return kGridSampleChoices; }

}  // namespace octavo
