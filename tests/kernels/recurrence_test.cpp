// recurrence: its meaning, its kernels, and the files that have it. Part of tests/kernels/.
#include "ops/recurrence/recurrence.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/harness.h"
#include "ops/evaluate.h"
#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

using K = RecurrenceKind;
using Values = std::vector<float>;

RecurrenceAttrs recurrence_usual(K kind, bool is_backward = false) {
  const UnaryAttrs recurrence_sigmoid{UnaryKind::sigmoid}, tanh{UnaryKind::tanh};
  return {.kind = kind, .is_backward = is_backward, .gate = recurrence_sigmoid, .candidate = tanh, .output = tanh};
}

double recurrence_sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

std::vector<Tensor> recurrence_answers_of(const RecurrenceAttrs& attrs, const std::vector<Tensor>& inputs) {
  std::vector<ConstTensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.elements() == 0 ? ConstTensorView{} : input.view());
  auto results = evaluate_op(kRecurrence, attrs, views);
  EXPECT_TRUE(results.ok()) << to_string(results.errors());
  return results.ok() ? *results : std::vector<Tensor>(2);
}

// A layer that remembers: identity functions, h = x + h.
TEST(Recurrence, EndsWhereASequenceEndsAndBeginsThereBackwards) {
  RecurrenceAttrs attrs{.kind = K::simple};
  const Tensor x = floats({3, 2, 1}, {1, 10, 2, 20, 3, 30}), w = floats({1, 1}, {1}), none;
  const Tensor lengths = Tensor::of<std::int32_t>(Shape{2}, {2, 9});
  const auto forward = recurrence_answers_of(attrs, {x, w, none, floats({2, 1}, {100, 200}), none, none, lengths});
  EXPECT_EQ(as_floats(forward[0]), (Values{101, 210, 103, 230, 0, 260}));
  EXPECT_EQ(as_floats(forward[1]), (Values{103, 260}));
  attrs.is_backward = true;
  const auto backward = recurrence_answers_of(attrs, {x, w, none, none, none, none, lengths});
  EXPECT_EQ(as_floats(backward[0]), (Values{3, 60, 2, 50, 0, 30}));
  EXPECT_EQ(as_floats(backward[1]), (Values{3, 60}));
  const auto negative =
      recurrence_answers_of(attrs, {x, w, none, none, none, none, Tensor::of<std::int32_t>(Shape{2}, {-1, 0})});
  EXPECT_EQ(as_floats(negative[0]), Values(6, 0.0f));
}

TEST(Recurrence, IsTheFormulaOfLstms) {
  RecurrenceAttrs attrs = recurrence_usual(K::lstm);
  const Tensor none, x = floats({1, 1, 4}, {0.5f, -0.25f, 1, 2}), w = floats({1, 4}, {1, 2, -1, 0.5f});
  const Tensor h = floats({1, 1}, {0.5f}), c = floats({1, 1}, {-2}), p = floats({3, 1}, {0.5f, 0.25f, -1});
  const auto y = recurrence_answers_of(attrs, {x, w, none, h, c, p});
  const double i = recurrence_sigmoid(0.5 + 0.5 - 1.0), f = recurrence_sigmoid(1.0 - 0.5 + 2.0);
  const double next = f * -2.0 + i * std::tanh(2.25);
  const double o = recurrence_sigmoid(-0.25 + 1.0 + 0.25 * next);
  EXPECT_NEAR(as_floats(y[1])[0], o * std::tanh(next), 1e-6);
  EXPECT_NEAR(as_floats(y[1])[1], next, 1e-6);
  attrs.couples_gates = true;
  EXPECT_NEAR(as_floats(recurrence_answers_of(attrs, {x, w, none, h, c, p})[1])[1],
              (1 - i) * -2.0 + i * std::tanh(2.25), 1e-6);
  attrs.clip = 1.0f;
  EXPECT_NEAR(as_floats(recurrence_answers_of(attrs, {x, w, none, h, c, p})[1])[1], (1 - i) * -2.0 + i * std::tanh(1.0),
              1e-6);
}

TEST(Recurrence, IsTheFormulaOfGrus) {
  RecurrenceAttrs attrs = recurrence_usual(K::gru);
  const Tensor none, x = floats({1, 1, 3}, {0.5f, -0.25f, 1}), w = floats({1, 3}, {1, 2, -1});
  const Tensor h = floats({1, 1}, {0.5f}), bias = floats({1}, {0.125f});
  const double z = recurrence_sigmoid(1.0), r = recurrence_sigmoid(0.75);
  EXPECT_NEAR(as_floats(recurrence_answers_of(attrs, {x, w, none, h})[0])[0],
              z * 0.5 + (1 - z) * std::tanh(1.0 - r * 0.5), 1e-6);
  attrs.resets_after_product = true;
  EXPECT_NEAR(as_floats(recurrence_answers_of(attrs, {x, w, bias, h})[0])[0],
              z * 0.5 + (1 - z) * std::tanh(1.0 + r * (-0.5 + 0.125)), 1e-6);
}

TEST(Recurrence, RefusesWhatDoesNotFit) {
  const Fact x{.shape = Shape{5, 2, 8}}, w{.shape = Shape{2, 8}}, h{.shape = Shape{2, 2}}, wide{.shape = Shape{2, 3}};
  const Fact lengths{.dtype = DType::s32, .shape = Shape{2}};
  const auto takes = [](const RecurrenceAttrs& attrs, std::vector<const Fact*> inputs) {
    return infer_checked(kRecurrence, attrs, inputs).ok();
  };
  EXPECT_TRUE(takes(recurrence_usual(K::lstm), {&x, &w, nullptr, &h, &h, nullptr, &lengths}));
  EXPECT_FALSE(takes(recurrence_usual(K::lstm), {&x, &w, nullptr, &wide}));
  EXPECT_FALSE(takes(recurrence_usual(K::lstm), {&x, &w, nullptr, nullptr, nullptr, &h}));
  EXPECT_FALSE(takes(recurrence_usual(K::lstm), {&x, &w, nullptr, nullptr, nullptr, nullptr, &h}));
  EXPECT_FALSE(takes(recurrence_usual(K::gru), {&x, &w}));
  EXPECT_FALSE(takes(recurrence_usual(K::lstm), {&x, &x}));
  EXPECT_FALSE(takes(recurrence_usual(K::lstm), {&w, &w}));
  RecurrenceAttrs attrs = recurrence_usual(K::gru);
  const Fact gates{.shape = Shape{5, 2, 6}}, products{.shape = Shape{2, 6}}, bias{.shape = Shape{2}};
  EXPECT_TRUE(takes(attrs, {&gates, &products}));
  EXPECT_FALSE(takes(attrs, {&gates, &products, &bias}));
  EXPECT_FALSE(takes(attrs, {&gates, &products, nullptr, nullptr, &h}));
  attrs.resets_after_product = true;
  EXPECT_FALSE(takes(attrs, {&gates, &products}));
  EXPECT_TRUE(takes(attrs, {&gates, &products, &bias}));
  attrs.clip = 0.0f;
  EXPECT_FALSE(takes(attrs, {&gates, &products, &bias}));
  attrs.clip = 1.0f, attrs.gate.kind = UnaryKind::is_nan;
  EXPECT_FALSE(takes(attrs, {&gates, &products, &bias}));
}

TEST(Recurrence, KernelsHaveTheReferencesBits) {
  std::mt19937 random(5);
  std::set<std::string> ran;
  for (const K kind : {K::simple, K::gru, K::lstm}) {
    for (const std::int64_t hidden : {1, 7, 16, 33, 70}) {
      for (const std::int64_t batch : {1, 2, 7}) {
        RecurrenceAttrs attrs = recurrence_usual(kind, batch == 2);
        attrs.resets_after_product = kind == K::gru && hidden % 2 == 1;
        attrs.couples_gates = kind == K::lstm && hidden == 7;
        if (hidden == 33) attrs.clip = 0.75f;
        const auto floats_of = [&](Shape shape) { return random_tensor(random, DType::f32, std::move(shape)); };
        const std::int64_t width = gates_of(kind) * hidden;
        std::vector<std::optional<Tensor>> inputs{floats_of({4, batch, width}), floats_of({hidden, width})};
        inputs.resize(7);
        if (attrs.resets_after_product) inputs[kRecurrenceBias] = floats_of({hidden});
        if (hidden != 16) inputs[kRecurrenceH] = floats_of({batch, hidden});
        if (kind == K::lstm && hidden > 7) inputs[kRecurrenceC] = floats_of({batch, hidden});
        if (kind == K::lstm && hidden > 16) inputs[kRecurrencePeepholes] = floats_of({3, hidden});
        if (batch > 1) {
          std::vector<std::int32_t> lengths;
          for (std::int64_t b = 0; b < batch; ++b) lengths.push_back(static_cast<std::int32_t>((b * 3 + 1) % 6));
          inputs[kRecurrenceLengths] = Tensor::of<std::int32_t>(Shape{batch}, lengths);
        }
        ran.merge(check_kernels({&kRecurrence, attrs, inputs, {}}));
        ran.merge(check_kernels({&kRecurrence, attrs, inputs, {false, true, true}}));
        ran.merge(check_kernels({&kRecurrence, attrs, inputs, {false, true, true, true, true, true, true}}));
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "recurrence").empty());
}

// Both directions with a batch that comes first, one step: what comes backwards is what comes forwards.
TEST(Recurrence, OfOnnx) {
  ModelBuilder builder(17);
  builder.input("x", DType::f32, {2, 1, 1}).output("y").output("h");
  builder.initializer("w", floats({2, 1, 1}, {3, 5})).initializer("r", floats({2, 1, 1}, {7, 11}));
  builder.initializer("b", floats({2, 2}, {0.5f, 0.25f, 0, -9}));
  builder.node({"RNN",
                {"x", "w", "r", "b"},
                {"y", "h"},
                {{"hidden_size", std::int64_t{1}},
                 {"layout", std::int64_t{1}},
                 {"direction", std::string("bidirectional")},
                 {"activation_alpha", std::vector<float>{0.5f}}}});
  auto& names = *builder.proto().mutable_graph()->mutable_node(0)->add_attribute();
  names.set_name("activations");
  names.set_type(onnx::AttributeProto::STRINGS);
  for (const char* name : {"relu", "LeakyRelu"}) names.add_strings(name);
  const auto y = answers(builder, {floats({2, 1, 1}, {1, 2})});
  ASSERT_EQ(y.size(), 2u);
  EXPECT_EQ(y[0].shape(), (Shape{2, 1, 2, 1}));
  EXPECT_EQ(as_floats(y[0]), (Values{3.75f, -2, 6.75f, 1}));
  EXPECT_EQ(y[1].shape(), (Shape{2, 2, 1}));
}

}  // namespace
}  // namespace octavo::testing
