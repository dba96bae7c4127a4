// Verbs for discrete Fourier transforms: products with constant matrices. Part of import/.
#include <algorithm>

#include "base/math.h"
#include "import/verbs.h"

namespace octavo::importing {
namespace {

// Of a constant that a file asks for.
constexpr std::int64_t kMostElements = std::int64_t{1} << 24;

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

}  // namespace

bool may_make(NodeBuilder& in, const std::string& place, std::int64_t rows, std::int64_t columns) {
  const bool is_small = rows <= kMostElements && columns <= kMostElements && rows * columns <= kMostElements;
  if (is_small && rows * columns <= in.built().fold_budget) {
    in.built().fold_budget -= rows * columns;
    return true;
  }
  in.fail(place, std::to_string(rows) + " x " + std::to_string(columns) + " elements", "at most 2^24 in all");
  return false;
}

ValueId dft(NodeBuilder& in, const DftArgs& args) {
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
  if (!may_make(in, in.place_of(args.x), transform.taken * transform.parts, transform.bins * results)) return {};
  const ValueId part = slice(in, args.x, args.axis, Range{.start = 0, .size = transform.taken}, args.name + "taken");
  const ValueId moved = swap_axes(in, part, args.axis, rank - 2, args.name + "moved");
  if (in.failed()) return {};
  Extents dims(in.shape(moved).begin(), in.shape(moved).end() - 2);
  Extents rows = dims;
  rows.push_back(transform.taken * transform.parts);
  const ValueId matrix = in.constant(matrix_of(transform, in.dtype(args.x)), args.name + "matrix");
  const ValueId spectrum = matmul(in, in.reshape(moved, rows, args.name + "rows"), matrix, {}, args.name + "spectrum");
  dims.insert(dims.end(), {Dim(transform.bins), Dim(results)});
  return swap_axes(in, in.reshape(spectrum, dims, args.name + "bins"), args.axis, rank - 2, args.name + "transformed");
}

}  // namespace octavo::importing
