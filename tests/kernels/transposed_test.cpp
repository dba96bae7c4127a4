// conv_transpose: its kernel has the reference's bits. Part of tests/kernels/.
#include <gtest/gtest.h>

#include "kernels/harness.h"
#include "ops/conv_transpose/conv_transpose.h"

namespace octavo::testing {
namespace {

TEST(TransposedKernel, HasTheReferencesBits) {
  std::mt19937 random(11);
  std::set<std::string> ran;
  for (const Layout layout : {Layout::channels_first, Layout::channels_last}) {
    const bool is_first = layout == Layout::channels_first;
    for (const std::int64_t groups : {1, 2}) {
      const ConvTransposeAttrs line{
          .window = {{3}, {2}, {2}, {1}, {0}}, .output_padding = {1}, .groups = groups, .layout = layout};
      const ConvTransposeAttrs image{.window = {{3, 2}, {2, 1}, {1, 3}, {1, 0}, {2, 1}},
                                     .output_padding = {1, 0},
                                     .groups = groups,
                                     .layout = layout};
      const ConvTransposeAttrs volume{.window = {{2, 1, 3}, {1, 3, 2}, {1, 1, 1}, {0, 0, 1}, {1, 0, 1}},
                                      .output_padding = {0, 2, 0},
                                      .groups = groups,
                                      .layout = layout};
      const std::int64_t c = 6, ic = c / groups;
      const auto check = [&](const ConvTransposeAttrs& attrs, const Shape& x, const Shape& w) {
        for (const bool has_bias : {false, true}) {
          std::vector<std::optional<Tensor>> inputs{random_tensor(random, DType::f32, x),
                                                    random_tensor(random, DType::f32, w)};
          if (has_bias) inputs.emplace_back(random_tensor(random, DType::f32, {w[0]}));
          ran.merge(check_kernels({&kConvTranspose, attrs, inputs, {}}));
        }
      };
      check(line, is_first ? Shape{2, c, 5} : Shape{2, 5, c}, is_first ? Shape{4, ic, 3} : Shape{4, 3, ic});
      check(image, is_first ? Shape{2, c, 4, 3} : Shape{2, 4, 3, c},
            is_first ? Shape{4, ic, 3, 2} : Shape{4, 3, 2, ic});
      check(volume, is_first ? Shape{1, c, 3, 2, 4} : Shape{1, 3, 2, 4, c},
            is_first ? Shape{4, ic, 2, 1, 3} : Shape{4, 2, 1, 3, ic});
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "plain_conv_transpose").empty());
}

}  // namespace
}  // namespace octavo::testing
