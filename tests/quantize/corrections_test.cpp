// What is done to a network's weights and biases so that less is lost: equalization, rounding by error, and how values
// are seen. Part of tests/quantize/.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <random>

#include "ops/conv/conv.h"
#include "ops/evaluate.h"
#include "ops/unary/unary.h"
#include "quantize/adaptive_rounding.h"
#include "quantize/channels.h"
#include "quantize/equalize.h"
#include "quantize/fast_bias_correction.h"
#include "quantize/observed_network.h"
#include "quantize/parallel.h"
#include "quantize/quantize.h"
#include "quantize/weight_rounding.h"
#include "support/sqnr.h"

namespace octavo {
namespace {

constexpr std::int64_t kChannels = 16;

class CorrectionsNoise final : public SampleSource {
 public:
  explicit CorrectionsNoise(std::int64_t count) : count_(count) {}
  std::int64_t size() const override { return count_; }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    std::mt19937 random(static_cast<unsigned>(index + 1));
    std::normal_distribution<float> normal;
    Tensor tensor(DType::f32, Shape{1, 3, 8, 8});
    for (float& value : tensor.span<float>()) value = normal(random);
    return std::vector<Tensor>{tensor};
  }

 private:
  std::int64_t count_;
};

ValueId corrections_added(Graph& graph, const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs,
                          const std::string& name) {
  const auto id = graph.add(spec, std::move(attrs), std::move(inputs), name);
  EXPECT_TRUE(id) << to_string(id.errors());
  return id ? *id : ValueId{};
}

// conv 3 -> 16, clip, depthwise, ReLU, conv 16 -> 10. What the first convolution gives differs by up to 100 from
// channel to channel, and the depthwise weights make up for it: every channel matters as much as any other.
Graph uneven_network(UnaryAttrs first_activation) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0.0f, 0.3f);
  Graph graph;
  const auto constant = [&](const std::string& name, Shape shape, const auto& factor) {
    Tensor tensor(DType::f32, shape);
    const std::int64_t inner = shape.elements(1, shape.rank());
    for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.as<float>()[i] = normal(random) * factor(i / inner);
    return graph.add_constant(name, std::move(tensor));
  };
  const auto size_of_channel = [](std::int64_t c) {
    return std::pow(100.0f, -static_cast<float>(c) / (kChannels - 1));
  };
  const auto one = [](std::int64_t) { return 1.0f; };
  const auto inverse = [&](std::int64_t c) { return 1.0f / size_of_channel(c); };
  Window window = unit_window({3, 3});
  window.pad_begin = window.pad_end = {1, 1};
  const ValueId x = graph.add_input("x", DType::f32, Shape{1, 3, 8, 8});
  const ValueId first = corrections_added(
      graph, kConv, ConvAttrs{.window = window},
      {x, constant("a", Shape{kChannels, 3, 3, 3}, size_of_channel), constant("ab", Shape{kChannels}, size_of_channel)},
      "first");
  const ValueId clipped = corrections_added(graph, kUnary, first_activation, {first}, "clipped");
  const ValueId depthwise = corrections_added(
      graph, kConv, ConvAttrs{.window = window, .groups = kChannels},
      {clipped, constant("d", Shape{kChannels, 1, 3, 3}, inverse), constant("db", Shape{kChannels}, one)}, "depthwise");
  const ValueId relu = corrections_added(graph, kUnary, UnaryAttrs{.kind = UnaryKind::relu}, {depthwise}, "relu");
  const ValueId last =
      corrections_added(graph, kConv, ConvAttrs{.window = unit_window({1, 1})},
                        {relu, constant("l", Shape{10, kChannels, 1, 1}, one), constant("lb", Shape{10}, one)}, "last");
  graph.add_output(last, "y");
  return graph;
}

// Not of the samples of calibration.
double fresh_sqnr_db(const Graph& exact, const Graph& changed) {
  return testing::sqnr_db(exact, changed, CorrectionsNoise(24), 12);
}

double quantized_sqnr(const Graph& exact, const QuantizeOptions& options) {
  Graph graph = exact;
  const auto report = quantize(graph, CorrectionsNoise(12), options);
  EXPECT_TRUE(report) << to_string(report.errors());
  return fresh_sqnr_db(exact, graph);
}

TEST(Equalize, ChannelsThatDifferByAHundred) {
  const Graph graph = uneven_network({.kind = UnaryKind::relu});
  const double plain = quantized_sqnr(graph, {.corrects_biases = false});
  const double equal = quantized_sqnr(graph, {.corrects_biases = false, .equalizes = true});
  EXPECT_GT(equal, plain + 6.0);
}

TEST(Equalize, TheNetworkInFloatsStaysTheSame) {
  for (const UnaryAttrs& activation :
       {UnaryAttrs{.kind = UnaryKind::relu}, UnaryAttrs{.kind = UnaryKind::clip, .alpha = 0.0f, .beta = 0.5f}}) {
    const Graph graph = uneven_network(activation);
    const auto factors = find_factors(graph, {}, {CorrectionsNoise(12)});
    ASSERT_TRUE(factors);
    EXPECT_EQ(factors->size(), 2u);
    Graph moved = graph;
    move_factors(moved, *factors);
    // What a clip leaves of unseen samples may differ: a channel that grew reaches the bound earlier.
    EXPECT_GT(fresh_sqnr_db(graph, moved), activation.kind == UnaryKind::relu ? 100.0 : 30.0);
    const auto& first = factors->at("first");
    EXPECT_LT(*std::min_element(first.begin(), first.end()), activation.kind == UnaryKind::relu ? 0.05f : 0.5f);
    EXPECT_EQ(*std::max_element(first.begin(), first.end()), 1.0f);
    // The largest channels reach the clip: those must not change.
    if (activation.kind == UnaryKind::clip) {
      EXPECT_EQ(first[0], 1.0f);
    }
  }
}

TEST(Equalize, NotAcrossOutputsOrSkippedNodes) {
  Graph graph = uneven_network({.kind = UnaryKind::relu});
  const auto skipped = find_factors(graph, {"depthwise"}, {CorrectionsNoise(2)});
  ASSERT_TRUE(skipped);
  EXPECT_TRUE(skipped->empty());
  graph.add_output(graph.node(graph.order()[1]).outputs[0], "seen");
  const auto seen = find_factors(graph, {}, {CorrectionsNoise(2)});
  ASSERT_TRUE(seen);
  EXPECT_FALSE(seen->contains("first"));
  EXPECT_TRUE(seen->contains("depthwise"));
}

TEST(Weights, WhatWasLearnedServesAgain) {
  const Graph graph = uneven_network({.kind = UnaryKind::relu});
  Graph first = graph, second = graph;
  const QuantizeOptions options{
      .calibration = CalibrationMethod::automatic, .equalizes = true, .weights = WeightMethod::adaround};
  const auto report = quantize(first, CorrectionsNoise(12), options);
  ASSERT_TRUE(report) << to_string(report.errors());
  EXPECT_EQ(report->calibrated.weights.size(), 3u);
  QuantizeOptions again = options;
  again.calibrated = report->calibrated;
  ASSERT_TRUE(quantize(second, CorrectionsNoise(0), again));
  ASSERT_EQ(first.value_count(), second.value_count());
  for (int i = 0; i < first.value_count(); ++i) {
    if (!first.fact({i}).is_constant()) continue;
    EXPECT_TRUE(*first.fact({i}).constant == *second.fact({i}).constant) << first.value({i}).name;
  }
}

TEST(Weights, EveryMethodKeepsTheAnswers) {
  const Graph graph = uneven_network({.kind = UnaryKind::relu});
  const double largest = quantized_sqnr(graph, {.equalizes = true, .weights = WeightMethod::max});
  EXPECT_GT(quantized_sqnr(graph, {.equalizes = true, .weights = WeightMethod::mse}), largest - 1.0);
  EXPECT_GT(quantized_sqnr(graph, {.equalizes = true, .weights = WeightMethod::adaround}), largest - 1.0);
}

TEST(Weights, NearestScaleGivesUpALonelyOutlier) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  Tensor weights(DType::f32, Shape{2, 4000});
  for (float& value : weights.span<float>()) value = normal(random);
  weights.as<float>()[7] = 6.0f;
  weights.as<float>()[4000] = 0.0f;
  const RoundedWeights nearest = nearest_weights(weights, 0);
  EXPECT_LT(nearest.scale[0], 6.0f / 127.0f);
  EXPECT_EQ(nearest.values.as<std::int8_t>()[7], 127);
  const Tensor columns = Tensor::of<float>(Shape{2, 2}, std::vector<float>{1.0f, 0.0f, -0.5f, 0.0f});
  const RoundedWeights by_column = nearest_weights(columns, 1);
  EXPECT_EQ(by_column.values.as<std::int8_t>()[0], 127);
  EXPECT_EQ(by_column.scale[1], 0.0f) << "zeros keep what quantize_weights gives them";
}

// Sums over rows of x of (errors · x)^2 around their mean.
double error_of(const std::vector<std::vector<int>>& rows, const std::vector<float>& exact,
                const std::vector<std::int8_t>& rounded) {
  double sum = 0.0, squares = 0.0;
  for (const auto& row : rows) {
    double error = 0.0;
    for (std::size_t i = 0; i < row.size(); ++i) error += (static_cast<double>(rounded[i]) - exact[i]) * row[i];
    sum += error;
    squares += error * error;
  }
  return squares - sum * sum / static_cast<double>(rows.size());
}

TEST(AdaptiveRounding, FindsNearlyTheBestOfAllChoices) {
  constexpr std::size_t kSize = 8;
  std::mt19937 random(9);
  std::uniform_int_distribution<int> uniform(0, 255);
  std::uniform_real_distribution<float> weight(-100.0f, 100.0f);
  double gained = 0.0;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::vector<int>> rows(200, std::vector<int>(kSize));
    InputMoments moments{kSize, 200, std::vector<std::int64_t>(kSize),
                         std::vector<std::int32_t>(kSize * (kSize + 1) / 2)};
    for (auto& row : rows) {
      const int common = uniform(random);  // inputs that go together: one error can undo another
      for (int& value : row) value = (3 * common + uniform(random)) / 4;
      for (std::size_t i = 0; i < kSize; ++i) {
        moments.sums[i] += row[i];
        for (std::size_t j = 0; j <= i; ++j) moments.products[i * (i + 1) / 2 + j] += row[i] * row[j];
      }
    }
    std::vector<float> exact(kSize);
    std::vector<std::int8_t> nearest(kSize);
    for (std::size_t i = 0; i < kSize; ++i) {
      exact[i] = weight(random);
      nearest[i] = static_cast<std::int8_t>(std::nearbyint(exact[i]));
    }
    double best = HUGE_VAL;
    for (unsigned choice = 0; choice < 1u << kSize; ++choice) {
      std::vector<std::int8_t> rounded(kSize);
      for (std::size_t i = 0; i < kSize; ++i)
        rounded[i] = static_cast<std::int8_t>(std::floor(exact[i]) + (choice >> i & 1));
      best = std::min(best, error_of(rows, exact, rounded));
    }
    std::vector<std::int8_t> adaptive = nearest;
    round_adaptively(exact, moments, adaptive);
    for (std::size_t i = 0; i < kSize; ++i) EXPECT_LT(std::abs(static_cast<float>(adaptive[i]) - exact[i]), 1.0f);
    EXPECT_LE(error_of(rows, exact, adaptive), error_of(rows, exact, nearest) * 1.0001);
    gained += std::log(error_of(rows, exact, nearest) / error_of(rows, exact, adaptive));
    EXPECT_GE(error_of(rows, exact, adaptive), best * 0.9999);
  }
  EXPECT_GT(gained / 20.0, std::log(2.0)) << "half of the error on average";
}

// Images that are the same everywhere: then the estimate is no estimate, padding included.
TEST(FastBias, IsExactForFlatImages) {
  for (const std::int64_t groups : {1, 2}) {
    Graph graph;
    Window window = unit_window({3, 3});
    window.pad_begin = {1, 2}, window.pad_end = {0, 1}, window.strides = {2, 1}, window.dilations = {1, 2};
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    Tensor weights(DType::f32, Shape{6, 4 / groups, 3, 3}), rounded(DType::f32, weights.shape()),
        bias(DType::f32, Shape{6});
    for (float& value : weights.span<float>()) value = normal(random);
    const ValueId x = graph.add_input("x", DType::f32, Shape{1, 4, 7, 6});
    const ValueId w = graph.add_constant("w", weights), b = graph.add_constant("b", bias);
    graph.add_output(corrections_added(graph, kConv, ConvAttrs{.window = window, .groups = groups}, {x, w, b}, "conv"),
                     "y");
    const Placement placement = place_pairs(graph, {});
    const std::vector<ActivationScale> scales(static_cast<std::size_t>(graph.value_count()),
                                              ActivationScale{.scale = 0.02f});
    ASSERT_EQ(inputs_of_biased(graph, placement).size(), 1u);
    const std::vector<float> mean{0.5f, -1.0f, 2.0f, 0.25f};
    const auto corrections = estimate_biases(graph, placement, scales, {}, {{0, {mean}}});

    const QuantizedWeights s8 = quantize_weights(weights, 0, {}, 0.02f);
    for (std::int64_t i = 0; i < weights.elements(); ++i)
      rounded.as<float>()[i] =
          s8.scale[static_cast<std::size_t>(i / (weights.elements() / 6))] * s8.values.as<std::int8_t>()[i];
    Graph changed = graph;
    changed.replace_uses(w, changed.add_constant("rounded", rounded));
    Tensor image(DType::f32, Shape{1, 4, 7, 6});
    for (std::int64_t i = 0; i < image.elements(); ++i) image.as<float>()[i] = mean[static_cast<std::size_t>(i / 42)];
    const std::vector<Tensor> images{image};
    const auto exact = channel_means(std::as_const((*evaluate(graph, images))[0]).view(), 1);
    const auto found = channel_means(std::as_const((*evaluate(changed, images))[0]).view(), 1);
    const std::vector<float>& correction = corrections.at("conv");
    ASSERT_EQ(correction.size(), 6u);
    for (std::size_t c = 0; c < 6; ++c) EXPECT_NEAR(correction[c], exact[c] - found[c], 1e-5f) << groups << " " << c;
  }
}

TEST(ObservedNetwork, ShowsWhatIsComputedWhereverItIs) {
  const Graph graph = uneven_network({.kind = UnaryKind::relu});
  std::vector<ObservedValue> chosen{{graph.inputs()[0], 1}};
  for (const NodeId id : graph.order()) chosen.push_back({graph.node(id).outputs[0], 1});
  const auto network = ObservedNetwork::compile(graph, chosen);
  ASSERT_TRUE(network) << to_string(network.errors());
  auto observation = Observation::create(*network);
  ASSERT_TRUE(observation);
  auto inputs = *CorrectionsNoise(1).sample(0);
  std::map<int, Tensor> expected;
  ASSERT_TRUE(evaluate(graph, inputs, [&](ValueId id, const Tensor& tensor) { expected[id.index] = tensor; }));
  std::size_t seen = 0;
  ASSERT_TRUE(observation->run(inputs, [&](std::size_t k, const TensorView& value) {
    ++seen;
    const auto found = channel_means(value, network->channel_axis(k));
    const auto wanted = channel_means(std::as_const(expected.at(chosen[k].id.index)).view(), 1);
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t c = 0; c < found.size(); ++c)
      EXPECT_NEAR(found[c], wanted[c], 1e-4f * (1.0f + std::abs(wanted[c]))) << k;
  }));
  EXPECT_EQ(seen, chosen.size());
}

TEST(ObservedNetwork, WhatIsWrittenIsWhatReadersRead) {
  const Graph graph = uneven_network({.kind = UnaryKind::relu});
  const ValueId relu = graph.node(graph.order()[3]).outputs[0];
  const auto network = ObservedNetwork::compile(graph, {{relu}});
  ASSERT_TRUE(network);
  auto observation = Observation::create(*network);
  auto inputs = *CorrectionsNoise(1).sample(0);
  ASSERT_TRUE(observation->run(inputs, [](std::size_t, const TensorView& value) {
    std::fill_n(value.as<float>(), value.shape.elements(), 0.0f);
  }));
  const auto bias = graph.fact(graph.node(graph.order()[4]).inputs[2]).constant->span<float>();
  const auto means = channel_means(std::as_const(observation->outputs()[0]).view(), 1);
  for (std::size_t c = 0; c < means.size(); ++c) EXPECT_NEAR(means[c], bias[c], 1e-6f);
}

TEST(Parallel, TheLowestErrorIsReturned) {
  for (const int workers : {1, 2, 5}) {
    std::mutex mutex;
    std::vector<int> calls(40);
    EXPECT_TRUE(for_each_index(0, 40, workers, [&](int, std::int64_t i) {
      const std::lock_guard lock(mutex);
      ++calls[static_cast<std::size_t>(i)];
      return ok_status();
    }));
    EXPECT_EQ(std::count(calls.begin(), calls.end(), 1), 40);
    const Status failed = for_each_index(0, 40, workers, [&](int, std::int64_t i) -> Status {
      if (i < 17) return ok_status();
      return Error{.kind = ErrorKind::invalid_input, .where = std::to_string(i)};
    });
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.errors()[0].where, "17");
  }
}

}  // namespace
}  // namespace octavo
