// OpenPlans: plans of a model whose sizes are open, made when a size comes and kept while there is room. Part of run/.
#ifndef OCTAVO_RUN_OPEN_PLANS_H_
#define OCTAVO_RUN_OPEN_PLANS_H_

#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "artifact/artifact.h"
#include "run/constant_store.h"
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
  struct Made {
    Key sizes;
    std::shared_ptr<const PreparedPlan> plan;
    std::uint64_t bytes = 0;
  };

  // That this thread plans for the sizes, until it is over; also where there is no memory for it.
  struct UnderWay {
    OpenPlans& plans;
    const Key& sizes;
    ~UnderWay();
  };

  OpenPlans(const CompiledModel& model, ConstantStore& constants, const LoadOptions& options)
      : model_(model), constants_(constants), options_(options) {}
  // That the weights are those that were written: read once, by who plans first.
  const Status& check_weights_once();
  Result<Key> sizes_of(std::span<const Shape> inputs) const;
  // A network that holds at some sizes.
  struct Lowered {
    std::shared_ptr<const OpenNetwork> network;
    std::shared_ptr<const Sizes> sizes;
  };
  // The values of its expressions at some sizes, too.
  struct At {
    std::shared_ptr<const OpenNetwork> network;
    std::vector<std::int64_t> values;
  };
  // The file's network, where it holds, or one that was lowered since, or is now.
  Result<At> network_at(const Key& sizes);
  Result<At> lowered_at(const Key& sizes, const Errors& refusal);
  Result<std::shared_ptr<const PreparedPlan>> make(const Key& sizes);
  Result<std::shared_ptr<const PreparedPlan>> make(const At& at, BatchOrder order);
  bool fits(const Result<std::shared_ptr<const PreparedPlan>>& plan) const;
  void keep(const Key& sizes, std::shared_ptr<const PreparedPlan> plan);

  const CompiledModel& model_;
  ConstantStore& constants_;
  const LoadOptions options_;
  std::shared_ptr<const Sizes> sizes_;
  std::map<Key, std::shared_ptr<const PreparedPlan>> of_file_;

  std::mutex lowering_;  // who holds it looks among lowered_, and lowers
  std::vector<Lowered> lowered_;

  std::once_flag weights_once_;
  Status weights_ = ok_status();

  mutable std::mutex mutex_;
  std::condition_variable made_;
  std::set<Key> under_way_;
  std::list<Made> recent_;  // the most recently used first
  std::map<Key, std::list<Made>::iterator> index_;
  PlanCacheStatistics statistics_;
};

}  // namespace octavo

#endif  // OCTAVO_RUN_OPEN_PLANS_H_
