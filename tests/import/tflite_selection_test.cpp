// What TFLite's operators on positions, masks and integers mean, by answers worked out by hand. Part of the tests of
// import/.
#include <gtest/gtest.h>

#include "import/one_operator.h"

namespace octavo::testing {
namespace {

constexpr DType kBool = DType::boolean, kTfliteSelectionS32 = DType::s32;

const Tensor kTfliteSelectionRows = floats({2, 3}, {1, 2, 3, 4, 5, 6});

Tensor flags(Shape shape, const std::vector<int>& values) {
  Tensor tensor(kBool, std::move(shape));
  for (std::size_t i = 0; i < values.size(); ++i) tensor.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(values[i]);
  return tensor;
}

TEST(TfliteLogic, ComparisonsAndFlags) {
  const Tensor a = s32s({3}, {1, 2, 3}), b = s32s({3}, {2, 2, 2});
  const auto compared = [&](int code) { return answer_of({.code = code, .inputs = {a, b}, .to = kBool}); };
  EXPECT_EQ(compared(71), (Values{0, 1, 0}));
  EXPECT_EQ(compared(72), (Values{1, 0, 1}));
  EXPECT_EQ(compared(61), (Values{0, 0, 1}));
  EXPECT_EQ(compared(62), (Values{0, 1, 1}));
  EXPECT_EQ(compared(58), (Values{1, 0, 0}));
  EXPECT_EQ(compared(63), (Values{1, 1, 0}));
  const Tensor p = flags({2}, {0, 1}), q = flags({2}, {1, 1});
  EXPECT_EQ(answer_of({.code = 86, .inputs = {p, q}, .to = kBool}), (Values{0, 1}));
  EXPECT_EQ(answer_of({.code = 84, .inputs = {p, q}, .to = kBool}), (Values{1, 1}));
  EXPECT_EQ(answer_of({.code = 87, .inputs = {p}, .to = kBool}), (Values{1, 0}));
  for (const int select : {64, 123})
    EXPECT_EQ(answer_of({.code = select, .inputs = {p, floats({2}, {1, 2}), floats({2}, {3, 4})}}), (Values{3, 2}));
}

TEST(TfliteArithmetic, RoundedDownAndOfBits) {
  const Tensor a = s32s({4}, {7, -7, 7, -7}), b = s32s({4}, {2, 2, -2, -2});
  EXPECT_EQ(answer_of({.code = 90, .inputs = {a, b}, .to = kTfliteSelectionS32}), (Values{3, -4, -4, 3}));
  EXPECT_EQ(answer_of({.code = 95, .inputs = {a, b}, .to = kTfliteSelectionS32}), (Values{1, 1, -1, -1}));
  const Tensor x = floats({2}, {7.5f, -7.5f}), y = floats({2}, {2, 2});
  EXPECT_EQ(answer_of({.code = 90, .inputs = {x, y}}), (Values{3, -4}));
  EXPECT_EQ(answer_of({.code = 95, .inputs = {x, y}}), (Values{1.5f, 0.5f}));
  EXPECT_EQ(answer_of({.code = 160, .inputs = {a, b}, .to = kTfliteSelectionS32}), (Values{5, -5, -7, 7}));
  EXPECT_EQ(answer_of({.code = 161, .inputs = {a, s32s({4}, {1, 1, 0, 1})}, .to = kTfliteSelectionS32}),
            (Values{3, -4, 7, -4}));
  EXPECT_EQ(answer_of({.code = 159, .inputs = {floats({1}, {1})}, .to = kTfliteSelectionS32}), Values{0x3f800000});
  EXPECT_EQ(answer_of({.code = 92, .inputs = {y}}), (Values{4, 4}));
  EXPECT_EQ(answer_of({.code = 99, .inputs = {x, y}}), (Values{30.25f, 90.25f}));
  EXPECT_EQ(answer_of({.code = 106, .inputs = {x, y, y}}), (Values{11.5f, -3.5f}));
  EXPECT_EQ(answer_of({.code = 78, .inputs = {y, y}}), (Values{4, 4}));
  EXPECT_EQ(answer_of({.code = 76, .inputs = {floats({1}, {4})}}), Values{0.5f});
}

TEST(TfliteSelection, Gathers) {
  const auto gathered = [&](const Tensor& x, const Tensor& indices, int axis, int batch_dims) {
    return answer_of({.code = 36,
                      .inputs = {x, indices},
                      .kind = tfl::BuiltinOptions::GatherOptions,
                      .options = options_of(tfl::CreateGatherOptions, axis, batch_dims)});
  };
  EXPECT_EQ(gathered(kTfliteSelectionRows, s32s({2}, {2, 0}), 1, 0), (Values{3, 1, 6, 4}));
  EXPECT_EQ(gathered(kTfliteSelectionRows, s32s({1}, {1}), 0, 0), (Values{4, 5, 6}));
  EXPECT_EQ(gathered(kTfliteSelectionRows, s32s({2, 1}, {2, 0}), 1, 1), (Values{3, 4}));
  EXPECT_EQ(answer_of({.code = 107, .inputs = {kTfliteSelectionRows, s32s({2, 2}, {1, 2, 0, 0})}}), (Values{6, 1}));
}

TEST(TfliteSelection, UpdatesOfOnePlaceAreAddedUp) {
  EXPECT_EQ(
      answer_of(
          {.code = 122, .inputs = {s32s({3, 1}, {1, 3, 1}), floats({3}, {5, 6, 7})}, .constants = {s32s({1}, {4})}}),
      (Values{0, 12, 0, 6}));
}

TEST(TfliteSelection, TopElementsHavePositionsOf32Bits) {
  TfliteBuilder model;
  const int x = model.input({.name = "x", .shape = {2, 3}}), k = model.constant(s32s({}, {2}));
  const int values = model.output({.name = "values", .shape = {2, 2}});
  const int positions = model.output({.name = "positions", .dtype = kTfliteSelectionS32, .shape = {2, 2}});
  model.add({.code = 48, .inputs = {x, k}, .outputs = {values, positions}});
  const auto top = answers(model, {kTfliteSelectionRows});
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(as_floats(top[0]), (Values{3, 2, 6, 5}));
  EXPECT_EQ(top[1].dtype(), kTfliteSelectionS32);
  EXPECT_EQ(as_floats(top[1]), (Values{2, 1, 2, 1}));
}

// Four boxes in a row, each 2 wide; of neighbours a third of either is in both.
std::vector<Tensor> suppressed(int code, float iou, float score, float sigma) {
  TfliteBuilder model;
  const bool has_scores = code == 121;
  const int boxes = model.input({.name = "boxes", .shape = {4, 4}}),
            scores = model.input({.name = "scores", .shape = {4}});
  std::vector<int> inputs{boxes, scores, model.constant(s32s({}, {5})), model.constant(Tensor::scalar(iou)),
                          model.constant(Tensor::scalar(score))};
  if (has_scores) inputs.push_back(model.constant(Tensor::scalar(sigma)));
  std::vector<int> outputs{model.output({.name = "taken", .dtype = kTfliteSelectionS32, .shape = {5}})};
  if (has_scores) outputs.push_back(model.output({.name = "scores_taken", .shape = {5}}));
  outputs.push_back(model.output({.name = "count", .dtype = kTfliteSelectionS32, .shape = {}}));
  model.add({.code = code, .inputs = inputs, .outputs = outputs});
  return answers(model, {floats({4, 4}, {0, 0, 1, 2, 0, 1, 1, 3, 0, 2, 1, 4, 0, 3, 1, 5}),
                         floats({4}, {0.5f, 0.9f, 0.25f, 0.75f})});
}

TEST(TfliteSelection, BoxesThatAreTaken) {
  // By the threshold a box that overlaps by just that much is dropped.
  const auto some = suppressed(120, 1.0f / 3.0f, 0.3f, 0);
  ASSERT_EQ(some.size(), 2u);
  EXPECT_EQ(as_floats(some[0]), (Values{1, 3, 0, 0, 0}));
  EXPECT_EQ(as_floats(some[1]), (Values{2}));
  const auto all = suppressed(121, 0.34f, 0.3f, 0);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(as_floats(all[0]), (Values{1, 3, 0, 0, 0}));
  EXPECT_EQ(as_floats(all[1]), (Values{0.9f, 0.75f, 0.5f, 0, 0}));
  EXPECT_EQ(as_floats(all[2]), (Values{3}));
}

TEST(TfliteSelection, Reversals) {
  EXPECT_EQ(answer_of({.code = 105, .inputs = {kTfliteSelectionRows}, .constants = {s32s({1}, {-1})}}),
            (Values{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(answer_of({.code = 105, .inputs = {kTfliteSelectionRows}, .constants = {s32s({2}, {0, 1})}}),
            (Values{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(answer_of({.code = 112,
                       .inputs = {kTfliteSelectionRows, s32s({2}, {2, 3})},
                       .kind = tfl::BuiltinOptions::ReverseSequenceOptions,
                       .options = options_of(tfl::CreateReverseSequenceOptions, 1, 0)}),
            (Values{2, 1, 3, 6, 5, 4}));
}

TEST(TfliteSelection, OneHotLeavesNegativeIndicesOut) {
  EXPECT_EQ(answer_of({.code = 85,
                       .inputs = {s32s({3}, {1, -1, 0})},
                       .constants = {s32s({}, {2}), floats({}, {5}), floats({}, {1})},
                       .kind = tfl::BuiltinOptions::OneHotOptions,
                       .options = options_of(tfl::CreateOneHotOptions, -1)}),
            (Values{1, 5, 1, 1, 5, 1}));
}

TEST(TfliteSelection, Repeated) {
  EXPECT_EQ(answer_of({.code = 69, .inputs = {floats({1, 2}, {1, 2})}, .constants = {s32s({2}, {2, 2})}}),
            (Values{1, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(answer_of({.code = 130, .inputs = {floats({1, 2}, {1, 2})}, .constants = {s32s({2}, {2, 2})}}),
            (Values{1, 2, 1, 2}));
  EXPECT_EQ(answer_of({.code = 94, .inputs = {s32s({1}, {3}), floats({}, {7})}, .is_constant = {true}}),
            (Values{7, 7, 7}));
  EXPECT_EQ(answer_of({.code = 93, .inputs = {kTfliteSelectionRows}}), (Values{0, 0, 0, 0, 0, 0}));
  const Values log = answer_of({.code = 50, .inputs = {floats({1, 2}, {0, 0})}});
  ASSERT_EQ(log.size(), 2u);
  EXPECT_NEAR(log[0], -0.6931472f, 1e-6f);
}

TEST(TfliteSelection, WhatMakesNoSenseIsRefused) {
  TfliteBuilder model;
  const int x = model.input({.name = "x", .shape = {2, 3}}), k = model.constant(s32s({}, {4}));
  const int values = model.output({.name = "values"}),
            positions = model.output({.name = "positions", .dtype = kTfliteSelectionS32});
  model.add({.code = 48, .inputs = {x, k}, .outputs = {values, positions}});
  const auto result = model.import();
  ASSERT_FALSE(result);
  EXPECT_NE(to_string(result.errors()).find("input 'k': found 4, expected 0 to 3"), std::string::npos)
      << to_string(result.errors());
}

}  // namespace
}  // namespace octavo::testing
