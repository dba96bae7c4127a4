// ONNX readers: windows, discrete Fourier transforms, mel bands and grids of affine maps, by products with constants.
// Part of import/.
#include <algorithm>
#include <cmath>

#include "base/fields.h"
#include "base/math.h"
#include "import/onnx/operators.h"
#include "ops/gather/gather.h"

namespace octavo::onnx_import {
namespace {

std::optional<Number> number_of(NodeReader& in, int index, std::string_view name) {
  if (!in.has(index)) return std::nullopt;
  const Numbers given = in.constant_integers(index, name);
  if (!in.failed() && given.size() != 1) in.fail(given.place, print(given.values), "one number");
  return in.failed() ? Number() : Number(given[0].fixed(), given.place);
}

// ---- windows ----

// a0 - a1 cos(t) + a2 cos(2t), t = 2 pi i / size, or over size - 1 where the window is not periodic.
struct CosineSum {
  double a0, a1, a2;
};

ValueId window(NodeReader& in, const CosineSum& sum) {
  const Number size = number_of(in, 0, "size").value_or(0);
  const auto type = in.element_type("output_datatype", DType::f32);
  const bool is_periodic = in.flag("periodic", true);
  if (in.failed() || !type || !may_make(in, size.place, size, 1)) return {};
  if (size < 0) return in.fail(size.place, std::to_string(size.value), "at least 0");
  Tensor values(*type, Shape{size.value});
  const auto period = static_cast<double>(std::max<std::int64_t>(size.value - (is_periodic ? 0 : 1), 1));
  for (std::int64_t i = 0; i < size; ++i) {
    const double t = kTurn * static_cast<double>(i) / period;
    store_double(values.view(), i, sum.a0 - sum.a1 * math_cos(t) + sum.a2 * math_cos(2.0 * t));
  }
  return in.constant(std::move(values), "value");
}

ValueId read_hann(NodeReader& in) { return window(in, {0.5, 0.5, 0.0}); }
ValueId read_hamming(NodeReader& in) { return window(in, {25.0 / 46.0, 21.0 / 46.0, 0.0}); }
ValueId read_blackman(NodeReader& in) { return window(in, {0.42, 0.5, 0.08}); }

// ---- Fourier transforms ----

ValueId read_dft(NodeReader& in) {
  const ValueId x = in.value(0);
  const auto length = number_of(in, 1, "dft_length");
  Number axis = in.opset() < 20 ? in.integer("axis", 1) : number_of(in, 2, "axis").value_or(-2);
  return dft(in, {.x = x,
                  .axis = in.axis(axis, in.rank(x)),
                  .length = length,
                  .is_inverse = in.flag("inverse"),
                  .is_onesided = in.flag("onesided")});
}

// Frames [batch, frames, taken, 1 or 2] of a signal whose length is known, each `step` behind the one before.
ValueId picked_frames(NodeReader& in, ValueId x, const Number& step, std::int64_t taken) {
  const std::int64_t frames = 1 + (in.shape(x)[1].fixed() - taken) / step;
  if (!may_make(in, step.place, frames, taken)) return {};
  Tensor positions(DType::s64, Shape{frames, taken});
  for (std::int64_t i = 0; i < frames * taken; ++i) positions.as<std::int64_t>()[i] = i / taken * step + i % taken;
  return in.add(kGather, GatherAttrs{.axis = 1}, {x, in.constant(std::move(positions), "positions")}, "frames");
}

// The same of one whose length is open: frames are blocks of `step` elements, so many side by side.
ValueId joined_frames(NodeReader& in, ValueId x, std::int64_t step, std::int64_t taken, std::int64_t blocks) {
  const OpenShape shape = in.shape(x);
  const std::int64_t parts = shape[2].fixed();
  const Dim frames = (shape[1] - taken) / Dim(step) + 1, rows = frames + (blocks - 1);
  x = pad(in, {.x = x, .begin = Integers{0, 0, 0}, .end = Integers{0, blocks * step - taken, 0}}, "padded");
  x = slice(in, x, 1, {.start = 0, .size = rows * step}, "whole");
  x = in.reshape(x, {shape[0], rows, step, parts}, "blocks");
  std::vector<ValueId> shifted;
  for (std::int64_t block = 0; block < blocks && !in.failed(); ++block)
    shifted.push_back(slice(in, x, 1, {.start = block, .size = frames}, "block" + std::to_string(block)));
  if (in.failed()) return {};
  return slice(in, concat(in, shifted, 2, "joined"), 2, {.start = 0, .size = taken}, "frames");
}

// Frames of the signal, one `frame_step` behind the other, each times the window.
ValueId read_stft(NodeReader& in) {
  constexpr std::int64_t kMostBlocks = 64;
  ValueId x = in.value(0, "signal");
  const ValueId weights = in.optional(2, "window");
  const Number step = number_of(in, 1, "frame_step").value_or(0);
  auto length = number_of(in, 3, "frame_length");
  const bool is_onesided = in.flag("onesided", true);
  in.require_rank(x, 2, 3);
  if (in.failed()) return {};
  // Real numbers may come without a last axis for them, as ONNX Runtime takes them.
  if (in.rank(x) == 2) x = in.reshape(x, {in.shape(x)[0], in.shape(x)[1], 1}, "signal");
  if (in.failed()) return {};
  if (weights.exists() && !length) length = Number(in.shape(weights).elements().fixed(), "input 'window'");
  const Dim count = in.shape(x)[1];
  const std::int64_t taken = length ? length->value : count.fixed();
  if (step < 1 || taken < 1 || (count.is_number() && taken > count.fixed()))
    return in.fail(step.place, std::to_string(step.value) + " for frames of " + std::to_string(taken),
                   "at least 1, and frames of at most " + to_string(count));
  const std::int64_t blocks = (taken + step - 1) / step;
  const bool joins = !count.is_number() && blocks <= kMostBlocks;
  ValueId framed = joins ? joined_frames(in, x, step, taken, blocks) : picked_frames(in, x, step, taken);
  if (weights.exists())
    framed = in.binary(BinaryKind::mul, framed, in.reshape(weights, {taken, 1}, "window"), "weighted");
  return dft(in, {.x = framed, .axis = 2, .is_onesided = is_onesided});
}

// Triangles over the bins of a spectrum, whose corners are equally far apart in mel.
ValueId read_mel_weights(NodeReader& in) {
  const Number bands = number_of(in, 0, "num_mel_bins").value_or(0),
               length = number_of(in, 1, "dft_length").value_or(0), rate = number_of(in, 2, "sample_rate").value_or(0);
  const std::vector<float> lowest = in.constant_floats(3, "lower_edge_hertz"),
                           highest = in.constant_floats(4, "upper_edge_hertz");
  const auto type = in.element_type("output_datatype", DType::f32);
  if (in.failed() || !type) return {};
  if (lowest.size() != 1 || highest.size() != 1 || !(lowest[0] >= 0.0f && lowest[0] < highest[0]) || rate < 1)
    return in.fail("inputs 'lower_edge_hertz' and 'upper_edge_hertz'", "no range of frequencies",
                   "two numbers from 0 on");
  // Half of the sample rate is the last bin.
  if (bands < 1 || length < 1 || !(2.0f * highest[0] <= static_cast<float>(rate)))
    return in.fail(length.place, std::to_string(length.value), "bins up to the upper edge");
  const std::int64_t bins = length / 2 + 1;
  if (!may_make(in, bands.place, bands, bins)) return {};
  constexpr double kMel = 2595.0 / 2.302585092994045684;  // over log(10)
  const auto mel = [](float hertz) { return kMel * math_log1p(static_cast<double>(hertz) / 700.0); };
  const double step = (mel(highest[0]) - mel(lowest[0])) / static_cast<double>(bands + 2);
  const auto corner = [&](std::int64_t i) {
    const double hertz = 700.0 * math_expm1((mel(lowest[0]) + static_cast<double>(i) * step) / kMel);
    return static_cast<std::int64_t>(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
  };
  Tensor weights(*type, Shape{bins, bands.value});
  const auto set = [&](std::int64_t bin, std::int64_t band, double value) {
    if (bin < bins) store_double(weights.view(), bin * bands + band, value);
  };
  for (std::int64_t band = 0; band < bands; ++band) {
    const std::int64_t left = corner(band), middle = corner(band + 1), right = corner(band + 2);
    if (left == middle) set(middle, band, 1.0);
    for (std::int64_t bin = left; bin <= middle && left < middle; ++bin)
      set(bin, band, static_cast<double>(bin - left) / static_cast<double>(middle - left));
    for (std::int64_t bin = middle; bin < right; ++bin)
      set(bin, band, static_cast<double>(right - bin) / static_cast<double>(right - middle));
  }
  return in.constant(std::move(weights), "value");
}

// ---- grids ----

// Where the points of an output lie in an input, both from -1 to 1: theta times (x, y, 1), or (x, y, z, 1).
ValueId read_affine_grid(NodeReader& in) {
  const ValueId theta = in.value(0);
  const Numbers given = in.constant_integers(1, "size");
  const bool aligns_corners = in.flag("align_corners");
  if (in.failed()) return {};
  const Integers sizes = given;
  const auto axes = static_cast<std::int64_t>(sizes.size()) - 2;
  if ((axes != 2 && axes != 3) || in.shape(theta) != OpenShape(Extents{given[0], axes, axes + 1}))
    return in.fail("input 'theta'", "shape " + in.shape(theta).to_string() + " for sizes " + print(sizes),
                   "[N, 2, 3] for 4 sizes, [N, 3, 4] for 5");
  const auto points = checked_elements(Extents(given.begin() + 2, given.end()));
  if (!points || !may_make(in, given.place, points->fixed(), axes + 1)) return {};
  Tensor grid(in.dtype(theta), Shape{points->fixed(), axes + 1});
  for (std::int64_t point = 0; point < grid.shape()[0]; ++point) {
    std::int64_t rest = point;
    for (std::int64_t i = 0; i < axes; ++i) {  // x first: the last axis
      const std::int64_t size = sizes[sizes.size() - 1 - static_cast<std::size_t>(i)], at = rest % size;
      rest /= size;
      const auto steps = static_cast<double>(aligns_corners ? std::max<std::int64_t>(size - 1, 1) : size);
      const double first = aligns_corners ? 0.0 : 0.5;
      store_double(grid.view(), point * (axes + 1) + i, 2.0 * (static_cast<double>(at) + first) / steps - 1.0);
    }
    store_double(grid.view(), point * (axes + 1) + axes, 1.0);
  }
  const ValueId turned = transpose(in, theta, Integers{0, 2, 1}, "theta.turned");
  Extents dims{given[0]};
  dims.insert(dims.end(), given.begin() + 2, given.end());
  dims.push_back(axes);
  return in.reshape(matmul(in, in.constant(std::move(grid), "points"), turned, {}, "grid"), dims, "value");
}

constexpr Operator kSignalsTable[] = {
    {"AffineGrid", 20, 2, 2, read_affine_grid},
    {"BlackmanWindow", 17, 1, 1, read_blackman},
    {"DFT", 17, 1, 3, read_dft},
    {"HammingWindow", 17, 1, 1, read_hamming},
    {"HannWindow", 17, 1, 1, read_hann},
    {"MelWeightMatrix", 17, 5, 5, read_mel_weights},
    {"STFT", 17, 2, 4, read_stft},
};

}  // namespace

const std::span<const Operator> kSignals = kSignalsTable;

}  // namespace octavo::onnx_import
