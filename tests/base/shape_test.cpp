// Shape arithmetic, with the sizes hostile files would use.
#include "base/shape.h"

#include <gtest/gtest.h>

#include <limits>

namespace octavo {
namespace {

TEST(Shape, ElementsAndStrides) {
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{2, 0, 3}).elements(), 0);
  EXPECT_EQ((Shape{2, 3, 4}).elements(1, 3), 12);
  EXPECT_EQ((Shape{2, 3, 4}).strides(), (std::vector<std::int64_t>{12, 4, 1}));
  EXPECT_EQ(Shape{}.to_string(), "scalar");
  EXPECT_EQ((Shape{1, 20}).to_string(), "1x20");
}

TEST(Shape, CheckedElementsRefusesWhatCannotBe) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  const auto checked = [](std::vector<std::int64_t> dims) { return checked_elements(dims); };
  EXPECT_EQ(checked({}), 1);
  EXPECT_EQ(checked({kMaxElements}), kMaxElements);
  EXPECT_EQ(checked({kMaxElements, 2}), std::nullopt);
  EXPECT_EQ(checked({kHuge, kHuge, kHuge}), std::nullopt);
  EXPECT_EQ(checked({0, kHuge, kHuge}), std::nullopt);
  EXPECT_EQ(checked({-1}), std::nullopt);
  EXPECT_EQ(checked({-1, 0}), std::nullopt);
  EXPECT_EQ(checked({5, 0, 7}), 0);
}

TEST(Shape, Broadcast) {
  EXPECT_EQ(broadcast(Shape{3, 1}, {4}), (Shape{3, 4}));
  EXPECT_EQ(broadcast(Shape{}, {2, 2}), (Shape{2, 2}));
  EXPECT_EQ(broadcast(Shape{1}, {0}), (Shape{0}));
  EXPECT_EQ(broadcast(Shape{2}, {0}), std::nullopt);
  EXPECT_EQ(broadcast(Shape{2, 3}, {3, 3}), std::nullopt);
}

TEST(Shape, NormalizeAxis) {
  EXPECT_EQ(normalize_axis(-1, 4), 3);
  EXPECT_EQ(normalize_axis(3, 4), 3);
  EXPECT_EQ(normalize_axis(4, 4), std::nullopt);
  EXPECT_EQ(normalize_axis(-5, 4), std::nullopt);
  EXPECT_EQ(normalize_axis(0, 0), std::nullopt);
}

}  // namespace
}  // namespace octavo
