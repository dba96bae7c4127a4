// The page of a diagnosis: the verdict, what to type next, a waterfall, the findings by cost. Part of diagnose/.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>

#include "analyze/table.h"
#include "diagnose/diagnose.h"

namespace octavo::diagnose {
namespace {

// On a phone, names and times stand above their bars.
constexpr std::string_view kStyle =
    ".verdict{font-size:18px;font-weight:bold}"
    ".bar{display:grid;grid-template-columns:170px 1fr 90px;gap:10px;align-items:center;margin:6px 0}"
    ".bar>span{text-align:right}.track{height:20px}.track i{display:block;height:100%;min-width:1px}"
    ".total{background:#77b}.good{background:#2a7}.lost{background:#d62}"
    ".key i{display:inline-block;width:12px;height:12px;margin:0 4px 0 12px}"
    ".finding{border-left:4px solid #d62;padding:2px 14px;margin:14px 0}.finding h3{font-size:16px;margin:4px 0}"
    "dl{display:grid;grid-template-columns:110px 1fr;gap:3px 10px;margin:6px 0}dt{opacity:.75}"
    "dd{margin:0;overflow-wrap:anywhere}"
    "@media(max-width:640px){.bar{grid-template-columns:1fr auto;gap:2px 10px}.track{grid-row:2;grid-column:1/3}"
    "dl{grid-template-columns:1fr}dd{margin:0 0 6px}}";

// Bars that begin where the one before ended; totals begin at 0. Green: what is as it should be.
std::string waterfall(const Diagnosis& d) {
  auto bars = waterfall_of(d);
  std::erase_if(bars, [](const WaterfallBar& bar) { return !bar.is_total && std::abs(bar.ms) < 5e-4; });
  double most = 1e-9, level = 0.0;
  for (const WaterfallBar& bar : bars) {
    level = bar.is_total ? bar.ms : level + bar.ms;
    most = std::max({most, level, bar.is_total ? bar.ms : level - bar.ms});
  }
  std::string rows;
  level = 0.0;
  for (const WaterfallBar& bar : bars) {
    const bool is_first = &bar == &bars[0];
    const double from = bar.is_total ? 0.0 : level, to = bar.is_total ? bar.ms : level + bar.ms;
    fmt::format_to(std::back_inserter(rows),
                   "<div class=\"bar\">{}<div class=\"track\"><i class=\"{}\" style=\"margin-left:{:.2f}%;"
                   "width:{:.2f}%\"></i></div><span>{} ms</span></div>\n",
                   escaped_html(bar.name),
                   bar.is_total            ? "total"
                   : to < from || is_first ? "good"
                                           : "lost",
                   100.0 * std::min(from, to) / most, 100.0 * std::abs(to - from) / most,
                   bar.is_total || is_first ? fmt::format("{:.3g}", bar.ms) : fmt::format("{:+.3g}", bar.ms));
    level = to;
  }
  return rows +
         "<p class=\"key quiet\"><i class=\"good\"></i>as it should be<i class=\"lost\"></i>lost<i class=\"total\">"
         "</i>in all</p>\n";
}

std::string finding_html(const Finding& f, std::size_t number) {
  const std::string cost = f.is_about_answers() ? "spoils answers"
                           : f.ms() < 5e-4
                               ? "next to no time"
                               : fmt::format("{:.3g} ms {}", f.ms(), f.measured_ms ? "measured" : "predicted");
  return fmt::format(
      "<div class=\"finding\"><h3>{}. {} ({})</h3>\n<dl><dt>where</dt><dd>{}</dd><dt>what to do</dt><dd>{}</dd>"
      "<dt>Octavo</dt><dd>{}</dd><dt>{}</dt><dd>{}</dd><dt>called</dt><dd>{}</dd></dl></div>\n",
      number, escaped_html(f.what), cost, escaped_html(f.where), escaped_html(f.advice), escaped_html(f.octavo),
      name_of(f.sureness), escaped_html(f.source), name_of(f.cause));
}

std::string findings_html(const Diagnosis& d) {
  if (d.findings.empty()) return "<p>None.</p>\n";
  constexpr std::size_t kShownFindings = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(d.findings.size(), kShownFindings); ++i)
    text += finding_html(d.findings[i], i + 1);
  if (d.findings.size() > kShownFindings)
    text += fmt::format("<p>And {} more, in the text and in the JSON.</p>\n", d.findings.size() - kShownFindings);
  return text;
}

}  // namespace

std::string diagnosis_html(const Diagnosis& d) {
  std::string body = fmt::format(
      "<p class=\"verdict\">{}</p>\n<p class=\"quiet\">{} {}, for {}; {} nodes{}.</p>\n", escaped_html(d.verdict()),
      d.view.format_name(), name_of(d.view.dialect), title_of(d.engine), d.census.nodes,
      d.census.nodes_before > 0 ? fmt::format(", {} before it was quantized", d.census.nodes_before) : "");
  const NextStep next = next_step(d);
  body += "<h2>What to type next</h2>\n<pre>" + escaped_html(next.command) + "</pre>\n<p class=\"quiet\">" +
          escaped_html(next.effect) + "</p>\n";
  if (d.view.dialect != Dialect::fp32) {
    body += fmt::format(
        "<h2>Time of a run</h2>\n<p class=\"quiet\">{}</p>\n",
        d.profile ? "By the profile." : "Predicted, by operators timed before: " + escaped_html(d.rates.source) + ".");
    body += waterfall(d) + "<h2>Findings by cost</h2>\n" + findings_html(d);
  }
  return html_page(std::filesystem::path(d.model).filename().string(), body, kStyle);
}

}  // namespace octavo::diagnose
