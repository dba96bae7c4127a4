// Opening, compiling and running model files. Part of analyze/.
#include "analyze/model_file.h"

#include <cstring>

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
  v1::OwnOptions own{.notes = request.notes};
  if (request.calibrate.empty() || request.options.precision == Precision::fp32) return own;
  const auto inputs = model_inputs(path, request);
  if (!inputs) return inputs.errors();
  auto samples = open_samples(request.calibrate, *inputs, {.preprocess = request.preprocess, .limit = request.samples});
  if (!samples) return samples.errors();
  own.samples = std::move(*samples);
  return own;
}

}  // namespace

Result<v1::CompiledModel> open_or_compile(const std::string& path, const CompileRequest& request) {
  if (request.chooses_precision) {
    const auto settled = settle_precision(path, request);
    return settled ? open_or_compile(path, *settled) : settled.errors();
  }
  if (v1::is_compiled(path)) return v1::open(path);
  const auto own = own_options(path, request);
  if (!own) return own.errors();
  return v1::compile({path, {}}, request.options, *own);
}

Result<v1::QuantizedModel> quantize_file(const std::string& path, const CompileRequest& request) {
  const auto own = own_options(path, request);
  if (!own) return own.errors();
  return v1::quantize({path, {}}, request.options, *own);
}

Session::Session(v1::Context context, v1::PlanInfo plan, std::optional<Preprocess> pictures, int threads)
    : context_(std::move(context)), plan_(std::move(plan)), pictures_(pictures), threads_(threads) {
  for (const v1::TensorInfo& info : context_.inputs()) {
    inputs_.emplace_back(info.dtype, Shape(info.shape));
    input_refs_.push_back({info.dtype, info.shape, inputs_.back().data()});
  }
  for (const v1::TensorInfo& info : context_.outputs()) {
    outputs_.emplace_back(info.dtype, Shape(info.shape));
    output_refs_.push_back({info.dtype, info.shape, outputs_.back().data()});
  }
}

Result<Session> Session::create(const v1::CompiledModel& compiled, const v1::PlanChoice& choice, int threads) {
  const auto model = v1::Model::load(compiled, {.threads = threads});
  return model ? create(*model, choice, nullptr) : model.errors();
}

namespace {

Result<std::optional<Preprocess>> pictures_of(const v1::ModelInfo& info) {
  if (info.pictures.empty()) return std::optional<Preprocess>();
  auto known = parse_preprocess(info.pictures);
  return known ? Result<std::optional<Preprocess>>(*known) : known.errors();
}

}  // namespace

Result<Session> Session::create(const v1::Model& model, const v1::PlanChoice& choice, const v1::ThreadPool* pool) {
  const auto plan = model.find_plan(choice);
  if (!plan) return plan.errors();
  auto context = v1::Context::create(model, *plan, pool);
  if (!context) return context.errors();
  const v1::ModelInfo info = model.info();
  const auto pictures = pictures_of(info);
  if (!pictures) return pictures.errors();
  return Session(std::move(*context), info.plans[*plan], *pictures, model.threads());
}

Result<Session> Session::create_at(const v1::CompiledModel& compiled, std::span<const std::vector<std::int64_t>> shapes,
                                   int threads) {
  const auto model = v1::Model::load(compiled, {.threads = threads});
  if (!model) return model.errors();
  auto context = v1::Context::create(*model, shapes);
  if (!context) return context.errors();
  const auto pictures = pictures_of(compiled.info());
  if (!pictures) return pictures.errors();
  v1::PlanInfo plan = context->plan();
  return Session(std::move(*context), std::move(plan), *pictures, model->threads());
}

Status Session::run() { return context_.run(input_refs_, output_refs_); }

Result<std::optional<Preprocess>> preprocess_for(const Session& session, const CompileRequest& request) {
  if (!session.pictures()) return request.preprocess;
  if (request.preprocess && *request.preprocess != *session.pictures()) {
    return Error{.kind = ErrorKind::usage,
                 .where = "--preprocess",
                 .found = "another SPEC than the model computes inside",
                 .expected = "that one, or none: octavo inspect tells it"};
  }
  return std::optional(without_values(*session.pictures()));
}

Status fill_random(std::vector<Tensor>& tensors) {
  std::vector<InputSpec> specs;
  for (const Tensor& tensor : tensors) specs.push_back({"", tensor.dtype(), tensor.shape()});
  const auto source = open_samples("random", specs, {.limit = 1});
  if (!source) return source.errors();
  const auto sample = (*source)->sample(0);
  if (!sample) return sample.errors();
  for (std::size_t i = 0; i < tensors.size(); ++i)
    std::memcpy(tensors[i].data(), (*sample)[i].data(), tensors[i].bytes());
  return ok_status();
}

}  // namespace octavo
