// The page of a quantization: one file with its own styles and drawings. Part of analyze/.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "analyze/quantize_report.h"
#include "analyze/table.h"

namespace octavo {
namespace {

constexpr double kMostDecibels = 80.0;  // drawings end here; what loses nothing lies on the edge
constexpr std::string_view kRounding = "#2a7", kNetwork = "#d62";

std::string decibels_text(double decibels) {
  return std::isfinite(decibels) ? fmt::format("{:.1f}", decibels) : "exact";
}

// Signal to noise of every tensor, in the order of computation.
class QuantizeCurves {
 public:
  explicit QuantizeCurves(const QuantizationReport& report) : report_(report) {}

  std::string drawn() const {
    std::string svg =
        fmt::format("<svg width=\"{}\" height=\"{}\" role=\"img\" aria-label=\"signal to noise along the network\">\n",
                    kPageWidth, kHeight);
    for (double level = 0.0; level <= kMostDecibels; level += 10.0) {
      fmt::format_to(std::back_inserter(svg),
                     "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" class=\"grid\"/><text x=\"0\" "
                     "y=\"{2:.1f}\">{3:g} dB</text>\n",
                     kLeft, kPageWidth, y_of(level), level);
    }
    return svg + curve(&TensorReport::rounding_db, kRounding) + curve(&TensorReport::sqnr_db, kNetwork) + "</svg>\n";
  }

 private:
  static constexpr double kHeight = 300.0, kLeft = 50.0;

  double x_of(std::size_t index) const {
    return kLeft + 6.0 +
           (kPageWidth - kLeft - 12.0) * static_cast<double>(index) /
               std::max<double>(1.0, static_cast<double>(report_.tensors.size()) - 1.0);
  }
  double y_of(double decibels) const {
    return 10.0 + (kHeight - 20.0) * (1.0 - std::clamp(decibels, 0.0, kMostDecibels) / kMostDecibels);
  }

  std::string curve(double TensorReport::*decibels, std::string_view colour) const {
    std::string points, discs;
    for (std::size_t i = 0; i < report_.tensors.size(); ++i) {
      const TensorReport& tensor = report_.tensors[i];
      fmt::format_to(std::back_inserter(points), "{:.1f},{:.1f} ", x_of(i), y_of(tensor.*decibels));
      fmt::format_to(std::back_inserter(discs),
                     "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}\nrounding {} dB, in the "
                     "network {} dB</title></circle>\n",
                     x_of(i), y_of(tensor.*decibels), colour, escaped_html(tensor.name),
                     decibels_text(tensor.rounding_db), decibels_text(tensor.sqnr_db));
    }
    return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n{}", points, colour,
                       discs);
  }

  const QuantizationReport& report_;
};

// Heights are logarithmic: the tails are what clipping is about. The grey field is what the integers hold.
std::string histogram(const TensorReport& tensor) {
  constexpr double kHeight = 36.0, kBar = 4.0;
  const double width = kBar * kReportBins;
  const double most =
      std::log1p(static_cast<double>(*std::max_element(tensor.histogram.begin(), tensor.histogram.end())));
  const double span = std::max(static_cast<double>(tensor.bins.highest) - tensor.bins.lowest, 1e-30);
  const IntegerRange limits = range_of(tensor.own.type);
  const auto x_of = [&](std::int64_t integer) {
    const double value = static_cast<double>(tensor.own.scale) * static_cast<double>(integer - tensor.own.zero_point);
    return std::clamp((value - tensor.bins.lowest) / span, 0.0, 1.0) * width;
  };
  std::string svg = fmt::format(
      "<svg width=\"{}\" height=\"{}\"><rect x=\"{:.1f}\" y=\"0\" width=\"{:.1f}\" height=\"{}\" fill=\"#eee\"/>",
      width, kHeight, x_of(limits.lowest), std::max(0.0, x_of(limits.highest) - x_of(limits.lowest)), kHeight);
  for (std::size_t i = 0; i < kReportBins; ++i) {
    const double height = most > 0.0 ? kHeight * std::log1p(static_cast<double>(tensor.histogram[i])) / most : 0.0;
    if (height > 0.0) {
      fmt::format_to(std::back_inserter(svg),
                     "<rect x=\"{:.0f}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\" fill=\"#57a\"/>",
                     kBar * static_cast<double>(i), kHeight - height, kBar - 1.0, height);
    }
  }
  return svg + "</svg>";
}

std::string tensors(const QuantizationReport& report) {
  Table table({"tensor", "#rounding, dB", "#network, dB", "#clipped", "#values", "type", "#scale", "#zero",
               "histogram, logarithmic; grey: what the integers hold"});
  for (const TensorReport* t : report.worst_first()) {
    table.add_row({t->name,
                   decibels_text(t->rounding_db),
                   decibels_text(t->sqnr_db),
                   fmt::format("{:.4f} %", 100.0 * t->clipped),
                   fmt::format("{:g} to {:g}", t->seen.lowest, t->seen.highest),
                   name_of(t->own.type),
                   fmt::format("{:g}", t->own.scale),
                   std::to_string(t->own.zero_point),
                   {histogram(*t), true}});
  }
  return table.html();
}

}  // namespace

std::string quantization_html(const QuantizationReport& report) {
  const std::string body = fmt::format(
      "<p>{} quantized tensors, {} samples; signal to noise of the outputs {} dB.</p>\n"
      "<h2>Along the network</h2>\n<p><span style=\"color:{}\">Rounding</span>: the tensor in fp32 rounded to its "
      "scale, and nothing else. <span style=\"color:{}\">Network</span>: the tensor in the quantized network against "
      "that in fp32.</p>\n{}<h2>Tensors, worst rounding first</h2>\n{}",
      report.tensors.size(), report.samples, decibels_text(report.output_db), kRounding, kNetwork,
      QuantizeCurves(report).drawn(), tensors(report));
  return html_page(report.model, body);
}

}  // namespace octavo
