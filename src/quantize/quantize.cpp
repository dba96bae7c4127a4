// The quantizer: ranges from samples, then pairs where the placement puts them. Part of quantize/.
#include "quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <mutex>
#include <optional>

#include "base/machine.h"
#include "lower/lower.h"
#include "ops/list.h"
#include "quantize/bias_correction.h"
#include "quantize/groups.h"
#include "quantize/insert.h"
#include "quantize/node_pattern.h"
#include "quantize/observed_network.h"
#include "quantize/observer.h"
#include "quantize/placement.h"
#include "quantize/scales.h"
#include "quantize/wire_scales.h"

namespace octavo {
namespace {

std::size_t at(ValueId id) { return static_cast<std::size_t>(id.index); }

Status check_options(const Graph& graph, const SampleSource& samples, const QuantizeOptions& options) {
  Errors errors;
  if (!(options.percentile > 50.0 && options.percentile <= 100.0)) {
    errors.push_back({.kind = ErrorKind::usage,
                      .where = "calibration percentile",
                      .found = std::to_string(options.percentile),
                      .expected = "more than 50, at most 100"});
  }
  if (options.global_scale && !(std::isfinite(*options.global_scale) && *options.global_scale > 0.0f)) {
    errors.push_back(
        {.kind = ErrorKind::usage, .where = "global scale", .found = std::to_string(*options.global_scale), .expected = "a positive number"});
  }
  if (samples.size() < 1 && !options.global_scale && !options.calibrated) {
    errors.push_back({.kind = ErrorKind::usage, .where = "calibration", .found = "no samples", .expected = "at least one"});
  }
  if (const Status patterns = check_patterns(graph, options.skip, "--skip"); !patterns) {
    errors.insert(errors.end(), patterns.errors().begin(), patterns.errors().end());
  }
  if (!errors.empty()) return errors;
  return ok_status();
}

// Batch normalisations that no convolution takes up become depthwise 1x1 convolutions: one weight per channel, which s8 holds exactly.
Match batch_norm_to_conv(const Graph& graph, const Node& node) {
  if (node.spec != &kBatchNorm) return std::string();
  const auto& attrs = node.attrs.as<BatchNormAttrs>();
  const Fact& x = graph.fact(node.inputs[0]);
  if (x.shape.rank() != 4 || attrs.axis != 1 || x.dtype != DType::f32) return std::string("not over the channels of an image");
  std::vector<std::vector<float>> statistics;
  for (std::size_t i = 1; i < 5; ++i) {
    if (!graph.fact(node.inputs[i]).is_constant()) return std::string("statistics are not constant");
    statistics.push_back(to_floats(graph.fact(node.inputs[i]).constant->view()));
  }
  const std::int64_t channels = x.shape[1];
  std::vector<float> weights;
  std::vector<float> bias;
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    const double factor = statistics[0][c] / std::sqrt(static_cast<double>(statistics[3][c]) + attrs.epsilon);
    weights.push_back(static_cast<float>(factor));
    bias.push_back(static_cast<float>(statistics[1][c] - statistics[2][c] * factor));
  }
  Patch patch(graph);
  const ValueId w = patch.constant(node.name + "/scale", Tensor::of<float>(Shape{channels, 1, 1, 1}, weights));
  const ValueId b = patch.constant(node.name + "/bias", Tensor::of<float>(Shape{channels}, bias));
  patch.replace(node.outputs[0],
                patch.add(kConv, ConvAttrs{.window = unit_window({1, 1}), .groups = channels}, {node.inputs[0], w, b}, node.name, node.origin));
  return patch;
}

// The wires whose ranges are needed: all with pairs, but not those that take their scale from the wire before.
std::vector<ValueId> observed_values(const Graph& graph, const Placement& placement) {
  std::vector<ValueId> observed;
  for (int i = 0; i < graph.value_count(); ++i) {
    const ValueId value{i};
    if (!placement.pair(value)) continue;
    const Node* producer = graph.producer(value);
    const bool follows = producer != nullptr && placement.role(graph.value(value).producer).role == Role::moving && producer->spec != &kConcat;
    if (!follows) observed.push_back(value);
  }
  return observed;
}

// Calibration: every worker has a context of its own and takes every n-th sample; what observers remember does not depend on the order,
// and one thread computes the whole of a sample, so ranges do not depend on how many there are.
class Calibrator {
 public:
  Calibrator(const Graph& graph, std::vector<ValueId> observed, const SampleSource& samples, const QuantizeOptions& options)
      : graph_(graph), observed_(std::move(observed)), samples_(samples), options_(options) {}

  // One observer per observed value.
  Result<std::vector<Observer>> run() {
    auto network = ObservedNetwork::compile(graph_, observed_);
    if (!network) return network.errors();
    network_ = std::move(*network);
    const std::int64_t workers = std::clamp<std::int64_t>(host_machine().cores, 1, std::min<std::int64_t>(16, samples_.size()));
    std::vector<std::future<Result<std::vector<Observer>>>> others;
    for (std::int64_t first = 1; first < workers; ++first) {
      others.push_back(std::async(std::launch::async, [this, first, workers] { return observe(first, workers); }));
    }
    auto merged = observe(0, workers);
    for (auto& other : others) {
      const auto part = other.get();
      if (!merged) continue;  // the rest is still waited for
      if (!part) merged = part.errors();
      else merge(*merged, *part);
    }
    return merged;
  }

 private:
  static void merge(std::vector<Observer>& into, const std::vector<Observer>& part) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i].merge(part[i]);
  }

  // Sources are called by one thread at a time.
  Result<std::vector<Tensor>> sample(std::int64_t index) {
    const std::lock_guard lock(mutex_);
    auto tensors = samples_.sample(index);
    if (tensors) return check_sample(std::move(*tensors), index);
    return tensors;
  }

  Result<std::vector<Tensor>> check_sample(std::vector<Tensor> tensors, std::int64_t index) const {
    const std::string where = "calibration sample " + std::to_string(index);
    const auto error = [&](std::string found, std::string expected) {
      return Error{.kind = ErrorKind::invalid_input, .where = where, .found = std::move(found), .expected = std::move(expected)};
    };
    if (tensors.size() != graph_.inputs().size()) return error(std::to_string(tensors.size()) + " tensors", std::to_string(graph_.inputs().size()));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Fact& fact = graph_.fact(graph_.inputs()[i]);
      if (tensors[i].dtype() == fact.dtype && tensors[i].shape() == fact.shape) continue;
      return error(std::string(name_of(tensors[i].dtype())) + "[" + tensors[i].shape().to_string() + "]",
                   std::string(name_of(fact.dtype)) + "[" + fact.shape.to_string() + "] for input '" + graph_.value(graph_.inputs()[i]).name + "'");
    }
    return tensors;
  }

  Result<std::vector<Observer>> observe(std::int64_t first, std::int64_t step) {
    auto observation = Observation::create(network_);
    if (!observation) return observation.errors();
    std::vector<Observer> observers(observed_.size(), Observer(options_.calibration));
    for (std::int64_t i = first; i < samples_.size(); i += step) {
      const auto inputs = sample(i);
      if (!inputs) return inputs.errors();
      std::optional<std::size_t> bad;
      const Status done = observation->run(*inputs, [&](std::size_t k, const ConstTensorView& value) {
        if (!observers[k].add(value.span<float>()) && !bad) bad = k;
      });
      if (!done) return done.errors();
      if (bad) {
        return Error{.kind = ErrorKind::invalid_input,
                     .where = "calibration sample " + std::to_string(i) + ", value '" + graph_.value(observed_[*bad]).name + "'",
                     .found = "a value that is not finite",
                     .expected = "finite activations"};
      }
      if (first == 0 && options_.progress) options_.progress(std::min(i + step, samples_.size()), samples_.size());
    }
    return observers;
  }

  const Graph& graph_;
  std::vector<ValueId> observed_;
  const SampleSource& samples_;
  const QuantizeOptions& options_;
  ObservedNetwork network_;
  std::mutex mutex_;
};

using Ranges = std::map<std::string, TensorRange>;

// By value name: what the samples show.
Result<Ranges> calibrate(const Graph& graph, const std::vector<ValueId>& observed, const SampleSource& samples, const QuantizeOptions& options) {
  const auto observers = Calibrator(graph, observed, samples, options).run();
  if (!observers) return observers.errors();
  Ranges ranges;
  for (std::size_t k = 0; k < observed.size(); ++k) ranges[graph.value(observed[k]).name] = (*observers)[k].range(options.percentile);
  return ranges;
}

// The known ranges, which must cover every wire that needs one.
Result<Ranges> known_ranges(const Graph& graph, const std::vector<ValueId>& observed, const Ranges& known) {
  Errors errors;
  for (const ValueId value : observed) {
    if (known.contains(graph.value(value).name)) continue;
    errors.push_back({.kind = ErrorKind::usage, .where = "tensor '" + graph.value(value).name + "'", .found = "no known range or scale", .expected = "one"});
  }
  if (!errors.empty()) return errors;
  return known;
}

// Ranges of wires that share a scale are joined. By ValueId.
std::vector<ActivationScale> scales_from(const Graph& graph, const Placement& placement, const std::vector<ValueId>& observed, const Ranges& ranges) {
  std::vector<std::optional<TensorRange>> joined(static_cast<std::size_t>(graph.value_count()));
  for (std::size_t k = 0; k < observed.size(); ++k) {
    const TensorRange own = ranges.at(graph.value(observed[k]).name);
    std::optional<TensorRange>& range = joined[at(placement.scale_of[at(observed[k])])];
    range = range ? TensorRange{std::min(range->lowest, own.lowest), std::max(range->highest, own.highest)} : own;
  }
  std::vector<ActivationScale> scales(joined.size());
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = activation_scale(joined[at(placement.scale_of[i])].value_or(TensorRange{}));
  return scales;
}

}  // namespace

Result<QuantizeReport> quantize(Graph& graph, const SampleSource& samples, const QuantizeOptions& options) {
  if (const Status options_ok = check_options(graph, samples, options); !options_ok) return options_ok.errors();
  if (const auto simplified = simplify(graph); !simplified) return simplified.errors();
  rewrite(graph, "batch_norm_to_conv", batch_norm_to_conv);

  const Placement placement = place_pairs(graph, options.skip);
  QuantizeReport report{.groups = integer_groups(graph, placement)};
  for (NodeId id : graph.order()) {
    const NodeRole& role = placement.role(id);
    if (role.role == Role::floating && !role.reason.empty()) report.kept_in_float.push_back(graph.node(id).name + ": " + role.reason);
  }
  std::vector<ActivationScale> scales;
  if (options.global_scale) {
    scales.assign(static_cast<std::size_t>(graph.value_count()), global_activation_scale(*options.global_scale));
  } else {
    const std::vector<ValueId> observed = observed_values(graph, placement);
    auto ranges = options.calibrated ? known_ranges(graph, observed, options.calibrated->ranges)
                                     : calibrate(graph, options.observes_all ? f32_activations(graph) : observed, samples, options);
    if (!ranges) return ranges.errors();
    scales = scales_from(graph, placement, observed, *ranges);
    report.calibrated.ranges = std::move(*ranges);
    if (!options.calibrated) report.samples = samples.size();
  }
  if (options.calibrated) {
    report.calibrated.bias_corrections = options.calibrated->bias_corrections;
    report.calibrated.scales = options.calibrated->scales;
    if (const Status known = use_known_scales(graph, placement, options.calibrated->scales, scales); !known) return known.errors();
  }
  report.scales = wire_scales(graph, placement, scales);
  auto with_pairs = insert_pairs(graph, placement, scales, report.calibrated.bias_corrections);
  if (with_pairs && options.corrects_biases && report.samples > 0) {
    auto corrections = correct_biases(graph, placement, *with_pairs, samples);
    if (!corrections) return corrections.errors();
    report.calibrated.bias_corrections = std::move(*corrections);
    with_pairs = insert_pairs(graph, placement, scales, report.calibrated.bias_corrections);
  }
  if (!with_pairs) return with_pairs.errors();
  graph = std::move(*with_pairs);
  return report;
}

}  // namespace octavo
