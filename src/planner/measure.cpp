// One call, prepared and timed. Part of planner/.
#include "planner/measure.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "planner/select.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kMostRuns = 25;
constexpr int kLeastRuns = 3;
constexpr double kEnoughNs = 20e6;

// Bytes of every value, floats around 0; other types stay 0, which is valid where they are indices.
void fill(Tensor& tensor) {
  std::minstd_rand random(1);
  if (size_of(tensor.dtype()) == 1 && tensor.dtype() != DType::boolean) {
    for (std::size_t i = 0; i < tensor.bytes(); ++i) tensor.data()[i] = static_cast<std::byte>(random() >> 8);
  }
  if (tensor.dtype() != DType::f32) return;
  for (float& value : tensor.span<float>()) value = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
}

// A call with its own tensors, ready to run.
class Trial {
 public:
  Trial(const KernelChoice& kernel, const OpCall& call) {
    schedule_ = best_candidate(kernel, call, host_machine()).schedule;
    spec_ = {.spec = call.spec, .attrs = call.attrs, .schedule = schedule_};
    for (const Fact* fact : call.inputs) add_input(fact, kernel.code.packs);
    for (const Fact& fact : call.outputs) {
      outputs_.push_back(owned_.emplace_back(Tensor(fact.dtype, fact.shape)).data());
      spec_.outputs.push_back({.dtype = fact.dtype, .shape = fact.shape});
    }
    if (kernel.code.packs) packed_ = kernel.pack(call);
    for (const Tensor& tensor : packed_) spec_.packed.push_back(tensor.view());
    auto step = kernel.code.prepare(spec_);
    if (!step) return;
    step_ = std::move(*step);
    scratch_ = Tensor(DType::u8, {static_cast<std::int64_t>(step_->scratch_bytes())});
  }

  bool is_ready() const { return step_ != nullptr; }

  bool has_failed() { return failure_.take() != nullptr; }

  double run_ns() {
    const auto start = Clock::now();
    step_->run({inputs_, outputs_, scratch_.data(), &failure_}, {0, step_->items()});
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }

 private:
  void add_input(const Fact* fact, bool packs) {
    const std::byte* data = nullptr;
    StepOperand operand{.is_present = fact != nullptr};
    if (fact != nullptr) {
      operand.dtype = fact->dtype;
      operand.shape = fact->shape;
      operand.is_packed = fact->is_constant() && packs;
      if (fact->is_constant() && !packs) {
        operand.constant = data = fact->constant->data();
      } else if (!fact->is_constant()) {
        Tensor& tensor = owned_.emplace_back(Tensor(fact->dtype, fact->shape));
        fill(tensor);
        data = tensor.data();
      }
    }
    inputs_.push_back(data);
    spec_.inputs.push_back(std::move(operand));
  }

  std::vector<std::byte> schedule_;
  StepSpec spec_;
  std::vector<Tensor> owned_, packed_;
  std::vector<const std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
  std::unique_ptr<Step> step_;
  Tensor scratch_;
  StepFailure failure_;
};

// Reading twice level 2 leaves nothing else in it.
void empty_level2(std::vector<std::uint64_t>& memory) {
  for (std::size_t i = 0; i < memory.size(); i += 8) ++memory[i];
}

}  // namespace

std::optional<double> measure_ns(const KernelChoice& kernel, const OpCall& call) {
  if (!host_machine().isa.has(kernel.code.needs)) return std::nullopt;
  Trial trial(kernel, call);
  if (!trial.is_ready()) return std::nullopt;
  std::vector<std::uint64_t> other(static_cast<std::size_t>(2 * host_machine().l2_bytes) / sizeof(std::uint64_t));
  trial.run_ns();
  double best = 0.0, total = 0.0;
  for (int run = 0; run < kMostRuns && (run < kLeastRuns || total < kEnoughNs); ++run) {
    empty_level2(other);
    const double ns = trial.run_ns();
    best = run == 0 ? ns : std::min(best, ns);
    total += ns;
  }
  if (trial.has_failed()) return std::nullopt;
  return best;
}

}  // namespace octavo
