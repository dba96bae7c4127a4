// Opening, compiling and running model files. Part of analyze/.
#include "analyze/model_file.h"

#include "analyze/auto_precision.h"
#include "api/inside.h"

namespace octavo {

Result<std::vector<InputSpec>> model_inputs(const std::string& path, const CompileRequest& request) {
  const auto model = v1::import_for_samples({path, {}}, request.options);
  if (!model) return model.errors();
  std::vector<InputSpec> inputs;
  for (const ValueId id : model->graph.inputs()) {
    const Value& value = model->graph.value(id);
    inputs.push_back({value.name, value.fact.dtype, value.fact.shape});
  }
  return inputs;
}

namespace {

// What the request says beyond the public options, with the samples that it names opened.
Result<v1::OwnOptions> own_options(const std::string& path, const CompileRequest& request) {
  v1::OwnOptions own{.notes = request.notes, .guesses_batch = request.guesses_batch};
  if (request.calibrate.empty() || request.options.precision == Precision::fp32) return own;
  const auto inputs = model_inputs(path, request);
  if (!inputs) return inputs.errors();
  auto samples = open_samples(request.calibrate, *inputs, {.preprocess = request.preprocess, .limit = request.samples});
  if (!samples) return samples.errors();
  own.samples = std::move(*samples);
  return own;
}

}  // namespace

Result<v1::CompiledModel> compile_observed(const std::string& path, const CompileRequest& request,
                                           StepObserver observer) {
  auto own = own_options(path, request);
  if (!own) return own.errors();
  own->on_step = std::move(observer);
  v1::CompileOptions options = request.options;
  options.tuned_threads = request.threads;
  return v1::compile({path, {}}, options, *own);
}

Result<v1::CompiledModel> open_or_compile(const std::string& path, const CompileRequest& request) {
  if (request.chooses_precision) {
    const auto settled = settle_precision(path, request);
    return settled ? open_or_compile(path, *settled) : settled.errors();
  }
  return v1::is_compiled(path) ? v1::open(path) : compile_observed(path, request, {});
}

Result<v1::QuantizedModel> quantize_file(const std::string& path, const CompileRequest& request, QuantizedFor reader) {
  auto own = own_options(path, request);
  if (!own) return own.errors();
  own->is_for_others = reader == QuantizedFor::other_programs;
  return v1::quantize({path, {}}, request.options, *own);
}

}  // namespace octavo
