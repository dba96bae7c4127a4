// attention: values by hand, masks, heads, padding, refusals.
#include "ops/attention/attention.h"

#include <cmath>
#include <limits>
#include <random>

#include "ops_test.h"

namespace octavo::ops_test {
namespace {

constexpr float kAttentionInfinity = std::numeric_limits<float>::infinity();

Tensor random(const Shape& shape, unsigned seed) {
  std::mt19937 generator(seed);
  Tensor tensor(DType::f32, shape);
  for (float& value : tensor.span<float>()) value = static_cast<float>(generator() % 2001) / 500.0f - 2.0f;
  return tensor;
}

// Rows [0, end) of the axis in front of the last one.
Tensor first_rows(const Tensor& x, std::int64_t end) {
  const Shape& shape = x.shape();
  const std::int64_t rows = shape[shape.rank() - 2];
  const std::int64_t columns = shape[shape.rank() - 1];
  auto dims = shape.to_vector();
  dims[dims.size() - 2] = end;
  Tensor y(DType::f32, Shape(dims));
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const std::int64_t matrix = i / (end * columns);
    y.as<float>()[i] = x.as<float>()[matrix * rows * columns + i % (end * columns)];
  }
  return y;
}

TEST(Attention, WeighsValuesByHowWellKeysAgree) {
  // Scores of query 0: 0, 0, 0; of query 1: 1, 0, -1000, of which the last is nothing beside the others.
  const Tensor q = Tensor::of<float>({2, 2}, std::vector<float>{0, 0, 1, 2});
  const Tensor k = Tensor::of<float>({3, 2}, std::vector<float>{2, 0, -2, 1, 0, -1000});
  const Tensor v = Tensor::of<float>({3, 1}, std::vector<float>{3, 6, 12});
  const Tensor y = run(kAttention, AttentionAttrs{.head_size = 2, .scale = 0.5f}, {q, k, v});
  const float e = std::exp(-1.0f);
  EXPECT_EQ(values<float>(y), (std::vector<float>{7.0f, std::fma(e, 6.0f, 3.0f) / (1.0f + e)}));
}

TEST(Attention, MasksAddOrKeep) {
  const Tensor q = Tensor::of<float>({1, 2, 1}, std::vector<float>{0, 0});
  const Tensor k = Tensor::of<float>({1, 2, 1}, std::vector<float>{1, 2});
  const Tensor v = Tensor::of<float>({1, 2, 1}, std::vector<float>{4, 8});
  const Tensor added = Tensor::of<float>({1, 1, 2}, std::vector<float>{0, -kAttentionInfinity});
  EXPECT_EQ(values<float>(run(kAttention, AttentionAttrs{}, {q, k, v, added})), (std::vector<float>{4, 4}));
  const Tensor finite = Tensor::of<float>({2}, std::vector<float>{-3.4e38f, 0});
  EXPECT_EQ(values<float>(run(kAttention, AttentionAttrs{}, {q, k, v, finite})), (std::vector<float>{8, 8}));
  Tensor kept(DType::boolean, {2, 2});
  kept.as<std::uint8_t>()[1] = 1;  // query 0 sees key 1, query 1 nothing
  EXPECT_EQ(values<float>(run(kAttention, AttentionAttrs{}, {q, k, v, kept})), (std::vector<float>{8, 0}));
  EXPECT_EQ(values<float>(run(kAttention, AttentionAttrs{.is_causal = true}, {q, k, v})), (std::vector<float>{4, 6}));
}

TEST(Attention, NothingToSeeIsZeroAndNaNStays) {
  const Tensor q = Tensor::of<float>({1, 1}, std::vector<float>{1});
  const Tensor none = run(kAttention, AttentionAttrs{}, {q, Tensor(DType::f32, {0, 1}), Tensor(DType::f32, {0, 1})});
  EXPECT_EQ(values<float>(none), (std::vector<float>{0}));
  const Tensor v = Tensor::of<float>({2, 1}, std::vector<float>{1, 2});
  const Tensor nan = Tensor::of<float>({2, 1}, std::vector<float>{NAN, NAN});
  EXPECT_TRUE(std::isnan(values<float>(run(kAttention, AttentionAttrs{}, {q, nan, v}))[0]));
}

TEST(Attention, HeadsAreColumnsOfOneTensor) {
  // Four heads of 2 columns, two of keys and values (of 3 columns), all in one tensor, against one head at a time.
  const std::int64_t t = 5;
  const Tensor packed = random({2, t, 20}, 1);
  const AttentionAttrs all{.heads = 4,
                           .kv_heads = 2,
                           .head_size = 2,
                           .value_size = 3,
                           .q_first = 1,
                           .k_first = 9,
                           .v_first = 13,
                           .scale = 0.7f};
  const Tensor y = run(kAttention, all, {packed, packed, packed});
  ASSERT_EQ(y.shape(), (Shape{2, t, 12}));
  for (std::int64_t head = 0; head < 4; ++head) {
    AttentionAttrs one = all;
    one.heads = one.kv_heads = 1;
    one.q_first = 1 + head * 2;
    one.k_first = 9 + head / 2 * 2;
    one.v_first = 13 + head / 2 * 3;
    const Tensor expected = run(kAttention, one, {packed, packed, packed});
    for (std::int64_t i = 0; i < expected.elements(); ++i)
      EXPECT_EQ(y.as<float>()[i / 3 * 12 + head * 3 + i % 3], expected.as<float>()[i]);
  }
}

TEST(Attention, MasksOfHeadsAndImages) {
  const AttentionAttrs attrs{.heads = 2, .kv_heads = 2, .head_size = 2, .value_size = 2};
  const Tensor q = random({2, 3, 4}, 1);
  const Tensor k = random({2, 5, 4}, 2);
  const Tensor v = random({2, 5, 4}, 3);
  const Tensor mask = random({2, 2, 3, 5}, 4);
  const Tensor y = run(kAttention, attrs, {q, k, v, mask});
  // Head 1 of image 1 alone.
  const auto image = [](const Tensor& x) {
    auto dims = x.shape().to_vector();
    dims[0] = 1;
    Tensor one(DType::f32, Shape(dims));
    std::copy(x.as<float>() + one.elements(), x.as<float>() + 2 * one.elements(), one.as<float>());
    return one;
  };
  Tensor own(DType::f32, {3, 5});
  std::copy(mask.as<float>() + 45, mask.as<float>() + 60, own.as<float>());
  const AttentionAttrs one{.head_size = 2, .value_size = 2, .q_first = 2, .k_first = 2, .v_first = 2};
  const Tensor expected = run(kAttention, one, {image(q), image(k), image(v), own});
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(y.as<float>()[12 + i / 2 * 4 + 2 + i % 2], expected.as<float>()[i]);
}

TEST(Attention, KeysThatAreMaskedOutAtTheEndChangeNoBit) {
  const AttentionAttrs attrs{.heads = 2, .kv_heads = 2, .head_size = 3, .value_size = 3, .scale = 0.577f};
  const std::int64_t most = 40;
  const Tensor q = random({1, most, 6}, 1);
  const Tensor k = random({1, most, 6}, 2);
  const Tensor v = random({1, most, 6}, 3);
  for (std::int64_t t : {1, 7, 16, 17, 33}) {
    Tensor mask(DType::boolean, {1, 1, 1, most});
    for (std::int64_t j = 0; j < t; ++j) mask.as<std::uint8_t>()[j] = 1;
    const Tensor alone = run(kAttention, attrs, {first_rows(q, t), first_rows(k, t), first_rows(v, t)});
    const Tensor padded = first_rows(run(kAttention, attrs, {q, k, v, mask}), t);
    EXPECT_EQ(padded, alone) << t;
  }
}

TEST(Attention, RefusesWhatDoesNotAgree) {
  const Fact x = fact(DType::f32, {2, 5, 8});
  const AttentionAttrs attrs{.heads = 2, .kv_heads = 2, .head_size = 4, .value_size = 4};
  const auto with = [&](auto change) {
    AttentionAttrs changed = attrs;
    change(changed);
    return changed;
  };
  EXPECT_FALSE(refuses(kAttention, attrs, {x, x, x}));
  EXPECT_FALSE(refuses(kAttention, attrs, {x, x, x, fact(DType::boolean, {2, 1, 1, 5})}));
  EXPECT_TRUE(refuses(kAttention, with([](auto& a) { a.kv_heads = 0; }), {x, x, x}));
  EXPECT_TRUE(refuses(kAttention, with([](auto& a) { a.heads = 3; }), {x, x, x}));
  EXPECT_TRUE(refuses(kAttention, with([](auto& a) { a.k_first = 1; }), {x, x, x}));
  EXPECT_TRUE(refuses(kAttention, with([](auto& a) { a.v_first = -1; }), {x, x, x}));
  EXPECT_TRUE(refuses(kAttention, with([](auto& a) { a.scale = kAttentionInfinity; }), {x, x, x}));
  EXPECT_TRUE(refuses(kAttention, with([](auto& a) { a.head_size = std::int64_t{1} << 62; }), {x, x, x}));
  EXPECT_TRUE(refuses(kAttention, attrs, {x, fact(DType::f32, {3, 5, 8}), x}));
  EXPECT_TRUE(refuses(kAttention, attrs, {x, x, fact(DType::f32, {2, 6, 8})}));
  EXPECT_TRUE(refuses(kAttention, attrs, {x, x, fact(DType::f64, {2, 5, 8})}));
  EXPECT_TRUE(refuses(kAttention, attrs, {x, x, x, fact(DType::f32, {3, 5, 5})}));
  EXPECT_TRUE(refuses(kAttention, attrs, {x, x, x, fact(DType::f32, {3, 2, 2, 5, 5})}));
  EXPECT_TRUE(refuses(kAttention, attrs, {x, x, x, fact(DType::s32, {5})}));
}

TEST(Attention, KeepsImagesApart) {
  const Fact x = fact(DType::f32, {2, 5, 8});
  const auto apart = [&](const Fact* mask) {
    const std::vector<const Fact*> inputs = {&x, &x, &x, mask};
    return keeps_images_apart_in_attention(inputs);
  };
  const auto constant = [](Shape shape) {
    Fact made = fact(DType::f32, shape);
    made.constant = std::make_shared<const Tensor>(DType::f32, shape);
    return made;
  };
  const Fact by_image = fact(DType::f32, {2, 1, 5, 5}), shared = fact(DType::f32, {5, 5});
  const Fact table = constant({2, 5, 5}), tables = constant({2, 2, 5, 5});
  EXPECT_TRUE(apart(nullptr));
  EXPECT_TRUE(apart(&by_image));
  EXPECT_FALSE(apart(&shared));
  EXPECT_TRUE(apart(&table));
  EXPECT_FALSE(apart(&tables));
}

}  // namespace
}  // namespace octavo::ops_test
