// OpenPlans: plans of a model whose sizes are open, made when a size comes and kept while there is room. Part of run/.
#ifndef OCTAVO_RUN_OPEN_PLANS_H_
#define OCTAVO_RUN_OPEN_PLANS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "artifact/artifact.h"
#include "run/constant_store.h"
#include "run/plan_provider.h"
#include "run/prepare.h"

namespace octavo {

// Of a plan's inputs.
std::vector<Shape> input_shapes(const Plan& plan);

// Any number of threads may ask at the same time; of those that ask for one new size, one plans.
class OpenPlans {
 public:
  // `model` has an open network and outlives it, like `constants`; `prepared` are its plans. Plans that are made
  // afterwards take about `plan_cache_bytes` at most, the least recently used leave. Error: invalid_input.
  static Result<std::unique_ptr<OpenPlans>> create(const CompiledModel& model, ConstantStore& constants,
                                                   std::vector<std::shared_ptr<const PreparedPlan>> prepared,
                                                   const LoadOptions& options);

  // The plan for inputs of these shapes. Errors: usage (not the model's inputs, sizes that disagree, outside their
  // range or under which the network does not hold), unsupported (no planner is linked), those of planning; resource,
  // where its arena alone is more than a context may have.
  Result<std::shared_ptr<const PreparedPlan>> at(std::span<const Shape> inputs);
  PlanCacheStatistics statistics() const;
  const Sizes& sizes() const { return *sizes_; }
  // "input 'x' 4096x3x2048x2048 (N = 4096, height = 2048)", for messages; shapes that at() accepts.
  std::string described(std::span<const Shape> inputs) const;

 private:
  using Key = std::vector<std::int64_t>;  // by size
  // A network that holds at some sizes, and the values of its expressions there.
  struct At {
    std::shared_ptr<const OpenNetwork> network;
    std::vector<std::int64_t> values;
  };
  // What plans of sizes nearby are made of.
  struct Base {
    Key sizes;
    std::shared_ptr<const OpenNetwork> network;
    std::shared_ptr<const PreparedPlan> plan;
    std::shared_ptr<const PlanFamily> family;
  };
  struct Made {
    Key sizes;
    std::shared_ptr<const PreparedPlan> plan;
    std::shared_ptr<const Base> base;  // that it was made of, or of its own; null: of sizes that stand alone
    std::uint64_t bytes = 0;
  };

  // That this thread plans for the sizes, until it is over; also where there is no memory for it.
  struct UnderWay {
    OpenPlans& plans;
    const Key& sizes;
    ~UnderWay();
  };

  OpenPlans(const CompiledModel& model, ConstantStore& constants, const LoadOptions& options)
      : model_(model), constants_(constants), options_(options) {
    if (linked_planner() != nullptr) memory_ = linked_planner()->new_memory();
  }
  // That the weights are those that were written: read once, by who plans first.
  const Status& check_weights_once();
  Result<Key> sizes_of(std::span<const Shape> inputs) const;
  // A network that holds at some sizes.
  struct Lowered {
    std::shared_ptr<const OpenNetwork> network;
    std::shared_ptr<const Sizes> sizes;
  };
  // The file's network, where it holds, or one that was lowered since, or is now.
  Result<At> network_at(const Key& sizes);
  Result<At> lowered_at(const Key& sizes, const Errors& refusal);
  Result<Made> make(const Key& sizes);
  Result<Made> make(const Key& sizes, const At& at, BatchOrder order);
  // Out of the plan for sizes of the same range, where there is one and its steps can be those of these sizes.
  std::optional<Made> follow(const Key& sizes, const At& at);
  Result<std::shared_ptr<const PreparedPlan>> prepared(Plan plan, const PreparedPlan* like) const;
  bool fits(const Result<Made>& made) const;
  void use(std::list<Made>::iterator made);
  void keep(Made made);

  const CompiledModel& model_;
  ConstantStore& constants_;
  const LoadOptions options_;
  std::unique_ptr<PlanMemory> memory_;  // null where no planner is linked
  std::shared_ptr<const Sizes> sizes_;
  std::map<Key, std::shared_ptr<const PreparedPlan>> of_file_;

  std::mutex lowering_;  // who holds it looks among lowered_, and lowers
  std::vector<Lowered> lowered_;
  std::atomic<std::uint64_t> lowerings_ = 0;

  std::once_flag weights_once_;
  Status weights_ = ok_status();

  mutable std::mutex mutex_;
  std::condition_variable made_;
  std::set<Key> under_way_;
  std::list<Made> recent_;  // the most recently used first
  std::set<Key> dropped_;   // some that were, for the statistics
  std::map<Key, std::list<Made>::iterator> index_;
  std::map<std::pair<const OpenNetwork*, Key>, std::shared_ptr<const Base>> bases_;  // by range of each size
  PlanCacheStatistics statistics_;
};

}  // namespace octavo

#endif  // OCTAVO_RUN_OPEN_PLANS_H_
