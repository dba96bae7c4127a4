// Looking up, making and keeping plans by size. Part of run/.
#include "run/open_plans.h"

#include <algorithm>
#include <bit>

#include "base/input_sizes.h"
#include "run/context_memory.h"
#include "run/device.h"
#include "run/prepare.h"

// Of octavo_planner, where it is linked: weak, so that a program without it links too and finds null.
extern "C" [[gnu::weak]] const octavo::PlanProvider* octavo_plan_provider();

namespace octavo {
namespace {

// Code that is emitted for a step, its parameters and what a context keeps of it take no more than this on average.
constexpr std::uint64_t kBytesOfStep = 8192;

// Networks that were lowered for sizes at which the file's does not hold; a model has a few ways to be lowered.
constexpr std::size_t kMostLowered = 16;

// Dropped sizes that are remembered; what comes after these is not known again.
constexpr std::size_t kMostDropped = 4096;

Error usage(std::string where, std::string found, std::string expected) {
  return {
      .kind = ErrorKind::usage, .where = std::move(where), .found = std::move(found), .expected = std::move(expected)};
}

// Steps that another plan has, too, are counted there.
std::uint64_t bytes_of(const PreparedPlan& prepared) {
  const Plan& plan = *prepared.plan;
  std::uint64_t bytes = sizeof(Plan) + plan.values.size() * sizeof(PlanValue);
  for (const PreparedStep& step : prepared.steps) bytes += step.step.use_count() > 1 ? 0 : kBytesOfStep;
  for (const PlanStep& step : plan.steps)
    bytes += sizeof step + step.attrs.size() + step.op.size() + step.kernel.size();
  for (const StepReport& step : plan.report.steps) {
    bytes += sizeof step + step.name.size() + step.origin.size();
    for (const std::string& refusal : step.refusals) bytes += sizeof refusal + refusal.size();
  }
  return bytes;
}

// Sizes of a range have as many binary digits: what was chosen for one of them is nearly as good for the others.
std::vector<std::int64_t> range_of(std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> range;
  for (const std::int64_t size : sizes) range.push_back(std::bit_width(static_cast<std::uint64_t>(size)));
  return range;
}

}  // namespace

std::vector<Shape> input_shapes(const Plan& plan) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) shapes.emplace_back(plan.input(i).shape);
  return shapes;
}

const PlanProvider* linked_planner() { return octavo_plan_provider == nullptr ? nullptr : octavo_plan_provider(); }

Result<std::unique_ptr<OpenPlans>> OpenPlans::create(const CompiledModel& model, ConstantStore& constants,
                                                     std::vector<std::shared_ptr<const PreparedPlan>> prepared,
                                                     const LoadOptions& options) {
  if (Status status = check_speeds(model.network->machine); !status) return status.errors();
  auto sizes = Sizes::restored(model.network->graph.sizes);
  if (!sizes) return sizes.errors();
  std::unique_ptr<OpenPlans> plans(new OpenPlans(model, constants, options));
  plans->sizes_ = std::move(*sizes);
  for (const std::int32_t input : model.network->graph.inputs) {
    if (input < 0 || static_cast<std::size_t>(input) >= model.network->graph.values.size())
      return Error{.kind = ErrorKind::invalid_input,
                   .where = "open network",
                   .found = "input " + std::to_string(input),
                   .expected = "one of its values"};
  }
  for (const std::shared_ptr<const PreparedPlan>& plan : prepared) {
    auto key = plans->sizes_of(input_shapes(*plan->plan));
    if (!key) return key.errors();
    plans->of_file_.emplace(std::move(*key), plan);
  }
  return plans;
}

std::string OpenPlans::described(std::span<const Shape> inputs) const {
  std::string shapes, values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const StoredValue& value = model_.network->graph.values[static_cast<std::size_t>(model_.network->graph.inputs[i])];
    shapes += (shapes.empty() ? "input '" : ", input '") + value.name + "' " + inputs[i].to_string();
  }
  const auto sizes = sizes_of(inputs);
  for (std::size_t i = 0; sizes && i < sizes->size(); ++i)
    values += (values.empty() ? "" : ", ") + sizes_->sizes()[i].name + " = " + std::to_string((*sizes)[i]);
  return shapes + " (" + values + ")";
}

Result<OpenPlans::Key> OpenPlans::sizes_of(std::span<const Shape> inputs) const {
  const StoredGraph& network = model_.network->graph;
  if (inputs.size() != network.inputs.size())
    return usage("inputs", std::to_string(inputs.size()) + " shapes", std::to_string(network.inputs.size()));
  std::vector<SizedInput> sized;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const StoredValue& value = network.values[static_cast<std::size_t>(network.inputs[i])];
    sized.push_back({.name = value.name, .declared = {}, .given = &inputs[i]});
    for (const Dim& dim : value.shape) sized.back().declared.push_back(sizes_->decoded(dim));
  }
  return octavo::sizes_of(*sizes_, sized);
}

Result<std::shared_ptr<const PreparedPlan>> OpenPlans::at(std::span<const Shape> inputs) {
  const auto sizes = sizes_of(inputs);
  if (!sizes) return sizes.errors();
  if (const auto found = of_file_.find(*sizes); found != of_file_.end()) return found->second;
  std::unique_lock lock(mutex_);
  while (true) {
    if (const auto found = index_.find(*sizes); found != index_.end()) {
      use(found->second);
      ++statistics_.hits;
      return recent_.front().plan;
    }
    if (!under_way_.contains(*sizes)) break;
    made_.wait(lock);
  }
  under_way_.insert(*sizes);
  lock.unlock();
  const UnderWay turn{*this, *sizes};
  auto made = make(*sizes);
  if (!made) {
    Errors errors = std::move(made).errors();
    for (Error& error : errors) error.where = described(inputs) + (error.where.empty() ? "" : ", " + error.where);
    return errors;
  }
  const std::lock_guard keeping(mutex_);
  auto plan = made->plan;
  keep(*std::move(made));
  return plan;
}

// A plan that others follow is used with each of them, so that it leaves after them.
void OpenPlans::use(std::list<Made>::iterator made) {
  if (made->base != nullptr && made->base->sizes != made->sizes) {
    if (const auto base = index_.find(made->base->sizes); base != index_.end())
      recent_.splice(recent_.begin(), recent_, base->second);
  }
  recent_.splice(recent_.begin(), recent_, made);
}

OpenPlans::UnderWay::~UnderWay() {
  {
    const std::lock_guard lock(plans.mutex_);
    plans.under_way_.erase(sizes);
  }
  plans.made_.notify_all();
}

const Status& OpenPlans::check_weights_once() {
  std::call_once(weights_once_, [this] { weights_ = check_weights(model_); });
  return weights_;
}

Result<OpenPlans::Made> OpenPlans::make(const Key& sizes) {
  if (linked_planner() == nullptr) {
    return Error{.kind = ErrorKind::unsupported,
                 .where = model_.source,
                 .found = "sizes that no plan of the file has",
                 .expected = "one of " + std::to_string(of_file_.size()) + " compiled sizes",
                 .hint = "Link octavo_planner too, or compile these sizes"};
  }
  if (const Status& intact = check_weights_once(); !intact) return intact.errors();
  const auto at = network_at(sizes);
  if (!at) return at.errors();
  if (auto made = follow(sizes, *at)) return *std::move(made);
  const BatchOrder own = model_.network->batch_order;
  auto made = make(sizes, *at, own);
  const bool is_other_error = !made && made.errors().front().kind != ErrorKind::resource;
  if (own != BatchOrder::automatic || is_other_error || fits(made)) return made;
  // The order that is predicted to be the fastest changes with the batch, so that a small one may take more than a
  // large one that fits; as long as there is an order that fits, it shall not be refused.
  for (const BatchOrder order : {BatchOrder::images, BatchOrder::steps}) {
    auto smaller = make(sizes, *at, order);
    if (fits(smaller)) return smaller;
  }
  return made;
}

std::optional<OpenPlans::Made> OpenPlans::follow(const Key& sizes, const At& at) {
  std::shared_ptr<const Base> base;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = bases_.find({at.network.get(), range_of(sizes)}); found != bases_.end())
      base = found->second;
  }
  if (base == nullptr) return std::nullopt;
  auto plan = base->family->at(at.values, constants_);
  if (!plan) return std::nullopt;
  auto steps = prepared(*std::move(plan), base->plan.get());
  if (!steps) return std::nullopt;
  Result<Made> made = Made{sizes, *std::move(steps), std::move(base)};
  return fits(made) ? std::optional(*std::move(made)) : std::nullopt;
}

Result<OpenPlans::At> OpenPlans::network_at(const Key& sizes) {
  auto values = sizes_->evaluate(sizes);
  // The model outlives who asks.
  if (values) return At{{std::shared_ptr<const void>(), &*model_.network}, std::move(*values)};
  return lowered_at(sizes, values.errors());
}

Result<OpenPlans::At> OpenPlans::lowered_at(const Key& sizes, const Errors& refusal) {
  const std::lock_guard lock(lowering_);
  for (const Lowered& lowered : lowered_) {
    if (auto values = lowered.sizes->evaluate(sizes)) return At{lowered.network, std::move(*values)};
  }
  for (const StoredGraph& unlowered : model_.network->unlowered) {
    const auto decisions = Sizes::restored(unlowered.sizes);
    if (!decisions || !(*decisions)->evaluate(sizes)) continue;
    auto network = linked_planner()->lower(*model_.network, unlowered, constants_, sizes, constants_);
    if (!network) continue;
    auto table = Sizes::restored(network->graph.sizes);
    auto values = table ? (*table)->evaluate(sizes) : table.errors();
    if (!values) continue;
    if (lowered_.size() == kMostLowered) lowered_.erase(lowered_.begin());
    lowered_.push_back({std::make_shared<const OpenNetwork>(std::move(*network)), std::move(*table)});
    ++lowerings_;
    return At{lowered_.back().network, std::move(*values)};
  }
  return refusal;
}

bool OpenPlans::fits(const Result<Made>& made) const {
  return made && context_bytes(*made->plan, options_.threads) <= options_.context_bytes;
}

Result<OpenPlans::Made> OpenPlans::make(const Key& sizes, const At& at, BatchOrder order) {
  auto planned = linked_planner()->plan(*at.network, constants_, at.values, order, constants_, *memory_);
  if (!planned) return planned.errors();
  auto plan = prepared(std::move(planned->plan), nullptr);
  if (!plan) return plan.errors();
  Made made{sizes, *std::move(plan), nullptr};
  if (planned->family != nullptr)
    made.base = std::make_shared<const Base>(Base{sizes, at.network, made.plan, std::move(planned->family)});
  return made;
}

Result<std::shared_ptr<const PreparedPlan>> OpenPlans::prepared(Plan plan, const PreparedPlan* like) const {
  // Preparing a plan may take much longer than making it: code for rows of a million pixels.
  if (plan.arena_bytes > options_.context_bytes) return too_large_context("", plan.arena_bytes, options_.context_bytes);
  auto made = std::make_shared<PreparedPlan>();
  made->owned = std::move(plan);
  made->plan = &made->owned;
  auto steps = prepare_plan(made->owned, constants_, options_, like);
  if (!steps) return steps.errors();
  made->steps = std::move(*steps);
  if (is_for_device(made->owned)) {
    if (Status status = place_on_device(*made, constants_, options_.device); !status) return status.errors();
  }
  return std::shared_ptr<const PreparedPlan>(std::move(made));
}

void OpenPlans::keep(Made made) {
  made.bytes = bytes_of(*made.plan);
  statistics_.bytes += made.bytes;
  if (made.base == nullptr || made.base->sizes == made.sizes) ++statistics_.made;
  else ++statistics_.followed;
  if (dropped_.erase(made.sizes) > 0) ++statistics_.again;
  recent_.push_front(std::move(made));
  index_[recent_.front().sizes] = recent_.begin();
  if (const auto& base = recent_.front().base) bases_[{base->network.get(), range_of(base->sizes)}] = base;
  use(recent_.begin());
  // The newest stays, however large: somebody is about to run it.
  while (statistics_.bytes > options_.plan_cache_bytes && recent_.size() > 1) {
    const Made& oldest = recent_.back();
    statistics_.bytes -= oldest.bytes;
    ++statistics_.dropped;
    if (dropped_.size() < kMostDropped) dropped_.insert(oldest.sizes);
    std::erase_if(bases_, [&](const auto& base) { return base.second->plan == oldest.plan; });
    index_.erase(oldest.sizes);
    recent_.pop_back();
  }
}

PlanCacheStatistics OpenPlans::statistics() const {
  const std::lock_guard lock(mutex_);
  PlanCacheStatistics now = statistics_;
  now.lowered = lowerings_;
  now.plans = recent_.size();
  now.limit_bytes = options_.plan_cache_bytes;
  now.packed_bytes = constants_.added_bytes();
  return now;
}

}  // namespace octavo
