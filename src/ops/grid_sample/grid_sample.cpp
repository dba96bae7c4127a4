// grid_sample: shape rule and reference. Part of ops/.
#include "ops/grid_sample/grid_sample.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "graph/attrs_of.h"
#include "ops/image.h"

namespace octavo {
namespace {

constexpr float kFar = 0x1p24f;

Result<std::vector<Fact>> infer_grid_sample(const Attrs& attrs, InputFacts inputs) {
  const Layout layout = attrs.as<GridSampleAttrs>().layout;
  const Fact &x = *inputs[0], &grid = *inputs[1];
  if (auto problem = first_of(
          {check_dtype("x", x, {DType::f32}), check_dtype("grid", grid, {DType::f32}), check_rank("x", x, 4, 5)}))
    return *problem;
  const int rank = x.shape.rank();
  if (auto problem = check_rank("grid", grid, rank, rank)) return *problem;
  ImageExtents image = ImageExtents::of(x.shape, layout);
  if (!is_same(grid.shape[0], image.batch) || grid.shape[rank - 1] != rank - 2)
    return shape_error("grid", grid.shape.to_string(),
                       "[" + to_string(image.batch) + ", ..., " + std::to_string(rank - 2) + "]");
  for (std::size_t i = 0; i < image.sizes.size(); ++i) {
    if (image.sizes[i] < 1 || image.sizes[i] > std::int64_t{1} << 24)
      return shape_error("x", x.shape.to_string(), "sizes of 1 to 2^24");
    image.sizes[i] = grid.shape[static_cast<int>(i) + 1];
  }
  return one_output(DType::f32, image.dims(layout));
}

// Mirrored at both ends as often as needed.
float reflected(float x, float lowest, float highest) {
  const float range = highest - lowest;
  if (x >= lowest && x <= highest) return x;
  if (range <= 0.0f) return lowest;
  const float beyond = x < lowest ? lowest - x : x - highest;
  const float times = std::floor(beyond / range), rest = beyond - times * range;
  const bool is_from_lowest = (x < lowest) == (std::fmod(times, 2.0f) == 0.0f);
  return is_from_lowest ? lowest + rest : highest - rest;
}

// The element that stands for index `x`, or -1.
std::int64_t element_at(const GridSampleAttrs& attrs, std::int64_t size, float x) {
  const auto last = static_cast<float>(size - 1);
  if (attrs.padding == SamplePadding::zeros && (x < 0.0f || x > last)) return -1;
  if (attrs.padding == SamplePadding::reflection) {
    const float edge = attrs.coordinates == GridCoordinates::middles ? 0.0f : 0.5f;
    x = reflected(x, -edge, last + edge);
  }
  return static_cast<std::int64_t>(std::clamp(x, 0.0f, last));
}

// The number of the element in which the coordinate lies, and how far; of nearest, rounded.
float in_elements(const GridSampleAttrs& attrs, std::int64_t size, float coordinate) {
  const auto length = static_cast<float>(size), last = static_cast<float>(size - 1);
  float x = coordinate;
  if (attrs.coordinates == GridCoordinates::edges) x = ((coordinate + 1.0f) * length - 1.0f) / 2.0f;
  if (attrs.coordinates == GridCoordinates::middles) x = (coordinate + 1.0f) / 2.0f * last;
  x = x > -kFar ? std::min(x, kFar) : -kFar;  // also where it is no number
  if (attrs.mode == SampleMode::nearest) x = std::nearbyint(x);
  if (attrs.padding == SamplePadding::border && attrs.mode != SampleMode::cubic) x = std::clamp(x, 0.0f, last);
  if (attrs.padding == SamplePadding::reflection) {
    const float edge = attrs.coordinates == GridCoordinates::middles ? 0.0f : 0.5f;
    x = reflected(x, -edge, last + edge);
  }
  return x;
}

std::array<float, 4> cubic_weights(float x) {
  constexpr float a = -0.75f;
  const auto near = [](float d) { return ((a + 2.0f) * d - (a + 3.0f)) * d * d + 1.0f; };
  const auto far = [](float d) { return ((a * d - 5.0f * a) * d + 8.0f * a) * d - 4.0f * a; };
  return {far(x + 1.0f), near(x), near(1.0f - x), far(2.0f - x)};
}

struct Sampler {
  const Image& image;
  std::span<const SampleTaps> axes;  // outermost first

  // Of the axes from `axis` on.
  float sum(std::size_t axis, const float* x) const {
    if (axis == axes.size()) return *x;
    const SampleTaps& taps = axes[axis];
    float total = 0.0f;
    for (std::size_t t = 0; t < static_cast<std::size_t>(taps.count); ++t) {
      const float value = taps.index[t] < 0 ? 0.0f : sum(axis + 1, x + taps.index[t] * image.strides[axis]);
      total += taps.weight[t] * value;
    }
    return total;
  }
};

void reference_grid_sample(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& sample = attrs.as<GridSampleAttrs>();
  const Image x = Image::of(inputs[0].shape, sample.layout), y = Image::of(outputs[0].shape, sample.layout);
  const std::size_t rank = x.sizes.size();
  const std::int64_t positions = y.positions();
  std::vector<SampleTaps> taps(rank);
  for (std::int64_t n = 0; n < y.batch; ++n) {
    for (std::int64_t position = 0; position < positions; ++position) {
      const float* grid = inputs[1].as<float>() + (n * positions + position) * static_cast<std::int64_t>(rank);
      for (std::size_t axis = 0; axis < rank; ++axis)
        taps[axis] = sample_taps(sample, x.sizes[axis], grid[rank - 1 - axis]);
      for (std::int64_t c = 0; c < y.channels; ++c) {
        const float* from = inputs[0].as<float>() + n * x.batch_stride + c * x.channel_stride;
        outputs[0].as<float>()[n * y.batch_stride + c * y.channel_stride + y.offset(position)] =
            Sampler{x, taps}.sum(0, from);
      }
    }
  }
}

// A constant grid is that of all images.
std::optional<Attrs> one_image_of_grid_sample(const Attrs& attrs, InputFacts inputs) {
  if (inputs[0]->is_constant() || inputs[1]->is_constant()) return std::nullopt;
  return attrs;
}

std::optional<Attrs> grid_sample_channels_last(const Attrs& attrs) {
  auto changed = attrs.as<GridSampleAttrs>();
  if (changed.layout == Layout::channels_last) return std::nullopt;
  changed.layout = Layout::channels_last;
  return changed;
}

}  // namespace

SampleTaps sample_taps(const GridSampleAttrs& attrs, std::int64_t size, float coordinate) {
  const float x = in_elements(attrs, size, coordinate);
  if (attrs.mode == SampleMode::nearest) return {.index = {element_at(attrs, size, x)}, .weight = {1.0f}, .count = 1};
  const float below = std::floor(x);
  SampleTaps taps;
  if (attrs.mode == SampleMode::linear) taps = {.weight = {below + 1.0f - x, x - below}, .count = 2};
  else taps = {.weight = cubic_weights(x - below), .count = 4};
  const float first = attrs.mode == SampleMode::linear ? below : below - 1.0f;
  for (int t = 0; t < taps.count; ++t)
    taps.index[static_cast<std::size_t>(t)] = element_at(attrs, size, first + static_cast<float>(t));
  return taps;
}

const OpSpec kGridSample{
    .name = "grid_sample",
    .summary =
        "y[n, c, p] = x[n, c, grid[n, p]], nearest, linear or cubic; outside 0, the border or the mirror image; in f32",
    .inputs = {"x", "grid"},
    .infer = infer_grid_sample,
    .reference = reference_grid_sample,
    .decode_attrs = decode_attrs_as<GridSampleAttrs>,
    .for_one_image = one_image_of_grid_sample,
    .channels_last = grid_sample_channels_last,
    .read_from = "ONNX GridSample, DeformConv; TFLite TransformTensorBilinear; ATen grid_sampler_2d",
    .integer_form = "float",
};

template Attrs::Attrs(GridSampleAttrs);

}  // namespace octavo
