// Searching which layers compute in fp32, and telling of it. Part of cli/.
#include "cli/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "analyze/variant_bench.h"
#include "cli/process.h"
#include "planner/measurement_log.h"

namespace octavo::cli {
namespace {

constexpr Word<Metric> kMetrics[] = {{"top1", Metric::top1}, {"agreement", Metric::agreement}, {"sqnr", Metric::sqnr}};

Error budget_usage(std::string where, std::string found, std::string expected) {
  return {
      .kind = ErrorKind::usage, .where = std::move(where), .found = std::move(found), .expected = std::move(expected)};
}

Metric metric_of(const BudgetArguments& arguments) {
  return arguments.metric.value_or(arguments.images.empty() ? Metric::agreement : Metric::top1);
}

double budget_decibels(double noise) {
  return noise > 0.0 ? -10.0 * std::log10(noise) : std::numeric_limits<double>::infinity();
}

double budget_percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::map<std::string, double> values_of(const VariantFacts& facts) {
  return {{"ms", facts.ms},
          {"noise", facts.noise},
          {"agreeing", static_cast<double>(facts.agreeing)},
          {"right", static_cast<double>(facts.right)}};
}

// Nothing where one is missing.
std::optional<VariantFacts> facts_of(const std::map<std::string, double>* values) {
  if (values == nullptr) return std::nullopt;
  for (const char* name : {"ms", "noise", "agreeing", "right"}) {
    if (!values->contains(name)) return std::nullopt;
  }
  return VariantFacts{.ms = values->at("ms"),
                      .noise = values->at("noise"),
                      .agreeing = static_cast<std::int64_t>(values->at("agreeing")),
                      .right = static_cast<std::int64_t>(values->at("right"))};
}

class BudgetRun {
 public:
  BudgetRun(const std::string& model, const BudgetArguments& arguments, VariantBench& bench, MeasurementLog log,
            std::string subject, const WriteVariant& write)
      : model_(model),
        arguments_(arguments),
        metric_(metric_of(arguments)),
        bench_(bench),
        log_(std::move(log)),
        subject_(std::move(subject)),
        write_(write) {}

  int run() {
    print_head();
    const JudgeVariant judge = [this](const Groups& in_fp32) { return judged(in_fp32); };
    const VisitVariant visit = [this](const JudgedVariant& variant, bool is_best) { return visited(variant, is_best); };
    const auto best = search_budget(bench_.groups().size(), judge, visit);
    if (!best) return report(best.errors());
    print_outcome(*best);
    return best->verdict.is_within() ? 0 : kAnswerIsNo;
  }

 private:
  double excess(const VariantFacts& facts) const {
    const double limit = *arguments_.max_drop;
    switch (metric_) {
      case Metric::top1: return budget_percent(bench_.in_fp32().right - facts.right, bench_.samples()) - limit;
      case Metric::agreement: return 100.0 - budget_percent(facts.agreeing, bench_.samples()) - limit;
      case Metric::sqnr: return limit - budget_decibels(facts.noise);
    }
    return 0.0;
  }
  std::string_view unit() const { return metric_ == Metric::sqnr ? "dB" : "points"; }

  Result<Verdict> judged(const Groups& in_fp32) {
    const Variant variant{.in_fp32 = in_fp32};
    if (const auto known = facts_of(log_.find(subject_, name_of(variant)))) facts_ = *known;
    else {
      const auto facts = bench_.judge(variant);
      if (!facts) return facts.errors();
      facts_ = *facts;
      if (std::isfinite(facts_.noise)) {
        if (Status added = log_.add({subject_, name_of(variant), values_of(facts_)}); !added) return added.errors();
      }
    }
    return Verdict{.ms = facts_.ms, .noise = facts_.noise, .excess = excess(facts_)};
  }

  // The file is replaced at every improvement: whatever ends the search, the best that was found is there.
  Status visited(const JudgedVariant& variant, bool is_best) {
    print_row(facts_, names_of(variant.in_fp32), variant.verdict.is_within(), is_best);
    return is_best ? write_(bench_.request_for({.in_fp32 = variant.in_fp32})) : ok_status();
  }

  std::string names_of(const Groups& in_fp32) const {
    constexpr std::size_t kShown = 4;
    if (in_fp32.empty()) return "nothing";
    std::string text;
    for (std::size_t i = 0; i < std::min(kShown, in_fp32.size()); ++i)
      text += (i > 0 ? ", " : "") + bench_.groups()[in_fp32[i]].front();
    if (in_fp32.size() > kShown) text += fmt::format(" and {} more", in_fp32.size() - kShown);
    return text;
  }

  void print_head() const {
    fmt::print("{}: {} groups of layers, {} samples\n", model_, bench_.groups().size(), bench_.samples());
    fmt::print("{:>9} {:>7} {:>8} {:>10} {:>10}  {}\n", "ms", "to fp32", bench_.has_labels() ? "right" : "",
               "agreement", "SQNR", "in fp32");
    print_row(bench_.in_fp32(), "everything", true, false);
  }

  void print_row(const VariantFacts& facts, const std::string& in_fp32, bool is_within, bool is_best) const {
    const std::string right = bench_.has_labels() ? std::to_string(facts.right) : "";
    fmt::print("{:>9.4f} {:>6.2f}x {:>8} {:>8.2f} % {:>7.1f} dB  {}{}{}\n", facts.ms,
               bench_.in_fp32().ms / std::max(facts.ms, 1e-9), right, budget_percent(facts.agreeing, bench_.samples()),
               budget_decibels(facts.noise), in_fp32, is_within ? "" : "  (beyond the budget)",
               is_best ? "  <- best so far, written" : "");
    flush_output();
  }

  void print_outcome(const JudgedVariant& best) const {
    if (!best.verdict.is_within()) {
      fmt::print("no variant is within the budget: the best one, which is in the file, is {:.2f} {} beyond it\n",
                 best.verdict.excess, unit());
      return;
    }
    fmt::print("within the budget by {:.2f} {}: {} of {} groups in fp32, {:.4f} ms, {:.2f} times as fast as fp32\n",
               -best.verdict.excess, unit(), best.in_fp32.size(), bench_.groups().size(), best.verdict.ms,
               bench_.in_fp32().ms / std::max(best.verdict.ms, 1e-9));
    for (const std::size_t group : best.in_fp32) fmt::print("  in fp32: {}\n", bench_.groups()[group].front());
    if (best.verdict.ms > bench_.in_fp32().ms) fmt::print("  note: the model is faster in fp32 as a whole\n");
  }

  const std::string& model_;
  const BudgetArguments& arguments_;
  Metric metric_;
  VariantBench& bench_;
  MeasurementLog log_;
  const std::string subject_;
  const WriteVariant& write_;
  VariantFacts facts_;  // of the variant that is being looked at
};

}  // namespace

void add_budget_options(CLI::App& verb, BudgetArguments& arguments, CompileRequest& request) {
  const std::string group = "Accuracy budget";
  verb.add_option("--max-drop", arguments.max_drop,
                  "keep layers in fp32 until the answers are near enough; the fastest such variant is written")
      ->type_name("X")
      ->group(group);
  add_word_option(verb, "--metric", arguments.metric, kMetrics,
                  "what X is: top1 or agreement (points lost against fp32), or sqnr (the least, in dB); default: top1 "
                  "with --images, else agreement")
      ->type_name("M")
      ->group(group);
  verb.add_option("--images", arguments.images,
                  "images that answers are judged by: as for evaluate (default: the calibration samples)")
      ->type_name("DIR")
      ->group(group);
  verb.add_option("--labels", arguments.labels, "lines 'file class' (not for an .npz)")->type_name("F")->group(group);
  verb.add_option("--search-log", arguments.log, "a log of measurements, so that an interrupted search goes on")
      ->type_name("F")
      ->group(group);
  verb.add_option("--threads", request.threads,
                  "threads that times are taken with, also by --precision auto (default: all cores)")
      ->check(positive_number())
      ->group(group);
  verb.add_option("--seconds", request.seconds, "time to measure each variant, also of --precision auto")
      ->check(positive_number())
      ->capture_default_str()
      ->group(group);
}

Status check_budget(const BudgetArguments& arguments, const CompileRequest& request) {
  if (!arguments.max_drop) {
    for (const auto& [option, is_given] :
         {std::pair("--metric", arguments.metric.has_value()), std::pair("--images", !arguments.images.empty()),
          std::pair("--labels", !arguments.labels.empty()), std::pair("--search-log", !arguments.log.empty())}) {
      if (is_given) return budget_usage(option, "no --max-drop beside it", "--max-drop X");
    }
    return ok_status();
  }
  if (!std::isfinite(*arguments.max_drop))
    return budget_usage("--max-drop", fmt::format("{}", *arguments.max_drop), "a number");
  if (arguments.metric == Metric::top1 && arguments.images.empty())
    return budget_usage("--metric", "top1 without labelled images", "--images DIR and --labels F");
  if (request.calibrate.empty() && arguments.images.empty())
    return budget_usage("--max-drop", "no samples to judge by", "--calibrate PATH or --images DIR");
  if (request.options.integer_only)
    return budget_usage("--max-drop", "--integer-only beside it", "one of the two: layers in fp32 compute in floats");
  if (request.options.precision == Precision::fp32)
    return budget_usage("--max-drop", "--precision fp32 beside it", "int8");
  if (request.chooses_precision)
    return budget_usage("--max-drop", "--precision auto beside it",
                        "int8: the fastest variant within the budget is written");
  return ok_status();
}

int run_budget(const std::string& model, const CompileRequest& request, const BudgetArguments& arguments,
               const WriteVariant& write) {
  CompileRequest measured = request;
  measured.options.batches = {1};
  auto bench = VariantBench::create(model, measured);
  if (!bench) return report(bench.errors());
  {
    Progress progress("running in fp32");
    const Status opened =
        bench->open_samples_to_judge(arguments.images, arguments.labels, [&](double done) { progress.show(done); });
    if (!opened) return report(opened.errors());
  }
  auto log = MeasurementLog::open(arguments.log);
  if (!log) return report(log.errors());
  std::string subject;
  if (!arguments.log.empty()) {
    const auto network = bench->subject();
    if (!network) return report(network.errors());
    subject = fmt::format("{}, {} samples of {}", *network, bench->samples(),
                          arguments.images.empty() ? request.calibrate : arguments.images);
  }
  return BudgetRun(model, arguments, *bench, std::move(*log), std::move(subject), write).run();
}

}  // namespace octavo::cli
