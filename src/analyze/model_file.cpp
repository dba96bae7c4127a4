// Opening, compiling and running model files. Part of analyze/.
#include "analyze/model_file.h"

#include <algorithm>

#include "analyze/auto_precision.h"
#include "api/inside.h"
#include "base/sizes.h"
#include "quantize/sample_sizes.h"

namespace octavo {

namespace {

// By axis: the size that it is, with a name where it is made of several; nothing for numbers.
std::vector<std::optional<OpenSize>> open_axes(const Graph& graph, const OpenShape& shape) {
  std::vector<std::optional<OpenSize>> axes;
  for (const Dim& dim : shape) {
    const auto size = graph.sizes() == nullptr ? std::nullopt : graph.sizes()->size_of(dim);
    if (size) axes.emplace_back(graph.sizes()->sizes()[*size]);
    else if (dim.is_number()) axes.emplace_back();
    else axes.emplace_back(OpenSize{.name = to_string(dim), .range = {}});
  }
  return axes;
}

}  // namespace

Result<std::vector<InputSpec>> model_inputs(const v1::ModelSource& model, const CompileRequest& request) {
  const auto imported = v1::import_for_samples(model, request.options, {.examples = request.examples});
  if (!imported) return imported.errors();
  const v1::InputShapes shapes = v1::example_shapes(imported->graph);
  std::vector<InputSpec> inputs;
  for (const ValueId id : imported->graph.inputs()) {
    const Value& value = imported->graph.value(id);
    inputs.push_back({.name = value.name,
                      .dtype = value.fact.dtype,
                      .shape = Shape(shapes.at(value.name)),
                      .open = open_axes(imported->graph, value.fact.shape)});
  }
  return inputs;
}

Result<CalibrationSamples> calibration_samples(const v1::ModelSource& model, const CompileRequest& request) {
  auto inputs = model_inputs(model, request);
  if (!inputs) return inputs.errors();
  auto samples = open_samples(request.calibrate, *inputs, {.preprocess = request.preprocess, .limit = request.samples});
  if (!samples) return samples.errors();
  CalibrationSamples opened{.inputs = std::move(*inputs), .samples = std::move(*samples), .examples = {}};
  if (!std::ranges::any_of(opened.inputs, &InputSpec::has_open_axis)) return opened;
  const auto groups = sample_groups(*opened.samples);
  if (!groups) return groups.errors();
  for (std::size_t i = 0; !groups->empty() && i < opened.inputs.size(); ++i)
    opened.examples[opened.inputs[i].name] = groups->front().shapes[i].to_vector();
  return opened;
}

bool v1::is_compiled(const ModelSource& source) {
  return source.bytes ? is_compiled(*source.bytes) : is_compiled(source.name);
}

namespace {

// What the request says beyond the public options, with the samples that it names opened. In fp32 they are only looked
// at for the sizes that are planned.
Result<v1::OwnOptions> own_options(const v1::ModelSource& model, const CompileRequest& request) {
  v1::OwnOptions own{.examples = request.examples,
                     .notes = request.notes,
                     .guesses_batch = request.guesses_batch,
                     .plans_examples = request.plans_examples};
  const bool is_fp32 = request.options.precision == Precision::fp32;
  if (request.calibrate.empty() || (is_fp32 && !request.plans_examples)) return own;
  auto opened = calibration_samples(model, request);
  if (!opened) return opened.errors();
  own.examples = std::move(opened->examples);
  if (!is_fp32) own.samples = std::move(opened->samples);
  return own;
}

}  // namespace

Result<v1::CompiledModel> compile_observed(const v1::ModelSource& model, const CompileRequest& request,
                                           StepObserver observer) {
  auto own = own_options(model, request);
  if (!own) return own.errors();
  own->on_step = std::move(observer);
  v1::CompileOptions options = request.options;
  options.tuned_threads = request.threads;
  return v1::compile(model, options, *own);
}

Result<v1::CompiledModel> open_or_compile(const v1::ModelSource& model, const CompileRequest& request) {
  if (request.chooses_precision) {
    const auto settled = settle_precision(model, request);
    return settled ? open_or_compile(model, *settled) : settled.errors();
  }
  if (!v1::is_compiled(model)) return compile_observed(model, request, {});
  if (request.options.allow_tf32) {
    return Error{
        .kind = ErrorKind::usage,
        .where = "--precision tf32",
        .found = "the compiled model " + model.name,
        .expected = "a model file, or --precision fp32: whose kernels these are is decided when it is compiled"};
  }
  return model.bytes ? v1::open(*model.bytes, model.name) : v1::open(model.name);
}

Result<v1::QuantizedModel> quantize_file(const v1::ModelSource& model, const CompileRequest& request,
                                         QuantizedFor reader) {
  auto own = own_options(model, request);
  if (!own) return own.errors();
  own->is_for_others = reader == QuantizedFor::other_programs;
  return v1::quantize(model, request.options, *own);
}

}  // namespace octavo
