// Kernels that cast halves against the reference: every half, and floats about every edge.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/harness.h"
#include "ops/cast/cast.h"

namespace octavo::testing {
namespace {

Tensor all_halves(DType type) {
  Tensor tensor(type, Shape{65536});
  for (std::int64_t i = 0; i < 65536; ++i) tensor.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(i);
  return tensor;
}

// Ends of ranges, what halves round at, numbers that are none, and neighbours of all of them.
Tensor edges() {
  std::vector<float> values;
  for (const float edge :
       {0.0f, 0x1p-24f, 0x1p-25f, 0x1p-14f, 0x1.ffcp-15f, 1.0f, 1.5f, 2.5f, 65504.0f, 65519.0f, 65520.0f, 0x1p31f,
        0x1p63f, 0x1p-149f, std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity()}) {
    for (const float value : {edge, -edge, std::nextafter(edge, 0.0f), std::nextafter(-edge, 0.0f),
                              std::nextafter(edge, 1e38f), edge * 1.0009765625f})
      values.push_back(value);
  }
  for (const std::uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffbfffffu, 0x7fffffffu})
    values.push_back(std::bit_cast<float>(bits));
  return Tensor::of<float>(Shape{std::ssize(values)}, values);
}

void expect_same(const Tensor& x, DType to) {
  const auto ran = check_kernels({.spec = &kCast, .attrs = CastAttrs{.to = to}, .inputs = {x}});
  EXPECT_TRUE(ran.contains("cast_halves_portable"));
  EXPECT_TRUE(kernels_missing(ran, "cast_halves").empty());
}

TEST(HalfKernels, ToAndFromFloats) {
  std::mt19937 random(3);
  for (const DType half : {DType::f16, DType::bf16}) {
    SCOPED_TRACE(name_of(half));
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{7, 19}, Shape{3, 65, 129}, Shape{0, 4}}) {
      expect_same(random_tensor(random, DType::f32, shape), half);
      expect_same(random_tensor(random, half, shape), DType::f32);
    }
    expect_same(edges(), half);
    expect_same(all_halves(half), DType::f32);
  }
}

TEST(HalfKernels, OthersAreRefused) {
  std::mt19937 random(4);
  const auto ran = check_kernels(
      {.spec = &kCast, .attrs = CastAttrs{.to = DType::s64}, .inputs = {random_tensor(random, DType::s32, {5})}});
  EXPECT_FALSE(ran.contains("cast_halves_portable"));
}

}  // namespace
}  // namespace octavo::testing
