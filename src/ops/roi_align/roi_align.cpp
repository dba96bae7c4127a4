// roi_align: shape rule and reference. Part of ops/.
#include "ops/roi_align/roi_align.h"

#include <algorithm>
#include <cmath>

#include "graph/attrs_of.h"
#include "ops/image.h"

namespace octavo {
namespace {

constexpr std::int64_t kLongest = std::int64_t{1} << 24;  // whose indices f32 has

Result<std::vector<Fact>> infer_roi_align(const Attrs& attrs, InputFacts inputs) {
  const auto& roi = attrs.as<RoiAlignAttrs>();
  const Fact &x = *inputs[0], &regions = *inputs[1], &images = *inputs[2];
  if (auto problem =
          first_of({check_dtype("x", x, {DType::f32}), check_rank("x", x, 4, 4),
                    check_dtype("regions", regions, {DType::f32}), check_rank("regions", regions, 2, 2),
                    check_dtype("images", images, {DType::s64}), check_rank("images", images, 1, 1),
                    check_range("height", roi.height, 1, kLongest), check_range("width", roi.width, 1, kLongest),
                    check_range("samples", roi.samples, 0, kMostRoiSamples), check_finite("scale", roi.scale)}))
    return *problem;
  if (regions.shape[1] != 4) return shape_error("regions", regions.shape.to_string(), "[regions, 4]");
  if (!is_same(images.shape[0], regions.shape[0]))
    return shape_error("images", images.shape.to_string(), "one for each of " + to_string(regions.shape[0]));
  ImageExtents image = ImageExtents::of(x.shape, roi.layout);
  if (image.batch < 1 || image.sizes[0] < 1 || image.sizes[1] < 1 || image.sizes[0] > kLongest ||
      image.sizes[1] > kLongest)
    return shape_error("x", x.shape.to_string(), "an image or more, of sizes from 1 to 2^24");
  image.batch = regions.shape[0];
  image.sizes = {roi.height, roi.width};
  return one_output(DType::f32, image.dims(roi.layout));
}

float average_of(const RoiSample& sample, const std::array<float, 4>& x) {
  return sample.weights[0] * x[0] + sample.weights[1] * x[1] + sample.weights[2] * x[2] + sample.weights[3] * x[3];
}

float roi_align_largest_of(const RoiSample& sample, const std::array<float, 4>& x) {
  float best = sample.weights[0] * x[0];
  for (std::size_t i = 1; i < 4; ++i) best = std::max(best, sample.weights[i] * x[i]);
  return best;
}

// One bin of one channel, whose elements start at x.
float pooled(const RoiAlignAttrs& attrs, const RoiGrid& grid, RoiPlace at, const Image& image, const float* x) {
  const bool is_max = attrs.pooling == RoiPooling::max;
  float result = is_max ? -INFINITY : 0.0f;
  for (at.iy = 0; at.iy < grid.samples[0]; ++at.iy) {
    for (at.ix = 0; at.ix < grid.samples[1]; ++at.ix) {
      const RoiSample sample = roi_sample(grid, at, image.sizes[0], image.sizes[1]);
      std::array<float, 4> values{};
      for (std::size_t i = 0; i < 4 && sample.is_inside; ++i)
        values[i] = x[sample.rows[i / 2] * image.strides[0] + sample.columns[i % 2] * image.strides[1]];
      if (is_max) result = std::max(result, roi_align_largest_of(sample, values));
      else result += average_of(sample, values);
    }
  }
  return is_max ? result : result / static_cast<float>(grid.samples[0] * grid.samples[1]);
}

void reference_roi_align(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& roi = attrs.as<RoiAlignAttrs>();
  const Image x = Image::of(inputs[0].shape, roi.layout), y = Image::of(outputs[0].shape, roi.layout);
  for (std::int64_t region = 0; region < y.batch; ++region) {
    const RoiGrid grid = RoiGrid::of(roi, inputs[1].as<float>() + 4 * region);
    const std::int64_t image = std::clamp<std::int64_t>(inputs[2].as<std::int64_t>()[region], 0, x.batch - 1);
    for (std::int64_t c = 0; c < y.channels; ++c) {
      const float* from = inputs[0].as<float>() + image * x.batch_stride + c * x.channel_stride;
      float* to = outputs[0].as<float>() + region * y.batch_stride + c * y.channel_stride;
      for (std::int64_t oh = 0; oh < roi.height; ++oh) {
        for (std::int64_t ow = 0; ow < roi.width; ++ow)
          to[oh * y.strides[0] + ow * y.strides[1]] = pooled(roi, grid, {oh, ow, 0, 0}, x, from);
      }
    }
  }
}

std::optional<Attrs> roi_align_channels_last(const Attrs& attrs) {
  auto changed = attrs.as<RoiAlignAttrs>();
  if (changed.layout == Layout::channels_last) return std::nullopt;
  changed.layout = Layout::channels_last;
  return changed;
}

// One axis of a sample: the elements around it, and the weight of the second.
struct Between {
  bool is_inside = false;
  std::int64_t first = 0, second = 0;
  float part = 0.0f;
};
Between between(float x, std::int64_t size) {
  const auto length = static_cast<float>(size);
  if (!(x >= -1.0f && x <= length)) return {};
  x = std::max(x, 0.0f);
  const auto first = static_cast<std::int64_t>(x);
  if (first >= size - 1) return {true, size - 1, size - 1, 0.0f};
  return {true, first, first + 1, x - static_cast<float>(first)};
}

}  // namespace

RoiGrid RoiGrid::of(const RoiAlignAttrs& attrs, const float* region) {
  const float offset = attrs.is_half_pixel ? 0.5f : 0.0f;
  const std::int64_t sizes[] = {attrs.height, attrs.width};
  RoiGrid grid;
  for (int axis = 0; axis < 2; ++axis) {
    grid.start[axis] = region[1 - axis] * attrs.scale - offset;
    float length = region[3 - axis] * attrs.scale - offset - grid.start[axis];
    if (!attrs.is_half_pixel) length = std::max(length, 1.0f);
    grid.bin[axis] = length / static_cast<float>(sizes[axis]);
    const float wanted = std::ceil(grid.bin[axis]);
    const float most = static_cast<float>(kMostRoiSamples);
    const float found = wanted >= 1.0f ? std::min(wanted, most) : 1.0f;  // also where it is no number
    grid.samples[axis] = attrs.samples > 0 ? attrs.samples : static_cast<std::int64_t>(found);
  }
  return grid;
}

RoiSample roi_sample(const RoiGrid& grid, const RoiPlace& at, std::int64_t height, std::int64_t width) {
  const auto place = [&](int axis, std::int64_t bin, std::int64_t sample) {
    return grid.start[axis] + static_cast<float>(bin) * grid.bin[axis] +
           (static_cast<float>(sample) + 0.5f) * grid.bin[axis] / static_cast<float>(grid.samples[axis]);
  };
  const Between y = between(place(0, at.oh, at.iy), height), x = between(place(1, at.ow, at.ix), width);
  if (!y.is_inside || !x.is_inside) return {};
  const float above = 1.0f - y.part, left = 1.0f - x.part;
  return {.is_inside = true,
          .rows = {y.first, y.second},
          .columns = {x.first, x.second},
          .weights = {above * left, above * x.part, y.part * left, y.part * x.part}};
}

const OpSpec kRoiAlign{
    .name = "roi_align",
    .summary =
        "y[r, c] = regions of x, which images[r] names, in bins: the mean or the largest of samples at regular "
        "distances, linear between elements; in f32",
    .inputs = {"x", "regions", "images"},
    .infer = infer_roi_align,
    .reference = reference_roi_align,
    .decode_attrs = decode_attrs_as<RoiAlignAttrs>,
    .channels_last = roi_align_channels_last,
    .read_from = "ONNX RoiAlign",
    .integer_form = "float",
};

template Attrs::Attrs(RoiAlignAttrs);

}  // namespace octavo
