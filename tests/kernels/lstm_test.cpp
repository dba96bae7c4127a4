// full_lstm and fixed_lstm: their meaning and their kernels; LiteRT's answers are in tests/import. Part of
// tests/kernels/.
#include <gtest/gtest.h>

#include <cmath>

#include "base/fixed_point16.h"
#include "kernels/harness.h"
#include "ops/evaluate.h"
#include "ops/fixed_lstm/fixed_lstm.h"
#include "ops/full_lstm/full_lstm.h"
#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

using Facts = std::vector<const Fact*>;

double lstm_sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

TEST(FixedPoint16, FunctionsAreThoseOfReals) {
  for (int x = -32768; x < 32768; x += 7) {
    const auto value = static_cast<std::int16_t>(x);
    EXPECT_NEAR(fixed_sigmoid16(value) / 32768.0, lstm_sigmoid(x / 4096.0), 3e-4) << x;
    for (int bits = 0; bits <= kMostTanhBits; ++bits)
      EXPECT_NEAR(fixed_tanh16(value, bits) / 32768.0, std::tanh(std::ldexp(x, bits - 15)), 5e-4) << x << " " << bits;
  }
  EXPECT_EQ(fixed_sigmoid16(0), 1 << 14);
  EXPECT_EQ(fixed_tanh16(0, 3), 0);
}

std::vector<Tensor> run(const OpSpec& spec, const Attrs& attrs, const std::vector<Tensor>& inputs) {
  std::vector<ConstTensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.elements() == 0 ? ConstTensorView{} : input.view());
  auto results = evaluate_op(spec, attrs, views);
  EXPECT_TRUE(results.ok()) << to_string(results.errors());
  return results.ok() ? *results : std::vector<Tensor>(1);
}

FullLstmAttrs with_tanh() { return {.function = {.kind = UnaryKind::tanh}}; }

TEST(FullLstm, IsTheFormula) {
  FullLstmAttrs attrs = with_tanh();
  const Tensor none, x = floats({1, 1, 1}, {0.5f}), w = floats({4, 1, 1}, {1, 2, -1, 0.5f}),
                     r = floats({4, 1, 1}, {0.5f, -1, 2, 0.25f}), bias = floats({4, 1}, {0.1f, 0.2f, 0.3f, 0.4f}),
                     peepholes = floats({3, 1}, {0.5f, 0.25f, -1}), h = floats({1, 1}, {0.5f}),
                     c = floats({1, 1}, {-2});
  const double i = lstm_sigmoid(0.5 + 0.25 - 1.0 + 0.1), f = lstm_sigmoid(1.0 - 0.5 - 0.5 + 0.2);
  const double next = f * -2.0 + i * std::tanh(-0.5 + 1.0 + 0.3);
  const auto y = [&](double cell) { return lstm_sigmoid(0.25 + 0.125 - cell + 0.4) * std::tanh(cell); };
  const auto answer = [&](const Tensor& projection, const Tensor& projection_bias) {
    return as_floats(run(kFullLstm, attrs, {x, w, r, bias, peepholes, none, projection, projection_bias, h, c})[0])[0];
  };
  EXPECT_NEAR(answer(none, none), y(next), 1e-6);
  EXPECT_NEAR(answer(floats({1, 1}, {3}), floats({1}, {1})), 3 * y(next) + 1, 1e-6);
  attrs.projection_clip = 0.125f;
  EXPECT_EQ(answer(floats({1, 1}, {3}), floats({1}, {1})), -0.125f);
  attrs.cell_clip = 0.25f;
  EXPECT_NEAR(answer(none, none), y(-0.25), 1e-6);
}

TEST(FullLstm, ThreeGatesShareWhatTheForgetGateLeaves) {
  const Tensor x = floats({1, 1, 1}, {1}), w = floats({3, 1, 1}, {1, 2, 3}), r = floats({3, 1, 1}, {0, 0, 0}),
               bias = floats({3, 1}, {0, 0, 0});
  const double cell = (1.0 - lstm_sigmoid(1)) * std::tanh(2.0);
  EXPECT_NEAR(as_floats(run(kFullLstm, with_tanh(), {x, w, r, bias})[0])[0], lstm_sigmoid(3) * std::tanh(cell), 1e-6);
}

// The sums of a step [1, 3] are [-1.22, 1.22] after it, whatever the weights are.
TEST(FullLstm, NormalizesGates) {
  const Tensor none, x = floats({1, 1, 1}, {1}), w = floats({4, 2, 1}, {1, 3, 10, 30, -5, 5, 2, 4}),
                     r = floats({4, 2, 2}, std::vector<float>(16)), bias = floats({4, 2}, std::vector<float>(8)),
                     norms = floats({4, 2}, std::vector<float>(8, 2.0f));
  const auto y = as_floats(run(kFullLstm, with_tanh(), {x, w, r, bias, none, norms})[0]);
  const double cell = lstm_sigmoid(2) * std::tanh(2.0);
  EXPECT_NEAR(y[1], lstm_sigmoid(2) * std::tanh(cell), 1e-5);
  EXPECT_NEAR(y[0], lstm_sigmoid(-2) * std::tanh(lstm_sigmoid(-2) * std::tanh(-2.0)), 1e-5);
}

Tensor bytes(Shape shape, const std::vector<std::int8_t>& values) { return Tensor::of<std::int8_t>(shape, values); }

// Numbers that bytes have exactly: the answer of floats.
TEST(FullLstm, BytesAreFloatsWhereNothingIsRounded) {
  FullLstmAttrs attrs = with_tanh();
  attrs.w_scale.fill(0.5f), attrs.r_scale.fill(0.25f);
  const Tensor x = floats({2, 1, 2}, {127, -3, 127, 5}), bias = floats({4, 1}, {0, 0, 0, 0});
  const Tensor w = bytes({4, 1, 2}, {0, 1, 0, -1, 0, 2, 0, -2}), r = bytes({4, 1, 1}, {0, 0, 0, 0});
  const Tensor exact = floats({4, 1, 2}, {0, 0.5f, 0, -0.5f, 0, 1, 0, -1}), zeros = floats({4, 1, 1}, {0, 0, 0, 0});
  EXPECT_EQ(as_floats(run(kFullLstm, attrs, {x, w, r, bias})[0]),
            as_floats(run(kFullLstm, attrs, {x, exact, zeros, bias})[0]));
}

FixedMultiplier factor(double value) { return FixedMultiplier::of(value); }

FixedLstmAttrs lstm_usual() {
  FixedLstmAttrs attrs{.hidden = factor(0x1p-23), .projection = factor(0.01), .x_zero_point = -3, .h_zero_point = 5};
  attrs.of_x.fill(factor(0.4)), attrs.of_h.fill(factor(0.3));
  attrs.hidden_zero_point = -7;
  return attrs;
}

// Of one hidden element, by the formula in reals.
TEST(FixedLstm, IsTheFormulaOfReals) {
  const FixedLstmAttrs attrs = lstm_usual();
  const Tensor x = bytes({1, 1, 1}, {97}), w = bytes({4, 1, 1}, {100, 90, 80, 70}),
               r = bytes({4, 1, 1}, {50, 40, 30, 20});
  const Tensor bias = Tensor::of<std::int32_t>({4, 1}, std::vector<std::int32_t>{1000, 2000, -500, 300});
  const auto sum = [&](double w_value, double bias_value) { return (100 * w_value + bias_value) * 0.4 / 4096; };
  const double f = lstm_sigmoid(sum(100, 1000)), g = std::tanh(sum(90, 2000)), o = lstm_sigmoid(sum(80, -500)),
               i = lstm_sigmoid(sum(70, 300));
  const double c = f * 0.0 + i * g;
  const auto y = run(kFixedLstm, attrs, {x, w, r, bias})[0];
  EXPECT_NEAR(y.as<std::int8_t>()[0], o * std::tanh(c) * 128 - 7, 1.0);
}

TEST(Lstms, RefuseWhatDoesNotFit) {
  const Fact x{.shape = Shape{5, 2, 8}}, w{.shape = Shape{4, 3, 8}}, r{.shape = Shape{4, 3, 3}},
      bias{.shape = Shape{4, 3}}, wide{.shape = Shape{4, 3, 2}}, projection{.shape = Shape{2, 3}},
      row{.shape = Shape{2}};
  const auto takes = [](const Attrs& attrs, const OpSpec& spec, const Facts& inputs) {
    return infer_checked(spec, attrs, inputs).ok();
  };
  EXPECT_TRUE(takes(with_tanh(), kFullLstm, {&x, &w, &r, &bias}));
  EXPECT_TRUE(takes(with_tanh(), kFullLstm, {&x, &w, &wide, &bias, nullptr, nullptr, &projection, &row}));
  EXPECT_FALSE(takes(with_tanh(), kFullLstm, {&x, &w, &wide, &bias}));
  EXPECT_FALSE(takes(with_tanh(), kFullLstm, {&x, &w, &r, &bias, &bias}));
  EXPECT_FALSE(takes(with_tanh(), kFullLstm, {&x, &w, &r, &bias, nullptr, nullptr, nullptr, &row}));
  EXPECT_FALSE(takes(with_tanh(), kFullLstm, {&x, &x, &r, &bias}));
  EXPECT_FALSE(takes(FullLstmAttrs{.cell_clip = -1.0f}, kFullLstm, {&x, &w, &r, &bias}));
  EXPECT_FALSE(takes(FullLstmAttrs{.projection_scale = 0.0f}, kFullLstm, {&x, &w, &r, &bias}));
  EXPECT_FALSE(takes(lstm_usual(), kFixedLstm, {&x, &w, &r, &bias}));
  const Fact x8{.dtype = DType::s8, .shape = x.shape}, w8{.dtype = DType::s8, .shape = w.shape},
      r8{.dtype = DType::s8, .shape = r.shape}, b32{.dtype = DType::s32, .shape = bias.shape};
  EXPECT_TRUE(takes(lstm_usual(), kFixedLstm, {&x8, &w8, &r8, &b32}));
  EXPECT_FALSE(takes(lstm_usual(), kFixedLstm, {&x8, &w8, &w8, &b32}));
  for (auto change :
       {+[](FixedLstmAttrs& a) { a.cell_exponent = -16; }, +[](FixedLstmAttrs& a) { a.cell_exponent = -8; },
        +[](FixedLstmAttrs& a) { a.x_zero_point = 128; }, +[](FixedLstmAttrs& a) { a.cell_clip = -1; },
        +[](FixedLstmAttrs& a) { a.hidden.shift = 31; }, +[](FixedLstmAttrs& a) { a.of_h[3].shift = -32; }}) {
    FixedLstmAttrs attrs = lstm_usual();
    change(attrs);
    EXPECT_FALSE(takes(attrs, kFixedLstm, {&x8, &w8, &r8, &b32}));
  }
}

TEST(Lstms, KernelsAreTheReferences) {
  std::mt19937 random(5);
  std::set<std::string> ran;
  for (const std::int64_t gates : {3, 4}) {
    for (const bool projects : {false, true}) {
      const std::int64_t hidden = 7, outputs = projects ? 4 : 7;
      const auto made = [&](DType type, Shape shape) {
        return std::optional(random_tensor(random, type, std::move(shape)));
      };
      const auto part = [&](DType type, Shape shape) { return projects ? made(type, std::move(shape)) : std::nullopt; };
      const DType s8 = DType::s8, f32 = DType::f32;
      KernelCase fixed{.spec = &kFixedLstm, .attrs = lstm_usual()};
      fixed.inputs = {made(s8, {3, 5, 9}),
                      made(s8, {gates, hidden, 9}),
                      made(s8, {gates, hidden, outputs}),
                      made(DType::s32, {gates, hidden}),
                      part(s8, {outputs, hidden}),
                      part(DType::s32, {outputs}),
                      made(s8, {5, outputs}),
                      made(DType::s16, {5, hidden})};
      ran.merge(check_kernels(fixed));
      for (const DType type : {f32, s8}) {
        FullLstmAttrs attrs = with_tanh();
        attrs.is_backward = projects, attrs.form = gates == 3 ? DynamicForm::tflite : DynamicForm::tflite_symmetric;
        KernelCase full{.spec = &kFullLstm, .attrs = attrs};
        full.inputs = {
            made(f32, {3, 5, 9}),          made(type, {gates, hidden, 9}), made(type, {gates, hidden, outputs}),
            made(f32, {gates, hidden}),    made(f32, {gates - 1, hidden}), part(f32, {gates, hidden}),
            part(type, {outputs, hidden}), part(f32, {outputs}),           made(f32, {5, outputs}),
            made(f32, {5, hidden})};
        ran.merge(check_kernels(full));
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "full_lstm").empty());
  EXPECT_TRUE(kernels_missing(ran, "fixed_lstm").empty());
}

}  // namespace
}  // namespace octavo::testing
