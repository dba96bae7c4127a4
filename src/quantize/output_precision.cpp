// Judging outputs, and choosing layers. Part of quantize/.
#include "quantize/output_precision.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <numbers>
#include <numeric>
#include <set>

#include "base/math.h"
#include "lower/lower.h"
#include "ops/softmax/softmax.h"
#include "ops/unary/unary.h"
#include "planner/macs.h"
#include "planner/planner.h"
#include "quantize/calibrator.h"
#include "quantize/groups.h"
#include "quantize/insert.h"
#include "quantize/parallel.h"
#include "run/model.h"

namespace octavo {
namespace {

constexpr std::int64_t kOutputPrecisionMostSamples = 16;
constexpr std::int64_t kRankingSamples = 4;  // of them, for what only sorts groups

// By ValueId: what `roots` are computed from, themselves included.
std::vector<bool> ancestors_of(const Graph& graph, const std::vector<ValueId>& roots) {
  std::vector<bool> is_ancestor(static_cast<std::size_t>(graph.value_count()));
  for (const ValueId root : roots) is_ancestor[at(root)] = true;
  const std::vector<NodeId> order = graph.order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Node& node = graph.node(*it);
    const bool is_needed =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId value) { return is_ancestor[at(value)]; });
    for (const ValueId input : node.inputs) {
      if (is_needed && input.exists()) is_ancestor[at(input)] = true;
    }
  }
  return is_ancestor;
}

bool is_chosen(const Graph& graph, ValueId output) {
  const std::vector<bool> is_ancestor = ancestors_of(graph, {output});
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (is_ancestor[at(node.outputs[0])] && elements_of(*node.spec, node.attrs) == Elements::ranked) return true;
  }
  return false;
}

std::int64_t macs_of_node(const Graph& graph, const Node& node) {
  OpCall call{.spec = node.spec, .attrs = &node.attrs};
  for (const ValueId input : node.inputs) call.inputs.push_back(input.exists() ? &graph.fact(input) : nullptr);
  for (const ValueId output : node.outputs) call.outputs.push_back(graph.fact(output));
  return macs_of(call);
}

bool has_one_place(const Graph& graph, ValueId output) {
  const Shape shape(graph.fact(output).shape);
  const auto dims = shape.dims();
  return std::count_if(dims.begin(), dims.end(), [](std::int64_t dim) { return dim > 1; }) <= 1;
}

// A sigmoid or softmax, moved or not.
bool is_share(const Graph& graph, ValueId output) {
  const Node* node = graph.producer(output);
  while (node != nullptr && elements_of(*node->spec, node->attrs) == Elements::moved)
    node = graph.producer(node->inputs[0]);
  if (node == nullptr) return false;
  const auto* unary = node->attrs.get_if<UnaryAttrs>();
  return node->attrs.is<SoftmaxAttrs>() || (unary != nullptr && unary->kind == UnaryKind::sigmoid);
}

// What is only compared with a threshold or with its like.
bool is_score(const Graph& graph, ValueId output) {
  return has_one_place(graph, output) && (graph.outputs().size() == 1 || is_share(graph, output));
}

double output_precision_power_of(const std::vector<float>& values) {
  double sum = 0.0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

double power_of_difference(const std::vector<float>& a, const float* b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return sum;
}

}  // namespace

double noise_at(double sqnr_db) { return math_exp(-sqnr_db * (std::numbers::ln10 / 10.0)); }
double sqnr_of(double noise) { return -math_log(noise) * (10.0 / std::numbers::ln10); }

double share_of_macs(const Graph& graph, const std::vector<std::string>& nodes) {
  const std::set<std::string> names(nodes.begin(), nodes.end());
  double own = 0.0, all = 0.0;
  for (const NodeId id : graph.order()) {
    const auto macs = static_cast<double>(macs_of_node(graph, graph.node(id)));
    all += macs;
    if (names.contains(graph.node(id).name)) own += macs;
  }
  return all > 0.0 ? own / all : 0.0;
}

// ---- the judge ----

Result<OutputJudge> OutputJudge::create(const Graph& graph, Judged judged, const SampleRuns& runs,
                                        const Monitor& monitor) {
  OutputJudge judge(graph, runs, monitor);
  for (const ValueId output : graph.outputs()) {
    const Fact& fact = graph.fact(output);
    const bool is_judged = judged == Judged::all || !is_score(graph, output);
    judge.counts_.push_back(is_judged && fact.dtype == DType::f32 && !fact.is_constant() && !is_chosen(graph, output));
  }
  if (std::find(judge.counts_.begin(), judge.counts_.end(), true) == judge.counts_.end()) return judge;
  const std::int64_t count = std::min(kOutputPrecisionMostSamples, runs.samples.size());
  judge.of_sample_.resize(static_cast<std::size_t>(count));
  const auto network = ObservedNetwork::compile(graph, {}, runs.machine);
  if (!network) return network.errors();
  auto observations =
      make_observations([&] { return Observation::create(*network); }, sample_workers(runs.machine, count));
  if (!observations) return observations.errors();
  std::mutex source;
  const auto workers = static_cast<int>(observations->size());
  const Status done = for_each_index(0, count, workers, [&](int worker, std::int64_t i) -> Status {
    auto inputs = [&] {
      const std::lock_guard lock(source);
      return checked_sample(graph, runs.samples, i * runs.samples.size() / count);
    }();
    if (!inputs) return inputs.errors();
    Observation& observation = (*observations)[static_cast<std::size_t>(worker)];
    if (Status ran = observation.run(*inputs, [](std::size_t, const TensorView&) {}); !ran) return ran;
    judge.of_sample_[static_cast<std::size_t>(i)] = judge.counted(observation.outputs());
    return ok_status();
  });
  if (!done) return done.errors();
  for (const Outputs& outputs : judge.of_sample_) {
    std::vector<double>& power = judge.power_.emplace_back();
    for (const std::vector<float>& values : outputs) power.push_back(output_precision_power_of(values));
  }
  return judge;
}

OutputJudge::Outputs OutputJudge::counted(const std::vector<Tensor>& outputs) const {
  Outputs values(counts_.size());
  for (std::size_t k = 0; k < counts_.size(); ++k) {
    const auto own = outputs[k].view().dtype == DType::f32 ? outputs[k].span<float>() : std::span<const float>();
    if (counts_[k]) values[k].assign(own.begin(), own.end());
  }
  return values;
}

namespace {

Result<std::vector<Tensor>> run_once(const std::shared_ptr<const Model>& model, const Graph& graph,
                                     const std::vector<Tensor>& inputs) {
  auto context = Context::create(model);
  if (!context) return context.errors();
  std::vector<ConstTensorView> in;
  for (const Tensor& input : inputs) in.push_back(input.view());
  std::vector<Tensor> outputs;
  std::vector<TensorView> out;
  for (const ValueId id : graph.outputs()) outputs.emplace_back(graph.fact(id).dtype, Shape(graph.fact(id).shape));
  for (Tensor& output : outputs) out.push_back(output.view());
  if (Status ran = context->run(in, out); !ran) return ran.errors();
  return outputs;
}

// The network as it will be, for one thread.
Result<std::shared_ptr<const Model>> compile_quantized(const Graph& graph, const PlacedNetwork& placed,
                                                       const Calibrated& calibrated, const Machine& machine) {
  auto with_pairs = insert_pairs(graph, placed.placement, placed.scales, calibrated, Ends::floats);
  if (!with_pairs) return with_pairs.errors();
  if (const auto lowered = lower(*with_pairs, {}); !lowered) return lowered.errors();
  ConstantPool constants;
  auto plan = make_plan(std::move(*with_pairs), machine, {.allow_reference = true, .batch_order = BatchOrder::steps},
                        constants);
  if (!plan) return plan.errors();
  CompiledModel compiled{.source = "judging outputs"};
  compiled.plans.push_back(std::move(*plan));
  adopt_constants(compiled, constants);
  return load_model(std::move(compiled), {.threads = 1});
}

}  // namespace

Result<std::vector<double>> OutputJudge::noise_of(const PlacedNetwork& placed, const Calibrated& calibrated,
                                                  std::int64_t most_samples) const {
  if (const Status going_on = monitor_->check(); !going_on) return going_on.errors();
  const auto model = compile_quantized(*graph_, placed, calibrated, runs_.machine);
  if (!model) return model.errors();
  const auto all = static_cast<std::int64_t>(of_sample_.size()), count = std::min(all, most_samples);
  std::mutex source;
  std::vector<std::vector<double>> errors(static_cast<std::size_t>(count), std::vector<double>(counts_.size()));
  const Status done =
      for_each_index(0, count, sample_workers(runs_.machine, count), [&](int, std::int64_t i) -> Status {
        const std::int64_t sample = i * all / count;
        auto inputs = [&] {
          const std::lock_guard lock(source);
          return checked_sample(*graph_, runs_.samples, sample * runs_.samples.size() / all);
        }();
        if (!inputs) return inputs.errors();
        auto outputs = run_once(*model, *graph_, *inputs);
        if (!outputs) return outputs.errors();
        const Outputs& exact = of_sample_[static_cast<std::size_t>(sample)];
        for (std::size_t k = 0; k < counts_.size(); ++k) {
          if (counts_[k])
            errors[static_cast<std::size_t>(i)][k] = power_of_difference(exact[k], (*outputs)[k].as<float>());
        }
        return ok_status();
      });
  if (!done) return done.errors();
  std::vector<double> noise(counts_.size());
  for (std::size_t k = 0; k < noise.size(); ++k) {
    double power = 0.0;
    for (std::int64_t i = 0; i < count; ++i) {
      noise[k] += errors[static_cast<std::size_t>(i)][k];
      power += power_[static_cast<std::size_t>(i * all / count)][k];
    }
    noise[k] = power > 0.0 ? noise[k] / power : 0.0;
  }
  return noise;
}

namespace {

// ---- the search ----

// A group with what it costs in f32 and what rounding it alone adds to each output.
struct Candidate {
  LayerGroup group;
  double cost = 1.0;
  std::vector<double> noise;
  double worth = 0.0;
};

class Search {
 public:
  Search(const OutputJudge& judge, const PlacedNetwork& placed, const Calibrated& calibrated,
         const std::vector<double>& noise, double most, const PlaceWithout& place)
      : judge_(judge),
        graph_(judge.graph()),
        placed_(placed),
        calibrated_(calibrated),
        noise_(noise),
        most_(most),
        place_(place) {
    for (const NodeId id : graph_.order()) by_name_[graph_.node(id).name] = id;
  }

  Result<std::vector<std::string>> run() {
    if (const Status found = find_candidates(); !found) return found.errors();
    std::size_t low = 0, high = std::min(predicted(), candidates_.size());  // low is not enough
    while (high > 0) {
      const auto enough = is_enough(first(high));
      if (!enough) return enough.errors();
      if (*enough || high == candidates_.size()) break;
      low = high;
      high = std::min(high + std::max<std::size_t>(1, high / 2), candidates_.size());
    }
    while (high > low + 1) {
      const std::size_t middle = low + (high - low) / 2;
      const auto enough = is_enough(first(middle));
      if (!enough) return enough.errors();
      (*enough ? high : low) = middle;
    }
    auto kept = first(high);
    if (const Status less = leave_out_dispensable(kept); !less) return less.errors();
    return names_of(kept);
  }

 private:
  using Indices = std::vector<std::size_t>;

  bool is_noisy(std::size_t output) const { return noise_[output] > most_; }

  // The wire whose rounding a reader of this one finds.
  ValueId rounded_source(ValueId wire) const {
    while (const Node* node = graph_.producer(wire)) {
      const bool follows = placed_.placement.role(graph_.value(wire).producer).role == Role::moving &&
                           elements_of(*node->spec, node->attrs) != Elements::joined;
      if (!follows) break;
      wire = node->inputs[0];
    }
    return wire;
  }

  // The network with nothing rounded but what the group's nodes read, and their weights.
  PlacedNetwork alone(const LayerGroup& group) const {
    PlacedNetwork one = placed_;
    one.placement.is_8bit.assign(one.placement.is_8bit.size(), false);
    one.placement.is_bias.assign(one.placement.is_bias.size(), false);
    one.placement.has_pair.assign(one.placement.has_pair.size(), false);
    for (const std::string& name : group.nodes) {
      const NodeId id = by_name_.at(name);
      one.placement.is_8bit[at(id)] = placed_.placement.is_8bit[at(id)];
      one.placement.is_bias[at(id)] = placed_.placement.is_bias[at(id)];
      for (const ValueId input : graph_.node(id).inputs) {
        if (!input.exists() || graph_.fact(input).is_constant() || !placed_.placement.pair(input)) continue;
        const ValueId source = rounded_source(input);
        one.placement.has_pair[at(source)] = placed_.placement.pair(source);
      }
    }
    return one;
  }

  // Multiply-adds, and what converting at both ends is worth.
  double cost_of(const LayerGroup& group) const {
    constexpr double kPerElement = 8.0;
    double cost = 1.0;
    for (const std::string& name : group.nodes) {
      const Node& node = graph_.node(by_name_.at(name));
      cost += static_cast<double>(macs_of_node(graph_, node));
      for (const ValueId output : node.outputs)
        cost += kPerElement * static_cast<double>(Shape(graph_.fact(output).shape).elements());
    }
    return cost;
  }

  Status find_candidates() {
    std::vector<ValueId> noisy;
    for (std::size_t k = 0; k < noise_.size(); ++k) {
      if (is_noisy(k)) noisy.push_back(graph_.outputs()[k]);
    }
    const std::vector<bool> is_ancestor = ancestors_of(graph_, noisy);
    const std::vector<LayerGroup> groups = integer_groups(graph_, placed_.placement);
    for (const LayerGroup& group : groups) {
      if (!is_ancestor[at(graph_.node(by_name_.at(group.nodes.back())).outputs[0])]) continue;
      const Status going_on =
          judge_.monitor().at(Phase::weighing, &group - groups.data(), static_cast<std::int64_t>(groups.size()));
      if (!going_on) return going_on;
      auto own = judge_.noise_of(alone(group), calibrated_, kRankingSamples);
      if (!own) return own.errors();
      Candidate candidate{.group = group, .cost = cost_of(group), .noise = std::move(*own)};
      for (std::size_t k = 0; k < noise_.size(); ++k) {
        if (is_noisy(k)) candidate.worth += candidate.noise[k] / noise_[k] / candidate.cost;
      }
      candidates_.push_back(std::move(candidate));
    }
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.worth > b.worth; });
    return ok_status();
  }

  // How many of the first are enough if noise adds up.
  std::size_t predicted() const {
    std::vector<double> left = noise_;
    std::vector<double> sum(noise_.size());
    for (const Candidate& candidate : candidates_) {
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += candidate.noise[k];
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      bool is_enough = true;
      for (std::size_t k = 0; k < left.size(); ++k) {
        if (sum[k] > 0.0) left[k] -= noise_[k] * candidates_[i].noise[k] / sum[k];
        is_enough = is_enough && (!is_noisy(k) || left[k] <= most_);
      }
      if (is_enough) return i + 1;
    }
    return candidates_.size();
  }

  static Indices first(std::size_t count) {
    Indices indices(count);
    std::iota(indices.begin(), indices.end(), std::size_t{0});
    return indices;
  }

  std::vector<std::string> names_of(const Indices& kept) const {
    std::vector<std::string> names;
    for (const std::size_t i : kept)
      names.insert(names.end(), candidates_[i].group.nodes.begin(), candidates_[i].group.nodes.end());
    return names;
  }

  Result<bool> is_enough(const Indices& kept) {
    const auto placed = place_(names_of(kept));
    if (!placed) return placed.errors();
    const auto noise = judge_.noise_of(*placed, calibrated_);
    if (!noise) return noise.errors();
    return std::all_of(noise->begin(), noise->end(), [&](double own) { return own <= most_; });
  }

  // The dearest first.
  Status leave_out_dispensable(Indices& kept) {
    constexpr std::size_t kMostTries = 8;
    Indices dearest = kept;
    std::stable_sort(dearest.begin(), dearest.end(),
                     [&](std::size_t a, std::size_t b) { return candidates_[a].cost > candidates_[b].cost; });
    for (std::size_t i = 0; i < std::min(kMostTries, dearest.size()) && kept.size() > 1; ++i) {
      Indices fewer = kept;
      std::erase(fewer, dearest[i]);
      const auto enough = is_enough(fewer);
      if (!enough) return enough.errors();
      if (*enough) kept = std::move(fewer);
    }
    return ok_status();
  }

  const OutputJudge& judge_;
  const Graph& graph_;
  const PlacedNetwork& placed_;
  const Calibrated& calibrated_;
  const std::vector<double>& noise_;
  const double most_;
  const PlaceWithout& place_;
  std::map<std::string, NodeId> by_name_;
  std::vector<Candidate> candidates_;  // the best first
};

}  // namespace

Result<std::vector<std::string>> nodes_for_outputs(const OutputJudge& judge, const PlacedNetwork& placed,
                                                   const Calibrated& calibrated, const std::vector<double>& noise,
                                                   double most, const PlaceWithout& place) {
  return Search(judge, placed, calibrated, noise, most, place).run();
}

}  // namespace octavo
