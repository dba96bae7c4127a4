// Compiles and runs single nodes. Part of quantize/.
#include "quantize/node_runner.h"

#include <algorithm>
#include <map>

#include "lower/lower.h"
#include "planner/planner.h"
#include "quantize/parallel.h"
#include "run/model.h"

namespace octavo {
namespace {

// The node alone: inputs that vary become graph inputs.
Result<Graph> isolate(const Graph& graph, const Node& node) {
  Graph alone;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].exists()) {
      inputs.push_back({});
      continue;
    }
    const Fact& fact = graph.fact(node.inputs[i]);
    const std::string name = "input" + std::to_string(i);
    inputs.push_back(fact.is_constant() ? alone.add_constant(name, fact.constant)
                                        : alone.add_input(name, fact.dtype, fact.shape));
  }
  auto added = alone.add_node(*node.spec, node.attrs, std::move(inputs), node.name, node.origin);
  if (!added) return std::move(added).errors();
  const std::vector<ValueId> outputs = alone.node(*added).outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) alone.add_output(outputs[i], "output" + std::to_string(i));
  return alone;
}

Result<std::shared_ptr<const Model>> compile_alone(Graph alone, int threads) {
  if (auto lowered = lower(alone, {.precision = Precision::fp32}); !lowered) return std::move(lowered).errors();
  ConstantPool constants;
  const PlanOptions options{
      .precision = Precision::fp32, .needs_exact = true, .allow_reference = true, .batch_order = BatchOrder::steps};
  auto plan = make_plan(alone, host_machine(), options, constants);
  if (!plan) return std::move(plan).errors();
  CompiledModel compiled;
  compiled.plans.push_back(std::move(*plan));
  adopt_constants(compiled, constants);
  return load_model(std::move(compiled), {.threads = threads});
}

// inputs: of the node, those left out or constant excepted.
Result<SampleTensors> run_alone(const std::shared_ptr<const Model>& model, const Graph& graph, const Node& node,
                                const SampleTensors& inputs) {
  auto context = Context::create(model);
  if (!context) return std::move(context).errors();
  std::vector<ConstTensorView> in;
  for (const Tensor& input : inputs) in.push_back(input.view());
  SampleTensors outputs;
  std::vector<TensorView> out;
  for (ValueId id : node.outputs) outputs.emplace_back(graph.fact(id).dtype, graph.fact(id).shape);
  for (Tensor& output : outputs) out.push_back(output.view());
  if (auto status = context->run(in, out); !status) return std::move(status).errors();
  return outputs;
}

// The values of one sample that are still to be read.
class Values {
 public:
  Values(const Graph& graph, const SampleTensors& inputs) : graph_(graph) {
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) values_[graph.inputs()[i].index] = inputs[i];
    for (ValueId output : graph.outputs()) ++readers_left_[output.index];
    for (NodeId id : graph.order()) {
      for (ValueId input : graph.node(id).inputs) ++readers_left_[input.index];
    }
  }
  SampleTensors inputs_of(const Node& node) {
    SampleTensors inputs;
    for (ValueId input : node.inputs) {
      if (input.exists() && !graph_.fact(input).is_constant()) inputs.push_back(values_[input.index]);
    }
    return inputs;
  }
  void take(const Node& node, SampleTensors outputs) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) values_[node.outputs[i].index] = std::move(outputs[i]);
    for (ValueId input : node.inputs) {
      if (--readers_left_[input.index] == 0) values_.erase(input.index);
    }
  }
  SampleTensors results() {
    SampleTensors results;
    for (ValueId output : graph_.outputs())
      results.push_back(graph_.fact(output).is_constant() ? *graph_.fact(output).constant : values_[output.index]);
    return results;
  }

 private:
  const Graph& graph_;
  std::map<int, Tensor> values_;
  std::map<int, int> readers_left_;
};

// The node on all samples, a few at a time.
Result<std::vector<SampleTensors>> run_node(const Graph& graph, const Node& node, std::vector<Values>& values) {
  auto alone = isolate(graph, node);
  if (!alone) return std::move(alone).errors();
  const auto model = compile_alone(std::move(*alone), values.size() > 1 ? 1 : 0);
  if (!model) return model.errors();
  std::vector<SampleTensors> outputs(values.size());
  const auto count = static_cast<std::int64_t>(values.size());
  const Status done = for_each_index(0, count, host_machine().cores, [&](int, std::int64_t index) -> Status {
    const auto i = static_cast<std::size_t>(index);
    auto made = run_alone(*model, graph, node, values[i].inputs_of(node));
    if (!made) return std::move(made).errors();
    outputs[i] = std::move(*made);
    return ok_status();
  });
  if (!done) return done.errors();
  return outputs;
}

}  // namespace

Result<std::vector<SampleTensors>> run_nodes(const Graph& graph, const std::vector<SampleTensors>& samples,
                                             const NodeVisitor& visit) {
  std::vector<Values> values;
  for (const SampleTensors& sample : samples) values.emplace_back(graph, sample);
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    auto outputs = run_node(graph, node, values);
    if (!outputs) return std::move(outputs).errors();
    if (auto status = visit(node, *outputs); !status) return std::move(status).errors();
    for (std::size_t i = 0; i < values.size(); ++i) values[i].take(node, std::move((*outputs)[i]));
  }
  std::vector<SampleTensors> results;
  for (Values& of_sample : values) results.push_back(of_sample.results());
  return results;
}

}  // namespace octavo
