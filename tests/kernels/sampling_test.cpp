// Images read at computed positions, and elements put back: meaning, kernels with the references' bits, and the files
// that have them. Part of tests/kernels/.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/harness.h"
#include "ops/argmax_pool/argmax_pool.h"
#include "ops/evaluate.h"
#include "ops/grid_sample/grid_sample.h"
#include "ops/roi_align/roi_align.h"
#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

using Values = std::vector<float>;
using Numbers = std::vector<std::int64_t>;

Values values_of(const OpSpec& spec, const Attrs& attrs, const std::vector<Tensor>& inputs) {
  std::vector<ConstTensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.view());
  const auto results = evaluate_op(spec, attrs, views);
  EXPECT_TRUE(results.ok()) << to_string(results.errors());
  return results.ok() ? as_floats(results->front()) : Values{};
}

// A line of four elements, as an image.
Values sampled(const GridSampleAttrs& attrs, const Values& positions) {
  std::vector<float> grid;
  for (const float x : positions) grid.insert(grid.end(), {x, 0.0f});
  return values_of(kGridSample, attrs,
                   {floats({1, 1, 1, 4}, {1, 2, 4, 8}), floats({1, 1, std::ssize(positions), 2}, grid)});
}

TEST(GridSample, ReadsBetweenElementsAndOutside) {
  const auto elements = GridCoordinates::elements;
  const auto zeros = SamplePadding::zeros, border = SamplePadding::border, mirror = SamplePadding::reflection;
  const float nan = std::nanf(""), far = INFINITY;
  const auto linear = SampleMode::linear, nearest = SampleMode::nearest;
  EXPECT_EQ(sampled({linear, zeros, elements}, {0, 0.5f, 2.25f, -0.5f, 3.5f, 9, nan, far}),
            (Values{1, 1.5f, 5, 0.5f, 4, 0, 0, 0}));
  EXPECT_EQ(sampled({linear, border, elements}, {-0.5f, 3.5f, nan, far}), (Values{1, 8, 1, 8}));
  EXPECT_EQ(sampled({nearest, zeros, elements}, {0.5f, 1.5f, 2.5f, -0.5f, -0.6f}), (Values{1, 4, 4, 1, 0}));
  EXPECT_EQ(sampled({nearest, mirror, elements}, {-1, -2, 4, 5, 8}), (Values{1, 2, 8, 4, 1}));
  EXPECT_EQ(sampled({nearest, border, GridCoordinates::middles}, {-1, 1, 7}), (Values{1, 8, 8}));
  EXPECT_EQ(sampled({nearest, border, GridCoordinates::edges}, {-0.75f, 0.75f}), (Values{1, 8}));
  EXPECT_EQ(sampled({SampleMode::cubic, border, elements}, {1, 2}), (Values{2, 4}));
}

TEST(GridSample, RefusesWhatDoesNotBelongTogether) {
  const auto is_accepted = [](Shape x, Shape grid, DType dtype = DType::f32) {
    const Fact a{.dtype = dtype, .shape = x}, b{.dtype = DType::f32, .shape = grid};
    const Fact* inputs[] = {&a, &b};
    return infer_checked(kGridSample, GridSampleAttrs{}, inputs).ok();
  };
  EXPECT_TRUE(is_accepted({2, 3, 4, 5}, {2, 7, 8, 2}));
  EXPECT_TRUE(is_accepted({2, 3, 4, 5, 6}, {2, 7, 8, 9, 3}));
  EXPECT_FALSE(is_accepted({2, 3, 4, 5}, {1, 7, 8, 2}));
  EXPECT_FALSE(is_accepted({2, 3, 4, 5}, {2, 7, 8, 3}));
  EXPECT_FALSE(is_accepted({2, 3, 0, 5}, {2, 7, 8, 2}));
  EXPECT_FALSE(is_accepted({2, 3, 4}, {2, 7, 1}));
  EXPECT_FALSE(is_accepted({2, 3, 4, 5}, {2, 7, 8, 2}, DType::u8));
}

TEST(GridSample, KernelsHaveTheReferencesBits) {
  std::mt19937 random(3);
  std::set<std::string> ran;
  for (int kind = 0; kind < 27; ++kind) {
    for (const Layout layout : {Layout::channels_first, Layout::channels_last}) {
      const GridSampleAttrs attrs{.mode = static_cast<SampleMode>(kind % 3),
                                  .padding = static_cast<SamplePadding>(kind / 3 % 3),
                                  .coordinates = static_cast<GridCoordinates>(kind / 9),
                                  .layout = layout};
      const bool is_first = layout == Layout::channels_first;
      const Tensor x = random_tensor(random, DType::f32, is_first ? Shape{2, 67, 5, 3} : Shape{2, 5, 3, 67});
      const Tensor volume = random_tensor(random, DType::f32, is_first ? Shape{1, 3, 4, 1, 6} : Shape{1, 4, 1, 6, 3});
      Tensor grid = random_tensor(random, DType::f32, {2, 6, 7, 2});
      grid.as<float>()[3] = std::nanf(""), grid.as<float>()[8] = -INFINITY, grid.as<float>()[17] = 3e38f;
      ran.merge(check_kernels({&kGridSample, attrs, {x, grid}, {}}));
      ran.merge(check_kernels({&kGridSample, attrs, {volume, random_tensor(random, DType::f32, {1, 3, 2, 5, 3})}, {}}));
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "sampling_grid").empty());
}

TEST(RoiAlign, PoolsSamplesOfBins) {
  const Tensor x = floats({1, 1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor region = floats({1, 4}, {0, 0, 4, 2}), image = integers({1}, {0});
  const RoiAlignAttrs halves{.height = 2, .width = 2, .samples = 1};
  EXPECT_EQ(values_of(kRoiAlign, halves, {x, region, image}), (Values{0.5f, 2.5f, 4.5f, 6.5f}));
  // Two samples per bin and axis, in the middles of elements.
  EXPECT_EQ(values_of(kRoiAlign, RoiAlignAttrs{.width = 2, .samples = 2}, {x, region, image}), (Values{2.5f, 4.5f}));
  EXPECT_EQ(
      values_of(kRoiAlign, RoiAlignAttrs{.pooling = RoiPooling::max, .width = 2, .samples = 2}, {x, region, image}),
      (Values{5, 7}));
  // Outside the image, and no region at all.
  EXPECT_EQ(values_of(kRoiAlign, RoiAlignAttrs{.samples = 1}, {x, floats({1, 4}, {50, 50, 60, 60}), image}),
            (Values{0}));
  EXPECT_EQ(values_of(kRoiAlign, RoiAlignAttrs{}, {x, Tensor(DType::f32, Shape{0, 4}), integers({0}, {})}), Values{});
}

TEST(RoiAlign, KernelsHaveTheReferencesBits) {
  std::mt19937 random(4);
  std::set<std::string> ran;
  const Tensor images = integers({5}, {1, 0, -7, 1, 900});
  for (const RoiPooling pooling : {RoiPooling::average, RoiPooling::max}) {
    for (const std::int64_t samples : {0, 1, 3}) {
      for (const Layout layout : {Layout::channels_first, Layout::channels_last}) {
        const bool is_first = layout == Layout::channels_first;
        const Tensor x = random_tensor(random, DType::f32, is_first ? Shape{2, 70, 6, 9} : Shape{2, 6, 9, 70});
        Tensor regions = random_tensor(random, DType::f32, {5, 4});
        regions.as<float>()[5] = std::nanf(""), regions.as<float>()[8] = -3e38f, regions.as<float>()[11] = 1e9f;
        const RoiAlignAttrs attrs{.pooling = pooling,
                                  .height = 3,
                                  .width = 2,
                                  .samples = samples,
                                  .scale = 0.75f,
                                  .is_half_pixel = samples != 1,
                                  .layout = layout};
        ran.merge(check_kernels({&kRoiAlign, attrs, {x, regions, images}, {}}));
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "sampling_roi").empty());
}

TEST(ArgmaxPool, KernelHasTheReferencesBits) {
  std::mt19937 random(5);
  std::set<std::string> ran;
  for (const DType dtype : {DType::u8, DType::s8, DType::f32, DType::f64}) {
    for (const bool is_column_major : {false, true}) {
      const auto check = [&](const Window& window, const Shape& x) {
        const ArgmaxPoolAttrs attrs{.window = window, .rounding = Rounding::ceil, .is_column_major = is_column_major};
        Tensor values = random_tensor(random, dtype, x);
        if (dtype == DType::f32) values.as<float>()[2] = std::nanf("");
        ran.merge(check_kernels({&kArgmaxPool, attrs, {values}, {}}));
      };
      check({{3}, {2}, {1}, {1}, {0}}, {2, 3, 9});
      check({{3, 2}, {1, 2}, {2, 1}, {1, 0}, {1, 1}}, {2, 3, 7, 8});
      check({{2, 2, 3}, {1, 1, 2}, {1, 1, 1}, {0, 1, 1}, {1, 0, 1}}, {1, 2, 3, 4, 5});
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "pool_argmax").empty());
}

TEST(ArgmaxPool, NumbersElementsOfAllOfX) {
  const Tensor x = floats({1, 2, 2, 3}, {1, 5, 2, 7, 5, 3, 0, 0, 0, 0, 0, 9});
  const auto of_onnx = [&](std::int64_t order) {
    const auto results =
        answers_of("MaxPool", 12, {x}, {}, {{"kernel_shape", Numbers{2, 2}}, {"storage_order", order}}, 2);
    EXPECT_EQ(as_floats(results[0]), (Values{7, 5, 0, 9}));
    return to_int64s(results[1].view());
  };
  EXPECT_EQ(of_onnx(0), (Numbers{3, 1, 6, 11}));
  EXPECT_EQ(of_onnx(1), (Numbers{1, 2, 6, 11}));
}

TEST(MaxUnpool, PutsValuesBack) {
  const Tensor x = floats({1, 1, 1, 2}, {5, 6}), places = integers({1, 1, 1, 2}, {1, 6});
  const std::vector<NamedAttribute> attributes{{"kernel_shape", Numbers{2, 2}}, {"strides", Numbers{2, 2}}};
  EXPECT_EQ(as_floats(answers_of("MaxUnpool", 11, {x, places}, {}, attributes)[0]), (Values{0, 5, 0, 0, 0, 0, 6, 0}));
  EXPECT_EQ(as_floats(answers_of("MaxUnpool", 11, {x, places}, {integers({4}, {1, 1, 3, 4})}, attributes)[0]),
            (Values{0, 5, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0}));
}

TEST(Col2Im, AddsUpWhereBlocksOverlap) {
  // Blocks of two elements, one element apart: the middle one is in both.
  const auto y =
      answers_of("Col2Im", 18, {floats({1, 2, 2}, {1, 2, 30, 40})}, {integers({1}, {3}), integers({1}, {2})});
  EXPECT_EQ(y[0].shape(), (Shape{1, 1, 3}));
  EXPECT_EQ(as_floats(y[0]), (Values{1, 32, 40}));
}

TEST(DeformConv, ReadsWhereTheOffsetsSay) {
  const Tensor x = floats({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  // One tap: half a row down and one column to the right; the mask halves it.
  const Tensor offset = floats({1, 2, 2, 3}, {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 1, 1, 1, 1, 1, 1});
  const Tensor w = floats({1, 1, 1, 1}, {2}), bias = floats({1}, {100});
  const Tensor mask = floats({1, 1, 2, 3}, Values(6, 0.5f));
  EXPECT_EQ(as_floats(answers_of("DeformConv", 19, {x, w, offset, bias, mask}, {})[0]),
            (Values{103.5f, 104.5f, 100, 102.5f, 103, 100}));
}

}  // namespace
}  // namespace octavo::testing
