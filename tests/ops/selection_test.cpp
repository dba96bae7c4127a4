// gather_nd, scatter_elements, scatter_nd, topk, bitcast and det: what they mean, and what they refuse.
#include <cmath>
#include <limits>

#include "ops/bitcast/bitcast.h"
#include "ops/det/det.h"
#include "ops/gather_nd/gather_nd.h"
#include "ops/ops_test.h"
#include "ops/scatter_elements/scatter_elements.h"
#include "ops/scatter_nd/scatter_nd.h"
#include "ops/topk/topk.h"

namespace octavo {
namespace {

using ops_test::fact;
using ops_test::iota;
using ops_test::refuses;
using ops_test::run;
using ops_test::values;

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;

Tensor longs(Shape shape, const Ints& numbers) { return Tensor::of<std::int64_t>(std::move(shape), numbers); }
Tensor floats(Shape shape, const Floats& numbers) { return Tensor::of<float>(std::move(shape), numbers); }

// ---- gather_nd ----

TEST(GatherNd, PicksElementsAndSlices) {
  const Tensor x = iota<std::int32_t>({2, 3, 2});
  const auto picked = [&](const Tensor& indices, std::int64_t batch_dims) {
    const Tensor y = run(kGatherNd, GatherNdAttrs{batch_dims}, {x, indices});
    return std::pair(y.shape(), values<std::int32_t>(y));
  };
  EXPECT_EQ(picked(longs({2, 3}, {0, 1, 1, 1, -1, 0}), 0), std::pair(Shape({2}), (std::vector<std::int32_t>{3, 10})));
  EXPECT_EQ(picked(longs({2, 2}, {0, 2, 1, -3}), 0), std::pair(Shape({2, 2}), (std::vector<std::int32_t>{4, 5, 6, 7})));
  EXPECT_EQ(picked(longs({2, 1}, {2, 0}), 1), std::pair(Shape({2, 2}), (std::vector<std::int32_t>{4, 5, 6, 7})));
  EXPECT_EQ(picked(longs({2, 2, 1}, {0, 1, 2, 0}), 1),
            std::pair(Shape({2, 2, 2}), (std::vector<std::int32_t>{0, 1, 2, 3, 10, 11, 6, 7})));
  EXPECT_EQ(picked(longs({1, 2}, {9, -9}), 0), std::pair(Shape({1, 2}), (std::vector<std::int32_t>{6, 7})));
}

TEST(GatherNd, RefusesWhatItCouldNotPick) {
  const Fact x = fact(DType::f32, {2, 3}), empty = fact(DType::f32, {0, 3});
  const auto indices = [](Shape shape) { return fact(DType::s64, std::move(shape)); };
  EXPECT_FALSE(refuses(kGatherNd, GatherNdAttrs{}, {x, indices({4, 2})}));
  EXPECT_FALSE(refuses(kGatherNd, GatherNdAttrs{}, {empty, indices({0, 1})}));
  EXPECT_TRUE(refuses(kGatherNd, GatherNdAttrs{}, {x, indices({})}));
  EXPECT_TRUE(refuses(kGatherNd, GatherNdAttrs{}, {x, indices({4, 3})}));
  EXPECT_TRUE(refuses(kGatherNd, GatherNdAttrs{}, {x, fact(DType::f32, {4, 2})}));
  EXPECT_TRUE(refuses(kGatherNd, GatherNdAttrs{}, {empty, indices({4, 1})}));
  EXPECT_TRUE(refuses(kGatherNd, GatherNdAttrs{1}, {x, indices({3, 1})}));
  EXPECT_TRUE(refuses(kGatherNd, GatherNdAttrs{2}, {x, indices({2, 1})}));
  EXPECT_TRUE(refuses(kGatherNd, GatherNdAttrs{-1}, {x, indices({2, 1})}));
  EXPECT_TRUE(refuses(kGatherNd, GatherNdAttrs{}, {x, indices({std::int64_t{1} << 40, 1})}));
}

// ---- scatters ----

TEST(ScatterElements, WritesAlongAnAxis) {
  const Tensor x = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  const auto written = [&](std::int64_t axis, ScatterKind kind, const Tensor& indices, const Tensor& updates) {
    return values<float>(run(kScatterElements, ScatterElementsAttrs{axis, kind}, {x, indices, updates}));
  };
  using enum ScatterKind;
  EXPECT_EQ(written(1, assign, longs({1, 2}, {2, 0}), floats({1, 2}, {10, 20})), (Floats{20, 1, 10, 3, 4, 5}));
  EXPECT_EQ(written(0, assign, longs({1, 3}, {1, 0, -1}), floats({1, 3}, {10, 20, 30})), (Floats{0, 20, 2, 10, 4, 30}));
  // The last of equal indices counts; outside ones are dropped.
  EXPECT_EQ(written(1, assign, longs({1, 4}, {1, 1, 3, -4}), floats({1, 4}, {7, 8, 9, 9})), (Floats{0, 8, 2, 3, 4, 5}));
  EXPECT_EQ(written(1, add, longs({2, 2}, {1, 1, 0, 2}), floats({2, 2}, {7, 8, 9, 1})), (Floats{0, 16, 2, 12, 4, 6}));
  EXPECT_EQ(written(1, mul, longs({1, 2}, {1, 2}), floats({1, 2}, {7, 8})), (Floats{0, 7, 16, 3, 4, 5}));
  EXPECT_EQ(written(1, max, longs({1, 2}, {1, 2}), floats({1, 2}, {7, -8})), (Floats{0, 7, 2, 3, 4, 5}));
  EXPECT_EQ(written(1, min, longs({1, 2}, {1, 2}), floats({1, 2}, {7, -8})), (Floats{0, 1, -8, 3, 4, 5}));
}

TEST(ScatterElements, IntegersWrapAndNanComesThrough) {
  const ScatterElementsAttrs add{0, ScatterKind::add};
  const Tensor bytes = Tensor::of<std::uint8_t>({2}, std::vector<std::uint8_t>{250, 1});
  EXPECT_EQ(
      values<std::uint8_t>(run(kScatterElements, add,
                               {bytes, longs({1}, {0}), Tensor::of<std::uint8_t>({1}, std::vector<std::uint8_t>{10})})),
      (std::vector<std::uint8_t>{4, 1}));
  for (const ScatterKind kind : {ScatterKind::max, ScatterKind::min}) {
    const Tensor y = run(kScatterElements, ScatterElementsAttrs{0, kind},
                         {floats({2}, {NAN, 1}), longs({2}, {0, 1}), floats({2}, {3, NAN})});
    EXPECT_TRUE(std::isnan(y.as<float>()[0]) && std::isnan(y.as<float>()[1]));
  }
}

TEST(ScatterElements, RefusesShapesAndTypes) {
  const Fact x = fact(DType::f32, {2, 3}), indices = fact(DType::s64, {2, 2}), updates = fact(DType::f32, {2, 2});
  EXPECT_FALSE(refuses(kScatterElements, ScatterElementsAttrs{1}, {x, indices, updates}));
  EXPECT_FALSE(
      refuses(kScatterElements, ScatterElementsAttrs{1}, {x, fact(DType::s32, {2, 9}), fact(DType::f32, {2, 9})}));
  EXPECT_TRUE(
      refuses(kScatterElements, ScatterElementsAttrs{0}, {x, fact(DType::s32, {2, 9}), fact(DType::f32, {2, 9})}));
  EXPECT_TRUE(refuses(kScatterElements, ScatterElementsAttrs{2}, {x, indices, updates}));
  EXPECT_TRUE(refuses(kScatterElements, ScatterElementsAttrs{-1}, {x, indices, updates}));
  EXPECT_TRUE(refuses(kScatterElements, ScatterElementsAttrs{1}, {x, indices, fact(DType::f32, {2, 3})}));
  EXPECT_TRUE(refuses(kScatterElements, ScatterElementsAttrs{1}, {x, indices, fact(DType::f64, {2, 2})}));
  EXPECT_TRUE(refuses(kScatterElements, ScatterElementsAttrs{1}, {x, fact(DType::u8, {2, 2}), updates}));
  EXPECT_TRUE(refuses(kScatterElements, ScatterElementsAttrs{0},
                      {fact(DType::f32, {}), fact(DType::s64, {}), fact(DType::f32, {})}));
  const Fact flags = fact(DType::boolean, {2, 3}), flag_updates = fact(DType::boolean, {2, 2});
  EXPECT_FALSE(refuses(kScatterElements, ScatterElementsAttrs{1}, {flags, indices, flag_updates}));
  EXPECT_TRUE(refuses(kScatterElements, ScatterElementsAttrs{1, ScatterKind::add}, {flags, indices, flag_updates}));
}

TEST(ScatterNd, WritesElementsAndSlices) {
  const Tensor x = floats({3, 2}, {0, 1, 2, 3, 4, 5});
  const auto written = [&](ScatterKind kind, const Tensor& indices, const Tensor& updates) {
    return values<float>(run(kScatterNd, ScatterNdAttrs{kind}, {x, indices, updates}));
  };
  using enum ScatterKind;
  EXPECT_EQ(written(assign, longs({2, 2}, {0, 1, -1, 0}), floats({2}, {10, 20})), (Floats{0, 10, 2, 3, 20, 5}));
  EXPECT_EQ(written(assign, longs({2, 1}, {2, 2}), floats({2, 2}, {6, 7, 8, 9})), (Floats{0, 1, 2, 3, 8, 9}));
  EXPECT_EQ(written(add, longs({2, 1}, {2, 2}), floats({2, 2}, {6, 7, 8, 9})), (Floats{0, 1, 2, 3, 18, 21}));
  EXPECT_EQ(written(assign, longs({1, 2}, {0, 2}), floats({1}, {9})), (Floats{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(written(mul, longs({1, 0}, {}), floats({1, 3, 2}, {2, 2, 2, 2, 2, 2})), (Floats{0, 2, 4, 6, 8, 10}));
}

TEST(ScatterNd, RefusesShapesAndTypes) {
  const Fact x = fact(DType::f32, {3, 2});
  EXPECT_TRUE(refuses(kScatterNd, ScatterNdAttrs{}, {x, fact(DType::s64, {}), fact(DType::f32, {})}));
  EXPECT_TRUE(refuses(kScatterNd, ScatterNdAttrs{}, {x, fact(DType::s64, {1, 3}), fact(DType::f32, {1})}));
  EXPECT_TRUE(refuses(kScatterNd, ScatterNdAttrs{}, {x, fact(DType::s64, {1, 1}), fact(DType::f32, {1, 3})}));
  EXPECT_TRUE(refuses(kScatterNd, ScatterNdAttrs{}, {x, fact(DType::s8, {1, 1}), fact(DType::f32, {1, 2})}));
  EXPECT_FALSE(refuses(kScatterNd, ScatterNdAttrs{}, {x, fact(DType::s32, {1, 1}), fact(DType::f32, {1, 2})}));
}

// ---- topk ----

std::pair<Floats, Ints> first_of(const Tensor& x, const TopkAttrs& attrs) {
  const std::vector<ConstTensorView> inputs{x.view()};
  const auto results = evaluate_op(kTopk, attrs, inputs);
  EXPECT_TRUE(results.ok());
  return {values<float>((*results)[0]), values<std::int64_t>((*results)[1])};
}

TEST(Topk, SortsAndTakesTheFirstOfEquals) {
  const Tensor x = floats({2, 4}, {1, 4, 4, 2, -1, -3, -3, 0});
  EXPECT_EQ(first_of(x, {.axis = 1, .k = 3}), std::pair(Floats({4, 4, 2, 0, -1, -3}), Ints({1, 2, 3, 3, 0, 1})));
  EXPECT_EQ(first_of(x, {.axis = 1, .k = 2, .largest = false}), std::pair(Floats({1, 2, -3, -3}), Ints({0, 3, 1, 2})));
  EXPECT_EQ(first_of(x, {.axis = 0, .k = 1}), std::pair(Floats({1, 4, 4, 2}), Ints({0, 0, 0, 0})));
  EXPECT_EQ(first_of(x, {.axis = 1, .k = 0}), std::pair(Floats(), Ints()));
}

TEST(Topk, NanIsTheLargest) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = floats({4}, {1, NAN, inf, NAN});
  EXPECT_EQ(first_of(x, {.axis = 0, .k = 3}).second, (Ints{1, 3, 2}));
  EXPECT_EQ(first_of(x, {.axis = 0, .k = 3, .largest = false}).second, (Ints{0, 2, 1}));
}

TEST(Topk, RefusesAxesAndCounts) {
  const Fact x = fact(DType::f32, {2, 4});
  EXPECT_TRUE(refuses(kTopk, TopkAttrs{.axis = 2}, {x}));
  EXPECT_TRUE(refuses(kTopk, TopkAttrs{.axis = -1}, {x}));
  EXPECT_TRUE(refuses(kTopk, TopkAttrs{.axis = 1, .k = 5}, {x}));
  EXPECT_TRUE(refuses(kTopk, TopkAttrs{.axis = 1, .k = -1}, {x}));
  EXPECT_TRUE(refuses(kTopk, TopkAttrs{.axis = 1}, {fact(DType::boolean, {2, 4})}));
  EXPECT_FALSE(refuses(kTopk, TopkAttrs{.axis = 1, .k = 4}, {x}));
}

// ---- bitcast, det ----

TEST(Bitcast, KeepsTheBits) {
  EXPECT_EQ(values<std::int32_t>(run(kBitcast, BitcastAttrs{DType::s32}, {floats({2}, {1.0f, -0.0f})})),
            (std::vector<std::int32_t>{0x3f800000, std::numeric_limits<std::int32_t>::min()}));
  EXPECT_TRUE(refuses(kBitcast, BitcastAttrs{DType::s64}, {fact(DType::f32, {2})}));
  EXPECT_TRUE(refuses(kBitcast, BitcastAttrs{DType::boolean}, {fact(DType::u8, {2})}));
  EXPECT_FALSE(refuses(kBitcast, BitcastAttrs{DType::u8}, {fact(DType::boolean, {2})}));
}

TEST(Det, OfMatrices) {
  const auto det = [](Shape shape, const Floats& numbers) {
    return values<float>(run(kDet, NoAttrs{}, {floats(std::move(shape), numbers)}));
  };
  EXPECT_EQ(det({2, 2}, {0, 2, 3, 4}), Floats{-6});
  EXPECT_EQ(det({3, 2, 2}, {1, 2, 3, 4, 1, 2, 2, 4, 2, 0, 0, 2}), (Floats{-2, 0, 4}));
  EXPECT_EQ(det({3, 3}, {2, 0, 1, 1, 3, 2, 1, 1, 1}), Floats{0});
  EXPECT_EQ(det({2, 0, 0}, {}), (Floats{1, 1}));
  EXPECT_TRUE(std::isnan(det({2, 2}, {1, 2, NAN, 4})[0]));
  EXPECT_TRUE(refuses(kDet, NoAttrs{}, {fact(DType::f32, {2, 3})}));
  EXPECT_TRUE(refuses(kDet, NoAttrs{}, {fact(DType::f32, {3})}));
  EXPECT_TRUE(refuses(kDet, NoAttrs{}, {fact(DType::s32, {3, 3})}));
}

}  // namespace
}  // namespace octavo
