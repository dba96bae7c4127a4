// octavo::v1::Program: a thin face of ProgramContext. Part of run/.
#include "run/access.h"

namespace octavo::v1 {

Program::Program(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

Result<Program> Program::load(const CompiledModel& compiled, const LoadOptions& options, const ThreadPool* pool) {
  auto model = load_program(Access::of(compiled), {.threads = options.threads,
                                                   .plan_cache_bytes = options.plan_cache_bytes,
                                                   .context_bytes = options.context_bytes,
                                                   .max_iterations = options.max_iterations,
                                                   .device = options.device});
  if (!model) return model.errors();
  std::shared_ptr<Executor> executor = pool == nullptr ? nullptr : Access::of(*pool).executor;
  ProgramContext context(*model, std::move(executor));
  return Program(std::make_unique<Impl>(
      Impl{.model = std::move(*model), .context = std::move(context), .info = compiled.info(), .outputs = {}}));
}

ModelInfo Program::info() const { return impl_->info; }
const std::vector<ProgramOutput>& Program::outputs() const { return impl_->outputs; }
std::uint64_t Program::memory_bytes() const { return impl_->context.memory_bytes(); }

std::vector<PlanCacheInfo> Program::plan_caches() const {
  std::vector<PlanCacheInfo> caches;
  for (const auto& network : impl_->model->networks()) caches.push_back(Access::plan_cache_of(*network));
  return caches;
}

Status Program::run(std::span<const ConstTensorRef> inputs, const std::stop_token& stop) {
  impl_->outputs.clear();
  std::vector<ConstTensorView> views;
  for (const ConstTensorRef& ref : inputs)
    views.push_back({ref.dtype, Shape(ref.shape), static_cast<const std::byte*>(ref.data)});
  if (Status done = impl_->context.run(views, stop); !done) return done;
  const std::vector<std::string>& names = impl_->model->program().output_names;
  for (const ConstTensorView& view : impl_->context.outputs())
    impl_->outputs.push_back({.name = names[impl_->outputs.size()],
                              .dtype = view.dtype,
                              .shape = {view.shape.begin(), view.shape.end()},
                              .data = view.data});
  return ok_status();
}

}  // namespace octavo::v1
