// Outputs that rounding would spoil keep what is asked for, by as few layers in f32 as it takes. Tests of quantize/.
#include "quantize/output_precision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ops/conv/conv.h"
#include "ops/evaluate.h"
#include "ops/reduce/reduce.h"
#include "ops/unary/unary.h"
#include "quantize/scales_file.h"
#include "support/sqnr.h"

namespace octavo {
namespace {

class OutputPrecisionNoise final : public SampleSource {
 public:
  explicit OutputPrecisionNoise(unsigned seed) : seed_(seed) {}
  std::int64_t size() const override { return 10; }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    std::mt19937 random(seed_ + static_cast<unsigned>(index));
    std::normal_distribution<float> normal;
    Tensor tensor(DType::f32, Shape{1, 4, 8, 8});
    for (float& value : tensor.span<float>()) value = normal(random);
    return std::vector<Tensor>{tensor};
  }

 private:
  unsigned seed_;
};

// first -> relu -> second -> relu, from which "boxes" reads what are small channels among large ones, "scores" the
// means. One head alone where the other is left out.
enum class Heads { both, scores };
Graph output_precision_network(Heads heads) {
  Graph graph;
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0.0f, 0.3f);
  const auto constant = [&](const std::string& name, Shape shape, const auto& size_of) {
    Tensor values(DType::f32, shape);
    const std::int64_t inner = shape.elements(1, shape.rank());
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      values.as<float>()[i] =
          normal(random) * size_of(i / inner, shape.rank() > 1 ? i % inner / shape.elements(2, shape.rank()) : 0);
    return graph.add_constant(name, std::move(values));
  };
  const auto even = [](std::int64_t, std::int64_t) { return 1.0f; };
  const auto uneven = [](std::int64_t out, std::int64_t) { return out < 4 ? 0.02f : 1.0f; };
  const auto small_ones = [](std::int64_t, std::int64_t in) { return in < 4 ? 50.0f : 0.0f; };
  Window window = unit_window({3, 3});
  window.pad_begin = window.pad_end = {1, 1};
  const auto layer = [&](const std::string& name, ValueId x, std::int64_t channels, const auto& size_of) {
    const std::int64_t in = Shape(graph.fact(x).shape)[1];
    return *graph.add(
        kConv, ConvAttrs{.window = window},
        {x, constant(name + ".w", {channels, in, 3, 3}, size_of), constant(name + ".b", {channels}, size_of)}, name);
  };
  const auto relu = [&](ValueId x, const std::string& name) {
    return *graph.add(kUnary, UnaryAttrs{.kind = UnaryKind::relu}, {x}, name);
  };
  const ValueId first = relu(layer("first", graph.add_input("x", DType::f32, {1, 4, 8, 8}), 16, even), "first.relu");
  const ValueId second = relu(layer("second", first, 16, uneven), "second.relu");
  const ValueId mean = *graph.add(kReduce, ReduceAttrs{.kind = ReduceKind::mean, .axes = {2, 3}}, {second}, "mean");
  const ValueId scores = layer("scores", mean, 6, even);
  if (heads == Heads::both) graph.add_output(layer("boxes", second, 4, small_ones), "boxes");
  graph.add_output(scores, "scores");
  return graph;
}

struct Outcome {
  Graph graph;
  QuantizeReport report;
};

Outcome output_precision_quantized(const Graph& exact, const QuantizeOptions& options) {
  Outcome outcome{exact, {}};
  auto report = quantize(outcome.graph, OutputPrecisionNoise(0), options);
  EXPECT_TRUE(report) << to_string(report.errors());
  if (report) outcome.report = std::move(*report);
  return outcome;
}

bool says(const std::vector<std::string>& sentences, const std::string& part) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&](const std::string& sentence) { return sentence.find(part) != std::string::npos; });
}

TEST(OutputPrecision, LayersStayInF32UntilOutputsHaveWhatIsAsked) {
  const Graph exact = output_precision_network(Heads::both);
  const Outcome plain = output_precision_quantized(exact, {});
  const Outcome kept = output_precision_quantized(exact, {.output_sqnr = 40.0});
  EXPECT_TRUE(plain.report.calibrated.kept_in_f32.empty());
  EXPECT_LT(testing::sqnr_db(exact, plain.graph, OutputPrecisionNoise(100)), 30.0);
  EXPECT_GT(testing::sqnr_db(exact, kept.graph, OutputPrecisionNoise(100)), 38.0);
  EXPECT_FALSE(kept.report.calibrated.kept_in_f32.empty());
  EXPECT_FALSE(kept.report.groups.empty());
  EXPECT_TRUE(says(kept.report.notes, "output 'boxes': on the samples"));
  EXPECT_TRUE(says(kept.report.notes, "% of the multiply-adds"));
  EXPECT_TRUE(says(kept.report.kept_in_float, ": for the precision of outputs"));
  EXPECT_FALSE(says(kept.report.notes, "less than"));
}

TEST(OutputPrecision, WhatCostsTooMuchIsToldInstead) {
  const Graph exact = output_precision_network(Heads::both);
  const Outcome told = output_precision_quantized(exact, {.output_sqnr = 40.0, .most_in_f32 = 0.001});
  EXPECT_TRUE(told.report.calibrated.kept_in_f32.empty());
  EXPECT_TRUE(says(told.report.notes, "less than 40.0 dB"));
  EXPECT_TRUE(says(told.report.notes, "would have to stay in fp32"));
}

TEST(OutputPrecision, NothingIsKeptWhereOutputsHaveIt) {
  const Graph exact = output_precision_network(Heads::both);
  const Outcome kept = output_precision_quantized(exact, {.output_sqnr = 3.0});
  EXPECT_TRUE(kept.report.calibrated.kept_in_f32.empty());
  EXPECT_TRUE(kept.report.notes.empty());
}

TEST(OutputPrecision, ScoresAreLeftAloneUnlessAsked) {
  const Graph exact = output_precision_network(Heads::scores);
  const QuantizeOptions most{.output_sqnr = 100.0};
  EXPECT_TRUE(output_precision_quantized(exact, most).report.calibrated.kept_in_f32.empty());
  QuantizeOptions asked = most;
  asked.judges_scores = true;
  EXPECT_FALSE(output_precision_quantized(exact, asked).report.calibrated.kept_in_f32.empty());
}

TEST(OutputPrecision, ScalesOfAFileGiveTheSameNetwork) {
  const Graph exact = output_precision_network(Heads::both);
  const QuantizeOptions options{.output_sqnr = 40.0};
  const Outcome first = output_precision_quantized(exact, options);
  const std::string text = scales_json(first.graph, first.report, "network", "");
  const auto known = parse_scales(text, "scales");
  ASSERT_TRUE(known) << to_string(known.errors());
  EXPECT_EQ(known->kept_in_f32, first.report.calibrated.kept_in_f32);
  QuantizeOptions again = options;
  again.calibrated = *known;
  const Outcome second = output_precision_quantized(exact, again);
  EXPECT_EQ(to_string(first.graph), to_string(second.graph));
  const auto broken = parse_scales(
      R"({"format": "octavo scales 1", "tensors": {}, "bias_corrections": {}, "kept_in_f32": [1]})", "scales");
  ASSERT_FALSE(broken);
  EXPECT_NE(to_string(broken.errors()).find("kept_in_f32"), std::string::npos);
}

}  // namespace
}  // namespace octavo
