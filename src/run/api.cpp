// The classes and functions of octavo/run.h: thin faces of those in artifact/ and run/. Part of run/.
#include <algorithm>
#include <array>
#include <fstream>

#include "base/file.h"
#include "run/access.h"
#include "run/context_memory.h"
#include "run/device.h"

namespace octavo::v1 {
namespace {

std::vector<TensorInfo> tensors_of(const Plan& plan, const std::vector<PlanPort>& ports) {
  std::vector<TensorInfo> infos;
  for (const PlanPort& port : ports) {
    const PlanValue& value = plan.value(port.value);
    infos.push_back({.name = port.name, .dtype = value.dtype, .shape = value.shape});
    if (!value.scale) continue;
    infos.back().scale = {value.scale->scale};
    infos.back().zero_point = {value.scale->zero_point};
  }
  return infos;
}

PlanInfo plan_info(const Plan& plan) {
  PlanInfo info{.precision = plan.precision,
                .batch = plan.batch,
                .inputs = tensors_of(plan, plan.inputs),
                .outputs = tensors_of(plan, plan.outputs),
                .steps = static_cast<std::int64_t>(plan.steps.size()),
                .macs = plan.report.macs,
                .arena_bytes = plan.arena_bytes,
                .is_for_device = octavo::is_for_device(plan),
                .notes = plan.report.notes};
  for (const Region& region : plan.regions) {
    info.steps_by_image += region.steps;
    info.image_bytes = std::max(info.image_bytes, region.arena_bytes);
  }
  for (const PlanIsland& island : plan.report.islands)
    info.islands.push_back(island.node + " (" + island.op + "): " + island.reason);
  for (const PlanStep& step : plan.steps) ++info.kernels[step.kernel];
  return info;
}

// What is open, in words.
void add_sizes(const StoredGraph& network, const Sizes& sizes, ModelInfo& info) {
  for (const OpenSize& size : sizes.sizes())
    info.sizes.push_back({size.name, size.range.lowest, size.range.highest, size.step});
  const auto describe = [&](const std::vector<std::int32_t>& values, std::vector<OpenTensorInfo>& tensors) {
    for (const std::int32_t index : values) {
      if (index < 0 || static_cast<std::size_t>(index) >= network.values.size()) continue;
      const StoredValue& value = network.values[static_cast<std::size_t>(index)];
      OpenTensorInfo& tensor = tensors.emplace_back(OpenTensorInfo{.name = value.name, .dtype = value.dtype});
      for (const Dim& dim : value.shape) tensor.shape.push_back(to_string(sizes.decoded(dim)));
    }
  };
  describe(network.inputs, info.open_inputs);
  describe(network.outputs, info.open_outputs);
  for (std::size_t i = 0; i < std::min(info.open_outputs.size(), network.output_names.size()); ++i)
    info.open_outputs[i].name = network.output_names[i];
}

void add_parts(const octavo::Program& program, std::size_t block, int depth, std::vector<PartInfo>& parts) {
  for (const ProgramPart& part : program.blocks[block].parts) {
    PartInfo& info = parts.emplace_back(
        PartInfo{.kind = std::string(name_of(part.kind)), .name = part.name, .depth = depth, .network = {}});
    if (part.kind == PartKind::network && part.network >= 0) info.network = static_cast<std::size_t>(part.network);
    for (const std::int32_t inner : part.blocks) add_parts(program, static_cast<std::size_t>(inner), depth + 1, parts);
  }
}

void add_program(const octavo::CompiledModel& model, ModelInfo& info) {
  const octavo::Program& program = *model.program;
  for (const octavo::CompiledModel& network : model.networks) info.networks.push_back(Access::info_of(network));
  const auto describe = [&](const std::vector<std::int32_t>& values, std::vector<OpenTensorInfo>& tensors) {
    for (const std::int32_t index : values) {
      if (index == kNoIndex) continue;
      const ProgramValue& value = program.values[static_cast<std::size_t>(index)];
      tensors.push_back({.name = value.name, .dtype = value.dtype, .shape = value.shape});
    }
  };
  describe(program.blocks[0].inputs, info.open_inputs);
  describe(program.blocks[0].outputs, info.open_outputs);
  for (std::size_t i = 0; i < program.output_names.size(); ++i) info.open_outputs[i].name = program.output_names[i];
  add_parts(program, 0, 0, info.parts);
  for (const ModelInfo& network : info.networks) {
    info.constant_bytes += network.constant_bytes;
    if (info.machine.empty()) info.machine = network.machine;
  }
}

ModelInfo info_of(const octavo::CompiledModel& model) {
  ModelInfo info{.source = model.source,
                 .dialect = model.dialect,
                 .pictures = model.pictures,
                 .machine = model.plans.empty() ? "" : model.plans.front().machine.name,
                 .source_nodes = model.source_nodes,
                 .constant_bytes = model.constants.size()};
  for (const ModelState& state : model.states) info.states.push_back({state.name, state.zero_point});
  IsaSet needs;
  for (const Plan& plan : model.plans) {
    needs.bits |= plan.needs.bits;
    info.plans.push_back(plan_info(plan));
  }
  if (model.network && model.plans.empty()) {
    info.machine = model.network->machine.name;
    needs = model.network->machine.isa;
  }
  for (const octavo::CompiledModel& network : model.networks) {
    for (const Plan& plan : network.plans) needs.bits |= plan.needs.bits;
    if (network.network && network.plans.empty()) needs.bits |= network.network->machine.isa.bits;
  }
  info.instructions = needs.to_string();
  info.is_for_device = kMayHaveDevices && needs.has(Isa::cuda);
  return info;
}

Result<CompiledModel> opened(Result<octavo::CompiledModel> model) {
  if (!model) return std::move(model).errors();
  return Access::make<CompiledModel>(std::move(*model));
}

}  // namespace

std::string_view version() { return OCTAVO_VERSION; }

ModelInfo Access::info_of(const octavo::CompiledModel& model) {
  ModelInfo info = v1::info_of(model);
  if (model.program) add_program(model, info);
  if (!model.network) return info;
  const auto sizes = Sizes::restored(model.network->graph.sizes);
  if (sizes) add_sizes(model.network->graph, **sizes, info);  // else loading says so
  return info;
}

ModelInfo CompiledModel::info() const { return Access::info_of(*impl_); }

Status CompiledModel::save(const std::string& path) const { return write_artifact(*impl_, path); }

std::vector<std::byte> CompiledModel::bytes() const {
  const AlignedBytes bytes = encode_artifact(*impl_);
  return {bytes.begin(), bytes.end()};
}

Result<CompiledModel> open(const std::string& path, const OpenOptions& options) {
  if (options.weights == Weights::mapped) return opened(read_artifact(path));
  const auto bytes = read_file(path);
  if (!bytes) return bytes.errors();
  return opened(parse_artifact(*bytes, path));
}

Result<CompiledModel> open(std::span<const std::byte> bytes, const std::string& name) {
  return opened(parse_artifact(bytes, name));
}

bool is_compiled(const std::string& path) {
  std::array<char, 16> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), start.size());
  return looks_like_artifact(std::as_bytes(std::span(start)).first(static_cast<std::size_t>(file.gcount())));
}

bool is_compiled(std::span<const std::byte> bytes) { return looks_like_artifact(bytes); }

void remove_unfinished_files() { cleanup_unfinished_files(); }

ThreadPool::ThreadPool(int threads)
    : impl_(std::make_shared<const Impl>(Impl{std::make_shared<octavo::ThreadPool>(threads)})) {}

ThreadPool::ThreadPool(int threads, ParallelFor parallel_for)
    : impl_(std::make_shared<const Impl>(Impl{executor_from(
          [caller = std::move(parallel_for)](int parts, const PartBody& body) { caller(parts, body); }, threads)})) {}

Result<Model> Model::load(const CompiledModel& compiled, const LoadOptions& options) {
  if (Access::of(compiled).program) {
    return Error{.kind = ErrorKind::usage,
                 .where = Access::of(compiled).source,
                 .found = "a model of several parts, whose control flow or shapes depend on data",
                 .expected = "a model that is one network",
                 .hint = "octavo::v1::Program runs it"};
  }
  auto model = load_model(Access::of(compiled), {.threads = options.threads,
                                                 .plan_cache_bytes = options.plan_cache_bytes,
                                                 .context_bytes = options.context_bytes,
                                                 .device = options.device});
  if (!model) return model.errors();
  return Access::make<Model>(std::move(*model));
}

ModelInfo Model::info() const {
  const octavo::CompiledModel& compiled = impl_->model->compiled();
  ModelInfo info = info_of(compiled);
  if (const Sizes* sizes = impl_->model->sizes()) add_sizes(compiled.network->graph, *sizes, info);
  return info;
}

int Model::threads() const { return impl_->model->threads(); }

Result<std::size_t> Model::find_plan(const PlanChoice& choice) const {
  return impl_->model->find_plan(choice.precision, choice.batch);
}

Context::Context(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

namespace {

std::shared_ptr<Executor> executor_of(const ThreadPool* pool) {
  return pool == nullptr ? nullptr : Access::of(*pool).executor;
}

Result<std::shared_ptr<const PreparedPlan>> plan_for(const octavo::Model& model,
                                                     std::span<const std::vector<std::int64_t>> shapes) {
  std::vector<Shape> inputs;
  for (const std::vector<std::int64_t>& shape : shapes) inputs.emplace_back(shape);
  return model.plan_for(inputs);
}

PlanTensors tensors_of(const Plan& plan) { return {tensors_of(plan, plan.inputs), tensors_of(plan, plan.outputs)}; }

Result<std::uint64_t> context_bytes_of(const octavo::Model& model,
                                       const Result<std::shared_ptr<const PreparedPlan>>& plan, int threads) {
  if (!plan) return plan.errors();
  const std::uint64_t bytes = context_bytes(**plan, context_threads(model, threads));
  if (bytes <= model.most_context_bytes()) return bytes;
  return too_large_context(model.described(*(*plan)->plan), bytes, model.most_context_bytes());
}

}  // namespace

PlanCacheInfo Access::plan_cache_of(const octavo::Model& model) {
  const PlanCacheStatistics now = model.plan_cache();
  return {.hits = now.hits,
          .made = now.made,
          .followed = now.followed,
          .lowered = now.lowered,
          .dropped = now.dropped,
          .again = now.again,
          .plans = now.plans,
          .limit_bytes = now.limit_bytes,
          .bytes = now.bytes,
          .packed_bytes = now.packed_bytes};
}

PlanCacheInfo Model::plan_cache() const { return Access::plan_cache_of(*impl_->model); }

Result<std::uint64_t> Model::context_bytes(std::size_t plan, int threads) const {
  return context_bytes_of(*impl_->model, impl_->model->plan_at(plan), threads);
}

Result<std::uint64_t> Model::context_bytes(std::span<const std::vector<std::int64_t>> shapes, int threads) const {
  return context_bytes_of(*impl_->model, plan_for(*impl_->model, shapes), threads);
}

Result<Context> Access::make_context(Result<octavo::Context> inside) {
  if (!inside) return inside.errors();
  PlanTensors infos = tensors_of(inside->plan());
  auto impl = std::make_unique<Context::Impl>(Context::Impl{.context = std::move(*inside), .infos = std::move(infos)});
  impl->inputs.reserve(impl->infos.inputs.size());
  impl->outputs.reserve(impl->infos.outputs.size());
  return Context(std::move(impl));
}

Result<Context> Context::create(const Model& model, std::size_t plan, const ThreadPool* pool) {
  const auto& inside = Access::of(model).model;
  return Access::make_context(octavo::Context::create(inside, {.plan = plan, .executor = executor_of(pool)}));
}

Result<Context> Context::create(const Model& model, std::span<const std::vector<std::int64_t>> shapes,
                                const ThreadPool* pool) {
  const auto& inside = Access::of(model).model;
  auto plan = plan_for(*inside, shapes);
  if (!plan) return plan.errors();
  return Access::make_context(
      octavo::Context::create(inside, {.prepared = std::move(*plan), .executor = executor_of(pool)}));
}

Status Context::resize(std::span<const std::vector<std::int64_t>> shapes) {
  auto plan = plan_for(impl_->context.model(), shapes);
  if (!plan) return plan.errors();
  PlanTensors infos = tensors_of(*(*plan)->plan);
  if (Status status = impl_->context.set_plan(std::move(*plan)); !status) return status;
  impl_->infos = std::move(infos);
  return ok_status();
}

PlanInfo Context::plan() const { return plan_info(impl_->context.plan()); }

const std::vector<TensorInfo>& Context::inputs() const { return impl_->infos.inputs; }
const std::vector<TensorInfo>& Context::outputs() const { return impl_->infos.outputs; }
std::uint64_t Context::memory_bytes() const { return impl_->context.memory_bytes(); }

Status Context::run(std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs,
                    const std::stop_token& stop) {
  Impl& impl = *impl_;
  impl.inputs.clear();
  impl.outputs.clear();
  for (const ConstTensorRef& ref : inputs)
    impl.inputs.push_back({ref.dtype, Shape(ref.shape), static_cast<const std::byte*>(ref.data)});
  for (const TensorRef& ref : outputs)
    impl.outputs.push_back({ref.dtype, Shape(ref.shape), static_cast<std::byte*>(ref.data)});
  return impl.context.run(impl.inputs, impl.outputs, stop);
}

void Context::set_step_hook(std::function<void(const StepInfo&)> hook, bool needs_values) {
  if (!hook) return impl_->context.set_step_hook({});
  const auto tell = [hook = std::move(hook), &context = impl_->context](const StepEvent& event) {
    const Plan& plan = context.plan();
    std::vector<std::string> names;
    std::vector<float> scales;
    std::vector<std::int32_t> zero_points;
    std::vector<ConstTensorRef> outputs;
    for (const ValueIndex output : event.step->outputs) {
      const ValueScale scale = plan.value(output).scale.value_or(ValueScale{});
      names.emplace_back(plan.name_of_value(output));
      scales.push_back(scale.scale);
      zero_points.push_back(scale.zero_point);
    }
    for (const TensorView& view : event.outputs) outputs.push_back({view.dtype, view.shape.dims(), view.data});
    hook({.index = event.index,
          .name = plan.report_of(event.index).name,
          .op = event.step->op,
          .kernel = event.step->kernel,
          .elapsed_ns = event.elapsed_ns,
          .value_names = names,
          .value_scales = scales,
          .value_zero_points = zero_points,
          .outputs = outputs});
  };
  impl_->context.set_step_hook(tell, needs_values);
}

}  // namespace octavo::v1
