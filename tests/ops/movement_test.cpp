// concat, reshape, transpose, slice, pad, gather, cast, expand, where, argmax: small answers by hand, any element size,
// hostile attributes.
#include "ops/movement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/argmax/argmax.h"
#include "ops/cast/cast.h"
#include "ops/concat/concat.h"
#include "ops/expand/expand.h"
#include "ops/gather/gather.h"
#include "ops/gather_elements/gather_elements.h"
#include "ops/ops_test.h"
#include "ops/pad/pad.h"
#include "ops/reshape/reshape.h"
#include "ops/slice/slice.h"
#include "ops/transpose/transpose.h"
#include "ops/where/where.h"

namespace octavo {
namespace {

using ops_test::fact;
using ops_test::iota;
using ops_test::refuses;
using ops_test::run;
using ops_test::values;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
using Ints = std::vector<std::int32_t>;

TEST(Transpose, AnyElementSize) {
  const auto check = [](auto zero) {
    using T = decltype(zero);
    const Tensor y = run(kTranspose, TransposeAttrs{{2, 0, 1}}, {iota<T>({2, 3, 4})});
    EXPECT_EQ(y.shape(), (Shape{4, 2, 3}));
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 2; ++j) {
        for (int k = 0; k < 3; ++k) EXPECT_EQ(y.as<T>()[(i * 2 + j) * 3 + k], static_cast<T>(j * 12 + k * 4 + i));
      }
    }
  };
  check(std::uint8_t{});
  check(std::int16_t{});
  check(float{});
  check(double{});
  EXPECT_EQ(run(kTranspose, TransposeAttrs{{}}, {Tensor::scalar(5)}), Tensor::scalar(5));
  EXPECT_EQ(run(kTranspose, TransposeAttrs{{1, 0}}, {iota<float>({0, 3})}).shape(), (Shape{3, 0}));
  for (const std::vector<std::int64_t>& perm :
       std::vector<std::vector<std::int64_t>>{{0}, {0, 0}, {0, 2}, {-1, 0}, {0, 1, 2}, {kMin, kMax}}) {
    EXPECT_TRUE(refuses(kTranspose, TransposeAttrs{perm}, {fact(DType::f32, {2, 3})}));
  }
}

// Against index arithmetic, with sizes on both sides of the tiles in which planes are copied.
TEST(Transpose, EveryOrderOfOddAndLargeAxes) {
  const Shape shape{3, 34, 1, 65};
  const Tensor x = iota<std::int32_t>(shape);
  std::vector<std::int64_t> perm = {0, 1, 2, 3};
  do {
    const Tensor y = run(kTranspose, TransposeAttrs{perm}, {x});
    const auto from = shape.strides();
    const auto to = y.shape().strides();
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      std::int64_t at = 0;
      for (int axis = 0; axis < 4; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        at += i / to[a] % y.shape()[axis] * from[static_cast<std::size_t>(perm[a])];
      }
      wrong += y.as<std::int32_t>()[i] != at ? 1 : 0;
    }
    ASSERT_EQ(wrong, 0) << print(perm);
  } while (std::next_permutation(perm.begin(), perm.end()));
}

TEST(Reshape, KeepsElements) {
  EXPECT_EQ(values<std::int32_t>(run(kReshape, ReshapeAttrs{{3, 2}}, {iota<std::int32_t>({2, 3})})),
            (Ints{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(run(kReshape, ReshapeAttrs{{}}, {iota<float>({1, 1})}).shape(), Shape{});
  for (const std::vector<Dim>& shape : std::vector<std::vector<Dim>>{{-1, 6}, {-2, -3}, {7}, {kMax, kMax}, {}}) {
    EXPECT_TRUE(refuses(kReshape, ReshapeAttrs{shape}, {fact(DType::f32, {2, 3})}));
  }
}

TEST(Concat, AlongEveryAxis) {
  const Tensor a = iota<std::int32_t>({2, 2});
  const Tensor b = Tensor::of<std::int32_t>({2, 1}, Ints{8, 9});
  EXPECT_EQ(values<std::int32_t>(run(kConcat, ConcatAttrs{-1}, {a, b, a})), (Ints{0, 1, 8, 0, 1, 2, 3, 9, 2, 3}));
  EXPECT_EQ(values<std::int32_t>(run(kConcat, ConcatAttrs{0}, {a, a})), (Ints{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(run(kConcat, ConcatAttrs{0}, {iota<float>({0, 2}), iota<float>({1, 2})}).shape(), (Shape{1, 2}));
  EXPECT_TRUE(refuses(kConcat, ConcatAttrs{0}, {}));
  EXPECT_TRUE(refuses(kConcat, ConcatAttrs{0}, {fact(DType::f32, {2, 2}), fact(DType::f32, {2, 3})}));
  EXPECT_TRUE(refuses(kConcat, ConcatAttrs{0}, {fact(DType::f32, {2}), fact(DType::s32, {2})}));
  EXPECT_TRUE(refuses(kConcat, ConcatAttrs{0}, {fact(DType::f32, {2}), fact(DType::f32, {2, 2})}));
  EXPECT_TRUE(refuses(kConcat, ConcatAttrs{1}, {fact(DType::f32, {2})}));
  EXPECT_TRUE(refuses(kConcat, ConcatAttrs{0}, {fact(DType::f32, {})}));
  EXPECT_FALSE(infer_checked(kConcat, ConcatAttrs{0}, std::vector<const Fact*>{nullptr}).ok());
}

TEST(Slice, StepsBothWays) {
  const Tensor x = iota<std::int32_t>({3, 5});
  EXPECT_EQ(values<std::int32_t>(run(kSlice, SliceAttrs{{2, 1}, {-2, 3}, {2, 2}}, {x})), (Ints{11, 14, 1, 4}));
  EXPECT_EQ(run(kSlice, SliceAttrs{{3, 5}, {1, 1}, {0, 0}}, {x}).elements(), 0);
  EXPECT_EQ(values<std::int32_t>(run(kSlice, SliceAttrs{{1, 4}, {kMax, kMin}, {1, 1}}, {x})), (Ints{9}));
  const std::vector<SliceAttrs> hostile = {
      {{0, 0}, {1, 1}, {3, 6}},    {{0, 0}, {1, 0}, {3, 1}},
      {{-1, 0}, {1, 1}, {1, 1}},   {{0, 0}, {1, kMax}, {1, 2}},
      {{0, 4}, {1, kMin}, {1, 2}}, {{0, 0}, {1, 1}, {kMax, 1}},
      {{kMax, 0}, {1, 1}, {1, 1}}, {{0, 0}, {-1, 1}, {2, 1}},
      {{0, 0}, {1, 1}, {-1, 1}},   {{0}, {1}, {1}},
      {{0, 1}, {1, 2}, {1, 3}},    {{4, 0}, {1, 1}, {0, 1}},
  };
  for (const SliceAttrs& attrs : hostile)
    EXPECT_TRUE(refuses(kSlice, attrs, {fact(DType::f32, {3, 5})})) << print(attrs);
}

TEST(Pad, EveryMode) {
  const Tensor x = Tensor::of<std::int32_t>({3}, Ints{1, 2, 3});
  const auto result = [&](PadMode mode, std::int64_t begin, std::int64_t end) {
    return values<std::int32_t>(run(kPad, PadAttrs{mode, {begin}, {end}}, {x}));
  };
  EXPECT_EQ(result(PadMode::constant, 2, 1), (Ints{0, 0, 1, 2, 3, 0}));
  EXPECT_EQ(result(PadMode::edge, 2, 1), (Ints{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(result(PadMode::reflect, 2, 2), (Ints{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(result(PadMode::reflect, 0, 5), (Ints{1, 2, 3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(result(PadMode::wrap, 2, 4), (Ints{2, 3, 1, 2, 3, 1, 2, 3, 1}));
  EXPECT_EQ(result(PadMode::constant, -1, -1), (Ints{2}));
  EXPECT_EQ(result(PadMode::constant, -5, 4), (Ints{0, 0}));
  EXPECT_EQ(values<std::int32_t>(run(kPad, PadAttrs{PadMode::constant, {1}, {0}}, {x, Tensor::scalar(7)})),
            (Ints{7, 1, 2, 3}));
  EXPECT_EQ(
      values<std::int32_t>(run(kPad, PadAttrs{PadMode::reflect, {1}, {1}}, {Tensor::of<std::int32_t>({1}, Ints{4})})),
      (Ints{4, 4, 4}));
  const Tensor image = run(kPad, PadAttrs{PadMode::constant, {0, 1}, {1, 0}}, {iota<std::int32_t>({2, 2})});
  EXPECT_EQ(values<std::int32_t>(image), (Ints{0, 0, 1, 0, 2, 3, 0, 0, 0}));
  const Fact fx = fact(DType::s32, {3});
  EXPECT_TRUE(refuses(kPad, PadAttrs{PadMode::constant, {-2}, {-2}}, {fx}));
  EXPECT_TRUE(refuses(kPad, PadAttrs{PadMode::constant, {kMax}, {kMax}}, {fx}));
  EXPECT_TRUE(refuses(kPad, PadAttrs{PadMode::constant, {kMin}, {0}}, {fx}));
  EXPECT_TRUE(refuses(kPad, PadAttrs{PadMode::constant, {kMaxElements}, {1}}, {fx}));
  EXPECT_TRUE(refuses(kPad, PadAttrs{PadMode::constant, {1, 1}, {1, 1}}, {fx}));
  EXPECT_TRUE(refuses(kPad, PadAttrs{PadMode::edge, {1}, {0}}, {fact(DType::s32, {0})}));
  EXPECT_TRUE(refuses(kPad, PadAttrs{PadMode::constant, {1}, {0}}, {fx, fact(DType::f32, {})}));
  EXPECT_TRUE(refuses(kPad, PadAttrs{PadMode::constant, {1}, {0}}, {fx, fact(DType::s32, {2})}));
}

TEST(Gather, NegativeAndClampedIndices) {
  const Tensor x = iota<std::int32_t>({2, 3});
  const Tensor indices = Tensor::of<std::int64_t>({2, 1}, std::vector<std::int64_t>{-1, 0});
  const Tensor y = run(kGather, GatherAttrs{1}, {x, indices});
  EXPECT_EQ(y.shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(values<std::int32_t>(y), (Ints{2, 0, 5, 3}));
  const Tensor wild = Tensor::of<std::int64_t>({3}, std::vector<std::int64_t>{kMin, kMax, -4});
  EXPECT_EQ(values<std::int32_t>(run(kGather, GatherAttrs{1}, {x, wild})), (Ints{0, 2, 0, 3, 5, 3}));
  Fact constant = fact(DType::s64, {3});
  constant.constant = std::make_shared<const Tensor>(wild);
  EXPECT_TRUE(refuses(kGather, GatherAttrs{1}, {fact(DType::f32, {2, 3}), constant}));
  EXPECT_TRUE(refuses(kGather, GatherAttrs{2}, {fact(DType::f32, {2, 3}), fact(DType::s64, {})}));
  EXPECT_TRUE(refuses(kGather, GatherAttrs{0}, {fact(DType::f32, {2, 3}), fact(DType::f32, {})}));
  EXPECT_TRUE(refuses(kGather, GatherAttrs{0}, {fact(DType::f32, {0, 3}), fact(DType::s64, {})}));
  EXPECT_TRUE(refuses(kGather, GatherAttrs{0}, {fact(DType::f32, {}), fact(DType::s64, {})}));
}

TEST(GatherElements, EachByItsIndex) {
  const Tensor x = iota<std::int32_t>({2, 3});
  const Tensor indices = Tensor::of<std::int64_t>({1, 4}, std::vector<std::int64_t>{-1, 0, kMax, kMin});
  const Tensor y = run(kGatherElements, GatherElementsAttrs{1}, {x, indices});
  EXPECT_EQ(y.shape(), (Shape{1, 4}));
  EXPECT_EQ(values<std::int32_t>(y), (Ints{2, 0, 2, 0}));
  const Tensor rows = Tensor::of<std::int32_t>({2, 3}, std::vector<std::int32_t>{1, 0, -1, 0, -2, 1});
  EXPECT_EQ(values<std::int32_t>(run(kGatherElements, GatherElementsAttrs{0}, {x, rows})), (Ints{3, 1, 5, 0, 1, 5}));
  Fact constant = fact(DType::s64, {1, 4});
  constant.constant = std::make_shared<const Tensor>(indices);
  const auto is_refused = [&](std::int64_t axis, const Fact& data, const Fact& picked) {
    return refuses(kGatherElements, GatherElementsAttrs{axis}, {data, picked});
  };
  EXPECT_TRUE(is_refused(1, fact(DType::f32, {2, 3}), constant));
  EXPECT_TRUE(is_refused(2, fact(DType::f32, {2, 3}), fact(DType::s64, {2, 3})));
  EXPECT_TRUE(is_refused(0, fact(DType::f32, {2, 3}), fact(DType::f32, {2, 3})));
  EXPECT_TRUE(is_refused(0, fact(DType::f32, {2, 3}), fact(DType::s64, {2})));
  EXPECT_TRUE(is_refused(0, fact(DType::f32, {2, 3}), fact(DType::s64, {5, 4})));
  EXPECT_TRUE(is_refused(0, fact(DType::f32, {0, 3}), fact(DType::s64, {1, 3})));
}

TEST(Cast, TruncatesSaturatesAndWraps) {
  const Tensor x = Tensor::of<float>({7}, std::vector<float>{-1e30f, -1.9f, 1.9f, 127.9f, 1e30f, NAN, -0.0f});
  EXPECT_EQ(values<std::int8_t>(run(kCast, CastAttrs{DType::s8}, {x})),
            (std::vector<std::int8_t>{-128, -1, 1, 127, 127, 0, 0}));
  EXPECT_EQ(values<std::uint8_t>(run(kCast, CastAttrs{DType::boolean}, {x})),
            (std::vector<std::uint8_t>{1, 1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(values<std::int64_t>(run(kCast, CastAttrs{DType::s64}, {x}))[4], kMax);
  const Tensor wide = Tensor::of<std::int64_t>({3}, std::vector<std::int64_t>{300, -1, (std::int64_t{1} << 24) + 1});
  EXPECT_EQ(values<std::uint8_t>(run(kCast, CastAttrs{DType::u8}, {wide})), (std::vector<std::uint8_t>{44, 255, 1}));
  EXPECT_EQ(values<float>(run(kCast, CastAttrs{DType::f32}, {wide})), (std::vector<float>{300, -1, 16777216}));
  const Tensor big = Tensor::scalar(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(values<std::int64_t>(run(kCast, CastAttrs{DType::s64}, {big}))[0], -1);
  EXPECT_EQ(values<double>(run(kCast, CastAttrs{DType::f64}, {big}))[0], 0x1p64);
  const Tensor half = run(kCast, CastAttrs{DType::f16}, {Tensor::scalar(1.0 / 3)});
  EXPECT_EQ(half.as<std::uint16_t>()[0], 0x3555);
}

TEST(Expand, RepeatsAxesOfOne) {
  EXPECT_EQ(values<std::int32_t>(run(kExpand, ExpandAttrs{{2, 2, 2}}, {iota<std::int32_t>({2, 1})})),
            (Ints{0, 0, 1, 1, 0, 0, 1, 1}));
  for (const std::vector<Dim>& shape : std::vector<std::vector<Dim>>{{3, 3}, {2}, {2, -1}, {kMax, 2, kMax}, {}}) {
    EXPECT_TRUE(refuses(kExpand, ExpandAttrs{shape}, {fact(DType::f32, {2, 1})}));
  }
}

TEST(Where, BroadcastsAllThree) {
  Tensor condition(DType::boolean, {2, 1});
  condition.as<std::uint8_t>()[1] = 1;
  const Tensor y = run(kWhere, NoAttrs{}, {condition, Tensor::scalar(7), iota<std::int32_t>({3})});
  EXPECT_EQ(values<std::int32_t>(y), (Ints{0, 1, 2, 7, 7, 7}));
  EXPECT_TRUE(refuses(kWhere, NoAttrs{}, {fact(DType::u8, {}), fact(DType::f32, {}), fact(DType::f32, {})}));
  EXPECT_TRUE(refuses(kWhere, NoAttrs{}, {fact(DType::boolean, {2}), fact(DType::f32, {}), fact(DType::f32, {3})}));
  EXPECT_TRUE(refuses(kWhere, NoAttrs{}, {fact(DType::boolean, {2}), fact(DType::f32, {}), fact(DType::s32, {})}));
}

TEST(Argmax, TiesAndKinds) {
  const Tensor x = Tensor::of<std::int32_t>({2, 4}, Ints{1, 3, 3, 0, 0, 5, 0, 5});
  const auto result = [&](ArgmaxAttrs attrs) { return values<std::int64_t>(run(kArgmax, attrs, {x})); };
  using Longs = std::vector<std::int64_t>;
  EXPECT_EQ(result({.kind = ArgKind::max, .axis = 1}), (Longs{1, 1}));
  EXPECT_EQ(result({.kind = ArgKind::max, .axis = 1, .keep_dims = false, .select_last = true}), (Longs{2, 3}));
  EXPECT_EQ(result({.kind = ArgKind::min, .axis = 0}), (Longs{1, 0, 1, 0}));
  const Tensor close = Tensor::of<std::int64_t>({2}, Longs{kMax - 1, kMax});
  EXPECT_EQ(values<std::int64_t>(run(kArgmax, ArgmaxAttrs{}, {close})), (Longs{1}));
  EXPECT_TRUE(refuses(kArgmax, ArgmaxAttrs{.axis = 2}, {fact(DType::f32, {2, 2})}));
  EXPECT_TRUE(refuses(kArgmax, ArgmaxAttrs{.axis = 0}, {fact(DType::f32, {0, 2})}));
  EXPECT_TRUE(refuses(kArgmax, ArgmaxAttrs{.axis = 0}, {fact(DType::f32, {})}));
}

}  // namespace
}  // namespace octavo
