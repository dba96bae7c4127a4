// binary: every function on small integers against plain arithmetic, broadcasting, extremes, refusals.
#include "ops/binary/binary.h"

#include <cmath>
#include <limits>

#include "ops/ops_test.h"

namespace octavo {
namespace {

using ops_test::fact;
using ops_test::refuses;
using ops_test::run;
using ops_test::values;

template <class T>
T one(BinaryKind kind, T a, T b) {
  return values<T>(run(kBinary, BinaryAttrs{kind}, {Tensor::scalar(a), Tensor::scalar(b)}))[0];
}

TEST(Binary, BroadcastsBothOperands) {
  const Tensor a = Tensor::of<float>({2, 1}, std::vector<float>{10, 20});
  const Tensor b = Tensor::of<float>({3}, std::vector<float>{1, 2, 3});
  const Tensor y = run(kBinary, BinaryAttrs{BinaryKind::sub}, {a, b});
  EXPECT_EQ(y.shape(), (Shape{2, 3}));
  EXPECT_EQ(values<float>(y), (std::vector<float>{9, 8, 7, 19, 18, 17}));
}

TEST(Binary, IntegersOfEveryPairOfBytes) {
  for (int a = -128; a < 128; ++a) {
    for (int b : {-128, -127, -3, -1, 0, 1, 2, 5, 127}) {
      const auto sa = static_cast<std::int8_t>(a);
      const auto sb = static_cast<std::int8_t>(b);
      const auto wrap = [](int x) { return static_cast<std::int8_t>(x); };
      ASSERT_EQ(one(BinaryKind::add, sa, sb), wrap(a + b));
      ASSERT_EQ(one(BinaryKind::sub, sa, sb), wrap(a - b));
      ASSERT_EQ(one(BinaryKind::mul, sa, sb), wrap(a * b));
      ASSERT_EQ(one(BinaryKind::div, sa, sb), b == 0 ? 0 : wrap(a / b)) << a << " / " << b;
      ASSERT_EQ(one(BinaryKind::mod, sa, sb), b == 0 ? 0 : wrap(((a % b) + b) % b)) << a << " mod " << b;
      ASSERT_EQ(one(BinaryKind::min, sa, sb), std::min(a, b));
      ASSERT_EQ(one(BinaryKind::max, sa, sb), std::max(a, b));
      ASSERT_EQ(one(BinaryKind::prelu, sa, sb), a < 0 ? wrap(a * b) : a);
    }
  }
}

TEST(Binary, IntegerPowers) {
  EXPECT_EQ(one<std::int64_t>(BinaryKind::pow, 3, 39), 4052555153018976267);
  EXPECT_EQ(one<std::int32_t>(BinaryKind::pow, -2, 31), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(one<std::int32_t>(BinaryKind::pow, -1, -3), -1);
  EXPECT_EQ(one<std::int32_t>(BinaryKind::pow, 2, -1), 0);
  EXPECT_EQ(one<std::uint8_t>(BinaryKind::pow, 0, 0), 1);
  EXPECT_EQ(one<std::int64_t>(BinaryKind::div, std::numeric_limits<std::int64_t>::min(), -1),
            std::numeric_limits<std::int64_t>::min());
}

TEST(Binary, FloatsAreOneOperation) {
  EXPECT_EQ(one(BinaryKind::add, 1.0f, 0x1p-24f), 1.0f);
  EXPECT_EQ(one(BinaryKind::div, 1.0f, 3.0f), 1.0f / 3.0f);
  EXPECT_EQ(one(BinaryKind::pow, 2.5f, 2.0f), 6.25f);
  EXPECT_EQ(one(BinaryKind::mod, -5.5f, 2.0f), -1.5f);
  EXPECT_EQ(one(BinaryKind::prelu, -3.0f, 0.25f), -0.75f);
  EXPECT_TRUE(std::isnan(one(BinaryKind::min, 1.0f, NAN)));
  EXPECT_TRUE(std::isnan(one(BinaryKind::max, NAN, 1.0f)));
}

TEST(Binary, HalvesRoundOnce) {
  Tensor a(DType::f16, {1});
  Tensor b(DType::f16, {1});
  a.as<std::uint16_t>()[0] = f32_to_f16(2048.0f);
  b.as<std::uint16_t>()[0] = f32_to_f16(1.0f);  // 2049 is a tie between 2048 and 2050
  EXPECT_EQ(f16_to_f32(run(kBinary, BinaryAttrs{BinaryKind::add}, {a, b}).as<std::uint16_t>()[0]), 2048.0f);
}

TEST(Binary, ComparisonsAndLogicGiveBool) {
  const Tensor a = Tensor::of<float>({3}, std::vector<float>{1, 2, NAN});
  const Tensor b = Tensor::of<float>({3}, std::vector<float>{2, 2, 2});
  const auto result = [&](BinaryKind kind) { return values<std::uint8_t>(run(kBinary, BinaryAttrs{kind}, {a, b})); };
  EXPECT_EQ(result(BinaryKind::equal), (std::vector<std::uint8_t>{0, 1, 0}));
  EXPECT_EQ(result(BinaryKind::less), (std::vector<std::uint8_t>{1, 0, 0}));
  EXPECT_EQ(result(BinaryKind::less_or_equal), (std::vector<std::uint8_t>{1, 1, 0}));
  EXPECT_EQ(result(BinaryKind::greater), (std::vector<std::uint8_t>{0, 0, 0}));
  EXPECT_EQ(result(BinaryKind::greater_or_equal), (std::vector<std::uint8_t>{0, 1, 0}));
  Tensor p(DType::boolean, {4});
  Tensor q(DType::boolean, {4});
  for (std::size_t i : {2u, 3u}) p.as<std::uint8_t>()[i] = 1;
  for (std::size_t i : {1u, 3u}) q.as<std::uint8_t>()[i] = 1;
  EXPECT_EQ(values<std::uint8_t>(run(kBinary, BinaryAttrs{BinaryKind::logical_and}, {p, q})),
            (std::vector<std::uint8_t>{0, 0, 0, 1}));
  EXPECT_EQ(values<std::uint8_t>(run(kBinary, BinaryAttrs{BinaryKind::logical_or}, {p, q})),
            (std::vector<std::uint8_t>{0, 1, 1, 1}));
  EXPECT_EQ(values<std::uint8_t>(run(kBinary, BinaryAttrs{BinaryKind::logical_xor}, {p, q})),
            (std::vector<std::uint8_t>{0, 1, 1, 0}));
}

TEST(Binary, Refusals) {
  EXPECT_TRUE(refuses(kBinary, BinaryAttrs{}, {fact(DType::f32, {2}), fact(DType::s32, {2})}));
  EXPECT_TRUE(refuses(kBinary, BinaryAttrs{}, {fact(DType::f32, {2}), fact(DType::f32, {3})}));
  EXPECT_TRUE(refuses(kBinary, BinaryAttrs{}, {fact(DType::boolean, {2}), fact(DType::boolean, {2})}));
  EXPECT_TRUE(refuses(kBinary, BinaryAttrs{BinaryKind::logical_and}, {fact(DType::f32, {2}), fact(DType::f32, {2})}));
  EXPECT_TRUE(refuses(kBinary, BinaryAttrs{}, {fact(DType::f32, {2})}));
  // Each operand is small, the result is not.
  EXPECT_TRUE(refuses(kBinary, BinaryAttrs{}, {fact(DType::f32, {1 << 20, 1}), fact(DType::f32, {1, 1 << 20})}));
}

TEST(Binary, BitsOfIntegers) {
  const Tensor a = Tensor::of<std::uint8_t>({4}, std::vector<std::uint8_t>{1, 129, 255, 16});
  const Tensor b = Tensor::of<std::uint8_t>({4}, std::vector<std::uint8_t>{7, 1, 8, 3});
  const auto result = [&](BinaryKind kind) { return values<std::uint8_t>(run(kBinary, BinaryAttrs{kind}, {a, b})); };
  EXPECT_EQ(result(BinaryKind::shift_left), (std::vector<std::uint8_t>{128, 2, 0, 128}));
  EXPECT_EQ(result(BinaryKind::shift_right), (std::vector<std::uint8_t>{0, 64, 0, 2}));
  EXPECT_EQ(result(BinaryKind::bitwise_and), (std::vector<std::uint8_t>{1, 1, 8, 0}));
  EXPECT_EQ(result(BinaryKind::bitwise_or), (std::vector<std::uint8_t>{7, 129, 255, 19}));
  EXPECT_EQ(result(BinaryKind::bitwise_xor), (std::vector<std::uint8_t>{6, 128, 247, 19}));
}

TEST(Binary, ShiftsOfSignedIntegersKeepTheSign) {
  const Tensor a = Tensor::of<std::int32_t>({4}, std::vector<std::int32_t>{-8, -8, 8, -1});
  const Tensor b = Tensor::of<std::int32_t>({4}, std::vector<std::int32_t>{1, 32, -1, 31});
  EXPECT_EQ(values<std::int32_t>(run(kBinary, BinaryAttrs{BinaryKind::shift_right}, {a, b})),
            (std::vector<std::int32_t>{-4, -1, 0, -1}));
  EXPECT_EQ(values<std::int32_t>(run(kBinary, BinaryAttrs{BinaryKind::shift_left}, {a, b})),
            (std::vector<std::int32_t>{-16, 0, 0, std::numeric_limits<std::int32_t>::min()}));
}

TEST(Binary, BitsAreOfIntegersAlone) {
  for (const DType dtype : {DType::f32, DType::boolean}) {
    EXPECT_TRUE(refuses(kBinary, BinaryAttrs{BinaryKind::bitwise_and}, {fact(dtype, {2}), fact(dtype, {2})}));
    EXPECT_TRUE(refuses(kBinary, BinaryAttrs{BinaryKind::shift_left}, {fact(dtype, {2}), fact(dtype, {2})}));
  }
}

}  // namespace
}  // namespace octavo
