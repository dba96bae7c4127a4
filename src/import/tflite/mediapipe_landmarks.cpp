// TFLite readers: custom operators of MediaPipe's models that read an image around landmarks. Part of import/.
#include <cmath>

#include "base/fields.h"
#include "import/tflite/custom_options.h"
#include "import/tflite/operators.h"
#include "ops/grid_sample/grid_sample.h"
#include "ops/where/where.h"

namespace octavo::tflite_import {
namespace {

using B = BinaryKind;
using U = UnaryKind;

// Those of version 1 have other options, and MediaPipe itself runs them no more.
void require_second_version(OperatorReader& in) {
  if (in.version() != 2) in.unsupported("", "version " + std::to_string(in.version()), "version 2");
}

// Small expressions in f32, whose nodes are numbered.
class Arithmetic {
 public:
  explicit Arithmetic(OperatorReader& in) : in_(in) {}

  ValueId number(double value) { return in_.scalar(static_cast<float>(value), name("number")); }
  ValueId add(ValueId a, ValueId b) { return in_.binary(B::add, a, b, name("add")); }
  ValueId sub(ValueId a, ValueId b) { return in_.binary(B::sub, a, b, name("sub")); }
  ValueId mul(ValueId a, ValueId b) { return in_.binary(B::mul, a, b, name("mul")); }
  ValueId div(ValueId a, ValueId b) { return in_.binary(B::div, a, b, name("div")); }
  ValueId mul(ValueId a, double b) { return mul(a, number(b)); }
  ValueId add(ValueId a, double b) { return add(a, number(b)); }
  ValueId unary(U kind, ValueId x) { return in_.unary({.kind = kind}, x, name("unary")); }
  // a * b + c * d
  ValueId sum(ValueId a, ValueId b, ValueId c, ValueId d) { return add(mul(a, b), mul(c, d)); }

 private:
  std::string name(const char* what) { return what + std::to_string(count_++); }

  OperatorReader& in_;
  int count_ = 0;
};

// ---- positions by a matrix ----

// The numbers of the first two rows of matrices [N, 4, 4], each [N] and as many axes of size 1 as a value of `rank` has
// besides.
struct Rows {
  ValueId at[2][4];
};
Rows rows_of(OperatorReader& in, ValueId matrix, const Dim& batch, int rank) {
  Rows rows;
  if (in.failed()) return rows;
  if (!is_same(in.shape(matrix), OpenShape(Extents{batch, 4, 4}))) {
    in.fail(in.place_of(matrix), "shape " + in.shape(matrix).to_string(), to_string(batch) + "x4x4");
    return rows;
  }
  Extents apart(static_cast<std::size_t>(rank), 1);
  apart[0] = batch;
  const ValueId list = in.reshape(matrix, {batch, 16}, "matrix");
  for (int i = 0; i < 8; ++i) {
    const std::string name = "matrix" + std::to_string(i);
    rows.at[i / 4][i % 4] = in.reshape(slice(in, list, 1, {.start = i, .size = 1}, name), apart, name + ".apart");
  }
  return rows;
}

// matrix * (x, y, 0, 1), of the row i.
ValueId moved(Arithmetic& math, const Rows& rows, int i, ValueId x, ValueId y) {
  return math.add(math.sum(rows.at[i][0], x, rows.at[i][1], y), rows.at[i][3]);
}

// 0, 1, ... in f32.
ValueId counted_in(OperatorReader& in, Shape shape, std::string_view name) {
  Tensor made(DType::f32, std::move(shape));
  for (std::int64_t i = 0; i < made.elements(); ++i) made.as<float>()[i] = static_cast<float>(i);
  return in.constant(std::move(made), name);
}

// The image at the positions to which the matrix moves the middles of the result's pixels; 0 where that is outside.
ValueId read_transform_tensor(OperatorReader& in) {
  require_second_version(in);
  const ValueId x = in.placed(in.value(0), "input 'x'");
  in.require_rank(x, 4, 4);
  if (in.failed()) return {};
  const OpenShape image = in.shape(x);
  Rows rows = rows_of(in, in.placed(in.value(1), "input 'matrix'"), image[0], 4);
  CustomOptions options(in);
  constexpr std::int64_t kHighest = 1 << 14;
  const Pair size{options.integer("output_height", 1, kHighest), options.integer("output_width", 1, kHighest)};
  if (in.failed()) return {};
  Arithmetic math(in);
  for (auto& row : rows.at)
    row[3] = math.add(row[3], math.add(math.sum(row[0], math.number(0.5), row[1], math.number(0.5)), -0.5));
  const ValueId column = counted_in(in, Shape{1, 1, size.w, 1}, "columns"),
                line = counted_in(in, Shape{1, size.h, 1, 1}, "lines");
  ValueId is_inside;
  std::vector<ValueId> positions;
  for (int i = 0; i < 2; ++i) {
    const std::string name = i == 0 ? "column" : "line";
    positions.push_back(moved(math, rows, i, column, line));
    const ValueId last = math.number(static_cast<double>(image[2 - i].fixed() - 1));
    const ValueId within = in.binary(
        B::logical_and, in.binary(B::greater_or_equal, positions.back(), math.number(0), name + ".is_not_before"),
        in.binary(B::less_or_equal, positions.back(), last, name + ".is_not_behind"), name + ".is_inside");
    is_inside = i == 0 ? within : in.binary(B::logical_and, is_inside, within, "is_inside");
  }
  const GridSampleAttrs attrs{
      .padding = SamplePadding::border, .coordinates = GridCoordinates::elements, .layout = Layout::channels_last};
  const ValueId sampled = in.add(kGridSample, attrs, {x, concat(in, positions, 3, "positions")}, "sampled");
  return in.add(kWhere, NoAttrs{}, {is_inside, sampled, math.number(0)});
}

// Points [N, n, 2 or 3], of which the first two coordinates are moved.
ValueId read_transform_landmarks(OperatorReader& in) {
  require_second_version(in);
  const ValueId points = in.placed(in.value(0), "input 'landmarks'");
  in.require_rank(points, 3, 3);
  if (in.failed()) return {};
  const OpenShape shape = in.shape(points);
  const Rows rows = rows_of(in, in.placed(in.value(1), "input 'matrix'"), shape[0], 3);
  const std::int64_t count = shape[2].fixed();
  if (count != 2 && count != 3)
    return in.fail("input 'landmarks'", "shape " + shape.to_string(), "two or three coordinates for each");
  const auto coordinate = [&](std::int64_t i) {
    return slice(in, points, 2, {.start = i, .size = 1}, "coordinate" + std::to_string(i));
  };
  Arithmetic math(in);
  const ValueId x = coordinate(0), y = coordinate(1);
  std::vector<ValueId> made{moved(math, rows, 0, x, y), moved(math, rows, 1, x, y)};
  if (count == 3) made.push_back(coordinate(2));
  return concat(in, made, 2);
}

// ---- a matrix by landmarks ----

// A box around landmarks, turned so that two of them lie level: the sine and cosine of the turn, and what is found of
// the box, each [N, 1, 1].
struct Box {
  ValueId sine, cosine;
  ValueId width, height;
  ValueId x, y;  // its middle, turned back
};

// Some of the landmarks [N, n, 3], as columns [N, m, 1].
struct Points {
  ValueId x, y;
};
Points points_of(OperatorReader& in, ValueId landmarks, const Integers& indices, const std::string& name) {
  const ValueId numbers = in.constant(Tensor::of<std::int64_t>(Shape{std::ssize(indices)}, indices), name + ".indices");
  const ValueId points = gather(in, landmarks, numbers, Number(1));
  return {slice(in, points, 2, {.start = 0, .size = 1}, name + ".x"),
          slice(in, points, 2, {.start = 1, .size = 1}, name + ".y")};
}

// Sine and cosine of `turn` less the angle of the line from a to b; the angle of no line is 0.
void find_turn(OperatorReader& in, Arithmetic& math, const Points& a, const Points& b, double turn, Box& box) {
  const ValueId dx = math.sub(b.x, a.x), dy = math.sub(b.y, a.y);
  const ValueId length = math.unary(U::sqrt, math.sum(dx, dx, dy, dy));
  const ValueId is_nothing = in.binary(B::equal, length, math.number(0), "is_nothing");
  const ValueId cosine = in.add(kWhere, NoAttrs{}, {is_nothing, math.number(1), math.div(dx, length)}, "cosine");
  const ValueId sine = in.add(kWhere, NoAttrs{}, {is_nothing, math.number(0), math.div(dy, length)}, "sine");
  const double by_sine = std::sin(turn), by_cosine = std::cos(turn);
  box.sine = math.sub(math.mul(cosine, by_sine), math.mul(sine, by_cosine));
  box.cosine = math.sum(cosine, math.number(by_cosine), sine, math.number(by_sine));
}

// How far the turned points reach, and their middle.
void measure(OperatorReader& in, Arithmetic& math, const Points& points, Box& box) {
  const ValueId turned[] = {math.sub(math.mul(points.x, box.cosine), math.mul(points.y, box.sine)),
                            math.sum(points.x, box.sine, points.y, box.cosine)};
  ValueId middle[2];
  for (int i = 0; i < 2; ++i) {
    const std::string name = i == 0 ? "x" : "y";
    const ValueId most = reduce(in, {.x = turned[i], .kind = ReduceKind::max, .axes = Integers{1}}, name + ".most");
    const ValueId least = reduce(in, {.x = turned[i], .kind = ReduceKind::min, .axes = Integers{1}}, name + ".least");
    (i == 0 ? box.width : box.height) = math.sub(most, least);
    middle[i] = math.mul(math.add(most, least), 0.5);
  }
  box.x = math.sum(middle[0], box.cosine, middle[1], box.sine);
  box.y = math.sub(math.mul(middle[1], box.cosine), math.mul(middle[0], box.sine));
}

// [N, 4, 4] of the first two rows' numbers, each [N, 1, 1].
ValueId matrix_of(OperatorReader& in, std::vector<ValueId> rows, const Dim& batch) {
  const ValueId last =
      in.constant(Tensor::of<float>(Shape{1, 1, 8}, std::vector<float>{0, 0, 1, 0, 0, 0, 0, 1}), "last");
  rows.push_back(expand(in, last, Extents{batch, 1, 8}, "last_rows"));
  return in.reshape(concat(in, rows, 2, "rows"), {batch, 4, 4});
}

// Moves positions of a small image to those of a box around some of the landmarks [N, n, 3], turned so that two of them
// lie at the angle asked for.
ValueId read_landmarks_to_matrix(OperatorReader& in) {
  require_second_version(in);
  const ValueId landmarks = in.placed(in.value(0), "input 'landmarks'");
  in.require_rank(landmarks, 3, 3);
  if (in.failed()) return {};
  const OpenShape shape = in.shape(landmarks);
  if (shape[2] != 3 || shape[1] < 1)
    return in.fail("input 'landmarks'", "shape " + shape.to_string(), "three coordinates for each");
  CustomOptions options(in);
  const std::int64_t last = shape[1].fixed() - 1;
  const std::int64_t left = options.integer("left_rotation_idx", 0, last);
  const std::int64_t right = options.integer("right_rotation_idx", 0, last);
  const Integers subset = options.integers("subset_idxs", 0, last);
  const double turn = options.real("target_rotation_radians");
  const double scale_x = options.positive("scale_x"), scale_y = options.positive("scale_y");
  const auto height = static_cast<double>(options.integer("output_height", 1));
  const auto width = static_cast<double>(options.integer("output_width", 1));
  if (in.failed()) return {};
  Arithmetic math(in);
  Box box;
  find_turn(in, math, points_of(in, landmarks, {left}, "left"), points_of(in, landmarks, {right}, "right"), turn, box);
  measure(in, math, points_of(in, landmarks, subset, "subset"), box);
  const ValueId sx = math.mul(box.width, scale_x / width), sy = math.mul(box.height, scale_y / height);
  const ValueId back = math.unary(U::neg, box.sine);
  const ValueId zero = expand(in, math.number(0), Extents{shape[0], 1, 1}, "zeros");
  std::vector<ValueId> rows;
  const auto add_row = [&](ValueId by_x, ValueId by_y, ValueId middle) {
    const ValueId x = math.mul(by_x, sx), y = math.mul(by_y, sy);
    const ValueId corner = math.add(math.mul(x, -width / 2), math.mul(y, -height / 2));
    rows.insert(rows.end(), {x, y, zero, math.add(middle, corner)});
  };
  add_row(box.cosine, box.sine, box.x);
  add_row(back, box.cosine, box.y);
  return matrix_of(in, rows, shape[0]);
}

constexpr OperatorEntry kMediapipeLandmarksTable[] = {
    {"Landmarks2TransformMatrix", 1, 1, 1, kReal, read_landmarks_to_matrix},
    {"TransformLandmarks", 2, 2, 1, kReal, read_transform_landmarks},
    {"TransformTensorBilinear", 2, 2, 1, kReal, read_transform_tensor},
};

}  // namespace

const std::span<const OperatorEntry> kMediaPipeLandmarks = kMediapipeLandmarksTable;

}  // namespace octavo::tflite_import
