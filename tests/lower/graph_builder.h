// Small graphs for the tests of lowering, and their answers. Part of the tests of lower/.
#ifndef OCTAVO_TESTS_LOWER_GRAPH_BUILDER_H_
#define OCTAVO_TESTS_LOWER_GRAPH_BUILDER_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/patch.h"
#include "ops/binary/binary.h"
#include "ops/conv/conv.h"
#include "ops/dequantize/dequantize.h"
#include "ops/evaluate.h"
#include "ops/quantize/quantize.h"
#include "ops/unary/unary.h"

namespace octavo {

// Scales are powers of two in most tests: then f32 arithmetic on them is exact, and a rewrite that is right gives the
// same bits.
class GraphBuilder {
 public:
  Graph graph;

  ValueId input(DType dtype, Shape shape) {
    return graph.add_input("x" + std::to_string(graph.inputs().size()), dtype, std::move(shape));
  }
  ValueId add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs) {
    auto added = graph.add(spec, std::move(attrs), std::move(inputs),
                           std::string(spec.name) + std::to_string(graph.value_count()));
    EXPECT_TRUE(added.ok()) << (added.ok() ? "" : to_string(added.errors()));
    return added.ok() ? *added : ValueId{};
  }
  template <class T>
  ValueId constant(Shape shape, const std::vector<T>& values) {
    return graph.add_constant("c" + std::to_string(graph.value_count()), Tensor::of(std::move(shape), values));
  }
  template <class T>
  ValueId scalar(T value) {
    return graph.add_constant("c" + std::to_string(graph.value_count()), Tensor::scalar(value));
  }

  // Deterministic constants of the whole range of the type (f32: multiples of 1/8 in [-1, 1]).
  ValueId random_constant(DType dtype, const Shape& shape, unsigned seed = 1) {
    return graph.add_constant("c" + std::to_string(graph.value_count()), random(dtype, shape, seed));
  }

  ValueId zero_point(DType dtype, int value) {
    if (dtype == DType::s16) return scalar(static_cast<std::int16_t>(value));
    return dtype == DType::s8   ? scalar(static_cast<std::int8_t>(value))
           : dtype == DType::u8 ? scalar(static_cast<std::uint8_t>(value))
                                : scalar(value);
  }
  ValueId quantize(ValueId x, float scale, int zero, DType to = DType::u8) {
    return add(kQuantize, QuantizeAttrs{.to = to}, {x, scalar(scale), zero_point(to, zero)});
  }
  ValueId dequantize(ValueId x, float scale, int zero) {
    return add(kDequantize, DequantizeAttrs{}, {x, scalar(scale), zero_point(graph.fact(x).dtype, zero)});
  }
  // dequantize(constant) with one scale per output channel, 2^-7 and 2^-8 in turn.
  ValueId weights(const Shape& shape, unsigned seed = 1) {
    std::vector<float> scales;
    for (std::int64_t i = 0; i < shape[0]; ++i) scales.push_back(i % 2 == 0 ? 0x1p-7f : 0x1p-8f);
    const ValueId scale = constant(Shape{shape[0]}, scales);
    return add(kDequantize, DequantizeAttrs{.axis = 0}, {random_constant(DType::s8, shape, seed), scale});
  }
  ValueId unary(UnaryKind kind, ValueId x, float alpha = 0.0f, float beta = 0.0f) {
    return add(kUnary, UnaryAttrs{kind, alpha, beta}, {x});
  }
  ValueId binary(BinaryKind kind, ValueId a, ValueId b) { return add(kBinary, BinaryAttrs{kind}, {a, b}); }
  ValueId conv(ValueId x, ValueId w, std::vector<Dim> kernel, Layout layout, ValueId bias = {}, std::int64_t groups = 1,
               std::int64_t pad = 0) {
    Window window = unit_window(std::move(kernel));
    for (auto& entry : window.pad_begin) entry = pad;
    for (auto& entry : window.pad_end) entry = pad;
    return add(kConv, ConvAttrs{window, groups, layout}, {x, w, bias});
  }
  void output(ValueId id) { graph.add_output(id, "y" + std::to_string(graph.outputs().size())); }

  static Tensor random(DType dtype, const Shape& shape, unsigned seed) {
    std::mt19937 generator(seed);
    Tensor tensor(dtype, shape);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      const auto byte = static_cast<std::int32_t>(generator() % 256);
      const double value = is_float(dtype) ? (byte - 128) / 8.0 / 16.0 : dtype == DType::u8 ? byte : byte - 128;
      store_double(tensor.view(), i, value);
    }
    return tensor;
  }
};

inline std::vector<Tensor> answers(const Graph& graph, unsigned seed = 7) {
  std::vector<Tensor> inputs;
  for (ValueId input : graph.inputs())
    inputs.push_back(GraphBuilder::random(graph.fact(input).dtype, graph.fact(input).shape, seed++));
  auto results = evaluate(graph, inputs);
  EXPECT_TRUE(results.ok()) << (results.ok() ? "" : to_string(results.errors()));
  return results.ok() ? *results : std::vector<Tensor>{};
}

inline int count(const Graph& graph, const OpSpec& spec) {
  int found = 0;
  for (NodeId id : graph.order()) found += graph.node(id).spec == &spec ? 1 : 0;
  return found;
}

// The first node of that operator.
inline const Node& first(const Graph& graph, const OpSpec& spec) {
  for (NodeId id : graph.order()) {
    if (graph.node(id).spec == &spec) return graph.node(id);
  }
  ADD_FAILURE() << "no " << spec.name << " in\n" << to_string(graph);
  static const Node none;
  return none;
}

// Applies a rule; the graph must verify and answer with the same bits. Returns how often it applied.
inline int apply_exactly(Graph& graph, const Matcher& rule) {
  const std::vector<Tensor> before = answers(graph);
  const PassReport report = rewrite(graph, "rule", rule);
  EXPECT_TRUE(report.failures.empty()) << to_string(report.failures);
  const Status verified = verify(graph);
  EXPECT_TRUE(verified.ok()) << to_string(verified.errors()) << to_string(graph);
  EXPECT_EQ(answers(graph), before) << to_string(graph);
  return report.applied();
}

// Applies a rule that is exact in real numbers; answers agree to a few units in the last place.
inline int apply_closely(Graph& graph, const Matcher& rule, double tolerance = 1e-5) {
  const std::vector<Tensor> before = answers(graph);
  const PassReport report = rewrite(graph, "rule", rule);
  EXPECT_TRUE(report.failures.empty()) << to_string(report.failures);
  EXPECT_TRUE(verify(graph).ok());
  const std::vector<Tensor> after = answers(graph);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].shape(), after[i].shape());
    for (std::int64_t j = 0; j < before[i].elements(); ++j) {
      const double wanted = element_as_double(before[i].view(), j);
      EXPECT_NEAR(element_as_double(after[i].view(), j), wanted, tolerance * (1.0 + std::abs(wanted)));
    }
  }
  return report.applied();
}

// Applies a rule once whose numbers are an integer engine's; the one output stays within so many steps of what it was.
// Returns the graph afterwards.
inline Graph apply_within(Graph graph, const Matcher& rule, double steps = 1.0) {
  const Tensor before = answers(graph)[0];
  const PassReport report = rewrite(graph, "rule", rule);
  EXPECT_EQ(report.applied(), 1) << (report.entries.empty() ? "" : report.entries[0].reason);
  EXPECT_TRUE(verify(graph).ok()) << to_string(graph);
  const Tensor after = answers(graph)[0];
  EXPECT_EQ(after.dtype(), before.dtype());
  EXPECT_EQ(after.shape(), before.shape());
  double worst = 0.0;
  for (std::int64_t i = 0; i < before.elements(); ++i)
    worst = std::max(worst, std::fabs(element_as_double(after.view(), i) - element_as_double(before.view(), i)));
  EXPECT_LE(worst, steps) << to_string(graph);
  return graph;
}

// The first reason that a rule gives for a graph to which it must not apply.
inline std::string refusal(Graph graph, const Matcher& rule) {
  const PassReport report = rewrite(graph, "rule", rule);
  EXPECT_EQ(report.applied(), 0) << to_string(graph);
  return report.entries.empty() ? "" : report.entries.front().reason;
}

}  // namespace octavo

#endif  // OCTAVO_TESTS_LOWER_GRAPH_BUILDER_H_
