// quantized_layer_norm kernels: all types, lengths around vectors, lines that are constant, extreme or unlike.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/harness.h"
#include "ops/quantized_layer_norm/quantized_layer_norm.h"

namespace octavo::testing {
namespace {

Epilogue epilogue_to(DType to) {
  if (to == DType::f32) return {{ScaleAndShift{}}, to};
  const IntegerRange range = range_of(to);
  return {{ScaleAndShift{}, Round{.after = to == DType::u8 ? 100 : -3,
                                  .lowest = static_cast<std::int32_t>(range.lowest) + 2,
                                  .highest = static_cast<std::int32_t>(range.highest) - 1}},
          to};
}

std::set<std::string> check_norm(std::mt19937& random, const Tensor& x, const QuantizedLayerNormAttrs& attrs) {
  const std::int64_t n = x.shape()[x.shape().rank() - 1];
  KernelCase test{.spec = &kQuantizedLayerNorm, .attrs = attrs};
  test.inputs = {x, random_tensor(random, DType::f32, {n}), random_tensor(random, DType::f32, {n})};
  if (attrs.epilogue.find<Lookup>() != nullptr) test.inputs.emplace_back(random_tensor(random, DType::s8, {256}));
  return check_kernels(test);
}

TEST(QuantizedLayerNorm, EqualsTheReference) {
  std::mt19937 random(1);
  std::set<std::string> ran;
  for (const std::int64_t n : {1, 2, 7, 8, 9, 16, 31, 64, 100, 384}) {
    for (const DType from : {DType::u8, DType::s8, DType::s16}) {
      for (const DType to : {DType::u8, DType::s8, DType::s16, DType::f32}) {
        for (const bool is_centred : {true, false}) {
          const QuantizedLayerNormAttrs attrs{.x_zero_point = from == DType::u8 ? 77 : 0,
                                              .is_centred = is_centred,
                                              .epsilon = 0.01f,
                                              .epilogue = epilogue_to(to)};
          ran.merge(check_norm(random, random_tensor(random, from, {3, n}), attrs));
        }
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "norm_layer_q16").empty());
}

TEST(QuantizedLayerNorm, LooksUpBytes) {
  std::mt19937 random(2);
  QuantizedLayerNormAttrs attrs{.epsilon = 3.0f, .epilogue = epilogue_to(DType::u8)};
  attrs.epilogue.stages.emplace_back(Lookup{});
  EXPECT_FALSE(check_norm(random, random_tensor(random, DType::s16, {5, 77}), attrs).empty());
}

// The longest lines of the extremes: sums at the edge of what lanes hold.
TEST(QuantizedLayerNorm, ExtremeLines) {
  std::mt19937 random(3);
  for (const bool is_centred : {true, false}) {
    for (const std::int16_t value : {std::int16_t{-32768}, std::int16_t{32767}, std::int16_t{-1}, std::int16_t{0}}) {
      Tensor x(DType::s16, {2, kLongestNormLine});
      std::fill_n(x.as<std::int16_t>(), x.elements(), value);
      x.as<std::int16_t>()[5] = 32767;  // the second line stays constant
      EXPECT_FALSE(check_norm(random, x, {.is_centred = is_centred, .epilogue = epilogue_to(DType::u8)}).empty());
    }
  }
}

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias of the values that the integers stand for.
TEST(QuantizedLayerNorm, MeansWhatItSays) {
  const Tensor x = Tensor::of<std::int16_t>({1, 4}, std::vector<std::int16_t>{100, 300, -200, 0});
  const Tensor scale = Tensor::of<float>({4}, std::vector<float>{1, 2, 3, 4});
  const Tensor bias = Tensor::of<float>({4}, std::vector<float>{0, 1, 0, -1});
  Tensor y(DType::f32, {1, 4});
  const Attrs attrs = QuantizedLayerNormAttrs{.epsilon = 7.0f, .epilogue = {{ScaleAndShift{}}, DType::f32}};
  const std::vector<ConstTensorView> inputs{x.view(), scale.view(), bias.view()};
  const TensorView output = y.view();
  kQuantizedLayerNorm.reference(attrs, inputs, OutputViews(&output, 1));
  // mean 50, variance 32500
  const double inverse = 1.0 / std::sqrt(32507.0);
  const double expected[] = {50 * inverse, 250 * inverse * 2 + 1, -250 * inverse * 3, -50 * inverse * 4 - 1};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(y.as<float>()[i], expected[i], 1e-6);
}

}  // namespace
}  // namespace octavo::testing
