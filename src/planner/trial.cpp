// Preparing and timing a call. Part of planner/.
#include "planner/trial.h"

#include <algorithm>
#include <chrono>
#include <random>

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

void fill(Tensor& tensor) {
  std::minstd_rand random(1);
  if (size_of(tensor.dtype()) == 1 && tensor.dtype() != DType::boolean) {
    for (std::size_t i = 0; i < tensor.bytes(); ++i) tensor.data()[i] = static_cast<std::byte>(random() >> 8);
  }
  if (tensor.dtype() != DType::f32) return;
  for (float& value : tensor.span<float>()) value = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
}

std::int64_t bytes_of(const std::vector<Tensor>& tensors) {
  std::int64_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += static_cast<std::int64_t>(tensor.bytes());
  return bytes;
}

Error failed(std::string found) { return {.kind = ErrorKind::resource, .found = std::move(found)}; }

}  // namespace

Trial::Trial(const OpCall& call, int threads, const TrialOptions& options)
    : call_(call), threads_(threads), options_(options), pool_(threads) {
  add_inputs();
  for (const Fact& fact : call.outputs) pointers_.outputs.push_back(owned_.emplace_back(fact.dtype, fact.shape).data());
  const auto level2 = static_cast<std::size_t>(host_machine().l2_bytes) / sizeof(std::uint64_t);
  if (options.cache == TrialCache::cold)
    other_.assign(static_cast<std::size_t>(threads), std::vector<std::uint64_t>(2 * level2));
}

void Trial::add_inputs() {
  for (const Fact* fact : call_.inputs) {
    if (fact == nullptr || fact->is_constant()) {
      pointers_.inputs.push_back(fact == nullptr ? nullptr : fact->constant->data());
      continue;
    }
    Tensor& tensor = owned_.emplace_back(fact->dtype, fact->shape);
    fill(tensor);
    values_.push_back(&tensor);
    pointers_.inputs.push_back(tensor.data());
  }
}

void Trial::pack() {
  constexpr std::int64_t kMostCopies = 64;
  packed_.clear();
  packed_.push_back(kernel_->code.packs ? kernel_->pack(call_) : std::vector<Tensor>{});
  const std::int64_t bytes = bytes_of(packed_[0]);
  if (options_.cache != TrialCache::network || bytes == 0) return;
  const std::int64_t copies = std::clamp<std::int64_t>(options_.network_bytes / bytes, 1, kMostCopies);
  while (static_cast<std::int64_t>(packed_.size()) < copies) {
    std::vector<Tensor>& copy = packed_.emplace_back();
    for (const Tensor& tensor : packed_[0]) copy.push_back(Tensor::copy_of(tensor.view()));
  }
}

Status Trial::prepare(const KernelChoice& kernel, std::span<const std::byte> schedule, double predicted_ns) {
  const bool is_for_device = is_of_device(kernel.code.needs);
  if (!is_for_device && !host_machine().isa.has(kernel.code.needs))
    return failed("this machine lacks " + std::string(name_of(kernel.code.needs)));
  on_device_.reset();
  if (&kernel != std::exchange(kernel_, &kernel) || packed_.empty()) pack();
  steps_.clear();
  for (std::size_t i = 0; i < packed_.size(); ++i) {
    if (const Status prepared = prepare_step(i, schedule); !prepared) return prepared;
  }
  if (is_for_device) return prepare_on_device();
  const std::size_t stride = (steps_[0]->scratch_bytes() + kAlignment - 1) / kAlignment * kAlignment;
  scratch_ = Tensor(DType::u8, {threads_, static_cast<std::int64_t>(stride)});
  parts_ = parts_for(*steps_[0], predicted_ns, threads_, options_.speeds.barrier_ns);
  next_ = 0;
  return ok_status();
}

Status Trial::prepare_step(std::size_t packed, std::span<const std::byte> schedule) {
  StepSpec spec{
      .spec = call_.spec, .attrs = call_.attrs, .schedule = schedule, .threads = threads_, .speeds = options_.speeds};
  for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
    const Fact* fact = call_.inputs[i];
    StepOperand& operand = spec.inputs.emplace_back(StepOperand{.is_present = fact != nullptr});
    if (fact == nullptr) continue;
    operand.dtype = fact->dtype;
    operand.shape = fact->shape;
    operand.is_packed = fact->is_constant() && kernel_->code.packs;
    if (fact->is_constant() && !operand.is_packed) operand.constant = pointers_.inputs[i];
  }
  for (const Fact& fact : call_.outputs) spec.outputs.push_back({.dtype = fact.dtype, .shape = fact.shape});
  for (const Tensor& tensor : packed_[packed]) spec.packed.push_back(tensor.view());
  auto step = kernel_->code.prepare(spec);
  if (!step) return step.errors();
  steps_.push_back(std::move(*step));
  return ok_status();
}

Status Trial::prepare_on_device() {
  if (linked_devices() == nullptr) return failed("this program drives no devices");
  auto trial = linked_devices()->prepare_trial(steps_, pointers_, options_.device);
  if (!trial) return trial.errors();
  on_device_ = std::move(*trial);
  return ok_status();
}

void Trial::run() {
  const Step& step = *steps_[next_++ % steps_.size()];
  const StepCall call{.step = &step,
                      .items = step.items(),
                      .rounds = step.rounds(),
                      .parts = parts_,
                      .input_count = pointers_.inputs.size(),
                      .output_count = pointers_.outputs.size(),
                      .failure = &failure_};
  call.run(pointers_, {scratch_.data(), scratch_.bytes() / static_cast<std::size_t>(threads_)}, &pool_);
}

// Cold: reading twice level 2 leaves nothing else in it. Network: every thread writes its part of the values, as it did
// in the step before.
void Trial::prepare_caches() {
  constexpr std::size_t kLine = 64 / sizeof(std::uint64_t);
  const auto body = [&](int part) {
    const auto own = static_cast<std::size_t>(part), parts = static_cast<std::size_t>(threads_);
    if (options_.cache == TrialCache::cold) {
      for (std::size_t i = 0; i < other_[own].size(); i += kLine) ++other_[own][i];
      return;
    }
    for (Tensor* tensor : values_) {
      auto* words = reinterpret_cast<volatile std::uint64_t*>(tensor->data());
      const std::size_t lines = tensor->bytes() / 64;
      for (std::size_t i = lines * own / parts; i < lines * (own + 1) / parts; ++i) words[i * kLine] = words[i * kLine];
    }
  };
  const auto run_part = [](const void* context, int part) { (*static_cast<const decltype(body)*>(context))(part); };
  if (options_.cache != TrialCache::warm) pool_.run(threads_, {run_part, &body});
}

// The mean of so many runs.
Result<double> Trial::run_ns(int number) {
  if (on_device_ != nullptr) return on_device_->run_ns(number);
  double sum = 0.0;
  for (int i = 0; i < number; ++i) {
    prepare_caches();
    const auto start = Clock::now();
    run();
    sum += ns_since(start);
  }
  return sum / number;
}

Result<std::vector<double>> Trial::time(const TimeEvaluator& evaluator) {
  constexpr double kMostRuns = 1e6;
  const AcquiredExecutor acquired(&pool_);
  const auto first_ns = run_ns(1);  // the caches are as they will be afterwards
  if (!first_ns) return first_ns.errors();
  const double needed = std::min(kMostRuns, evaluator.min_repeat_ms * 1e6 / std::max(*first_ns, 1.0));
  const int number = std::max(evaluator.number, static_cast<int>(needed));
  std::vector<double> times;
  for (int i = 0; i < evaluator.repeat; ++i) {
    const auto ns = run_ns(number);
    if (!ns) return ns.errors();
    times.push_back(*ns);
  }
  if (const char* reason = failure_.take()) return failed(reason);
  return times;
}

}  // namespace octavo
