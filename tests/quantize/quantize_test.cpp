// The quantizer on small graphs: where pairs stand, what they cost in accuracy, what is refused. Part of
// tests/quantize/.
#include "quantize/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>

#include "base/requantize.h"
#include "ops/argmax/argmax.h"
#include "ops/binary/binary.h"
#include "ops/concat/concat.h"
#include "ops/conv/conv.h"
#include "ops/evaluate.h"
#include "ops/matmul/matmul.h"
#include "ops/max_pool/max_pool.h"
#include "ops/quantize/quantize.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"
#include "ops/softmax/softmax.h"
#include "ops/unary/unary.h"
#include "quantize/node_pattern.h"
#include "quantize/placement.h"
#include "support/sqnr.h"

namespace octavo {
namespace {

// Builds graphs whose node and value names are those given; seeded weights.
class Net {
 public:
  Graph graph;

  ValueId input(const std::string& name, Shape shape) { return graph.add_input(name, DType::f32, std::move(shape)); }
  ValueId constant(const std::string& name, Shape shape, float scale = 0.5f) {
    std::normal_distribution<float> normal(0.0f, scale);
    std::vector<float> values(static_cast<std::size_t>(shape.elements()));
    for (float& value : values) value = normal(random_);
    return graph.add_constant(name, Tensor::of<float>(shape, values));
  }
  ValueId conv(const std::string& name, ValueId x, std::int64_t channels) {
    const std::int64_t in = graph.fact(x).shape[1];
    Window window = unit_window({3, 3});
    window.pad_begin = window.pad_end = {1, 1};
    return add(kConv, ConvAttrs{.window = window},
               {x, constant(name + ".w", Shape{channels, in, 3, 3}, 0.3f), constant(name + ".b", Shape{channels})},
               name);
  }
  ValueId unary(const std::string& name, UnaryKind kind, ValueId x) {
    return add(kUnary, UnaryAttrs{.kind = kind}, {x}, name);
  }
  ValueId binary(const std::string& name, BinaryKind kind, ValueId a, ValueId b) {
    return add(kBinary, BinaryAttrs{.kind = kind}, {a, b}, name);
  }
  ValueId mean(const std::string& name, ValueId x) {
    return add(kReduce, ReduceAttrs{.kind = ReduceKind::mean, .axes = {2, 3}}, {x}, name);
  }
  ValueId add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, const std::string& name) {
    const auto id = graph.add(spec, std::move(attrs), std::move(inputs), name);
    EXPECT_TRUE(id) << to_string(id.errors());
    return id ? *id : ValueId{};
  }
  Net& output(ValueId value) {
    graph.add_output(value, "y");
    return *this;
  }

  // Names of the values with pairs, sorted.
  std::vector<std::string> pairs(const std::vector<std::string>& skip = {},
                                 PairPlacement where = PairPlacement::fused) const {
    const Placement placement = place_pairs(graph, skip, {.pairs = where});
    std::vector<std::string> names;
    for (int i = 0; i < graph.value_count(); ++i) {
      if (placement.pair({i})) names.push_back(graph.value({i}).name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::mt19937 random_{5};
};

using Names = std::vector<std::string>;

// Seeded samples for graphs with one input.
class QuantizeNoise final : public SampleSource {
 public:
  QuantizeNoise(Shape shape, std::int64_t count) : shape_(std::move(shape)), count_(count) {}
  std::int64_t size() const override { return count_; }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    std::mt19937 random(static_cast<unsigned>(index + 1));
    std::normal_distribution<float> normal;
    Tensor tensor(DType::f32, shape_);
    for (float& value : tensor.span<float>()) value = normal(random);
    if (index == nan_at) tensor.as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
    return std::vector<Tensor>{tensor};
  }
  std::int64_t nan_at = -1;

 private:
  Shape shape_;
  std::int64_t count_;
};

TEST(Placement, NothingBetweenConvolutionAndActivation) {
  Net net;
  const ValueId x = net.input("x", Shape{1, 4, 8, 8});
  const ValueId y = net.conv("second", net.unary("relu", UnaryKind::relu, net.conv("first", x, 4)), 4);
  EXPECT_EQ(net.output(y).pairs(), (Names{"relu", "x"}));  // the last convolution gives f32
}

TEST(Placement, ResidualAdditionJoinsTheLaterConvolution) {
  Net net;
  const ValueId x = net.input("x", Shape{1, 4, 8, 8});
  const ValueId shortcut = net.conv("shortcut", x, 4);
  const ValueId branch = net.conv("branch", x, 4);
  const ValueId relu = net.unary("relu", UnaryKind::relu, net.binary("add", BinaryKind::add, branch, shortcut));
  net.output(net.conv("last", relu, 2));
  EXPECT_EQ(net.pairs(), (Names{"relu", "shortcut", "x"}));
}

// Where every operator is computed by itself: before sums and inside x * f(x), too, but not before a clamp, nor inside
// a function of one value.
TEST(Placement, PerOperator) {
  Net net;
  const ValueId x = net.input("x", Shape{1, 4, 8, 8});
  const ValueId shortcut = net.conv("shortcut", x, 4), branch = net.conv("branch", x, 4);
  const ValueId relu = net.unary("relu", UnaryKind::relu, net.binary("add", BinaryKind::add, branch, shortcut));
  const ValueId conv = net.conv("conv", relu, 4);
  const ValueId silu = net.binary("silu", BinaryKind::mul, conv, net.unary("sigmoid", UnaryKind::sigmoid, conv));
  const ValueId table = net.unary("tanh", UnaryKind::tanh, net.unary("neg", UnaryKind::neg, silu));
  const ValueId mean = net.mean("mean", net.conv("last", table, 2));
  net.output(mean);
  EXPECT_EQ(net.pairs({}, PairPlacement::fused), (Names{"conv", "last", "relu", "shortcut", "tanh", "x"}));
  EXPECT_EQ(net.pairs({}, PairPlacement::per_operator),
            (Names{"branch", "conv", "last", "relu", "shortcut", "sigmoid", "silu", "tanh", "x"}));
  EXPECT_EQ(
      net.pairs({"branch"}, PairPlacement::per_operator),
      (Names{"branch", "conv", "last", "relu", "shortcut", "sigmoid", "silu", "tanh", "x"}));  // the sum reads 8 bits
}

TEST(Placement, ActivatedBranchIsRoundedBeforeTheAddition) {
  Net net;
  const ValueId x = net.input("x", Shape{1, 4, 8, 8});
  const ValueId add =
      net.binary("add", BinaryKind::add, net.unary("relu", UnaryKind::relu, net.conv("branch", x, 4)), x);
  EXPECT_EQ(net.output(net.conv("last", add, 2)).pairs(), (Names{"add", "relu", "x"}));
}

TEST(Placement, TableHasPairsBeforeAndAfter) {
  Net net;
  const ValueId x = net.input("x", Shape{1, 4, 8, 8});
  const ValueId conv = net.conv("conv", x, 4);
  const ValueId silu = net.binary("silu", BinaryKind::mul, conv, net.unary("sigmoid", UnaryKind::sigmoid, conv));
  EXPECT_EQ(net.output(net.conv("last", silu, 2)).pairs(), (Names{"conv", "silu", "x"}));  // none at the sigmoid
}

TEST(Placement, PartOfARegionReadElsewhereIsRounded) {
  Net net;
  const ValueId x = net.input("x", Shape{1, 4, 8, 8});
  const ValueId conv = net.conv("conv", x, 4);
  const ValueId sigmoid = net.unary("sigmoid", UnaryKind::sigmoid, conv);
  const ValueId silu = net.binary("silu", BinaryKind::mul, conv, sigmoid);
  const ValueId sum = net.binary("sum", BinaryKind::add, net.conv("a", silu, 4), net.conv("b", sigmoid, 4));
  const Names pairs = net.output(sum).pairs();
  EXPECT_TRUE(std::count(pairs.begin(), pairs.end(), "sigmoid")) << "read by a convolution";
  EXPECT_TRUE(std::count(pairs.begin(), pairs.end(), "silu"));
}

TEST(Placement, SqueezeExciteIsWhollyQuantized) {
  Net net;
  const ValueId x = net.input("x", Shape{1, 4, 8, 8});
  const ValueId body = net.unary("body", UnaryKind::relu, net.conv("conv", x, 4));
  const ValueId gate = net.unary(
      "gate", UnaryKind::sigmoid,
      net.conv("excite", net.unary("relu", UnaryKind::relu, net.conv("squeeze", net.mean("mean", body), 2)), 4));
  EXPECT_EQ(net.output(net.conv("last", net.binary("scaled", BinaryKind::mul, body, gate), 2)).pairs(),
            (Names{"body", "excite", "gate", "mean", "relu", "scaled", "x"}));
}

TEST(Placement, LogitsAndSoftmaxStayFloat) {
  Net net;
  const ValueId x = net.input("x", Shape{1, 4});
  const ValueId logits =
      net.binary("logits", BinaryKind::add, net.add(kMatmul, NoAttrs{}, {x, net.constant("w", Shape{4, 5})}, "product"),
                 net.constant("b", Shape{5}));
  EXPECT_EQ(net.output(net.add(kSoftmax, SoftmaxAttrs{.axis = 1}, {logits}, "softmax")).pairs(), (Names{"x"}));
}

TEST(Placement, MeanThatOnlyFloatsReadIsNotRounded) {
  Net net;
  const ValueId y = net.conv("y", net.input("x", Shape{1, 4, 8, 8}), 4);
  EXPECT_EQ(net.output(net.mean("mean", y)).pairs(), (Names{"x", "y"}));
  Net wanted;
  const ValueId mean = wanted.mean("mean", wanted.conv("y", wanted.input("x", Shape{1, 4, 8, 8}), 4));
  const ValueId flat = wanted.add(kReshape, ReshapeAttrs{.shape = {1, 4}}, {mean}, "flat");
  wanted.output(wanted.add(kMatmul, NoAttrs{}, {flat, wanted.constant("w", Shape{4, 5})}, "product"));
  EXPECT_EQ(wanted.pairs(), (Names{"flat", "mean", "x", "y"}));
}

TEST(Placement, SkippedNodesReadAndGiveFloats) {
  Net net;
  const ValueId x = net.input("x", Shape{1, 4, 8, 8});
  const ValueId y =
      net.conv("third", net.unary("relu", UnaryKind::relu, net.conv("second", net.conv("first", x, 4), 4)), 4);
  net.output(y);
  EXPECT_EQ(net.pairs({"first"}), (Names{"first", "relu"}));
  EXPECT_EQ(net.pairs({"second"}), (Names{"relu", "x"}));  // its ReLU stays in float with it
  EXPECT_EQ(net.pairs({"type:Conv"}), Names{});
}

TEST(Placement, MovedValuesKeepTheirScale) {
  Net net;
  const ValueId x = net.input("x", Shape{1, 4, 8, 8});
  const ValueId pool = net.add(kMaxPool, MaxPoolAttrs{.window = unit_window({2, 2})}, {x}, "pool");
  const ValueId a = net.conv("a", pool, 4);
  const ValueId b = net.conv("b", pool, 4);
  const ValueId joined = net.add(kConcat, ConcatAttrs{.axis = 1}, {a, b, pool}, "joined");
  net.output(net.conv("last", joined, 2));
  EXPECT_EQ(net.pairs(), (Names{"a", "b", "joined", "pool", "x"}));
  const Placement placement = place_pairs(net.graph, {});
  const auto scale_of = [&](ValueId id) { return placement.scale_of[static_cast<std::size_t>(id.index)]; };
  EXPECT_EQ(scale_of(pool), x);
  EXPECT_EQ(scale_of(a), joined);
  EXPECT_EQ(scale_of(b), joined);
  EXPECT_EQ(scale_of(joined), joined);
}

// A dense block: each layer reads the concatenation of all before it.
TEST(Placement, AChainOfConcatenationsHasOneScale) {
  Net net;
  const ValueId x = net.input("x", Shape{1, 4, 8, 8});
  const auto join = [&](std::vector<ValueId> parts, const std::string& name) {
    return net.add(kConcat, ConcatAttrs{.axis = 1}, std::move(parts), name);
  };
  const ValueId a = net.conv("a", x, 4);
  const ValueId b = net.conv("b", join({x, a}, "first"), 4);
  const ValueId c = net.conv("c", join({x, a, b}, "second"), 4);
  const ValueId last = join({x, a, b, c}, "last");
  const ValueId other = net.conv("other", last, 4);
  const ValueId read_twice = net.conv("read_twice", other, 4);
  const ValueId apart = join({read_twice, net.conv("reader", read_twice, 4)}, "apart");
  net.output(net.conv("end", join({apart, net.conv("more", x, 2)}, "chained"), 2));
  const Placement placement = place_pairs(net.graph, {});
  const auto scale_of = [&](ValueId id) { return placement.scale_of[static_cast<std::size_t>(id.index)]; };
  EXPECT_EQ(scale_of(x), x);
  for (const ValueId member : {a, b, c, net.graph.producer(b)->inputs[0], net.graph.producer(c)->inputs[0]})
    EXPECT_EQ(scale_of(member), last);
  EXPECT_EQ(scale_of(other), other);
  EXPECT_EQ(scale_of(read_twice), read_twice);
  EXPECT_EQ(scale_of(apart), net.graph.producer(net.graph.producer(net.graph.outputs()[0])->inputs[0])->outputs[0]);
}

Net small_network() {
  Net net;
  const ValueId x = net.input("x", Shape{1, 3, 8, 8});
  const ValueId stem = net.conv("stem", x, 8);
  const ValueId silu = net.binary("silu", BinaryKind::mul, stem, net.unary("sigmoid", UnaryKind::sigmoid, stem));
  const ValueId add = net.binary("add", BinaryKind::add, net.conv("branch", silu, 8), silu);
  const ValueId flat = net.add(kReshape, ReshapeAttrs{.shape = {1, 8}}, {net.mean("mean", add)}, "flat");
  net.output(net.binary("logits", BinaryKind::add,
                        net.add(kMatmul, NoAttrs{}, {flat, net.constant("w", Shape{8, 5})}, "product"),
                        net.constant("b", Shape{5})));
  return net;
}

TEST(Quantize, KeepsTheAnswersOfASmallNetwork) {
  const Net net = small_network();
  const QuantizeNoise samples(Shape{1, 3, 8, 8}, 12);
  const std::pair<CalibrationMethod, PairPlacement> variants[] = {
      {CalibrationMethod::minmax, PairPlacement::fused},
      {CalibrationMethod::percentile, PairPlacement::fused},
      {CalibrationMethod::minmax, PairPlacement::per_operator}};
  for (const auto& [calibration, placement] : variants) {
    Graph graph = net.graph;
    const auto report = quantize(graph, samples, {.calibration = calibration, .placement = placement});
    ASSERT_TRUE(report) << to_string(report.errors());
    EXPECT_TRUE(verify(graph));
    EXPECT_EQ(report->samples, 12);
    EXPECT_GT(testing::sqnr_db(net.graph, graph, samples), 25.0);
    EXPECT_EQ(graph.value(graph.inputs()[0]).name, "x");
    EXPECT_EQ(graph.output_names(), (Names{"y"}));
  }
}

// What the integers of an output stand for.
Tensor meaning(const Graph& graph, const Tensor& integers) {
  const QuantParams& quant = *graph.fact(graph.outputs()[0]).quant;
  Tensor values(DType::f32, integers.shape());
  for (std::int64_t i = 0; i < values.elements(); ++i)
    values.as<float>()[i] = dequantize_value(integers.as<std::uint8_t>()[i], quant.scale[0], quant.zero_point[0]);
  return values;
}

// The network with ends in 8 bits computes what the one with ends in float does between its first quantize and its
// last.
TEST(Quantize, IntegerEndsReplaceTheOuterConversions) {
  const Net net = small_network();
  const QuantizeNoise samples(Shape{1, 3, 8, 8}, 6);
  Graph floats = net.graph, integers = net.graph;
  ASSERT_TRUE(quantize(floats, samples, {}));
  const auto report = quantize(integers, samples, {.integer_only = true});
  ASSERT_TRUE(report) << to_string(report.errors());
  ASSERT_TRUE(verify(integers));
  EXPECT_EQ(integers.value(integers.inputs()[0]).name, "x");
  EXPECT_EQ(integers.output_names(), (Names{"y"}));
  const Fact &x = integers.fact(integers.inputs()[0]), &y = integers.fact(integers.outputs()[0]);
  ASSERT_TRUE(x.dtype == DType::u8 && y.dtype == DType::u8 && x.quant && y.quant);
  const TensorScale own = report->scales.at("x");
  EXPECT_EQ(x.quant->scale, std::vector{own.scale});
  EXPECT_EQ(x.quant->zero_point, std::vector{own.zero_point});
  EXPECT_EQ(y.quant->scale, std::vector{report->scales.at("logits").scale});
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    const std::vector<Tensor> real = *samples.sample(i);
    const Tensor& sample = real[0];
    std::vector<Tensor> quantized = {Tensor(DType::u8, sample.shape())};
    Tensor& stored = quantized[0];
    for (std::int64_t k = 0; k < sample.elements(); ++k)
      stored.as<std::uint8_t>()[k] =
          static_cast<std::uint8_t>(quantize_value(sample.as<float>()[k], own.scale, own.zero_point, 0, 255));
    const auto of_floats = evaluate(floats, real), of_integers = evaluate(integers, quantized);
    ASSERT_TRUE(of_floats && of_integers);
    const Tensor values = meaning(integers, (*of_integers)[0]);
    const float lowest = dequantize_value(0, y.quant->scale[0], y.quant->zero_point[0]);
    const float highest = dequantize_value(255, y.quant->scale[0], y.quant->zero_point[0]);
    for (std::int64_t k = 0; k < values.elements(); ++k) {
      const float expected = std::clamp((*of_floats)[0].as<float>()[k], lowest, highest);
      EXPECT_NEAR(values.as<float>()[k], expected, 0.5001f * y.quant->scale[0]) << i << ", " << k;
    }
  }
}

TEST(Placement, IntegerEndsAreWanted) {
  Net net;
  const ValueId x = net.input("x", Shape{1, 4, 8, 8});
  const ValueId conv = net.conv("conv", net.unary("relu", UnaryKind::relu, x), 4);
  const ValueId scores = net.add(kSoftmax, SoftmaxAttrs{.axis = 3}, {conv}, "scores");
  net.graph.add_output(scores, "y");
  net.graph.add_output(net.add(kArgmax, ArgmaxAttrs{.axis = 1}, {net.conv("other", x, 4)}, "best"), "z");
  const auto wanted = [&](Ends ends, const Names& skip) {
    const Placement placement = place_pairs(net.graph, skip, {.ends = ends});
    Names names;
    for (int i = 0; i < net.graph.value_count(); ++i) {
      if (placement.pair({i})) names.push_back(net.graph.value({i}).name);
    }
    std::sort(names.begin(), names.end());
    return names;
  };
  EXPECT_EQ(wanted(Ends::floats, {}), (Names{"relu", "x"}));
  EXPECT_EQ(wanted(Ends::integers, {}), (Names{"conv", "other", "relu", "scores", "x"}));
  EXPECT_EQ(wanted(Ends::integers, {"scores"}),
            (Names{"other", "relu", "scores", "x"}));  // the result is rounded, its input is not
}

// Whatever the samples show, shares of a whole lie in [0, 1]: TFLite's scale.
TEST(Quantize, SoftmaxHasAFixedScale) {
  Net net;
  const ValueId x = net.input("x", Shape{1, 4, 8, 8});
  const ValueId shares = net.add(kSoftmax, SoftmaxAttrs{.axis = 3}, {net.conv("conv", x, 4)}, "shares");
  net.output(net.add(kReshape, ReshapeAttrs{.shape = {1, 256}}, {shares}, "flat"));
  const auto report = quantize(net.graph, QuantizeNoise(Shape{1, 4, 8, 8}, 3), {.integer_only = true});
  ASSERT_TRUE(report) << to_string(report.errors());
  for (const char* name : {"shares", "flat"})
    EXPECT_EQ(report->scales.at(name), (TensorScale{DType::u8, 1.0f / 256.0f, 0})) << name;
}

TEST(Quantize, SameGraphEveryTime) {
  const QuantizeNoise samples(Shape{1, 3, 8, 8}, 7);
  Graph first = small_network().graph;
  Graph second = small_network().graph;
  const auto a = quantize(first, samples, {.calibration = CalibrationMethod::percentile});
  const auto b = quantize(second, samples, {.calibration = CalibrationMethod::percentile});
  ASSERT_TRUE(a && b);
  EXPECT_EQ(to_string(first), to_string(second));
  ASSERT_EQ(a->calibrated.ranges.size(), b->calibrated.ranges.size());
  for (const auto& [name, range] : a->calibrated.ranges) {
    EXPECT_EQ(range.lowest, b->calibrated.ranges.at(name).lowest) << name;
    EXPECT_EQ(range.highest, b->calibrated.ranges.at(name).highest) << name;
  }
}

// By channel of y: the mean over all samples.
std::vector<double> means(const Graph& graph, const QuantizeNoise& samples) {
  std::vector<double> sums;
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    const auto y = evaluate(graph, *samples.sample(i));
    EXPECT_TRUE(y);
    sums.resize(static_cast<std::size_t>((*y)[0].elements()));
    for (std::size_t c = 0; c < sums.size(); ++c)
      sums[c] += static_cast<double>((*y)[0].as<float>()[c]) / static_cast<double>(samples.size());
  }
  return sums;
}

double largest_shift(const Graph& a, const Graph& b, const QuantizeNoise& samples) {
  const auto x = means(a, samples), y = means(b, samples);
  double largest = 0.0;
  for (std::size_t c = 0; c < x.size(); ++c) largest = std::max(largest, std::abs(x[c] - y[c]));
  return largest;
}

TEST(Quantize, CorrectedBiasesKeepTheMeans) {
  const Graph original = small_network().graph;
  const QuantizeNoise samples(Shape{1, 3, 8, 8}, 16);
  Graph corrected = original, uncorrected = original;
  const auto report = quantize(corrected, samples, {});
  ASSERT_TRUE(report) << to_string(report.errors());
  ASSERT_TRUE(quantize(uncorrected, samples, {.corrects_biases = false}));
  EXPECT_EQ(report->calibrated.bias_corrections.size(), 3u);  // stem, branch, logits
  // Not 0: the correction is rounded to the bias's own step, which flips a few roundings behind it.
  EXPECT_LT(largest_shift(original, corrected, samples), 0.25 * largest_shift(original, uncorrected, samples));
}

TEST(Quantize, FastCorrectionKeepsMostOfTheMeans) {
  const Graph original = small_network().graph;
  const QuantizeNoise samples(Shape{1, 3, 8, 8}, 16);
  Graph corrected = original, uncorrected = original;
  const auto report = quantize(corrected, samples, {.corrects_fast = true});
  ASSERT_TRUE(report) << to_string(report.errors());
  ASSERT_TRUE(quantize(uncorrected, samples, {.corrects_biases = false}));
  EXPECT_EQ(report->calibrated.bias_corrections.size(), 3u);  // stem, branch, logits
  EXPECT_LT(largest_shift(original, corrected, samples), 0.6 * largest_shift(original, uncorrected, samples));
}

TEST(Quantize, WhatWasCalibratedServesAgain) {
  Graph first = small_network().graph, second = first;
  const auto report = quantize(first, QuantizeNoise(Shape{1, 3, 8, 8}, 5), {});
  ASSERT_TRUE(report);
  const auto again = quantize(second, QuantizeNoise(Shape{1, 3, 8, 8}, 0), {.calibrated = report->calibrated});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->samples, 0);
  ASSERT_EQ(first.value_count(), second.value_count());
  for (int i = 0; i < first.value_count(); ++i) {
    const Fact &a = first.fact({i}), &b = second.fact({i});
    ASSERT_EQ(a.is_constant(), b.is_constant());
    if (!a.is_constant()) continue;
    EXPECT_EQ(std::memcmp(a.constant->data(), b.constant->data(), a.constant->bytes()), 0) << first.value({i}).name;
  }
}

TEST(Quantize, GlobalScaleNeedsNoSamples) {
  Graph graph = small_network().graph;
  ASSERT_TRUE(quantize(graph, QuantizeNoise(Shape{1, 3, 8, 8}, 0), {.global_scale = 8.0f}));
  int pairs = 0;
  for (const NodeId id : graph.order()) {
    if (graph.node(id).spec != &kQuantize) continue;
    ++pairs;
    EXPECT_EQ(graph.node(id).attrs.as<QuantizeAttrs>().to, DType::s8);
    EXPECT_EQ(graph.fact(graph.node(id).inputs[1]).constant->as<float>()[0], 0.0625f);
  }
  EXPECT_GT(pairs, 3);
}

TEST(NodePattern, PositionsAreTheOutermostProducts) {
  Net net;
  const ValueId x = net.input("x", Shape{1, 3, 8, 8});
  const ValueId relu = net.unary("relu", UnaryKind::relu, x);
  const ValueId a = net.conv("a", relu, 4), b = net.conv("b", relu, 4);
  const ValueId middle = net.conv("middle", net.binary("sum", BinaryKind::add, a, b), 4);
  net.output(net.unary("end", UnaryKind::relu, net.conv("head", middle, 2)));
  net.graph.add_output(net.conv("side", middle, 3), "z");
  EXPECT_EQ(with_positions_named(net.graph, {"position:first", "type:conv", "position:middle"}),
            (Names{"a", "b", "type:conv", "position:middle"}));
  EXPECT_EQ(with_positions_named(net.graph, {"position:last"}), (Names{"head", "side"}));
  EXPECT_EQ(matching_nodes(net.graph, {"position:last", "rel?"}), (std::set<std::string>{"head", "relu", "side"}));
  EXPECT_TRUE(check_patterns(net.graph, {"position:first", "position:last"}, "--skip"));
  EXPECT_FALSE(check_patterns(net.graph, {"position:middle"}, "--skip"));
  const auto report =
      quantize(net.graph, QuantizeNoise(Shape{1, 3, 8, 8}, 3), {.skip = {"position:first", "position:last"}});
  ASSERT_TRUE(report) << to_string(report.errors());
  std::string groups;
  for (const LayerGroup& group : report->groups) groups += group.name + " ";
  EXPECT_EQ(groups.find("head"), std::string::npos);
  EXPECT_NE(groups.find("middle"), std::string::npos);
}

TEST(NodePattern, NoProductNoPosition) {
  Net net;
  net.output(net.unary("relu", UnaryKind::relu, net.input("x", Shape{1, 3, 8, 8})));
  EXPECT_FALSE(check_patterns(net.graph, {"position:first"}, "--skip"));
}

TEST(Quantize, BadInputIsSaid) {
  const Graph graph = small_network().graph;
  const auto error = [&](const SampleSource& samples, const QuantizeOptions& options) {
    Graph copy = graph;
    const auto report = quantize(copy, samples, options);
    return report ? Error{} : report.errors()[0];
  };
  EXPECT_EQ(error(QuantizeNoise(Shape{1, 3, 8, 8}, 0), {}).kind, ErrorKind::usage);
  EXPECT_EQ(error(QuantizeNoise(Shape{1, 3, 8, 8}, 2), {.percentile = 40.0}).kind, ErrorKind::usage);
  EXPECT_EQ(error(QuantizeNoise(Shape{1, 3, 8, 8}, 2), {.skip = {"nobody"}}).kind, ErrorKind::usage);
  EXPECT_EQ(error(QuantizeNoise(Shape{1, 3, 8, 8}, 2), {.global_scale = -1.0f}).kind, ErrorKind::usage);
  EXPECT_EQ(error(QuantizeNoise(Shape{1, 3, 9, 8}, 2), {}).kind, ErrorKind::invalid_input);
  QuantizeNoise broken(Shape{1, 3, 8, 8}, 4);
  broken.nan_at = 3;
  const Error found = error(broken, {});
  EXPECT_EQ(found.kind, ErrorKind::invalid_input);
  EXPECT_EQ(found.where, "calibration sample 3, value 'x'");
}

}  // namespace
}  // namespace octavo
