// Rules applied to a file, findings by cost. Part of diagnose/.
#include "diagnose/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace octavo::diagnose {
namespace {

// The engine that a format is for; ONNX files and exported programs run in others, too.
Result<Engine> engine_for(const FileView& view, std::optional<Engine> engine) {
  if (!engine) {
    if (view.format == FileFormat::tflite) return Engine::litert;
    return view.format == FileFormat::zip ? Engine::torch : Engine::ort;
  }
  const bool is_onnx = view.format == FileFormat::onnx, is_tflite = view.format == FileFormat::tflite;
  const bool runs = *engine == Engine::ort      ? is_onnx
                    : *engine == Engine::torch  ? view.format == FileFormat::zip
                    : *engine == Engine::litert ? is_tflite
                    : *engine == Engine::tvm    ? is_onnx || is_tflite
                                                : true;
  if (runs) return *engine;
  return Error{.kind = ErrorKind::usage,
               .where = view.path,
               .found = std::string(view.format_name()) + " with --engine " + std::string(name_of(*engine)),
               .expected = is_onnx     ? "ort, openvino or tvm, which run such files"
                           : is_tflite ? "litert, openvino or tvm, which run such files"
                                       : "torch or openvino, which run such files"};
}

std::string place_of(const FileView& view, const std::vector<int>& nodes) {
  constexpr std::size_t kMostNames = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(nodes.size(), kMostNames); ++i)
    text +=
        (i == 0 ? "" : ", ") + fmt::format("'{}' ({})", short_name(view.node(nodes[i]).name), view.node(nodes[i]).op);
  if (nodes.size() > kMostNames) text += fmt::format(" and {} more", nodes.size() - kMostNames);
  return text;
}

// What the nodes and the conversions at their sides took, beyond what is best. Conversions that have a cause are nodes
// of a finding themselves.
std::optional<double> measured_loss(const Diagnosis& diagnosis, const std::vector<int>& nodes) {
  const FileView& view = diagnosis.view;
  const JoinedProfile& profile = *diagnosis.profile;
  std::set<int> all;
  double ideal = 0.0;
  for (const int index : nodes) {
    const ViewNode& node = view.node(index);
    const auto add = [&](int conversion) {
      if (!diagnosis.costs[static_cast<std::size_t>(conversion)].cause) all.insert(conversion);
    };
    all.insert(index);
    ideal += diagnosis.costs[static_cast<std::size_t>(index)].best_ms;
    for (const int x : node.inputs) {
      if (const int dequantize = view.producer_if(x, Kind::dequantize); dequantize >= 0) add(dequantize);
    }
    for (const int y : node.outputs) {
      for (const int quantize : sight::quantizers_of(view, y)) add(quantize);
    }
  }
  double ms = 0.0;
  bool is_known = false;
  for (const int index : all) {
    const auto found = profile.ms_of_node.find(index);
    if (found != profile.ms_of_node.end()) ms += found->second, is_known = true;
  }
  return is_known ? std::optional(std::max(ms - ideal, 0.0)) : std::nullopt;
}

std::optional<Finding> finding_of(const Rule& rule, const Diagnosis& diagnosis) {
  std::vector<Loss> losses = rule.find({.view = diagnosis.view,
                                        .rates = diagnosis.rates,
                                        .costs = diagnosis.costs,
                                        .isa = host_machine().isa,
                                        .profile = diagnosis.profile ? &*diagnosis.profile : nullptr});
  if (losses.empty()) return {};
  std::stable_sort(losses.begin(), losses.end(), [](const Loss& a, const Loss& b) { return a.ms > b.ms; });
  Finding finding{.cause = rule.cause,
                  .sureness = rule.sureness,
                  .advice = std::string(rule.advice),
                  .octavo = std::string(rule.octavo),
                  .source = std::string(rule.source)};
  for (const Loss& loss : losses) {
    finding.nodes.push_back(loss.node);
    finding.predicted_ms += std::max(loss.ms, 0.0);
  }
  finding.where = place_of(diagnosis.view, finding.nodes);
  finding.what = fmt::format("{}: {} node{}", summary_of(rule.cause), losses.size(), losses.size() == 1 ? "" : "s");
  if (diagnosis.profile && !finding.is_about_answers() && finding.predicted_ms > 0.0)
    finding.measured_ms = measured_loss(diagnosis, finding.nodes);
  if (finding.measured_ms) finding.sureness = Sureness::measured;
  std::sort(finding.nodes.begin(), finding.nodes.end());
  return finding;
}

// What is known to spoil answers first: a wrong answer is worse than a late one. Then what costs time, by cost; last
// what may cost answers.
void sort_findings(std::vector<Finding>& findings) {
  const auto rank = [](const Finding& finding) {
    if (!finding.is_about_answers()) return 1;
    return finding.sureness == Sureness::likely ? 2 : 0;
  };
  std::stable_sort(findings.begin(), findings.end(), [&](const Finding& a, const Finding& b) {
    return std::pair(rank(a), -a.ms()) < std::pair(rank(b), -b.ms());
  });
}

// They would have somebody work for nothing.
void leave_out_small(Diagnosis& d) {
  constexpr double kWorthAWord = 0.02;
  const double lost = d.lost_ms();
  if (lost > kWorthAWord * d.run_ms()) return;
  d.left_out = std::erase_if(d.findings, [](const Finding& f) { return !f.is_about_answers() && f.ms() > 0.0; });
  d.left_out_ms = lost - d.lost_ms();
}

}  // namespace

double Diagnosis::run_ms() const { return profile ? profile->total_ms : predicted.total(); }

double Diagnosis::lost_ms() const {
  double ms = 0.0;
  for (const Finding& finding : findings) ms += finding.ms();
  return ms;
}

std::string Diagnosis::verdict() const {
  const std::string title(title_of(engine));
  if (view.dialect == Dialect::fp32) return "This file is not quantized.";
  const auto first =
      std::ranges::find_if(findings, [](const Finding& f) { return !f.is_about_answers() && f.ms() > 0.0; });
  const auto answer = std::ranges::find_if(findings, &Finding::is_about_answers);
  const auto told = [](const Finding& f) {
    return f.nodes.size() == 1 ? f.where : fmt::format("{} nodes", f.nodes.size());
  };
  std::string text;
  const double all = run_ms();
  if (first != findings.end())
    text = fmt::format("{} loses {:.2f} of {:.2f} ms, most of it because {} ({}).", title, std::min(lost_ms(), all),
                       all, summary_of(first->cause), told(*first));
  else text = fmt::format("{} computes this file as fast as it can, as far as its rules are known.", title);
  if (answer != findings.end())
    text += fmt::format(" Its answers are in doubt: {} ({}).", summary_of(answer->cause), told(*answer));
  return text;
}

Result<Diagnosis> diagnose_file(const std::string& path, const DiagnoseOptions& options) {
  auto view = read_file_view(path, {.batch = options.batch});
  if (!view) return view.errors();
  Diagnosis diagnosis{.model = path, .view = *std::move(view)};
  const auto engine = engine_for(diagnosis.view, options.engine);
  if (!engine) return engine.errors();
  diagnosis.engine = *engine;
  diagnosis.rates = rates_of(*engine);
  if (!options.rates.empty()) {
    auto rates = read_rates(options.rates, *engine);
    if (!rates) return rates.errors();
    diagnosis.rates = *std::move(rates);
  }
  if (!options.against.empty()) {
    auto before = read_file_view(options.against, {.batch = options.batch});
    if (!before) return before.errors();
    diagnosis.before = *std::move(before);
    diagnosis.predicted_before =
        predicted_time(*diagnosis.before, costs_in(*diagnosis.before, *engine, diagnosis.rates));
  }
  if (!options.profile.empty()) {
    const auto profile = read_profile(options.profile, diagnosis.view);
    if (!profile) return profile.errors();
    if (profile->engine != *engine)
      return Error{.kind = ErrorKind::usage,
                   .where = options.profile,
                   .found = "a profile of " + std::string(title_of(profile->engine)),
                   .expected = "one of " + std::string(title_of(*engine)) + " (--engine says of which)"};
    const auto run = options.run_ms == 0.0 ? profile : without_profiler(*profile, options.run_ms, options.profile);
    if (!run) return run.errors();
    auto joined = join(*run, diagnosis.view, options.profile);
    if (!joined) return joined.errors();
    diagnosis.profile = *std::move(joined);
  }
  diagnosis.census = census_of(diagnosis.view, diagnosis.before ? &*diagnosis.before : nullptr);
  diagnosis.costs = costs_in(diagnosis.view, *engine, diagnosis.rates);
  diagnosis.predicted = predicted_time(diagnosis.view, diagnosis.costs);
  if (diagnosis.view.dialect != Dialect::fp32) {
    for (const auto rules : {rules_of(*engine), answer_rules()}) {
      for (const Rule& rule : rules) {
        if (auto finding = finding_of(rule, diagnosis)) diagnosis.findings.push_back(*std::move(finding));
      }
    }
  }
  sort_findings(diagnosis.findings);
  leave_out_small(diagnosis);
  return diagnosis;
}

std::vector<WaterfallBar> waterfall_of(const Diagnosis& d) {
  std::vector<WaterfallBar> bars;
  if (d.profile) {
    bars = {{"integer operators", d.profile->integer_ms},
            {"products in float", d.profile->float_products_ms},
            {"conversions", d.profile->conversions_ms},
            {"other operators in float", d.profile->others_ms}};
    if (d.profile->between_ms > 0.0) bars.push_back({"between nodes", d.profile->between_ms});
    bars.push_back(
        {d.profile->profiler_ms > 0.0 ? "a run without the profiler" : "measured", d.profile->total_ms, true});
    return bars;
  }
  double lost[3] = {};  // conversions, fallback, unfused
  for (const Finding& finding : d.findings) {
    switch (finding.cause) {
      case Cause::double_pairs:
      case Cause::redundant_pairs:
      case Cause::constants_in_run:
      case Cause::dynamic_quantize:
      case Cause::unlowered_graph:
      case Cause::moved_scales: lost[0] += finding.predicted_ms; break;
      case Cause::signed_activations:
      case Cause::sixteen_bit_activations:
      case Cause::unscheduled_products:
      case Cause::unsigned_weights:
      case Cause::slow_bytes:
      case Cause::float_weights:
      case Cause::float_island:
      case Cause::dynamic_range:
      case Cause::per_channel_axis: lost[1] += finding.predicted_ms; break;
      default: lost[2] += finding.predicted_ms;
    }
  }
  const double total = d.predicted.total(), losses = lost[0] + lost[1] + lost[2];
  if (d.predicted_before) {
    bars.push_back({"fp32, predicted", d.predicted_before->total(), true});
    bars.push_back({"gained by integers", total - losses - d.predicted_before->total()});
  } else {
    bars.push_back({"without losses", total - losses});
  }
  bars.push_back({"conversions", lost[0]});
  bars.push_back({"slow kernels", lost[1]});
  bars.push_back({"not fused", lost[2]});
  bars.push_back({"this file, predicted", total, true});
  return bars;
}

}  // namespace octavo::diagnose
