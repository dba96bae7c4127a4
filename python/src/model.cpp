// A loaded model as Python calls it. Part of the extension.
#include "model.h"

#include <algorithm>
#include <cstring>

#include "errors.h"

namespace nb = nanobind;

namespace octavo::python {
namespace {

std::vector<v1::OpenTensorInfo> described(const std::vector<v1::TensorInfo>& tensors) {
  std::vector<v1::OpenTensorInfo> infos;
  for (const v1::TensorInfo& tensor : tensors) {
    v1::OpenTensorInfo& info = infos.emplace_back(v1::OpenTensorInfo{.name = tensor.name, .dtype = tensor.dtype});
    for (const std::int64_t extent : tensor.shape) info.shape.push_back(std::to_string(extent));
  }
  return infos;
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return "[" + text + "]";
}

[[noreturn]] void refuse_count(const char* what, std::size_t found, const std::vector<v1::OpenTensorInfo>& tensors) {
  std::string names;
  for (const v1::OpenTensorInfo& tensor : tensors) names += (names.empty() ? "'" : ", '") + tensor.name + "'";
  raise(Error{.kind = ErrorKind::usage,
              .where = what,
              .found = std::to_string(found) + " arrays",
              .expected = std::to_string(tensors.size()) + ": " + names});
}

using ViewOf = ArrayView (*)(nb::handle, const Wanted&);

template <class Arrays>  // a list or another sequence
std::vector<ArrayView> views_of(const Arrays& arrays, const std::vector<v1::OpenTensorInfo>& tensors, const char* what,
                                Places places, ViewOf view) {
  const std::size_t count = nb::len(arrays);
  if (count != tensors.size()) refuse_count((std::string(what) + "s").c_str(), count, tensors);
  std::vector<ArrayView> views;
  views.reserve(count);
  std::size_t i = 0;
  for (const nb::handle array : arrays) {
    views.push_back(view(array, {std::string(what) + " '" + tensors[i].name + "'", tensors[i].dtype, places}));
    ++i;
  }
  return views;
}

Shapes shapes_of(const std::vector<ArrayView>& views) {
  Shapes shapes;
  shapes.reserve(views.size());
  for (const ArrayView& view : views) shapes.push_back(view.shape);
  return shapes;
}

std::vector<v1::ConstTensorRef> read_refs(const std::vector<ArrayView>& views) {
  std::vector<v1::ConstTensorRef> refs;
  refs.reserve(views.size());
  for (const ArrayView& view : views) refs.push_back(view.read());
  return refs;
}

std::vector<v1::TensorRef> write_refs(const std::vector<ArrayView>& views) {
  std::vector<v1::TensorRef> refs;
  refs.reserve(views.size());
  for (const ArrayView& view : views) refs.push_back(view.written());
  return refs;
}

nb::list new_outputs(const std::vector<v1::TensorInfo>& outputs) {
  nb::list arrays;
  for (const v1::TensorInfo& output : outputs) arrays.append(new_array(output.dtype, output.shape));
  return arrays;
}

std::stop_token token_of(const Stop* stop) { return stop == nullptr ? std::stop_token() : stop->token(); }

template <class Function>
auto without_gil(Function function) {
  const nb::gil_scoped_release released;
  return function();
}

}  // namespace

LoadedModel::LoadedModel(v1::CompiledModel compiled, const v1::LoadOptions& options)
    : compiled_(std::move(compiled)), options_(options), info_(compiled_.info()) {
  const bool has_plan = !info_.plans.empty();
  inputs_ = has_plan && !is_open() ? described(info_.plans[0].inputs) : info_.open_inputs;
  outputs_ = has_plan && !is_open() ? described(info_.plans[0].outputs) : info_.open_outputs;
  if (is_program()) {
    auto program = value_of(without_gil([&] { return v1::Program::load(compiled_, options_); }));
    free_programs_.push_back(std::make_unique<v1::Program>(std::move(program)));
    return;
  }
  auto model = value_of(without_gil([&] { return v1::Model::load(compiled_, options_); }));
  model_ = std::make_unique<v1::Model>(std::move(model));
}

std::vector<ArrayView> LoadedModel::views_of_inputs(const nb::sequence& arrays) const {
  return views_of(arrays, inputs_, "input", places(), &view_to_read);
}

std::vector<ArrayView> LoadedModel::views_to_bind(const nb::sequence& arrays) const {
  return views_of(arrays, inputs_, "input", places(), &view_in_place);
}

std::vector<ArrayView> LoadedModel::views_of_outputs(const nb::list& arrays) const {
  return views_of(arrays, outputs_, "output", places(), &view_to_write);
}

// Between the parts of a program tensors are the CPU's.
Places LoadedModel::places() const {
  return info_.is_for_device && !is_program() ? Places::cpu_and_devices : Places::cpu;
}

// Of fixed sizes: the plan of these shapes. Where there is one plan alone, its run says what does not fit.
std::size_t LoadedModel::plan_for(const Shapes& shapes) const {
  for (std::size_t i = 0; i < info_.plans.size(); ++i) {
    const std::vector<v1::TensorInfo>& inputs = info_.plans[i].inputs;
    if (std::ranges::equal(inputs, shapes, {}, &v1::TensorInfo::shape)) return i;
  }
  if (info_.plans.size() == 1) return 0;
  std::string found, known;
  for (std::size_t i = 0; i < shapes.size(); ++i) found += (i == 0 ? "" : ", ") + text_of(shapes[i]);
  for (const v1::PlanInfo& plan : info_.plans) {
    known += known.empty() ? "" : "; ";
    for (const v1::TensorInfo& input : plan.inputs)
      known += (&input == &plan.inputs[0] ? "" : ", ") + text_of(input.shape);
  }
  raise(Error{.kind = ErrorKind::usage, .where = "inputs of shapes", .found = found, .expected = "one of " + known});
}

std::unique_ptr<Slot> LoadedModel::take(const Shapes& shapes) {
  const bool is_sized = is_open();
  const std::size_t plan = is_sized ? 0 : plan_for(shapes);
  const auto fits = [&](const std::unique_ptr<Slot>& slot) {
    return is_sized ? slot->shapes == shapes : slot->plan == plan;
  };
  // The one that was given back last: its memory is the warmest.
  auto found = std::find_if(free_.rbegin(), free_.rend(), fits);
  const bool is_fit = found != free_.rend();
  if (!is_fit && is_sized) found = free_.rbegin();
  if (found != free_.rend()) {
    std::unique_ptr<Slot> slot = std::move(*found);
    free_.erase(std::next(found).base());
    if (is_fit) return slot;
    const Status resized = without_gil([&] { return slot->context.resize(shapes); });
    if (!resized) {
      give_back(std::move(slot));
      raise(resized.errors());
    }
    slot->shapes = shapes;
    return slot;
  }
  auto context =
      without_gil([&] { return is_sized ? v1::Context::create(*model_, shapes) : v1::Context::create(*model_, plan); });
  return std::make_unique<Slot>(Slot{value_of(std::move(context)), plan, is_sized ? shapes : Shapes()});
}

nb::list LoadedModel::run(const nb::sequence& inputs, const nb::object& outputs, const Stop* stop) {
  const std::stop_token token = token_of(stop);
  if (is_program()) return run_program(inputs, outputs, token);
  const std::vector<ArrayView> given = views_of_inputs(inputs);
  std::unique_ptr<Slot> slot = take(shapes_of(given));
  nb::list arrays;
  Status done = ok_status();
  try {
    arrays = outputs.is_none() ? new_outputs(slot->context.outputs()) : nb::list(outputs);
    const std::vector<ArrayView> written = views_of_outputs(arrays);
    const auto reads = read_refs(given);
    const auto writes = write_refs(written);
    done = without_gil([&] { return slot->context.run(reads, writes, token); });
  } catch (...) {
    give_back(std::move(slot));
    throw;
  }
  give_back(std::move(slot));
  if (!done) raise(done.errors());
  return arrays;
}

nb::list LoadedModel::run_program(const nb::sequence& inputs, const nb::object& outputs, const std::stop_token& stop) {
  if (!outputs.is_none())
    raise(Error{.kind = ErrorKind::unsupported,
                .where = info_.source,
                .found = "arrays for the outputs",
                .expected = "none: shapes of this model's outputs are known after a run"});
  const std::vector<ArrayView> given = views_of_inputs(inputs);
  if (free_programs_.empty()) {
    auto another = value_of(without_gil([&] { return v1::Program::load(compiled_, options_); }));
    free_programs_.push_back(std::make_unique<v1::Program>(std::move(another)));
  }
  std::unique_ptr<v1::Program> program = std::move(free_programs_.back());
  free_programs_.pop_back();
  const auto reads = read_refs(given);
  const Status done = without_gil([&] { return program->run(reads, stop); });
  nb::list arrays;
  if (done) {
    for (const v1::ProgramOutput& output : program->outputs()) {
      nb::object array = new_array(output.dtype, output.shape);
      const ArrayView view = view_to_write(array, {.where = "output '" + output.name + "'", .dtype = output.dtype});
      std::size_t bytes = size_of(output.dtype);
      for (const std::int64_t extent : output.shape) bytes *= static_cast<std::size_t>(extent);
      if (bytes > 0) std::memcpy(view.data, output.data, bytes);
      arrays.append(std::move(array));
    }
  }
  free_programs_.push_back(std::move(program));
  if (!done) raise(done.errors());
  return arrays;
}

std::uint64_t LoadedModel::memory_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& slot : free_) bytes += slot->context.memory_bytes();
  for (const auto& program : free_programs_) bytes += program->memory_bytes();
  return bytes;
}

BoundModel::BoundModel(std::shared_ptr<LoadedModel> model, const nb::sequence& inputs, const nb::object& outputs)
    : model_(std::move(model)) {
  if (model_->is_program())
    raise(Error{.kind = ErrorKind::unsupported,
                .where = model_->info().source,
                .found = "arrays to bind",
                .expected = "run(): shapes of this model's outputs are known after a run"});
  inputs_ = model_->views_to_bind(inputs);
  slot_ = model_->take(shapes_of(inputs_));
  output_arrays_ = outputs.is_none() ? new_outputs(slot_->context.outputs()) : nb::list(outputs);
  outputs_ = model_->views_of_outputs(output_arrays_);
  input_refs_ = read_refs(inputs_);
  output_refs_ = write_refs(outputs_);
  run(nullptr);  // what does not fit is said now
}

BoundModel::~BoundModel() {
  if (slot_) model_->give_back(std::move(slot_));
}

void BoundModel::run(const Stop* stop) {
  if (!slot_)
    raise(Error{.kind = ErrorKind::usage,
                .where = "a bound model",
                .found = "a call beside another one of it",
                .expected = "one thread at a time: bind once for each"});
  std::unique_ptr<Slot> slot = std::move(slot_);  // so that another thread finds none
  const std::stop_token token = token_of(stop);
  const Status done = without_gil([&] { return slot->context.run(input_refs_, output_refs_, token); });
  slot_ = std::move(slot);
  if (!done) raise(done.errors());
}

}  // namespace octavo::python
