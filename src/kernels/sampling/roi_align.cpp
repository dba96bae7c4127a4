// roi_align bin by bin. Part of kernels/.
#include "ops/roi_align/roi_align.h"

#include <cmath>

#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/image_sizes.h"
#include "kernels/sampling/functions.h"
#include "kernels/sampling/sampling.h"

namespace octavo {
namespace {

constexpr std::size_t kRoiAlignX = 0, kRegions = 1, kImages = 2;

struct RoiAlignParams {
  RoiAlignAttrs attrs;
  ImageSizes x, y;
  const SampleFunctions* functions = nullptr;
  Chunks chunks;  // of bins of all regions
};

// Channels [first, first + channels) of a bin, whose image starts at x.
struct Bin {
  const RoiGrid& grid;
  RoiPlace at;
  std::int64_t first, channels;
};

void run_block(const RoiAlignParams& p, const Bin& bin, const float* x, float* y) {
  const bool is_max = p.attrs.pooling == RoiPooling::max;
  const ImageStrides& strides = p.x.strides;
  float results[kSampleBlock];
  std::fill_n(results, bin.channels, is_max ? -INFINITY : 0.0f);
  const float nothing = 0.0f;
  RoiPlace at = bin.at;
  for (at.iy = 0; at.iy < bin.grid.samples[0]; ++at.iy) {
    for (at.ix = 0; at.ix < bin.grid.samples[1]; ++at.ix) {
      const RoiSample sample = roi_sample(bin.grid, at, p.x.height, p.x.width);
      const float* corners[4];
      for (std::size_t i = 0; i < 4; ++i) {
        corners[i] = sample.is_inside ? x + sample.rows[i / 2] * strides.row + sample.columns[i % 2] * strides.column +
                                            bin.first * strides.channel
                                      : &nothing;
      }
      (is_max ? p.functions->largest_of_four : p.functions->add_four)(
          corners, sample.weights.data(), sample.is_inside ? strides.channel : 0, bin.channels, results);
    }
  }
  const auto count = static_cast<float>(bin.grid.samples[0] * bin.grid.samples[1]);
  for (std::int64_t c = 0; c < bin.channels; ++c)
    y[(bin.first + c) * p.y.strides.channel] = is_max ? results[c] : results[c] / count;
}

void run_roi_align(const RoiAlignParams& p, const StepBuffers& buffers, ItemRange range) {
  const auto* x = reinterpret_cast<const float*>(buffers.inputs[kRoiAlignX]);
  const auto* regions = reinterpret_cast<const float*>(buffers.inputs[kRegions]);
  const auto* images = reinterpret_cast<const std::int64_t*>(buffers.inputs[kImages]);
  auto* y = reinterpret_cast<float*>(buffers.outputs[0]);
  const std::int64_t bins = p.y.height * p.y.width;
  const ItemRange units = p.chunks.units_of(range);
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    const std::int64_t region = unit / bins, bin = unit % bins;
    const RoiGrid grid = RoiGrid::of(p.attrs, regions + 4 * region);
    const RoiPlace at{bin / p.y.width, bin % p.y.width, 0, 0};
    const std::int64_t image = std::clamp<std::int64_t>(images[region], 0, p.x.batch - 1);
    float* to = y + region * p.y.strides.image + bin * p.y.strides.column;
    for (std::int64_t c = 0; c < p.y.channels; c += kSampleBlock)
      run_block(p, {grid, at, c, std::min(kSampleBlock, p.y.channels - c)}, x + image * p.x.strides.image, to);
  }
}

std::string refuse_roi_align(const CallView&) { return {}; }

template <Isa isa>
Result<std::unique_ptr<Step>> make_roi_align(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<RoiAlignAttrs>();
  RoiAlignParams p{.attrs = attrs,
                   .x = ImageSizes::of(*call.input(kRoiAlignX).shape, attrs.layout),
                   .y = ImageSizes::of(*call.output().shape, attrs.layout),
                   .functions = &CompiledFor<SampleFunctions, isa>::table};
  const std::int64_t units = call.output().elements() == 0 ? 0 : p.y.batch * p.y.height * p.y.width;
  p.chunks = Chunks::of(units, 64 * p.y.channels);
  const std::int64_t items = p.chunks.items();
  return make_step(std::move(p), items, run_roi_align);
}

// Picoseconds per element of the result and sample, of which it has four where the regions do not say.
template <int kPicoseconds>
double roi_align_cost(const OpCall& call, const Machine&) {
  const std::int64_t samples = call.attrs->as<RoiAlignAttrs>().samples;
  const double count = samples > 0 ? static_cast<double>(samples * samples) : 4.0;
  return 100.0 + 1e-3 * kPicoseconds * count * static_cast<double>(call.outputs[0].shape.elements());
}

template <Isa isa, int kPicoseconds>
constexpr KernelChoice roi_align_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "roi_align",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_roi_align, make_roi_align<isa>>()},
          .refusal = refusal_by<refuse_roi_align>,
          .cost = roi_align_cost<kPicoseconds>};
}

constexpr KernelChoice kRoiAlignChoices[] = {
    roi_align_kernel<Isa::scalar, 2000>("sampling_roi_f32_portable"),
    roi_align_kernel<Isa::avx2, 600>("sampling_roi_f32_avx2"),
    roi_align_kernel<Isa::avx512, 400>("sampling_roi_f32_avx512"),
    roi_align_kernel<Isa::neon, 1200>("sampling_roi_f32_neon"),
};
constexpr auto kRoiAlignCodes = codes_of(kRoiAlignChoices);

}  // namespace

std::span<const KernelCode> roi_align_codes() { return kRoiAlignCodes; }
std::span<const KernelChoice> roi_align_choices() { return kRoiAlignChoices; }

}  // namespace octavo
