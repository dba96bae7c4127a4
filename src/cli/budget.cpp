// Searching a mixture of int8 and fp32 and telling of it. Part of cli/.
#include "cli/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <utility>

#include "analyze/budget.h"
#include "analyze/mixture.h"
#include "analyze/search_log.h"
#include "base/machine.h"

namespace octavo::cli {
namespace {

enum class Metric { top1, agreement, sqnr };

Error usage(std::string where, std::string found, std::string expected) {
  return {
      .kind = ErrorKind::usage, .where = std::move(where), .found = std::move(found), .expected = std::move(expected)};
}

Metric metric_of(const BudgetArguments& arguments) {
  if (arguments.metric == "sqnr") return Metric::sqnr;
  if (arguments.metric == "agreement") return Metric::agreement;
  if (arguments.metric == "top1" || !arguments.images.empty()) return Metric::top1;
  return Metric::agreement;
}

double decibels(double noise) {
  return noise > 0.0 ? -10.0 * std::log10(noise) : std::numeric_limits<double>::infinity();
}

double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::uint64_t checksum(std::string_view text) {
  std::uint64_t sum = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return sum;
}

class BudgetRun {
 public:
  BudgetRun(const std::string& model, const BudgetArguments& arguments, MixtureLab& lab, SearchLog log,
            const WriteMixture& write)
      : model_(model),
        arguments_(arguments),
        metric_(metric_of(arguments)),
        lab_(lab),
        log_(std::move(log)),
        write_(write) {}

  int run() {
    print_head();
    const MeasureMixture measure = [this](const std::vector<std::size_t>& in_float) { return measured(in_float); };
    const VisitMixture visit = [this](const Mixture& mixture, bool is_best) { return visited(mixture, is_best); };
    const auto best = search_budget(lab_.groups().size(), measure, visit);
    if (!best) return report(best.errors());
    print_outcome(*best);
    return best->result.is_within() ? 0 : kAnswerIsNo;
  }

 private:
  double excess(const MixtureFacts& facts) const {
    const double limit = *arguments_.max_drop;
    switch (metric_) {
      case Metric::top1: return percent(lab_.in_fp32().right - facts.right, lab_.samples()) - limit;
      case Metric::agreement: return 100.0 - percent(facts.agreeing, lab_.samples()) - limit;
      case Metric::sqnr: return limit - decibels(facts.noise);
    }
    return 0.0;
  }
  std::string_view unit() const { return metric_ == Metric::sqnr ? "dB" : "points"; }

  Result<MixtureResult> measured(const std::vector<std::size_t>& in_float) {
    const MixtureFacts* known = log_.find(in_float);
    if (known != nullptr) facts_ = *known;
    else {
      const auto facts = lab_.measure(in_float);
      if (!facts) return facts.errors();
      facts_ = *facts;
      if (const Status added = log_.add(in_float, facts_); !added) return added.errors();
    }
    return MixtureResult{.ms = facts_.ms, .noise = facts_.noise, .excess = excess(facts_)};
  }

  // The file is replaced at every improvement: whatever ends the search, the best that was found is there.
  Status visited(const Mixture& mixture, bool is_best) {
    print_row(facts_, names_of(mixture.in_float), mixture.result.is_within(), is_best);
    return is_best ? write_(lab_.request_for(mixture.in_float)) : ok_status();
  }

  std::string names_of(const std::vector<std::size_t>& in_float) const {
    constexpr std::size_t kShown = 4;
    if (in_float.empty()) return "nothing";
    std::string text;
    for (std::size_t i = 0; i < std::min(kShown, in_float.size()); ++i)
      text += (i > 0 ? ", " : "") + lab_.groups()[in_float[i]].front();
    if (in_float.size() > kShown) text += fmt::format(" and {} more", in_float.size() - kShown);
    return text;
  }

  void print_head() const {
    fmt::print("{}: {} groups of layers, {} samples\n", model_, lab_.groups().size(), lab_.samples());
    fmt::print("{:>9} {:>7} {:>8} {:>10} {:>10}  {}\n", "ms", "to fp32", lab_.has_labels() ? "right" : "", "agreement",
               "SQNR", "in fp32");
    print_row(lab_.in_fp32(), "everything", true, false);
  }

  void print_row(const MixtureFacts& facts, const std::string& in_float, bool is_within, bool is_best) const {
    const std::string right = lab_.has_labels() ? std::to_string(facts.right) : "";
    fmt::print("{:>9.4f} {:>6.2f}x {:>8} {:>8.2f} % {:>7.1f} dB  {}{}{}\n", facts.ms,
               lab_.in_fp32().ms / std::max(facts.ms, 1e-9), right, percent(facts.agreeing, lab_.samples()),
               decibels(facts.noise), in_float, is_within ? "" : "  (beyond the budget)",
               is_best ? "  <- best so far, written" : "");
    std::fflush(stdout);
  }

  void print_outcome(const Mixture& best) const {
    if (!best.result.is_within()) {
      fmt::print("no mixture is within the budget: the best one, which is in the file, is {:.2f} {} beyond it\n",
                 best.result.excess, unit());
      return;
    }
    fmt::print("within the budget by {:.2f} {}: {} of {} groups in fp32, {:.4f} ms, {:.2f} times as fast as fp32\n",
               -best.result.excess, unit(), best.in_float.size(), lab_.groups().size(), best.result.ms,
               lab_.in_fp32().ms / std::max(best.result.ms, 1e-9));
    for (const std::size_t group : best.in_float) fmt::print("  in fp32: {}\n", lab_.groups()[group].front());
    if (best.result.ms > lab_.in_fp32().ms) fmt::print("  note: the model is faster in fp32 as a whole\n");
  }

  const std::string& model_;
  const BudgetArguments& arguments_;
  Metric metric_;
  MixtureLab& lab_;
  SearchLog log_;
  const WriteMixture& write_;
  MixtureFacts facts_;  // of the mixture that is being looked at
};

}  // namespace

void add_budget_options(CLI::App& verb, BudgetArguments& arguments) {
  const std::string group = "Accuracy budget";
  verb.add_option("--max-drop", arguments.max_drop,
                  "keep layers in fp32 until the answers are near enough; the fastest such mixture is written")
      ->type_name("X")
      ->group(group);
  verb.add_option("--metric", arguments.metric,
                  "what X is: top1 or agreement (points lost against fp32), or sqnr (the least, in dB); default: top1 "
                  "with --images, else agreement")
      ->type_name("M")
      ->group(group);
  verb.add_option("--images", arguments.images,
                  "images that answers are judged by: as for evaluate (default: the calibration samples)")
      ->type_name("DIR")
      ->group(group);
  verb.add_option("--labels", arguments.labels, "lines 'file class' (not for an .npz)")->type_name("F")->group(group);
  verb.add_option("--search-log", arguments.log, "remembers what was measured, so that an interrupted search goes on")
      ->type_name("F")
      ->group(group);
  verb.add_option("--threads", arguments.threads,
                  "threads that times are taken with, also by --precision auto (default: all cores)")
      ->check(CLI::PositiveNumber)
      ->group(group);
  verb.add_option("--seconds", arguments.seconds, "time to measure each mixture, also of --precision auto")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(group);
}

Status check_budget(const BudgetArguments& arguments, const CompileRequest& request) {
  if (!arguments.max_drop) {
    for (const auto& [option, value] :
         {std::pair("--metric", arguments.metric), std::pair("--images", arguments.images),
          std::pair("--labels", arguments.labels), std::pair("--search-log", arguments.log)}) {
      if (!value.empty()) return usage(option, "'" + value + "'", "--max-drop beside it");
    }
    return ok_status();
  }
  if (!std::isfinite(*arguments.max_drop))
    return usage("--max-drop", fmt::format("{}", *arguments.max_drop), "a number");
  if (!arguments.metric.empty() && arguments.metric != "top1" && arguments.metric != "agreement" &&
      arguments.metric != "sqnr")
    return usage("--metric", "'" + arguments.metric + "'", "top1, agreement or sqnr");
  if (arguments.metric == "top1" && arguments.images.empty())
    return usage("--metric", "top1 without labelled images", "--images DIR and --labels F");
  if (request.calibrate.empty() && arguments.images.empty())
    return usage("--max-drop", "no samples to judge by", "--calibrate PATH or --images DIR");
  if (request.options.integer_only)
    return usage("--max-drop", "--integer-only beside it", "one of the two: a mixture computes in floats, too");
  if (request.options.precision == Precision::fp32) return usage("--max-drop", "--precision fp32 beside it", "int8");
  if (request.chooses_precision)
    return usage("--max-drop", "--precision auto beside it", "int8: the fastest mixture within the budget is written");
  return ok_status();
}

int run_budget(const std::string& model, const CompileRequest& request, const BudgetArguments& arguments,
               const WriteMixture& write) {
  const MixtureData data{.images = arguments.images,
                         .labels = arguments.labels,
                         .threads = arguments.threads,
                         .seconds = arguments.seconds};
  auto lab = [&] {
    Progress progress("running in fp32");
    return MixtureLab::create(model, request, data, [&](double done) { progress.show(done); });
  }();
  if (!lab) return report(lab.errors());
  const std::string key =
      fmt::format("{}, {}, {} samples, {} threads, scales {:016x}", std::filesystem::path(model).filename().string(),
                  host_machine().name, lab->samples(), arguments.threads, checksum(lab->scales()));
  auto log = SearchLog::open(arguments.log, key);
  if (!log) return report(log.errors());
  return BudgetRun(model, arguments, *lab, std::move(*log), write).run();
}

}  // namespace octavo::cli
