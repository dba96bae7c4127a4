// Loading programs, and the driver that walks over their parts. Part of run/.
#include "run/program.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <optional>

#include "base/exceptions.h"
#include "run/context_memory.h"
#include "run/open_plans.h"
#include "run/program_memory.h"

namespace octavo {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

// Loading says where there is no such value.
DType type_of(const OpenNetwork& network, std::int32_t value) {
  const bool exists = value >= 0 && at(value) < network.graph.values.size();
  return exists ? network.graph.values[at(value)].dtype : DType::f32;
}

// A program of one part.
CompiledModel as_program(CompiledModel model) {
  Program program;
  program.blocks.resize(1);
  ProgramBlock& block = program.blocks[0];
  ProgramPart part{.name = model.source, .network = 0};
  const NetworkPorts ports = ports_of(model);
  const auto add = [&](std::vector<std::int32_t>& list, std::string name, DType dtype) {
    program.values.push_back({.name = std::move(name), .dtype = dtype});
    list.push_back(static_cast<std::int32_t>(program.values.size()) - 1);
  };
  for (std::size_t i = 0; i < ports.inputs; ++i) {
    if (!model.plans.empty()) add(block.inputs, model.plans[0].inputs[i].name, model.plans[0].input(i).dtype);
    else add(block.inputs, "input " + std::to_string(i), type_of(*model.network, model.network->graph.inputs[i]));
  }
  for (std::size_t i = 0; i < ports.outputs; ++i) {
    if (!model.plans.empty()) add(block.outputs, model.plans[0].outputs[i].name, model.plans[0].output(i).dtype);
    else add(block.outputs, "output " + std::to_string(i), type_of(*model.network, model.network->graph.outputs[i]));
    program.output_names.push_back(program.values.back().name);
  }
  part.inputs = block.inputs;
  part.outputs = block.outputs;
  part.extents.assign(ports.outputs, kNoIndex);
  block.parts.push_back(std::move(part));
  CompiledModel made{.source = model.source, .program = std::move(program)};
  made.networks.push_back(std::move(model));
  return made;
}

Errors inside(const std::string& where, Errors errors) {
  for (Error& error : errors) error.where = where + (error.where.empty() ? "" : ", " + error.where);
  return errors;
}

}  // namespace

Result<std::shared_ptr<const ProgramModel>> load_program(CompiledModel compiled, const LoadOptions& options) {
  auto model = std::make_shared<ProgramModel>();
  model->max_iterations_ = options.max_iterations;
  model->most_bytes_ =
      options.context_bytes == 0 ? kMaxContextBytes : std::min(options.context_bytes, kMaxContextBytes);
  if (!compiled.program) compiled = as_program(std::move(compiled));
  if (Status known = check_program(compiled); !known) return inside(compiled.source, known.errors());
  model->program_ = std::move(*compiled.program);
  for (CompiledModel& network : compiled.networks) {
    auto loaded = load_model(std::move(network), options);
    if (!loaded) return loaded.errors();
    model->networks_.push_back(std::move(*loaded));
  }
  model->unused_ = last_uses(model->program_);
  return std::shared_ptr<const ProgramModel>(std::move(model));
}

struct ProgramContext::State {
  std::shared_ptr<const ProgramModel> model;
  std::shared_ptr<Executor> executor;
  std::shared_ptr<ProgramMemory> memory;
  std::vector<std::optional<Context>> contexts;  // by network
  std::vector<ProgramTensor> values;             // by value of the program
  std::vector<ProgramTensor> kept;               // outputs
  std::vector<ConstTensorView> outputs;
  std::int64_t iterations = 0;
  std::stop_token stop;  // of this run
  NetworkObserver observer;
  StepObserver step_observer;

  const Program& program() const { return model->program(); }
  ProgramTensor& value(std::int32_t index) { return values[at(index)]; }

  static Error wrong(const ProgramPart& part, std::string found, std::string expected) {
    return {.kind = ErrorKind::usage, .where = part.name, .found = std::move(found), .expected = std::move(expected)};
  }

  Result<ProgramTensor> make(DType dtype, const Shape& shape) {
    const ConstTensorView view{.dtype = dtype, .shape = shape};
    auto taken = memory->take(view.bytes());
    if (!taken) return taken.errors();
    ProgramTensor made{view, *taken};
    made.view.data = taken->get();
    return made;
  }
  static std::byte* data_of(const ProgramTensor& made) { return const_cast<std::byte*>(made.view.data); }

  Status run(std::span<const ConstTensorView> inputs, const std::stop_token& asked) {
    iterations = 0;
    stop = asked;
    values.assign(program().values.size(), {});
    kept.clear();
    outputs.clear();
    const ProgramBlock& main = program().blocks[0];
    if (inputs.size() != main.inputs.size())
      return Error{ErrorKind::usage, "inputs", std::to_string(inputs.size()), std::to_string(main.inputs.size()), ""};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (Status known = check_input(inputs[i], i); !known) return known;
      if (main.inputs[i] != kNoIndex) value(main.inputs[i]).view = inputs[i];
    }
    if (Status done = run_block(0); !done) return forget(std::move(done).errors());
    for (const std::int32_t output : main.outputs) {
      auto own = value(output).owner != nullptr ? Result(value(output)) : copy_of(value(output));
      if (!own) return forget(std::move(own).errors());
      outputs.push_back(own->view);
      kept.push_back(std::move(*own));
    }
    values.clear();
    return ok_status();
  }

  Errors forget(Errors errors) {
    values.clear();
    kept.clear();
    outputs.clear();
    return errors;
  }

  Status check_input(const ConstTensorView& input, std::size_t i) const {
    const std::int32_t index = program().blocks[0].inputs[i];
    if (index == kNoIndex) return ok_status();
    const std::string where = "input '" + program().values[at(index)].name + "'";
    if (input.dtype != program().values[at(index)].dtype)
      return Error{ErrorKind::usage, where, std::string(name_of(input.dtype)),
                   std::string(name_of(program().values[at(index)].dtype)), ""};
    if (input.data == nullptr && input.bytes() != 0)
      return Error{ErrorKind::usage, where, "no memory", std::to_string(input.bytes()) + " bytes", ""};
    return ok_status();
  }

  Result<ProgramTensor> copy_of(const ProgramTensor& tensor) {
    auto made = make(tensor.view.dtype, tensor.view.shape);
    if (made && tensor.view.bytes() > 0) std::memcpy(data_of(*made), tensor.view.data, tensor.view.bytes());
    return made;
  }

  Status run_block(std::size_t index) {
    const ProgramBlock& block = program().blocks[index];
    for (std::size_t i = 0; i < block.parts.size(); ++i) {
      const ProgramPart& part = block.parts[i];
      Status done = part.kind == PartKind::network  ? run_network(part)
                    : part.kind == PartKind::branch ? run_branch(part)
                    : part.kind == PartKind::loop   ? run_loop(part)
                                                    : refuse(part);
      if (!done) return done;
      for (const std::int32_t unused : model->unused_after(index, i)) value(unused) = {};
    }
    return ok_status();
  }

  static Status refuse(const ProgramPart& part) {
    return Error{ErrorKind::usage, "the run",
                 "a branch that is taken and has no meaning at the sizes that it was compiled for: " + part.name,
                 "inputs for which the other one is taken, or other sizes", ""};
  }

  // ---- networks ----

  Result<Context*> context_for(const ProgramPart& part) {
    const std::shared_ptr<const Model>& network = model->networks()[at(part.network)];
    std::vector<Shape> shapes;
    for (const std::int32_t input : part.inputs) shapes.push_back(value(input).view.shape);
    auto plan = network->sizes() == nullptr ? network->plan_at(0) : network->plan_for(shapes);
    if (!plan) return plan.errors();
    std::optional<Context>& context = contexts[at(part.network)];
    if (context) {
      if (Status set = context->set_plan(std::move(*plan)); !set) return set.errors();
    } else {
      auto created = Context::create(network, {.prepared = std::move(*plan), .executor = executor});
      if (!created) return created.errors();
      context.emplace(std::move(*created));
    }
    std::uint64_t arenas = 0;
    for (const std::optional<Context>& other : contexts) arenas += other ? other->memory_bytes() : 0;
    if (Status fits = memory->set_others(arenas); !fits) return fits.errors();
    if (step_observer) tell_steps(*context, part.network);
    return &*context;
  }

  void tell_steps(Context& context, std::int32_t network) {
    context.set_step_hook(
        [this, network, &context](const StepEvent& step) { step_observer(network, context.plan(), step); }, false);
  }

  Status run_network(const ProgramPart& part) {
    const auto context = context_for(part);
    if (!context) return inside(part.name, context.errors());
    std::vector<ConstTensorView> in;
    std::vector<TensorView> out;
    std::vector<ProgramTensor> made;
    for (const std::int32_t input : part.inputs) in.push_back(value(input).view);
    const Plan& plan = (*context)->plan();
    for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
      auto tensor = make(plan.output(i).dtype, Shape(plan.output(i).shape));
      if (!tensor) return inside(part.name, tensor.errors());
      out.push_back({tensor->view.dtype, tensor->view.shape, data_of(*tensor)});
      made.push_back(std::move(*tensor));
    }
    if (observer) observer(part.network, in);
    if (Status done = (*context)->run(in, out, stop); !done) return inside(part.name, std::move(done).errors());
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (part.outputs[i] == kNoIndex) continue;
      ProgramTensor tensor = made[i];
      if (part.extents[i] != kNoIndex) {
        const auto shape = computed_shape(part, tensor.view, made[at(part.extents[i])].view);
        if (!shape) return shape.errors();
        if (shape->elements() > tensor.view.shape.elements()) {
          auto whole = filled(tensor, *shape);
          if (!whole) return inside(part.name, whole.errors());
          tensor = std::move(*whole);
        }
        tensor.view.shape = *shape;
      }
      value(part.outputs[i]) = std::move(tensor);
    }
    return ok_status();
  }

  static Result<Shape> computed_shape(const ProgramPart& part, const ConstTensorView& whole,
                                      const ConstTensorView& extents) {
    constexpr std::int64_t kMostAxes = 64;
    if (extents.dtype != DType::s64 || extents.shape.elements() > kMostAxes)
      return wrong(part, "a shape of type " + std::string(name_of(extents.dtype)), "s64, at most 64 of them");
    const std::vector<std::int64_t> dims = to_int64s(extents);
    const auto elements = checked_elements(dims);
    if (elements && (*elements <= whole.shape.elements() || whole.shape.elements() == 1)) return Shape(dims);
    return wrong(part, "a computed shape " + print(dims), "one within " + whole.shape.to_string());
  }

  // A tensor of that shape whose elements are all the one that there is.
  Result<ProgramTensor> filled(const ProgramTensor& one, const Shape& shape) {
    auto made = make(one.view.dtype, shape);
    const std::size_t size = size_of(one.view.dtype);
    for (std::size_t at = 0; made && at < made->view.bytes(); at += size)
      std::memcpy(data_of(*made) + at, one.view.data, size);
    return made;
  }

  // ---- control flow ----

  // The only element of a tensor.
  template <class T>
  Result<T> scalar(const ProgramPart& part, std::int32_t index, DType dtype, const char* what) {
    const ConstTensorView& view = value(index).view;
    if (view.dtype != dtype || view.shape.elements() != 1)
      return wrong(part,
                   std::string(what) + " that is " + std::string(name_of(view.dtype)) + " " + view.shape.to_string(),
                   std::string(name_of(dtype)) + " of one element");
    T number{};
    std::memcpy(&number, view.data, sizeof number);
    return number;
  }
  Result<bool> condition(const ProgramPart& part, std::int32_t index) {
    const auto given = scalar<std::uint8_t>(part, index, DType::boolean, "a condition");
    if (!given) return given.errors();
    return *given != 0;
  }
  template <class T>
  Result<ProgramTensor> scalar_tensor(DType dtype, T number) {
    auto made = make(dtype, Shape{});
    if (made) std::memcpy(data_of(*made), &number, sizeof number);
    return made;
  }

  Status run_branch(const ProgramPart& part) {
    const auto chosen = condition(part, part.inputs[0]);
    if (!chosen) return chosen.errors();
    const std::size_t block = at(part.blocks[*chosen ? 0 : 1]);
    if (Status done = run_block(block); !done) return done;
    for (std::size_t i = 0; i < part.outputs.size(); ++i) {
      if (part.outputs[i] != kNoIndex) value(part.outputs[i]) = value(program().blocks[block].outputs[i]);
    }
    return ok_status();
  }

  Result<ProgramTensor> slice(const ProgramTensor& whole, const ScannedAxis& scanned, std::int64_t index) {
    const int axis = static_cast<int>(scanned.axis);
    const Shape& shape = whole.view.shape;
    std::vector<std::int64_t> dims(shape.begin(), shape.end());
    dims.erase(dims.begin() + axis);
    const std::int64_t outer = shape.elements(0, axis), count = shape[axis];
    const auto bytes = static_cast<std::size_t>(shape.elements(axis + 1, shape.rank())) * size_of(whole.view.dtype);
    const std::int64_t from = scanned.is_reversed ? count - 1 - index : index;
    if (outer == 1 && bytes > 0)
      return ProgramTensor{{whole.view.dtype, Shape(dims), whole.view.data + static_cast<std::size_t>(from) * bytes},
                           whole.owner};
    auto made = make(whole.view.dtype, Shape(dims));
    for (std::int64_t o = 0; made && bytes > 0 && o < outer; ++o)
      std::memcpy(data_of(*made) + static_cast<std::size_t>(o) * bytes,
                  whole.view.data + static_cast<std::size_t>(o * count + from) * bytes, bytes);
    return made;
  }

  Result<ProgramTensor> stacked(const ProgramPart& part, const ScannedAxis& scanned, DType dtype,
                                const std::vector<ProgramTensor>& slices) {
    std::vector<std::int64_t> dims = scanned.slice;
    if (!slices.empty()) dims.assign(slices[0].view.shape.begin(), slices[0].view.shape.end());
    for (const ProgramTensor& one : slices) {
      if (one.view.dtype != dtype || one.view.shape != slices[0].view.shape)
        return wrong(part, "a slice of shape " + one.view.shape.to_string(),
                     slices[0].view.shape.to_string() + ", as in the first iteration");
    }
    const auto axis = static_cast<std::size_t>(scanned.axis);
    if (axis > dims.size()) return wrong(part, "slices of rank " + std::to_string(dims.size()), "more axes");
    const auto count = static_cast<std::int64_t>(slices.size());
    dims.insert(dims.begin() + scanned.axis, count);
    if (!checked_elements(dims)) return wrong(part, "a result of shape " + print(dims), "at most 2^33 elements");
    const Shape shape(dims);
    auto made = make(dtype, shape);
    const int rank = shape.rank(), at_axis = static_cast<int>(axis);
    const auto bytes = static_cast<std::size_t>(shape.elements(at_axis + 1, rank)) * size_of(dtype);
    for (std::int64_t i = 0; made && bytes > 0 && i < count; ++i) {
      const std::int64_t to = scanned.is_reversed ? count - 1 - i : i;
      for (std::int64_t o = 0; o < shape.elements(0, at_axis); ++o)
        std::memcpy(data_of(*made) + static_cast<std::size_t>(o * count + to) * bytes,
                    slices[static_cast<std::size_t>(i)].view.data + static_cast<std::size_t>(o) * bytes, bytes);
    }
    return made;
  }

  // How often at most: by the number that is given, and by what there is to read.
  Result<std::int64_t> trips_of(const ProgramPart& part, std::span<const std::int32_t> read) {
    std::int64_t trips = std::numeric_limits<std::int64_t>::max();
    if (part.inputs[0] != kNoIndex) {
      const auto given = scalar<std::int64_t>(part, part.inputs[0], DType::s64, "a number of iterations");
      if (!given) return given.errors();
      trips = std::max<std::int64_t>(*given, 0);
    }
    for (std::size_t i = 0; i < read.size(); ++i) {
      const Shape& shape = value(read[i]).view.shape;
      const std::int64_t axis = part.read[i].axis;
      const std::int64_t size = axis < shape.rank() ? shape[static_cast<int>(axis)] : -1;
      if (size < 0 || (i > 0 && size != trips))
        return wrong(part, "shape " + shape.to_string() + " to read along axis " + std::to_string(axis),
                     "slices, as many of each input");
      trips = i == 0 ? std::min(trips, size) : trips;
    }
    return trips;
  }

  Status count_iteration(const ProgramPart& part) {
    if (stop.stop_requested()) return Error{ErrorKind::cancelled, part.name, "a request to stop the run", "none", ""};
    if (++iterations <= model->max_iterations()) return ok_status();
    return Error{.kind = ErrorKind::resource,
                 .where = part.name,
                 .found = "more than " + std::to_string(model->max_iterations()) + " iterations in a run",
                 .expected = "a loop that ends before",
                 .hint = "Allow more with --max-iterations"};
  }

  Status run_loop(const ProgramPart& part) {
    const std::size_t carried_count = at(part.carried);
    const std::span read(part.inputs.data() + 2 + carried_count, part.read.size());
    const auto trips = trips_of(part, read);
    if (!trips) return trips.errors();
    bool goes_on = true;
    if (part.inputs[1] != kNoIndex) {
      const auto given = condition(part, part.inputs[1]);
      if (!given) return given.errors();
      goes_on = *given;
    }
    std::vector<ProgramTensor> carried;
    for (std::size_t i = 0; i < carried_count; ++i) carried.push_back(value(part.inputs[2 + i]));
    std::vector<std::vector<ProgramTensor>> written(part.written.size());
    const ProgramBlock& body = program().blocks[at(part.blocks[0])];
    for (std::int64_t i = 0; i < *trips && goes_on; ++i) {
      if (part.blocks.size() > 1) {
        const auto test = test_of(part, carried);
        if (!test) return test.errors();
        if (!*test) break;
      }
      if (Status counted = count_iteration(part); !counted) return counted;
      if (Status set = set_inputs(part, body, i, carried, read); !set) return set;
      if (Status done = run_block(at(part.blocks[0])); !done) return done;
      if (body.outputs[0] != kNoIndex) {
        const auto next = condition(part, body.outputs[0]);
        if (!next) return next.errors();
        goes_on = *next;
      }
      for (std::size_t k = 0; k < carried_count; ++k) carried[k] = value(body.outputs[1 + k]);
      for (std::size_t k = 0; k < written.size(); ++k) written[k].push_back(value(body.outputs[1 + carried_count + k]));
    }
    for (std::size_t i = 0; i < part.outputs.size(); ++i) {
      if (part.outputs[i] == kNoIndex) continue;
      if (i < carried_count) {
        value(part.outputs[i]) = std::move(carried[i]);
        continue;
      }
      const std::size_t k = i - carried_count;
      auto made = stacked(part, part.written[k], program().values[at(part.outputs[i])].dtype, written[k]);
      if (!made) return made.errors();
      value(part.outputs[i]) = std::move(*made);
    }
    return ok_status();
  }

  Result<bool> test_of(const ProgramPart& part, const std::vector<ProgramTensor>& carried) {
    const ProgramBlock& test = program().blocks[at(part.blocks[1])];
    for (std::size_t i = 0; i < carried.size(); ++i) {
      if (test.inputs[i] != kNoIndex) value(test.inputs[i]) = carried[i];
    }
    if (Status done = run_block(at(part.blocks[1])); !done) return done.errors();
    return condition(part, test.outputs[0]);
  }

  Status set_inputs(const ProgramPart& part, const ProgramBlock& body, std::int64_t iteration,
                    const std::vector<ProgramTensor>& carried, std::span<const std::int32_t> read) {
    const auto set = [&](std::size_t i, Result<ProgramTensor> tensor) -> Status {
      if (!tensor) return inside(part.name, tensor.errors());
      if (body.inputs[i] != kNoIndex) value(body.inputs[i]) = std::move(*tensor);
      return ok_status();
    };
    if (body.inputs[0] != kNoIndex) {
      if (Status done = set(0, scalar_tensor<std::int64_t>(DType::s64, iteration)); !done) return done;
    }
    if (body.inputs[1] != kNoIndex) {
      if (Status done = set(1, scalar_tensor<std::uint8_t>(DType::boolean, 1)); !done) return done;
    }
    for (std::size_t i = 0; i < carried.size(); ++i) {
      if (Status done = set(2 + i, carried[i]); !done) return done;
    }
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (Status done = set(2 + carried.size() + i, slice(value(read[i]), part.read[i], iteration)); !done) return done;
    }
    return ok_status();
  }
};

ProgramContext::ProgramContext(std::shared_ptr<const ProgramModel> model, std::shared_ptr<Executor> executor)
    : state_(std::make_unique<State>()) {
  state_->memory = std::make_shared<ProgramMemory>(model->most_bytes());
  state_->contexts.resize(model->networks().size());
  state_->model = std::move(model);
  state_->executor = std::move(executor);
}
ProgramContext::ProgramContext(ProgramContext&&) noexcept = default;
ProgramContext& ProgramContext::operator=(ProgramContext&&) noexcept = default;
ProgramContext::~ProgramContext() = default;

Status ProgramContext::run(std::span<const ConstTensorView> inputs, const std::stop_token& stop) {
  const auto fail = [&]() -> Status {
    return state_->forget({Error{ErrorKind::resource, "", "not enough memory", "room for its tensors", ""}});
  };
  return attempt<std::bad_alloc>([&]() -> Status { return state_->run(inputs, stop); }, fail);
}

void ProgramContext::observe(NetworkObserver observer) { state_->observer = std::move(observer); }

void ProgramContext::observe_steps(StepObserver observer) {
  state_->step_observer = std::move(observer);
  if (state_->step_observer) return;
  for (std::optional<Context>& context : state_->contexts) {
    if (context) context->set_step_hook({});
  }
}

std::span<const ConstTensorView> ProgramContext::outputs() const { return state_->outputs; }
std::uint64_t ProgramContext::memory_bytes() const { return state_->memory->bytes(); }

}  // namespace octavo
