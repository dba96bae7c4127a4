// Comparing the tensors of two networks over samples. Part of analyze/.
#include "analyze/quantize_report.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "analyze/compare.h"
#include "analyze/session.h"
#include "api/inside.h"
#include "base/requantize.h"

namespace octavo {
namespace {

constexpr std::int64_t kMostSamples = 64;
constexpr std::string_view kQuantized = "/quantize";  // what the quantizer calls the integers of a wire

double decibels(double signal, double noise) {
  if (noise <= 0.0) return std::numeric_limits<double>::infinity();
  return 10.0 * std::log10(signal / noise);
}

ConstTensorView view_of(const v1::ConstTensorRef& value) {
  return {value.dtype, Shape(value.shape), static_cast<const std::byte*>(value.data)};
}

// One tensor on its way through the samples.
class Collector {
 public:
  Collector(const std::string& name, const TensorScale& own, std::optional<TensorRange> range) {
    report_.name = name;
    report_.own = own;
    limits_ = range_of(own.type);
    report_.bins = range ? *range : TensorRange{value_of(limits_.lowest), value_of(limits_.highest)};
  }

  // `wanted`: in fp32; `found`: the integers of the quantized network with their scale there. `factors`: what
  // equalization divides the channels by, which are innermost; may be empty. Range and histogram are of what the
  // quantized network holds, ratios of what it stands for.
  void add(const Tensor& wanted, const Tensor& found, std::span<const float> factors) {
    for (std::int64_t i = 0; i < wanted.elements(); ++i) {
      const float factor = factors.empty() ? 1.0f : factors[static_cast<std::size_t>(i) % factors.size()];
      const float value = wanted.as<float>()[i];
      add_value(value / factor, factor);
      const double error = static_cast<double>(found.as<float>()[i]) * factor - value;
      noise_ += error * error;
    }
  }

  bool has_values() const { return report_.count > 0; }
  TensorReport finished() const {
    TensorReport report = report_;
    report.clipped = static_cast<double>(clipped_) / static_cast<double>(std::max<std::int64_t>(1, report.count));
    report.rounding_db = decibels(signal_, rounding_);
    report.sqnr_db = decibels(signal_, noise_);
    return report;
  }

 private:
  float value_of(std::int64_t integer) const {
    return report_.own.scale * static_cast<float>(integer - report_.own.zero_point);
  }

  void add_value(float value, double factor) {
    report_.seen.lowest = report_.count == 0 ? value : std::min(report_.seen.lowest, value);
    report_.seen.highest = report_.count == 0 ? value : std::max(report_.seen.highest, value);
    ++report_.count;
    signal_ += static_cast<double>(value) * value * factor * factor;
    const float half = report_.own.scale / 2.0f;
    clipped_ += value < value_of(limits_.lowest) - half || value > value_of(limits_.highest) + half ? 1 : 0;
    const std::int32_t integer =
        quantize_value(value, report_.own.scale, report_.own.zero_point, static_cast<std::int32_t>(limits_.lowest),
                       static_cast<std::int32_t>(limits_.highest));
    const double error = (static_cast<double>(value_of(integer)) - value) * factor;
    rounding_ += error * error;
    const double width = static_cast<double>(report_.bins.highest) - report_.bins.lowest;
    const double place = width > 0.0 ? (static_cast<double>(value) - report_.bins.lowest) / width * kReportBins : 0.0;
    ++report_.histogram[static_cast<std::size_t>(std::clamp(place, 0.0, kReportBins - 1.0))];
  }

  TensorReport report_;
  IntegerRange limits_;
  double signal_ = 0.0, rounding_ = 0.0, noise_ = 0.0;
  std::int64_t clipped_ = 0;
};

class Reporter {
 public:
  Reporter(Session& fp32, Session& int8, const QuantizeReport& quantized)
      : fp32_(fp32), int8_(int8), quantized_(quantized) {
    fp32_.context().set_step_hook([this](const v1::StepInfo& step) { keep(step); });
    int8_.context().set_step_hook([this](const v1::StepInfo& step) { compare(step); });
  }

  Status add(const std::vector<Tensor>& sample) {
    values_.clear();
    for (std::size_t i = 0; i < sample.size(); ++i) {
      if (sample[i].dtype() == DType::f32) values_[fp32_.plan().inputs[i].name] = sample[i];
    }
    for (Session* session : {&fp32_, &int8_}) {
      if (const Status taken = session->take(sample); !taken) return taken;
      if (const Status done = session->run(); !done) return done;
    }
    for (std::size_t i = 0; i < fp32_.outputs().size(); ++i)
      add_output(to_floats(fp32_.outputs()[i].view()), to_floats(int8_.outputs()[i].view()));
    return ok_status();
  }

  QuantizationReport finished() const {
    QuantizationReport report{.output_db = decibels(signal_, noise_)};
    for (const Collector& collector : collectors_) {
      if (collector.has_values()) report.tensors.push_back(collector.finished());
    }
    return report;
  }

 private:
  void add_output(const std::vector<float>& wanted, const std::vector<float>& found) {
    for (std::size_t k = 0; k < std::min(wanted.size(), found.size()); ++k) {
      const double error = static_cast<double>(found[k]) - wanted[k];
      signal_ += static_cast<double>(wanted[k]) * wanted[k];
      noise_ += error * error;
    }
  }

  void keep(const v1::StepInfo& step) {
    for (std::size_t i = 0; i < std::min(step.outputs.size(), step.value_names.size()); ++i) {
      if (step.outputs[i].dtype == DType::f32 && quantized_.scales.contains(step.value_names[i]))
        values_[step.value_names[i]] = Tensor::copy_of(view_of(step.outputs[i]));
    }
  }

  void compare(const v1::StepInfo& step) {
    for (std::size_t i = 0; i < std::min(step.outputs.size(), step.value_names.size()); ++i) {
      std::string name = step.value_names[i];
      if (!name.ends_with(kQuantized) || !is_8bit(step.outputs[i].dtype) || step.value_scales[i] == 0.0f) continue;
      name.resize(name.size() - kQuantized.size());
      const auto wanted = values_.find(name);
      const ConstTensorView found = view_of(step.outputs[i]);
      if (wanted == values_.end() || wanted->second.shape() != found.shape) continue;
      collector(name).add(wanted->second, dequantized(found, step.value_scales[i], step.value_zero_points[i]),
                          factors_of(name, found.shape));
    }
  }

  // Images are computed with their channels innermost.
  std::span<const float> factors_of(const std::string& name, const Shape& shape) const {
    const auto found = quantized_.equalized.find(name);
    if (found == quantized_.equalized.end() ||
        static_cast<std::int64_t>(found->second.size()) != shape[shape.rank() - 1])
      return {};
    return found->second;
  }

  Collector& collector(const std::string& name) {
    const auto [place, is_new] = index_.try_emplace(name, collectors_.size());
    if (is_new) {
      const auto range = quantized_.calibrated.ranges.find(name);
      collectors_.emplace_back(
          name, quantized_.scales.at(name),
          range == quantized_.calibrated.ranges.end() ? std::nullopt : std::optional(range->second));
    }
    return collectors_[place->second];
  }

  Session& fp32_;
  Session& int8_;
  const QuantizeReport& quantized_;
  std::map<std::string, Tensor> values_;  // of the sample at hand, in fp32
  std::map<std::string, std::size_t> index_;
  std::vector<Collector> collectors_;
  double signal_ = 0.0, noise_ = 0.0;
};

Result<Session> session_of(const std::string& model, CompileRequest request, Precision precision,
                           const v1::InputShapes& samples) {
  request.options.precision = precision;
  request.options.batches = {1};
  const auto compiled = open_or_compile(model, request);
  if (!compiled) return compiled.errors();
  return Session::create(*compiled, {.shapes = samples}, 0);
}

nlohmann::json finite_or_null(double number) {
  return std::isfinite(number) ? nlohmann::json(number) : nlohmann::json();
}

}  // namespace

std::vector<const TensorReport*> QuantizationReport::worst_first() const {
  std::vector<const TensorReport*> sorted;
  for (const TensorReport& tensor : tensors) sorted.push_back(&tensor);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const TensorReport* a, const TensorReport* b) { return a->rounding_db < b->rounding_db; });
  return sorted;
}

Result<QuantizationReport> report_quantization(const std::string& model, const CompileRequest& request,
                                               const v1::QuantizedModel& quantized,
                                               const std::function<void(double done)>& progress) {
  CompileRequest known = request;
  known.samples = request.samples > 0 ? std::min(request.samples, kMostSamples) : kMostSamples;
  const auto opened = calibration_samples(model, known);
  if (!opened) return opened.errors();
  known.calibrate.clear();
  known.options.calibrated = quantized.calibrated();
  known.examples = opened->examples;
  auto fp32 = session_of(model, known, Precision::fp32, shapes_of(opened->inputs));
  if (!fp32) return fp32.errors();
  auto int8 = session_of(model, known, Precision::int8, shapes_of(opened->inputs));
  if (!int8) return int8.errors();
  Reporter reporter(*fp32, *int8, v1::Access::of(quantized).report);
  const SampleSource& samples = *opened->samples;
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    const auto sample = samples.sample(i);
    if (!sample) return sample.errors();
    if (const Status done = reporter.add(*sample); !done) return done.errors();
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(samples.size()));
  }
  QuantizationReport report = reporter.finished();
  report.model = std::filesystem::path(model).filename().string();
  report.samples = samples.size();
  return report;
}

nlohmann::json quantization_json(const QuantizationReport& report) {
  nlohmann::json tensors = nlohmann::json::array();
  for (const TensorReport& t : report.tensors) {
    tensors.push_back({{"name", t.name},
                       {"type", name_of(t.own.type)},
                       {"scale", t.own.scale},
                       {"zero_point", t.own.zero_point},
                       {"range", {t.seen.lowest, t.seen.highest}},
                       {"count", t.count},
                       {"clipped_percent", 100.0 * t.clipped},
                       {"rounding_db", finite_or_null(t.rounding_db)},
                       {"sqnr_db", finite_or_null(t.sqnr_db)},
                       {"histogram_range", {t.bins.lowest, t.bins.highest}},
                       {"histogram", t.histogram}});
  }
  return {{"model", report.model},
          {"samples", report.samples},
          {"output_db", finite_or_null(report.output_db)},
          {"tensors", std::move(tensors)}};
}

}  // namespace octavo
