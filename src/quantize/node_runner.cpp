// Compiles and runs single nodes. Part of quantize/.
#include "quantize/node_runner.h"

#include <map>

#include "lower/lower.h"
#include "plan/plan.h"
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
    inputs.push_back(fact.is_constant() ? alone.add_constant(name, fact.constant) : alone.add_input(name, fact.dtype, fact.shape));
  }
  auto added = alone.add_node(*node.spec, node.attrs, std::move(inputs), node.name, node.origin);
  if (!added) return std::move(added).errors();
  const std::vector<ValueId> outputs = alone.node(*added).outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) alone.add_output(outputs[i], "output" + std::to_string(i));
  return alone;
}

Result<Context> compile_alone(Graph alone) {
  if (auto lowered = lower(alone, {.precision = Precision::fp32}); !lowered) return std::move(lowered).errors();
  ConstantPool constants;
  auto plan = make_plan(alone, host_machine(), {.precision = Precision::fp32, .allow_reference = true}, constants);
  if (!plan) return std::move(plan).errors();
  CompiledModel compiled;
  compiled.machine = host_machine();
  compiled.plans.push_back(std::move(*plan));
  adopt_constants(compiled, constants);
  auto model = load_model(std::move(compiled), {});
  if (!model) return std::move(model).errors();
  return Context::create(std::move(*model));
}

}  // namespace

Result<std::vector<Tensor>> run_node(const Graph& graph, const Node& node, const std::vector<Tensor>& inputs) {
  auto alone = isolate(graph, node);
  if (!alone) return std::move(alone).errors();
  auto context = compile_alone(std::move(*alone));
  if (!context) return std::move(context).errors();
  std::vector<ConstTensorView> in;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].exists() && !graph.fact(node.inputs[i]).is_constant()) in.push_back(inputs[i].view());
  }
  std::vector<Tensor> outputs;
  std::vector<TensorView> out;
  for (ValueId id : node.outputs) outputs.emplace_back(graph.fact(id).dtype, graph.fact(id).shape);
  for (Tensor& output : outputs) out.push_back(output.view());
  if (auto status = context->run(in, out); !status) return std::move(status).errors();
  return outputs;
}

Result<std::vector<Tensor>> run_nodes(const Graph& graph, const std::vector<Tensor>& inputs, const NodeVisitor& visit) {
  std::map<int, Tensor> values;
  std::map<int, int> readers_left;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) values[graph.inputs()[i].index] = inputs[i];
  for (ValueId output : graph.outputs()) ++readers_left[output.index];
  for (NodeId id : graph.order()) {
    for (ValueId input : graph.node(id).inputs) ++readers_left[input.index];
  }
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    std::vector<Tensor> operands;
    for (ValueId input : node.inputs) operands.push_back(input.exists() && !graph.fact(input).is_constant() ? values[input.index] : Tensor());
    auto outputs = run_node(graph, node, operands);
    if (!outputs) return std::move(outputs).errors();
    if (auto status = visit(node, *outputs); !status) return std::move(status).errors();
    for (std::size_t i = 0; i < node.outputs.size(); ++i) values[node.outputs[i].index] = std::move((*outputs)[i]);
    for (ValueId input : node.inputs) {
      if (--readers_left[input.index] == 0) values.erase(input.index);
    }
  }
  std::vector<Tensor> results;
  for (ValueId output : graph.outputs()) results.push_back(graph.fact(output).is_constant() ? *graph.fact(output).constant : values[output.index]);
  return results;
}

}  // namespace octavo
