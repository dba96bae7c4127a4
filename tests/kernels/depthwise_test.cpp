// Depthwise kernels of quantized_conv: windows, strides, dilations, channel counts, every epilogue.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "kernels/epilogue/rows.h"
#include "kernels/harness.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "planner/choice_list.h"

namespace octavo::testing {
namespace {

struct Geometry {
  std::int64_t batch, size, channels, kernel, stride, dilation, pad;
  std::int64_t multiplier = 1;
};

struct Options {
  DType x = DType::u8, to = DType::u8, residual_type = DType::u8;
  Addition residual = Addition::none;
  bool has_table = false;
  bool has_offset = false;
  bool has_rest = false;
  bool is_bare = false;  // no zero point, all of u8
};

Tensor multipliers(std::mt19937& random, std::int64_t n, std::int64_t taps) {
  Tensor tensor(DType::f32, {n});
  for (float& m : tensor.span<float>())
    m = std::uniform_real_distribution<float>(0.002f, 0.02f)(random) / static_cast<float>(taps);
  return tensor;
}

Epilogue depthwise_epilogue_of(const Options& o) {
  Epilogue e{{}, o.to};
  if (o.to == DType::s32) return e;
  if (o.has_rest) e.stages.emplace_back(AddRest{});
  if (o.residual == Addition::before_rounding) e.stages.emplace_back(ScaleAndAdd{0.37f, 9});
  else e.stages.emplace_back(Scale{});
  if (o.to == DType::f32) return e;
  const bool is_signed = o.to == DType::s8;
  if (o.is_bare) e.stages.emplace_back(Round{.after = 0, .lowest = 0, .highest = 255});
  else
    e.stages.emplace_back(
        Round{.after = is_signed ? -12 : 100, .lowest = is_signed ? -120 : 5, .highest = is_signed ? 127 : 250});
  if (o.residual == Addition::real_first || o.residual == Addition::real_second) {
    const AddForm form = AddForm::of(0.03f, 20, 0.05f, 30, 0.06f, 40);
    const Side side = o.residual == Addition::real_first ? Side::first : Side::second;
    e.stages.emplace_back(AddReal{side, form.a_ratio, form.b_ratio, form.fixed, 0, is_signed ? 11 : 0});
    e.stages.emplace_back(Round{.lowest = is_signed ? -128 : 0, .highest = is_signed ? 127 : 255});
  }
  if (o.has_table) e.stages.emplace_back(Lookup{});
  return e;
}

KernelCase depthwise_case_of(std::mt19937& random, const Geometry& g, const Options& o) {
  QuantizedConvAttrs attrs;
  attrs.window = {{g.kernel, g.kernel}, {g.stride, g.stride}, {g.dilation, g.dilation}, {g.pad, g.pad}, {g.pad, g.pad}};
  attrs.groups = g.channels;
  attrs.x_zero_point = o.x == DType::u8 ? 131 : -7;
  attrs.epilogue = depthwise_epilogue_of(o);
  const std::int64_t channels = g.channels * g.multiplier;
  const std::int64_t out = (g.size + 2 * g.pad - (g.kernel - 1) * g.dilation - 1) / g.stride + 1;
  Tensor bias(DType::s32, {channels});
  for (auto& b : bias.span<std::int32_t>()) b = static_cast<std::int32_t>(random() % 60001) - 30000;
  KernelCase test{.spec = &kQuantizedConv, .attrs = attrs, .is_constant = {false, true, true, true}};
  test.inputs = {random_tensor(random, o.x, {g.batch, g.size, g.size + 2, g.channels}),
                 random_tensor(random, DType::s8, {channels, g.kernel, g.kernel, 1}), bias};
  test.inputs.resize(kConvOperands);
  const std::int64_t out_width = (g.size + 2 + 2 * g.pad - (g.kernel - 1) * g.dilation - 1) / g.stride + 1;
  if (o.has_offset) {
    test.inputs[kConvOffset] = Tensor(DType::s32, {channels});
    for (auto& offset : test.inputs[kConvOffset]->span<std::int32_t>())
      offset = random() % 2 == 0 ? 128 : static_cast<std::int32_t>(random() % 256) - 127;
  }
  const auto add = [&](Tensor tensor, bool is_constant) {
    test.inputs.emplace_back(std::move(tensor));
    test.is_constant.push_back(is_constant);
  };
  if (o.to == DType::s32) return test;
  if (o.has_rest) {
    // Large ones decide the rounding where multipliers are small.
    Tensor rests(DType::f32, {channels});
    for (float& rest : rests.span<float>()) rest = std::uniform_real_distribution<float>(-400.0f, 400.0f)(random);
    add(std::move(rests), true);
  }
  add(multipliers(random, channels, g.kernel), true);
  if (o.to == DType::f32) return test;
  if (o.residual != Addition::none)
    add(random_tensor(random, o.residual_type, {g.batch, out, out_width, channels}), false);
  if (o.has_table) add(random_tensor(random, DType::s8, {256}), true);
  return test;
}

const Geometry kGeometries[] = {
    {1, 9, 64, 3, 1, 1, 1},   {2, 10, 96, 3, 2, 1, 1}, {1, 8, 24, 3, 1, 1, 1},   {1, 7, 16, 5, 1, 1, 2},
    {1, 11, 112, 5, 2, 1, 2}, {1, 9, 144, 7, 1, 1, 3}, {1, 13, 72, 7, 2, 1, 3},  {1, 12, 40, 3, 1, 2, 2},
    {1, 9, 8, 3, 1, 1, 1},    {1, 5, 3, 3, 1, 1, 1},   {1, 6, 65, 1, 1, 1, 0},   {1, 9, 79, 4, 3, 1, 0},
    {1, 150, 16, 3, 1, 1, 1}, {1, 1, 33, 3, 1, 1, 1},  {1, 6, 4, 3, 1, 1, 1, 4}, {1, 3, 32, 9, 1, 1, 4},
    {1, 14, 48, 5, 1, 3, 6},  {1, 11, 64, 3, 2, 1, 0}, {1, 5, 64, 3, 2, 1, 2},   {1, 101, 64, 3, 2, 1, 1},
    {1, 2, 128, 3, 2, 1, 1},  {1, 12, 64, 3, 2, 2, 2},
};

TEST(DepthwiseKernels, EqualTheReferenceForEveryGeometry) {
  std::mt19937 random(1);
  std::set<std::string> ran;
  for (const Geometry& g : kGeometries) {
    ran.merge(check_kernels(depthwise_case_of(random, g, {})));
    ran.merge(check_kernels(depthwise_case_of(random, g, {.x = DType::s8, .to = DType::s8, .has_table = true})));
    ran.merge(check_kernels(depthwise_case_of(random, g, {.to = DType::f32})));
    ran.merge(check_kernels(
        depthwise_case_of(random, g, {.x = DType::s8, .residual = Addition::before_rounding, .has_table = true})));
    ran.merge(check_kernels(depthwise_case_of(random, g, {.has_offset = true})));
    ran.merge(check_kernels(depthwise_case_of(random, g, {.is_bare = true})));
    ran.merge(check_kernels(depthwise_case_of(random, g, {.x = DType::s8, .is_bare = true})));
    ran.merge(check_kernels(depthwise_case_of(random, g, {.x = DType::s8, .to = DType::s8, .has_rest = true})));
  }
  EXPECT_TRUE(kernels_missing(ran, "depthwise_").empty());
}

TEST(DepthwiseKernels, EqualTheReferenceForEveryEpilogue) {
  std::mt19937 random(2);
  const Geometry g{1, 6, 70, 3, 1, 1, 1};
  for (DType to : {DType::u8, DType::s8}) {
    for (DType residual_type : {DType::u8, DType::s8}) {
      for (Addition residual :
           {Addition::none, Addition::before_rounding, Addition::real_first, Addition::real_second}) {
        for (bool has_table : {false, true}) {
          for (bool has_rest : {false, true}) {
            const Options options{.to = to,
                                  .residual_type = residual_type,
                                  .residual = residual,
                                  .has_table = has_table,
                                  .has_rest = has_rest};
            EXPECT_FALSE(check_kernels(depthwise_case_of(random, g, options)).empty());
          }
        }
      }
    }
  }
  for (DType to : {DType::s32, DType::f32})
    EXPECT_FALSE(check_kernels(depthwise_case_of(random, g, {.to = to})).empty());
  EXPECT_FALSE(check_kernels(depthwise_case_of(random, g, {.to = DType::f32, .has_rest = true})).empty());
  for (DType x : {DType::u8, DType::s8})
    EXPECT_GE(check_kernels(depthwise_case_of(random, g, {.x = x, .has_offset = true})).size(), 1u);
}

// Weights of 9 bits by their offsets: all that are sums of two bytes, which kernels that multiply bytes need.
TEST(DepthwiseKernels, TakeWeightsThatAreSumsOfTwoBytes) {
  std::mt19937 random(5);
  std::set<std::string> ran;
  for (const Geometry& g : kGeometries) {
    for (const Options& options :
         {Options{}, Options{.x = DType::s8, .to = DType::s8, .has_table = true},
          Options{.x = DType::s8, .residual = Addition::before_rounding}, Options{.to = DType::s32}}) {
      Options with_offset = options;
      with_offset.has_offset = true;
      KernelCase test = depthwise_case_of(random, g, with_offset);
      const auto offsets = test.inputs[kConvOffset]->span<std::int32_t>();
      for (auto& offset : offsets) offset = std::array{128, 127, 0, -128}[random() % 4];
      const auto weights = test.inputs[kConvW]->span<std::int8_t>();
      const std::size_t taps = weights.size() / offsets.size();
      for (std::size_t i = 0; i < weights.size(); ++i) {
        if (random() % 4 == 0) weights[i] = random() % 2 == 0 ? -128 : 127;
        if (offsets[i / taps] == 128) weights[i] = std::min<std::int8_t>(weights[i], 126);
      }
      ran.merge(check_kernels(test));
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "depthwise_").empty());
}

// All taps at the ends of their types, multipliers that leave every range.
TEST(DepthwiseKernels, KeepExtremes) {
  std::mt19937 random(3);
  for (DType x : {DType::u8, DType::s8}) {
    // 0.09 and 0.11: 16 bits just hold the results, or do not.
    for (float multiplier : {0.0f, 1e-30f, 0.09f, 0.11f, 1.0f, 1e30f, -1e30f, -0.09f}) {
      KernelCase test = depthwise_case_of(random, {1, 5, 64, 3, 1, 1, 1}, {.x = x, .is_bare = multiplier != 1.0f});
      for (auto& value : test.inputs[0]->span<std::uint8_t>())
        value = random() % 2 == 0 ? 0x80 : (random() % 2 == 0 ? 0xff : 0x7f);
      for (auto& value : test.inputs[1]->span<std::int8_t>()) value = random() % 2 == 0 ? -128 : 127;
      for (auto& value : test.inputs[kConvOperands]->span<float>()) value = multiplier;
      EXPECT_FALSE(check_kernels(test).empty());
    }
  }
}

TEST(DepthwiseKernels, RefusePackedConstantsOfAnotherSize) {
  std::mt19937 random(4);
  const KernelCase test = depthwise_case_of(random, {1, 5, 64, 3, 1, 1, 1}, {});
  for (const KernelChoice* kernel : all_choices()) {
    if (!kernel->code.name.starts_with("depthwise_")) continue;
    StepSpec spec{.spec = test.spec, .attrs = &test.attrs};
    for (const auto& input : test.inputs)
      spec.inputs.push_back(input ? StepOperand{.dtype = input->dtype(), .shape = input->shape()}
                                  : StepOperand{.is_present = false});
    spec.outputs = {{.dtype = DType::u8, .shape = Shape{1, 5, 7, 64}}};
    const Tensor small(DType::s8, {10});
    spec.packed.assign(4, small.view());
    EXPECT_FALSE(kernel->code.prepare(spec).ok()) << kernel->code.name;
    spec.packed.clear();
    EXPECT_FALSE(kernel->code.prepare(spec).ok()) << kernel->code.name;
    spec.inputs[0].is_packed = true;
    EXPECT_FALSE(kernel->code.prepare(spec).ok()) << kernel->code.name;
  }
}

}  // namespace
}  // namespace octavo::testing
