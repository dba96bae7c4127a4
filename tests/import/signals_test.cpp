// ONNX windows, Fourier transforms and grids: answers worked out by hand. Part of the tests of import/.
#include <gtest/gtest.h>

#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

using I = std::int64_t;
using Ints = std::vector<I>;
using Values = std::vector<float>;

void signals_expect_near(const Tensor& found, const Shape& shape, const Values& wanted) {
  ASSERT_EQ(found.shape(), shape);
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found.as<float>()[i], wanted[i], 2e-6f) << i;
}

TEST(ImportSignals, Windows) {
  const Tensor four = integers({}, {4}), five = integers({}, {5});
  signals_expect_near(answers_of("HannWindow", 17, {}, {four})[0], {4}, {0, 0.5f, 1, 0.5f});
  signals_expect_near(answers_of("HannWindow", 17, {}, {five}, {{"periodic", I{0}}})[0], {5}, {0, 0.5f, 1, 0.5f, 0});
  signals_expect_near(answers_of("HammingWindow", 17, {}, {four})[0], {4}, {4.0f / 46, 25.0f / 46, 1, 25.0f / 46});
  signals_expect_near(answers_of("BlackmanWindow", 17, {}, {four})[0], {4}, {0, 0.34f, 1, 0.34f});
  signals_expect_near(answers_of("HannWindow", 17, {}, {integers({}, {1})}, {{"periodic", I{0}}})[0], {1}, {0});
}

const Tensor kSignal = floats({1, 4, 1}, {1, 2, 3, 5});

TEST(ImportSignals, FourierTransforms) {
  const Values spectrum{11, 0, -2, 3, -3, 0, -2, -3};
  signals_expect_near(answers_of("DFT", 17, {kSignal}, {}, {{"axis", I{1}}})[0], {1, 4, 2}, spectrum);
  const auto half = answers_of("DFT", 17, {kSignal}, {}, {{"axis", I{1}}, {"onesided", I{1}}});
  signals_expect_near(half[0], {1, 3, 2}, {11, 0, -2, 3, -3, 0});
  const Tensor whole = floats({1, 4, 2}, spectrum);
  signals_expect_near(answers_of("DFT", 17, {whole}, {}, {{"axis", I{1}}, {"inverse", I{1}}})[0], {1, 4, 2},
                      {1, 0, 2, 0, 3, 0, 5, 0});
  signals_expect_near(answers_of("DFT", 17, {half[0]}, {}, {{"axis", I{1}}, {"inverse", I{1}}, {"onesided", I{1}}})[0],
                      {1, 4, 1}, {1, 2, 3, 5});
  // Cut to two numbers, or filled up with zeros.
  signals_expect_near(answers_of("DFT", 20, {kSignal}, {integers({}, {2}), integers({}, {-2})})[0], {1, 2, 2},
                      {3, 0, -1, 0});
  signals_expect_near(answers_of("DFT", 20, {floats({1, 1, 1}, {3})}, {integers({}, {2}), integers({}, {1})})[0],
                      {1, 2, 2}, {3, 0, 3, 0});
}

TEST(ImportSignals, FramesTimesAWindow) {
  signals_expect_near(answers_of("STFT", 17, {kSignal}, {integers({}, {2}), floats({2}, {1, 2})})[0], {1, 2, 2, 2},
                      {5, 0, -3, 0, 13, 0, -7, 0});
}

// Corners at bins 0, 0, 2 and 4.
TEST(ImportSignals, MelTriangles) {
  const std::vector<Tensor> inputs{integers({}, {2}), integers({}, {16}), integers({}, {8192}), floats({}, {0}),
                                   floats({}, {4096})};
  Values wanted{1, 0, 0.5f, 0.5f, 0, 1, 0, 0.5f};
  wanted.resize(18, 0.0f);
  signals_expect_near(answers_of("MelWeightMatrix", 17, {}, inputs)[0], {9, 2}, wanted);
}

TEST(ImportSignals, AffineGrids) {
  const Tensor theta = floats({1, 2, 3}, {1, 0, 0, 0, 2, 1});
  signals_expect_near(answers_of("AffineGrid", 20, {theta}, {integers({4}, {1, 1, 2, 2})})[0], {1, 2, 2, 2},
                      {-0.5f, 0, 0.5f, 0, -0.5f, 2, 0.5f, 2});
  signals_expect_near(
      answers_of("AffineGrid", 20, {theta}, {integers({4}, {1, 1, 1, 2})}, {{"align_corners", I{1}}})[0], {1, 1, 2, 2},
      {-1, -1, 1, -1});
}

TEST(ImportSignals, SizesThatMakeNoSense) {
  const auto refused = [](const std::string& op, I opset, const std::vector<Tensor>& constants, const std::string& part,
                          const std::vector<NamedAttribute>& attributes = {}) {
    ModelBuilder builder(opset);
    NodeText node{op, {}, {"y"}, attributes};
    for (std::size_t i = 0; i < constants.size(); ++i) {
      node.inputs.push_back("c" + std::to_string(i));
      builder.initializer(node.inputs.back(), constants[i]);
    }
    const auto model = builder.node(node).output("y").import();
    ASSERT_FALSE(model);
    EXPECT_NE(to_string(model.errors()).find(part), std::string::npos) << to_string(model.errors());
  };
  refused("HannWindow", 17, {integers({}, {-1})}, "input 'size': found -1, expected at least 0");
  refused("HannWindow", 17, {integers({}, {I{1} << 40})}, "at most 2^24 in all");
  refused("DFT", 17, {kSignal, integers({}, {0})}, "input 'dft_length': found a length of 0, expected 1 to 2^24");
  refused("DFT", 17, {kSignal}, "which is not transformed", {{"axis", I{2}}});
  refused("STFT", 17, {kSignal, integers({}, {0}), floats({2}, {1, 1})}, "input 'frame_step'");
  refused("STFT", 17, {kSignal, integers({}, {1}), floats({9}, Values(9, 1.0f))}, "frames of at most 4");
  refused("AffineGrid", 20, {floats({1, 2, 3}, Values(6, 1.0f)), integers({5}, {1, 1, 2, 2, 2})}, "[N, 3, 4] for 5");
}

}  // namespace
}  // namespace octavo::testing
