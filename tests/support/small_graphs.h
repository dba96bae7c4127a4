// Small graphs of byte tensors, whose answers are exact. For the tests of plan/, planner/, artifact/, run/ and api/.
#ifndef OCTAVO_TESTS_SUPPORT_SMALL_GRAPHS_H_
#define OCTAVO_TESTS_SUPPORT_SMALL_GRAPHS_H_

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "artifact/artifact.h"
#include "graph/graph.h"
#include "ops/concat/concat.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"
#include "ops/reshape/reshape.h"
#include "ops/table/table.h"
#include "planner/planner.h"
#include "run/model.h"

namespace octavo::testing {

inline Tensor random_bytes(Shape shape, unsigned seed) {
  std::mt19937 random(seed);
  Tensor tensor(DType::u8, std::move(shape));
  for (std::uint8_t& byte : tensor.span<std::uint8_t>()) byte = static_cast<std::uint8_t>(random());
  return tensor;
}

inline ValueId add_or_die(Graph& graph, const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs,
                          const std::string& name) {
  auto value = graph.add(spec, std::move(attrs), std::move(inputs), name);
  if (!value) ADD_FAILURE() << to_string(value.errors());
  return value ? *value : ValueId{0};
}

inline QuantizedElementwiseAttrs weighted_sum() {
  const AddForm form = AddForm::of(0.5f, 3, 0.75f, 200, 1.0f, 17);
  return {{{AddReal{Side::first, form.a_ratio, form.b_ratio, form.fixed}, Round{}}, DType::u8}};
}

// x -> table -> sum with x -> table, one input and one output u8[1,rows,64].
inline Graph chain_graph(std::int64_t rows = 8) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::u8, Shape{1, rows, 64});
  const ValueId table = graph.add_constant("table", random_bytes(Shape{256}, 1));
  const ValueId first = add_or_die(graph, kTable, NoAttrs{}, {x, table}, "first");
  const ValueId both = add_or_die(graph, kQuantizedElementwise, weighted_sum(), {first, x}, "both");
  graph.add_output(add_or_die(graph, kTable, NoAttrs{}, {both, table}, "last"), "y");
  return graph;
}

// Tables, sums, reshapes and concatenations over u8 tensors; two inputs, several outputs: some that are also read,
// reshaped inputs, constants and one value twice among them. The same seed gives the same graph.
inline Graph random_graph(unsigned seed, int nodes) {
  std::mt19937 random(seed);
  Graph graph;
  std::vector<ValueId> values = {graph.add_input("a", DType::u8, Shape{4, 24}),
                                 graph.add_input("b", DType::u8, Shape{96}),
                                 graph.add_constant("c", random_bytes(Shape{4, 24}, seed))};
  const ValueId table = graph.add_constant("table", random_bytes(Shape{256}, seed + 1));
  const auto pick = [&] { return values[random() % values.size()]; };
  const auto flat = [&](ValueId value, const std::string& name) {
    const std::int64_t size = graph.fact(value).shape.elements();
    return add_or_die(graph, kReshape, ReshapeAttrs{{size}}, {value}, name);
  };
  for (int i = 0; i < nodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    const ValueId x = pick();
    switch (random() % 4) {
      case 0: values.push_back(add_or_die(graph, kTable, NoAttrs{}, {x, table}, name)); break;
      case 1: values.push_back(flat(x, name)); break;
      case 2: {
        const ValueId y = pick();
        const bool fits = graph.fact(x).shape == graph.fact(y).shape;
        values.push_back(add_or_die(graph, kQuantizedElementwise, weighted_sum(), {x, fits ? y : x}, name));
        break;
      }
      default: {
        if (graph.fact(x).shape.elements() > 1000) break;
        values.push_back(
            add_or_die(graph, kConcat, ConcatAttrs{.axis = 0}, {flat(x, name + "x"), flat(pick(), name + "y")}, name));
      }
    }
  }
  graph.add_output(values.back(), "last");
  graph.add_output(values.back(), "last again");
  for (int i = 0; i < 4; ++i) graph.add_output(pick(), "out" + std::to_string(i));
  graph.remove_unused();
  return graph;
}

// The graphs' plans over one pool, as compile() would make them; plan i is called batch i + 1 unless the options say in
// which order a batch runs.
inline CompiledModel compile_graphs(const std::vector<const Graph*>& graphs, const Machine& machine = host_machine(),
                                    PlanOptions options = {.allow_reference = true}) {
  CompiledModel model;
  model.source = "test.onnx";
  model.dialect = "ONNX fp32";
  ConstantPool pool;
  for (const Graph* graph : graphs) {
    if (options.batch_order == BatchOrder::automatic) options.batch = static_cast<std::int64_t>(model.plans.size() + 1);
    auto plan = make_plan(*graph, machine, options, pool);
    if (!plan) ADD_FAILURE() << to_string(plan.errors());
    else model.plans.push_back(std::move(*plan));
  }
  adopt_constants(model, pool);
  return model;
}

inline std::vector<Tensor> random_inputs(const Graph& graph, unsigned seed) {
  std::vector<Tensor> inputs;
  for (const ValueId input : graph.inputs()) inputs.push_back(random_bytes(graph.fact(input).shape, seed++));
  return inputs;
}

inline std::vector<Tensor> run_once(Context& context, const std::vector<Tensor>& inputs) {
  std::vector<ConstTensorView> in;
  for (const Tensor& tensor : inputs) in.push_back(tensor.view());
  std::vector<Tensor> outputs;
  std::vector<TensorView> out;
  const Plan& plan = context.plan();
  for (std::size_t i = 0; i < plan.outputs.size(); ++i)
    outputs.emplace_back(plan.output(i).dtype, Shape(plan.output(i).shape));
  for (Tensor& tensor : outputs) out.push_back(tensor.view());
  const Status status = context.run(in, out);
  if (!status) ADD_FAILURE() << to_string(status.errors());
  return outputs;
}

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_SUPPORT_SMALL_GRAPHS_H_
