// Transposed convolutions quantized, written as ONNX and read again. Part of tests/export/.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "export/onnx.h"
#include "import/import.h"
#include "lower/lower.h"
#include "ops/conv_transpose/conv_transpose.h"
#include "ops/evaluate.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/unary/unary.h"
#include "quantize/quantize.h"

namespace octavo {
namespace {

Tensor transposed_noise(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Tensor tensor(DType::f32, shape);
  for (float& value : tensor.span<float>()) value = normal(random);
  return tensor;
}

class TransposedNoise final : public SampleSource {
 public:
  std::int64_t size() const override { return 6; }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    return std::vector<Tensor>{transposed_noise({1, 8, 6, 5}, static_cast<unsigned>(index))};
  }
};

// x [1, 8, 6, 5] -> conv_transpose -> relu -> y.
Graph network(std::int64_t groups) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::f32, {1, 8, 6, 5});
  ConvTransposeAttrs attrs{
      .window = {{3, 4}, {2, 2}, {1, 1}, {1, 1}, {1, 1}}, .output_padding = {1, 0}, .groups = groups};
  const ValueId w = graph.add_constant("w", transposed_noise({6, 8 / groups, 3, 4}, 11));
  const ValueId b = graph.add_constant("b", transposed_noise({6}, 12));
  const ValueId y = *graph.add(kConvTranspose, attrs, {x, w, b}, "spread");
  graph.add_output(*graph.add(kUnary, UnaryAttrs{UnaryKind::relu}, {y}, "relu"), "y");
  return graph;
}

Graph transposed_imported(const Graph& graph) {
  const auto bytes = export_onnx(graph, {.name = "test"});
  EXPECT_TRUE(bytes) << to_string(bytes.errors());
  auto model = import_onnx(std::as_bytes(std::span(*bytes)), "", "test.onnx", {});
  EXPECT_TRUE(model) << to_string(model.errors());
  return model ? std::move(model->graph) : Graph();
}

Tensor answer(const Graph& graph) {
  const auto y = evaluate(graph, std::vector<Tensor>{transposed_noise({1, 8, 6, 5}, 55)});
  EXPECT_TRUE(y) << to_string(y.errors());
  return y ? y->front() : Tensor();
}

TEST(ExportTransposed, FloatsAreTheSame) {
  for (const std::int64_t groups : {1, 2}) {
    const Graph graph = network(groups);
    EXPECT_EQ(answer(transposed_imported(graph)), answer(graph));
  }
}

TEST(ExportTransposed, QuantizedNetworksComputeInIntegersAlsoWhenReadAgain) {
  Graph graph = network(1);
  const Tensor floats = answer(graph);
  ASSERT_TRUE(quantize(graph, TransposedNoise(), {}));
  Graph again = transposed_imported(graph);
  ASSERT_TRUE(lower(graph, {}) && lower(again, {}));
  for (const Graph* lowered : {&graph, &again}) {
    const auto& order = lowered->order();
    EXPECT_EQ(
        std::count_if(order.begin(), order.end(), [&](NodeId id) { return lowered->node(id).spec == &kQuantizedConv; }),
        1)
        << to_string(*lowered);
  }
  const Tensor before = answer(graph);
  EXPECT_EQ(answer(again), before);
  double noise_power = 0.0, power = 0.0;
  for (std::int64_t i = 0; i < floats.elements(); ++i) {
    const double wanted = floats.as<float>()[i], error = before.as<float>()[i] - wanted;
    noise_power += error * error, power += wanted * wanted;
  }
  EXPECT_LT(noise_power, 1e-3 * power);
}

}  // namespace
}  // namespace octavo
