// Sizes that grow by one: few of them are planned, the others follow, a size that comes again costs nothing, and what
// leaves the cache is counted. The bytes are those of a compilation for each size alone.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "api/open_answers.h"
#include "api/open_networks.h"
#include "run/access.h"

namespace octavo::v1 {
namespace {

using testing::answer;
using testing::Dims;
using testing::fixed_answer;
using testing::loaded;

const CompileOptions kGrowing32{.precision = Precision::fp32};
const CompileOptions kGrowing8{.precision = Precision::int8, .global_scale = 4.0f, .allow_reference = true};

// A network with an input of shape `at(length)`, and the name of that.
struct Growing {
  std::string path;
  std::string input;
  std::vector<std::int64_t> shape;  // with -1 for the length

  Dims at(std::int64_t length) const {
    Dims dims = shape;
    std::ranges::replace(dims, std::int64_t{-1}, length);
    return dims;
  }
};

Growing decoder(const std::string& name) { return {testing::write_decoder_step(name), "past", {2, -1, 16}}; }
Growing encoder(const std::string& name) { return {testing::write_encoder(name), "x", {1, -1, 32}}; }

// All lengths once, in order; every seventh answer is looked at.
void grow(Context& context, const Growing& network, const CompileOptions& options, std::int64_t longest) {
  for (std::int64_t length = 1; length <= longest; ++length) {
    const Dims dims = network.at(length);
    const Status resized = context.resize({&dims, 1});
    ASSERT_TRUE(resized) << to_string(resized.errors());
    if (length % 7 != 3) continue;
    const auto seed = static_cast<unsigned>(length);
    EXPECT_TRUE(answer(context, seed) == fixed_answer(network.path, options, network.input, dims, seed)) << length;
  }
}

void expect_few_plans(const Growing& network, const CompileOptions& options) {
  constexpr std::int64_t kLongest = 200;
  const auto model = loaded(compile(network.path, options));
  ASSERT_TRUE(model) << to_string(model.errors());
  const Dims first = network.at(1);
  auto context = Context::create(*model, {&first, 1});
  ASSERT_TRUE(context) << to_string(context.errors());
  grow(*context, network, options, kLongest);
  const PlanCacheInfo once = model->plan_cache();
  EXPECT_LE(once.made, 10u) << "one for each number of binary digits, and few that could not follow";
  EXPECT_EQ(once.made + once.followed, std::uint64_t{kLongest});
  EXPECT_EQ(once.plans, std::uint64_t{kLongest});
  grow(*context, network, options, kLongest);
  const PlanCacheInfo twice = model->plan_cache();
  EXPECT_EQ(twice.made, once.made);
  EXPECT_EQ(twice.followed, once.followed);
  EXPECT_EQ(twice.dropped, 0u);
  EXPECT_EQ(twice.packed_bytes, once.packed_bytes);
  std::filesystem::remove(network.path);
}

TEST(Growing, DecodersAreSeldomPlanned) { expect_few_plans(decoder("octavo_growing_decoder.onnx"), kGrowing32); }
TEST(Growing, EncodersAreSeldomPlanned) { expect_few_plans(encoder("octavo_growing_encoder.onnx"), kGrowing32); }
TEST(Growing, IntegerEncodersAreSeldomPlanned) { expect_few_plans(encoder("octavo_growing_bytes.onnx"), kGrowing8); }

// Steps that see nothing of the length are one object for all.
TEST(Growing, StepsOfOtherSizesAreShared) {
  const Growing network = decoder("octavo_growing_shared.onnx");
  const auto model = loaded(compile(network.path, kGrowing32));
  ASSERT_TRUE(model) << to_string(model.errors());
  const auto plan_at = [&](std::int64_t length) {
    const Shape shape(network.at(length));
    return *Access::of(*model).model->plan_for({&shape, 1});
  };
  const auto one = plan_at(20), other = plan_at(21);
  ASSERT_EQ(one->steps.size(), other->steps.size());
  std::size_t shared = 0;
  for (std::size_t i = 0; i < one->steps.size(); ++i) {
    const bool is_same_shape = one->plan->value(one->plan->steps[i].outputs[0]).shape ==
                               other->plan->value(other->plan->steps[i].outputs[0]).shape;
    shared += one->steps[i].step == other->steps[i].step ? 1 : 0;
    if (is_same_shape) continue;
    EXPECT_NE(one->steps[i].step, other->steps[i].step) << i;
  }
  EXPECT_GE(shared, 2u);
  EXPECT_LT(shared, one->steps.size());
  std::filesystem::remove(network.path);
}

// The plan that others follow stays as long as they do.
TEST(Growing, WhatLeavesIsCounted) {
  const Growing network = decoder("octavo_growing_dropped.onnx");
  constexpr std::uint64_t kLimit = 400 << 10;
  const auto model = loaded(compile(network.path, kGrowing32), {.threads = 1, .plan_cache_bytes = kLimit});
  ASSERT_TRUE(model) << to_string(model.errors());
  const Dims first = network.at(1);
  auto context = Context::create(*model, {&first, 1});
  ASSERT_TRUE(context) << to_string(context.errors());
  grow(*context, network, kGrowing32, 60);
  const PlanCacheInfo once = model->plan_cache();
  EXPECT_GT(once.dropped, 0u);
  EXPECT_EQ(once.again, 0u);
  EXPECT_EQ(once.limit_bytes, kLimit);
  EXPECT_LE(once.bytes, kLimit);
  EXPECT_EQ(once.plans, once.made + once.followed - once.dropped);
  grow(*context, network, kGrowing32, 60);
  const PlanCacheInfo twice = model->plan_cache();
  EXPECT_GT(twice.again, 0u);
  EXPECT_EQ(twice.plans, twice.made + twice.followed - twice.dropped);
  EXPECT_LE(twice.made, 20u);
  std::filesystem::remove(network.path);
}

// Whatever came before: a size is planned for or follows, and its bytes are the same.
TEST(Growing, JumpsGiveTheBytesOfFixedSizes) {
  const Growing network = encoder("octavo_growing_jumps.onnx");
  std::vector<Dims> shapes;
  for (const std::int64_t length : {63, 32, 33, 64, 127, 65, 2, 3, 1, 16, 31, 17, 100, 5, 4, 7}) {
    for (const std::int64_t rows : {1, 2, 3}) shapes.push_back({rows, length, 32});
  }
  testing::expect_fixed_answers(network.path, kGrowing32, {}, shapes);
  testing::expect_fixed_answers(network.path, kGrowing8, {}, shapes);
  std::filesystem::remove(network.path);
}

}  // namespace
}  // namespace octavo::v1
