// ProgramModel and ProgramContext: a compiled model of several parts, and one caller's memory to run it in. Part of
// run/.
#ifndef OCTAVO_RUN_PROGRAM_H_
#define OCTAVO_RUN_PROGRAM_H_

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "plan/program.h"
#include "run/model.h"

namespace octavo {

// Immutable but for the plans that its networks make of new sizes.
class ProgramModel {
 public:
  const Program& program() const { return program_; }
  const std::vector<std::shared_ptr<const Model>>& networks() const { return networks_; }
  std::int64_t max_iterations() const { return max_iterations_; }
  std::uint64_t most_bytes() const { return most_bytes_; }
  // last_uses() of the program.
  std::span<const std::int32_t> unused_after(std::size_t block, std::size_t part) const { return unused_[block][part]; }

 private:
  friend Result<std::shared_ptr<const ProgramModel>> load_program(CompiledModel compiled, const LoadOptions& options);
  Program program_;
  std::vector<std::shared_ptr<const Model>> networks_;
  std::vector<std::vector<std::vector<std::int32_t>>> unused_;
  std::int64_t max_iterations_ = 0;
  std::uint64_t most_bytes_ = 0;
};

// Verifies everything against hostile files. A model that is one network is a program of one part. Errors: those of
// load_model(), of each network.
Result<std::shared_ptr<const ProgramModel>> load_program(CompiledModel compiled, const LoadOptions& options);

// One caller's arenas, and tensors between parts. For one thread at a time.
class ProgramContext {
 public:
  // `executor` null: the shared pool, or none for a model of one thread.
  ProgramContext(std::shared_ptr<const ProgramModel> model, std::shared_ptr<Executor> executor);
  ProgramContext(ProgramContext&&) noexcept;
  ProgramContext& operator=(ProgramContext&&) noexcept;
  ~ProgramContext();

  // Inputs in the order of the first block's, dense, aligned to their element. Errors: those of networks, with the
  // part; usage, where a tensor is not what a part takes, or a condition or number of iterations is not one element;
  // resource, where tensors and arenas together need more than LoadOptions::context_bytes, or loops more iterations
  // than LoadOptions::max_iterations, all of a run together; cancelled, by `stop`, between steps and iterations. The
  // next run is as good as any.
  Status run(std::span<const ConstTensorView> inputs, const std::stop_token& stop = {});
  // Called before every network of a run with its index and what it reads. None: nothing is called.
  using NetworkObserver = std::function<void(std::int32_t network, std::span<const ConstTensorView> inputs)>;
  void observe(NetworkObserver observer);
  // Called after each step of every network, with the plan that it runs. None: nothing is called.
  using StepObserver = std::function<void(std::int32_t network, const Plan& plan, const StepEvent& step)>;
  void observe_steps(StepObserver observer);
  // Of the last run that went well, in the order of the first block's outputs; its own until the next.
  std::span<const ConstTensorView> outputs() const;
  // Arenas of all networks that have run, and tensors between them.
  std::uint64_t memory_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace octavo

#endif  // OCTAVO_RUN_PROGRAM_H_
