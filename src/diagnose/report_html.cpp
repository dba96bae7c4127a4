// The page of a diagnosis: the verdict, what to type next, a waterfall, the findings by cost. Part of diagnose/.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "analyze/table.h"
#include "diagnose/diagnose.h"

namespace octavo::diagnose {
namespace {

// Bars that begin where the one before ended; totals begin at 0. Green: what is as it should be.
std::string waterfall(const Diagnosis& d) {
  constexpr double kRow = 30.0, kLeft = 240.0, kRight = 110.0;
  auto bars = waterfall_of(d);
  std::erase_if(bars, [](const WaterfallBar& bar) { return !bar.is_total && std::abs(bar.ms) < 5e-4; });
  double most = 1e-9, level = 0.0;
  for (const WaterfallBar& bar : bars) {
    level = bar.is_total ? bar.ms : level + bar.ms;
    most = std::max({most, level, bar.is_total ? bar.ms : level - bar.ms});
  }
  const double scale = (kPageWidth - kLeft - kRight) / most;
  std::string svg = fmt::format("<svg width=\"{}\" height=\"{}\" role=\"img\" aria-label=\"waterfall\">\n", kPageWidth,
                                kRow * static_cast<double>(bars.size()));
  level = 0.0;
  double y = 0.0;
  for (const WaterfallBar& bar : bars) {
    const double from = bar.is_total ? 0.0 : level, to = bar.is_total ? bar.ms : level + bar.ms;
    const double x = kLeft + std::min(from, to) * scale, width = std::abs(to - from) * scale;
    fmt::format_to(std::back_inserter(svg),
                   "<text x=\"0\" y=\"{0:.0f}\">{1}</text><rect x=\"{2:.1f}\" y=\"{3:.0f}\" width=\"{4:.1f}\" "
                   "height=\"20\" fill=\"{5}\"/><text x=\"{6:.1f}\" y=\"{0:.0f}\">{7:.3f} ms</text>\n",
                   y + 18.0, escaped_html(bar.name), x, y + 4.0, std::max(width, 1.0),
                   bar.is_total                    ? "#669"
                   : to < from || &bar == &bars[0] ? "#2a7"
                                                   : "#d62",
                   x + std::max(width, 1.0) + 6.0, bar.ms);
    level = to;
    y += kRow;
  }
  return svg + "</svg>\n";
}

}  // namespace

std::string diagnosis_html(const Diagnosis& d) {
  std::string body =
      fmt::format("<p><strong>{}</strong></p>\n<p>{} {}, for {}; {} nodes{}.</p>\n", escaped_html(d.verdict()),
                  d.view.format_name(), name_of(d.view.dialect), title_of(d.engine), d.census.nodes,
                  d.census.nodes_before > 0 ? fmt::format(", {} before it was quantized", d.census.nodes_before) : "");
  body += "<h2>What to type next</h2>\n<pre>" + escaped_html(next_command(d)) + "</pre>\n";
  if (d.view.dialect != Dialect::fp32) {
    body +=
        fmt::format("<h2>Time of a run</h2>\n<p>{}</p>\n",
                    d.profile ? "By the profile." : "Predicted for one thread: " + escaped_html(d.rates.source) + ".");
    body += waterfall(d);
    Table table({"what", "#ms", "sure", "where", "what to do", "Octavo"});
    constexpr std::size_t kMostFindings = 5;
    for (std::size_t i = 0; i < std::min(d.findings.size(), kMostFindings); ++i) {
      const Finding& f = d.findings[i];
      table.add_row({{escaped_html(f.what) + "<br><small>" + std::string(name_of(f.cause)) + "</small>", true},
                     f.is_about_answers() ? "answers" : fmt::format("{:.3f}", f.ms()),
                     std::string(name_of(f.sureness)),
                     f.where,
                     {escaped_html(f.advice) + "<br><small>" + escaped_html(f.source) + "</small>", true},
                     f.octavo});
    }
    body += "<h2>Findings by cost</h2>\n" + (d.findings.empty() ? "<p>None.</p>\n" : table.html());
    if (d.findings.size() > kMostFindings)
      body += fmt::format("<p>And {} more, in the text and in the JSON.</p>\n", d.findings.size() - kMostFindings);
  }
  return html_page(d.model, body);
}

}  // namespace octavo::diagnose
