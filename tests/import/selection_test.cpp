// ONNX operators that pick, write and count by position, einsum and the losses: answers worked out by hand, and what is
// wrong with files. Part of the tests of import/.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

using Ints = std::vector<std::int64_t>;
using Values = std::vector<float>;
using I = std::int64_t;

const Tensor kSelectionRows = floats({2, 3}, {1, 2, 3, 4, 5, 6});

Values selection_answer(const std::string& op, I opset, const std::vector<Tensor>& inputs,
                        const std::vector<Tensor>& constants, const std::vector<NamedAttribute>& attributes = {}) {
  return as_floats(answers_of(op, opset, inputs, constants, attributes)[0]);
}

// What the importer says of one operator on these inputs, the last ones being constants.
std::string selection_refusal(const std::string& op, I opset, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& constants,
                              const std::vector<NamedAttribute>& attributes = {}) {
  ModelBuilder builder(opset);
  NodeText node{op, {}, {"y"}, attributes};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    node.inputs.push_back("x" + std::to_string(i));
    builder.input(node.inputs.back(), inputs[i].dtype(), {inputs[i].shape().begin(), inputs[i].shape().end()});
  }
  for (std::size_t i = 0; i < constants.size(); ++i) {
    node.inputs.push_back("c" + std::to_string(i));
    builder.initializer(node.inputs.back(), constants[i]);
  }
  builder.node(node).output("y");
  const auto model = builder.import();
  return model ? "" : to_string(model.errors());
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(ImportSelection, TopkByInputOrAttribute) {
  const Tensor x = floats({1, 4}, {3, 1, 4, 2});
  for (const auto& y :
       {answers_of("TopK", 11, {x}, {integers({1}, {2})}, {}, 2), answers_of("TopK", 9, {x}, {}, {{"k", I{2}}}, 2)}) {
    EXPECT_EQ(as_floats(y[0]), (Values{4, 3}));
    EXPECT_EQ(to_int64s(y[1].view()), (Ints{2, 0}));
  }
  const auto smallest = answers_of("TopK", 11, {x}, {integers({1}, {1})}, {{"largest", I{0}}, {"sorted", I{0}}}, 2);
  EXPECT_EQ(to_int64s(smallest[1].view()), Ints{1});
  EXPECT_EQ(selection_refusal("TopK", 11, {x}, {integers({1}, {5})}),
            "test.onnx: node 'node' (TopK, opset 11), input 'K': found 5, expected 0 to 4, the size of the axis");
  EXPECT_TRUE(contains(selection_refusal("TopK", 11, {x}, {integers({2}, {1, 1})}), "input 'K': found"));
}

TEST(ImportSelection, ScattersJoinWhereAsked) {
  const Tensor x = floats({4}, {0, 1, 2, 3});
  const Tensor at = integers({2}, {1, -3}), rows = integers({2, 1}, {1, 1}), updates = floats({2}, {10, 20});
  const auto joined = [&](const std::string& op, const Tensor& indices, const std::string& reduction) {
    return selection_answer(op, 18, {x}, {indices, updates}, {{"reduction", reduction}});
  };
  for (const auto& [op, indices] : {std::pair("ScatterElements", at), {"ScatterND", rows}}) {
    EXPECT_EQ(joined(op, indices, "none"), (Values{0, 20, 2, 3}));
    EXPECT_EQ(joined(op, indices, "add"), (Values{0, 31, 2, 3}));
    EXPECT_EQ(joined(op, indices, "mul"), (Values{0, 200, 2, 3}));
    EXPECT_EQ(joined(op, indices, "max"), (Values{0, 20, 2, 3}));
    EXPECT_EQ(joined(op, indices, "min"), (Values{0, 1, 2, 3}));
    EXPECT_TRUE(contains(selection_refusal(op, 18, {x}, {indices, updates}, {{"reduction", std::string("xor")}}),
                         "attribute 'reduction': found 'xor', expected 'none', 'add', 'mul', 'max' or 'min'"));
  }
  EXPECT_EQ(selection_answer("Scatter", 10, {x}, {at, updates}), (Values{0, 20, 2, 3}));
  EXPECT_EQ(selection_answer("GatherND", 12, {kSelectionRows}, {integers({1, 2}, {-1, 0})}), Values{4});
}

TEST(ImportSelection, TensorScatterGoesRound) {
  const Tensor cache = floats({1, 3, 1}, {1, 2, 3}), update = floats({1, 2, 1}, {8, 9});
  EXPECT_EQ(selection_answer("TensorScatter", 24, {cache, update}, {integers({1}, {1})}), (Values{1, 8, 9}));
  EXPECT_EQ(selection_answer("TensorScatter", 24, {cache, update}, {}), (Values{8, 9, 3}));
  EXPECT_EQ(
      selection_answer("TensorScatter", 24, {cache, update}, {integers({1}, {2})}, {{"mode", std::string("circular")}}),
      (Values{9, 2, 8}));
  EXPECT_TRUE(
      contains(selection_refusal("TensorScatter", 24, {cache, update}, {}, {{"axis", I{0}}}), "attribute 'axis'"));
}

TEST(ImportSelection, OneHotWithIndicesFromTheEnd) {
  const Tensor indices = integers({4}, {0, -1, 3, 2});
  EXPECT_EQ(selection_answer("OneHot", 11, {indices}, {floats({}, {3}), floats({2}, {2, 5})}),
            (Values{5, 2, 2, 2, 2, 5, 2, 2, 2, 2, 2, 5}));
  EXPECT_EQ(selection_answer("OneHot", 11, {indices}, {integers({1}, {3}), floats({2}, {0, 1})}, {{"axis", I{0}}}),
            (Values{1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1}));
  EXPECT_TRUE(contains(selection_refusal("OneHot", 11, {indices}, {integers({2}, {3, 3}), floats({2}, {0, 1})}),
                       "input 'depth': found shape 2, expected one number"));
  EXPECT_TRUE(
      contains(selection_refusal("OneHot", 11, {indices}, {integers({}, {-1}), floats({2}, {0, 1})}), "at least 0"));
  EXPECT_TRUE(
      contains(selection_refusal("OneHot", 11, {indices}, {integers({}, {3}), floats({3}, {0, 1, 2})}), "two values"));
}

TEST(ImportSelection, PositionsMakeMasks) {
  EXPECT_EQ(selection_answer("Trilu", 14, {kSelectionRows}, {}), (Values{1, 2, 3, 0, 5, 6}));
  EXPECT_EQ(selection_answer("Trilu", 14, {kSelectionRows}, {integers({}, {1})}, {{"upper", I{0}}}),
            (Values{1, 2, 0, 4, 5, 6}));
  EXPECT_EQ(selection_answer("Trilu", 14, {kSelectionRows}, {integers({}, {std::numeric_limits<I>::min()})}),
            (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(selection_answer("EyeLike", 9, {kSelectionRows}, {}, {{"k", I{1}}}), (Values{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(selection_answer("Hardmax", 13, {floats({2, 2}, {1, 1, 0, 2})}, {}), (Values{1, 0, 0, 1}));
  EXPECT_EQ(selection_answer("Hardmax", 11, {floats({1, 2, 2}, {1, 3, 0, 2})}, {}), (Values{0, 1, 0, 0}));
}

TEST(ImportSelection, ReverseSequenceKeepsTheRest) {
  EXPECT_EQ(selection_answer("ReverseSequence", 10, {kSelectionRows}, {integers({3}, {2, 1, 0})}),
            (Values{4, 2, 3, 1, 5, 6}));
  EXPECT_EQ(selection_answer("ReverseSequence", 10, {kSelectionRows}, {integers({2}, {3, 2})},
                             {{"time_axis", I{1}}, {"batch_axis", I{0}}}),
            (Values{3, 2, 1, 5, 4, 6}));
  EXPECT_TRUE(contains(selection_refusal("ReverseSequence", 10, {kSelectionRows}, {integers({2}, {1, 1})}),
                       "expected [3], the size"));
  EXPECT_TRUE(contains(
      selection_refusal("ReverseSequence", 10, {kSelectionRows}, {integers({2}, {1, 1})}, {{"time_axis", I{1}}}),
      "another axis than that of the batch"));
}

TEST(ImportSelection, CenterCropPad) {
  EXPECT_EQ(selection_answer("CenterCropPad", 18, {kSelectionRows}, {integers({2}, {3, 1})}), (Values{2, 5, 0}));
  EXPECT_EQ(selection_answer("CenterCropPad", 18, {kSelectionRows}, {integers({1}, {6})}, {{"axes", Ints{-1}}}),
            (Values{0, 1, 2, 3, 0, 0, 0, 4, 5, 6, 0, 0}));
  EXPECT_TRUE(contains(selection_refusal("CenterCropPad", 18, {kSelectionRows}, {integers({1}, {3})}),
                       "a size for each of 2 axes"));
}

TEST(ImportEinsum, ProductsDiagonalsAndSums) {
  const auto einsum = [](const std::string& equation, const std::vector<Tensor>& operands) {
    return selection_answer("Einsum", 12, operands, {}, {{"equation", equation}});
  };
  const Tensor a = kSelectionRows, b = floats({3, 2}, {1, 0, 0, 1, 2, 2}), v = floats({3}, {1, 10, 100});
  EXPECT_EQ(einsum("ij,jk->ik", {a, b}), (Values{7, 8, 16, 17}));
  EXPECT_EQ(einsum("ij,jk", {a, b}), (Values{7, 8, 16, 17}));
  EXPECT_EQ(einsum(" i j , j k -> k i ", {a, b}), (Values{7, 16, 8, 17}));
  EXPECT_EQ(einsum("ij,ij->j", {a, a}), (Values{17, 29, 45}));
  EXPECT_EQ(einsum("ij->ji", {a}), (Values{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(einsum("ij->", {a}), Values{21});
  EXPECT_EQ(einsum("ij,j,ij->i", {a, v, a}), (Values{1 + 40 + 900, 16 + 250 + 3600}));
  EXPECT_EQ(einsum("i,j->ij", {floats({2}, {2, 3}), v}), (Values{2, 20, 200, 3, 30, 300}));
  EXPECT_EQ(einsum("ii->i", {floats({2, 2}, {1, 2, 3, 4})}), (Values{1, 4}));
  EXPECT_EQ(einsum("ii", {floats({2, 2}, {1, 2, 3, 4})}), Values{5});
  EXPECT_EQ(einsum("iji->j", {floats({2, 1, 2}, {1, 2, 3, 4})}), Values{5});
  EXPECT_EQ(einsum("...ij,...jk->...ik", {floats({1, 2, 3}, {1, 2, 3, 4, 5, 6}), b}), (Values{7, 8, 16, 17}));
  EXPECT_EQ(einsum("...j,j", {a, v}), (Values{321, 654}));
  EXPECT_EQ(einsum("ij,kj->ik", {a, floats({1, 1}, {2})}), (Values{12, 30}));
}

TEST(ImportEinsum, EquationsThatMakeNoSense) {
  const auto wrong = [](const std::string& equation, const std::vector<Tensor>& operands) {
    return selection_refusal("Einsum", 12, operands, {}, {{"equation", equation}});
  };
  EXPECT_EQ(wrong("ij,jk->ik", {kSelectionRows}),
            "test.onnx: node 'node' (Einsum, opset 12), attribute 'equation': found 'ij,jk->ik', expected a term for "
            "each of 1 operands");
  EXPECT_TRUE(contains(wrong("ijk->i", {kSelectionRows}), "letters for the axes of 2x3 in term 0"));
  EXPECT_TRUE(contains(wrong("i1->i", {kSelectionRows}), "letters for the axes"));
  EXPECT_TRUE(contains(wrong("......ij->i", {kSelectionRows}), "letters for the axes"));
  EXPECT_TRUE(contains(wrong("i->i", {kSelectionRows}), "letters for the axes"));
  EXPECT_TRUE(contains(wrong("ij->k", {kSelectionRows}), "labels of the operands behind '->'"));
  EXPECT_TRUE(contains(wrong("ij->ii", {kSelectionRows}), "each once"));
  EXPECT_TRUE(contains(wrong("ij->i->j", {kSelectionRows}), "letters behind '->'"));
  EXPECT_TRUE(contains(wrong("ij,jk->ik", {kSelectionRows, kSelectionRows}), "have one size"));
  EXPECT_TRUE(contains(wrong("ii->i", {kSelectionRows}), "one size"));
}

TEST(ImportLosses, WeightsAndClassesToIgnore) {
  const Tensor log_p = floats({3, 2}, {-1, -2, -3, -4, -5, -6}), weight = floats({2}, {1, 3});
  const Tensor target = integers({3}, {0, 1, 1});
  const auto loss = [&](const std::string& reduction, const Tensor& classes) {
    return selection_answer("NegativeLogLikelihoodLoss", 13, {log_p, classes}, {weight},
                            {{"reduction", reduction}, {"ignore_index", I{-7}}});
  };
  EXPECT_EQ(loss("none", target), (Values{1, 12, 18}));
  EXPECT_EQ(loss("sum", target), Values{31});
  EXPECT_EQ(loss("mean", target), Values{31.0f / 7});
  EXPECT_EQ(loss("mean", integers({3}, {0, -7, 1})), Values{19.0f / 4});
  EXPECT_EQ(selection_answer("NegativeLogLikelihoodLoss", 13, {log_p, target}, {}), Values{11.0f / 3});
  EXPECT_TRUE(contains(
      selection_refusal("NegativeLogLikelihoodLoss", 13, {log_p, target}, {}, {{"reduction", std::string("max")}}),
      "'none', 'sum' or 'mean'"));
}

TEST(ImportLosses, CrossEntropyGivesLogarithmsToo) {
  const auto y = answers_of("SoftmaxCrossEntropyLoss", 13, {floats({1, 2}, {0, 0}), integers({1}, {1})}, {}, {}, 2);
  EXPECT_NEAR(as_floats(y[0])[0], std::log(2.0f), 1e-6f);
  EXPECT_NEAR(as_floats(y[1])[0], -std::log(2.0f), 1e-6f);
}

TEST(ImportElementwise, BitsInfinitiesAndShrink) {
  const Tensor bytes = Tensor::of<std::uint8_t>({2}, std::vector<std::uint8_t>{3, 4});
  EXPECT_EQ(selection_answer("BitShift", 11, {bytes, bytes}, {}, {{"direction", std::string("LEFT")}}),
            (Values{24, 64}));
  EXPECT_EQ(selection_answer("BitwiseNot", 18, {bytes}, {}), (Values{252, 251}));
  EXPECT_EQ(selection_answer("BitCast", 26, {floats({1}, {1})}, {}, {{"to", I{6}}}), Values{0x3f800000});
  EXPECT_TRUE(contains(selection_refusal("BitShift", 11, {bytes, bytes}, {}), "attribute 'direction': found ''"));
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(selection_answer("IsInf", 10, {floats({3}, {-inf, 1, inf})}, {}, {{"detect_positive", I{0}}}),
            (Values{1, 0, 0}));
  EXPECT_EQ(selection_answer("Shrink", 9, {floats({3}, {-2, 0.25f, 2})}, {}, {{"bias", 1.5f}}),
            (Values{-0.5f, 0, 0.5f}));
  EXPECT_NEAR(selection_answer("Swish", 24, {floats({1}, {1})}, {}, {{"alpha", 2.0f}})[0], 0.8807971f, 1e-6f);
}

// What onnx 1.23's reference gives.
TEST(ImportElementwise, OfOpset28) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor a = floats({9}, {5, -5, 5, -5, 6, -6, 3, -3, 0.5f}),
               b = floats({9}, {3, 3, -3, -3, 3, 3, inf, inf, 0.75f});
  EXPECT_EQ(selection_answer("Mod", 28, {a, b}, {}), (Values{2, 1, -1, -2, 0, 0, 3, inf, 0.5f}));
  EXPECT_TRUE(contains(selection_refusal("Mod", 27, {a, b}, {}), "attribute 'fmod': found 0 for floats"));
  const Tensor gate = floats({3}, {1, -2, 0.5f}), x = floats({3}, {3, 4, -5});
  const Values gated = selection_answer("SwiGLU", 28, {gate, x}, {}),
               twice = selection_answer("SwiGLU", 28, {gate, x}, {}, {{"alpha", 2.0f}});
  const Values expected{2.1931758f, -0.9536235f, -1.5561484f}, expected_twice{2.6423912f, -0.1438897f, -1.8276465f};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(gated[i], expected[i], 1e-6f);
    EXPECT_NEAR(twice[i], expected_twice[i], 1e-6f);
  }
  EXPECT_TRUE(contains(selection_refusal("SwiGLU", 28, {gate, floats({1}, {3})}, {}), "input 'B': found shape 1"));
  const Tensor bytes = Tensor::of<std::int8_t>({4}, std::vector<std::int8_t>{-100, 100, -1, 5});
  const Tensor by = Tensor::of<std::int8_t>({4}, std::vector<std::int8_t>{2, 2, 9, -1});
  EXPECT_EQ(selection_answer("BitShift", 28, {bytes, by}, {}, {{"direction", std::string("RIGHT")}}),
            (Values{-25, 25, -1, 0}));
  EXPECT_EQ(selection_answer("BitShift", 28, {bytes, by}, {}, {{"direction", std::string("LEFT")}}),
            (Values{112, -112, 0, 0}));
  const Tensor image = floats({1, 2, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  EXPECT_EQ(selection_answer("SpaceToDepth", 28, {image}, {}, {{"blocksize", I{2}}, {"mode", std::string("CRD")}}),
            (Values{0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15}));
}

}  // namespace
}  // namespace octavo::testing
