// Kernels that move elements: every element size, odd sizes, every mode.
#include <gtest/gtest.h>

#include "kernels/float_cases.h"
#include "kernels/harness.h"
#include "ops/concat/concat.h"
#include "ops/expand/expand.h"
#include "ops/gather/gather.h"
#include "ops/gather_elements/gather_elements.h"
#include "ops/pad/pad.h"
#include "ops/reshape/reshape.h"
#include "ops/resize/resize.h"
#include "ops/slice/slice.h"
#include "ops/transpose/transpose.h"

namespace octavo::testing {
namespace {

constexpr DType kMoveSizes[] = {DType::u8, DType::s16, DType::f32, DType::s64};

std::set<std::string> check_move(const OpSpec& spec, const Attrs& attrs, std::vector<std::optional<Tensor>> inputs) {
  std::set<std::string> ran = check_kernels({.spec = &spec, .attrs = attrs, .inputs = std::move(inputs)});
  EXPECT_FALSE(ran.empty()) << spec.name << " " << attrs.to_string();
  return ran;
}

TEST(MoveKernels, Reshape) {
  std::mt19937 random(1);
  for (DType dtype : kMoveSizes)
    check_move(kReshape, ReshapeAttrs{.shape = {7, 30000}}, {random_tensor(random, dtype, {100, 3, 700})});
}

TEST(MoveKernels, Slice) {
  std::mt19937 random(2);
  for (DType dtype : kMoveSizes) {
    const Tensor x = random_tensor(random, dtype, {5, 6, 7, 40});
    check_move(kSlice, SliceAttrs{.starts = {0, 0, 0, 8}, .steps = {1, 1, 1, 1}, .sizes = {5, 6, 7, 17}}, {x});
    check_move(kSlice, SliceAttrs{.starts = {1, 5, 0, 0}, .steps = {2, -1, 3, 1}, .sizes = {2, 6, 3, 40}}, {x});
    check_move(kSlice, SliceAttrs{.starts = {4, 0, 0, 39}, .steps = {1, 1, 1, -2}, .sizes = {1, 6, 7, 20}}, {x});
    check_move(kSlice, SliceAttrs{.starts = {2, 0, 0, 0}, .steps = {1, 1, 1, 1}, .sizes = {0, 6, 7, 40}}, {x});
  }
  check_move(kSlice, SliceAttrs{}, {random_tensor(random, DType::f32, {})});
}

TEST(MoveKernels, Expand) {
  std::mt19937 random(3);
  for (DType dtype : kMoveSizes) {
    check_move(kExpand, ExpandAttrs{.shape = {4, 3, 50}}, {random_tensor(random, dtype, {3, 1})});
    check_move(kExpand, ExpandAttrs{.shape = {2, 3, 70}}, {random_tensor(random, dtype, {70})});
    check_move(kExpand, ExpandAttrs{.shape = {2, 3}}, {random_tensor(random, dtype, {})});
  }
}

TEST(MoveKernels, Pad) {
  std::mt19937 random(4);
  for (DType dtype : kMoveSizes) {
    for (PadMode mode : {PadMode::constant, PadMode::reflect, PadMode::edge, PadMode::wrap}) {
      const Tensor x = random_tensor(random, dtype, {2, 5, 6, 9});
      check_move(kPad, PadAttrs{.mode = mode, .begin = {0, 1, 2, 0}, .end = {0, 3, 1, 0}},
                 {x, random_tensor(random, dtype, {})});
      check_move(kPad, PadAttrs{.mode = mode, .begin = {1, -1, 2, 4}, .end = {1, 0, -3, 5}}, {x});
      check_move(kPad, PadAttrs{.mode = mode, .begin = {0, 0, 13, 0}, .end = {0, 0, 14, 0}}, {x});
    }
  }
}

TEST(MoveKernels, Concat) {
  std::mt19937 random(5);
  for (DType dtype : kMoveSizes) {
    check_move(kConcat, ConcatAttrs{.axis = 3},
               {random_tensor(random, dtype, {2, 9, 9, 32}), random_tensor(random, dtype, {2, 9, 9, 3}),
                random_tensor(random, dtype, {2, 9, 9, 0}), random_tensor(random, dtype, {2, 9, 9, 17})});
    check_move(kConcat, ConcatAttrs{.axis = 0},
               {random_tensor(random, dtype, {3, 70}), random_tensor(random, dtype, {500, 70})});
    check_move(kConcat, ConcatAttrs{.axis = 1}, {random_tensor(random, dtype, {3, 70})});
    check_move(kConcat, ConcatAttrs{.axis = -1},
               {random_tensor(random, dtype, {3, 70}), random_tensor(random, dtype, {3, 5})});
  }
}

TEST(MoveKernels, Gather) {
  std::mt19937 random(6);
  const Tensor rows = Tensor::of<std::int64_t>({5}, std::vector<std::int64_t>{0, 6, -1, -7, 3});
  const Tensor matrix = Tensor::of<std::int32_t>({2, 2}, std::vector<std::int32_t>{-1, 0, 8, 2});
  for (DType dtype : kMoveSizes) {
    check_move(kGather, GatherAttrs{.axis = 0}, {random_tensor(random, dtype, {7, 33}), rows});
    check_move(kGather, GatherAttrs{.axis = 1}, {random_tensor(random, dtype, {4, 9, 3}), matrix});
    check_move(kGather, GatherAttrs{.axis = -2}, {random_tensor(random, dtype, {4, 9, 3}), matrix});
    check_move(kGather, GatherAttrs{.axis = 1},
               {random_tensor(random, dtype, {4, 9}), Tensor::scalar(std::int64_t{100})});
  }
}

// A channel shuffle, more and fewer channels than there are, and indices beyond both ends.
TEST(MoveKernels, GatherBytesAlongARow) {
  std::mt19937 random(16);
  for (const DType dtype : {DType::u8, DType::s8, DType::boolean}) {
    for (const std::int64_t size : {1, 3, 64, 200, 256}) {
      for (const std::int64_t count : {1, 5, 64, 300}) {
        Tensor indices(DType::s64, Shape{count});
        for (std::int64_t& index : indices.span<std::int64_t>())
          index = static_cast<std::int64_t>(random() % static_cast<unsigned>(2 * size)) - size;
        const Tensor x = random_tensor(random, dtype, {3, 7, size});
        const auto ran = check_move(kGather, GatherAttrs{.axis = -1}, {x, indices});
        EXPECT_TRUE(kernels_missing(ran, "gather_bytes").empty());
      }
    }
    const auto ran = check_move(kGather, GatherAttrs{.axis = 1},
                                {random_tensor(random, dtype, {2, 257}), Tensor::scalar(std::int64_t{256})});
    EXPECT_FALSE(ran.contains("gather_bytes_portable"));
  }
}

TEST(MoveKernels, GatherElements) {
  std::mt19937 random(7);
  const auto indices = [&](const Shape& shape, std::int64_t dim) {
    Tensor tensor(DType::s64, shape);
    for (std::int64_t& index : tensor.span<std::int64_t>())
      index = static_cast<std::int64_t>(random() % static_cast<unsigned>(2 * dim)) - dim;
    return tensor;
  };
  const Tensor wild = Tensor::of<std::int32_t>({2, 2}, std::vector<std::int32_t>{-100, 0, 100, 2});
  for (DType dtype : kMoveSizes) {
    check_move(kGatherElements, GatherElementsAttrs{.axis = 0},
               {random_tensor(random, dtype, {7, 33}), indices({5, 33}, 7)});
    check_move(kGatherElements, GatherElementsAttrs{.axis = 1},
               {random_tensor(random, dtype, {4, 9, 3}), indices({3, 20, 2}, 9)});
    check_move(kGatherElements, GatherElementsAttrs{.axis = -1},
               {random_tensor(random, dtype, {4, 9, 3}), indices({4, 8, 70}, 3)});
    check_move(kGatherElements, GatherElementsAttrs{.axis = 0}, {random_tensor(random, dtype, {9}), indices({11}, 9)});
    check_move(kGatherElements, GatherElementsAttrs{.axis = 1}, {random_tensor(random, dtype, {2, 3}), wild});
  }
}

struct TransposeCase {
  Shape x;
  std::vector<std::int64_t> perm;
};

TEST(MoveKernels, Transpose) {
  std::mt19937 random(7);
  const TransposeCase cases[] = {
      {{2, 3, 17, 19}, {0, 2, 3, 1}},
      {{2, 17, 19, 3}, {0, 3, 1, 2}},
      {{1, 64, 40, 9}, {0, 2, 3, 1}},
      {{2, 9, 2, 29}, {0, 1, 3, 2}},
      {{2, 9, 29, 2}, {0, 1, 3, 2}},
      {{3, 5, 4, 7}, {3, 1, 0, 2}},
      {{35, 130}, {1, 0}},
      {{4, 5, 6, 33}, {1, 0, 2, 3}},
      {{1, 1, 5}, {2, 0, 1}},
      {{}, {}},
      {{7, 0, 3}, {2, 1, 0}},
      {{3, 4, 5, 2, 6}, {4, 2, 0, 3, 1}},
      {{600, 4}, {1, 0}},
      {{4, 600}, {1, 0}},
  };
  std::set<std::string> ran;
  for (DType dtype : kMoveSizes) {
    for (const TransposeCase& transpose : cases)
      ran.merge(check_move(kTranspose, TransposeAttrs{transpose.perm}, {random_tensor(random, dtype, transpose.x)}));
  }
  EXPECT_TRUE(kernels_missing(ran, "transpose_").empty());
}

ResizeAttrs resize_attrs(ResizeMode mode, ResizeCoordinates coordinates, const Shape& x, std::vector<Dim> sizes) {
  ResizeAttrs attrs{.mode = mode, .coordinates = coordinates, .sizes = std::move(sizes)};
  for (int axis = 0; axis < x.rank(); ++axis)
    attrs.scales.push_back(static_cast<float>(attrs.sizes[static_cast<std::size_t>(axis)]) /
                           static_cast<float>(x[axis]));
  if (coordinates == ResizeCoordinates::tf_crop_and_resize) {
    attrs.roi = {0, 0.1f, -0.2f, 0, 1, 0.8f, 1.1f, 1};
    attrs.extrapolation_value = 7.0f;
  }
  return attrs;
}

TEST(MoveKernels, Resize) {
  std::mt19937 random(8);
  std::set<std::string> ran;
  const Shape x{2, 5, 6, 19};
  for (DType dtype : {DType::u8, DType::s8, DType::f32}) {
    for (int coordinates = 0; coordinates < count_of(ResizeCoordinates{}); ++coordinates) {
      for (ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear}) {
        for (const auto& sizes : {std::vector<Dim>{2, 10, 12, 19}, {2, 3, 4, 19}, {2, 5, 11, 7}, {2, 5, 6, 19}}) {
          ran.merge(check_move(kResize, resize_attrs(mode, static_cast<ResizeCoordinates>(coordinates), x, sizes),
                               {random_tensor(random, dtype, x)}));
        }
      }
    }
  }
  // Channels first and last, one axis, values that are no numbers beside positions that lie on an index.
  for (const auto& [from, to] : {std::pair{Shape{2, 3, 9, 37}, std::vector<Dim>{2, 3, 18, 74}},
                                 {Shape{1, 2, 33, 40}, {1, 2, 65, 79}},
                                 {Shape{1, 21, 30, 17}, {1, 5, 61, 17}},
                                 {Shape{3, 50}, {3, 33}},
                                 {Shape{3, 7, 20}, {3, 15, 20}}}) {
    for (ResizeCoordinates way : {ResizeCoordinates::half_pixel, ResizeCoordinates::align_corners}) {
      ran.merge(
          check_move(kResize, resize_attrs(ResizeMode::linear, way, from, to), {with_special_values(random, from)}));
      ran.merge(check_move(kResize, resize_attrs(ResizeMode::linear, way, from, to),
                           {random_tensor(random, DType::u8, from)}));
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "resize_lines").empty());
  EXPECT_TRUE(kernels_missing(ran, "resize_linear").empty());
  EXPECT_TRUE(kernels_missing(ran, "resize_nearest").empty());
}

// Of every way to weigh, the variants of interpolation that are no plain linear one.
std::vector<ResizeAttrs> weighted(const ResizeAttrs& attrs) {
  std::vector<ResizeAttrs> all;
  for (const ResizeMode mode : {ResizeMode::linear, ResizeMode::cubic}) {
    for (const bool excludes : {false, true}) {
      for (const bool antialias : {false, true}) {
        ResizeAttrs one = attrs;
        one.mode = mode, one.exclude_outside = excludes, one.antialias = antialias;
        one.cubic_coefficient = excludes ? -0.5f : -0.75f;
        all.push_back(one);
      }
    }
  }
  return all;
}

TEST(MoveKernels, ResizeByWeights) {
  std::mt19937 random(9);
  std::set<std::string> ran;
  const Shape x{2, 5, 6, 19};
  const auto check_all = [&](DType dtype, const Shape& from, const ResizeAttrs& plain) {
    for (const ResizeAttrs& attrs : weighted(plain))
      ran.merge(check_move(kResize, attrs, {random_tensor(random, dtype, from)}));
  };
  for (DType dtype : {DType::u8, DType::s8, DType::f32, DType::f64}) {
    for (int coordinates = 0; coordinates < count_of(ResizeCoordinates{}); ++coordinates) {
      const auto way = static_cast<ResizeCoordinates>(coordinates);
      for (const auto& sizes :
           {std::vector<Dim>{2, 10, 12, 19}, {2, 3, 4, 19}, {2, 5, 11, 7}, {2, 9, 3, 8}, {2, 5, 6, 19}})
        check_all(dtype, x, resize_attrs(ResizeMode::cubic, way, x, sizes));
    }
  }
  const ResizeCoordinates half = ResizeCoordinates::half_pixel;
  check_all(DType::f32, {7}, resize_attrs(ResizeMode::cubic, half, {7}, {3}));
  check_all(DType::f32, {3, 2, 4, 5, 1}, resize_attrs(ResizeMode::cubic, half, {3, 2, 4, 5, 1}, {5, 2, 9, 2, 1}));
  check_all(DType::f32, {1, 300, 260, 3}, resize_attrs(ResizeMode::cubic, half, {1, 300, 260, 3}, {1, 2, 40, 3}));
  check_all(DType::f32, {0, 3}, {.sizes = {0, 6}, .scales = {1, 2}});
  EXPECT_TRUE(kernels_missing(ran, "resize_weighted").empty());
}

}  // namespace
}  // namespace octavo::testing
