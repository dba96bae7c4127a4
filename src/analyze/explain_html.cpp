// The page of an explanation: one file with its own styles and drawings. Part of analyze/.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "analyze/explain.h"
#include "analyze/html.h"
#include "base/machine.h"

namespace octavo {
namespace {

std::string_view colour_of(StepType type) {
  constexpr std::string_view colours[] = {"#2a7", "#d62", "#c3a"};
  return colours[static_cast<int>(type)];
}

std::string tooltip(const Explanation& e, const ExplainedStep& s) {
  const double peak = e.peak_gmacs(s);
  return escaped_html(fmt::format(
      "{} {} '{}'\n{:.4f} ms, {:.1f} %\n{:.1f} GMAC/s{}, {:.1f} GB/s", s.index, s.kernel, s.name, s.ms,
      100.0 * s.ms / std::max(e.steps_ms(), 1e-9), s.gmacs(),
      peak > 0.0 && s.macs > 0 ? fmt::format(" ({:.0f} % of peak)", 100.0 * s.gmacs() / peak) : "", s.gbytes()));
}

// Every step as a bar as long as its time, in order.
std::string timeline(const Explanation& e) {
  constexpr double kHeight = 48.0;
  const double scale = kPageWidth / std::max(e.steps_ms(), 1e-9);
  std::string svg =
      fmt::format("<svg width=\"{}\" height=\"{}\" role=\"img\" aria-label=\"timeline\">\n", kPageWidth, kHeight);
  double x = 0.0;
  for (const ExplainedStep& s : e.steps) {
    const double width = s.ms * scale;
    fmt::format_to(std::back_inserter(svg),
                   "<rect x=\"{:.2f}\" y=\"0\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\" stroke=\"#fff\" "
                   "stroke-width=\"0.5\"><title>{}</title></rect>\n",
                   x, width, kHeight, colour_of(s.type), tooltip(e, s));
    x += width;
  }
  return svg + "</svg>\n";
}

// Logarithmic axes: x is multiply-accumulates per byte, y is 10^9 multiply-accumulates per second.
class Roofline {
 public:
  explicit Roofline(const Explanation& e) : e_(e) {
    for (const ExplainedStep& s : e.steps) {
      if (s.macs == 0) continue;
      least_x_ = std::min(least_x_, s.intensity());
      most_x_ = std::max(most_x_, s.intensity());
      least_y_ = std::min(least_y_, s.gmacs());
    }
    most_y_ = 2.0 * std::max({e.peaks.int8_gmacs(), e.peaks.fma_gmacs, 1.0});
    least_x_ /= 2.0, most_x_ *= 2.0, least_y_ /= 2.0;
  }

  std::string drawn() const {
    std::string svg =
        fmt::format("<svg width=\"{}\" height=\"{}\" role=\"img\" aria-label=\"roofline\">\n", kPageWidth, kHeight);
    svg += grid();
    svg += roof(e_.peaks.amx_gmacs, StepType::integer, "tdpbusd") +
           roof(e_.peaks.dot_gmacs, StepType::integer, "vpdpbusd") +
           roof(e_.peaks.madd_gmacs, StepType::integer, "vpmaddwd") +
           roof(e_.peaks.fma_gmacs, StepType::floating, "fp32");
    for (const ExplainedStep& s : e_.steps) {
      if (s.macs == 0) continue;
      const double radius = std::clamp(30.0 * std::sqrt(s.ms / std::max(e_.steps_ms(), 1e-9)), 2.0, 30.0);
      fmt::format_to(std::back_inserter(svg),
                     "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\" "
                     "fill-opacity=\"0.5\"><title>{}</title></circle>\n",
                     x_of(s.intensity()), y_of(s.gmacs()), radius, colour_of(s.type), tooltip(e_, s));
    }
    return svg + "</svg>\n";
  }

 private:
  static constexpr double kHeight = 420.0, kLeft = 60.0, kBottom = 30.0;

  double x_of(double intensity) const {
    return kLeft + (kPageWidth - kLeft) * std::log(intensity / least_x_) / std::log(most_x_ / least_x_);
  }
  double y_of(double gmacs) const {
    return (kHeight - kBottom) * (1.0 - std::log(gmacs / least_y_) / std::log(most_y_ / least_y_));
  }

  std::string grid() const {
    std::string svg;
    for (double power = std::pow(10.0, std::ceil(std::log10(least_x_))); power <= most_x_; power *= 10.0) {
      fmt::format_to(std::back_inserter(svg),
                     "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1}\" class=\"grid\"/><text x=\"{0:.1f}\" "
                     "y=\"{2}\">{3:g}</text>\n",
                     x_of(power), kHeight - kBottom, kHeight - 12.0, power);
    }
    for (double power = std::pow(10.0, std::ceil(std::log10(least_y_))); power <= most_y_; power *= 10.0) {
      fmt::format_to(std::back_inserter(svg),
                     "<line x1=\"{1}\" x2=\"{2}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\" class=\"grid\"/><text x=\"0\" "
                     "y=\"{0:.1f}\">{3:g}</text>\n",
                     y_of(power), kLeft, kPageWidth, power);
    }
    return svg;
  }

  // Rises with the memory's rate, then level at the peak.
  std::string roof(double peak, StepType type, std::string_view name) const {
    if (peak <= 0.0 || e_.peaks.read_gbytes <= 0.0) return {};
    const double ridge = std::clamp(peak / e_.peaks.read_gbytes, least_x_, most_x_);
    const double start = std::clamp(least_x_ * e_.peaks.read_gbytes, least_y_, peak);
    return fmt::format(
        "<polyline points=\"{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}\" fill=\"none\" stroke=\"{}\" "
        "stroke-width=\"2\"/><text x=\"{:.1f}\" "
        "y=\"{:.1f}\">{} {:.0f}</text>\n",
        x_of(start / e_.peaks.read_gbytes), y_of(start), x_of(ridge), y_of(peak), x_of(most_x_), y_of(peak),
        colour_of(type), x_of(most_x_) - 80.0, y_of(peak) - 4.0, name, peak);
  }

  const Explanation& e_;
  double least_x_ = 1.0, most_x_ = 10.0, least_y_ = 1.0, most_y_ = 10.0;
};

std::string totals(const Explanation& e) {
  std::map<std::string_view, std::pair<int, double>> by_type;
  for (const ExplainedStep& s : e.steps) ++by_type[name_of(s.type)].first, by_type[name_of(s.type)].second += s.ms;
  std::string html = "<table><tr><th>type</th><th>kernels</th><th>ms</th><th>share</th></tr>\n";
  for (const auto& [type, total] : by_type) {
    fmt::format_to(std::back_inserter(html), "<tr><td>{}</td><td>{}</td><td>{:.3f}</td><td>{:.1f} %</td></tr>\n", type,
                   total.first, total.second, 100.0 * total.second / std::max(e.steps_ms(), 1e-9));
  }
  return html + "</table>\n";
}

std::string step_row(const Explanation& e, const ExplainedStep& s) {
  const double peak = e.peak_gmacs(s);
  std::string refusals;
  for (const std::string& refusal : s.refusals) refusals += escaped_html(refusal) + "<br>";
  if (!refusals.empty()) refusals = "<details><summary>others</summary>" + refusals + "</details>";
  return fmt::format(
      "<tr><td>{}</td><td class=\"n\">{:.4f}</td><td class=\"n\">{:.1f} %</td><td "
      "style=\"color:{}\">{}</td><td>{}{}</td><td>{}</td><td>{}</td>"
      "<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{:.1f}</td><td "
      "class=\"n\">{:.4f}</td><td>{}{}</td></tr>\n",
      s.index, s.ms, 100.0 * s.ms / std::max(e.steps_ms(), 1e-9), colour_of(s.type), name_of(s.type),
      escaped_html(s.kernel), refusals, escaped_html(s.op), s.outputs.empty() ? "" : escaped_html(s.outputs[0].text),
      s.macs > 0 ? fmt::format("{:.1f}", s.gmacs()) : "",
      s.macs > 0 && peak > 0.0 ? fmt::format("{:.0f} %", 100.0 * s.gmacs() / peak) : "", s.gbytes(), s.bound_ms,
      escaped_html(s.name), s.cause.empty() ? "" : "<br><em>" + escaped_html(s.cause) + "</em>");
}

}  // namespace

std::string explanation_html(const Explanation& e) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta "
      "charset=\"utf-8\"><title>{0}</title><style>{1}</style></head><body>\n<h1>{0}</h1>\n",
      escaped_html(e.model), kPageStyle);
  fmt::format_to(std::back_inserter(html),
                 "<p>{}, {} nodes became {} kernels; {}, batch {}, {} threads on {}.<br>{:.3f} ms a run (median of "
                 "{}), {:.3f} ms the sum of its kernels, "
                 "{:.1f} % of the multiply-accumulates in integers.<br>Measured peaks: {}.</p>\n",
                 escaped_html(e.info.dialect), e.info.source_nodes, e.steps.size(), name_of(e.plan.precision),
                 e.plan.batch, e.threads, escaped_html(host_machine().name), e.run_ms, e.runs, e.steps_ms(),
                 100.0 * e.integer_share_of_macs(), to_string(e.peaks));
  if (e.plan.steps_by_image > 0) {
    fmt::format_to(
        std::back_inserter(html),
        "<p>Kernels below {} run image by image, each thread its own; times, bytes and arithmetic of all images.</p>\n",
        e.plan.steps_by_image);
  }
  html += totals(e) + "<h2>Timeline</h2>\n" + timeline(e);
  html +=
      "<h2>Roofline</h2>\n<p>GMAC/s over multiply-accumulates per byte; the area of a disc is its share of the "
      "time.</p>\n" +
      Roofline(e).drawn();
  html +=
      "<h2>Kernels</h2>\n<table><tr><th></th><th>ms</th><th>share</th><th>type</th><th>kernel</th><th>operator</"
      "th><th>result</th><th>GMAC/s</th>"
      "<th>peak</th><th>GB/s</th><th>bound, ms</th><th>node</th></tr>\n";
  for (const ExplainedStep& s : e.steps) html += step_row(e, s);
  return html + "</table>\n</body></html>\n";
}

}  // namespace octavo
