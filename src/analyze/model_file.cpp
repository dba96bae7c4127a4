// Opening, compiling and running model files. Part of analyze/.
#include "analyze/model_file.h"

#include "analyze/auto_precision.h"
#include "api/inside.h"

namespace octavo {

Result<std::vector<InputSpec>> model_inputs(const v1::ModelSource& model, const CompileRequest& request) {
  const auto imported = v1::import_for_samples(model, request.options);
  if (!imported) return imported.errors();
  std::vector<InputSpec> inputs;
  for (const ValueId id : imported->graph.inputs()) {
    const Value& value = imported->graph.value(id);
    inputs.push_back({value.name, value.fact.dtype, value.fact.shape});
  }
  return inputs;
}

bool v1::is_compiled(const ModelSource& source) {
  return source.bytes ? is_compiled(*source.bytes) : is_compiled(source.name);
}

namespace {

// What the request says beyond the public options, with the samples that it names opened.
Result<v1::OwnOptions> own_options(const v1::ModelSource& model, const CompileRequest& request) {
  v1::OwnOptions own{
      .notes = request.notes, .guesses_batch = request.guesses_batch, .plans_examples = request.plans_examples};
  if (request.calibrate.empty() || request.options.precision == Precision::fp32) return own;
  const auto inputs = model_inputs(model, request);
  if (!inputs) return inputs.errors();
  auto samples = open_samples(request.calibrate, *inputs, {.preprocess = request.preprocess, .limit = request.samples});
  if (!samples) return samples.errors();
  own.samples = std::move(*samples);
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
