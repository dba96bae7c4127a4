// PlanProvider: who plans a network for sizes that no plan of its file has, and PlanFamily: who makes plans for other
// sizes out of one. Part of run/.
#ifndef OCTAVO_RUN_PLAN_PROVIDER_H_
#define OCTAVO_RUN_PLAN_PROVIDER_H_

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "plan/constants.h"
#include "plan/open_network.h"
#include "plan/plan.h"

namespace octavo {

// Plans of one network that have the same steps and kernels at different sizes. Several threads may call it at the same
// time; the network and its constants outlive it.
class PlanFamily {
 public:
  virtual ~PlanFamily() = default;
  // The plan at these values of all expressions. Error: of whatever kind, where the family's steps cannot be those of
  // the sizes, for which PlanProvider::plan then finds others.
  virtual Result<Plan> at(std::span<const std::int64_t> values, ConstantSink& packed) const = 0;
};

// What a provider remembers from plan to plan of one model.
class PlanMemory {
 public:
  virtual ~PlanMemory() = default;
};

struct MadePlan {
  Plan plan;
  std::shared_ptr<const PlanFamily> family;  // null: it is for its own sizes alone
};

// Implemented by planner/. Several threads may call it at the same time.
class PlanProvider {
 public:
  virtual ~PlanProvider() = default;
  virtual std::unique_ptr<PlanMemory> new_memory() const = 0;
  // At these values of all expressions (Sizes::evaluate), a batch in that order; `memory`: of new_memory(). What
  // kernels make of the weights goes to `packed`, which keeps equal ones once. Errors: invalid_input, where the
  // network, which may come from a hostile file, is none; unsupported; resource, where it needs more memory than a plan
  // may.
  virtual Result<MadePlan> plan(const OpenNetwork& network, const ConstantSource& constants,
                                std::span<const std::int64_t> values, BatchOrder order, ConstantSink& packed,
                                PlanMemory& memory) const = 0;

  // The network lowered from `unlowered`, one of its own, with these for the example of its sizes (which hold there).
  // What it has of constants that are not the file's goes to `constants`. Errors: as those of plan(); usage, where
  // something of the file means another thing at these sizes.
  virtual Result<OpenNetwork> lower(const OpenNetwork& network, const StoredGraph& unlowered,
                                    const ConstantSource& source, std::span<const std::int64_t> sizes,
                                    ConstantSink& constants) const = 0;
};

// The planner that this program links (octavo_planner), or null.
const PlanProvider* linked_planner();

}  // namespace octavo

#endif  // OCTAVO_RUN_PLAN_PROVIDER_H_
