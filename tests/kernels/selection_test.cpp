// Kernels that pick and write by index: every element size, any split, the reference's bytes.
#include <gtest/gtest.h>

#include "kernels/harness.h"
#include "ops/bitcast/bitcast.h"
#include "ops/det/det.h"
#include "ops/gather_nd/gather_nd.h"
#include "ops/scatter_elements/scatter_elements.h"
#include "ops/scatter_nd/scatter_nd.h"
#include "ops/topk/topk.h"

namespace octavo::testing {
namespace {

constexpr DType kNumbers[] = {DType::u8,  DType::s8,  DType::u16, DType::s16,  DType::u32, DType::s32,
                              DType::u64, DType::s64, DType::f16, DType::bf16, DType::f32, DType::f64};

std::set<std::string> check_selection(const OpSpec& spec, const Attrs& attrs,
                                      std::vector<std::optional<Tensor>> inputs) {
  std::set<std::string> ran = check_kernels({.spec = &spec, .attrs = attrs, .inputs = std::move(inputs)});
  EXPECT_FALSE(ran.empty()) << spec.name << " " << attrs.to_string();
  return ran;
}

// Mostly inside [-size, size), some beyond.
Tensor indices(std::mt19937& random, DType dtype, Shape shape, std::int64_t size) {
  Tensor tensor(dtype, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const std::int64_t index = static_cast<std::int64_t>(random() % static_cast<unsigned>(2 * size + 4)) - size - 2;
    store_double(tensor.view(), i, static_cast<double>(index));
  }
  if (dtype == DType::s64 && tensor.elements() > 1)
    tensor.as<std::int64_t>()[1] = std::numeric_limits<std::int64_t>::min();
  return tensor;
}

TEST(SelectionKernels, GatherNd) {
  std::mt19937 random(1);
  for (const DType dtype : kNumbers) {
    const Tensor x = random_tensor(random, dtype, {3, 4, 4, 9});
    for (const DType type : {DType::s32, DType::s64}) {
      check_selection(kGatherNd, GatherNdAttrs{}, {x, indices(random, type, {70, 2}, 3)});
      check_selection(kGatherNd, GatherNdAttrs{}, {x, indices(random, type, {2, 35, 4}, 3)});
      check_selection(kGatherNd, GatherNdAttrs{1}, {x, indices(random, type, {3, 50, 2}, 4)});
      check_selection(kGatherNd, GatherNdAttrs{2}, {x, indices(random, type, {3, 4, 1}, 4)});
      check_selection(kGatherNd, GatherNdAttrs{}, {x, Tensor(type, {7, 0})});
    }
  }
  check_selection(kGatherNd, GatherNdAttrs{},
                  {random_tensor(random, DType::f32, {300, 700}), indices(random, DType::s64, {500, 1}, 300)});
}

TEST(SelectionKernels, ScatterElements) {
  std::mt19937 random(2);
  std::set<std::string> ran;
  for (int kind = 0; kind < count_of(ScatterKind{}); ++kind) {
    for (const DType dtype : kNumbers) {
      const std::pair<Shape, Shape> shapes[] = {
          {{5, 6, 7}, {4, 6, 5}}, {{1, 9, 8}, {1, 7, 8}}, {{1, 1, 30}, {1, 1, 20}}};
      for (const auto& [x, part] : shapes) {
        for (std::int64_t axis = 0; axis < 3; ++axis) {
          const Tensor at = indices(random, axis == 1 ? DType::s32 : DType::s64, part, x[static_cast<int>(axis)]);
          ran.merge(check_selection(kScatterElements, ScatterElementsAttrs{axis, static_cast<ScatterKind>(kind)},
                                    {random_tensor(random, dtype, x), at, random_tensor(random, dtype, part)}));
        }
      }
    }
  }
  const Tensor flags = random_tensor(random, DType::boolean, {40});
  check_selection(kScatterElements, ScatterElementsAttrs{}, {flags, indices(random, DType::s64, {40}, 40), flags});
  check_selection(kScatterElements, ScatterElementsAttrs{.axis = 1, .kind = ScatterKind::add},
                  {random_tensor(random, DType::f32, {400, 300}), indices(random, DType::s64, {350, 300}, 300),
                   random_tensor(random, DType::f32, {350, 300})});
  check_selection(kScatterElements, ScatterElementsAttrs{},
                  {random_tensor(random, DType::f32, {0, 3}), Tensor(DType::s64, {0, 3}), Tensor(DType::f32, {0, 3})});
  EXPECT_TRUE(kernels_missing(ran, "scatter_elements").empty());
}

TEST(SelectionKernels, ScatterNd) {
  std::mt19937 random(3);
  std::set<std::string> ran;
  for (int kind = 0; kind < count_of(ScatterKind{}); ++kind) {
    const ScatterNdAttrs attrs{static_cast<ScatterKind>(kind)};
    for (const DType dtype : kNumbers) {
      const Tensor x = random_tensor(random, dtype, {4, 4, 9});
      for (std::int64_t depth = 0; depth <= 3; ++depth) {
        std::vector<std::int64_t> dims{21};
        for (int i = static_cast<int>(depth); i < 3; ++i) dims.push_back(x.shape()[i]);
        const Tensor at = indices(random, depth == 2 ? DType::s32 : DType::s64, {21, depth}, 4);
        ran.merge(check_selection(kScatterNd, attrs, {x, at, random_tensor(random, dtype, Shape(dims))}));
      }
    }
  }
  check_selection(kScatterNd, ScatterNdAttrs{ScatterKind::add},
                  {random_tensor(random, DType::f32, {900, 70}), indices(random, DType::s64, {500, 1}, 900),
                   random_tensor(random, DType::f32, {500, 70})});
  EXPECT_TRUE(kernels_missing(ran, "scatter_nd").empty());
}

TEST(SelectionKernels, Topk) {
  std::mt19937 random(4);
  std::set<std::string> ran;
  for (const DType dtype : kNumbers) {
    for (const bool largest : {false, true}) {
      for (const auto& [axis, k] : {std::pair(0, 3), {1, 7}, {2, 1}, {2, 40}}) {
        ran.merge(check_selection(kTopk, TopkAttrs{.axis = axis, .k = k, .largest = largest},
                                  {random_tensor(random, dtype, {4, 7, 40})}));
      }
    }
  }
  check_selection(kTopk, TopkAttrs{.axis = 1, .k = 5}, {random_tensor(random, DType::f32, {90, 1001})});
  check_selection(kTopk, TopkAttrs{.axis = 0, .k = 0}, {random_tensor(random, DType::f32, {5})});
  Tensor many_equal = random_tensor(random, DType::s8, {300});
  for (std::int8_t& value : many_equal.span<std::int8_t>()) value = static_cast<std::int8_t>(value & 3);
  check_selection(kTopk, TopkAttrs{.axis = 0, .k = 200}, {many_equal});
  EXPECT_TRUE(kernels_missing(ran, "plain_topk").empty());
}

TEST(SelectionKernels, BitcastAndDet) {
  std::mt19937 random(5);
  check_selection(kBitcast, BitcastAttrs{DType::s32}, {random_tensor(random, DType::f32, {70, 300})});
  check_selection(kBitcast, BitcastAttrs{DType::u8}, {random_tensor(random, DType::boolean, {5})});
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    check_selection(kDet, NoAttrs{}, {random_tensor(random, dtype, {3, 50, 4, 4})});
    check_selection(kDet, NoAttrs{}, {random_tensor(random, dtype, {7, 7})});
  }
  check_selection(kDet, NoAttrs{}, {random_tensor(random, DType::f32, {2, 0, 0})});
}

}  // namespace
}  // namespace octavo::testing
