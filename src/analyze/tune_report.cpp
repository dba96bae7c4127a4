// What a tuner found. Part of analyze/.
#include "analyze/tune_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "analyze/table.h"
#include "kernels/schedule.h"

namespace octavo {
namespace {

constexpr std::string_view kVariants[] = {"default", "tuned", "fp32"};

std::string way_text(const Way& way) {
  const std::string schedule = schedule_text(way.kernel->code, way.schedule);
  return std::string(way.kernel->code.name) + (schedule.empty() ? "" : ": " + schedule);
}

// "quantized_conv u8[1x14x14x256], s8[256x1x1x64] -> u8[1x14x14x256]": what mostly tells calls apart.
std::string short_text(const std::string& call) {
  const std::size_t open = call.find('('), arrow = call.find(") -> "), end = call.find(" {");
  if (open == std::string::npos || arrow == std::string::npos) return call;
  std::size_t inputs = call.find(", ", open);
  if (inputs != std::string::npos && inputs < arrow) inputs = call.find(", ", inputs + 2);
  const std::string first = call.substr(open + 1, std::min(inputs, arrow) - open - 1);
  return call.substr(0, open) + " " + first + call.substr(arrow + 1, end - arrow - 1);
}

double saved_us(const TunedCall& call) { return call.calls * (call.default_us - call.best_us); }

Table calls_table(const TuneReport& report, std::size_t most) {
  std::vector<TunedCall> calls = report.calls;
  std::stable_sort(calls.begin(), calls.end(),
                   [](const TunedCall& a, const TunedCall& b) { return saved_us(a) > saved_us(b); });
  Table table({"call", "#calls", "#ways", "#trials", "#default us", "#tuned us", "#gain", "way"});
  for (std::size_t i = 0; i < std::min(most, calls.size()); ++i) {
    const TunedCall& call = calls[i];
    table.add_row({short_text(call.call), fmt::format("{:g}", call.calls), std::to_string(call.ways),
                   std::to_string(call.trials), fmt::format("{:.2f}", call.default_us),
                   fmt::format("{:.2f}", call.best_us),
                   fmt::format("{:.1f} %", 100.0 * (1.0 - call.best_us / std::max(call.default_us, 1e-9))),
                   call.best_way == call.default_way ? "as before" : call.best_way});
  }
  return table;
}

Table runs_table(const TuneReport& report) {
  Table table({"", "#min", "#median", "#times the default"});
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const BenchRun& run = report.runs[i];
    table.add_row({kVariants[i], fmt::format("{:.3f} ms", run.latency_ms(0.0)),
                   fmt::format("{:.3f} ms", run.latency_ms(0.5)),
                   fmt::format("{:.3f}", report.runs[0].latency_ms(0.5) / run.latency_ms(0.5))});
  }
  return table;
}

std::string trials_text(const TuneReport& report) {
  std::string text;
  for (const TuneHistory& history : report.histories)
    text += fmt::format("{}: {} trials, {} failed{}\n", name_of(history.search), history.trials, history.failed,
                        history.was_stopped ? ", stopped" : "");
  return text;
}

// The network's time, the sum of its calls' best, after so many trials of each tuner.
class TuneCurves {
 public:
  explicit TuneCurves(const TuneReport& report) : report_(report) {
    for (const TuneHistory& history : report.histories) {
      most_trials_ = std::max(most_trials_, history.best_ns.size());
      for (const double ns : history.best_ns) least_ = std::min(least_, ns), most_ = std::max(most_, ns);
    }
  }

  std::string drawn() const {
    if (most_ <= 0.0) return {};
    std::string svg = fmt::format(
        "<svg width=\"{}\" height=\"{}\" role=\"img\" aria-label=\"best so far by trials\">\n", kPageWidth, kHeight);
    for (int i = 0; i <= 4; ++i) {
      const double ns = least_ + (most_ - least_) * i / 4.0;
      fmt::format_to(std::back_inserter(svg),
                     "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" class=\"grid\"/><text x=\"0\" "
                     "y=\"{2:.1f}\">{3:.4g} us</text>\n",
                     kLeft, kPageWidth, y_of(ns), ns / 1e3);
    }
    for (std::size_t i = 0; i < report_.histories.size(); ++i) svg += curve(i);
    return svg + "</svg>\n";
  }

 private:
  static constexpr double kHeight = 320.0, kLeft = 80.0;

  double x_of(std::size_t trial) const {
    return kLeft + (kPageWidth - kLeft - 10.0) * static_cast<double>(trial) /
                       static_cast<double>(std::max<std::size_t>(most_trials_, 2) - 1);
  }
  double y_of(double ns) const {
    return 10.0 + (kHeight - 30.0) * (1.0 - (ns - least_) / std::max(most_ - least_, 1e-9));
  }

  std::string curve(std::size_t index) const {
    constexpr std::string_view kColours[] = {"#777", "#2a7", "#d62", "#36c"};
    const TuneHistory& history = report_.histories[index];
    const std::string_view colour = kColours[static_cast<int>(history.search)];
    std::string points;
    for (std::size_t i = 0; i < history.best_ns.size(); ++i)
      fmt::format_to(std::back_inserter(points), "{:.1f},{:.1f} ", x_of(i), y_of(history.best_ns[i]));
    return fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/><text x=\"{:.1f}\" y=\"{:.1f}\" "
        "fill=\"{}\">{}</text>\n",
        points, colour, kPageWidth - 60.0, 20.0 + 16.0 * static_cast<double>(index), colour, name_of(history.search));
  }

  const TuneReport& report_;
  std::size_t most_trials_ = 0;
  double least_ = HUGE_VAL, most_ = 0.0;
};

}  // namespace

std::vector<TunedCall> tuned_calls(const std::vector<TuningTask>& tasks, const std::vector<TuneHistory>& histories) {
  std::vector<TunedCall> calls;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TuningTask& task = tasks[i];
    TunedCall& call = calls.emplace_back(TunedCall{task.subject, task.threads, task.calls, task.ways.size()});
    call.default_way = call.best_way = way_text(task.ways.front());
    for (const TuneHistory& history : histories) {
      const TaskHistory& own = history.tasks[i];
      call.trials += static_cast<std::int64_t>(own.trials.size());
      if (own.best_ns <= 0.0) continue;
      call.default_us = own.default_ns / 1e3;
      call.best_us = own.best_ns / 1e3;
      call.best_way = way_text(task.ways[own.best]);
    }
  }
  return calls;
}

std::string tune_text(const TuneReport& report) {
  constexpr std::size_t kShown = 12;
  std::string text = calls_table(report, kShown).text("  ");
  if (report.calls.size() > kShown) text += fmt::format("  ... {} calls in all\n", report.calls.size());
  return text + trials_text(report) + runs_table(report).text();
}

nlohmann::json tune_json(const TuneReport& report) {
  nlohmann::json calls = nlohmann::json::array(), tuners = nlohmann::json::array(), runs = nlohmann::json::object();
  for (const TunedCall& call : report.calls) {
    calls.push_back({{"call", call.call},
                     {"threads", call.threads},
                     {"calls", call.calls},
                     {"ways", call.ways},
                     {"trials", call.trials},
                     {"default_us", call.default_us},
                     {"best_us", call.best_us},
                     {"default", call.default_way},
                     {"best", call.best_way}});
  }
  for (const TuneHistory& history : report.histories) {
    tuners.push_back({{"tuner", name_of(history.search)},
                      {"trials", history.trials},
                      {"failed", history.failed},
                      {"was_stopped", history.was_stopped},
                      {"best_ns", history.best_ns}});
  }
  for (std::size_t i = 0; i < report.runs.size(); ++i)
    runs[std::string(kVariants[i])] = {{"min_ms", report.runs[i].latency_ms(0.0)},
                                       {"median_ms", report.runs[i].latency_ms(0.5)}};
  return {{"model", report.model}, {"machine", report.machine}, {"seconds", report.seconds},
          {"calls", calls},        {"tuners", tuners},          {"network", runs}};
}

std::string tune_html(const TuneReport& report) {
  std::string body = fmt::format("<p>{}, {:.0f} s.</p>\n", escaped_html(report.machine), report.seconds);
  body += "<h2>The whole network, in turns</h2>\n" + runs_table(report).html();
  body +=
      "<h2>Best so far by trials</h2>\n<p>Sum of the best time of every call, each as often as a run makes it.</p>\n";
  body += TuneCurves(report).drawn();
  body += "<h2>Calls</h2>\n" + calls_table(report, report.calls.size()).html();
  return html_page("Tuning of " + report.model, body);
}

}  // namespace octavo
