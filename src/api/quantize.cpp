// The public quantize(): file -> import -> quantize, for writing. Part of api/.
#include <filesystem>

#include "api/quantizer.h"
#include "export/onnx.h"
#include "quantize/scales_file.h"

namespace octavo::v1 {
namespace {

// At batch 2; nothing where the file fixes its batch, or cannot be read at another one: then the answer at batch 1 is
// what there is.
std::optional<Graph> at_other_batch(Quantizer& quantizer, const Graph& graph) {
  auto imported = quantizer.import_for(2);
  if (!imported || imported->graph.inputs().size() != graph.inputs().size()) return std::nullopt;
  bool is_fixed = true;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    is_fixed =
        is_fixed && imported->graph.fact(imported->graph.inputs()[i]).shape == graph.fact(graph.inputs()[i]).shape;
  }
  if (is_fixed || !quantizer.quantize(imported->graph)) return std::nullopt;
  return std::move(imported->graph);
}

// What --integer-only cannot have, all of it.
Status check_integer_only(const std::string& path, const Graph& graph, const QuantizeReport& report) {
  Errors errors;
  refuse_float_ends(path, graph, errors);
  for (const std::string& kept : report.kept_in_float)
    errors.push_back(float_refusal(path, "an operator in float", kept));
  if (!errors.empty()) return errors;
  return ok_status();
}

}  // namespace

Result<std::string> QuantizedModel::onnx() const {
  return export_onnx(impl_->graph,
                     {.name = impl_->source, .other_batch = impl_->other_batch ? &*impl_->other_batch : nullptr});
}

std::string QuantizedModel::scales() const {
  return scales_json(impl_->graph, impl_->report, impl_->source, impl_->calibration);
}

Calibration QuantizedModel::calibrated() const { return Access::make<Calibration>(impl_->report.calibrated); }

const std::vector<std::string>& QuantizedModel::kept_in_float() const { return impl_->report.kept_in_float; }

std::vector<std::vector<std::string>> QuantizedModel::groups() const {
  std::vector<std::vector<std::string>> groups;
  for (const LayerGroup& group : impl_->report.groups) groups.push_back(group.nodes);
  return groups;
}

Result<QuantizedModel> quantize(const ModelSource& source, const CompileOptions& options, const OwnOptions& own) {
  if (const Status status = check_options(options); !status) return status.errors();
  const std::string& path = source.name;
  if (own.is_for_others && options.activations == Activations::per_token) {
    return usage("--activations per-token", "a file for other programs",
                 "per-tensor: quantize/dequantize pairs cannot say scales that are found in a run",
                 "compile takes per-token");
  }
  Quantizer quantizer(source, options, own);
  // A file for other programs has the sizes of one sample; scales alone are of the sizes that compiling leaves open.
  auto imported = own.is_for_others ? quantizer.import_for(1) : quantizer.import_open();
  if (!imported) return imported.errors();
  if (imported->program) return refuse_program(path, "calibration");
  if (imported->is_quantized) {
    return Error{.kind = ErrorKind::usage,
                 .where = path,
                 .found = "a quantized model (" + imported->dialect + ")",
                 .expected = "an fp32 one",
                 .hint = "Its scales are kept by compile, as they are"};
  }
  QuantizedNetwork network{.source = std::filesystem::path(path).filename().string(),
                           .calibration = method_text(options)};
  auto report = quantizer.quantize(imported->graph);
  if (!report) return report.errors();
  if (options.integer_only) {
    if (const Status integers = check_integer_only(path, imported->graph, *report); !integers) return integers.errors();
  }
  network.report = std::move(*report);
  network.graph = std::move(imported->graph);
  if (own.is_for_others) network.other_batch = at_other_batch(quantizer, network.graph);
  return Access::make<QuantizedModel>(std::move(network));
}

Result<QuantizedModel> quantize(const std::string& path, const CompileOptions& options) {
  return quantize(ModelSource{path, {}}, options, {.is_for_others = true});
}

Result<QuantizedModel> quantize(std::span<const std::byte> bytes, const std::string& name,
                                const CompileOptions& options) {
  return quantize(ModelSource{name, bytes}, options, {.is_for_others = true});
}

Result<Calibration> parse_scales(std::string_view text, const std::string& file) {
  auto calibrated = octavo::parse_scales(text, file);
  if (!calibrated) return calibrated.errors();
  return Access::make<Calibration>(std::move(*calibrated));
}

}  // namespace octavo::v1
