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

// Of a constant that a file asks for.
constexpr std::int64_t kMostElements = std::int64_t{1} << 24;

constexpr double kTurn = 0x1.921fb54442d18p+2;  // 2 pi

bool fits(NodeReader& in, const std::string& place, std::int64_t rows, std::int64_t columns) {
  const bool is_small = rows <= kMostElements && columns <= kMostElements && rows * columns <= kMostElements;
  if (is_small && rows * columns <= in.built().fold_budget) {
    in.built().fold_budget -= rows * columns;
    return true;
  }
  in.fail(place, std::to_string(rows) + " x " + std::to_string(columns) + " elements", "at most 2^24 in all");
  return false;
}

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
  if (in.failed() || !type || !fits(in, size.place, size, 1)) return {};
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

// Of `taken` numbers, real or pairs, `bins` pairs; or real numbers of the half of a spectrum that is symmetric.
struct Transform {
  std::int64_t taken = 0, bins = 0, length = 1;
  std::int64_t parts = 1;  // 2: pairs
  bool is_inverse = false;
  bool gives_real = false;
};

// Row n * parts + p, column k * results + r: what part p of number n adds to result r of bin k.
Tensor matrix_of(const Transform& t, DType type) {
  const std::int64_t results = t.gives_real ? 1 : 2;
  Tensor matrix(type, Shape{t.taken * t.parts, t.bins * results});
  const double factor = t.is_inverse ? 1.0 / static_cast<double>(t.length) : 1.0, sign = t.is_inverse ? 1.0 : -1.0;
  for (std::int64_t n = 0; n < t.taken; ++n) {
    // The other half of a spectrum has the same real parts.
    const bool is_own_mirror = n == 0 || 2 * n == t.length;
    const double weight = t.gives_real && !is_own_mirror ? 2.0 * factor : factor;
    for (std::int64_t k = 0; k < t.bins; ++k) {
      const double angle = kTurn * static_cast<double>(n * k % t.length) / static_cast<double>(t.length);
      const double cosine = weight * math_cos(angle), sine = sign * weight * math_sin(angle);
      const auto set = [&](std::int64_t part, std::int64_t result, double value) {
        store_double(matrix.view(), ((n * t.parts + part) * t.bins + k) * results + result, value);
      };
      set(0, 0, cosine);
      if (!t.gives_real) set(0, 1, sine);
      if (t.parts == 2) set(1, 0, -sine);
      if (t.parts == 2 && !t.gives_real) set(1, 1, cosine);
    }
  }
  return matrix;
}

struct DftArgs {
  ValueId x;  // [..., 1 or 2]
  std::int64_t axis = 0;
  std::optional<Number> length;
  bool is_inverse = false, is_onesided = false;
};

ValueId dft(NodeReader& in, const DftArgs& args) {
  const int rank = in.rank(args.x);
  if (in.failed()) return {};
  const Dim parts = in.shape(args.x)[rank - 1];
  if (rank < 2 || (parts != 1 && parts != 2) || args.axis == rank - 1)
    return in.fail(in.place_of(args.x), "shape " + in.shape(args.x).to_string(),
                   "numbers or pairs along the last axis, which is not transformed");
  const std::int64_t count = in.shape(args.x)[static_cast<int>(args.axis)];
  const bool gives_real = args.is_inverse && args.is_onesided;
  const std::int64_t length = args.length ? args.length->value : (gives_real ? 2 * (count - 1) : count);
  if (length < 1 || length > kMostElements)
    return in.fail(args.length ? args.length->place : in.place_of(args.x), "a length of " + std::to_string(length),
                   "1 to 2^24");
  const bool is_half = args.is_onesided && !args.is_inverse;
  const Transform transform{.taken = std::min(count, gives_real ? length / 2 + 1 : length),
                            .bins = is_half ? length / 2 + 1 : length,
                            .length = length,
                            .parts = parts.fixed(),
                            .is_inverse = args.is_inverse,
                            .gives_real = gives_real};
  const std::int64_t results = gives_real ? 1 : 2;
  if (!fits(in, in.place_of(args.x), transform.taken * transform.parts, transform.bins * results)) return {};
  const ValueId part = slice(in, args.x, args.axis, Range{.start = 0, .size = transform.taken}, "taken");
  const ValueId moved = swap_axes(in, part, args.axis, rank - 2, "moved");
  if (in.failed()) return {};
  Extents dims(in.shape(moved).begin(), in.shape(moved).end() - 2);
  Extents rows = dims;
  rows.push_back(transform.taken * transform.parts);
  const ValueId matrix = in.constant(matrix_of(transform, in.dtype(args.x)), "matrix");
  const ValueId spectrum = matmul(in, in.reshape(moved, rows, "rows"), matrix, {}, "spectrum");
  dims.insert(dims.end(), {Dim(transform.bins), Dim(results)});
  return swap_axes(in, in.reshape(spectrum, dims, "bins"), args.axis, rank - 2);
}

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

// Frames of the signal, one `frame_step` behind the other, each times the window.
ValueId read_stft(NodeReader& in) {
  const ValueId x = in.value(0, "signal"), weights = in.optional(2, "window");
  const Number step = number_of(in, 1, "frame_step").value_or(0);
  auto length = number_of(in, 3, "frame_length");
  const bool is_onesided = in.flag("onesided", true);
  in.require_rank(x, 3, 3);
  if (in.failed()) return {};
  if (weights.exists() && !length) length = Number(in.shape(weights).elements().fixed(), "input 'window'");
  const std::int64_t count = in.shape(x)[1], taken = length ? length->value : count;
  if (step < 1 || taken < 1 || taken > count)
    return in.fail(step.place, std::to_string(step.value) + " for frames of " + std::to_string(taken),
                   "at least 1, and frames of at most " + std::to_string(count));
  const std::int64_t frames = 1 + (count - taken) / step;
  if (!fits(in, step.place, frames, taken)) return {};
  Tensor positions(DType::s64, Shape{frames, taken});
  for (std::int64_t i = 0; i < frames * taken; ++i) positions.as<std::int64_t>()[i] = i / taken * step + i % taken;
  ValueId framed =
      in.add(kGather, GatherAttrs{.axis = 1}, {x, in.constant(std::move(positions), "positions")}, "frames");
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
  if (!fits(in, bands.place, bands, bins)) return {};
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
  if (!points || !fits(in, given.place, points->fixed(), axes + 1)) return {};
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

constexpr Operator kTable[] = {
    {"AffineGrid", 20, 2, 2, read_affine_grid},
    {"BlackmanWindow", 17, 1, 1, read_blackman},
    {"DFT", 17, 1, 3, read_dft},
    {"HammingWindow", 17, 1, 1, read_hamming},
    {"HannWindow", 17, 1, 1, read_hann},
    {"MelWeightMatrix", 17, 5, 5, read_mel_weights},
    {"STFT", 17, 2, 4, read_stft},
};

}  // namespace

const std::span<const Operator> kSignals = kTable;

}  // namespace octavo::onnx_import
