// The page of an explanation: one file with its own styles and drawings. Part of analyze/.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "analyze/explain.h"
#include "analyze/table.h"
#include "base/machine.h"

namespace octavo {
namespace {

std::string_view colour_of(StepType type) {
  constexpr std::string_view colours[] = {"#2a7", "#d62", "#c3a"};
  return colours[static_cast<int>(type)];
}

std::string tooltip(const Explanation& e, const ExplainedStep& s) {
  const std::string peak = share_of_peak_text(e, s);
  return escaped_html(fmt::format("{} {} '{}'\n{:.4f} ms, {}\n{:.1f} GMAC/s{}, {:.1f} GB/s", s.index, s.kernel, s.name,
                                  s.ms, share_text(s.ms, e.steps_ms()), s.gmacs(),
                                  peak.empty() ? "" : " (" + peak + " of peak)", s.gbytes()));
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
           roof(e_.peaks.dot_gmacs, StepType::integer, e_.peaks.dot_name) +
           roof(e_.peaks.madd_gmacs, StepType::integer, e_.peaks.madd_name) +
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
  Table table({"type", "#kernels", "#ms", "#share"});
  for (const auto& [type, total] : by_type) {
    table.add_row({std::string(type), std::to_string(total.first), fmt::format("{:.3f}", total.second),
                   share_text(total.second, e.steps_ms())});
  }
  return table.html();
}

std::string steps(const Explanation& e) {
  Table table({"#", "#ms", "#share", "type", "kernel", "operator", "result", "#GMAC/s", "#peak", "#GB/s", "#bound, ms",
               "node"});
  for (const ExplainedStep& s : e.steps) {
    std::string refusals;
    for (const std::string& refusal : s.refusals) refusals += escaped_html(refusal) + "<br>";
    if (!refusals.empty()) refusals = "<details><summary>others</summary>" + refusals + "</details>";
    table.add_row(
        {std::to_string(s.index),
         fmt::format("{:.4f}", s.ms),
         share_text(s.ms, e.steps_ms()),
         {fmt::format("<span style=\"color:{}\">{}</span>", colour_of(s.type), name_of(s.type)), true},
         {escaped_html(s.kernel) + (s.schedule.empty() ? "" : "<br><small>" + s.schedule + "</small>") + refusals,
          true},
         s.op,
         s.outputs.empty() ? "" : s.outputs[0].text,
         rate_text(s),
         share_of_peak_text(e, s),
         fmt::format("{:.1f}", s.gbytes()),
         fmt::format("{:.4f}", s.bound_ms),
         {escaped_html(s.name) + (s.cause.empty() ? "" : "<br><em>" + escaped_html(s.cause) + "</em>"), true}});
  }
  return table.html();
}

}  // namespace

std::string explanation_html(const Explanation& e) {
  const std::string where = e.is_predicted ? "nothing was run: times and peaks are predicted, of " + e.machine
                                           : fmt::format("{} threads on {}", e.threads, host_machine().name);
  const std::string runs =
      e.is_predicted ? "" : fmt::format(" (median of {}), {:.3f} ms the sum of its kernels", e.runs, e.steps_ms());
  std::string body = fmt::format(
      "<p>{}, {} nodes became {} kernels; {}, batch {}, inputs {}; {}.<br>{:.3f} ms a run{}, {:.1f} % of the "
      "multiply-accumulates in integers.<br>Peaks: {}.</p>\n",
      escaped_html(e.info.dialect), e.info.source_nodes, e.steps.size(), name_of(e.plan.precision), e.plan.batch,
      escaped_html(brief(shapes_of(e.plan.inputs))), escaped_html(where), e.run_ms, runs,
      100.0 * e.integer_share_of_macs(), to_string(e.peaks));
  if (e.plan.steps_by_image > 0) {
    fmt::format_to(
        std::back_inserter(body),
        "<p>Kernels below {} run image by image, each thread its own; times, bytes and arithmetic of all images.</p>\n",
        e.plan.steps_by_image);
  }
  body += totals(e) + "<h2>Timeline</h2>\n" + timeline(e) + "<h2>Roofline</h2>\n<p>GMAC/s over multiply-accumulates " +
          "per byte; the area of a disc is its share of the time.</p>\n" + Roofline(e).drawn() + "<h2>Kernels</h2>\n" +
          steps(e);
  return html_page(e.model, body);
}

}  // namespace octavo
