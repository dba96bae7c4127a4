// Samples of several sizes: ranges are those of all of them, and what does not fit is told by the sample's name.
#include "quantize/sample_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ops/binary/binary.h"
#include "ops/concat/concat.h"
#include "ops/conv/conv.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/matmul/matmul.h"
#include "ops/unary/unary.h"

namespace octavo {
namespace {

// Seeded samples of these shapes, for graphs with one or several inputs; later ones are larger.
class SampleSizesNoise final : public SampleSource {
 public:
  explicit SampleSizesNoise(std::vector<std::vector<Shape>> shapes) : shapes_(std::move(shapes)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(shapes_.size()); }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    std::mt19937 random(static_cast<unsigned>(index + 1));
    std::normal_distribution<float> normal(0.0f, 1.0f + 0.25f * static_cast<float>(index));
    std::vector<Tensor> tensors;
    for (const Shape& shape : shapes_[static_cast<std::size_t>(index)]) {
      tensors.emplace_back(DType::f32, shape);
      for (float& value : tensors.back().span<float>()) value = normal(random);
    }
    return tensors;
  }

 private:
  std::vector<std::vector<Shape>> shapes_;
};

// Builds graphs with open batch, height and width; seeded weights.
class OpenNet {
 public:
  explicit OpenNet(std::int64_t least_batch = 1) : batch(sizes->add({.name = "N", .range = {least_batch, 64}}, 5)) {
    graph.set_sizes(sizes);
  }
  Graph graph;
  const std::shared_ptr<Sizes> sizes = std::make_shared<Sizes>();
  const Dim batch;
  const Dim height = sizes->add({.name = "H", .range = {4, 64}, .step = 4}, 16);
  const Dim width = sizes->add({.name = "W", .range = {4, 64}}, 20);

  ValueId input(const std::string& name) {
    return graph.add_input(name, DType::f32, OpenShape({batch, Dim(4), height, width}));
  }
  ValueId conv(const std::string& name, ValueId x) {
    std::normal_distribution<float> normal(0.0f, 0.3f);
    std::vector<float> weights(4 * 4 * 9), bias(4);
    for (float& weight : weights) weight = normal(random_);
    for (float& value : bias) value = normal(random_);
    Window window = unit_window({3, 3});
    window.pad_begin = window.pad_end = {1, 1};
    const ValueId w = graph.add_constant(name + ".w", Tensor::of<float>(Shape{4, 4, 3, 3}, weights));
    const ValueId b = graph.add_constant(name + ".b", Tensor::of<float>(Shape{4}, bias));
    return add(kConv, ConvAttrs{.window = window}, {x, w, b}, name);
  }
  ValueId add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, const std::string& name) {
    const auto id = graph.add(spec, std::move(attrs), std::move(inputs), name);
    EXPECT_TRUE(id) << to_string(id.errors());
    return id ? *id : ValueId{};
  }

 private:
  std::mt19937 random_{5};
};

OpenNet two_convolutions() {
  OpenNet net;
  const ValueId relu =
      net.add(kUnary, UnaryAttrs{.kind = UnaryKind::relu}, {net.conv("first", net.input("x"))}, "relu");
  net.graph.add_output(net.conv("second", relu), "y");
  return net;
}

std::vector<std::vector<Shape>> five_sizes() {
  return {{{1, 4, 8, 20}}, {{1, 4, 12, 7}}, {{1, 4, 12, 7}}, {{3, 4, 4, 33}}, {{1, 4, 16, 16}}, {{2, 4, 12, 7}}};
}

QuantizeOptions options_with(CalibrationMethod calibration) {
  return {.calibration = calibration, .corrects_biases = false, .observes_all = true};
}

Result<QuantizeReport> quantized_with(const SampleSource& samples, const QuantizeOptions& options) {
  OpenNet net = two_convolutions();
  return quantize(net.graph, samples, options);
}

TEST(SampleSizes, GroupsOfMostSamplesFirst) {
  const auto groups = sample_groups(SampleSizesNoise(five_sizes()));
  ASSERT_TRUE(groups) << to_string(groups.errors());
  std::vector<std::vector<std::int64_t>> indices;
  for (const SampleGroup& group : *groups) indices.push_back(group.indices);
  EXPECT_EQ(indices, (std::vector<std::vector<std::int64_t>>{{1, 2}, {0}, {3}, {4}, {5}}));
  EXPECT_EQ(groups->at(2).shapes, (std::vector<Shape>{{3, 4, 4, 33}}));
  // Of several of most the one that is seen first.
  const auto even = sample_groups(SampleSizesNoise({{{1, 4, 8, 8}}, {{1, 4, 4, 4}}, {{1, 4, 4, 4}}, {{1, 4, 8, 8}}}));
  ASSERT_TRUE(even);
  EXPECT_EQ(even->at(0).shapes[0], (Shape{1, 4, 8, 8}));
}

// The same as samples of each size teach alone, put together.
TEST(SampleSizes, RangesAreThoseOfAllSamples) {
  const auto all_sizes = five_sizes();
  const SampleSizesNoise samples(all_sizes);
  const auto together = quantized_with(samples, options_with(CalibrationMethod::minmax));
  ASSERT_TRUE(together) << to_string(together.errors());
  EXPECT_EQ(together->samples, 6);
  std::map<std::string, TensorRange> joined;
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    Graph fixed = two_convolutions().graph;
    const auto sizes = sizes_at(fixed, all_sizes[static_cast<std::size_t>(i)]);
    ASSERT_TRUE(sizes);
    ASSERT_TRUE(fixed.close(*fixed.sizes()->evaluate(*sizes)));
    const SampleGroup one{all_sizes[static_cast<std::size_t>(i)], {i}};
    const auto alone = quantize(fixed, SamplesOfGroup(samples, one), options_with(CalibrationMethod::minmax));
    ASSERT_TRUE(alone) << to_string(alone.errors());
    for (const auto& [name, range] : alone->calibrated.ranges) {
      const auto [at, is_first] = joined.emplace(name, range);
      at->second = {std::min(at->second.lowest, range.lowest), std::max(at->second.highest, range.highest)};
    }
  }
  ASSERT_EQ(joined.size(), together->calibrated.ranges.size());
  for (const auto& [name, range] : joined) {
    EXPECT_EQ(together->calibrated.ranges.at(name).lowest, range.lowest) << name;
    EXPECT_EQ(together->calibrated.ranges.at(name).highest, range.highest) << name;
  }
}

// Histograms go on from one size to the next: a batch is as good as its images one by one.
TEST(SampleSizes, HistogramsAreThoseOfAllSamples) {
  class Batches final : public SampleSource {
   public:
    explicit Batches(std::vector<std::int64_t> batches) : batches_(std::move(batches)) {}
    std::int64_t size() const override { return static_cast<std::int64_t>(batches_.size()); }
    Result<std::vector<Tensor>> sample(std::int64_t index) const override {
      Tensor tensor(DType::f32, {batches_[static_cast<std::size_t>(index)], 4, 8, 8});
      std::int64_t first = 0;
      for (std::int64_t i = 0; i < index; ++i) first += batches_[static_cast<std::size_t>(i)];
      for (std::int64_t n = 0; n < tensor.shape()[0]; ++n) {
        std::mt19937 random(static_cast<unsigned>(first + n));
        std::normal_distribution<float> normal(0.0f, 1.0f + static_cast<float>(first + n));
        for (std::int64_t i = 0; i < 256; ++i) tensor.as<float>()[n * 256 + i] = normal(random);
      }
      return std::vector<Tensor>{std::move(tensor)};
    }

   private:
    std::vector<std::int64_t> batches_;
  };
  for (const CalibrationMethod method : {CalibrationMethod::percentile, CalibrationMethod::mse,
                                         CalibrationMethod::entropy, CalibrationMethod::automatic}) {
    QuantizeOptions options = options_with(method);
    options.percentile = 99.0;
    const auto single = quantized_with(Batches({1, 1, 1, 1, 1, 1}), options);
    const auto batched = quantized_with(Batches({1, 3, 2}), options);
    ASSERT_TRUE(single && batched);
    for (const auto& [name, range] : single->calibrated.ranges) {
      EXPECT_EQ(batched->calibrated.ranges.at(name).lowest, range.lowest) << name;
      EXPECT_EQ(batched->calibrated.ranges.at(name).highest, range.highest) << name;
    }
  }
}

// Corrections, factors and rounded weights are learned from the samples of most, over all samples' ranges.
TEST(SampleSizes, EverythingElseIsLearnedAtTheSizeOfMost) {
  QuantizeOptions options{.calibration = CalibrationMethod::automatic,
                          .equalizes = true,
                          .weights = WeightMethod::adaround,
                          .output_sqnr = 45.0,
                          .judges_scores = true};
  const auto report = quantized_with(SampleSizesNoise(five_sizes()), options);
  ASSERT_TRUE(report) << to_string(report.errors());
  EXPECT_EQ(report->samples, 6);
  EXPECT_EQ(report->calibrated.bias_corrections.size(), report->calibrated.kept_in_f32.empty() ? 2u : 0u);
  EXPECT_TRUE(report->calibrated.channel_factors.contains("first"));
}

// What a channel is divided by it is divided by at other sizes, too: the second channel, whose values are small in most
// samples and large in another one, has its factor there.
TEST(SampleSizes, OtherSizesHaveTheFactorsOfMost) {
  class Channels final : public SampleSource {
   public:
    std::int64_t size() const override { return 3; }
    Result<std::vector<Tensor>> sample(std::int64_t index) const override {
      std::mt19937 random(static_cast<unsigned>(index + 1));
      std::normal_distribution<float> normal;
      Tensor tensor(DType::f32, {1, 4, 8, index == 2 ? 9 : 8});
      const std::int64_t pixels = tensor.elements() / 4;
      const float factors[2][4] = {{1.0f, 0.05f, 1.0f, 1.0f}, {0.0f, 10.0f, 0.0f, 0.0f}};
      for (std::int64_t i = 0; i < tensor.elements(); ++i)
        tensor.as<float>()[i] = normal(random) * factors[index / 2][i / pixels];
      return std::vector<Tensor>{std::move(tensor)};
    }
  };
  OpenNet net;
  const ValueId x = net.input("x");
  std::vector<float> weights(4 * 4 * 9, 0.0f);
  for (std::size_t channel = 0; channel < 4; ++channel) weights[(channel * 4 + channel) * 9 + 4] = 1.0f;
  const ValueId w = net.graph.add_constant("w", Tensor::of<float>(Shape{4, 4, 3, 3}, weights));
  Window window = unit_window({3, 3});
  window.pad_begin = window.pad_end = {1, 1};
  const ValueId same = net.add(kConv, ConvAttrs{.window = window}, {x, w}, "same");
  net.graph.add_output(net.conv("last", net.add(kUnary, UnaryAttrs{.kind = UnaryKind::relu}, {same}, "relu")), "y");
  QuantizeOptions options = options_with(CalibrationMethod::minmax);
  Graph plain = net.graph;
  const auto without = quantize(plain, Channels(), options);
  options.equalizes = true;
  const auto with = quantize(net.graph, Channels(), options);
  ASSERT_TRUE(without && with);
  const float factor = with->calibrated.channel_factors.at("same").at(1);
  EXPECT_LT(factor, 0.5f);
  EXPECT_FLOAT_EQ(with->calibrated.ranges.at("relu").highest * factor, without->calibrated.ranges.at("relu").highest);
}

// Rows of eight behind a normalisation, whose channels are far from alike: a product that smoothing replaces.
ValueId normalised_product(OpenNet& net, ValueId x) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  std::vector<float> weights(8 * 8);
  for (float& weight : weights) weight = normal(random);
  const ValueId scale = net.graph.add_constant("scale", Tensor::of<float>(Shape{8}, {30, 1, 1, 1, 1, 1, 1, 1}));
  const ValueId bias = net.graph.add_constant("bias", Tensor(DType::f32, Shape{8}));
  const ValueId norm = net.add(kLayerNorm, LayerNormAttrs{.axis = 3}, {x, scale, bias}, "norm");
  const ValueId w = net.graph.add_constant("w", Tensor::of<float>(Shape{8, 8}, weights));
  return net.add(kMatmul, NoAttrs{}, {norm, w}, "product");
}

// What smoothing makes bears the name of what it replaces.
TEST(SampleSizes, SmoothedProductsAreSeenAtOtherSizes) {
  OpenNet net;
  const ValueId x = net.graph.add_input("x", DType::f32, OpenShape({net.batch, net.height, net.width, Dim(8)}));
  net.graph.add_output(normalised_product(net, x), "y");
  const SampleSizesNoise samples({{{2, 4, 9, 8}}, {{1, 8, 12, 8}}});
  const auto report = quantize(net.graph, samples, options_with(CalibrationMethod::minmax));
  ASSERT_TRUE(report) << to_string(report.errors());
  EXPECT_TRUE(report->calibrated.ranges.contains("product"));
  EXPECT_TRUE(report->calibrated.channel_factors.contains("norm"));
}

// A step of a decoder: rows that were there before, of which there may be none, and new ones.
Result<QuantizeReport> quantized_step(std::vector<std::vector<Shape>> shapes, CalibrationMethod calibration) {
  OpenNet net;
  const Dim rows = net.sizes->add({.name = "P", .range = {0, 64}, .least_usual = 1}, 6);
  const Dim four = net.height, width = net.width;
  const ValueId past = net.graph.add_input("past", DType::f32, OpenShape({rows, four, width, Dim(8)}));
  const ValueId x = net.graph.add_input("x", DType::f32, OpenShape({net.batch, four, width, Dim(8)}));
  net.graph.add_output(normalised_product(net, net.add(kConcat, ConcatAttrs{.axis = 0}, {past, x}, "all")), "y");
  return quantize(net.graph, SampleSizesNoise(std::move(shapes)), options_with(calibration));
}

TEST(SampleSizes, EmptyTensorsShowNothing) {
  const std::vector<Shape> begun{{0, 4, 5, 8}, {2, 4, 5, 8}}, later{{3, 4, 5, 8}, {2, 4, 5, 8}};
  for (const CalibrationMethod method : {CalibrationMethod::minmax, CalibrationMethod::average}) {
    const auto report = quantized_step({later, begun, begun}, method), one = quantized_step({later}, method);
    ASSERT_TRUE(report && one) << to_string(report.errors());
    EXPECT_EQ(report->samples, 3);
    EXPECT_EQ(report->calibrated.ranges.at("past").lowest, one->calibrated.ranges.at("past").lowest);
    EXPECT_EQ(report->calibrated.ranges.at("past").highest, one->calibrated.ranges.at("past").highest);
    EXPECT_GT(report->calibrated.ranges.at("x").highest, one->calibrated.ranges.at("x").highest);
  }
  const auto nothing = quantized_step({begun, begun}, CalibrationMethod::minmax);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(to_string(nothing.errors()),
            "calibration sample 0: input 'past': found 0x4x5x8, expected a sample in which every input has an element");
}

Error refusal(Graph& graph, std::vector<std::vector<Shape>> shapes) {
  const auto report = quantize(graph, SampleSizesNoise(std::move(shapes)), options_with(CalibrationMethod::minmax));
  EXPECT_FALSE(report);
  return report ? Error{} : report.errors()[0];
}

TEST(SampleSizes, WhatDoesNotFitNamesSampleAndInput) {
  const auto refused = [](std::vector<Shape> shapes) {
    OpenNet net = two_convolutions();
    const Error error = refusal(net.graph, {{{1, 4, 8, 8}}, std::move(shapes)});
    EXPECT_EQ(error.kind, ErrorKind::invalid_input);
    return to_string(Errors{error});
  };
  EXPECT_EQ(refused({{1, 4, 10, 8}}),
            "calibration sample 1: input 'x', dimension 2: found 10 (1x4x10x8), expected 4 "
            "to 64, a multiple of 4 (Nx4x4 * (H / 4)xW)");
  EXPECT_EQ(refused({{1, 3, 8, 8}}),
            "calibration sample 1: input 'x', dimension 1: found 3 (1x3x8x8), expected 4 (Nx4x4 * (H / 4)xW)");
  EXPECT_EQ(refused({{1, 4, 8}}), "calibration sample 1: input 'x': found 1x4x8, expected Nx4x4 * (H / 4)xW");
  EXPECT_EQ(refused({{1, 4, 8, 8}, {1, 4, 8, 8}}), "calibration sample 1: found 2 tensors, expected 1");
  EXPECT_EQ(refused({{0, 4, 8, 8}}),
            "calibration sample 1: input 'x', dimension 0: found 0 (0x4x8x8), expected 1 to 64 (Nx4x4 * (H / 4)xW)");
}

// The first steps of decoders have an empty past.
TEST(SampleSizes, EmptyOnesTeachNothing) {
  const auto learned = [](std::vector<std::vector<Shape>> shapes) {
    OpenNet net(0);
    net.graph.add_output(net.conv("first", net.input("x")), "y");
    return quantize(net.graph, SampleSizesNoise(std::move(shapes)), QuantizeOptions{.observes_all = true});
  };
  const auto without = learned({{{2, 4, 8, 8}}}), with = learned({{{2, 4, 8, 8}}, {{0, 4, 8, 8}}, {{0, 4, 8, 8}}});
  ASSERT_TRUE(without) << to_string(without.errors());
  ASSERT_TRUE(with) << to_string(with.errors());
  EXPECT_EQ(with->samples, 3);
  for (const auto& [name, range] : without->calibrated.ranges) {
    EXPECT_EQ(with->calibrated.ranges.at(name).lowest, range.lowest) << name;
    EXPECT_EQ(with->calibrated.ranges.at(name).highest, range.highest) << name;
  }
}

TEST(SampleSizes, InputsThatShareASizeHaveToAgree) {
  OpenNet net;
  const ValueId a = net.input("a"), b = net.input("b");
  net.graph.add_output(net.conv("conv", net.add(kBinary, BinaryAttrs{BinaryKind::add}, {a, b}, "sum")), "y");
  const Error error = refusal(net.graph, {{{1, 4, 8, 8}, {1, 4, 8, 8}}, {{1, 4, 8, 9}, {1, 4, 8, 10}}});
  EXPECT_EQ(to_string(Errors{error}),
            "calibration sample 1: input 'b', dimension 3: found 10 (1x4x8x10), expected 9, as before "
            "(Nx4x4 * (H / 4)xW)");
}

// What the graph was made for at its example holds not at every size.
TEST(SampleSizes, WhatConditionsRefuseNamesTheSample) {
  OpenNet net = two_convolutions();
  net.sizes->set_asking("node 'late'");
  ASSERT_FALSE(net.height == net.width);
  const Error error = refusal(net.graph, {{{1, 4, 8, 12}}, {{1, 4, 8, 8}}});
  EXPECT_EQ(error.where.find("calibration sample 1: "), 0u) << to_string(Errors{error});
  EXPECT_NE(to_string(Errors{error}).find("node 'late'"), std::string::npos) << to_string(Errors{error});
}

// A value that is not finite is told by the sample's place among all.
TEST(SampleSizes, WhatIsNotFiniteNamesTheSample) {
  class Broken final : public SampleSource {
   public:
    std::int64_t size() const override { return 4; }
    Result<std::vector<Tensor>> sample(std::int64_t index) const override {
      Tensor tensor(DType::f32, {1, 4, 8, index == 2 ? 9 : 8});
      tensor.as<float>()[0] = index == 2 ? INFINITY : 1.0f;
      return std::vector<Tensor>{std::move(tensor)};
    }
  };
  const auto report = quantized_with(Broken(), options_with(CalibrationMethod::minmax));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.errors()[0].where, "calibration sample 2, value 'x'");
}

}  // namespace
}  // namespace octavo
