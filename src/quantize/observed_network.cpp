// Compiling a graph whose inner values are seen by the executor's hook. Part of quantize/.
#include "quantize/observed_network.h"

#include <algorithm>
#include <map>

#include "graph/rebuild.h"
#include "lower/lower.h"
#include "ops/transpose/transpose.h"
#include "planner/planner.h"

namespace octavo {
namespace {

Result<std::shared_ptr<const Model>> compile_lowered(Graph graph, const Machine& machine) {
  ConstantPool constants;
  const PlanOptions options{
      .precision = Precision::fp32, .needs_exact = true, .allow_reference = true, .batch_order = BatchOrder::steps};
  auto plan = make_plan(std::move(graph), machine, options, constants);
  if (!plan) return plan.errors();
  CompiledModel compiled{.source = "calibration"};
  compiled.plans.push_back(std::move(*plan));
  adopt_constants(compiled, constants);
  return load_model(std::move(compiled), {.threads = 1});
}

// The axis of x that is this axis of its reshape y; -1 where there is none.
int axis_before_reshape(const Shape& x, const Shape& y, int axis) {
  for (int candidate = 0; axis >= 0 && candidate < x.rank(); ++candidate) {
    if (x[candidate] == y[axis] && x.elements(candidate + 1, x.rank()) == y.elements(axis + 1, y.rank()))
      return candidate;
  }
  return -1;
}

// The value of which this one is only another order of axes.
ObservedValue behind_layout(const Graph& graph, ObservedValue seen) {
  while (const Node* node = graph.producer(seen.id)) {
    if (const auto* transpose = node->attrs.get_if<TransposeAttrs>()) {
      if (seen.channel_axis >= 0)
        seen.channel_axis = static_cast<int>(transpose->perm[static_cast<std::size_t>(seen.channel_axis)]);
    } else if (node->spec->is_view) {
      seen.channel_axis =
          axis_before_reshape(graph.fact(node->inputs[0]).shape, graph.fact(seen.id).shape, seen.channel_axis);
    } else {
      break;
    }
    seen.id = node->inputs[0];
  }
  return seen;
}

// Some nodes of a graph with other outputs.
struct Cut {
  Graph graph;
  std::vector<ValueId> new_ids;  // by ValueId of the original; none where nobody needs the value
};

// What the outputs need; inputs stay all. Values keep their names.
Result<Cut> cut_to(const Graph& graph, const std::vector<ValueId>& outputs,
                   const std::vector<std::string>& output_names) {
  Rebuild rebuild(graph);
  rebuild.add_inputs();
  for (const NodeId id : graph.order()) rebuild.copy(graph.node(id));
  rebuild.add_outputs(outputs, output_names);
  Cut cut;
  for (int i = 0; i < graph.value_count(); ++i) cut.new_ids.push_back(rebuild.made({i}));
  auto made = rebuild.finish();
  if (!made) return made.errors();
  cut.graph = std::move(*made);
  cut.graph.remove_unused();
  return cut;
}

// The graph with its own outputs alone, and those seen values that are then computed for nobody (a padding that went
// into a convolution).
Result<Graph> without_extra_outputs(const Graph& graph, std::size_t own_outputs,
                                    const std::vector<ObservedValue>& seen) {
  std::vector<ValueId> outputs(graph.outputs().begin(),
                               graph.outputs().begin() + static_cast<std::ptrdiff_t>(own_outputs));
  std::vector<std::string> names(graph.output_names().begin(),
                                 graph.output_names().begin() + static_cast<std::ptrdiff_t>(own_outputs));
  auto cut = cut_to(graph, outputs, names);
  if (!cut) return cut.errors();
  for (const ObservedValue& value : seen) {
    if (graph.producer(value.id) == nullptr || std::find(outputs.begin(), outputs.end(), value.id) != outputs.end())
      continue;
    if (cut->graph.is_live(cut->graph.value(cut->new_ids[static_cast<std::size_t>(value.id.index)]).producer)) continue;
    outputs.push_back(value.id);
    names.push_back(graph.value(value.id).name);
  }
  if (outputs.size() == own_outputs) return std::move(cut->graph);
  cut = cut_to(graph, outputs, names);
  if (!cut) return cut.errors();
  return std::move(cut->graph);
}

std::string seen_name(ValueId id) { return "octavo/seen/" + std::to_string(id.index); }

}  // namespace

Result<ObservedNetwork> ObservedNetwork::compile(Graph graph, const std::vector<ObservedValue>& chosen,
                                                 const Machine& machine) {
  const std::size_t own_outputs = graph.outputs().size();
  for (std::size_t k = 0; k < chosen.size(); ++k) graph.add_output(chosen[k].id, "octavo/chosen/" + std::to_string(k));
  if (const auto lowered = lower(graph, {.precision = Precision::fp32}); !lowered) return lowered.errors();

  ObservedNetwork network;
  std::vector<ObservedValue> seen;
  std::vector<std::vector<std::size_t>> chosen_by_value(static_cast<std::size_t>(graph.value_count()));
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    seen.push_back(behind_layout(graph, {graph.outputs()[own_outputs + k], chosen[k].channel_axis}));
    const ValueId id = seen.back().id;
    network.channel_axis_.push_back(seen.back().channel_axis);
    const auto input = std::find(graph.inputs().begin(), graph.inputs().end(), id);
    if (input != graph.inputs().end())
      network.inputs_.push_back({static_cast<std::size_t>(input - graph.inputs().begin()), k});
    else if (graph.producer(id) == nullptr) network.constants_.push_back({graph.fact(id).constant, k});
    else chosen_by_value[static_cast<std::size_t>(id.index)].push_back(k);
  }
  for (const ObservedValue& value : seen) {
    if (graph.producer(value.id) != nullptr) graph.set_name(value.id, seen_name(value.id));
  }
  auto alone = without_extra_outputs(graph, own_outputs, seen);
  if (!alone) return alone.errors();
  graph = {};  // or its weights would stay until the model is loaded
  auto model = compile_lowered(std::move(*alone), machine);
  if (!model) return model.errors();
  network.model_ = std::move(*model);
  network.find_steps(chosen_by_value);
  return network;
}

void ObservedNetwork::find_steps(const std::vector<std::vector<std::size_t>>& chosen_by_value) {
  std::map<std::string, std::size_t> values;  // by name
  for (std::size_t i = 0; i < chosen_by_value.size(); ++i) {
    if (!chosen_by_value[i].empty()) values[seen_name({static_cast<int>(i)})] = i;
  }
  const auto& steps = plan().steps;
  by_step_.resize(steps.size());
  for (std::size_t s = 0; s < steps.size(); ++s) {
    for (std::size_t output = 0; output < steps[s].outputs.size(); ++output) {
      const auto found = values.find(std::string(plan().name_of_value(steps[s].outputs[output])));
      if (found == values.end()) continue;
      for (const std::size_t k : chosen_by_value[found->second]) by_step_[s].push_back({output, k});
      values.erase(found);  // copies to outputs carry the same name
    }
  }
}

Result<Observation> Observation::create(const ObservedNetwork& network) {
  auto context = Context::create(network.model_);
  if (!context) return context.errors();
  Observation observation(network, std::move(*context));
  const Plan& plan = network.plan();
  for (std::size_t i = 0; i < plan.outputs.size(); ++i)
    observation.outputs_.emplace_back(plan.output(i).dtype, Shape(plan.output(i).shape));
  return observation;
}

Status Observation::run(std::vector<Tensor>& inputs, const Visit& visit) {
  start(inputs, visit);
  return advance(inputs, std::nullopt, std::nullopt, visit);
}

void Observation::start(std::vector<Tensor>& inputs, const Visit& visit) {
  for (const auto& sight : network_->inputs_) visit(sight.chosen, inputs[sight.input].view());
  for (const auto& sight : network_->constants_)
    visit(sight.chosen, Tensor::copy_of(std::as_const(*sight.value).view()).view());
}

Status Observation::advance(const std::vector<Tensor>& inputs, const std::optional<Sighting>& from,
                            const std::optional<Sighting>& to, const Visit& visit) {
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  for (const Tensor& input : inputs) in.push_back(input.data());
  for (Tensor& output : outputs_) out.push_back(output.data());
  const auto& sights = network_->by_step_;
  const std::size_t last = to ? to->step : sights.size() - 1;
  const auto end_of_step = [&](std::size_t step) {
    return to && to->step == step ? to->place + 1 : sights[step].size();
  };
  if (from) show(from->step, from->place + 1, end_of_step(from->step), visit);
  for (std::size_t step = from ? from->step + 1 : 0; step <= last && step < sights.size(); ++step) {
    if (Status status = context_.run_steps(in, out, step, step + 1); !status) return status;
    show(step, 0, end_of_step(step), visit);
  }
  return ok_status();
}

void Observation::show(std::size_t step, std::size_t first, std::size_t last, const Visit& visit) {
  const auto& sights = network_->by_step_[step];
  for (std::size_t place = first; place < last; ++place)
    visit(sights[place].chosen, output_of(step, sights[place].output));
}

TensorView Observation::output_of(std::size_t step, std::size_t output) {
  const Plan& plan = context_.plan();
  const PlanValue& value = plan.value(plan.steps[step].outputs[output]);
  std::byte* memory = value.place == Place::arena ? context_.arena() + value.offset : outputs_[value.offset].data();
  return {value.dtype, Shape(value.shape), memory};
}

TensorView Observation::value(const Sighting& sighting) {
  return output_of(sighting.step, network_->by_step_[sighting.step][sighting.place].output);
}

std::vector<Sighting> ObservedNetwork::sightings() const {
  std::vector<Sighting> all;
  for (std::size_t step = 0; step < by_step_.size(); ++step) {
    for (std::size_t place = 0; place < by_step_[step].size(); ++place)
      all.push_back({step, place, by_step_[step][place].chosen});
  }
  return all;
}

}  // namespace octavo
