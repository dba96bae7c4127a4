// Loading a model for one of its plans, or for a size that its file has none of. Part of analyze/.
#include "analyze/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "api/inside.h"
#include "base/machine.h"
#include "base/sizes.h"
#include "run/device.h"

namespace octavo {
namespace {

Error usage(const v1::ModelInfo& info, std::string found, std::string expected) {
  return {.kind = ErrorKind::usage, .where = info.source, .found = std::move(found), .expected = std::move(expected)};
}

// An extent of OpenTensorInfo::shape.
std::optional<std::int64_t> number_in(const std::string& extent) {
  const bool is_number = std::ranges::all_of(extent, [](unsigned char c) { return std::isdigit(c) != 0; });
  return is_number ? std::optional<std::int64_t>(std::stoll(extent)) : std::nullopt;
}

// "int8 batch 1 at x=1x3x224x224"
std::string described(const v1::PlanInfo& plan) {
  return fmt::format("{} batch {} at {}", name_of(plan.precision), plan.batch, v1::text_of(shapes_of(plan.inputs)));
}

std::string described(const v1::PlanChoice& choice) {
  return fmt::format("{}{}{}", choice.precision ? name_of(*choice.precision) : "",
                     choice.precision && choice.batch ? " " : "",
                     choice.batch ? fmt::format("batch {}", *choice.batch) : "");
}

bool is_asked(const v1::PlanInfo& plan, const v1::PlanChoice& choice) {
  return (!choice.precision || plan.precision == *choice.precision) && (!choice.batch || plan.batch == *choice.batch);
}

// The sizes that the shapes of some inputs say.
std::map<std::string, std::int64_t> sizes_said(const v1::ModelInfo& info, const v1::InputShapes& given) {
  std::map<std::string, std::int64_t> sizes;
  for (const v1::OpenTensorInfo& input : info.open_inputs) {
    const auto own = given.find(input.name);
    if (own == given.end()) continue;
    for (std::size_t axis = 0; axis < std::min(input.shape.size(), own->second.size()); ++axis) {
      if (!number_in(input.shape[axis])) sizes.emplace(input.shape[axis], own->second[axis]);
    }
  }
  return sizes;
}

Status check_names(const v1::ModelInfo& info, const v1::InputShapes& given) {
  std::vector<std::string> names;
  for (const v1::OpenTensorInfo& input : info.open_inputs) names.push_back("'" + input.name + "'");
  for (const auto& [name, shape] : given) {
    if (std::ranges::find(names, "'" + name + "'") == names.end())
      return usage(info, "a shape for '" + name + "', which is no input", fmt::format("{}", fmt::join(names, ", ")));
  }
  return ok_status();
}

// All inputs', in their order. What the model cannot have is found by whoever plans for them.
Result<std::vector<std::vector<std::int64_t>>> all_shapes(const v1::ModelInfo& info, const v1::InputShapes& given) {
  if (const Status known = check_names(info, given); !known) return known.errors();
  const auto sizes = sizes_said(info, given);
  std::vector<std::vector<std::int64_t>> shapes;
  for (const v1::OpenTensorInfo& input : info.open_inputs) {
    std::vector<std::int64_t>& shape = shapes.emplace_back();
    if (const auto own = given.find(input.name); own != given.end()) {
      shape = own->second;
      continue;
    }
    for (const std::string& extent : input.shape) {
      const auto size = sizes.find(extent);
      const auto number = size == sizes.end() ? number_in(extent) : size->second;
      if (!number)
        return usage(info, "no shape for input '" + input.name + "'", fmt::format("{}", fmt::join(input.shape, "x")));
      shape.push_back(*number);
    }
  }
  return shapes;
}

Result<v1::Context> context_for(const v1::Model& model, const v1::ModelInfo& info, const RunChoice& choice,
                                const v1::ThreadPool* pool) {
  if (choice.shapes.empty() && info.plans.empty() && !info.sizes.empty()) return no_size_given(info);
  if (choice.shapes.empty() || info.sizes.empty()) {
    const auto plan = choice.shapes.empty() ? model.find_plan(choice.plan) : plan_of_shapes(info, choice);
    return plan ? v1::Context::create(model, *plan, pool) : plan.errors();
  }
  const auto shapes = all_shapes(info, choice.shapes);
  if (!shapes) return shapes.errors();
  auto context = v1::Context::create(model, *shapes, pool);
  if (!context || is_asked(context->plan(), choice.plan)) return context;
  return usage(info, described(context->plan()), described(choice.plan));
}

// Copies a sample, of the inputs' types and shapes, into them.
void fill_with(const std::vector<Tensor>& sample, std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < sample.size(); ++i) std::memcpy(inputs[i].data(), sample[i].data(), sample[i].bytes());
}

Result<std::optional<Preprocess>> pictures_of(const v1::ModelInfo& info) {
  if (info.pictures.empty()) return std::optional<Preprocess>();
  auto known = parse_preprocess(info.pictures);
  return known ? Result<std::optional<Preprocess>>(*known) : known.errors();
}

Result<std::optional<Preprocess>> preprocess_beside(const std::optional<Preprocess>& inside,
                                                    const CompileRequest& request) {
  if (!inside) return request.preprocess;
  if (request.preprocess && *request.preprocess != *inside) {
    return Error{.kind = ErrorKind::usage,
                 .where = "--preprocess",
                 .found = "another SPEC than the model computes inside",
                 .expected = "that one, or none: octavo inspect tells it"};
  }
  return std::optional(without_values(*inside));
}

// By axis; nothing for numbers.
std::vector<std::optional<OpenSize>> open_axes(const v1::ModelInfo& info, const v1::OpenTensorInfo& input) {
  std::vector<std::optional<OpenSize>> axes;
  for (const std::string& extent : input.shape) {
    const auto size = std::ranges::find(info.sizes, extent, &v1::SizeInfo::name);
    if (size != info.sizes.end()) axes.emplace_back(OpenSize{size->name, {size->lowest, size->highest}, size->step});
    else if (number_in(extent)) axes.emplace_back();
    else axes.emplace_back(OpenSize{.name = extent, .range = {}});
  }
  return axes;
}

}  // namespace

Result<std::size_t> plan_of_shapes(const v1::ModelInfo& info, const RunChoice& choice) {
  std::vector<std::string> has;
  for (std::size_t i = 0; i < info.plans.size(); ++i) {
    const v1::InputShapes own = shapes_of(info.plans[i].inputs);
    const bool fits = std::ranges::all_of(choice.shapes, [&](const auto& asked) {
      const auto input = own.find(asked.first);
      return input != own.end() && input->second == asked.second;
    });
    if (fits && is_asked(info.plans[i], choice.plan)) return i;
    has.push_back(described(info.plans[i]));
  }
  return usage(info, v1::text_of(choice.shapes), fmt::format("its sizes, which are fixed: {}", fmt::join(has, "; ")));
}

RunChoice choice_of(const std::string& path, const CompileRequest& request) {
  const bool is_at_size = !request.shapes.empty() && v1::is_compiled(path);
  return {
      .plan = request.plan, .shapes = is_at_size ? request.shapes.front() : v1::InputShapes{}, .settings = request.run};
}

bool opens_more_than_batch(const v1::ModelInfo& info) {
  const auto is_open_inside = [](const v1::OpenTensorInfo& input) {
    return !std::all_of(input.shape.begin() + std::min<std::ptrdiff_t>(1, std::ssize(input.shape)), input.shape.end(),
                        number_in);
  };
  return info.sizes.size() > 1 || std::ranges::any_of(info.open_inputs, is_open_inside);
}

v1::InputShapes shapes_of(const std::vector<v1::TensorInfo>& inputs) {
  v1::InputShapes shapes;
  for (const v1::TensorInfo& input : inputs) shapes[input.name] = input.shape;
  return shapes;
}

v1::InputShapes shapes_of(const std::vector<InputSpec>& inputs) {
  v1::InputShapes shapes;
  for (const InputSpec& input : inputs) shapes[input.name] = input.shape.to_vector();
  return shapes;
}

std::string brief(const v1::InputShapes& shapes) {
  return shapes.size() == 1 ? Shape(shapes.begin()->second).to_string() : v1::text_of(shapes);
}

v1::InputShapes shapes_of_crop(const v1::ModelInfo& info, const CompileRequest& request) {
  const auto pictures = pictures_of(info);
  if (!pictures || info.open_inputs.size() != 1 || !opens_more_than_batch(info)) return {};
  const auto spec = *pictures ? without_values(**pictures) : request.preprocess.value_or(Preprocess{});
  if (!spec.crop) return {};
  std::vector<std::int64_t> shape;
  for (const std::string& extent : info.open_inputs[0].shape)
    shape.push_back(number_in(extent).value_or(shape.empty() ? request.plan.batch.value_or(1) : *spec.crop));
  if (!image_input_of(Shape(shape), spec)) return {};
  return {{info.open_inputs[0].name, shape}};
}

Error no_size_given(const v1::ModelInfo& info) {
  std::vector<std::string> sizes, shapes;
  for (const v1::SizeInfo& size : info.sizes)
    sizes.push_back(size.name + ": " + to_string(OpenSize{size.name, {size.lowest, size.highest}, size.step}));
  for (const v1::OpenTensorInfo& input : info.open_inputs)
    shapes.push_back(fmt::format("--shape {}={}", input.name, fmt::join(input.shape, "x")));
  return usage(info, fmt::format("open sizes and no plan of any ({})", fmt::join(sizes, "; ")),
               fmt::format("numbers for them: {}", fmt::join(shapes, " ")));
}

std::vector<InputSpec> open_sample_inputs(const v1::ModelInfo& info) {
  std::vector<InputSpec> inputs;
  for (const v1::OpenTensorInfo& input : info.open_inputs) {
    std::vector<std::int64_t> shape;
    for (const std::string& extent : input.shape) shape.push_back(number_in(extent).value_or(shape.empty() ? 1 : 0));
    inputs.push_back({.name = input.name, .dtype = input.dtype, .shape = Shape(shape), .open = open_axes(info, input)});
  }
  return inputs;
}

Session::Session(v1::Context context, v1::PlanInfo plan, std::optional<Preprocess> pictures, int threads)
    : context_(std::move(context)), plan_(std::move(plan)), pictures_(pictures), threads_(threads) {
  bind();
}

void Session::bind() {
  inputs_.clear(), input_refs_.clear(), outputs_.clear(), output_refs_.clear();
  for (const v1::TensorInfo& info : context_ ? context_->inputs() : plan_.inputs) {
    inputs_.emplace_back(info.dtype, Shape(info.shape));
    input_refs_.push_back({info.dtype, info.shape, inputs_.back().data()});
  }
  if (!context_) return;
  for (const v1::TensorInfo& info : context_->outputs()) {
    outputs_.emplace_back(info.dtype, Shape(info.shape));
    output_refs_.push_back({info.dtype, info.shape, outputs_.back().data()});
  }
}

Result<Session> Session::create(const v1::CompiledModel& compiled, const RunChoice& choice, int threads) {
  const auto model = v1::Model::load(compiled, choice.settings.with(threads));
  return model ? create(*model, choice, nullptr) : model.errors();
}

Result<Session> Session::create(const v1::Model& model, const RunChoice& choice, const v1::ThreadPool* pool) {
  const v1::ModelInfo info = model.info();
  auto context = context_for(model, info, choice, pool);
  if (!context) return context.errors();
  const auto pictures = pictures_of(info);
  if (!pictures) return pictures.errors();
  v1::PlanInfo plan = context->plan();
  Session session(std::move(*context), std::move(plan), *pictures, model.threads());
  session.model_ = model;
  session.states_ = info.states;
  return session;
}

Session::Session(v1::Program program, v1::PlanInfo plan, int threads)
    : program_(std::move(program)), plan_(std::move(plan)), threads_(threads) {
  bind();
}

Result<Session> Session::of_program(const v1::CompiledModel& compiled, const RunChoice& choice, int threads) {
  auto program = v1::Program::load(compiled, choice.settings.with(threads));
  if (!program) return program.errors();
  const v1::ModelInfo info = program->info();
  const auto shapes = all_shapes(info, choice.shapes);
  if (!shapes) return shapes.errors();
  v1::PlanInfo plan;
  for (const v1::ModelInfo& network : info.networks) {
    for (const v1::PlanInfo& part : network.plans) {
      plan.precision = part.precision;
      plan.steps += part.steps;
      plan.macs += part.macs;
    }
  }
  for (std::size_t i = 0; i < shapes->size(); ++i)
    plan.inputs.push_back(
        {.name = info.open_inputs[i].name, .dtype = info.open_inputs[i].dtype, .shape = (*shapes)[i]});
  if (!plan.inputs.empty() && !plan.inputs[0].shape.empty()) plan.batch = plan.inputs[0].shape[0];
  const int used = threads > 0 ? threads : host_machine().cores;
  Session session(std::move(*program), std::move(plan), used);
  session.states_ = info.states;
  return session;
}

Error needs_one_network(std::string where) {
  return {.kind = ErrorKind::usage,
          .where = std::move(where),
          .found = "a model of several parts, whose control flow or shapes depend on data",
          .expected = "a model that is one network"};
}

Result<Session> Session::of_any(const v1::CompiledModel& compiled, const RunChoice& choice, int threads) {
  return compiled.info().parts.empty() ? create(compiled, choice, threads) : of_program(compiled, choice, threads);
}

// The outputs are the program's, until its next run.
Status Session::run_program() {
  outputs_.clear();
  plan_.outputs.clear();
  if (Status done = program_->run(input_refs_); !done) return done;
  for (const v1::ProgramOutput& output : program_->outputs()) {
    plan_.outputs.push_back({.name = output.name, .dtype = output.dtype, .shape = output.shape});
    outputs_.push_back(
        Tensor::borrowed({output.dtype, Shape(output.shape), static_cast<const std::byte*>(output.data)}));
  }
  return ok_status();
}

Status Session::resize(const std::vector<Shape>& shapes) {
  const bool is_same = std::ranges::equal(shapes, inputs_, {}, {}, &Tensor::shape);
  if (is_same) return ok_status();
  std::vector<std::vector<std::int64_t>> all;
  for (const Shape& shape : shapes) all.push_back(shape.to_vector());
  if (context_) {
    if (Status resized = context_->resize(all); !resized) return resized;
    plan_ = context_->plan();
  } else {
    for (std::size_t i = 0; i < all.size(); ++i) plan_.inputs[i].shape = std::move(all[i]);
  }
  bind();
  return ok_status();
}

Status Session::take(const std::vector<Tensor>& sample) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : sample) shapes.push_back(tensor.shape());
  if (Status resized = resize(shapes); !resized) return resized;
  fill_with(sample, inputs_);
  return ok_status();
}

std::vector<InputSpec> Session::sample_inputs() const {
  std::vector<InputSpec> inputs;
  for (const v1::TensorInfo& input : plan_.inputs) inputs.push_back(input_spec(input, plan_.batch));
  if (!model_) return inputs;
  for (InputSpec& open : open_sample_inputs(model_->info())) {
    const auto same = std::ranges::find(inputs, open.name, &InputSpec::name);
    if (same != inputs.end()) same->open = std::move(open.open);
  }
  return inputs;
}

Status Session::run() {
  if (unpadded_) return unpadded_->run(input_refs_, output_refs_);
  return program_ ? run_program() : context_->run(input_refs_, output_refs_);
}

Status Session::move_to_device(int device) {
  if (!context_ || !plan_.is_for_device)
    return Error{.kind = ErrorKind::usage,
                 .where = "--tensors device",
                 .found = "a plan for processors",
                 .expected = "one for a device (--target cuda)"};
  const auto move = [&](const Tensor& tensor, auto& ref) -> Status {
    auto memory = linked_devices()->upload({tensor.data(), tensor.bytes()}, device);
    if (!memory) return memory.errors();
    ref.data = on_device_.emplace_back(std::move(*memory)).get();
    return ok_status();
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (Status status = move(inputs_[i], input_refs_[i]); !status) return status;
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (Status status = move(outputs_[i], output_refs_[i]); !status) return status;
  }
  return ok_status();
}

Status Session::skip_padding(const std::string& mask) {
  if (program_) return needs_one_network("--skip-padding");
  auto made = v1::Unpadded::create(*model_, mask);
  if (!made) return made.errors();
  unpadded_ = std::move(*made);
  return ok_status();
}

Result<std::optional<Preprocess>> preprocess_for(const Session& session, const CompileRequest& request) {
  return preprocess_beside(session.pictures(), request);
}

Result<std::optional<Preprocess>> preprocess_for(const v1::ModelInfo& info, const CompileRequest& request) {
  const auto inside = pictures_of(info);
  return inside ? preprocess_beside(*inside, request) : inside.errors();
}

Status fill_random(std::vector<Tensor>& tensors) {
  std::vector<InputSpec> specs;
  for (const Tensor& tensor : tensors) specs.push_back({"", tensor.dtype(), tensor.shape()});
  const auto source = open_samples("random", specs, {.limit = 1});
  if (!source) return source.errors();
  const auto sample = (*source)->sample(0);
  if (!sample) return sample.errors();
  fill_with(*sample, tensors);
  return ok_status();
}

}  // namespace octavo
