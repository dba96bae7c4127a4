// The quantizer: ranges from samples, then pairs where the placement puts them. Part of quantize/.
#include "quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>

#include "lower/lower.h"
#include "ops/softmax/softmax.h"
#include "quantize/adaptive_rounding.h"
#include "quantize/bias_correction.h"
#include "quantize/calibrator.h"
#include "quantize/equalize.h"
#include "quantize/fast_bias_correction.h"
#include "quantize/groups.h"
#include "quantize/insert.h"
#include "quantize/node_pattern.h"
#include "quantize/output_precision.h"
#include "quantize/placement.h"
#include "quantize/sample_sizes.h"
#include "quantize/scales.h"
#include "quantize/settled.h"
#include "quantize/simulated_network.h"
#include "quantize/smooth.h"
#include "quantize/told.h"
#include "quantize/weight_rounding.h"
#include "quantize/wire_scales.h"

namespace octavo {
namespace {

// Samples that are had until somebody asks for the end.
class StoppableSamples final : public SampleSource {
 public:
  StoppableSamples(const SampleSource& samples, const Monitor& monitor) : samples_(samples), monitor_(monitor) {}
  std::int64_t size() const override { return samples_.size(); }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    const Status going_on = monitor_.check();
    return going_on ? samples_.sample(index) : going_on.errors();
  }
  Result<std::vector<Shape>> shapes(std::int64_t index) const override {
    const Status going_on = monitor_.check();
    return going_on ? samples_.shapes(index) : going_on.errors();
  }
  std::string name(std::int64_t index) const override { return samples_.name(index); }

 private:
  const SampleSource& samples_;
  const Monitor& monitor_;
};

Status check_options(const SampleSource& samples, const QuantizeOptions& options) {
  Errors errors;
  if (!(options.percentile > 50.0 && options.percentile <= 100.0)) {
    errors.push_back({.kind = ErrorKind::usage,
                      .where = "calibration percentile",
                      .found = std::to_string(options.percentile),
                      .expected = "more than 50, at most 100"});
  }
  if (options.global_scale && !(std::isfinite(*options.global_scale) && *options.global_scale > 0.0f)) {
    errors.push_back({.kind = ErrorKind::usage,
                      .where = "global scale",
                      .found = std::to_string(*options.global_scale),
                      .expected = "a positive number"});
  }
  if (samples.size() < 1 && !options.global_scale && !options.calibrated && options.rows != RowProducts::alone) {
    errors.push_back(
        {.kind = ErrorKind::usage, .where = "calibration", .found = "no samples", .expected = "at least one"});
  }
  if (!errors.empty()) return errors;
  return ok_status();
}

// The samples that a network of numbers takes, and those of the same network at other sizes.
struct Lessons {
  const SampleSource& samples;
  Graph open = {};  // where there are other sizes: with the factors that the network has
  const SampleSource* all = nullptr;
  std::span<const SizedGroup> others = {};

  std::int64_t size() const {
    std::int64_t size = samples.size();
    for (const SizedGroup& other : others) size += static_cast<std::int64_t>(other.group.indices.size());
    return size;
  }
};

using Ranges = std::map<std::string, TensorRange>;

// By value name: what the samples show.
Ranges ranges_of(const Graph& graph, const std::vector<ValueId>& observed, const std::vector<Observer>& observers,
                 double percentile) {
  Ranges ranges;
  for (std::size_t k = 0; k < observed.size(); ++k)
    ranges[graph.value(observed[k]).name] = observers[k].range(percentile);
  return ranges;
}

// The known ranges, which must cover every wire that needs one.
Result<Ranges> known_ranges(const Graph& graph, const std::vector<ValueId>& observed, const Ranges& known) {
  Errors errors;
  for (const ValueId value : observed) {
    if (known.contains(graph.value(value).name)) continue;
    errors.push_back({.kind = ErrorKind::usage,
                      .where = "tensor '" + graph.value(value).name + "'",
                      .found = "no known range or scale",
                      .expected = "one"});
  }
  if (!errors.empty()) return errors;
  return known;
}

// Shares of a whole fill [0, 1] whatever the samples say; a scale of 1/256 is TFLite's, too.
TensorRange own_range(const Graph& graph, ValueId wire, const Ranges& ranges) {
  if (graph.producer_if(wire, kSoftmax) != nullptr) return {0.0f, 255.0f / 256.0f};
  return ranges.at(graph.value(wire).name);
}

// Wires that carry s16 alone have its scale; of others it follows from that of their bytes.
void widen(const Placement& placement, std::vector<ActivationScale>& scales) {
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!placement.has_byte_scale({static_cast<int>(i)})) scales[i] = wide_scale(scales[i]);
  }
}

// Ranges of wires that share a scale are joined. By ValueId.
std::vector<ActivationScale> scales_from(const Graph& graph, const Placement& placement,
                                         const std::vector<ValueId>& observed, const Ranges& ranges) {
  std::vector<std::optional<TensorRange>> joined(static_cast<std::size_t>(graph.value_count()));
  for (std::size_t k = 0; k < observed.size(); ++k) {
    const TensorRange own = own_range(graph, observed[k], ranges);
    std::optional<TensorRange>& range = joined[at(placement.scale_of[at(observed[k])])];
    range = range ? TensorRange{std::min(range->lowest, own.lowest), std::max(range->highest, own.highest)} : own;
  }
  std::vector<ActivationScale> scales(joined.size());
  for (std::size_t i = 0; i < scales.size(); ++i)
    scales[i] = activation_scale(joined[at(placement.scale_of[i])].value_or(TensorRange{}));
  widen(placement, scales);
  return scales;
}

// What the wires hold at the other sizes, too.
Result<Statistics> observe_others(const Graph& graph, const Watch& watch, const Lessons& lessons,
                                  const QuantizeOptions& options, Statistics seen) {
  for (const SizedGroup& other : lessons.others) {
    Graph network = lessons.open;
    if (const Status closed = network.close(other.extents); !closed) return closed.errors();
    auto wires = same_wires(graph, watch.ranges, network);
    if (!wires) return wires.errors();
    const Watch there{.ranges = std::move(*wires), .samples = watch.samples};
    auto more = calibrate(network, there, SamplesOfGroup(*lessons.all, other.group), options, std::move(seen));
    if (!more) return more;
    seen = std::move(*more);
  }
  return seen;
}

// One pass over the samples: ranges, and the means that corrections need.
Result<Statistics> learn_ranges(const Graph& graph, const Placement& placement, const std::vector<ValueId>& observed,
                                const Lessons& lessons, const QuantizeOptions& options, Calibrated& calibrated) {
  Watch watch{.ranges = options.observes_all ? f32_activations(graph) : observed, .samples = lessons.size()};
  if (options.corrects_biases) {
    watch.means = options.corrects_fast ? inputs_of_biased(graph, placement) : biased_results(graph, placement);
    watch.mean_samples = correction_samples(lessons.samples.size());
  }
  auto seen = calibrate(graph, watch, lessons.samples, options);
  if (seen) seen = observe_others(graph, watch, lessons, options, std::move(*seen));
  if (seen) calibrated.ranges = ranges_of(graph, watch.ranges, seen->observers, options.percentile);
  return seen;
}

// Weights are rounded for what samples show of rows with scales of their own, too, as if they had one for all.
std::vector<ValueId> observed_wires(const Graph& graph, const Placement& placement, bool takes_samples) {
  std::vector<ValueId> wires = rounded_wires(graph, placement);
  for (int i = 0; takes_samples && i < graph.value_count(); ++i) {
    if (placement.row_scales({i}) && !placement.pair({i})) wires.push_back({i});
  }
  return wires;
}

// What the scales of the wires are needed for.
Status learn_corrections(const Graph& graph, const Placement& placement, const std::vector<ActivationScale>& scales,
                         const Statistics& statistics, const SampleSource& samples, const QuantizeOptions& options,
                         Calibrated& calibrated) {
  if (options.weights != WeightMethod::max) calibrated.weights = nearest_weights(graph, placement);
  if (options.weights == WeightMethod::adaround) {
    const Status done =
        round_adaptively(graph, placement, scales, {samples, options.machine}, calibrated.weights, options.monitor);
    if (!done) return done;
  }
  if (!options.corrects_biases) return ok_status();
  if (options.corrects_fast) {
    calibrated.bias_corrections = estimate_biases(graph, placement, scales, calibrated, statistics.means);
    return ok_status();
  }
  auto corrections = correct_biases(graph, placement, scales, calibrated, statistics.means, {samples, options.machine},
                                    options.monitor);
  if (!corrections) return corrections.errors();
  calibrated.bias_corrections = std::move(*corrections);
  return ok_status();
}

// Programs that read a standard file pay for a normalisation of its own, and integer-only networks have none.
bool can_smooth(const QuantizeOptions& options) { return !options.is_standard && !options.integer_only; }

// What channels are divided by, of wires between convolutions and of those behind normalisations.
Result<ChannelFactors> learn_factors(const Graph& graph, const std::vector<std::string>& skip,
                                     const SampleSource& samples, const QuantizeOptions& options) {
  ChannelFactors factors;
  const auto learn = [&](const auto& find) -> Status {
    if (const Status begun = options.monitor.at(Phase::equalizing, 0, 1); !begun) return begun;
    auto found = find(graph, skip, SampleRuns{samples, options.machine});
    if (!found) return found.errors();
    factors.merge(*found);
    return ok_status();
  };
  if (options.equalizes) {
    if (const Status learned = learn(find_factors); !learned) return learned.errors();
  }
  if (options.smooths && can_smooth(options)) {
    if (const Status learned = learn(find_smoothing); !learned) return learned.errors();
  }
  return factors;
}

// Returns what each changed wire is divided by.
Result<ChannelFactors> use_factors(Graph& graph, const std::vector<std::string>& skip, const QuantizeOptions& options,
                                   const ChannelFactors& factors) {
  ChannelFactors by_wire = move_factors(graph, factors);
  if (!can_smooth(options)) return by_wire;
  const bool has_rows = options.rows != RowProducts::behind_gelu;
  auto smoothed = smooth(graph, skip, factors, has_rows ? Smoothed::rows : Smoothed::norm);
  if (smoothed) by_wire.merge(*smoothed);
  return smoothed ? Result<ChannelFactors>(std::move(by_wire)) : smoothed.errors();
}

// Scales of all wires, by ValueId.
Result<std::vector<ActivationScale>> find_scales(const Graph& graph, const Placement& placement,
                                                 const std::vector<ValueId>& observed, const QuantizeOptions& options,
                                                 const Ranges& ranges) {
  std::vector<ActivationScale> scales;
  if (options.global_scale) {
    scales.assign(static_cast<std::size_t>(graph.value_count()), global_activation_scale(*options.global_scale));
    widen(placement, scales);
  } else {
    auto seen = ranges;
    if (graph.sizes() != nullptr) {
      auto settled = settled_ranges(graph, observed, options.sample_sizes);
      if (!settled) return settled.errors();
      seen.merge(*settled);
    }
    const auto known = known_ranges(graph, observed, seen);
    if (!known) return known.errors();
    scales = scales_from(graph, placement, observed, *known);
  }
  if (options.calibrated) {
    if (const Status known = use_known_scales(graph, placement, options.calibrated->scales, scales); !known)
      return known.errors();
  }
  return scales;
}

bool takes_samples(const QuantizeOptions& options) {
  return !options.global_scale && !options.calibrated && options.rows != RowProducts::alone;
}

Placement placement_at(const Graph& graph, const std::vector<std::string>& skip, const QuantizeOptions& options) {
  return place_pairs(graph, skip,
                     {.ends = options.integer_only ? Ends::integers : Ends::floats,
                      .pairs = options.placement,
                      .vocabulary = options.is_standard ? Vocabulary::standard : Vocabulary::own,
                      .rows = options.rows});
}

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Where pairs stand, and what the samples teach of that.
struct Taught {
  PlacedNetwork placed;
  Calibrated calibrated;
};

// `calibrated`: what is known before.
Result<Taught> teach(const Graph& graph, const std::vector<std::string>& skip, const Lessons& lessons,
                     const QuantizeOptions& options, Calibrated calibrated) {
  Taught taught{{placement_at(graph, joined(skip, calibrated.kept_in_f32), options), {}}, std::move(calibrated)};
  const Placement& placement = taught.placed.placement;
  const bool is_taught = takes_samples(options);
  const std::vector<ValueId> observed = observed_wires(graph, placement, is_taught);
  Statistics statistics;
  if (is_taught) {
    auto seen = learn_ranges(graph, placement, observed, lessons, options, taught.calibrated);
    if (!seen) return seen.errors();
    statistics = std::move(*seen);
  }
  auto scales = find_scales(graph, placement, observed, options, taught.calibrated.ranges);
  if (!scales) return scales.errors();
  taught.placed.scales = std::move(*scales);
  if (is_taught) {
    const Status learned = learn_corrections(graph, placement, taught.placed.scales, statistics, lessons.samples,
                                             options, taught.calibrated);
    if (!learned) return learned.errors();
  }
  if (options.rows == RowProducts::alone && options.weights != WeightMethod::max)
    taught.calibrated.weights = nearest_weights(graph, placement);
  return taught;
}

// ---- outputs that lose too much ----

// Keeps layers in f32 until the outputs have what is asked for, and learns again what depends on that.
Status protect_outputs(const Graph& graph, const std::vector<std::string>& skip, const Lessons& lessons,
                       const QuantizeOptions& options, const Calibrated& before, Taught& taught,
                       std::vector<std::string>& notes) {
  // dB beyond what is asked for: corrections are others afterwards, and inputs that were no samples lose more.
  constexpr double kMargin = 3.0, kMore = 1.0;
  constexpr int kMostRounds = 3;
  const auto judge = OutputJudge::create(graph, options.judges_scores ? Judged::all : Judged::measures,
                                         {lessons.samples, options.machine}, options.monitor);
  if (!judge) return judge.errors();
  if (!judge->has_work()) return ok_status();
  const auto noise_now = [&] { return judge->noise_of(taught.placed, taught.calibrated); };
  const auto first = noise_now();
  if (!first) return first.errors();
  std::vector<double> noise = *first;
  double too_much = 0.0;  // share of the multiply-adds
  const auto is_enough = [&] {
    return std::all_of(noise.begin(), noise.end(), [&](double own) { return own <= noise_at(options.output_sqnr); });
  };
  for (int round = 0; round < kMostRounds && !is_enough(); ++round) {
    const std::vector<std::string> known = taught.calibrated.kept_in_f32;
    const PlaceWithout place = [&](const std::vector<std::string>& kept) -> Result<PlacedNetwork> {
      PlacedNetwork placed{placement_at(graph, joined(skip, joined(known, kept)), options), {}};
      const auto observed = observed_wires(graph, placed.placement, true);
      auto scales = find_scales(graph, placed.placement, observed, options, taught.calibrated.ranges);
      if (!scales) return scales.errors();
      placed.scales = std::move(*scales);
      return placed;
    };
    const double most = noise_at(options.output_sqnr + kMargin + kMore * round);
    auto kept = nodes_for_outputs(*judge, taught.placed, taught.calibrated, noise, most, place);
    if (!kept) return kept.errors();
    if (kept->empty()) break;
    Calibrated base = before;
    base.kept_in_f32 = joined(known, *kept);
    if (const double share = share_of_macs(graph, base.kept_in_f32); share > options.most_in_f32) {
      too_much = share;
      break;
    }
    auto again = teach(graph, skip, lessons, options, std::move(base));
    if (!again) return again.errors();
    taught = std::move(*again);
    const auto now = noise_now();
    if (!now) return now.errors();
    noise = *now;
  }
  tell_outputs(graph, {*first, noise, options.output_sqnr, too_much}, taught.calibrated, notes);
  return ok_status();
}

bool protects_outputs(const QuantizeOptions& options) {
  return options.output_sqnr > 0.0 && takes_samples(options) && !options.integer_only;
}

// A node that smoothing makes, by its name: that of the wire behind it first (quantize/smooth.cpp).
constexpr std::string_view kSmoothed = "/smoothed";
bool names_smoothed(const std::string& pattern) { return pattern.ends_with(kSmoothed); }

// Those of them that no wire of the graph explains. Where there is the wire the node may still not be: it is not made
// where all that would read it is skipped, too.
std::vector<std::string> strange_smoothed(const Graph& graph, const std::vector<std::string>& patterns) {
  std::set<std::string> wires;
  for (const NodeId id : graph.order()) {
    for (const ValueId output : graph.node(id).outputs) wires.insert(graph.value(output).name);
  }
  std::vector<std::string> strange = patterns;
  std::erase_if(strange, [&](const std::string& pattern) {
    return !names_smoothed(pattern) || wires.contains(pattern.substr(0, pattern.size() - kSmoothed.size()));
  });
  return strange;
}

// Of a graph that is prepared.
Result<QuantizeReport> quantize_prepared(Graph& graph, Lessons lessons, const QuantizeOptions& options) {
  QuantizeReport report;
  Calibrated known = options.calibrated.value_or(Calibrated{});
  const bool is_taught = takes_samples(options);
  const std::vector<std::string> skip = with_positions_named(graph, options.skip);
  if (is_taught) {
    auto factors = learn_factors(graph, skip, lessons.samples, options);
    if (!factors) return factors.errors();
    known.channel_factors = std::move(*factors);
    report.samples = lessons.size();
  }
  auto equalized = use_factors(graph, skip, options, known.channel_factors);
  if (!equalized) return equalized.errors();
  report.equalized = std::move(*equalized);
  if (!lessons.others.empty()) {
    const auto alike = use_factors(lessons.open, skip, options, known.channel_factors);
    if (!alike) return alike.errors();
  }
  if (!options.is_part) {
    const std::vector<std::string> strange = strange_smoothed(graph, options.skip);
    if (const Status matched = check_patterns(graph, strange, "--skip"); !matched) return matched.errors();
  }
  auto taught = teach(graph, skip, lessons, options, known);
  if (!taught) return taught.errors();
  if (protects_outputs(options)) {
    const Status done = protect_outputs(graph, skip, lessons, options, known, *taught, report.notes);
    if (!done) return done.errors();
  }
  const auto& [placement, scales] = taught->placed;
  auto notes = notes_of_rows(graph, placement, options.rows);
  if (!notes) return notes.errors();
  report.notes = joined(std::move(*notes), report.notes);
  report.calibrated = std::move(taught->calibrated);
  report.groups = integer_groups(graph, placement);
  report.kept_in_float = reasons_for_float(graph, placement, report.calibrated.kept_in_f32);
  report.scales = wire_scales(graph, placement, scales);
  const Ends ends = options.integer_only ? Ends::integers : Ends::floats;
  auto with_pairs = insert_pairs(graph, placement, scales, report.calibrated, ends);
  if (!with_pairs) return with_pairs.errors();
  graph = std::move(*with_pairs);
  return report;
}

// Of an open graph: on its own nodes at the sizes that most samples have, so that what they teach is of its wires.
Result<QuantizeReport> learn(const Graph& open, const SampleSource& samples, const std::vector<SizedGroup>& groups,
                             const QuantizeOptions& options) {
  Graph graph = open;
  if (const Status closed = graph.close(groups.front().extents); !closed) return closed.errors();
  const SamplesOfGroup most(samples, groups.front().group);
  Lessons lessons{.samples = most, .all = &samples, .others = std::span(groups).subspan(1)};
  if (!lessons.others.empty()) lessons.open = open;
  return quantize_prepared(graph, std::move(lessons), options);
}

}  // namespace

Result<QuantizeReport> quantize(Graph& graph, const SampleSource& source, const QuantizeOptions& options) {
  if (const Status options_ok = check_options(source, options); !options_ok) return options_ok.errors();
  const StoppableSamples samples(source, options.monitor);
  // A pattern may mean a node of the file, or one that is made of several of these, as attention is.
  const std::vector<std::string> unmatched = unmatched_patterns(graph, options.skip);
  if (const auto simplified = simplify(graph); !simplified) return simplified.errors();
  std::vector<std::string> known = unmatched;
  std::erase_if(known, names_smoothed);  // quantize_prepared asks for those
  if (!options.is_part) {
    if (const Status matched = check_patterns(graph, known, "--skip"); !matched) return matched.errors();
  }
  if (graph.sizes() == nullptr || !takes_samples(options)) return quantize_prepared(graph, {samples}, options);
  const auto groups = sized_groups(graph, samples);
  if (!groups) return groups.errors();
  if (!options.is_part) {
    if (const Status shown = check_shown(graph, samples, groups->front().group); !shown) return shown.errors();
  }
  auto learned = learn(graph, samples, *groups, options);
  if (!learned) return learned.errors();
  QuantizeOptions with_ranges = options;
  with_ranges.calibrated = std::move(learned->calibrated);
  with_ranges.sample_sizes = groups->front().sizes;
  auto report = quantize_prepared(graph, {samples}, with_ranges);
  if (report) report->samples = learned->samples;
  return report;
}

}  // namespace octavo
